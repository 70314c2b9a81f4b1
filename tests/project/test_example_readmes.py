"""Every command line of every README under examples/ is executed as it stands there, from a fresh copy of the tree.

What takes seconds is executed by default, the rest by `make slow`.  What takes most of an hour is executed with
LAYOUTRAND_EXAMPLES=full in the environment; without it such lines are executed for less, as `REDUCED` says, or, where
nothing less would do, not at all, and the test says so.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from filelock import FileLock

from debian_sources import KEPT, unavailable
from workshop import absent, require

ROOT = Path(__file__).resolve().parents[2]
READMES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/README.md"))
FULL = os.environ.get("LAYOUTRAND_EXAMPLES") == "full"
HOURS_S = 3 * 3600

SANITIZED = (
    "make check CFLAGS='-O1 -g -fsanitize=address,undefined -DQS_PLAIN_MALLOC' LDFLAGS='-fsanitize=address,undefined'"
)
QUICK = {"quickstart": ["make -j2", "./qs inputs/events.qs 40000"]}
SLOW = {
    "quickstart": ["make check", SANITIZED, "./check.sh ./qs --update"],
    "jvm-suite": [
        "./setup.sh",
        "./build.sh",
        "java -jar jvm-suite.jar -l",
        "java -jar jvm-suite.jar h2 -n 5 -s small",
        "java -jar jvm-suite.jar lusearch -n 10 -t 2 --scratch-directory /tmp/scratch",
    ],
    "cint": [
        "examples/cint/prepare --size test cint",
        "layoutrand build --seeds 30 -C cint",
        "layoutrand run --seeds 30 -C cint",
        "layoutrand compare O2 O3 -C cint",
    ],
    "hotspot": ["examples/jvm-suite/build.sh", "examples/hotspot/prepare ~/hotspot"],
}
HOURS = {
    "hotspot": [
        "layoutrand build --seeds 30 -C ~/hotspot",
        "layoutrand run --seeds 30 -C ~/hotspot",
        "layoutrand analyse -C ~/hotspot",
        "layoutrand compare serial parallel -C ~/hotspot",
        "make hotspot-check HOTSPOT=~/hotspot",
    ],
}
NO_COMMANDS = {"jvm-suite": ["[suite]"], "quickstart": ["fn count(words) {"]}
"""First lines of blocks that hold a configuration, or a program."""

REDUCED = {
    "layoutrand build --seeds 30 -C cint": "layoutrand build --seeds 2 -C cint",
    "layoutrand run --seeds 30 -C cint": "layoutrand run --seeds 2 -C cint",
}
_COMMAND = re.compile(r"(?:make|layoutrand|java|\./\S+|examples/\S+) \S.*")


def blocks(text):
    """Blocks of code, indented or fenced: lists of lines, joined where one ends in a backslash."""
    found, block, fenced, before = [], [], False, ""
    for line in [*text.splitlines(), "end"]:
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or (line.startswith("    ") and (block or not before.strip())):
            block.append(line if fenced else line[4:])
            before = line
            continue
        elif not line.strip() and block and not fenced:
            block.append("")
            before = line
            continue
        before = line
        if block:
            found.append(block)
            block = []
    joined = [re.sub(r"\s*\\\n\s*", " ", "\n".join(each)).strip().splitlines() for each in found]
    return [[line.rstrip() for line in each] for each in joined if each]


def command_lines(name):
    """Commands of a README without their comments: those of its blocks, and those that its sentences name."""
    text = (ROOT / "examples" / name / "README.md").read_text("utf-8")
    lines = []
    for block in blocks(text):
        if block[0] not in NO_COMMANDS.get(name, []):
            lines += [re.sub(r"\s+#.*", "", line) for line in block if line]
    return lines + inline(text)


def inline(text):
    """Commands with arguments that sentences name."""
    return [span for span in re.findall(r"`([^`\n]+)`", text) if _COMMAND.fullmatch(span)]


def test_blocks_are_found_however_they_are_written():
    text = "a\n\n    b  # c\n    d \\\n       e\n\n    f\n\n- g\n    no code\n\n```sh\nh\n\ni\n```\nj `make k` `l`\n"
    assert blocks(text) == [["b  # c", "d e", "", "f"], ["h", "", "i"]]
    assert inline("`make k=1 l` `make` `./x y`, `Makefile z` and `java` has `x`") == ["make k=1 l", "./x y"]


@pytest.mark.parametrize("name", READMES)
def test_every_command_line_is_executed_by_a_test(name):
    """A line that is new, or was changed, is to be added above; one that is gone is to be taken out."""
    listed = [line for table in (QUICK, SLOW, HOURS) for line in table.get(name, [])]
    assert sorted(listed) == sorted(set(command_lines(name)))
    assert set(REDUCED) <= {line for table in SLOW.values() for line in table}


def test_a_tilde_is_the_home_directory_whatever_the_shell(tmp_path):
    """bash expands it in a word such as HOTSPOT=~/hotspot, other shells hand it on."""
    command = [require("make", "make"), "--no-print-directory", "-n", "hotspot-check", "HOTSPOT=~/hotspot"]
    env = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(command, cwd=ROOT, env={**env, "HOME": str(tmp_path)}, capture_output=True, text=True)
    assert done.stdout.endswith(f'examples/hotspot/check "{tmp_path}/hotspot"\n'), done.stderr


class Clone:
    """A copy of all tracked files with a home directory of its own; ``layoutrand`` is the copy's."""

    def __init__(self, folder):
        self.tree, self.home = folder / "tree", folder / "home"
        self.home.mkdir()
        names = subprocess.run([require("git", "git"), "-C", ROOT, "ls-files", "-z"], capture_output=True)
        if names.returncode != 0:
            absent("this is no git working tree, so what a clone would have cannot be told")
        for name in filter(None, names.stdout.decode().split("\0")):
            target = self.tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).exists() or (ROOT / name).is_symlink():
                shutil.copy2(ROOT / name, target, follow_symlinks=False)
        command = folder / "bin/layoutrand"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m layoutrand "$@"\n')
        command.chmod(0o755)
        self.env = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("LAYOUTRAND_", "MAKE"))},
            "HOME": str(self.home),
            "PATH": f"{command.parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(self.tree / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LAYOUTRAND_CACHE": str(folder / "cache"),
            "LAYOUTRAND_LOCK_DIR": str(folder),
            "LC_ALL": "C.UTF-8",
        }

    def execute(self, line, folder, *, timeout=1800):
        done = subprocess.run(
            ["sh", "-euc", line], cwd=self.tree / folder, env=self.env, capture_output=True, text=True, timeout=timeout
        )
        assert done.returncode == 0, f"{line}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


