"""Reasons of conclusions that no warning of the numbers themselves gives: the kinds, and the words of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from layoutrand.text.quantities import telling
from layoutrand.warning import AnyWarning

_MOST: Final = 6
"""Benchmarks that are named."""


@dataclass(frozen=True)
class WideInterval(AnyWarning):
    """An interval of a ratio that decides nothing at this threshold."""

    low: float
    high: float
    threshold: float

    def __str__(self) -> str:
        if not math.isfinite(self.low) or not math.isfinite(self.high):
            return "the interval of the ratio has no bounds"
        edge = f"the threshold of {100 * self.threshold:g} %" if self.threshold else "1"
        return f"the interval of the ratio, {self.low:.4g} to {self.high:.4g}, lies on both sides of {edge}"


@dataclass(frozen=True)
class NotBesideOthers(AnyWarning):
    """A verdict that is given beside so many others that it may be one of those that chance makes."""

    n_judged: int

    def __str__(self) -> str:
        return f"not sure beside the {self.n_judged} verdicts given at once (Holm)"


@dataclass(frozen=True)
class MedianOpposes(AnyWarning):
    """Means and medians that say the opposite of each other, each surely; of both the interval of the ratio."""

    mean: tuple[float, float]
    median: tuple[float, float]

    def __str__(self) -> str:
        return (
            f"by the means the ratio is {self.mean[0]:.4g} to {self.mean[1]:.4g}, by the median "
            f"{self.median[0]:.4g} to {self.median[1]:.4g}: which system is faster depends on the layout"
        )

    def brief(self) -> str:
        """What was found."""
        return "means and medians say the opposite of each other"


@dataclass(frozen=True)
class MedianDiffers(AnyWarning):
    """Means and medians of which one finds a difference that matters and the other none."""

    mean: tuple[float, float]
    median: tuple[float, float]

    def __str__(self) -> str:
        return (
            f"the verdict is on the means over layouts, whose ratio is {self.mean[0]:.4g} to {self.mean[1]:.4g}; by "
            f"the median it would be another one, {self.median[0]:.4g} to {self.median[1]:.4g}"
        )

    def brief(self) -> str:
        """What was found."""
        return "by the median the verdict would be another one"


@dataclass(frozen=True)
class OneProgram(AnyWarning):
    """Two systems that are one program, and how that is known."""

    known_by: str

    def __str__(self) -> str:
        return f"{self.known_by}: whatever differs here is noise (an A/A test)"


@dataclass(frozen=True)
class AgainstItself(AnyWarning):
    """A system that is compared with itself, as was asked for."""

    def __str__(self) -> str:
        return "both sides are the same system: whatever differs here is noise (an A/A test)"


@dataclass(frozen=True)
class PartlyOneProgram(AnyWarning):
    """Of a suite: benchmarks in which both systems are one program, and how many there are in all."""

    benchmarks: tuple[str, ...]
    n_benchmarks: int

    def __str__(self) -> str:
        count = len(self.benchmarks)
        names = ", ".join(self.benchmarks) if count <= _MOST else f"{', '.join(self.benchmarks[:_MOST])} ..."
        return (
            f"in {count} of the {self.n_benchmarks} benchmarks ({names}) both systems are one program, whose ratio is "
            "1 but for noise; the mean is over all of them"
        )


@dataclass(frozen=True)
class FalseAlarm(AnyWarning):
    """An interval that finds a difference between a program and itself."""

    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        digits = telling([self.low - 1, self.high - 1], 4, most=9)  # an end beside 1 is not told as 1
        return (
            f"the {100 * self.confidence:g} % interval, {self.low:.{digits}f} to {self.high:.{digits}f}, leaves out 1 "
            f"although there is no difference to find: one in {1 / (1 - self.confidence):.0f} such intervals does by "
            "chance, more of them where the machine changes"
        )
