"""How many iterations to drop: a suggestion, and the two heuristics of the field.

An execution is *initialised* once the obvious overhead of starting up is over, and *independent* once iterations
are independent and identically distributed (ISMM 2013, section 6).  Finding either is a person's decision in the
paper, with good reason; what is computed here is where to look first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import series_advice
from layoutrand.stats.checks import check_confidence, check_count, check_fraction, check_positive, check_seed
from layoutrand.stats.interval import sample_variance
from layoutrand.stats.levels import FloatArray, Measurements, nested
from layoutrand.stats.quantiles import t_quantile
from layoutrand.stats.stats_warning import StatsWarning
from layoutrand.stats.steady import correlations, ljung_box, permutation_p, reorderings

DACAPO_WINDOW = 3
"""Iterations that DaCapo's rule looks at together: of fewer it says nothing."""

GEORGES_WINDOW = 10
"""The same of the rule of Georges et al."""

_STARTS_TRIED = 8
_LAGS = 4


@dataclass(frozen=True, kw_only=True)
class WarmupSuggestion:
    """Suggested warm-up of one benchmark on one system and machine; a person is to confirm it.

    Attributes
    ----------
    initialised
        Iterations to drop before the initialised state; None when it was not reached.
    independent
        Iterations to drop before the independent state; None when it was not reached, or not tested.
    untested
        Whether `independent` is None for no other reason than that too few iterations were left to test.
    changes
        For each execution the iterations at which the level of the durations changes.
    p_values
        For each execution the permutation p-value of dependence after `independent` (or, if that is None, the
        largest found; 0 when too few iterations were left to test).
    n_iterations
        Iterations of the shortest execution.
    warnings
        Always at least the reminder to confirm.
    """

    initialised: int | None
    independent: int | None
    untested: bool
    changes: tuple[tuple[int, ...], ...]
    p_values: tuple[float, ...]
    n_iterations: int
    warnings: tuple[StatsWarning, ...]


class _OfOne(NamedTuple):
    """The suggestion of one execution; ``first_untested`` is where start-up ends, with too few left to test."""

    initialised: int | None
    independent: int | None
    changes: tuple[int, ...]
    p_value: float
    first_untested: int | None = None


def suggest_warmup(
    series: Measurements, *, tolerance: float = 0.05, significance: float = 0.05, seed: int = 0
) -> WarmupSuggestion:
    """Suggest how many iterations to drop.

    Parameters
    ----------
    series
        Durations of the iterations in order: one execution, shape ``(n,)``, or several, ``(executions, n)`` or ragged;
        at least 10 iterations each.
    tolerance
        A start-up phase counts as overhead while its level exceeds the later level by more than this fraction.
    significance
        Iterations count as independent when the permutation test of autocorrelation does not reject at this level.
    seed
        The tests depend on it alone.

    Returns
    -------
    WarmupSuggestion
        The largest suggestion over the executions, None if any execution does not reach the state.

    Raises
    ------
    AnalysisError
        Malformed data, or fewer than 10 iterations in an execution.

    Notes
    -----
    The durations are cut into phases of constant level: the phases that minimise the sum of squares plus
    ``3 s^2 log n`` for each, with s a robust noise estimate from successive differences and single spikes cut off.
    Initialised: after the leading phases whose level exceeds the median of the second half by `tolerance`.
    Independent: the first start after the last change of level, or one of 8 later ones that leave a third of the
    series (and 20 iterations), after which Ljung and Box's Q of lags 1 to 4 is no larger than in random orders, at
    the level `significance` over the number of executions.  A method of this project; the two states are the paper's.
    """
    check_positive(tolerance, name="tolerance")
    check_fraction(significance, name="significance")
    check_seed(seed)
    executions = _executions(series, at_least=10, what="suggest_warmup")
    level = significance / len(executions)
    parts = [_suggest_one(values, tolerance, level, seed + i) for i, values in enumerate(executions)]
    n_iterations = min(values.size for values in executions)
    independent = _largest([part.independent for part in parts])
    warnings = (
        series_advice.ConfirmWarmup(),
        *series_advice.few_iterations(n_iterations),
        *series_advice.few_executions(len(executions)),
    )
    open_ = [part for part in parts if part.independent is None]
    starts = [part.first_untested for part in open_ if part.first_untested is not None]
    untested = bool(open_) and len(starts) == len(open_)
    if untested and n_iterations >= series_advice.FEWEST_ITERATIONS:  # of fewer it is told that they say little
        warnings += (series_advice.IndependenceUntested(max(starts)),)
    elif open_ and not untested:
        warnings += (series_advice.NeverIndependent(n_iterations),)
    return WarmupSuggestion(
        initialised=_largest([part.initialised for part in parts]),
        independent=independent,
        untested=untested,
        changes=tuple(part.changes for part in parts),
        p_values=tuple(part.p_value for part in parts),
        n_iterations=n_iterations,
        warnings=warnings,
    )


