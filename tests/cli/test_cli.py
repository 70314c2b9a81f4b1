"""The command line as a user meets it: arguments in, stdout, stderr and exit status out."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
import typer

from layoutrand.cli import make_app
from layoutrand.cli.help_text import dressed
from overwrite import overwrite
from startkit import layoutrand
from workshop import require

CONFIG = """\
[project]
name = "toy"
[build]
source = "src"
commands = ["$CC -o toy main.c a.c b.c"]
artefacts = ["toy"]
[systems.O1]
cflags = "-O1"
[systems.O2]
cflags = "-O2"
[[benchmarks]]
name = "count"
command = ["{artefact}", "5"]
expect_stdout = "count.out"
metric = { regex = "total ([0-9]+)", name = "total", unit = "1" }
"""
MAIN = """\
#include <stdio.h>
#include <stdlib.h>
int a1(int), a2(int), b1(int), b2(int);
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1;
    printf("total %d\\n", a1(n) + a2(n) + b1(n) + b2(n));
    return 0;
}
"""
PART = """\
static int helper(int x) __attribute__((noinline));
static int helper(int x) { return x * FACTOR; }
int NAME1(int x) { return helper(x) + 1; }
int NAME2(int x) { return helper(x + 1) - 1; }
"""


def started(*arguments, cwd, env):
    """The command with a Python of its own, as a user starts it."""
    return subprocess.run(
        [sys.executable, "-m", "layoutrand", *arguments], cwd=cwd, env=env, capture_output=True, text=True
    )


@pytest.fixture
def env(tmp_path):
    return {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "toy"
    (root / "src").mkdir(parents=True)
    (root / "src" / "main.c").write_text(MAIN)
    for name, factor in (("a", 3), ("b", 5)):
        text = PART.replace("NAME", name).replace("FACTOR", str(factor))
        (root / "src" / f"{name}.c").write_text(text)
    (root / "layoutrand.toml").write_text(CONFIG)
    (root / "count.out").write_text(f"total {15 + 1 + 18 - 1 + 25 + 1 + 30 - 1}\n")
    return root


def test_help_imports_nothing_heavy():
    """--help answers without numpy, scipy, pydantic, jinja2 or git."""
    code = (
        "import sys; from layoutrand.cli import run; run(['--help']); "
        "print(sorted({'numpy', 'scipy', 'pydantic', 'jinja2', 'git', 'psutil', 'elftools'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.rstrip().endswith("[]")


def test_a_command_imports_no_other():
    """What every call of every command would have to wait for; help alone needs them all."""
    code = (
        "import sys; from layoutrand.cli import run; run(['plan', '--help']); "
        "print(sorted(name for name in sys.modules if name in ('layoutrand.cli.reporting', 'layoutrand.cli.sharing')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "Usage: layoutrand plan" in done.stdout
    assert done.stdout.rstrip().endswith("[]")


def test_a_build_that_finds_everything_imports_nothing_that_builds(project, env):
    """What captures, links and writes layouts takes longer to import than the rest of such a build."""
    makes = ["capture.instrumented_build", "build.linking", "build.making", "build.permuting", "build.rebuild"]
    names = {"numpy", "jinja2", "git", "tomlkit", *(f"layoutrand.{name}" for name in makes)}
    code = (
        "import sys; from layoutrand.cli import run; status = run(['build', '--seeds', '2', '--system', 'O1']); "
        f"print(status, sorted({names!r} & set(sys.modules)))"
    )
    first, second = (
        subprocess.run([sys.executable, "-c", code], cwd=project, env=env, capture_output=True, text=True, check=True)
        for _ in range(2)
    )

    assert {"numpy", "layoutrand.build.making"} <= set(re.findall(r"'([^']+)'", first.stdout.splitlines()[-1]))
    assert second.stdout.splitlines()[-1] == "0 []"


def test_a_build_begins_before_what_reads_its_links_is_imported(project, env):
    """The user's commands need not wait for that; it is imported beside them."""
    code = (
        "import sys; from layoutrand.cli import run; from layoutrand.platform.process import SubprocessRunner\n"
        "commands = SubprocessRunner.run_logged\n"
        "def told(*words, **named):\n"
        "    loaded.append('layoutrand.capture.collect' in sys.modules)\n"
        "    return commands(*words, **named)\n"
        "loaded, SubprocessRunner.run_logged = [], told\n"
        "import layoutrand.capture.instrumented_build as build\n"
        "build.import_meanwhile = lambda name: loaded.append(name)\n"
        "status = run(['build', '--seeds', '1', '--no-controls', '--system', 'O1'])\n"
        "print(status, loaded, 'numpy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, env=env, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "0 ['layoutrand.capture.ended_build', False] True"


def test_every_command_has_help(tmp_path, env):
    """Every command that is shown explains itself."""
    shown = {name: found for name, found in typer.main.get_command(make_app()).commands.items() if not found.hidden}
    assert len(shown) > 15
    for command in shown:
        done = layoutrand(command, "--help", cwd=tmp_path, env=env)

        assert done.returncode == 0
        assert "Usage: layoutrand " + command in done.stdout


def test_the_list_of_commands_says_what_they_say_of_themselves(monkeypatch):
    """It imports none of them, and is the same, byte for byte, as if it did."""
    for columns in ("60", "100"):
        monkeypatch.setenv("COLUMNS", columns)
        shown = [
            dressed(typer.main.get_command(make_app(is_list=is_list)), is_short=False) for is_list in (True, False)
        ]
        texts = [command.get_help(typer.Context(command, info_name="layoutrand")) for command in shown]
        assert texts[0] == texts[1]
        assert "Begin" in texts[0]


def _commands(command, path=()):
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, (*path, name))


