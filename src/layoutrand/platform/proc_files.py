"""Reading the small files under /proc and /sys: what cannot be read is None, never an error.

Every path is taken below a ``root``, so that tests describe a machine as a directory.  What psutil knows of memory and
CPUs it is asked for (`told_by_psutil`); what is read around each execution is read here, in 0.2 ms.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple, TypeVar

CPUS: Final = Path("sys/devices/system/cpu")
_LARGEST: Final = 2**64 - 1
_CHUNK: Final = 1 << 16
_LOAD: Final = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")
_T = TypeVar("_T")


class ProcessStat(NamedTuple):
    """What /proc/PID/stat says: ``ticks`` of CPU time with those of children waited for; ``started`` since the boot."""

    name: str
    parent: int
    ticks: int
    started: int


def text(path: Path | str, *, in_one: bool = False) -> str | None:
    """The content without surrounding white space.

    Read without Python's buffers and decoders, which cost more than the kernel's answer.  ``in_one`` is for what the
    kernel makes in one piece, and gives whole to the first who asks for as much: it need not be asked whether there is
    more, unless it filled what there was room for.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        parts = [os.read(descriptor, _CHUNK)]
        while parts[-1] and not (in_one and len(parts[-1]) < _CHUNK):
            parts.append(os.read(descriptor, _CHUNK))
    except OSError:  # some files of /sys can be opened, but say nothing
        return None
    finally:
        os.close(descriptor)
    return b"".join(parts).decode("utf-8", "replace").strip()


def number(path: Path | str) -> int | None:
    """The content as an integer."""
    found = integers((text(path, in_one=True) or "").split())
    return found[0] if found and len(found) == 1 else None


def integers(words: Iterable[str]) -> list[int] | None:
    """The words as integers of 64 bits; None where one is none: containers have files of their own making there."""
    try:
        found = [int(word) for word in words]
    except ValueError:
        return None
    return found if all(abs(each) <= _LARGEST for each in found) else None


def load1(root: Path | str) -> float | None:
    """How many processes were ready in the last minute, as the machine below ``root`` says."""
    first = (text(f"{root}/proc/loadavg", in_one=True) or "").partition(" ")[0]
    return float(first) if _LOAD.fullmatch(first) else None


def allowed_cpus() -> tuple[int, ...]:
    """The CPUs that this process may use."""
    return tuple(sorted(os.sched_getaffinity(0)))


def process_stat(proc: Path | str, pid: int) -> ProcessStat | None:
    """A process as the files below ``proc`` have it, None for one that has ended.  See proc_pid_stat(5).

    psutil takes six times as long for each, and dates a start by the clock, which may be set meanwhile.
    """
    line = text(f"{proc}/{pid}/stat", in_one=True)
    if line is None:
        return None
    begin, end = line.find("("), line.rfind(")")  # the name may itself hold spaces and brackets
    values = line[end + 2 :].split(maxsplit=20)
    numbers = integers([values[1], values[19], *values[11:15]]) if len(values) >= 20 else None
    if numbers is None:
        return None
    parent, started, *ticks = numbers
    return ProcessStat(line[begin + 1 : end], parent, sum(ticks), started)


def told_by_psutil(root: Path, question: Callable[[ModuleType], _T]) -> _T | None:
    """What psutil answers of the machine below ``root``."""
    import psutil

    before, psutil.PROCFS_PATH = psutil.PROCFS_PATH, str(root / "proc")
    try:
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # of what we do not ask for
            return question(psutil)
    except (OSError, ValueError, TypeError, LookupError, ArithmeticError):  # hidden, empty, no sense: in containers
        return None
    finally:
        psutil.PROCFS_PATH = before


def fields(path: Path | str, wanted: Iterable[str]) -> dict[str, int]:
    """The wanted ones of a file of lines ``name number``, such as /proc/vmstat; of many lines these alone are read."""
    found: dict[str, int] = {}
    lines = f"\n{text(path) or ''}\n"
    for name in wanted:
        _, there, value = lines.partition(f"\n{name} ")
        if there and (count := integers([value.partition("\n")[0]])) is not None:
            found[name] = count[0]
    return found
