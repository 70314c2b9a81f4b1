"""How often to repeat at each level.

Repeating at a low level is cheap but can only average away what happens at that level; repeating at the top
always helps but costs a build.  The optimal counts below the top depend on neighbouring levels only, not on the
precision wanted; precision is then bought with binaries.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.checks import check_confidence, check_count, check_positive, check_real, is_real, shown
from layoutrand.stats.levels import Measurements, Nested, nested
from layoutrand.stats.quantiles import first_count, t_quantile
from layoutrand.stats.stats_warning import StatsWarning
from layoutrand.stats.variance import collapsed, components_of

PREVIEW = (5, 10, 15, 20, 30, 50, 100)
"""Numbers of binaries for which a plan predicts the precision."""

_SEARCH_STEPS = 24


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What an experiment would cost and how precise it would be.

    Attributes
    ----------
    counts
        Repetitions, level 1 first; the last is the number of binaries.
    cost
        In the unit of the costs given.
    half_width
        Expected half-width of the t interval, in the unit of the measurements.
    relative_half_width
        The same over the mean.
    """

    counts: tuple[int, ...]
    cost: float
    half_width: float
    relative_half_width: float


@dataclass(frozen=True, kw_only=True)
class RepetitionPlan:
    """Repetition counts for the next experiment.

    Attributes
    ----------
    chosen
        The plan: counts, cost and expected precision.
    predicted
        The same lower counts with other numbers of binaries.
    unbiased
        The variances used, level 1 first; 0 for a level that was taken out.
    collapsed
        Levels taken out because they add no variance or were not repeated in the data; they are repeated once.
    confidence
        Of the intervals predicted.
    warnings
        What the plan cannot promise, and the count that would.
    """

    chosen: Prediction
    predicted: tuple[Prediction, ...]
    unbiased: tuple[float, ...]
    collapsed: tuple[int, ...]
    confidence: float
    warnings: tuple[StatsWarning, ...]


def optimal_counts(unbiased: Sequence[float | None], costs: Sequence[float]) -> tuple[int, ...]:
    """Optimal repetition counts of all levels but the top one.

    Parameters
    ----------
    unbiased
        T_1^2, ..., T_n^2, level 1 (the lowest) first, from `variance_components`.  A level that is None, zero or
        negative adds no variance of its own.
    costs
        c_1, ..., c_n: the time that one repetition adds at that level alone, in any one unit (ISMM 2013, section
        9.1: iteration duration, time to the first live measurement, build time).

    Returns
    -------
    tuple of int
        r_1, ..., r_{n-1}; the count of the top level is free, it buys precision.

    Raises
    ------
    AnalysisError
        Different numbers of variances and costs, a negative cost, or a cost of 0 at level 1.

    Notes
    -----
    ``r_i = ceil(sqrt(c_{i+1} / c_i * T_i^2 / T_{i+1}^2))``, at least 1 (ISMM 2013, equation 3; TR 4-12 equation 14
    with costs counted in measurements).  A level without variance is repeated once, and what it costs is part of
    the cost of the level above.  When that is the top level, the level below takes its place: one repetition of
    it for each top-level unit.  A level whose repetition costs nothing makes repetition below it pointless.

    Where the data are at hand, `plan` recomputes the variances after taking a level out, which is better.
    """
    variances = _numbers([0.0 if value is None else value for value in _listed(unbiased, "variances")], "variance")
    _check_costs(variances, costs)
    counts = [1] * (len(variances) - 1)
    active = _active_levels(variances, costs)
    for (index, variance, cost), (_, above_variance, above_cost) in itertools.pairwise(active):
        exact = math.sqrt(above_cost / cost) * math.sqrt(variance / above_variance)
        if not math.isfinite(exact):
            raise AnalysisError("costs or variances are too far apart for floating point; give both in other units")
        counts[index] = max(1, math.ceil(exact - 1e-9))
    return tuple(counts)


def _active_levels(variances: Sequence[float], costs: Sequence[float]) -> list[tuple[int, float, float]]:
    """Index, variance and cost of the levels worth repeating; the others' costs and variances join a neighbour."""
    active: list[tuple[int, float, float]] = []
    carried = 0.0
    for level, (variance, own) in enumerate(zip(variances, costs, strict=True)):
        cost = own + carried
        if variance <= 0:
            carried = cost
            continue
        carried = 0.0
        if active and cost == 0:
            _, below, below_cost = active.pop()
            active.append((level, variance + below, below_cost))
        else:
            active.append((level, variance, cost))
    if active and carried:
        index, variance, cost = active.pop()
        active.append((index, variance, cost + carried))
    return active