@pytest.mark.parametrize("is_rich", ["1", "0"])
def test_help_shows_every_word_in_brackets(env, is_rich):
    """`[cluster]` is a table of layoutrand.toml and no style of rich's."""
    code = (
        "import sys; from layoutrand.cli import run; "
        "[(run([*each.split(), '--help']), print('\\f', end='')) for each in sys.argv[1:]]"
    )
    spoken = {}
    for path, command in _commands(typer.main.get_command(make_app())):
        texts = [command.help, *(getattr(param, "help", None) for param in command.params)]
        words = [word for text in texts if text for word in re.findall(r"\[+[^\[\]\s]+\]+", text)]
        if words:
            spoken[" ".join(path)] = words
    wide = {**env, "COLUMNS": "300", "TYPER_USE_RICH": is_rich}
    done = subprocess.run([sys.executable, "-c", code, *spoken], capture_output=True, text=True, env=wide)
    assert done.returncode == 0, done.stderr
    shown = dict(zip(spoken, done.stdout.split("\f"), strict=False))
    assert len(shown) == len(spoken)
    assert [(path, word) for path, words in spoken.items() for word in words if word not in shown[path]] == []
    assert "\\[" not in done.stdout
    assert sum(map(len, spoken.values())) >= 4, "build, run, staging and warmup speak of tables"


@pytest.mark.slow
def test_a_build_without_stock_leaves_it_to_run(project, env):
    """Who builds for the first time is told that it can be left out; `run` makes it, and says that it does."""
    left = started("build", "--seeds", "2", "--without-stock", "--json", cwd=project, env=env)
    assert {b["seed"] for b in json.loads(left.stdout)["binaries"]} == {"identity", 1, 2}
    assert left.stderr.count("your own build (stock) is left out: `layoutrand run` makes it") == 1
    assert "stock build" not in left.stderr

    ran = started("run", "--seeds", "2", "--json", cwd=project, env=env)
    assert "O1: stock build" in ran.stderr and "--without-stock" not in ran.stderr
    assert json.loads(ran.stdout)["failures"] == []
    again = started("build", "--seeds", "2", cwd=project, env=env)
    assert "--without-stock" not in again.stderr + again.stdout, "there is nothing left that it would save"


@pytest.mark.slow
def test_controls_that_run_does_not_execute_are_not_built(project, env):
    toml = project / "layoutrand.toml"
    toml.write_text(toml.read_text() + '\n[run]\ncontrols = ["identity"]\n')
    built = started("build", "--seeds", "2", "--json", cwd=project, env=env)
    assert {b["seed"] for b in json.loads(built.stdout)["binaries"]} == {"identity", 1, 2}
    assert "stock" not in built.stderr


