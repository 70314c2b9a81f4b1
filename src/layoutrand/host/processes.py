"""Which processes used the CPUs between two looks at /proc; our own are left out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from layoutrand.platform import proc_files

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_MOST: Final = 3
_LEAST_S: Final = 0.01


@dataclass(frozen=True)
class _Process:
    """``cpu_s`` holds what it used itself and what those of its children used that it waited for."""

    name: str
    parent: int
    started: int
    cpu_s: float


class Processes:
    """All processes as they were at the last look."""

    def __init__(self, root: Path, now_s: Callable[[], float] = time.monotonic, *, own: int | None = None) -> None:
        """Nothing is known before the first look; ``own`` is our process id."""
        self._proc = str(root / "proc")  # joined as text: building a Path for each process takes as long as reading it
        self._now_s = now_s
        self._own = os.getpid() if own is None else own
        self._known: dict[int, _Process] | None = None
        self._looked_s = float("-inf")

    def age_s(self) -> float:
        """Seconds since the last look, infinite before the first."""
        return self._now_s() - self._looked_s

    def look(self) -> list[dict[str, Any]]:
        """Who used most since the last look: ``name``, ``pid``, ``cpu_s``; nobody at the first look."""
        now = {pid: process for pid in self._pids() if (process := self._process(pid)) is not None}
        before, self._known, self._looked_s = self._known, now, self._now_s()
        if before is None:
            return []
        used = {pid: process.cpu_s - _then(before.get(pid), process) for pid, process in now.items()}
        for pid, gone in before.items():
            if pid not in now and (heir := _heir(gone, before, now)) in used:
                used[heir] -= gone.cpu_s
        busiest = sorted(used, key=lambda pid: -used[pid])[:_MOST]
        return [
            {"name": now[pid].name, "pid": pid, "cpu_s": round(used[pid], 2)}
            for pid in busiest
            if used[pid] >= _LEAST_S
        ]

    def _pids(self) -> list[int]:
        try:
            names = os.listdir(self._proc)
        except OSError:
            return []
        return [int(name) for name in names if name.isdigit() and int(name) != self._own]

    def _process(self, pid: int) -> _Process | None:
        """None for one that has just ended.  See proc_pid_stat(5): fields 4, 14 to 17 and 22."""
        line = proc_files.text(f"{self._proc}/{pid}/stat")
        if line is None:
            return None
        name = line[line.find("(") + 1 : line.rfind(")")]  # it may itself hold spaces and brackets
        fields = line[line.rfind(")") + 2 :].split()
        if len(fields) < 20:
            return None
        ticks = sum(int(field) for field in fields[11:15])
        return _Process(name=name, parent=int(fields[1]), started=int(fields[19]), cpu_s=ticks / _TICKS_PER_S)


def _heir(gone: _Process, before: Mapping[int, _Process], now: Mapping[int, _Process]) -> int:
    """Who may have waited for an ended process and then shows all it ever used: the nearest ancestor still there."""
    pid = gone.parent
    while pid not in now and pid in before:
        pid = before[pid].parent
    return pid


def _then(known: _Process | None, now: _Process) -> float:
    """What a process had used at the last look; a number that was given to a new process counts from nothing."""
    return known.cpu_s if known is not None and known.started == now.started else 0.0