def dacapo_warmup(series: Measurements, *, window: int = DACAPO_WINDOW, threshold: float = 0.03) -> int | None:
    """Warm-up by the rule of the DaCapo 9.12 harness.

    Parameters
    ----------
    series
        Durations of the iterations in order, shape ``(n,)``, or several executions, ``(executions, n)`` or ragged.
    window
        Iterations per window.
    threshold
        Coefficient of variation below which the window counts as converged.

    Returns
    -------
    int or None
        Iterations up to the end of the first window whose standard deviation over mean is below the threshold; the
        largest over executions, None if one never converges (ISMM 2013, sections 2 and 6.3).
    """
    check_count(window, name="window", at_least=2)
    check_positive(threshold, name="threshold")

    def converged(values: FloatArray) -> bool:
        return math.sqrt(sample_variance(values)) < threshold * abs(float(values.mean()))

    executions = _executions(series, at_least=1, what="dacapo_warmup")
    starts = [_first_window(values, window, converged) for values in executions]
    return _largest([None if start is None else start + window for start in starts])


def georges_warmup(
    series: Measurements, *, window: int = GEORGES_WINDOW, threshold: float = 0.05, confidence: float = 0.95
) -> int | None:
    """Warm-up by the rule of Georges, Buytaert and Eeckhout (OOPSLA 2007), as the ISMM paper applies it.

    Parameters
    ----------
    series
        Durations of the iterations in order, shape ``(n,)``, or several executions, ``(executions, n)`` or ragged.
    window
        Iterations per window.
    threshold
        Relative half-width of the window's t interval below which it counts as steady.
    confidence
        Of that interval.

    Returns
    -------
    int or None
        Iterations before the first steady window; the largest over executions, None if one has no steady window
        (ISMM 2013, sections 2 and 6.3).
    """
    check_count(window, name="window", at_least=2)
    check_positive(threshold, name="threshold")
    check_confidence(confidence)
    quantile = t_quantile(confidence, window - 1)

    def is_steady(values: FloatArray) -> bool:
        half = quantile * math.sqrt(sample_variance(values) / window)
        return half < threshold * abs(float(values.mean()))

    executions = _executions(series, at_least=1, what="georges_warmup")
    return _largest([_first_window(values, window, is_steady) for values in executions])


def _executions(series: Measurements, *, at_least: int, what: str) -> list[FloatArray]:
    sample, _ = nested(series, name=what).scaled()
    if sample.n_levels > 2:
        raise AnalysisError(f"{what}: expected axes (execution, iteration) or (iteration), got {sample.n_levels} axes")
    executions = [sample.values] if sample.n_levels == 1 else np.split(sample.values, np.cumsum(sample.counts[0])[:-1])
    shortest = min(values.size for values in executions)
    if shortest < at_least:
        raise AnalysisError(f"{what}: an execution has {shortest} iterations, at least {at_least} are needed")
    return executions