def test_the_main_job_from_build_to_comparison(project, env):
    """build, run, analyse and compare work one after another and speak JSON."""
    built = started("build", "--seeds", "4", "--json", cwd=project, env=env)
    table = [line.split("  ") for line in started("build", "--seeds", "4", cwd=project, env=env).stdout.splitlines()]
    (row,) = [[cell.strip() for cell in cells if cell.strip()] for cells in table if cells[0].strip() == "O1"]
    assert (row[2], row[5]) == ("6", "5 + stock"), "stock is the user's own build: nothing to verify it against"
    document = json.loads(built.stdout)
    assert built.returncode == 0, built.stderr
    assert document["schema"] == "layoutrand/build/1"
    assert sorted({str(b["seed"]) for b in document["binaries"]}) == ["1", "2", "3", "4", "identity", "stock"]
    assert document["failures"] == []

    ran = started("run", "--seeds", "4", "--json", cwd=project, env=env)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["failures"] == []

    analysed = json.loads(started("analyse", "--json", cwd=project, env=env).stdout)
    assert {(b["system"], b["n_binaries"], b["mean"]) for b in analysed["benchmarks"] if b["primary"]} == {
        ("O1", 4, 88.0),
        ("O2", 4, 88.0),
    }

    compared = started("compare", "O1", "O2", "--json", "--fail-if", "slower", cwd=project, env=env)
    assert compared.returncode == 0
    assert json.loads(compared.stdout)["benchmarks"][0]["ratio"] == pytest.approx(1.0)


@pytest.mark.slow
def test_second_build_links_nothing(project, env):
    """A second build takes every binary from the cache."""
    layoutrand("build", "--seeds", "3", cwd=project, env=env)

    again = json.loads(layoutrand("build", "--seeds", "3", "--json", cwd=project, env=env).stdout)

    assert all(binary["cached"] for binary in again["binaries"])
    assert len(again["binaries"]) == 10


@pytest.mark.slow
def test_fail_if_has_its_own_status(project, env):
    """--fail-if undecided exits with status 4 when a verdict is undecided, and only then."""
    (project / "layoutrand.toml").write_text(
        CONFIG.replace('regex = "total ([0-9]+)", name = "total", unit = "1"', "wall = true")
    )
    layoutrand("run", "--seeds", "2", cwd=project, env=env)

    done = layoutrand("compare", "O1", "O2", "--threshold", "0.001%", "--fail-if", "undecided", cwd=project, env=env)

    verdict = json.loads(
        layoutrand("compare", "O1", "O2", "--threshold", "0.001%", "--json", cwd=project, env=env).stdout
    )
    assert done.returncode == (4 if verdict["benchmarks"][0]["verdict"] == "undecided" else 0)


@pytest.mark.slow
def test_a_plan_is_made_of_a_pilot_and_written(project, env):
    """Counts and costs of each level, binaries for a half-width, and with --write the executions in the file."""
    text = CONFIG.replace('regex = "total ([0-9]+)", name = "total", unit = "1"', "wall = true")
    (project / "layoutrand.toml").write_text(f"{text}[run]\nexecutions = 2\n")
    none = layoutrand("plan", cwd=project, env=env)
    assert (none.returncode, "`layoutrand run` makes them" in none.stderr) == (2, True)
    layoutrand("run", "--seeds", "3", "--no-controls", "--share-machine", cwd=project, env=env)

    told = json.loads(layoutrand("plan", "--half-width", "5%", "--json", cwd=project, env=env).stdout)
    shown = layoutrand("plan", "--write", "--full", cwd=project, env=env)
    screen = layoutrand("plan", cwd=project, env=env)

    assert {(row["system"], row["n_binaries"]) for row in told["benchmarks"]} == {("O1", 3), ("O2", 3)}
    assert shown.returncode == 0, shown.stderr
    assert "planned" in shown.stdout
    assert screen.stdout.startswith("How many layouts are enough?")
    assert "Details: --full" in screen.stdout
    written = tomllib.loads((project / "layoutrand.toml").read_text())["run"]["executions"]
    assert f"run.executions = {written} written to " in shown.stdout + shown.stderr
    assert written >= 1


@pytest.mark.slow
def test_wrong_output_is_a_recorded_failure(project, env):
    """An output that differs from the reference fails its executions, is named, and makes the status 1."""
    (project / "count.out").write_text("total 0\n")

    done = layoutrand("run", "--seeds", "2", "--system", "O1", "--json", cwd=project, env=env)

    failures = json.loads(done.stdout)["failures"]
    assert done.returncode == 1
    assert {failure["status"] for failure in failures} == {"wrong-output"}
    assert done.stderr.count("failed: system O1, benchmark count, ") == 2
    assert f": {len(failures) - 1} more: " in done.stderr
    again = layoutrand("run", "--seeds", "2", "--system", "O1", cwd=project, env=env)
    assert again.returncode == 1
    assert "0 executions now" in again.stdout


