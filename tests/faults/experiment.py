"""A small project on disk whose benchmark keeps a log of its own, so that what was executed is known without layoutrand."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from layoutrand.cache.linked_check import verify
from layoutrand.cache.store import Cache
from startkit import layoutrand

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
MAKEFILE = """\
prog: main.c part.c
\t$(CC) -o prog main.c part.c
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
    const char *name = getenv("LOG");
    if (!name) return 0;
    int log = open(name, O_WRONLY | O_CREAT | O_APPEND, 0666);
    return write(log, line, length) != length;
}
"""


def fingerprint(path: Path) -> str:
    """What the program says of itself."""
    value = 14695981039346656037
    for byte in path.read_bytes():
        value = (value ^ byte) * 1099511628211 & (2**64 - 1)
    return f"{value:016x}"


class Experiment:
    """The project and its cache below one directory; command lines are executed in it."""

    def __init__(self, root: Path, cache: Path, seeds: int = 12) -> None:
        self.root, self.cache, self.seeds = root, cache, seeds
        (root / "src").mkdir(parents=True)
        (root / "src/main.c").write_text(MAIN)
        (root / "src/Makefile").write_text(MAKEFILE)
        parts = "".join(f"int f{k}(int x) {{ return x * {k}; }}\n" for k in range(8))
        calls = " + ".join(f"f{k}(x)" for k in range(8))
        (root / "src/part.c").write_text(f"{parts}int spread(int x) {{ return {calls}; }}\n")
        (root / "expected").write_text("done\n")
        (root / "layoutrand.toml").write_text(CONFIG)
        self.env = {**os.environ, "LAYOUTRAND_CACHE": str(cache)}

    @property
    def slots(self) -> int:
        """How many executions a whole run has: systems x rounds x (seed, stock, identity) x executions."""
        return 2 * self.seeds * (1 + 2) * 2

    @property
    def results(self) -> Path:
        """Where the results are."""
        return self.root / ".layoutrand/results.sqlite"

    def words(self, command: str) -> list[str]:
        """The command line of `run` and `build`; of others the command alone."""
        # --wait 0: a lock that outlived its holder would be an error at once.
        options = {"run": ["--seeds", str(self.seeds), "--wait", "0"], "build": ["--seeds", str(self.seeds)]}
        return [command, *options.get(command, []), "--json"]

    def start(self, command: str = "run", **options: Any) -> subprocess.Popen[str]:
        """Start one as a process of its own."""
        return self.start_words(self.words(command), **options)

    def start_words(self, words: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        """Start any command line as a process of its own."""
        env = {**self.env, **options.pop("env", {})}
        command = [sys.executable, "-m", "layoutrand", *words]
        piped = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.root, env=env, text=True, errors="replace", **piped, **options)

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Execute a command line to its end."""
        return layoutrand(*words, cwd=self.root, env=self.env, errors="replace")

    def finish(self, command: str = "run") -> Any:
        """The JSON document of a command that must succeed."""
        done = self.call(*self.words(command))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def ends(self) -> list[str]:
        """Fingerprints in the order in which executions ended."""
        with contextlib.suppress(FileNotFoundError):
            return (self.root / "ends.log").read_text().split()
        return []

    def recorded(self, scratch: Path) -> list[str]:
        """Digests of binaries in the order of recording, as another machine would find them after a power cut."""
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
            slot = "experiment_id, system, benchmark, definition, layout, instrument, round, repetition"
            double = (
                f"SELECT (SELECT count(*) FROM executions) - count(*) FROM (SELECT DISTINCT {slot} FROM executions)"
            )
            assert connection.execute(double).fetchone() == (0,), "an execution is there twice"
            return [row[0] for row in connection.execute("SELECT binary_sha256 FROM executions ORDER BY id")]

    def programs(self) -> list[int]:
        """Processes that execute from the project's directory, or were forked to.

        A child keeps the environment of its layoutrand until it has become the benchmark, which has one of its own.
        """
        before = b"LAYOUTRAND_CACHE=" + os.fsencode(self.cache)
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                forked = before in Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
                if forked or os.readlink(f"/proc/{process.pid}/exe").startswith(f"{self.root}/"):
                    found.append(process.pid)
        return found

    def counts(self) -> list[tuple[Any, ...]]:
        """What `analyse` counts."""
        analyses = self.finish("analyse")["benchmarks"]
        return [(a["system"], a["metric"], a["n_binaries"], a["n_executions"], a["n_iterations"]) for a in analyses]

    def binaries(self) -> dict[str, Path]:
        """The binaries in the cache: digest -> path."""
        found = {}
        for meta in (self.cache / "binaries").glob("*/meta.json"):
            digest = json.loads(meta.read_text())["sha256"]
            found[digest] = next(path for path in meta.parent.iterdir() if path.name != "meta.json")
        return found

    def damaged(self) -> list[str]:
        """What `cache verify` finds."""
        return [str(problem) for problem in verify(Cache(self.cache))] if self.cache.exists() else []


def digest(path: Path) -> str:
    """SHA-256 of a file, "" where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