def _largest(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return max(known) if len(known) == len(counts) else None


def _first_window(values: FloatArray, window: int, is_good: Callable[[FloatArray], bool]) -> int | None:
    starts = range(values.size - window + 1)
    return next((start for start in starts if is_good(values[start : start + window])), None)


def _suggest_one(values: FloatArray, tolerance: float, significance: float, seed: int) -> _OfOne:
    """Initialised and independent start, changes of level, and p-value of one execution."""
    changes = level_changes(values)
    initialised = _initialised(values, changes, tolerance)
    if initialised is None:
        return _OfOne(None, None, changes, 0.0)
    n = values.size
    first = max(initialised, changes[-1] if changes else 0)
    last = n - max(series_advice.FEWEST_ITERATIONS, math.ceil(n / 3))
    if first > last:
        # A level that goes on changing is no independence; what follows a start-up phase alone may be.
        is_open = first == initialised or n < series_advice.FEWEST_ITERATIONS
        return _OfOne(initialised, None, changes, 0.0, first_untested=first if is_open else None)
    starts = sorted({first + round((last - first) * step / _STARTS_TRIED) for step in range(_STARTS_TRIED + 1)})
    best = 0.0
    for start in starts:
        p_value = _dependence(values[start:], seed)
        best = max(best, p_value)
        if p_value >= significance:
            return _OfOne(initialised, start, changes, p_value)
    return _OfOne(initialised, None, changes, best)


def _dependence(values: FloatArray, seed: int) -> float:
    if values.max() == values.min():
        return 1.0
    own = float(ljung_box(correlations(values[None, :], _LAGS), values.size)[0])
    return permutation_p(own, ljung_box(correlations(reorderings(values, seed), _LAGS), values.size))


def _initialised(values: FloatArray, changes: tuple[int, ...], tolerance: float) -> int | None:
    """End of the leading phases that are clearly slower than the second half of the series."""
    later = float(np.median(values[values.size // 2 :]))
    edges = (0, *changes, values.size)
    for start, stop in itertools.pairwise(edges):
        if float(np.median(values[start:stop])) <= later + tolerance * abs(later):
            return start
    return None


def level_changes(values: FloatArray) -> tuple[int, ...]:
    """Positions at which the level changes: least squares plus a penalty for each phase, by dynamic programming."""
    n = values.size
    calm = _without_spikes(values)
    noise = _noise(calm)
    if noise == 0:
        return tuple((np.flatnonzero(np.diff(calm) != 0) + 1).tolist())[: n // 2]
    scaled = (calm - np.median(calm)) / noise
    sums, squares = (np.concatenate(([0.0], np.cumsum(x))) for x in (scaled, scaled**2))
    penalty = 3 * math.log(n)
    cost = np.zeros(n + 1)
    previous = np.zeros(n + 1, dtype=np.int64)
    cost[0] = -penalty
    for stop in range(1, n + 1):
        starts = np.arange(stop)
        fit = squares[stop] - squares[:stop] - (sums[stop] - sums[:stop]) ** 2 / (stop - starts)
        totals = cost[:stop] + fit + penalty
        previous[stop] = int(np.argmin(totals))
        cost[stop] = totals[previous[stop]]
    changes = []
    stop = int(previous[n])
    while stop > 0:
        changes.append(stop)
        stop = int(previous[stop])
    return tuple(reversed(changes))


def _noise(values: FloatArray) -> float:
    """Robust standard deviation of independent noise around a piecewise constant level."""
    differences = np.abs(np.diff(values))
    return float(np.median(differences)) / 0.6745 / math.sqrt(2)


def _without_spikes(values: FloatArray) -> FloatArray:
    """Replace iterations far from both neighbours (a collection, an interrupt) by the neighbours' median."""
    padded = np.concatenate([values[:1], values, values[-1:]])
    around = np.median(np.column_stack([padded[:-2], padded[1:-1], padded[2:]]), axis=1)
    far = np.abs(values - around) > 4 * max(_noise(values), np.finfo(np.float64).tiny)
    far[0] = False
    return np.where(far, around, values)