@pytest.mark.slow
def test_exec_gives_the_bytes_of_build(project, env):
    """The same seed gives the same program through exec as through build."""
    built = json.loads(layoutrand("build", "--seeds", "7..7", "--system", "O2", "--json", cwd=project, env=env).stdout)
    path = next(b["path"] for b in built["binaries"] if b["seed"] == 7)

    done = layoutrand(
        "exec",
        "--seed",
        "7",
        "--system",
        "O2",
        "--",
        "sh",
        "-c",
        "cd src && $CC -o toy main.c a.c b.c",
        cwd=project,
        env=env,
    )

    assert done.returncode == 0, done.stderr
    assert (project / "src" / "toy").read_bytes() == Path(path).read_bytes()


def test_exec_refuses_to_apply_a_layout_to_nothing(project, env):
    """A command that links nothing is an error: its layout would silently be the default."""
    done = layoutrand("exec", "--seed", "7", "--", "true", cwd=project, env=env)

    assert done.returncode == 1
    assert "applied to nothing" in done.stderr.replace("\n", " ")


def test_inspect_says_of_which_of_several_artefacts_it_is(project, env):
    """Without --artefact it is the first, which would otherwise be silent."""
    two = CONFIG.replace('["toy"]', '["toy", "two"]').replace('b.c"]', 'b.c && $CC -o two main.c b.c a.c"]')
    (project / "layoutrand.toml").write_text(two)
    for words, artefact in (((), "toy"), (("--artefact", "two"), "two")):
        said = layoutrand("inspect", "O2", "3", *words, cwd=project, env=env).stdout
        assert " ".join(said.split()).startswith(f"O2, layout 3 of {artefact}: ")


def test_inspect_shows_the_order_achieved(project, env):
    """inspect lists every section with its address, in ascending order, exactly as asked."""
    found = json.loads(layoutrand("inspect", "O2", "3", "--json", cwd=project, env=env).stdout)

    addresses = [section["address"] for section in found["sections"]]
    assert found["wrong_slots"] == 0
    assert addresses == sorted(addresses)
    assert {"a1", "a2", "b1", "b2"} <= {section["section"].removeprefix(".text.") for section in found["sections"]}
    assert [section["section"] for section in found["sections"]].count(".text.helper") == 2

    said = layoutrand("inspect", "O2", "3", "--limit", "0", cwd=project, env=env).stdout
    movable = sum(not section["pinned"] for section in found["sections"])
    top = said.partition("\n\n")[0]
    assert max(map(len, top.splitlines())) <= 80
    first, _, second = " ".join(top.split()).partition(" from identity: ")
    assert first.startswith(f"O2, layout 3: {movable} of {len(addresses)} sections can move")
    assert "in exactly the order asked for" in first
    (distance,) = found["distances"]
    assert distance["movable"]["sections"] == movable
    assert second == (
        f"Kendall tau {distance['movable']['kendall_tau']:+.4f} over what can move, "
        f"{distance['movable']['adjacent_kept']} of {movable - 1} neighbours kept"
    )
    # Two functions have one name: their objects tell them apart.
    assert len(re.findall(r"^helper +\S+ +0x", said, re.MULTILINE)) == 2
    assert max(map(len, said.partition("\n\n")[2].partition("\n\n")[0].splitlines())) <= 80
    few = layoutrand("inspect", "O2", "3", "--limit", "2", cwd=project, env=env).stdout
    assert f"... {len(addresses) - 2} more; --limit 0 shows all, --json too" in few


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "--seeds", "x"], "is not a seed"),
        (["build", "--system", "O4"], "no system called 'O4'"),
        (["compare", "O1", "O4"], "no system called 'O4'"),
        (["compare", "O1", "O1", "O2"], "compared with itself among others"),
        (["compare", "O1", "O2", "--json", "--csv"], "give one of --json and --csv"),
        (["compare", "O1", "O2", "O2"], "a candidate is named twice"),
        (["compare", "O1", "O2", "--holm"], "--holm is about --fail-if"),
        (["compare", "O1", "O2", "--threshold", "often"], "write a percentage"),
        (["inspect", "O1", "first"], "is not a layout"),
        (["analyse"], "`layoutrand run` makes them"),
        (["exec", "--seed", "stock", "--", "true"], "stock is your own build"),
    ],
)
def test_wrong_usage_has_status_2_and_says_what_to_do(project, env, arguments, message):
    """Wrong usage exits with status 2 and one clear message, without a traceback."""
    done = layoutrand(*arguments, cwd=project, env=env)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_no_configuration_names_init(tmp_path, env):
    """Outside a project the message names the command that makes one."""
    done = layoutrand("build", cwd=tmp_path, env=env)

    assert done.returncode == 2
    assert "layoutrand init" in done.stderr


