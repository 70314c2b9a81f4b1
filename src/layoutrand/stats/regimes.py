"""Levels that a machine alternates between, found in the order of measurement.

A processor that is throttled, a neighbour on the same core, or a frequency that is switched make the same binary take
72 ms at one time and 107 ms at another.  Whether anything follows the order is what `order_test` tells; here it is
described: as a few levels, between which there is nothing, or as no such thing, as a drift has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.block_fit import numbered
from layoutrand.stats.levels import FloatArray, IntArray
from layoutrand.stats.outliers import MAD_TO_SD
from layoutrand.stats.time_order import order_test
from layoutrand.stats.univariate import Values, sample_of

MOST: Final = 4
"""More levels than this are no alternation but a drift."""

SEPARATION: Final = (2.5, 4.0)
"""Standard deviations within a level that two levels lie apart at least, and neighbours where there are more levels.

Slices of a normal distribution lie 2.65 apart, of a uniform one 3.46; that two levels are held for some time, besides,
makes up for their limit.
"""

SCARCITY: Final = 40.0
"""Divided by the number of values, what is added to `SEPARATION`.

Fewer values are more easily cut into levels: of 40 that drift, 44 % would be taken for two levels without it, and 10 %
are with it.
"""

FEWEST_IN_ONE: Final = 3
_FEWEST: Final = 10
_FAR: Final = 3.0
_PRICE: Final = 3.0
"""Of a change at least, in squares of standard deviations: levels are held for some time, or they are noise."""

_PASSES: Final = 20
_REST_LEVEL: Final = 0.01
"""Of the test whether what the levels leave still follows the order, as within the levels of a drift."""

_UNMISTAKABLE: Final = 5.0
"""Standard deviations between two levels from which on a drift beside them takes nothing from their being levels."""


@dataclass(frozen=True)
class _Fit:
    levels: FloatArray
    labels: IntArray
    rest: FloatArray


@dataclass(frozen=True, kw_only=True)
class Regimes:
    """Levels that values in order alternate between.

    Attributes
    ----------
    levels
        Lowest first: factors on the scale ``"log"``, with 1 for the mean of all values, else differences from it.
    labels
        Of each value the number of its level, counted from 0.
    changes
        The places at which another level begins.
    separation
        The smallest distance between neighbouring levels in standard deviations within a level.
    share
        Of the variance of a value, once groups are set apart, what the levels make.
    scale
        ``"log"`` where all values are above 0, else ``"linear"``.
    """

    levels: tuple[float, ...]
    labels: tuple[int, ...]
    changes: tuple[int, ...]
    separation: float
    share: float
    scale: str

    @property
    def counts(self) -> tuple[int, ...]:
        """How many values each level has."""
        return tuple(self.labels.count(number) for number in range(len(self.levels)))


def find_regimes(values: Values, groups: Sequence[Hashable]) -> Regimes | None:
    """Describe values as a few levels in time, or None where they are not such.

    Parameters
    ----------
    values
        In the order of measurement, shape ``(n,)``, in any unit.
    groups
        Of each value what it is of: a group's own level is set apart first.

    Returns
    -------
    Regimes or None
        None for fewer than 10 values, too.

    Raises
    ------
    AnalysisError
        Values that are not finite, or not one group for each.

    Notes
    -----
    A method of this project, for values of which `order_test` says that they follow their order; by itself it would
    find levels in noise.  Values less what their group has apart from time (of logarithms) are given the labels of 2 to
    4 levels by least squares, far values cut off, with a price for each change of level.  The fewest levels count that
    lie 2.5 + 40/n standard deviations apart (4 + 40/n from three levels on), have 3 values each, and leave nothing that
    still follows the order.  Three levels or more that were each visited once, one after the other, count as a drift.
    """
    sample = sample_of(values, "regimes")
    if len(groups) != sample.size:
        raise AnalysisError(f"regimes: {sample.size} values, but {len(groups)} groups; give one for each value")
    if sample.size < _FEWEST:
        return None
    scale = "log" if (sample > 0).all() else "linear"
    largest = max(float(np.abs(sample).max()), np.finfo(np.float64).tiny)
    y = np.log(sample) if scale == "log" else sample / largest
    group = numbered(groups)[0]
    for count in range(2, MOST + 1):
        fit = _levels(y, group, count)
        if fit is None:
            continue
        noise, gap = _deviation(fit.rest), float(np.diff(fit.levels).min())
        visits = 1 + np.count_nonzero(np.diff(fit.labels))
        if gap <= (SEPARATION[count > 2] + SCARCITY / y.size) * noise or (count > 2 and visits == count):
            continue
        if gap <= _UNMISTAKABLE * noise and order_test(fit.rest, groups, seed=count).p_value <= _REST_LEVEL:
            continue
        return _described(fit, noise, scale, largest)
    return None


def _described(fit: _Fit, noise: float, scale: str, unit: float) -> Regimes:
    each = fit.levels[fit.labels]
    between, within = float(np.var(each)), float(np.var(fit.rest))
    away = fit.levels - each.mean()
    return Regimes(
        levels=tuple((np.exp(away) if scale == "log" else away * unit).tolist()),
        labels=tuple(fit.labels.tolist()),
        changes=tuple((np.flatnonzero(np.diff(fit.labels)) + 1).tolist()),
        separation=float(np.diff(fit.levels).min()) / noise if noise > 0 else float("inf"),
        share=between / (between + within),
        scale=scale,
    )


def _group_means(values: FloatArray, group: IntArray) -> FloatArray:
    return np.asarray((np.bincount(group, weights=values) / np.bincount(group))[group])


def _levels(y: FloatArray, group: IntArray, count: int) -> _Fit | None:
    """So many levels that describe the values; None where some hardly occur.

    Labels, levels and groups are fitted in turn, each given the others: a label costs the square of what the level is
    off, in standard deviations and up to a limit that far values are cut at, and each change what its frequency makes
    it cost.
    """
    series = y - _group_means(y, group)
    cuts = _cuts(np.sort(series), count)
    labels = np.searchsorted(np.sort(series)[cuts], series, side="right").astype(np.int64)
    if np.bincount(labels, minlength=count).min() == 0:  # fewer different values than levels
        return None
    for _ in range(_PASSES):
        levels = np.array([np.median(series[labels == number]) for number in range(count)])
        noise = _deviation(series - levels[labels])
        if noise == 0:
            break
        changes = int(np.count_nonzero(np.diff(labels))) + 1
        price = max(_PRICE, -2 * math.log(changes / max(1, y.size - changes)))
        before = labels
        labels = _cheapest(np.minimum(((series[:, None] - levels) / noise) ** 2, _FAR**2), price)
        if np.bincount(labels, minlength=count).min() < FEWEST_IN_ONE:
            return None
        if (labels == before).all():
            break
        # What a group has apart from time is its mean less that of the levels it was measured in.
        series = y - _group_means(y - levels[labels], group)
    levels = np.array([np.median(series[labels == number]) for number in range(count)])
    return _Fit(levels, labels, series - levels[labels])


def _cheapest(costs: FloatArray, price: float) -> IntArray:
    """The labels with the least sum of costs, shape ``(n, labels)``, and of the price of each change (Viterbi).

    In numbers of Python's own: of so few labels an array costs ten times what it computes.
    """
    rows = costs.tolist()
    total = rows[0]
    sums = [total]
    for row in rows[1:]:
        changed = min(total) + price
        total = [
            (changed if changed < stayed else stayed) + cost  # noqa: FURB136 - a call takes three times as long
            for stayed, cost in zip(total, row, strict=True)
        ]
        sums.append(total)
    label = total.index(min(total))
    labels = [label]
    for total in sums[-2::-1]:
        least = min(total)
        if total[label] > least + price:
            label = total.index(least)
        labels.append(label)
    return np.array(labels[::-1], dtype=np.int64)


def _deviation(rest: FloatArray) -> float:
    """Standard deviation by the median deviation; by the mean of squares where most are equal."""
    found = float(np.median(np.abs(rest))) / MAD_TO_SD
    return found if found > 0 else float(np.sqrt((rest**2).mean()))


def _cuts(ordered: FloatArray, count: int) -> list[int]:
    """Where to cut sorted values into ``count`` sets with the least sum of squares; by dynamic programming."""
    sums, squares = (np.concatenate(([0.0], np.cumsum(each))) for each in (ordered, ordered**2))
    stops = np.arange(1, ordered.size + 1)

    def spread(starts: IntArray, ends: IntArray) -> FloatArray:
        """Of the sets that begin and end there."""
        return np.asarray(squares[ends] - squares[starts] - (sums[ends] - sums[starts]) ** 2 / (ends - starts))

    best = np.concatenate(([np.inf], spread(np.zeros_like(stops), stops)))
    back = []
    for _ in range(count - 1):
        best, came = _last_sets(best, spread)
        back.append(came)
    cuts, stop = [], ordered.size
    for came in reversed(back):
        stop = int(came[stop])
        cuts.append(stop)
    return cuts[::-1]


def _last_sets(best: FloatArray, spread: Callable[[IntArray, IntArray], FloatArray]) -> tuple[FloatArray, IntArray]:
    """The least sum with one set more for the values before each place, and where that set begins.

    The last set of more values never begins earlier (Wu, Journal of Algorithms 12, 1991), so the places in the middle
    between two that are known look from the one's beginning to the other's: ``n log n`` steps, and room for ``n``.
    """
    n = best.size - 1
    found = np.full(n + 1, np.inf)
    came = np.zeros(n + 2, dtype=np.int64)
    came[-1] = n  # the place after the last, of which nothing is known
    step = 1 << n.bit_length()
    while step > 1:
        step //= 2
        ends = np.arange(step, n + 1, 2 * step)
        first = came[ends - step]
        last = np.minimum(came[np.minimum(ends + step, n + 1)], ends - 1)
        sizes = last - first + 1
        begins = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        starts = np.arange(sizes.sum()) - np.repeat(begins - first, sizes)
        sums = best[starts] + spread(starts, np.repeat(ends, sizes))
        found[ends] = np.minimum.reduceat(sums, begins)
        came[ends] = np.minimum.reduceat(np.where(sums <= np.repeat(found[ends], sizes), starts, n), begins)
    return found, came
