"""Signals and kill -9 at any moment of any command: one status, no traceback, nothing goes on, nothing is lost or doubled."""

from __future__ import annotations

import collections
import contextlib
import json
import random
import shutil
import signal
import sqlite3
import time

import pytest

from signalkit import COMMANDS, KILLED, NUMBERS, STARTING, FaultProject, killed, signalled
from startkit import layoutrand

LONGEST_S = 4.0
"""Of a command that is interrupted; the first seconds of a longer one have all its kinds of work."""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return FaultProject(tmp_path_factory.mktemp("faults"))


def durations(project):
    """How long each command takes undisturbed, in seconds, and its status."""
    found = {}
    for command in COMMANDS:
        if command == "demo":
            found[command] = (LONGEST_S, 0)
            continue
        begun = time.monotonic()
        process = project.start(command, fresh=False)
        _, said = process.communicate()
        assert process.returncode == (2 if command == "an error" else 0), said
        found[command] = (min(time.monotonic() - begun, LONGEST_S), process.returncode)
    return found


def built(project):
    document = json.loads(layoutrand("build", "--seeds", "8", "--json", cwd=project.place, env=project.env).stdout)
    return {(row["artefact"], row["seed"]): row["sha256"] for row in document["binaries"]}


def executions(project):
    with contextlib.closing(sqlite3.connect(project.place / ".layoutrand/results.sqlite")) as results:
        return results.execute("SELECT system, layout, round, repetition, attempt FROM executions").fetchall()


@pytest.mark.hour
@pytest.mark.parametrize("times", [1, 25])
def test_each_command_at_random_moments(project, times):
    """Prints how often which command ended how: so many signals of each kind in turn, and as many kills."""
    alone = durations(project)
    wanted, recorded = built(project), executions(project)
    rng = random.Random(21)
    counts = collections.Counter()
    for turn in range(times):
        for place, command in enumerate(COMMANDS):
            longest, status = alone[command]
            number = NUMBERS[(turn + place) % len(NUMBERS)]
            fresh = command in ("build", "run") and rng.random() < 0.5
            seen = signalled(project, command, number, rng.random() * longest, fresh=fresh, more=rng.choice((0, 1, 5)))
            assert seen.is_quiet and not seen.left, seen
            # `exec` hands a signal to its command, and ends as that one does.
            assert seen.status in {130, status, 128 + number if command == "exec" else 130}, seen
            counts["signal", command, seen.status] += 1
        for place, command in enumerate(STARTING):
            who = KILLED[(turn + place) % len(KILLED)]
            seen = killed(project, command, who, rng.random() * alone[command][0], fresh=False)
            assert not seen.left, seen
            assert seen.status in {-signal.SIGKILL, alone[command][1]}, seen
            counts["kill", command, seen.status] += 1
        for cache in project.root.glob("cache-*"):
            shutil.rmtree(cache)
    print("\n" + "\n".join(f"{what} {command}: {status} {count}" for (what, command, status), count in counts.items()))
    assert sum(count for (what, _, status), count in counts.items() if status == 130) > times
    assert sum(count for (what, _, status), count in counts.items() if status == -signal.SIGKILL) > times
    assert built(project) == wanted
    again = project.start("run", fresh=False)
    _, said = again.communicate()
    assert again.returncode == 0, said
    now = executions(project)
    assert len(set(now)) == len(now)
    assert set(recorded) <= set(now)
    assert layoutrand("cache", "verify", cwd=project.place, env=project.env).returncode == 0


def test_the_table_has_every_command_that_starts_programs_of_others():
    """`keep` is asked for by name, before the command line is imported."""
    from layoutrand.__main__ import STARTING_PROGRAMS
    from layoutrand.cli import _COMMANDS

    # They read, compute and write, or are started by a layoutrand.
    without = set(
        "analyse analyze compare report figures export warmup inspect simulate cache staging bundle help results "
        "relink-record relink-helper".split()
    )
    assert set(_COMMANDS) - without == STARTING_PROGRAMS & set(_COMMANDS)
    assert set(STARTING) <= STARTING_PROGRAMS