def test_init_makes_the_build_once_and_writes_what_builds_and_never_overwrites(project, env):
    """init finds the program that a makefile links, keeps the build, and refuses to replace an existing file."""
    (project / "layoutrand.toml").unlink()
    source = project / "src"
    (source / "Makefile").write_text("toy: main.c a.c b.c\n\t$(CC) -o $@ $^\n")

    first = layoutrand("init", "-q", "--", "make", "--", "./toy", "5", cwd=source, env=env)
    text = (source / "layoutrand.toml").read_text()
    second = layoutrand("init", cwd=source, env=env)
    built = layoutrand("build", "--seeds", "2", "--system", "O2", "--no-controls", "--json", cwd=source, env=env)

    assert first.returncode == 0, first.stderr
    assert "Next: layoutrand run · layoutrand compare" in first.stdout
    assert tomllib.loads(text)["build"]["artefacts"] == ["toy"]
    assert tomllib.loads(text)["benchmarks"][0]["command"] == ["{artefact}", "5"]
    assert json.loads((source / ".layoutrand" / "schema.json").read_text())["title"] == "layoutrand.toml"
    assert (second.returncode, "--force" in second.stderr) == (2, True)
    assert (source / "layoutrand.toml").read_text() == text
    assert built.returncode == 0, built.stderr
    assert "instrumented build" not in built.stderr, "the build of init is the capture"


def test_what_init_says_to_do_next_can_be_given_to_a_shell(project, env):
    """A directory with blanks and quotes in its name is quoted."""
    source = project / 'it\'s "my" project'
    (project / "src").rename(source)
    (source / "Makefile").write_text("toy: main.c a.c b.c\n\t$(CC) -o $@ $^\n")

    first = layoutrand("init", "-q", "-C", source.name, cwd=project, env=env)

    assert first.returncode == 0, first.stderr
    assert (
        "\n  to be executed: toy without arguments and with an empty standard input; it has to end by itself. "
        in first.stdout
    ), "before 8 executions of what waits for input, or for ever, take ten minutes each"
    following = first.stdout.split("Next: ")[1].splitlines()[0]
    assert shlex.split(following) == [
        *("layoutrand", "run", "-C", source.name),
        "·",
        *("layoutrand", "compare", "-C", source.name),
    ]


@pytest.mark.slow
def test_init_of_a_build_that_takes_no_flags_writes_one_system_without_any(project, env):
    """As of OCaml or Haskell, whose compilers only link with gcc."""
    (project / "layoutrand.toml").unlink()
    source = project / "src"
    gcc = shutil.which("gcc")
    (source / "Makefile").write_text(
        f"toy: main.o a.o b.o\n\t$(CC) -o $@ $^\n%.o: %.c\n\t{gcc} -ffunction-sections -c -o $@ $<\n"
    )

    first = layoutrand("init", "--", "make", "--", "./toy", "5", cwd=source, env=env)
    built = layoutrand("build", "--seeds", "2", "--no-controls", "--json", cwd=source, env=env)

    assert first.returncode == 0, first.stderr
    assert 'cflags = "-O2" reached no compiler of C' in first.stderr
    assert "Next: layoutrand run · layoutrand analyse" in first.stdout
    systems = tomllib.loads((source / "layoutrand.toml").read_text())["systems"]
    assert systems == {"plain": {"toolchain": "gcc"}}
    assert [binary["system"] for binary in json.loads(built.stdout)["binaries"]] == ["plain", "plain"]


