"""Jobs of Slurm that have ended without what they were asked for: why, in the words of their logs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from layoutrand.errors import ClusterError
from layoutrand.platform.disk import tail

_SHOWN_LINES: Final = 40
_READ_LINES: Final = 1000
"""Of a log: Slurm's line stands before what the job says while it ends."""
_CANCELLED: Final = re.compile(
    r"^slurmstepd.* error: \*\*\* .* CANCELLED AT \S+(?: DUE TO (.+?))? \*\*\*", re.MULTILINE
)
_MEMORY: Final = re.compile(r"^slurmstepd.* error: Detected \d+ oom[-_]kill event", re.MULTILINE | re.IGNORECASE)
_TIME: Final = "TIME LIMIT"
_TRACEBACK: Final = "Traceback (most recent call last):"


def left_no_result(job: str, log: Path) -> str:
    """What is known of ``job``, as it is called in words, which Slurm has done with."""
    words = f"{_ended_by_slurm(job, log) or f'Slurm has done with {job}'}, and it left no result"
    said = _end_of(log, _SHOWN_LINES)
    return f"{words}; the end of {log}:\n{said}" if said else f"{words}; {log} is empty"


def left_error(job: str, log: Path, error: BaseException) -> BaseException:
    """The error that a job has left, behind what Slurm did to it or what its own traceback says, if either is known."""
    what = _ended_by_slurm(job, log)
    if not what and (raised := _raised(str(error))):
        what = f"{job} failed: {raised}"
    if not what:
        return error
    known = ClusterError(f"{what}; its log is {log}\n{error}")
    known.__cause__ = error
    return known


def _ended_by_slurm(job: str, log: Path) -> str:
    """What Slurm did to the job before that could answer; "" for nothing."""
    said = _end_of(log, _READ_LINES)
    found = _CANCELLED.findall(said)  # the last is that of the last time that it was begun
    if not found:
        return f"Slurm killed {job} for want of memory (`mem` in sbatch gives it more)" if _MEMORY.search(said) else ""
    if found[-1] == _TIME:
        return (
            f"Slurm cancelled {job} at its time limit (`minutes` in [cluster], or [cluster.measure] where it executes)"
        )
    return f"Slurm cancelled {job}{f' for {found[-1].lower()}' if found[-1] else ''}"


def _end_of(log: Path, lines: int) -> str:
    try:
        return tail(log, lines).strip()
    except OSError:
        return ""


def _raised(text: str) -> str:
    """The exception of the first traceback in a text, in its one line; "" where there is none."""
    _, _, after = text.partition(_TRACEBACK)
    lines = (line.rstrip(": ") for line in after.splitlines() if line.strip() and not line.startswith(" "))
    return next(lines, "")
