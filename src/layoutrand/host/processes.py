"""Which processes used the CPUs between two looks at /proc; our own are left out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from layoutrand.platform.proc_files import ProcessStat, process_stat

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_MOST: Final = 3
_LEAST_S: Final = 0.01


class Processes:
    """All processes as they were at the last look."""

    def __init__(self, root: Path, now_s: Callable[[], float] = time.monotonic, *, own: int | None = None) -> None:
        """Nothing is known before the first look; ``own`` is our process id."""
        self._proc = str(root / "proc")  # joined as text: building a Path for each process takes as long as reading it
        self._now_s = now_s
        self._own = os.getpid() if own is None else own
        self._known: dict[int, ProcessStat] | None = None
        self._looked_s = float("-inf")

    def age_s(self) -> float:
        """Seconds since the last look, infinite before the first."""
        return self._now_s() - self._looked_s

    def look(self, helper: int | None = None) -> list[dict[str, Any]]:
        """Who used most since the last look: ``name``, ``pid``, ``cpu_s``; nobody at the first look.

        ``helper`` is another process of ours, which is left out as well.
        """
        now = {pid: stat for pid in self._pids() if (stat := process_stat(self._proc, pid)) is not None}
        before, self._known, self._looked_s = self._known, now, self._now_s()
        if before is None:
            return []
        used = {pid: stat.ticks - _then(before.get(pid), stat) for pid, stat in now.items()}
        for pid, gone in before.items():
            if pid not in now and (heir := _heir(gone, before, now)) in used:
                used[heir] -= gone.ticks
        busiest = sorted(used.keys() - {helper}, key=lambda pid: -used[pid])[:_MOST]
        return [
            {"name": now[pid].name, "pid": pid, "cpu_s": round(used[pid] / _TICKS_PER_S, 2)}
            for pid in busiest
            if used[pid] >= _LEAST_S * _TICKS_PER_S
        ]

    def _pids(self) -> list[int]:
        try:
            names = os.listdir(self._proc)
        except OSError:
            return []
        return [int(name) for name in names if name.isdigit() and int(name) != self._own]


def _heir(gone: ProcessStat, before: Mapping[int, ProcessStat], now: Mapping[int, ProcessStat]) -> int:
    """Who may have waited for an ended process and then shows all it ever used: the nearest ancestor still there."""
    pid = gone.parent
    while pid not in now and pid in before:
        pid = before[pid].parent
    return pid


def _then(known: ProcessStat | None, now: ProcessStat) -> int:
    """What a process had used at the last look; a number that was given to a new process counts from nothing."""
    return known.ticks if known is not None and known.started == now.started else 0
