"""kill -9 of the whole `layoutrand run` at random moments: no finished execution is lost, none is there twice.

What has finished is known independently of layoutrand: the benchmark itself notes its end, with a fingerprint of the
binary that it is, in a log of its own.  Between two kills the log and the recorded executions must be the same sequence,
except that the last end before a kill may be missing: its execution was in flight, being judged or recorded.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from workshop import require

CONFIG = """\
[project]
name = "faults"
[build]
source = "src"
commands = ["$CC -o prog main.c part.c"]
artefacts = ["prog"]
[systems.O1]
cflags = "-O1"
[systems.O2]
cflags = "-O2"
[[benchmarks]]
name = "b"
command = ["{artefact}"]
env = { LOG = "{project}/ends.log" }
expect_stdout = "expected"
[run]
executions = 2
randomise = ["env-size"]
"""
MAIN = r"""
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int spread(int);
static uint64_t fingerprint(void) {
    uint64_t hash = 14695981039346656037u;
    unsigned char buffer[65536];
    int self = open("/proc/self/exe", O_RDONLY);
    for (ssize_t n; (n = read(self, buffer, sizeof buffer)) > 0;)
        for (ssize_t k = 0; k < n; k++) hash = (hash ^ buffer[k]) * 1099511628211u;
    return hash;
}
int main(void) {
    char line[32];
    struct timespec pause = {0, (getpid() % 12) * 1000000L};
    nanosleep(&pause, 0);
    puts("done");
    fflush(stdout);
    int length = sprintf(line, "%016llx\n", (unsigned long long)fingerprint() + (spread(3) != 3 * 28));
    int log = open(getenv("LOG"), O_WRONLY | O_CREAT | O_APPEND, 0666);
    return write(log, line, length) != length;
}
"""
SEEDS = "12"
SLOTS = 2 * 12 * (1 + 2) * 2  # systems x rounds x (seed, stock, identity) x executions


def fingerprint(path):
    value = 14695981039346656037
    for byte in path.read_bytes():
        value = (value ^ byte) * 1099511628211 & (2**64 - 1)
    return f"{value:016x}"


class Experiment:
    """A project on disk, and `layoutrand run` as processes of its own."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root, self.cache = root, cache
        (root / "src").mkdir(parents=True)
        (root / "src/main.c").write_text(MAIN)
        parts = "".join(f"int f{k}(int x) {{ return x * {k}; }}\n" for k in range(8))
        calls = " + ".join(f"f{k}(x)" for k in range(8))
        (root / "src/part.c").write_text(f"{parts}int spread(int x) {{ return {calls}; }}\n")
        (root / "expected").write_text("done\n")
        (root / "layoutrand.toml").write_text(CONFIG)
        self.env = {**os.environ, "LAYOUTRAND_CACHE": str(cache)}

    def start(self, command="run", *arguments):
        # --wait 0: a lock that outlived its holder would be an error at once.
        options = ["--seeds", SEEDS, "--wait", "0"] if command == "run" else []
        return subprocess.Popen(
            [sys.executable, "-m", "layoutrand", command, *options, "--json", *arguments],
            cwd=self.root,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, command="run"):
        process = self.start(command)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        return json.loads(out)

    def ends(self):
        with contextlib.suppress(FileNotFoundError):
            return (self.root / "ends.log").read_text().split()
        return []

    def recorded(self, scratch):
        """(Digests of binaries in the order of recording) as another machine would find them after a power cut."""
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        for name in ("results.sqlite", "results.sqlite-wal"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copy(self.root / ".layoutrand" / name, scratch / name)
        if not (scratch / "results.sqlite").exists():
            return []
        with contextlib.closing(sqlite3.connect(scratch / "results.sqlite")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
            unfinished = "SELECT count(*) FROM executions WHERE status <> 'ok' OR id NOT IN (SELECT execution_id FROM measurements)"
            assert connection.execute(unfinished).fetchone() == (0,)
            return [row[0] for row in connection.execute("SELECT binary_sha256 FROM executions ORDER BY id")]

    def programs(self):
        """Processes that execute from the project's directory, or were forked to: a child keeps the environment of its
        layoutrand until it has become the benchmark, which has one of its own."""
        before = b"LAYOUTRAND_CACHE=" + os.fsencode(self.cache)
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                forked = before in Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
                if forked or os.readlink(f"/proc/{process.pid}/exe").startswith(f"{self.root}/"):
                    found.append(process.pid)
        return found

    def counts(self):
        analyses = self.finish("analyse")["benchmarks"]
        return [(a["system"], a["metric"], a["n_binaries"], a["n_executions"], a["n_iterations"]) for a in analyses]


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
            of_binary = {fingerprint(path): digest for digest, path in _binaries(experiment).items()}
        finished = [of_binary[end] for end in ends[begun:]]
        assert recorded[kept:] in (finished, finished[:-1]), f"kill {number}"
        missing.append(len(finished) - len(recorded[kept:]))
        begun, kept = len(ends), len(recorded)
    document = experiment.finish()
    assert (document["executions"], document["already"], document["failures"]) == (SLOTS, kept, [])
    assert experiment.recorded(tmp_path / "copy")[kept:] == [of_binary[end] for end in experiment.ends()[begun:]]
    assert len(experiment.ends()) == SLOTS + sum(missing), "an execution is repeated only where it was in flight"
    assert experiment.programs() == []
    assert not (experiment.root / ".layoutrand/work").exists()
    slots = "SELECT count(*), count(DISTINCT schedule_order) FROM executions"
    with contextlib.closing(sqlite3.connect(tmp_path / "copy/results.sqlite")) as connection:
        assert connection.execute(slots).fetchone() == (SLOTS, SLOTS)
    undisturbed = Experiment(tmp_path / "undisturbed", experiment.cache)
    undisturbed.finish()
    assert experiment.counts() == undisturbed.counts()


def _binaries(experiment):
    """The binaries in the cache: digest -> path."""
    found = {}
    for meta in (experiment.cache / "binaries").glob("*/meta.json"):
        digest = json.loads(meta.read_text())["sha256"]
        found[digest] = next(path for path in meta.parent.iterdir() if path.name != "meta.json")
    return found
