"""Every warning that a result of statistics can carry, in one place: the kinds, and the words of each.

A warning is a value on the result, never an exception and never printed here.  It says what is doubtful and the count
that would cure it.  The functions at the end say from which count on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from layoutrand.stats.stats_warning import Side, StatsWarning, WarningSubject
from layoutrand.warning import plural

FEWEST_BINARIES = 5
"""Below this many top-level repetitions a variance, and so an interval, can hardly be estimated (ISMM section 11)."""

FEWEST_FOR_BOOTSTRAP = 20
"""Below this many top-level repetitions the percentile bootstrap covers clearly less than it promises."""

FEWEST_FOR_VARIANCE = 20
"""Below this many top-level repetitions bootstrap intervals of variances are clearly too narrow."""

FEWEST_DEGREES = 4
"""Below this many degrees of freedom what blocks add is hardly known."""

Needed = Literal["binaries", "benchmarks", "binaries per benchmark", "common seeds"]

_NEEDED: Final = {
    "binaries": "binaries of each system",
    "benchmarks": "benchmarks",
    "binaries per benchmark": "binaries of each system per benchmark",
    "common seeds": "common seeds",
}


@dataclass(frozen=True)
class Single(StatsWarning):
    """One binary: no interval at all."""

    def __str__(self) -> str:
        return (
            f"{self._n(1)} cannot show how much {self._units} differ, so the interval has no bounds; "
            f"at least 1 more is needed, and {FEWEST_BINARIES - 1} more for a usable interval"
        )

    def brief(self) -> str:
        """What was found."""
        return f"{self._n(1)} cannot show how much {self._units} differ"


@dataclass(frozen=True)
class TooFew(StatsWarning):
    """Fewer top-level repetitions than support an interval; all that a plan's budget pays (``is_within_budget``)."""

    count: int
    is_within_budget: bool = False

    def __str__(self) -> str:
        return (
            f"{self._n(self.count)}{' within the budget' if self.is_within_budget else ''} hardly support an interval: "
            f"{FEWEST_BINARIES - self.count} more would make {FEWEST_BINARIES}, the fewest that do"
        )

    def brief(self) -> str:
        """What was found."""
        return f"{self._n(self.count)} hardly support an interval"


@dataclass(frozen=True)
class TooFewForPercentiles(StatsWarning):
    """Percentile-type bootstrap with too few top-level repetitions."""

    count: int

    def __str__(self) -> str:
        return (
            f"percentile bootstrap intervals are too narrow with {self._n(self.count)}: "
            f"{FEWEST_FOR_BOOTSTRAP - self.count} more would make {FEWEST_FOR_BOOTSTRAP}, "
            "or choose a method based on t"
        )


@dataclass(frozen=True)
class NoVariation(StatsWarning):
    """All binaries measured exactly the same."""

    def __str__(self) -> str:
        return (
            f"all {self._units}{self._of} have exactly the same mean, so the interval has no width; "
            f"check that the metric can vary and that the timer is fine enough, more {self._units} will not cure this"
        )

    def brief(self) -> str:
        """What was found."""
        return f"all {self._units}{self._of} have exactly the same mean"


@dataclass(frozen=True)
class UnboundedRatio(StatsWarning):
    """A Fieller interval without bounds; ``needed`` in all would bound it, None where no number within reach would."""

    count: int
    needed: int | None

    def __str__(self) -> str:
        cure = (
            f"about {self.needed - self.count} more {self._units} ({self.needed} in all) would bound it"
            if self.needed is not None
            else f"no number of {self._units} within reach would bound it"
        )
        return (
            "the baseline's mean does not differ significantly from zero at this confidence, "
            f"so the ratio has no bounds (Fieller); {cure}"
        )

    def brief(self) -> str:
        """What was found."""
        return "the baseline's mean may be 0, so the ratio has no bounds"


@dataclass(frozen=True)
class UnboundedHarmonic(StatsWarning):
    """A harmonic mean whose reciprocal may be 0."""

    count: int

    def __str__(self) -> str:
        return (
            "the mean of the reciprocals does not differ significantly from zero, so the harmonic mean has no upper "
            f"bound; several times the {plural(self.count, self.counted)} would bound it"
        )


