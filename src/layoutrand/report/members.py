"""What the figures of one benchmark in the report share: the systems, and the axis of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.analysis.analyse import Analysis
from layoutrand.analysis.sample import Sample
from layoutrand.warning import AnyWarning

_UNITS: Final = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "B": ((2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
}
_COUNTS: Final = ((1e9, "10⁹"), (1e6, "10⁶"), (1.0, ""))


@dataclass(frozen=True)
class SuiteMember:
    """One system on the benchmark: its analysis and the sample that this is of."""

    analysis: Analysis
    sample: Sample


@dataclass(frozen=True)
class Axis:
    """What values are divided by to be shown, the label of their axis, and their unit then."""

    factor: float
    label: str
    unit: str = ""


def axis_of(members: Sequence[SuiteMember]) -> Axis:
    """The unit in which the largest mean is a number between 1 and 1000, or nearly."""
    metric, unit = members[0].analysis.metric, members[0].analysis.unit
    largest = max(abs(mean) for member in members for _, mean in member.analysis.binary_means)
    choices = _UNITS.get(unit, _COUNTS)
    factor, name = next((choice for choice in choices if largest >= choice[0]), choices[-1])
    if unit not in _UNITS:
        name = " ".join(part for part in (name, "" if unit == "1" else unit) if part)
    return Axis(factor, f"{metric} [{name}]" if name else metric, name)


def remarks_of(warnings: Sequence[AnyWarning]) -> str:
    """Warnings as the end of a caption."""
    return "".join(f" Note: {each}." for each in dict.fromkeys(warnings))
