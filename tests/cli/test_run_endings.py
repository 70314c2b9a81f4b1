"""How `run` ends: statuses, notifications, interrupts, and a second layoutrand on the machine."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from keptkit import keepers, kill_all, wait_until
from layoutrand.results.rows import APPLICATION_ID
from startkit import layoutrand

CONFIG = """\
[project]
name = "ending"
[build]
source = "src"
commands = ["$CC -o prog main.c part.c"]
artefacts = ["prog"]
[systems.sys]
[[benchmarks]]
name = "b"
command = ["{artefact}"]
"""
MAIN = "int one(void), two(void); int main(void) { return one() + two() - 3 + STATUS; }\n"
PART = "int one(void) { return 1; }\nint two(void) { return 2; }\n"
PART += "".join(f"int f{k}(void) {{ return {k}; }}\n" for k in range(8))  # so that many seeds differ
# As from a terminal, also where these tests are a background job, whose children have SIGINT ignored.
LAYOUTRAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from layoutrand.__main__ import main
main()
"""


class Project:
    """A program of a few functions, with what its benchmark and build do to be chosen."""

    def __init__(self, root: Path) -> None:
        self.root = root / "project"
        (self.root / "src").mkdir(parents=True)
        self.env = {**os.environ, "LAYOUTRAND_CACHE": str(root / "cache")}
        self.write()

    def write(self, *, status="0", config=CONFIG):
        (self.root / "src/main.c").write_text(MAIN.replace("STATUS", status))
        (self.root / "src/part.c").write_text(PART)
        (self.root / "layoutrand.toml").write_text(config)

    def start(self, *arguments, **options):
        command = [sys.executable, "-c", LAYOUTRAND, "run", "--seeds", "2", "-C", str(self.root), *arguments]
        return subprocess.Popen(
            command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
        )

    def run(self, *arguments):
        return layoutrand("run", "--seeds", "2", "-C", self.root, *arguments, env=self.env)

    def layoutrand(self, command, *arguments):
        return layoutrand(command, *arguments, "-C", self.root, env=self.env)

    def processes(self):
        """All processes whose environment names the project or its cache, other than those named."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if str(self.root.parent) in process.environ().get("TMPDIR", "") and process.status() != "zombie":
                    found.append(process.pid)
        return found


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def wait_for(path, process):
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


TELL = """printf '%s|%s|%s' "$LAYOUTRAND_STATUS" "$LAYOUTRAND_MESSAGE" "$LAYOUTRAND_RESULTS" > told"""


def told(project):
    return (project.root / "told").read_text().split("|")


def test_a_notification_of_success(project):
    done = project.run("--notify", f"cd '{project.root}' && {TELL}", "--json")
    assert done.returncode == 0, done.stderr
    status, message, results = told(project)
    assert status == "ok"
    assert message.startswith("6 executions now, 0 were there already; results in ")
    assert results == str(project.root / ".layoutrand/results.sqlite")
    assert json.loads(done.stdout)["executions"] == 6


TWO = CONFIG.replace("[systems.sys]", "[systems.sys]\n[systems.other]\ncflags = '{flags}'")


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        (CONFIG, "Next: layoutrand analyse"),
        (TWO.replace("{flags}", "-O2"), "Next: layoutrand compare"),
        (TWO.replace("{flags}", ""), "Next: do the flags reach the compiler? · layoutrand analyse"),
    ],
)
def test_what_comes_next_of_systems_that_are_one_program_is_no_comparison(project, config, wanted):
    project.write(config=config)
    done = project.run()
    assert done.returncode == 0, done.stderr
    assert wanted in done.stderr.splitlines() + done.stdout.splitlines()


def test_a_notification_of_failure(project):
    project.write(status="1")
    done = project.run("--notify", f"cd '{project.root}' && {TELL}")
    assert done.returncode == 1
    failed = [line for line in done.stderr.splitlines() if line.startswith("failed: system sys, benchmark b, ")]
    assert len(failed) == 2 and ": 5 more: " in failed[1]
    assert told(project)[0] == "failed"
    assert "6 failed" in told(project)[1]


def test_a_notification_of_an_error(project):
    (project.root / "layoutrand.toml").write_text("nonsense")
    assert project.run("--notify", f"cd '{project.root}' && {TELL}").returncode == 2
    assert told(project)[0] == "failed"
    assert "layoutrand.toml" in told(project)[1]


def test_what_a_notification_prints_is_no_part_of_the_document(project):
    done = project.run("--notify", "echo printed; exit 7", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["executions"] == 6
    assert "printed" in done.stderr
    assert "warning: --notify echo printed; exit 7: it ended with status 7" in done.stderr


def test_results_of_another_version_are_refused_before_anything_is_built(project):
    results = project.root / ".layoutrand/results.sqlite"
    results.parent.mkdir()
    with contextlib.closing(sqlite3.connect(results)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 2")
    done = project.run("--json")
    assert done.returncode == 1
    assert f"{results} has schema version 2" in done.stderr
    assert done.stderr.strip().splitlines()[-1].endswith(f": mv {results} {results}.version-2")
    assert not (project.root.parent / "cache").exists()


@pytest.mark.slow
def test_all_builds_fail(project):
    (project.root / "src/part.c").write_text("int broken")
    done = project.run("--json", "--aa", "--until-half-width", "1%", "--notify", f"cd '{project.root}' && {TELL}")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert (document["executions"], document["executed"], document["unbuilt"]) == (0, 0, 6)
    assert {f["seed"] for f in document["build_failures"]} == {"stock", "identity", 1, 2}
    assert "nothing to execute: no layout has a binary" in done.stderr
    assert "failed: sys (stock, identity, seeds 1..2): the build exited with status " in done.stderr
    assert told(project)[0] == "failed"
    (project.root / "src/part.c").write_text(PART)
    assert project.run().returncode == 0


@pytest.mark.slow
def test_a_system_is_compared_with_itself_over_the_seeds_asked_for(project):
    assert project.run("--seeds", "6").returncode == 0
    done = project.run("--seeds", "4", "--aa", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["aa_seeds"] == "1..4"
    assert [row["n_each"] for row in document["aa"]] == [2, 2]
    shown = project.run("--seeds", "4", "--aa").stdout
    assert "A/A: each system against itself, seeds 1..4 (4)\n" in shown
    shown = " ".join(shown.split())
    assert "of 1, where 5 % are to be expected by chance" in shown


@pytest.mark.parametrize("asked", ["--aa", "--twice"])
def test_seeds_that_cannot_be_compared_with_themselves_are_not_executed_first(project, asked):
    done = project.run("--seeds", "6..7", asked)
    assert done.returncode == 2
    assert "an A/A comparison of 2 seeds says nothing" in done.stderr
    assert "needs 4 or more, better 10" in done.stderr
    assert not (project.root.parent / "cache").exists()


@pytest.mark.slow
def test_a_system_is_executed_twice_in_the_same_rounds(project):
    """As two systems: one capture, other layouts, the same rounds; `analyse` and others know of the first alone."""
    done = project.run("--seeds", "4", "--twice", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["executions"] == 2 * 4 * 3  # with stock and identity in each round
    assert [(row["sides"], row["n_each"]) for row in document["aa"]] == [
        ("executed twice", 4),
        ("first and second half", 2),
    ]
    again = json.loads(project.run("--seeds", "5", "--twice", "--json").stdout)
    assert (again["executed"], again["already"]) == (6, 24)
    assert again["aa"][0]["n_each"] == 5
    with contextlib.closing(sqlite3.connect(project.root / ".layoutrand/results.sqlite")) as results:
        rows = results.execute("SELECT system, layout, round, capture, binary_sha256 FROM executions").fetchall()
    assert len({row[3] for row in rows}) == 1
    seeds = {(row[0], int(row[1])): row for row in rows if row[1] not in ("stock", "identity")}
    assert {(system, layout, int(row[2])) for (system, layout), row in seeds.items()} == {
        place for k in range(1, 6) for place in (("sys", k, k), ("sys again", 1_000_000_000 + k, k))
    }
    assert len({row[4] for row in seeds.values()}) == 10
    itself = project.layoutrand("compare", "sys", "sys", "--json", "--fail-if", "undecided")
    assert itself.returncode == 0, itself.stderr
    document = json.loads(itself.stdout)
    assert (document["aa"]["sides"], document["benchmarks"][0]["conclusion"]) == ("executed twice", "same program")
    assert document["aa"]["candidate_seeds"] == [1_000_000_000 + k for k in range(1, 6)]
    analysed = json.loads(project.layoutrand("analyse", "--json").stdout)
    assert {(each["system"], each["n_binaries"]) for each in analysed["benchmarks"]} == {("sys", 5)}


def test_the_second_time_of_a_labelled_system_is_told_by_its_label(project):
    project.write(status="1", config=CONFIG.replace("[systems.sys]\n", '[systems.sys]\nlabel = "Ours"\n'))
    done = project.run("--seeds", "4", "--twice", "--keep-going")
    assert done.returncode == 1
    assert "Ours again" in done.stderr and "sys again" not in done.stderr


def test_no_seeds_are_added_for_what_fails(project):
    project.write(status="1")
    done = project.run("--until-half-width", "0.0001%", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["executions"] == 6
    assert "no seeds are added as long as builds or executions fail" in done.stderr


@pytest.mark.slow
def test_seeds_are_built_and_executed_until_the_cap_by_width_alone(project):
    done = project.run("--until-half-width", "0.0001%", "--most-seeds", "7", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["executions"] == 3 * 7
    assert "7 is the limit (--most-seeds)" in done.stderr
    # How wide intervals of three binaries are is chance, so the cap stays: nothing is executed that is there already.
    again = json.loads(project.run("--until-half-width", "99%", "--most-seeds", "7", "--json").stdout)
    assert again["executed"] == 0
    assert again["executions"] <= 3 * 7


PHASES = ("build", "execution", "between")
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
EACH_ONCE = list(zip(PHASES, NUMBERS, strict=True))


@pytest.mark.parametrize(
    ("phase", "number"),
    [
        pytest.param(*pair, marks=() if pair in EACH_ONCE else pytest.mark.slow)
        for pair in itertools.product(PHASES, NUMBERS)
    ],
)
def test_interrupted_in_any_phase_it_leaves_nothing_running_and_goes_on_later(project, phase, number):
    config = CONFIG
    marker = project.root / "marker"
    if phase == "build":
        config = config.replace(
            '"$CC', f'"[ -e {marker}.quick ] || (setsid sleep 300 & touch {marker}; sleep 300)", "$CC'
        )
    elif phase == "execution":
        script = f"[ -e {marker}.quick ] || (setsid sleep 300 & touch {marker}; sleep 300)"
        config = config.replace('"{artefact}"', f'"/bin/sh", "-c", "{script}"')
    else:  # somewhere between the start of an execution and the start of the next one
        config = config.replace('"{artefact}"', f'"/bin/sh", "-c", "touch {marker}"')
    project.write(config=config)
    options = ["--seeds", "40"] if phase == "between" else []
    process = project.start(*options, "--notify", f"cd '{project.root}' && {TELL}")
    wait_for(marker, process)

    process.send_signal(number)
    _, err = process.communicate(timeout=60)

    assert process.returncode == 130, err
    assert "interrupted; everything finished is kept" in err and "Traceback" not in err
    assert project.processes() == []
    assert not (project.root / ".layoutrand/work").exists()
    assert not list((project.root.parent / "cache/work").iterdir())
    assert told(project)[0] == "interrupted"
    Path(f"{marker}.quick").touch()
    done = project.run("--wait", "0")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_two_projects_on_one_machine(tmp_path):
    first, second = Project(tmp_path / "one"), Project(tmp_path / "two")
    marker = first.root / "marker"
    script = f"touch {marker}; while [ ! -e {marker}.over ]; do sleep 0.05; done"
    first.write(config=CONFIG.replace('"{artefact}"', f'"/bin/sh", "-c", "{script}"'))
    process = first.start()
    wait_for(marker, process)

    try:
        refused = second.run("--wait", "0")
        assert refused.returncode == 1
        told = re.search(r"process (\d+) of ", refused.stderr)
        assert told
        above = {each.pid for each in psutil.Process(int(told[1])).parents()}
        assert process.pid in above | {int(told[1])}  # the one that works is below the one that was started
        assert f"for {first.root}" in refused.stderr
        shared = second.run("--wait", "0", "--share-machine", "--json")
        assert json.loads(shared.stdout)["executed"] == 6
        assert second.run("--wait", "0").returncode == 0, "nothing is left to measure, so there is nothing to wait for"

        waiting = second.start("--seeds", "3")
        for line in waiting.stderr:
            if "waiting for it to finish" in line:
                break
        else:
            pytest.fail("it did not say that it waits")
    finally:  # whoever measures keeps all others from it
        Path(f"{marker}.over").touch()
    process.communicate(timeout=60)
    assert process.returncode == 0
    waiting.communicate(timeout=60)
    assert waiting.returncode == 0


@pytest.mark.slow
def test_what_the_build_of_a_killed_layoutrand_left_running_is_ended_by_the_next_one(project):
    marker = project.root / "marker"
    # The marker comes last: a shell that has not yet looked for the other file would find it and end by itself.
    slow = f'"[ -e {marker}.quick ] || (setsid sleep 300 & touch {marker}; sleep 300)", "$CC'
    project.write(config=CONFIG.replace('"$CC', slow))
    process = project.start()
    wait_for(marker, process)
    kill_all(process)
    process.communicate()
    assert project.processes() != []
    Path(f"{marker}.quick").touch()

    done = project.run("--wait", "0")

    assert done.returncode == 0, done.stderr
    assert "of a build whose layoutrand was killed" in done.stderr
    assert wait_until(lambda: project.processes() == [])  # what was just being started had no sleep to begin with
    assert not list((project.root.parent / "cache/work").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["build", "execution"])
@pytest.mark.parametrize("who", ["upper", "lower", "worker", "group"])
def test_what_a_killed_layoutrand_started_ends_with_it(project, phase, who):
    marker = project.root / "marker"
    slow = f"[ -e {marker}.quick ] || (setsid sleep 300 & touch {marker}; sleep 300)"
    if phase == "build":
        project.write(config=CONFIG.replace('"$CC', f'"{slow}", "$CC'))
    else:
        project.write(config=CONFIG.replace('"{artefact}"', f'"/bin/sh", "-c", "{slow}"'))
    process = project.start(process_group=0)
    wait_for(marker, process)
    three = dict(zip(("upper", "lower", "worker"), keepers(process.pid), strict=True))

    if who == "group":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        os.kill(three[who], signal.SIGKILL)
    process.communicate()

    assert process.returncode == -signal.SIGKILL
    assert wait_until(lambda: project.processes() == [])
    Path(f"{marker}.quick").touch()
    done = project.run("--wait", "0")
    assert done.returncode == 0, done.stderr
    assert "was killed" not in done.stderr and "had left behind" not in done.stderr
