"""Steps in a series: places from which on the level is another one.

The points of a series, such as commits, were measured in blocks, such as rounds of executions, each of which has every
point once.  What a block has of its own, such as a warm machine, takes no part.  A block may be one seed, whose layouts
of neighbouring points are alike, so that its values follow each other also where the level never changes: a step has to
stand out from what blocks give whose values change places, and from what they give that are turned over as a whole.
Where points were measured at different times there is one block, and whatever times add to points is noise that a step
must rise above.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import check_confidence, check_count, check_seed
from layoutrand.stats.interval import Interval
from layoutrand.stats.levels import FloatArray, IntArray
from layoutrand.stats.quantiles import chi2_quantile, t_quantile
from layoutrand.stats.signs import turned
from layoutrand.stats.streams import Stream

RESAMPLES: Final = 999
_FIRST: Final = 100
_AT_ONCE: Final = 2_000_000
"""Numbers in the largest array while resampling; it decides about memory and nothing else."""

_MANY_BLOCKS: Final = 64
"""From which on there are more ways to turn them than anybody resamples."""

_ROUNDING: Final = 1e-9
"""Of the squares of a series: as good as none."""


@dataclass(frozen=True, kw_only=True)
class SeriesStep:
    """One place from which on the level is another one.

    Attributes
    ----------
    place
        The first point of the new level, counted from 0.
    first, last
        The places at which it may be as well: about as often as the confidence says, it is one of these; of a step that
        is hardly found (0.4 standard deviations of layouts, 12 points, 20 blocks) in 86 of 100 cases at 0.95.
    size
        Interval of the new level minus the old one, from the points between the neighbouring steps; without bounds
        where there are too few.  It is of this step alone, and steps that were found are larger than they are by a
        little, since small ones are found only where chance adds to them.
    p_value
        Of its part of the series: how often one without a step looks as much as if it had one.
    """

    place: int
    first: int
    last: int
    size: Interval
    p_value: float


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The steps of a series, and how it was looked at.

    Attributes
    ----------
    steps
        In order of place.
    n_points, n_blocks
        The shape of the data.
    confidence
        Of series without a step, at least so many are told to have none.
    can_tell
        Whether so few points and blocks can show a step at all.
    """

    steps: tuple[SeriesStep, ...]
    n_points: int
    n_blocks: int
    confidence: float
    can_tell: bool


def find_steps(
    table: FloatArray,
    *,
    confidence: float = 0.95,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
    kept: FloatArray | None = None,
) -> Steps:
    """Find the steps in a series.

    Parameters
    ----------
    table
        Shape ``(points, blocks)``, points in order, in a unit in which steps add, such as logarithms.
    confidence
        One minus the share of series without any step in which one or more is found; of parts of a series between true
        steps, too, all together.
    n_resamples
        Random rearrangements.
    seed
        Names them.
    kept
        Shape ``(points, k)``: what of a ``table`` of one block, such as means over layouts, is of k units that may be
        alike from one point to the next, such as layouts of one seed; None where there are none, or few.

    Returns
    -------
    Steps
        None of less than two points.

    Raises
    ------
    AnalysisError
        Anything but a table of finite numbers.

    Notes
    -----
    Each part of the series, at first all of it, is cut into two or three parts so that squares of differences from the
    means of parts are least, which finds one step, and a rise and fall.  What that gains for each cut is compared with
    what it gains where the values of each block are put into random order: an exact randomization test (Pitman 1937;
    Phipson and Smyth 2010 for the count) where values of a block are independent, of whatever distribution.  With two
    blocks or more it is also compared with what it gains where the values of random blocks, as they differ from their
    block's mean, change their sign together: exact where these are symmetric, however they depend on each other within
    a block (Fisher 1935; Lehmann and Romano 2005, section 15.2).  The larger p-value counts, so one of these is enough.
    Of one block those that were ``kept`` are turned.  What is cut is cut again.  A part is tested at a level in
    proportion to its length, so that parts which have no step, however many, add up to ``1 - confidence``.  That is
    binary segmentation (Scott and Knott 1974; Matteson and James 2014 test it by rearrangement, as Apache Otava's
    first versions did) with the best cut for two places (Olshen and others 2004) and the best partition of the
    ``"l2"`` cost of ruptures.
    """
    data = np.asarray(table, dtype=np.float64)
    if data.ndim != 2 or not data.shape[1] or not np.isfinite(data).all():
        raise AnalysisError(f"a series: give a table (points, blocks) of finite numbers, not one of shape {data.shape}")
    check_confidence(confidence)
    check_count(n_resamples, name="n_resamples")
    check_seed(seed)
    n, blocks = data.shape
    whole = data if blocks > 1 else None if kept is None else np.asarray(kept, dtype=np.float64)
    if whole is not None and (whole.ndim != 2 or len(whole) != n or not np.isfinite(whole).all()):
        raise AnalysisError(f"what points keep: give a table of {n} points and finite numbers")
    ways = math.inf if whole is None or whole.shape[1] > _MANY_BLOCKS else 2.0 ** (whole.shape[1] - 1)
    found: dict[int, float] = {}
    pending = [(0, n)]
    while pending:
        start, end = pending.pop()
        level = (1 - confidence) * (end - start - 1) / max(1, n - 1)
        if not _can_tell(end - start, blocks, level, n_resamples, ways):
            continue
        part = data[start:end] - data[start:end].mean()
        p_value = _p_value(part, Stream(seed, "steps", start, end), n_resamples, level)
        if p_value <= level and whole is not None:
            p_value = max(p_value, _p_turned(whole[start:end], Stream(seed, "turned", start, end), n_resamples))
        if p_value > level:
            continue
        cuts = best_cuts(part.mean(axis=1))
        found |= {start + cut: p_value for cut in cuts}
        edges = [start, *(start + cut for cut in cuts), end]
        pending += pairwise(edges)
    places = _settled(data.mean(axis=1), sorted(found))
    values = [found[place] for place in sorted(found)]
    return Steps(
        steps=tuple(_described(data, places, values, confidence)),
        n_points=n,
        n_blocks=blocks,
        confidence=confidence,
        can_tell=_can_tell(n, blocks, 1 - confidence, n_resamples, ways),
    )


