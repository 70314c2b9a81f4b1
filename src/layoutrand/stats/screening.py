"""Which of many features goes with a response: forward selection with permutation tests, and what it predicts.

Many features are looked at and few layouts are there, so the largest of all statistics is what must be judged: its
distribution under permutations of the response holds the chance of any false alarm, however the features depend on
each other (Westfall and Young 1993).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import check_count, check_fraction, check_seed
from layoutrand.stats.levels import FloatArray, IntArray, flat_numbers
from layoutrand.stats.projections import basis_beyond, basis_of, beyond
from layoutrand.stats.quantiles import f_quantile, special
from layoutrand.stats.streams import Stream

FEWEST = 8
"""Below so many observations nothing is screened: hardly any permutation test could reject."""

_AT_ONCE = 500
_SMALLEST = 1e-300


@dataclass(frozen=True, kw_only=True)
class ScreeningStep:
    """One feature that was taken.

    Attributes
    ----------
    index
        Its place among the features.
    p_value
        Adjusted for all features of that step.
    share
        The part of the response's whole variance that it explains beyond those taken before it.
    """

    index: int
    p_value: float
    share: float


@dataclass(frozen=True, kw_only=True)
class Screening:
    """What the screening found.

    Attributes
    ----------
    steps
        The features that were taken, in order; empty where nothing was found.
    p_values
        Adjusted p-value of each feature by itself, shape ``(features,)``.
    shares
        Part of the variance that each explains by itself, shape ``(features,)``.
    last_p_value
        The smallest adjusted p-value of the step at which nothing more was taken; 1 where nothing was left.
    critical
        The unadjusted p-value that a feature must reach at the first step.
    """

    steps: tuple[ScreeningStep, ...]
    p_values: FloatArray
    shares: FloatArray
    last_p_value: float
    critical: float


def screen_features(
    designs: Sequence[FloatArray],
    response: FloatArray,
    *,
    priority: Sequence[int] | None = None,
    level: float = 0.05,
    n_permutations: int = 2999,
    most: int = 4,
    seed: int = 0,
) -> Screening:
    """Take features one after the other, as long as the best of those left is more than chance would give.

    Parameters
    ----------
    designs
        For each feature its columns, shape ``(observations, columns)``; an intercept is added.
    response
        Shape ``(observations,)``.
    priority
        For each feature a number: of those that pass, one of the lowest number is taken.  Default: all alike.
    level
        Chance of taking anything where no feature matters.
    n_permutations, most, seed
        Permutations a step, and the most steps; the permutations depend on the seed alone.

    Returns
    -------
    Screening

    Raises
    ------
    AnalysisError
        Fewer than 8 observations, shapes that do not fit, settings out of range, or too few permutations for the level.

    Notes
    -----
    A feature's statistic is the p-value of its partial F test, so that features of one and of several columns are on
    one scale; the statistic of a permutation is the smallest of them all (minP of Westfall and Young, Resampling-Based
    Multiple Testing, 1993, section 2.3; their single-step adjustment).  At later steps response and features are
    projected on the complement of what was taken and the residuals are permuted (Freedman and Lane, Journal of Business
    and Economic Statistics 1, 1983).  The first step's guarantee is exact where observations are exchangeable.
    """
    check_fraction(level, name="level")
    check_count(n_permutations, name="n_permutations", at_least=19)
    if level and math.isinf(1 / level):
        raise AnalysisError(f"level = {level:g} is beyond the range of floating point")
    if level * (n_permutations + 1) < 1:
        raise AnalysisError(
            f"with {n_permutations} permutations no p-value is below {1 / (n_permutations + 1):.2g}, so none reaches "
            f"level = {level:g}; take at least {math.ceil(1 / level) - 1 if level else 'a level above 0 and 19'}"
        )
    check_seed(seed)
    target, columns = _checked(designs, response)
    order = np.zeros(len(designs), np.int64) if priority is None else np.asarray(priority, np.int64)
    steps: list[ScreeningStep] = []
    taken = np.ones((target.size, 1))
    whole = _squares(target - target.mean())
    first: tuple[FloatArray, FloatArray, float] | None = None
    last = 1.0
    while True:
        step = _Step(columns, target, taken)
        stream = Stream(seed, "screening", len(steps))
        adjusted, limit = step.adjusted(stream, n_permutations, level)
        if first is None:
            first = adjusted, step.shares(), limit
        free = np.array([all(index != s.index for s in steps) for index in range(len(designs))], bool)
        passing = np.flatnonzero((adjusted <= level) & free)
        if not passing.size or len(steps) == most:
            last = float(adjusted[free].min()) if free.any() else 1.0
            break
        passing = passing[order[passing] == order[passing].min()]
        # Features that say the same may differ in the last digit of their p-values: the first of them is taken.
        strength = np.round(np.log(step.p_values()[passing]), 6)
        best = int(passing[np.lexsort((passing, strength))[0]])
        share = float(step.shares()[best]) * step.total / whole
        steps.append(ScreeningStep(index=best, p_value=float(adjusted[best]), share=share))
        taken = np.concatenate([taken, columns[best]], axis=1)
    return Screening(steps=tuple(steps), p_values=first[0], shares=first[1], last_p_value=last, critical=first[2])


def cross_validated_share(
    designs: Sequence[FloatArray],
    response: FloatArray,
    *,
    priority: Sequence[int] | None = None,
    level: float = 0.05,
    n_permutations: int = 499,
    most: int = 4,
    folds: int = 10,
    seed: int = 0,
) -> float:
    """The part of the variance that the screening predicts of observations that it has not seen.

    Parameters
    ----------
    designs, response, priority, level, n_permutations, most, seed
        As in `screen_features`.
    folds
        So many parts, each predicted from the others.

    Returns
    -------
    float
        1 - sum of squared errors of prediction / sum of squared errors of the other parts' mean; at most 1, and
        around 0 or below where there is nothing to be found.

    Raises
    ------
    AnalysisError
        As in `screen_features`, which needs 8 observations in what remains of each part.

    Notes
    -----
    The whole selection is repeated within each fold, since selecting before dividing would show the answers to the
    question (Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, 2nd ed., section 7.10.2).
    """
    target, columns = _checked(designs, response)
    part = np.empty(target.size, np.int64)
    part[Stream(seed, "folds").order(target.size)] = np.arange(target.size) % min(folds, target.size)
    wrong = plain = 0.0
    for number in np.unique(part).tolist():
        test, train = part == number, part != number
        found = screen_features(
            [column[train] for column in columns],
            target[train],
            priority=priority,
            level=level,
            n_permutations=n_permutations,
            most=most,
            seed=seed,
        )
        chosen = [columns[step.index] for step in found.steps]
        whole = np.concatenate([np.ones((target.size, 1)), *chosen], axis=1)
        coefficients = np.linalg.lstsq(whole[train], target[train], rcond=None)[0]
        wrong += _squares(target[test] - whole[test] @ coefficients)
        plain += _squares(target[test] - target[train].mean())
    return 1 - wrong / plain if plain else 0.0


def fitted_values(design: FloatArray, response: FloatArray) -> FloatArray:
    """What a linear regression on one feature makes of the response.

    Parameters
    ----------
    design
        The feature's columns, shape ``(observations, columns)``; an intercept is added.
    response
        Shape ``(observations,)``, like the result.

    Returns
    -------
    array
        In the response's unit.

    Raises
    ------
    AnalysisError
        Shapes that do not fit, or fewer than 8 observations.

    Notes
    -----
    Least squares (Draper and Smith, Applied Regression Analysis, 3rd ed. 1998, chapter 5).
    """
    target, (columns,) = _checked([design], response)
    whole = np.concatenate([np.ones((target.size, 1)), columns], axis=1)
    return np.asarray(whole @ np.linalg.lstsq(whole, target, rcond=None)[0])


def explained_share(design: FloatArray, response: FloatArray, *, adjusted: bool = False) -> float:
    """The part of the response's variance that a linear regression on one feature explains.

    Parameters
    ----------
    design, response
        As in `fitted_values`.
    adjusted
        Whether to leave out what so many columns explain by chance.

    Returns
    -------
    float
        R^2 of that regression, or adjusted R^2 where that is above 0, a fraction; 0 for a response that does not vary.

    Raises
    ------
    AnalysisError
        As `fitted_values`.

    Notes
    -----
    Adjusted R^2 is that of Draper and Smith, Applied Regression Analysis, 3rd ed. 1998, section 5.2.
    """
    target = flat_numbers(response, name="response")
    whole = _squares(target - target.mean()) if target.size else 0.0
    left = _squares(target - fitted_values(design, target))
    if adjusted:
        degrees = target.size - int(np.linalg.matrix_rank(np.column_stack([np.ones(target.size), design])))
        left = left / degrees * (target.size - 1) if degrees else whole
    return max(0.0, 1 - left / whole) if whole > 0 else 0.0


def detectable_share(n_observations: int, critical: float, *, power: float = 0.8) -> float:
    """The part of the variance that a feature of one column must explain to be found with this chance.

    Parameters
    ----------
    n_observations, critical
        How many there are, and the unadjusted p-value to reach (`Screening.critical`).
    power
        The chance, a fraction.

    Returns
    -------
    float
        A fraction; 1 where nothing could be found.

    Raises
    ------
    AnalysisError
        Fewer than 4 observations, or fractions out of range.

    Notes
    -----
    Power of the F test with noncentrality ``n R^2 / (1 - R^2)`` (Cohen, Statistical Power Analysis for the Behavioral
    Sciences, 2nd ed. 1988, section 9.2: f^2 = R^2 / (1 - R^2), and L = n f^2 for one column).
    """
    check_count(n_observations, name="n_observations", at_least=4)
    check_fraction(power, name="power")
    check_fraction(critical, name="critical")
    lower = n_observations - 2
    limit = f_quantile(1 - critical, 1, lower) if critical > 0 else np.inf

    def missing(share: float) -> float:
        noncentral = n_observations * share / (1 - share)
        return float(1 - special().ncfdtr(1, lower, noncentral, limit)) - power

    low, high = 0.0, 0.9999
    if not np.isfinite(limit) or missing(high) < 0:
        return 1.0
    while high - low > 1e-6:  # the chance rises with the share: halving finds where it is reached
        middle = (low + high) / 2
        low, high = (middle, high) if missing(middle) < 0 else (low, middle)
    return high


def _checked(designs: Sequence[FloatArray], response: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
    target = flat_numbers(response, name="response")
    if target.ndim != 1 or target.size < FEWEST:
        raise AnalysisError(f"screening needs at least {FEWEST} observations, got {target.size}")
    columns = [np.asarray(table, np.float64) for table in designs]
    if not columns or any(table.ndim != 2 or len(table) != target.size for table in columns):
        raise AnalysisError(f"each feature needs a table of {target.size} rows, one for each observation")
    if not (np.isfinite(target).all() and all(np.isfinite(table).all() for table in columns)):
        raise AnalysisError("screening needs finite numbers")
    return target, columns


class _Step:
    """The partial F tests of all features beyond those that were taken."""

    def __init__(self, columns: Sequence[FloatArray], target: FloatArray, taken: FloatArray) -> None:
        base = basis_of(taken)
        self._residual = beyond(target[:, None], base)[:, 0]
        self.total = _squares(self._residual)
        self._base = base
        # What the earlier features explain already counts as nothing left: its remains are rounding errors.
        bases = [basis_beyond(table, base) for table in columns]
        self._ranks: IntArray = np.array([basis.shape[1] for basis in bases], np.int64)
        self._first = np.cumsum(self._ranks) - self._ranks
        self._all = np.concatenate([*bases, np.zeros((target.size, 1))], axis=1)
        self._lower = target.size - base.shape[1]

    def shares(self, responses: FloatArray | None = None) -> FloatArray:
        """R^2 of each feature, shape ``(features,)``, or of each feature for each row of ``responses``."""
        rows = self._residual[None, :] if responses is None else responses
        squares = (rows @ self._all) ** 2
        sums = np.add.reduceat(squares, np.minimum(self._first, self._all.shape[1] - 1), axis=1)
        sums = np.where(self._ranks[None, :] == 0, 0.0, sums)
        totals = ((rows**2).sum(axis=1) - ((rows @ self._base) ** 2).sum(axis=1))[:, None]
        share = np.minimum(np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0), 1.0)
        return np.asarray(share[0] if responses is None else share)

    def p_values(self) -> FloatArray:
        """Of the F tests, shape ``(features,)``."""
        return _f_tail(self.shares(), self._ranks, self._lower)

    def adjusted(self, stream: Stream, count: int, level: float) -> tuple[FloatArray, float]:
        """Adjusted p-values, shape ``(features,)``, and the unadjusted one that would just pass."""
        smallest = np.concatenate([self._smallest(stream, n) for n in _chunks(count)])
        observed = self.p_values()
        ordered = np.sort(smallest)
        reached = np.searchsorted(ordered, observed * (1 + 1e-9), side="right")
        place = int(np.floor(level * (count + 1))) - 1
        return (reached + 1) / (count + 1), float(ordered[place - 1]) if place >= 1 else 0.0

    def _smallest(self, stream: Stream, count: int) -> FloatArray:
        """The smallest p-value of each of ``count`` permutations."""
        size = self._residual.size
        orders = np.argsort(stream.words(count * size).reshape(count, size), axis=1, kind="stable")
        shares = self.shares(self._residual[orders])
        best = np.ones(count)
        for rank in np.unique(self._ranks[self._ranks > 0]).tolist():
            most = shares[:, self._ranks == rank].max(axis=1)
            best = np.minimum(best, _f_tail(most, np.full(count, rank), self._lower))
        return best


def _f_tail(share: FloatArray, ranks: IntArray, lower: int) -> FloatArray:
    """Probability of an R^2 at least this large by chance; a smaller share of less columns may mean more."""
    rest = np.maximum(lower - ranks, 1)
    tail = special().betainc(rest / 2, np.maximum(ranks, 1) / 2, 1 - share)
    return np.asarray(np.where((ranks == 0) | (lower - ranks < 1), 1.0, np.maximum(tail, _SMALLEST)))


def _chunks(count: int) -> list[int]:
    return [min(_AT_ONCE, count - done) for done in range(0, count, _AT_ONCE)]


def _squares(values: FloatArray) -> float:
    return float((values**2).sum())
