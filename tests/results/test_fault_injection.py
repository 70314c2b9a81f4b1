"""kill -9 of the whole `layoutrand run` at random moments: no finished execution is lost, none is there twice.

What has finished is known independently of layoutrand: the benchmark itself notes its end, with a fingerprint of the
binary that it is, in a log of its own.  Between two kills the log and the recorded executions must be the same sequence,
except that the last end before a kill may be missing: its execution was in flight, being judged or recorded.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
import time

import pytest

from faults.experiment import Experiment, fingerprint
from workshop import require


@pytest.fixture
def experiment(tmp_path):
    require("gcc", "gcc")
    return Experiment(tmp_path / "project", tmp_path / "cache")


def kill_after(process, experiment, ends, pause):
    """Kill once that many ends more are logged, after another ``pause`` seconds; or not, where it ended before."""
    wanted = len(experiment.ends()) + ends
    while len(experiment.ends()) < wanted and process.poll() is None:
        time.sleep(0.001)
    time.sleep(pause)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 60  # the execution in flight is an orphan, which goes on to its own end
    while experiment.programs() and time.monotonic() < deadline:
        time.sleep(0.002)


@pytest.mark.slow  # `tests/execute/test_resume.py` kills in `make test`
@pytest.mark.hour
@pytest.mark.parametrize("kills", [4, 50])
def test_killed_at_random_points_nothing_finished_is_lost_and_nothing_is_there_twice(experiment, tmp_path, kills):
    rng = random.Random(20260000 + kills)
    missing = []
    begun, kept = 0, 0  # how much of the log and of the records is compared already
    of_binary = {}
    for number in range(kills):
        if number % 10 == 0:  # while it starts, builds, links or opens the results
            kill_after(experiment.start(), experiment, 0, rng.random() * 1.5)
        else:  # while it executes; or between two executions, in a commit
            kill_after(experiment.start(), experiment, rng.randrange(1, 4), rng.random() * 0.015)
        recorded, ends = experiment.recorded(tmp_path / "copy"), experiment.ends()
        if ends and not of_binary:
            of_binary = {fingerprint(path): digest for digest, path in experiment.binaries().items()}
        finished = [of_binary[end] for end in ends[begun:]]
        assert recorded[kept:] in (finished, finished[:-1]), f"kill {number}"
        missing.append(len(finished) - len(recorded[kept:]))
        begun, kept = len(ends), len(recorded)
    document = experiment.finish()
    assert (document["executions"], document["already"], document["failures"]) == (experiment.slots, kept, [])
    assert experiment.recorded(tmp_path / "copy")[kept:] == [of_binary[end] for end in experiment.ends()[begun:]]
    assert len(experiment.ends()) == experiment.slots + sum(missing), (
        "an execution is repeated only where it was in flight"
    )
    assert experiment.programs() == []
    assert not (experiment.root / ".layoutrand/work").exists()
    slots = "SELECT count(*), count(DISTINCT schedule_order) FROM executions"
    with contextlib.closing(sqlite3.connect(tmp_path / "copy/results.sqlite")) as connection:
        assert connection.execute(slots).fetchone() == (experiment.slots, experiment.slots)
    undisturbed = Experiment(tmp_path / "undisturbed", experiment.cache)
    undisturbed.finish()
    assert experiment.counts() == undisturbed.counts()