def best_cuts(series: FloatArray) -> tuple[int, ...]:
    """The one or two places that part a series best.

    Parameters
    ----------
    series
        Shape ``(n,)``, two values or more.

    Returns
    -------
    tuple
        First points of the second and, where two cuts gain more than twice what one gains, of the third part.
    """
    one, two = _gains(series[None, :])
    if two.size and two.max() / 2 > one.max():
        row, column = _pairs(len(series))
        best = int(two[0].argmax())
        return int(row[best]), int(column[best])
    return (int(one[0].argmax()) + 1,)


def change_at(table: FloatArray, place: int, *, confidence: float = 0.95) -> Interval:
    """By how much the level changes at a place that was chosen by other data.

    Parameters
    ----------
    table
        Shape ``(points, blocks)``, as for `find_steps`, of points between whose neighbours no other step lies.
    place
        The first point of the new level.
    confidence
        Of the interval.

    Returns
    -------
    Interval
        New level minus old one; without bounds where there are too few points or blocks.
    """
    data = np.asarray(table, dtype=np.float64)
    before, after = data[:place], data[place:]
    rest = np.concatenate([before - before.mean(), after - after.mean()])
    degrees = len(data) - 2
    variance = float((rest**2).sum()) / degrees if degrees > 0 else math.inf
    return _size(before, after, variance, degrees, confidence)


