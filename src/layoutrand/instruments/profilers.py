"""Which profiler this machine has: perf where the processor's counters can be read, else callgrind."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import Literal

from layoutrand.errors import FeatureUnsupported, ToolNotFound
from layoutrand.instruments.counters import check_events
from layoutrand.instruments.perf_script import CLOCK, COUNTER
from layoutrand.platform.packages import install

Wanted = Literal["auto", "perf", "callgrind"]


@dataclass(frozen=True)
class Profiler:
    """``kind`` is "perf" or "callgrind", ``program`` its absolute path, ``event`` what perf samples, else ""."""

    kind: str
    program: str
    event: str = ""

    @property
    def words(self) -> str:
        """What was counted, for people."""
        if self.kind == "callgrind":
            return "instructions counted by callgrind"
        return f"samples of {self.event} by perf"


def choose_profiler(wanted: Wanted) -> Profiler:
    """The profiler asked for; raises `ToolNotFound` that names the package."""
    perf, valgrind = shutil.which("perf"), shutil.which("valgrind")
    if wanted != "callgrind" and perf is not None:
        counted = _counts(os.path.abspath(perf))
        if counted or wanted == "perf":
            return Profiler("perf", os.path.abspath(perf), COUNTER if counted else CLOCK)
    if wanted == "perf":
        raise ToolNotFound(f"--profiler perf: there is no perf in PATH: {install(['perf'])}")
    if valgrind is None:
        other = ""
        if wanted != "callgrind":
            other = f", or, on a machine whose counters can be read, perf ({install(['perf'])})"
        raise ToolNotFound(
            "there is no profiler to find hot functions with; valgrind has one, callgrind "
            f"({install(['valgrind'])}){other}"
        )
    return Profiler("callgrind", os.path.realpath(valgrind))


def _counts(perf: str) -> bool:
    try:
        check_events(perf, [COUNTER])
    except FeatureUnsupported:
        return False
    return True