@dataclass(frozen=True)
class NotSeparable(StatsWarning):
    """A level that was not repeated."""

    level: int

    def __str__(self) -> str:
        return (
            f"level {self.level} was not repeated, so its variance is part of level {self.level + 1}'s; "
            f"at least 2 repetitions at level {self.level} would separate them"
        )


@dataclass(frozen=True)
class TooFewForVariance(StatsWarning):
    """Bootstrap of variances with too few binaries."""

    count: int

    def __str__(self) -> str:
        return (
            f"bootstrap intervals of variances are too narrow with {plural(self.count, self.counted)}: "
            f"{FEWEST_FOR_VARIANCE - self.count} more would make {FEWEST_FOR_VARIANCE}"
        )


@dataclass(frozen=True)
class OneSidedReplicates(StatsWarning):
    """BCa cannot correct a bias it cannot see."""

    def __str__(self) -> str:
        return (
            "all replicates lie on one side of the estimate, so BCa cannot correct the bias and plain percentiles are "
            f"given; at least {FEWEST_BINARIES} {self._units} usually cure this"
        )


@dataclass(frozen=True)
class Unstudentised(StatsWarning):
    """Replicates without spread, a ``share`` of all, made a bootstrap-t bound infinite."""

    share: float

    def __str__(self) -> str:
        return (
            f"{100 * self.share:.1f} % of the replicates drew the same {self.counted} every time and have no standard "
            f"error, so a bootstrap-t bound is infinite; {FEWEST_BINARIES} {self._units} make such replicates rare "
            "enough"
        )


@dataclass(frozen=True)
class DenominatorCrossesZero(StatsWarning):
    """A bootstrap ratio whose denominator changes sign."""

    crossed: int
    n_resamples: int

    def __str__(self) -> str:
        return (
            f"the baseline's mean reaches or crosses 0 in {self.crossed} of {self.n_resamples} replicates, so the "
            f"ratio has no bounds; measure a quantity that cannot be 0, or many times more {self._units}"
        )


@dataclass(frozen=True)
class LeftOut(StatsWarning):
    """Benchmarks, of so many, that only one system has."""

    missing: tuple[str, ...]
    total: int
    side: Side

    def __str__(self) -> str:
        return (
            f"{len(self.missing)} of {self.total} benchmarks left out because only the {self.side} has them: "
            f"{', '.join(self.missing)}; run them on the other system too"
        )


@dataclass(frozen=True)
class CoarsePValue(StatsWarning):
    """A test that cannot reject at 5 % whatever the data: no p below ``smallest``; ``needed`` would let it."""

    smallest: float
    needed: int
    of_what: Needed

    def __str__(self) -> str:
        return (
            f"with so few scores p cannot fall below {min(self.smallest, 1.0):.2g}; "
            f"{self.needed} {_NEEDED[self.of_what]} would let it fall below 0.05"
        )


@dataclass(frozen=True)
class EqualRatios(StatsWarning):
    """A t test over benchmarks without spread."""

    def __str__(self) -> str:
        return f"all benchmarks changed by exactly the same ratio; more {self._units} would show whether by chance"


@dataclass(frozen=True)
class NoForecast(StatsWarning):
    """No forecast from an interval without bounds."""

    count: int

    def __str__(self) -> str:
        return (
            f"an interval without bounds from {plural(self.count, self.counted)} allows no forecast; "
            f"measure {FEWEST_BINARIES} or more first"
        )


@dataclass(frozen=True)
class NoDifference(StatsWarning):
    """No forecast without a threshold from a ratio of 1."""

    def __str__(self) -> str:
        return (
            "the means are the same, so there is no difference that more "
            f"{self._units} could confirm; state a threshold within which systems count as equivalent"
        )