def test_try_answers_without_a_file_and_goes_on_from_there(project, env):
    """One command from a source to an answer; the next finds all of it, and --write keeps it."""
    (project / "layoutrand.toml").unlink()
    command = ["try", "--seeds", "3", "--no-simulate", "--", "cc -o toy src/*.c", "--", "./toy", "5"]

    first = layoutrand(*command, cwd=project, env=env)
    again = layoutrand(*command, cwd=project, env=env)
    more = layoutrand("try", "--seeds", "4", cwd=project, env=env)
    kept = layoutrand("try", "--write", cwd=project, env=env)
    analysed = layoutrand("analyse", "--json", cwd=project, env=env)

    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("How much does code layout matter?")
    assert "layoutrand try --write" in first.stdout
    assert len(first.stdout.splitlines()) <= 20
    assert max(map(len, first.stdout.splitlines())) <= 80
    assert again.returncode == 0, again.stderr
    assert " build (" in first.stderr
    assert " build (" not in again.stderr, "nothing is built twice"
    assert (more.returncode, "4 layouts" in more.stdout) == (0, True), more.stderr
    assert kept.returncode == 0, kept.stderr
    assert [row["n_binaries"] for row in json.loads(analysed.stdout)["benchmarks"] if row["primary"]] == [4]


@pytest.mark.slow
def test_try_says_what_was_linked_and_what_is_missing(project, env):
    """A program that was not linked, and half a command."""
    wrong = layoutrand("try", "--", "cc -o toy src/*.c", "--", "./other", cwd=project, env=env)
    half = layoutrand("try", "--", "make", cwd=project, env=env)
    none = layoutrand("try", cwd=project.parent, env=env)
    idle = layoutrand("try", "--no-simulate", cwd=project, env=env)
    nothing = layoutrand("try", "--", "true", "--", "./toy", cwd=project, env=env)
    shutil.copy(shutil.which("true"), project.parent / "built")
    program = layoutrand("init", "--", "./built", "7", cwd=project.parent, env=env)

    assert (wrong.returncode, "the build linked no ./other; it linked: toy." in wrong.stderr) == (1, True)
    assert (half.returncode, "layoutrand try -- make -- ./prog" in half.stderr) == (2, True)
    assert (idle.returncode, "go with a command" in idle.stderr) == (2, True)
    assert (none.returncode, "nothing was tried in" in none.stderr) == (2, True)
    assert (nothing.returncode, "linked no program and no shared library" in nothing.stderr) == (1, True)
    assert (program.returncode, "comes first: layoutrand init -- make -- ./built 7" in program.stderr) == (1, True)


@pytest.mark.slow
def test_a_program_that_was_named_wrong_costs_no_second_build(project, env):
    """What the build linked is known from the first time."""
    (project / "layoutrand.toml").unlink()
    wrong = layoutrand("try", "--", "cc -o toy src/*.c", "--", "./other", cwd=project, env=env)
    words = ["--seeds", "3", "--no-simulate", "--", "cc -o toy src/*.c", "--", "./toy", "5"]
    right = layoutrand("try", *words, cwd=project, env=env)

    assert (wrong.returncode, right.returncode) == (1, 0), right.stderr
    assert "instrumented build" in wrong.stderr
    assert "instrumented build" not in right.stderr
    assert ": no build is needed: that of" in right.stderr


def test_try_stops_at_a_program_that_fails(project, env):
    """One round tells it: no other is made."""
    (project / "layoutrand.toml").unlink()
    (project / "src" / "main.c").write_text(MAIN.replace("return 0", "return 3"))

    done = layoutrand("try", "--seeds", "9", "--", "cc -o toy src/*.c", "--", "./toy", "5", cwd=project, env=env)

    assert done.returncode == 1
    assert "the first round failed" in done.stderr
    assert "status 3" in done.stderr
    assert "benchmarks.files" in done.stderr
    assert not done.stdout.startswith("How much")


def test_init_says_how_a_build_that_fails_is_given(tmp_path, env):
    (tmp_path / "Makefile").write_text("all:\n\tfalse\n")

    done = layoutrand("init", cwd=tmp_path, env=env)

    assert done.returncode == 1
    assert "Nothing was written" in done.stderr and "layoutrand init -- COMMAND" in done.stderr
    assert not (tmp_path / "layoutrand.toml").exists()


