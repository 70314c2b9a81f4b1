"""Disturb commands, and see that nothing is lost, nothing doubled, and no binary another one than it should be."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from faults.disturbing import FAULTS, Ended, shim
from faults.experiment import Experiment
from faults.table import CASES, MANY, SEEDS, Case, State
from fuzz.mutations import CHANGES, changed
from fuzz.target import Form

POLITE = (0, 1, 2, 130)
"""Exit statuses of a command that ended in a way of its own."""

OF_THE_COMMAND = tuple(128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
"""`exec` hands a signal to its command, and ends as that one does."""


@dataclass
class Counts:
    """How often what was done."""

    done: Counter[str] = field(default_factory=Counter)
    disturbed: Counter[str] = field(default_factory=Counter)

    def add(self, what: str, *, disturbed: bool) -> None:
        """One more."""
        self.done[what] += 1
        self.disturbed[what] += disturbed

    def table(self) -> str:
        """Lines for people."""
        rows = [f"{name:32} {self.done[name]:6} {self.disturbed[name]:6}" for name in sorted(self.done)]
        return "\n".join([f"{'':32} {'done':>6} {'amid':>6}", *rows])


class Ground:
    """An experiment that is brought back into a state before each fault, and what commands come to undisturbed."""

    def __init__(self, place: Path, saved: Path, seed: int) -> None:
        """``place`` is where it happens, ``saved`` where its states are kept."""
        self.place, self.saved, self.rng = place, saved, Random(seed)
        self.experiment = Experiment(place / "project", place / "cache", SEEDS)
        shim(place)
        self._commit()
        self._keep("sources")
        self.hashes = self.experiment.finish("build")["binaries"]
        self._finished("bundle", "export", "O1", "bundle")
        self._keep("built")
        self.experiment.finish("run")
        self._keep("recorded")
        self.known = {binary["sha256"] for binary in self.hashes}
        self._expected: dict[str, tuple[Any, float]] = {}

    def _commit(self) -> None:
        """The sources as a commit, beside which nothing that commands write is new."""
        root = self.experiment.root
        (root / ".gitignore").write_text("/*\n!/src\n!/layoutrand.toml\n!/expected\n")
        someone = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        for words in (("init", "--quiet"), ("add", "--all"), (*someone, "commit", "--quiet", "--message=all")):
            subprocess.run(["git", *words], cwd=root, check=True)

    def _prepare(self, state: State) -> None:
        """A state that few commands begin in, made when the first of them does."""
        if state == "many":
            self.restore("recorded")
            self._finished("run", "--seeds", str(MANY), "--system", "O1")
            self.known |= set(self.experiment.binaries())
        else:
            self.restore("built")
            path = self.experiment.root / "src/part.c"
            path.write_text(path.read_text().replace("x * 7;", "x * 7 + (x > 1000);"))
        self._keep(state)

    def restore(self, state: State) -> None:
        """As it was."""
        if not (self.saved / state).exists():
            self._prepare(state)
        for name in ("project", "cache"):
            shutil.rmtree(self.place / name, ignore_errors=True)
            if (self.saved / state / name).exists():
                shutil.copytree(self.saved / state / name, self.place / name, symlinks=True)

    def _keep(self, state: State) -> None:
        for name in ("project", "cache"):
            if (self.place / name).exists():
                shutil.copytree(self.place / name, self.saved / state / name, symlinks=True)

    def _finished(self, *words: str) -> subprocess.CompletedProcess[str]:
        done = self.experiment.call(*words)
        assert done.returncode == 0, f"{' '.join(words)}: {done.returncode}\n{done.stderr}\n{done.stdout}"
        return done

    def expected(self, name: str) -> tuple[Any, float]:
        """What the command comes to by itself, and how long it takes as a process of its own."""
        if name not in self._expected:
            case = CASES[name]
            self.restore(case.state)
            begin = time.monotonic()
            process = self.experiment.start_words(case.words)
            process.communicate()
            alone_s = time.monotonic() - begin
            self.restore(case.state)
            self._expected[name] = (self._outcome(case), alone_s)
        return self._expected[name]

    def _outcome(self, case: Case) -> Any:
        done = self.experiment.call(*case.words)
        assert done.returncode == 0 or case.words == ("doctor",), f"{case.words}: {done.returncode}\n{done.stderr}"
        return case.outcome(self.experiment, done)

    def disturb(self, name: str, fault: str, counts: Counts) -> None:
        """One command under one fault, then by itself."""
        case, (wanted, alone_s) = CASES[name], self.expected(name)
        self.restore(case.state)
        before = self.experiment.recorded(self.place / "copy")
        ended = FAULTS[fault](self.experiment, case.words, self.rng, alone_s)
        counts.add(f"{fault}: {name}", disturbed=ended.disturbed)
        self._judge(f"{fault}: {name}", ended)
        self._whole(name, fault, before)
        assert self._outcome(case) == wanted, f"{fault}: {name}: another outcome afterwards"

    def _judge(self, what: str, ended: Ended) -> None:
        assert "Traceback" not in ended.stderr, f"{what}: {ended.stderr}"
        assert is_expected(what, ended.returncode), f"{what}: {ended}"

    def _whole(self, name: str, fault: str, before: list[str]) -> None:
        """Nothing that was there is lost, doubled or another."""
        after = self.experiment.recorded(self.place / "copy")
        assert after[: len(before)] == before, f"{fault}: {name}: executions that were recorded are lost"
        assert self.experiment.damaged() == [], f"{fault}: {name}: the cache is damaged"
        assert set(after) <= self.known, f"{fault}: {name}: an execution of a binary that nobody made"

    def mutate(self, where: str, counts: Counts) -> None:
        """Change one file of the cache, the staging or the results, and use them."""
        self.restore("recorded")
        place = {
            "cache": self.place / "cache",
            "staging": self.place / "project/bundle",
            "results": self.experiment.results.parent,
        }[where]
        what = self._changed(place)
        counts.add(f"mutation: {where}", disturbed=True)
        for words in USES[where]:
            done = self.experiment.call(*words)
            told = f"{what}: {' '.join(words)}: {done.returncode}\n{done.stderr[-2000:]}"
            assert "Traceback" not in done.stderr, told
            assert done.returncode in POLITE, told
            if words[0] == "build" and done.returncode == 0:
                self._right_binaries(CASES["build"].outcome(self.experiment, done), told)

    def _right_binaries(self, found: Any, told: str) -> None:
        wanted = sorted((b["system"], str(b["seed"]), b["sha256"]) for b in self.hashes)
        assert found == wanted, f"{told}\nother binaries than before"
        digests = self.experiment.binaries()
        assert {b["sha256"] for b in self.hashes} <= set(digests), told

    def _changed(self, place: Path) -> str:
        """Do something to one file; what it was."""
        files = sorted(path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
        path = self.rng.choice(files)
        way = self.rng.choice(WAYS)
        told = f"{way} {path.relative_to(self.place)}"
        data = path.read_bytes()
        path.unlink()
        if way == "another's":
            path.write_bytes(self.rng.choice([other for other in files if other != path]).read_bytes())
        elif way == "directory":
            path.mkdir()
        elif way == "FIFO":
            os.mkfifo(path)
        elif way == "link":
            path.symlink_to("/dev/zero")
        elif way in CHANGES:
            form: Form = "json" if way == "json" else "bytes"
            count = self.rng.randint(1, 3)
            numbers = [tuple(self.rng.getrandbits(32) for _ in range(3)) for _ in range(count)]
            path.write_bytes(changed(data, [(a, b, c) for a, b, c in numbers], form))
        return told


def is_expected(what: str, returncode: int) -> bool:
    """Whether a command may end like this under "fault: command"."""
    return (
        returncode in POLITE
        or (what.startswith("kill -9") and returncode == -signal.SIGKILL)
        or (what == "signal: exec" and returncode in OF_THE_COMMAND)
    )


WAYS = ("bytes", "bytes", "bytes", "json", "json", "removed", "another's", "directory", "FIFO", "link")
USES: dict[str, tuple[tuple[str, ...], ...]] = {
    "cache": (CASES["build"].words, ("cache", "verify")),
    "staging": (("bundle", "import", "bundle"), CASES["build"].words),
    "results": (("results", "verify"), ("analyse", "--json"), CASES["run"].words),
}
"""What is done after a change, by where it was."""


@contextmanager
def ground(folder: Path, seed: int) -> Iterator[Ground]:
    """On a file system of its own, where one may be mounted."""
    place = folder / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2G", "tmpfs", place], capture_output=True, check=False
    )
    try:
        yield Ground(place, folder / "saved", seed)
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "--lazy", place], check=True)