def _can_tell(n: int, blocks: int, level: float, n_resamples: int, ways: float) -> bool:
    """Whether there are enough different orders, and ``ways`` to turn blocks, for a p-value as small as ``level``."""
    if n < 2:
        return False
    # The best cut of n points in one block looks as good in every order within the parts, and from behind.
    orders = blocks * math.lgamma(n + 1) - (math.lgamma(n // 2 + 1) + math.lgamma(n - n // 2 + 1) if blocks == 1 else 0)
    fewest = max(math.exp(-min(orders, 50.0)) * 2, 1 / (n_resamples + 1))
    return max(fewest, 1 / ways) <= level


def _p_value(part: FloatArray, stream: Stream, n_resamples: int, level: float) -> float:
    """Of the hypothesis that values of a block may change places; 1 as soon as it is sure to exceed ``level``."""
    n, blocks = part.shape
    whole = float((part**2).sum())
    own = part.mean(axis=1)
    if float((own**2).sum()) * blocks <= _ROUNDING * whole or whole == 0:
        return 1.0
    observed = float(_gain(own[None, :])[0])
    count = 0
    for rows in _chunks(n_resamples, n * max(n, blocks)):
        ranks = stream.words(rows * n * blocks).reshape(rows, n, blocks).argsort(axis=1, kind="stable")
        means = np.take_along_axis(np.broadcast_to(part, (rows, n, blocks)), ranks, axis=1).mean(axis=2)
        count += int((_gain(means) >= observed * (1 - _ROUNDING)).sum())
        if (count + 1) / (n_resamples + 1) > level:
            return 1.0
    return (count + 1) / (n_resamples + 1)


def _p_turned(part: FloatArray, stream: Stream, n_resamples: int) -> float:
    """Of the hypothesis that what blocks have beside their means may change its sign in each block as a whole."""
    n, blocks = part.shape
    rest = part - part.mean(axis=0)
    observed = float(_gain(rest.mean(axis=1)[None, :])[0]) * (1 - _ROUNDING)
    total = count = 0
    for signs in turned(blocks, n_resamples, stream, max(1, _AT_ONCE // (n * max(n, blocks)))):
        total += len(signs)
        count += int((_gain(signs @ rest.T / blocks) >= observed).sum())
    return (count + 1) / (total + 1)


def _chunks(count: int, size: int) -> Iterator[int]:
    most = max(1, min(_FIRST, _AT_ONCE // size))
    for begin in range(0, count, most):
        yield min(most, count - begin)


def _gain(rows: FloatArray) -> FloatArray:
    """What the best one or two cuts of each row gain, for each cut."""
    one, two = _gains(rows)
    best = one.max(axis=1)
    return np.asarray(np.maximum(best, two.max(axis=1) / 2) if two.size else best)


def _gains(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """By how much squares shrink: (rows, one cut), and (rows, two cuts) in the order of `_pairs`."""
    n = rows.shape[1]
    sums = np.cumsum(rows, axis=1)
    total = sums[:, -1:]
    base = total**2 / n
    size = np.arange(1, n)
    left = sums[:, :-1]
    one = left**2 / size + (total - left) ** 2 / (n - size) - base
    if n < 3:
        return one, np.empty((rows.shape[0], 0))
    first, second = _pairs(n)
    inner, outer = left[:, first - 1], left[:, second - 1]
    two = inner**2 / first + (outer - inner) ** 2 / (second - first) + (total - outer) ** 2 / (n - second) - base
    return one, two


def _pairs(n: int) -> tuple[IntArray, IntArray]:
    """All pairs of places 1 <= first < second < n."""
    first, second = np.triu_indices(n - 1, 1)
    return first + 1, second + 1


def _settled(series: FloatArray, places: list[int]) -> list[int]:
    """Each step where it parts best what lies between its neighbours, which were not all known when it was found."""
    settled = list(places)
    for number in range(len(settled)):
        edges = [0, *settled, len(series)]
        start, end = edges[number], edges[number + 2]
        settled[number] = start + int(_gains(series[None, start:end])[0][0].argmax()) + 1
    return settled


def _described(data: FloatArray, places: list[int], p_values: list[float], confidence: float) -> Iterator[SeriesStep]:
    n, blocks = data.shape
    edges = [0, *places, n]
    series = data.mean(axis=1)
    parts = [data[start:end] for start, end in pairwise(edges)]
    # What is left of a point when its part's mean and, block by block, what all points share are taken off.
    rests = [part - part.mean() for part in parts]
    rest = np.concatenate(rests) if blocks == 1 else np.concatenate(rests) - np.concatenate(rests).mean(axis=0)
    degrees = (n - len(parts)) if blocks == 1 else n * blocks - len(parts) - blocks + 1
    variance = float((rest**2).sum()) / degrees / blocks if degrees > 0 else math.inf
    for number, (place, p_value) in enumerate(zip(places, p_values, strict=True)):
        before, after = parts[number], parts[number + 1]
        start, end = edges[number], edges[number + 2]
        first, last = _around(series[start:end], place - start, variance, confidence)
        yield SeriesStep(
            place=place,
            first=start + first,
            last=start + last,
            size=_size(before, after, variance, degrees, confidence),
            p_value=p_value,
        )


def _around(series: FloatArray, place: int, variance: float, confidence: float) -> tuple[int, int]:
    """The earliest and the latest place that explain a part nearly as well (the likelihood ratio of normal values)."""
    gains = _gains(series[None, :])[0][0]
    if not math.isfinite(variance):
        return 1, len(series) - 1
    slack = chi2_quantile(confidence, 1) * variance + _ROUNDING * float((series**2).sum())
    as_good = np.flatnonzero(gains >= gains[place - 1] - slack) + 1
    return int(as_good[0]), int(as_good[-1])


def _size(before: FloatArray, after: FloatArray, variance: float, degrees: int, confidence: float) -> Interval:
    """Of the new level minus the old one: by block where there are several, else from what all parts leave."""
    blocks = before.shape[1]
    contrasts = after.mean(axis=0) - before.mean(axis=0)
    centre = float(contrasts.mean())
    half = math.inf
    if blocks > 1:
        half = float(contrasts.std(ddof=1)) / math.sqrt(blocks) * t_quantile(confidence, blocks - 1)
    elif degrees > 0:
        spread = variance * (1 / len(before) + 1 / len(after))
        half = math.sqrt(spread) * t_quantile(confidence, degrees)
    return Interval(
        centre=centre,
        low=centre - half,
        high=centre + half,
        confidence=confidence,
        method="blocks" if blocks > 1 else "points",
        warnings=(),
    )