def test_init_names_what_else_would_build_it(tmp_path, env):
    require("cmake", "cmake")
    (tmp_path / "configure").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "CMakeLists.txt").write_text("add_executable(x x.c)\n")

    done = layoutrand("init", "-C", ".", cwd=tmp_path, env=env)

    other = "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j {jobs}"
    assert f"    layoutrand init -- '{other}'\n" in done.stderr
    assert done.returncode == 1 and not (tmp_path / "layoutrand.toml").exists()


@pytest.mark.slow
def test_doctor_reports_toolchains_as_json(tmp_path, env):
    """doctor lists every shipped toolchain and changes nothing."""
    found = json.loads(layoutrand("doctor", "--json", cwd=tmp_path, env=env).stdout)

    assert {row["toolchain"] for row in found["toolchains"]} >= {"gcc", "gcc-lld"}
    assert list(tmp_path.iterdir()) in ([], [tmp_path / "cache"])


@pytest.mark.slow
def test_cache_commands_find_mend_and_evict(project, env, tmp_path):
    """A flipped byte is found by verify, removed by --mend, and the next build makes the binary again."""
    built = json.loads(layoutrand("build", "--seeds", "2", "--system", "O1", "--json", cwd=project, env=env).stdout)
    victim = Path(next(b["path"] for b in built["binaries"] if b["seed"] == 2))
    data = bytearray(victim.read_bytes())
    data[-1] ^= 1
    overwrite(victim, bytes(data))

    found = layoutrand("cache", "verify", cwd=project, env=env)
    mended = layoutrand("cache", "verify", "--mend", cwd=project, env=env)
    clean = layoutrand("cache", "verify", cwd=project, env=env)
    rebuilt = json.loads(layoutrand("build", "--seeds", "2", "--system", "O1", "--json", cwd=project, env=env).stdout)
    evicted = json.loads(layoutrand("cache", "gc", "--layouts", "--json", cwd=project, env=env).stdout)
    both = layoutrand("cache", "gc", "--layouts", "--builds", cwd=project, env=env)
    emptied = layoutrand("cache", "gc", "--max-size", "0", cwd=project, env=env)

    assert (found.returncode, mended.returncode, clean.returncode) == (1, 0, 0)
    assert [b["seed"] for b in rebuilt["binaries"] if not b["cached"]] == [2]
    assert {b["seed"]: b["sha256"] for b in rebuilt["binaries"]} == {b["seed"]: b["sha256"] for b in built["binaries"]}
    assert len(evicted["evicted"]) == 3  # identity and the seeds
    assert (both.returncode, "evict one thing each" in both.stderr) == (2, True)
    assert emptied.returncode == 0
    assert json.loads(layoutrand("cache", "ls", "--json", cwd=project, env=env).stdout)["entries"] == []


def test_cache_path_follows_the_environment(tmp_path, env):
    """cache path prints $LAYOUTRAND_CACHE."""
    assert layoutrand("cache", "path", cwd=tmp_path, env=env).stdout.strip() == str(tmp_path / "cache")


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupted_build_leaves_no_process_and_goes_on_later(project, env, number):
    """Interrupted in its commands, build ends them all, exits with 130, and works when given again."""
    text = (project / "layoutrand.toml").read_text()
    slow = text.replace('"$CC -o', '"echo $$ > {}/pid; sleep 600 & wait", "$CC -o'.format(project))
    (project / "layoutrand.toml").write_text(slow)
    process = subprocess.Popen(
        [sys.executable, "-m", "layoutrand", "build"], cwd=project, env=env, stderr=subprocess.PIPE
    )
    while not (project / "pid").exists() or not (project / "pid").read_text().strip():
        assert process.poll() is None
        time.sleep(0.02)
    shell = int((project / "pid").read_text())

    process.send_signal(number)
    _, errors = process.communicate(timeout=60)

    assert process.returncode == 130
    assert b"the same command goes on" in errors
    assert not os.path.exists(f"/proc/{shell}")
    (project / "layoutrand.toml").write_text(text)
    assert layoutrand("build", "--seeds", "2", cwd=project, env=env).returncode == 0


def test_a_run_without_a_binary_tells_why(project, env):
    """Where every build fails there is nothing to execute, and the failures are shown."""
    (project / "src" / "a.c").write_text("int broken")
    done = layoutrand("run", "--seeds", "2", cwd=project, env=env)

    assert done.returncode != 0
    assert "failed: O1, O2 (stock, identity" in done.stderr and "exited with status 1" in done.stderr
    assert "nothing to execute" in done.stderr
