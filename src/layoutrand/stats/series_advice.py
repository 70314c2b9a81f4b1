"""Warnings about values in their order, such as iterations of an execution: the kinds, and the words of each."""

from __future__ import annotations

from dataclasses import dataclass

from layoutrand.stats.stats_warning import StatsWarning
from layoutrand.warning import plural

FEWEST_ITERATIONS = 20
"""Below this many iterations autocorrelations are mostly noise."""

FEWEST_EXECUTIONS = 3
"""The papers look at the warm-up of this many executions."""


@dataclass(frozen=True)
class ShortSeries(StatsWarning):
    """A series too short to show dependence."""

    count: int

    def __str__(self) -> str:
        return (
            f"{self.count} iterations say little about dependence: {FEWEST_ITERATIONS - self.count} more would make "
            f"{FEWEST_ITERATIONS}; the papers look at 300"
        )


@dataclass(frozen=True)
class FewSeries(StatsWarning):
    """Warm-up seen on too few executions."""

    count: int

    def __str__(self) -> str:
        more = FEWEST_EXECUTIONS - self.count
        return f"{plural(self.count, 'execution')} seen: {more} more would make {FEWEST_EXECUTIONS}"


@dataclass(frozen=True)
class NoVariationInTime(StatsWarning):
    """A series without variation."""

    def __str__(self) -> str:
        return (
            "all iterations take exactly the same time; check that the timer is fine enough, more iterations will not "
            "cure this"
        )


@dataclass(frozen=True)
class ConfirmWarmup(StatsWarning):
    """A suggested warm-up is never silent."""

    def __str__(self) -> str:
        return (
            "a suggestion only: confirm it on the run-sequence plots of at least "
            f"{FEWEST_EXECUTIONS} executions before using it"
        )


@dataclass(frozen=True)
class NeverIndependent(StatsWarning):
    """No independent state within so many iterations."""

    count: int

    def __str__(self) -> str:
        return (
            f"no independent state within {self.count} iterations: take the same iteration from each execution and "
            "repeat executions, or look at more iterations (the papers look at 300)"
        )


@dataclass(frozen=True)
class IndependenceUntested(StatsWarning):
    """Too few iterations follow the start-up phase, which ends at ``first``, to test whether they depend."""

    first: int

    def __str__(self) -> str:
        return (
            f"cannot tell whether iterations are independent once start-up is over, after {self.first} of them: too "
            "few follow to test; look at more (the papers look at 300)"
        )


@dataclass(frozen=True)
class NoOrder(StatsWarning):
    """Equal values have no order."""

    def __str__(self) -> str:
        return "all values are equal, so no order of them is like another"


def few_iterations(count: int) -> tuple[StatsWarning, ...]:
    """A warning where a series is too short."""
    return (ShortSeries(count),) if count < FEWEST_ITERATIONS else ()


def few_executions(count: int) -> tuple[StatsWarning, ...]:
    """A warning where warm-up was seen on too few executions."""
    return (FewSeries(count),) if count < FEWEST_EXECUTIONS else ()
