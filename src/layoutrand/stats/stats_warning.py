"""What all warnings of statistics have: the systems they are about, and what is counted in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, Self

from layoutrand.warning import AnyWarning, plural, several

Side = Literal["baseline", "candidate"]
Repeated = Literal["binary", "execution"]


@dataclass(frozen=True)
class WarningSubject:
    """The system that a warning is about, and its benchmark where there are several; ``is_default`` names a layout."""

    side: Side
    benchmark: str = ""
    is_default: bool = False

    def __str__(self) -> str:
        if self.is_default:
            return "the default layout"
        return f"{self.benchmark} ({self.side})" if self.benchmark else f"the {self.side}"


BASELINE: Final = WarningSubject("baseline")
CANDIDATE: Final = WarningSubject("candidate")


@dataclass(frozen=True, kw_only=True)
class StatsWarning(AnyWarning):
    """What is doubtful about a result, ``of`` these systems, or of the only one (none).

    ``counted`` is the highest level of the data: binaries, or executions of something that has one layout alone.
    """

    of: tuple[WarningSubject, ...] = ()
    counted: Repeated = "binary"

    @property
    def sides(self) -> frozenset[Side]:
        """The systems that it names; empty where it is about all there are."""
        return frozenset(each.side for each in self.of)

    def in_executions(self) -> Self:
        """The same of data whose highest level is executions."""
        return replace(self, counted="execution")

    @property
    def _of(self) -> str:
        if len(self.sides) > 1 and not any(each.benchmark for each in self.of):
            return " of each system"
        return f" of {', '.join(map(str, self.of))}" if self.of else ""

    @property
    def _units(self) -> str:
        return several(self.counted)

    def _n(self, count: int) -> str:
        return f"{plural(count, self.counted)}{self._of}"