def _java():
    require("javac", "openjdk-17-jdk-headless")
    checked = subprocess.run([ROOT / "examples/jvm-suite/setup.sh"], capture_output=True, text=True)
    if checked.returncode != 0:
        absent(checked.stderr.strip())


@pytest.mark.slow
def test_quickstart(clone):
    for line in QUICK["quickstart"]:
        done = clone.execute(line, "examples/quickstart")
    assert done.stdout


@pytest.mark.hour
@pytest.mark.slow
def test_quickstart_checks(clone):
    clone.execute("make -j2", "examples/quickstart")
    for line in SLOW["quickstart"][:2]:
        assert "ok" in clone.execute(line, "examples/quickstart").stdout.lower()
    clone.execute("make -j2", "examples/quickstart")  # with the usual flags again
    clone.execute(SLOW["quickstart"][2], "examples/quickstart")
    for path in (ROOT / "examples/quickstart/inputs").glob("*.out"):
        assert (clone.tree / "examples/quickstart/inputs" / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.hour
@pytest.mark.slow
def test_jvm_suite(clone, tmp_path):
    """/tmp/scratch is emptied by the last line, so it is one of the test's own."""
    _java()
    for line in SLOW["jvm-suite"]:
        done = clone.execute(line.replace("/tmp/scratch", str(tmp_path / "scratch")), "examples/jvm-suite")
    assert done.stderr.count("PASSED") == 1


def _prepared(clone, line):
    """The line that worked: on a machine whose package lists have no sources, the one with what `prepare` says helps."""
    for each in (line, line.replace("--size", "--private-lists --size")):
        with FileLock(KEPT / ".lock"):
            done = subprocess.run(["sh", "-euc", each], cwd=clone.tree, env=clone.env, capture_output=True, text=True)
        if done.returncode == 0:
            return each
        assert done.returncode == 1, done.stderr
        if "--private-lists" not in done.stderr:
            break
    unavailable(done.stderr)


@pytest.mark.slow
@pytest.mark.hour
def test_cint(clone):
    """`prepare` as it stands; then, unless all of it is asked for, two programs of the twelve and two seeds."""
    prepare, *rest = SLOW["cint"]
    KEPT.mkdir(parents=True, exist_ok=True)
    (clone.home / ".cache").mkdir()
    (clone.home / ".cache/layoutrand-cint").symlink_to(KEPT)  # archives are fetched once
    prepare = _prepared(clone, prepare)
    systems = tomllib.loads((clone.tree / "cint/layoutrand.toml").read_text())
    assert (len(systems["build"]["artefacts"]), sorted(systems["systems"])) == (12, ["O2", "O3", "lto"])
    if not FULL:
        shutil.rmtree(clone.tree / "cint")
        clone.execute(prepare.replace("--size test", "--size test --programs bzip2,lua"), "")
    for line in rest:
        done = clone.execute(line if FULL else REDUCED.get(line, line), "", timeout=HOURS_S)
    assert "O3 against O2" in done.stdout


def _hotspot_prepared(clone):
    _java()
    lacking = re.search(r'^packages="([^"]*)"', (ROOT / "examples/hotspot/prepare").read_text(), re.M)[1].split()
    shown = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Status}\n", *lacking], capture_output=True, text=True
    )
    there = {line.split()[0] for line in shown.stdout.splitlines() if line.endswith(" install ok installed")}
    if not set(lacking) <= there:
        absent(f"sudo apt-get install {' '.join(sorted(set(lacking) - there))}")
    for line in SLOW["hotspot"]:
        clone.execute(line, "")