def predict(
    unbiased: Sequence[float], counts: Sequence[int], *, costs: Sequence[float], mean: float, confidence: float = 0.95
) -> Prediction:
    """Predict cost and precision of an experiment.

    Parameters
    ----------
    unbiased
        T_1^2, ..., T_n^2, level 1 first; negative ones count as 0.
    counts
        r_1, ..., r_n; the last, the number of binaries, at least 2 for a finite half-width.
    costs
        c_1, ..., c_n as in `optimal_counts`.
    mean
        Grand mean, for the relative half-width.
    confidence
        Nominal confidence.

    Notes
    -----
    Variance of the grand mean ``sum_i T_i^2 / (r_i r_{i+1} ... r_n)`` (TR 4-12, equation 10); half-width
    ``t_{r_n - 1}`` times its root (TR 8.5); cost ``(c_n + ... (c_2 + c_1 r_1) r_2 ...) r_n`` (TR equation 13, with
    the cost of a measurement as unit of c_1).
    """
    _numbers(_listed(unbiased, "variances"), "variance")
    _check_costs(unbiased, costs)
    check_real(mean, name="mean")
    for count in _listed(counts, "counts"):
        check_count(count, name="each count")
    if len(counts) != len(costs):
        raise AnalysisError(f"{len(costs)} levels but {len(counts)} counts; give one count for each level")
    variance = cost = 0.0
    for component, count, own in zip(unbiased, counts, costs, strict=True):
        variance = (variance + max(component, 0.0)) / count
        cost = (cost + own) * count
    half = t_quantile(confidence, counts[-1] - 1) * math.sqrt(variance) if counts[-1] > 1 else math.inf
    relative = half / abs(mean) if mean else math.inf
    return Prediction(counts=tuple(counts), cost=cost, half_width=half, relative_half_width=relative)


def plan(
    data: Measurements,
    costs: Sequence[float],
    *,
    half_width: float | None = None,
    budget: float | None = None,
    confidence: float = 0.95,
) -> RepetitionPlan:
    """Plan an experiment from the measurements of a first one.

    Parameters
    ----------
    data
        Measurements of the first experiment, axes highest level first; at least 2 binaries.
    costs
        c_1, ..., c_n, level 1 first, as in `optimal_counts`.
    half_width
        Wanted half-width of the interval relative to the mean, such as 0.01: the smallest number of binaries that
        is expected to reach it.
    budget
        Available cost, in the unit of `costs`: the most precise experiment that it pays for.  With both, the
        wanted half-width if the budget allows it, else the most precise experiment.
    confidence
        Nominal confidence of the intervals predicted.

    Returns
    -------
    Plan
        With neither `half_width` nor `budget`, for 30 binaries.

    Raises
    ------
    AnalysisError
        One binary only, a mean of 0, bad costs, or a budget that does not pay for 2 binaries.

    Notes
    -----
    A level with ``T_i^2 <= 0`` is taken out: its data are merged into the level above, the variances recomputed,
    until all are positive (TR 4-12, section 6.1).  The remaining counts are those of `optimal_counts`.  Within a
    budget smaller counts are tried too, because Student's t rewards more binaries when they are few.
    """
    check_confidence(confidence)
    sample = nested(data)
    _check_costs([0.0] * sample.n_levels, costs)
    if sample.n_top < 2:
        raise AnalysisError("plan: 1 binary shows no variance between binaries; measure at least 2, better 5 or more")
    if sample.mean == 0:
        raise AnalysisError("plan: the mean is 0, so a relative precision has no meaning; shift the measurements")
    variances, taken_out = _positive_components(sample)
    lower = optimal_counts(variances, costs)
    setting = _Setting(variances=variances, costs=tuple(costs), mean=sample.mean, confidence=confidence)
    chosen, warnings = _choose(setting, lower, half_width=half_width, budget=budget)
    if sample.n_levels in taken_out:
        warnings += (advice.IdleTop(sample.n_levels),)
    counts = tuple(reversed(sample.shape))
    warnings += tuple(advice.UnplannedLevel(i) for i, count in enumerate(counts[:-1], start=1) if count == 1)
    preview = sorted({*PREVIEW, chosen.counts[-1]})
    return RepetitionPlan(
        chosen=chosen,
        predicted=tuple(setting.predict(chosen.counts[:-1], binaries) for binaries in preview),
        unbiased=variances,
        collapsed=taken_out,
        confidence=confidence,
        warnings=warnings,
    )


