"""Which profiler this machine has: one that samples the processor where that can be done well, else a simulator."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Final

from layoutrand.errors import ToolNotFound
from layoutrand.instruments.known import profilers
from layoutrand.instruments.profile import Profiler

AUTO: Final = "auto"


@dataclass(frozen=True)
class ChosenProfiler:
    """A profiler with the absolute path of its ``program``, and the ``event`` that it samples here, else ""."""

    kind: Profiler
    program: str
    event: str = ""

    @property
    def words(self) -> str:
        """What was counted, for people."""
        return self.kind.words(self.event)


def profiler_options() -> list[str]:
    """What ``--profiler`` can be."""
    return [AUTO, *(each.option for each in profilers())]


def choose_profiler(wanted: str) -> ChosenProfiler:
    """The profiler asked for, which is one of `profiler_options`; raises `ToolNotFound` that names the package."""
    candidates = [each for each in profilers() if wanted in (AUTO, each.option)]
    for each in candidates:
        if shutil.which(each.program) is not None:
            program = each.find()
            event = each.event(program)
            if each.suits(event) or wanted == each.option:
                return ChosenProfiler(each, program, event)
    *others, last = candidates
    raise ToolNotFound(last.absent() + "".join(f", or, {each.alternative()}" for each in others))
