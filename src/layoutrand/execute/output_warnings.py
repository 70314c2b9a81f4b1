"""What is told of programs that do not print the same, or may not have read the same: the kinds, and their words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from layoutrand.model import LayoutName
from layoutrand.text.name_lists import joined_names
from layoutrand.text.toml_words import toml_string
from layoutrand.warning import AnyWarning

_MOST: Final = 6
"""Binaries that are named."""

_NO_CHANCE: Final = 0.01
"""Probability below which chance is said to be excluded."""


def _listed(layouts: Sequence[LayoutName]) -> str:
    """``seeds 3, 7 and stock``; of many the first, and how many more."""
    named = layouts[:_MOST] if len(layouts) > _MOST + 1 else layouts
    seeds = [str(each) for each in named if isinstance(each, int)]
    parts = [f"seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}"] if seeds else []
    parts += [str(each) for each in named if not isinstance(each, int)]
    parts += [f"{len(layouts) - len(named)} more"] if len(named) < len(layouts) else []
    return joined_names(parts)


@dataclass(frozen=True)
class InputChanged(AnyWarning):
    """A file that a benchmark's command line names, which was changed after ``before`` of ``of`` executions."""

    benchmark: str
    file: str
    before: int
    of: int

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        return {"benchmark": self.benchmark, "file": self.file, "before": self.before, "executions": self.of}

    def __str__(self) -> str:
        return f"{self.benchmark}: {self.beside_name()}"

    def beside_name(self) -> str:
        """The sentence without the benchmark."""
        return (
            f"{self.brief()}, {self._which}: a path in the command is no part of the benchmark. With files = "
            f"[{toml_string(self.file)}] its content is, and what was measured with another is executed again"
        )

    @property
    def _which(self) -> str:
        return "which count as before"

    def brief(self) -> str:
        """What was found."""
        return f"{self.file} was changed after {self.before:,} of {self.of:,} executions"


@dataclass(frozen=True)
class MixedInputs(InputChanged):
    """The same where others are from after the change: what they differ by may be the input."""

    @property
    def _which(self) -> str:
        return "so that layouts were measured with different inputs"


@dataclass(frozen=True)
class UnlikeOutputs(AnyWarning):
    """Binaries of one system that do not print what most of them do, though each prints the same every time.

    ``n_alike`` binaries agree.  Of the others ``layouts`` were executed once, ``repeated`` more than once; one of both
    may be empty.  ``by_chance`` is at most how probable it is that those which were executed more than once seem to
    differ by chance.  ``outputs`` are files with what most and what one of the others printed, relative to the project;
    none where they are not there.
    """

    system: str
    benchmark: str
    layouts: tuple[LayoutName, ...]
    repeated: tuple[LayoutName, ...]
    n_alike: int
    by_chance: float = 0.0
    outputs: tuple[str, ...] = ()

    @property
    def may_be_chance(self) -> bool:
        """Whether any of them was executed only once, or all too seldom."""
        return bool(self.layouts) or self.by_chance > _NO_CHANCE

    @property
    def all_layouts(self) -> tuple[LayoutName, ...]:
        """All that print something else, seeds first."""
        both = (*self.layouts, *self.repeated)
        return (*sorted(each for each in both if isinstance(each, int)), *(e for e in both if not isinstance(e, int)))

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "system": self.system,
            "benchmark": self.benchmark,
            "layouts": [str(layout) for layout in self.all_layouts],
            "n_alike": self.n_alike,
            "may_be_chance": self.may_be_chance,
            "outputs": list(self.outputs),
        }

    def __str__(self) -> str:
        told = []
        if self.repeated:
            whose = f"{_listed(self.repeated)}: " if self.layouts else ""
            chance = "which may still be chance; twice as many run.executions and `layoutrand run` again would tell"
            sure = "so it is the binary and no chance" if self.by_chance <= _NO_CHANCE else chance
            told.append(f"{whose}executed more than once and the same each time, {sure}")
        if self.layouts:
            whose = f"{_listed(self.layouts)}: " if self.repeated else ""
            told.append(
                f"{whose}executed once, so whether it is the layout or chance cannot be told; run.executions = 3 and "
                "`layoutrand run` again would tell"
            )
        diff = f". diff {' '.join(self.outputs)}" if self.outputs else ""
        what = f"{self.benchmark}: {self.brief()}, so other work may be measured there"
        return f"{what}; {'; '.join(told)}{diff}"

    def brief(self) -> str:
        """What was found."""
        return self.brief_of([self.system])

    def brief_of(self, systems: Sequence[str]) -> str:
        """What was found in the same way of all these systems."""
        names = self.all_layouts
        if len(systems) == 1:
            whose = f"{_listed(names)} of {systems[0]} print{'s' * (len(names) == 1)}"
            return f"{whose} something else than its other {self.n_alike:,} binaries, which agree"
        whose = f"{_listed(names)} of {joined_names(systems)} print"
        return f"{whose} something else than the other {self.n_alike:,} binaries of each, which agree"


@dataclass(frozen=True)
class AlikeInSystems:
    """The same layouts of these systems print something else than most of their system: ``brief`` says it of all."""

    systems: tuple[str, ...]
    brief: str


def alike_in_systems(warnings: Iterable[UnlikeOutputs]) -> dict[UnlikeOutputs, AlikeInSystems]:
    """Of each warning all systems of which it is the same; what is a matter of the build is told in one sentence."""
    found: dict[tuple[str, tuple[LayoutName, ...], int], list[UnlikeOutputs]] = {}
    for each in dict.fromkeys(warnings):
        found.setdefault((each.benchmark, each.all_layouts, each.n_alike), []).append(each)
    told: dict[UnlikeOutputs, AlikeInSystems] = {}
    for members in found.values():
        systems = tuple(dict.fromkeys(each.system for each in members))
        told |= dict.fromkeys(members, AlikeInSystems(systems, members[0].brief_of(systems)))
    return told


@dataclass(frozen=True)
class SystemsPrintOther(AnyWarning):
    """Two systems that print something else of one benchmark, each the same in all its layouts."""

    benchmark: str
    baseline: str
    candidate: str

    def __str__(self) -> str:
        return (
            f"{self.benchmark}: {self.brief()} (each prints the same in every execution; a program that names its "
            "version or its flags is no other work)"
        )

    def brief(self) -> str:
        """What was found."""
        return f"{self.baseline} and {self.candidate} do not print the same, so they may do different work"


@dataclass(frozen=True)
class MeasuresItself(AnyWarning):
    """A benchmark judged by ``metric``, the time of its process, that prints ``first``, another time ``second``.

    ``setting`` has that number judged, as a line of layoutrand.toml; "" where that cannot be told.
    """

    benchmark: str
    metric: str
    first: str
    second: str
    setting: str = ""

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "benchmark": self.benchmark,
            "metric": self.metric,
            "printed": [self.first, self.second],
            "setting": self.setting,
        }

    def __str__(self) -> str:
        return (
            f"{self.benchmark}: it prints other numbers in each execution ({self._numbers}, say), so it may measure "
            f"itself. If it repeats its work for a fixed time, {self.metric} is that time in every layout, and no "
            f"verdict on it says how fast the program is: have what it prints judged ({self.setting or 'metric.regex'}"
            "), or tell it how much work to do; if it does the same work each time, all is well"
        )

    def brief(self) -> str:
        """What was found."""
        return (
            f"{self.benchmark} prints other numbers each time ({self._numbers}): if it runs for a fixed time, "
            f"{self.metric} says nothing, and metric.regex judges these"
        )

    @property
    def _numbers(self) -> str:
        return f"{self.first}, {self.second}"
