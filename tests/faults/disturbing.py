"""Faults: each executes a command line while something goes wrong, and says how it ended."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from faults.experiment import Experiment

LONGEST_S = 300
SHIM = Path(__file__).with_name("shim.c")


@dataclass(frozen=True)
class Ended:
    """The exit status (negative for a signal) and standard error; ``disturbed`` is False where it ended before."""

    returncode: int
    stderr: str
    disturbed: bool = True


Disturb = Callable[[Experiment, tuple[str, ...], Random, float], Ended]
"""Of the experiment, the words, what decides the moment, and the seconds that the command takes by itself."""


def _after(experiment: Experiment, words: tuple[str, ...], pause_s: float, number: int) -> Ended:
    process = experiment.start_words(words, preexec_fn=ignore_none)
    if number != signal.SIGKILL:
        _await_handlers(process)
    time.sleep(pause_s)
    going = process.poll() is None
    process.send_signal(number)
    _, stderr = process.communicate(timeout=LONGEST_S)
    return Ended(process.returncode, stderr, disturbed=going)


def ignore_none() -> None:
    """As from a terminal, also where `make faults` is in the background or under nohup: what is ignored there stays so."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _await_handlers(process: subprocess.Popen[str]) -> None:
    """Until layoutrand has had its first word: what comes while the interpreter starts is answered by the kernel."""
    while process.poll() is None and not catches(process.pid, signal.SIGTERM):
        time.sleep(0.001)


def catches(pid: int, number: int) -> bool:
    """Whether the process has a handler for the signal; False of one that has gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    caught = next((line for line in lines if line.startswith("SigCgt:")), "SigCgt: 0")
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def killed(experiment: Experiment, words: tuple[str, ...], rng: Random, alone_s: float) -> Ended:
    """By kill -9; what it leaves running ends before this returns."""
    ended = _after(experiment, words, rng.random() * alone_s, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while experiment.programs() and time.monotonic() < deadline:
        time.sleep(0.005)
    return ended


def signalled(experiment: Experiment, words: tuple[str, ...], rng: Random, alone_s: float) -> Ended:
    """Asked to end, by each of the signals that do so."""
    number = rng.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    return _after(experiment, words, rng.random() * alone_s, number)


def _with(experiment: Experiment, words: tuple[str, ...], **options: object) -> Ended:
    process = experiment.start_words(words, **options)
    _, stderr = process.communicate(timeout=LONGEST_S)
    return Ended(process.returncode, stderr)


def few_files(experiment: Experiment, words: tuple[str, ...], rng: Random, alone_s: float) -> Ended:
    """EMFILE: only so many files may be open."""
    del alone_s
    most = rng.randrange(12, 40)
    return _with(experiment, words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))


def shim(folder: Path) -> Path:
    """The library that makes calls fail, compiled once."""
    made = folder / "shim.so"
    if not made.exists():
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", SHIM, "-o", made, "-ldl"], check=True)
    return made


def _by_shim(experiment: Experiment, words: tuple[str, ...], **settings: int) -> Ended:
    library = shim(experiment.root.parent)
    names = {f"FAULT_{name.upper()}": str(value) for name, value in settings.items()}
    place = {"LD_PRELOAD": str(library), "FAULT_PLACE": str(experiment.root.parent)}
    return _with(experiment, words, env=names | place)


def input_output_error(experiment: Experiment, words: tuple[str, ...], rng: Random, alone_s: float) -> Ended:
    """EIO, of one call that writes, or of all from there on."""
    del alone_s
    times = rng.choice((1, 1, 10**9))
    return _by_shim(experiment, words, error=errno.EIO, at=int(10 ** (rng.random() * 2.5)) - 1, times=times)


def no_space(experiment: Experiment, words: tuple[str, ...], rng: Random, alone_s: float) -> Ended:
    """ENOSPC of every call that writes, from one on."""
    del alone_s
    return _by_shim(experiment, words, error=errno.ENOSPC, at=int(10 ** (rng.random() * 2.5)) - 1, times=10**9)


def read_only(experiment: Experiment, words: tuple[str, ...], rng: Random, alone_s: float) -> Ended:
    """EROFS of every call that writes."""
    del rng, alone_s
    return _by_shim(experiment, words, error=errno.EROFS, at=0, times=10**9)


def slow(experiment: Experiment, words: tuple[str, ...], rng: Random, alone_s: float) -> Ended:
    """Each call that writes takes some milliseconds."""
    del alone_s
    ended = _by_shim(experiment, words, error=0, pause_us=rng.randrange(500, 4000))
    assert ended.returncode == 0, f"a slow disk is no error: {ended.stderr}"
    return ended


def full_disk(experiment: Experiment, words: tuple[str, ...], rng: Random, alone_s: float) -> Ended:
    """A file system without room, for real; nothing where this user may mount none."""
    del alone_s
    place = experiment.root.parent
    if not os.path.ismount(place):
        return Ended(0, "", disturbed=False)
    state = os.statvfs(place)
    used = (state.f_blocks - state.f_bfree) * state.f_frsize
    _remount(place, f"size={used + int(2 ** (rng.random() * 11)) * 1024}")
    try:
        return _with(experiment, words)
    finally:
        _remount(place, "size=2G")


def mounted_read_only(experiment: Experiment, words: tuple[str, ...], rng: Random, alone_s: float) -> Ended:
    """A file system that cannot be written, for real."""
    del rng, alone_s
    place = experiment.root.parent
    if not os.path.ismount(place):
        return Ended(0, "", disturbed=False)
    _remount(place, "ro")
    try:
        return _with(experiment, words)
    finally:
        _remount(place, "rw")


def _remount(place: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", place], check=True)


FAULTS: dict[str, Disturb] = {
    "kill -9": killed,
    "signal": signalled,
    "EMFILE": few_files,
    "EIO": input_output_error,
    "ENOSPC": no_space,
    "EROFS": read_only,
    "full disk": full_disk,
    "read-only disk": mounted_read_only,
    "slow disk": slow,
}
"""All faults, by their names in the table of counts."""