@dataclass(frozen=True, kw_only=True)
class _Setting:
    variances: tuple[float, ...]
    costs: tuple[float, ...]
    mean: float
    confidence: float

    def predict(self, lower: Sequence[int], binaries: int) -> Prediction:
        return predict(self.variances, (*lower, binaries), costs=self.costs, mean=self.mean, confidence=self.confidence)


def _positive_components(sample: Nested) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Unbiased variances after taking out levels without variance of their own, and the levels taken out."""
    levels = list(range(1, sample.n_levels + 1))
    taken_out: list[int] = []
    while True:
        unbiased = components_of(sample).unbiased
        idle = next((i for i, value in enumerate(unbiased) if value is None or value <= 0), None)
        if idle is None or len(levels) == 1:
            break
        taken_out.append(levels.pop(idle))
        sample = collapsed(sample, idle + 1)
    found = dict(zip(levels, unbiased, strict=True))
    n_levels = len(levels) + len(taken_out)
    variances = tuple(max(found.get(level) or 0.0, 0.0) for level in range(1, n_levels + 1))
    return variances, tuple(sorted(taken_out))


def _choose(
    setting: _Setting, lower: tuple[int, ...], *, half_width: float | None, budget: float | None
) -> tuple[Prediction, tuple[StatsWarning, ...]]:
    if half_width is not None:
        check_positive(half_width, name="half_width")
        wanted = first_count(lambda n: setting.predict(lower, n).relative_half_width <= half_width, start=2)
        if wanted is None:
            raise AnalysisError(f"plan: no number of binaries reaches a relative half-width of {half_width:g}")
        reaching = setting.predict(lower, max(wanted, advice.FEWEST_BINARIES))
        if budget is None:
            return reaching, ()
    if budget is None:
        return setting.predict(lower, 30), ()
    check_positive(budget, name="budget")
    if half_width is not None and reaching.cost <= budget:
        return reaching, ()
    best = _best_within(setting, lower, budget)
    warnings = advice.few_within_budget(best.counts[-1])
    if half_width is not None:
        warnings += (
            advice.BeyondBudget(half_width, reaching.counts[-1], budget=budget, reached=best.relative_half_width),
        )
    return best, warnings


def _best_within(setting: _Setting, lower: tuple[int, ...], budget: float) -> Prediction:
    """The most precise experiment within a budget, with lower counts up to the optimal ones."""
    candidates = []
    for counts in itertools.product(*(_steps(count) for count in lower)):
        binaries = int(budget / setting.predict(counts, 1).cost + 1e-9)
        if binaries >= 2:
            candidates.append(setting.predict(counts, binaries))
    if not candidates:
        least = setting.predict([1] * len(lower), 2).cost
        raise AnalysisError(f"plan: a budget of {budget:g} does not pay for 2 binaries, which cost at least {least:g}")
    return min(candidates, key=lambda prediction: (prediction.half_width, prediction.cost))


def _steps(count: int) -> list[int]:
    """Counts from 1 to `count`, all of them or about two dozen evenly spaced in ratio."""
    if count <= _SEARCH_STEPS:
        return list(range(1, count + 1))
    return sorted({round(count ** (step / _SEARCH_STEPS)) for step in range(_SEARCH_STEPS + 1)})


def _listed(values: Any, what: str) -> Sequence[Any]:
    is_flat = isinstance(values, Sequence) or (isinstance(values, np.ndarray) and values.ndim == 1)
    if not is_flat or isinstance(values, str | bytes):
        raise AnalysisError(f"{what}: expected a number for each level, level 1 first, got {type(values).__name__}")
    several: Sequence[Any] = values
    return several


def _numbers(values: Sequence[float], what: str) -> list[float]:
    for value in values:
        check_real(value, name=what)
    return [float(value) for value in values]


def _check_costs(variances: Sequence[float], costs: Sequence[float]) -> None:
    _listed(costs, "costs")
    if len(variances) != len(costs):
        raise AnalysisError(
            f"{len(variances)} levels but {len(costs)} costs; give one cost for each level, level 1 (the lowest) first"
        )
    for level, cost in enumerate(costs, start=1):
        if not is_real(cost) or cost < 0 or (level == 1 and cost == 0):
            raise AnalysisError(
                f"cost of level {level} is {shown(cost)}; costs are finite and not negative, "
                "and that of level 1 above 0"
            )