@dataclass(frozen=True)
class IdleTop(StatsWarning):
    """Binaries that do not differ."""

    level: int

    def __str__(self) -> str:
        return (
            f"binaries do not differ measurably (T^2 of level {self.level} is not above 0): more executions of "
            f"{FEWEST_BINARIES} binaries would tell as much as more binaries, if building is expensive"
        )


@dataclass(frozen=True)
class BeyondBudget(StatsWarning):
    """A budget that does not reach the wanted precision; ``wanted`` and ``reached`` are relative half-widths."""

    wanted: float
    n_binaries: int
    budget: float
    reached: float

    def __str__(self) -> str:
        return (
            f"a relative half-width of {self.wanted:.3g} needs {self.n_binaries} binaries; the budget of "
            f"{self.budget:.4g} reaches {self.reached:.3g}"
        )


@dataclass(frozen=True)
class UnplannedLevel(StatsWarning):
    """A level without repetitions in the first experiment."""

    level: int

    def __str__(self) -> str:
        return (
            f"level {self.level} was not repeated in these data, so the plan repeats it once; at least 2 repetitions "
            "of it in a first experiment would show whether more are worth their cost"
        )


@dataclass(frozen=True)
class NoCorrelation(StatsWarning):
    """Too few pairs for the interval of a correlation, or a system that does not vary."""

    count: int

    def __str__(self) -> str:
        if self.count > 3:
            return "one system does not vary, so there is no correlation; more seeds will not cure this"
        return f"{self.count} seeds say nothing about a correlation: {4 - self.count} more would give an interval"


@dataclass(frozen=True)
class StillWide(StatsWarning):
    """A sample that stopped growing before its interval was narrow."""

    count: int
    width: float
    wanted: float

    def __str__(self) -> str:
        start = f"with {self.count} measurements the interval is {self.width:.4g} wide instead of {self.wanted:.4g}"
        if self.width == float("inf"):
            return f"{start}; more than {self.count} measurements are needed to bound it"
        return f"{start}; about {round(self.count * (self.width / self.wanted) ** 2)} measurements would do"


@dataclass(frozen=True)
class FewDegrees(StatsWarning):
    """Block effects from hardly more executions than blocks."""

    degrees: int

    def __str__(self) -> str:
        return (
            f"what blocks add rests on {plural(self.degrees, 'degree')} of freedom, so its intervals are wide; "
            f"{plural(FEWEST_DEGREES - self.degrees, 'execution')} more would help"
        )


@dataclass(frozen=True)
class NoPeaks(StatsWarning):
    """Equal values have one peak."""

    def __str__(self) -> str:
        return "all values are equal, so there is one peak of no width"


def few_binaries(count: int, *of: WarningSubject) -> tuple[StatsWarning, ...]:
    """A warning where there are several, but too few, for an interval."""
    return (TooFew(count, of=of),) if 1 < count < FEWEST_BINARIES else ()


def few_within_budget(count: int) -> tuple[StatsWarning, ...]:
    """A warning where a budget pays several, but too few, for an interval."""
    return (TooFew(count, is_within_budget=True),) if 1 < count < FEWEST_BINARIES else ()


def few_degrees(degrees: int) -> tuple[StatsWarning, ...]:
    """A warning where hardly more executions than blocks were made."""
    return (FewDegrees(degrees),) if degrees < FEWEST_DEGREES else ()


def few_for_percentile(count: int, *of: WarningSubject) -> tuple[StatsWarning, ...]:
    """A warning where there are several, but too few, for a percentile bootstrap."""
    return (TooFewForPercentiles(count, of=of),) if 1 < count < FEWEST_FOR_BOOTSTRAP else ()


def few_for_variance(count: int) -> tuple[StatsWarning, ...]:
    """A warning where there are too few for bootstrap intervals of variances."""
    return (TooFewForVariance(count),) if count < FEWEST_FOR_VARIANCE else ()


def coarse_p_value(smallest: float, needed: int, of_what: Needed) -> tuple[StatsWarning, ...]:
    """A warning where p cannot fall to 0.05."""
    return (CoarsePValue(smallest, needed, of_what),) if smallest > 0.05 else ()