@pytest.mark.slow
@pytest.mark.hour
def test_hotspot_up_to_its_builds(clone):
    """Everything but the two builds of HotSpot and what rests on them: layoutrand takes what `prepare` leaves."""
    if "bookworm" not in Path("/etc/os-release").read_text():
        absent("the example is for Debian 12: it builds that release's package")
    _hotspot_prepared(clone)
    jar = clone.tree / "examples/jvm-suite/jvm-suite.jar"
    config = tomllib.loads((clone.home / "hotspot/layoutrand.toml").read_text())
    assert jar.is_file()
    assert config["suite"]["jar"] == str(jar)
    listed = clone.execute("layoutrand build --list-systems -C ~/hotspot", "").stdout
    assert all(name in listed for name in config["systems"])
    explained = clone.execute("layoutrand build --seeds 30 --explain --json -C ~/hotspot", "")
    assert json.loads(explained.stdout)
    assert (clone.home / "hotspot/jdk/lib/server/libjvm.so").is_file()
    assert (clone.home / "hotspot/src/configure").is_file()


@pytest.mark.slow
@pytest.mark.hour
@pytest.mark.long
def test_hotspot(clone):
    """All of it; the last line does the same in one go, and uses what is there."""
    if not FULL:
        pytest.skip(
            "builds HotSpot twice (25 minutes, 1.5 GB), then measures 64 JVMs: LAYOUTRAND_EXAMPLES=full does it"
        )
    _hotspot_prepared(clone)
    for line in HOURS["hotspot"]:
        clone.execute(line, "", timeout=HOURS_S)
