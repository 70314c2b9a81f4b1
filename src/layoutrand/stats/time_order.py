"""Do values of several groups follow the order in which they were measured?

Executions of several binaries and systems are made in turn.  What belongs to a binary, such as its layout, has nothing
to do with when it is executed, so once groups are set apart an execution tells nothing of the next.  Where it does, the
machine changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import series_advice
from layoutrand.stats.block_fit import numbered
from layoutrand.stats.checks import check_count, check_seed
from layoutrand.stats.levels import FloatArray, IntArray
from layoutrand.stats.quantiles import normal_points
from layoutrand.stats.randomization import TestResult
from layoutrand.stats.ranks import average_ranks
from layoutrand.stats.streams import Stream, Words
from layoutrand.stats.univariate import Values, sample_of
from layoutrand.warning import plural

MEMORY: Final = 0.75
"""What each further place between two values takes off their weight: some four places count."""

_FEWEST: Final = 4
_FIRST: Final = 200
_MANY: Final = 20
"""So many of the first orders as like decide that p is not small; the rest of the orders would not change that."""

_LARGE: Final = 2_000
_NONE_OF: Final = 600
"""Of more than `_LARGE` values, each order of which is work, none as like among so many orders decides that p is small.

That more orders would have said otherwise than by this p, 1/601, has a chance of 1e-6 at a level of 0.01.
"""

_FURTHEST: Final = 25
"""Places between two values that are compared: what is further apart weighs less than a thousandth."""

_AT_ONCE: Final = 1 << 20
_IN_CACHE: Final = 1 << 14
_CHANCE: Final = 40
"""Bits of a random word that decide an order."""
_WORD: Final = 64


def order_test(
    values: Values,
    groups: Sequence[Hashable],
    *,
    chains: Sequence[Hashable] | None = None,
    related: Sequence[Hashable | None] | None = None,
    n_resamples: int = 2_000,
    seed: int = 0,
) -> TestResult:
    """Test whether values that follow each other are alike, beyond what their groups make alike.

    Parameters
    ----------
    values
        In the order of measurement, shape ``(n,)``, in any unit; at least 4.
    groups
        Of each value what it is of, such as the binary: values of a group differ by chance alone where nothing depends
        on time.
    chains
        Of each value the machine, where there are several: values follow each other on one machine.
    related
        Of each value a label, or None: two values with the same label may be alike for another reason than time, such
        as one seed's layout in two systems; they are not compared, and change places together.
    n_resamples
        Random orders drawn; fewer where the first show that p is not small, and of more than 2,000 values 600 where
        none of them is as like.
    seed
        The orders depend on it, and on the number of values, alone.

    Returns
    -------
    TestResult
        The statistic is a correlation: 0 without dependence, above 0 where neighbours are alike (the alternative).

    Raises
    ------
    AnalysisError
        Fewer than 4 values, values that are not finite, or labels that do not match.

    Notes
    -----
    Each value becomes the normal score of its rank in its group (van der Waerden), 0 in the mean, so neither levels and
    spreads of groups nor far values count.  The statistic is ``sum x_i x_{i-k} w^(k-1)`` over pairs of one chain, with
    k up to 25 and w = 0.75, divided by ``sum w^(k-1) x^2``.  It is compared with that of orders in which values change
    places within their group (and chain) alone, ``p = (count + 1) / (M + 1)``: exact where values of a group are
    exchangeable, whatever their distribution, and where groups with labels have the same ones.  The serial correlation
    with lag 1 alone is Wald and Wolfowitz's (Annals of Mathematical Statistics 14, 1943).
    """
    check_count(n_resamples, name="n_resamples")
    check_seed(seed)
    sample = sample_of(values, "order test")
    if sample.size < _FEWEST:
        raise AnalysisError(
            f"order test: {plural(sample.size, 'value')} in too few orders to tell; at least {_FEWEST} are needed"
        )
    for given in (groups, chains, related):
        if given is not None and len(given) != sample.size:
            raise AnalysisError(f"order test: {sample.size} values, but {len(given)} labels; give one for each value")
    chain = numbered(["" for _ in sample] if chains is None else chains)[0]
    order = np.argsort(chain, kind="stable")
    sample, chain = sample[order], chain[order]
    group = numbered(list(zip(chain.tolist(), [groups[place] for place in order.tolist()], strict=True)))[0]
    labels = None if related is None else [related[place] for place in order.tolist()]
    scores = _scores(sample, group)
    if not scores.any():
        return _result(0.0, 1.0, 0)
    pairs = _Pairs(chain, labels)
    statistic = float(pairs.sums(scores[None, :])[0])
    stream = Stream(seed, "order", sample.size)
    count, drawn = _as_like(scores, _Exchange.of(group, labels), pairs, statistic, n_resamples, stream)
    return _result(statistic / pairs.scale(scores), (count + 1) / (drawn + 1), drawn)


def _scores(sample: FloatArray, group: IntArray) -> FloatArray:
    """The normal score of each value's rank among those of its group; equal values have equal ones."""
    scores = np.zeros(sample.size)
    for number in range(int(group.max()) + 1):
        own = group == number
        ranks = average_ranks(sample[own])
        found = normal_points(ranks / (ranks.size + 1))
        scores[own] = 0.0 if ranks.min() == ranks.max() else found - found.mean()
    return scores


class _Pairs:
    """The pairs of values that are compared, and what each weighs; values come chain by chain."""

    def __init__(self, chain: IntArray, related: Sequence[Hashable | None] | None) -> None:
        self._ends = (np.flatnonzero(np.diff(chain)) + 1).tolist()
        first, second, weight = [], [], []
        labels = list(related or ())
        for place, label in enumerate(labels):
            if label is None:  # related to nothing
                continue
            for other in range(max(0, place - _FURTHEST), place):
                if labels[other] == label and chain[other] == chain[place]:
                    first.append(other)
                    second.append(place)
                    weight.append(MEMORY ** (place - other - 1))
        self._left_out = np.array(first, dtype=np.int64), np.array(second, dtype=np.int64), np.array(weight)

    def sums(self, rows: FloatArray) -> FloatArray:
        """The statistic of each row of scores, not divided."""
        total = np.zeros(rows.shape[0])
        for part in np.split(rows, self._ends, axis=1):
            for lag in range(1, min(_FURTHEST, part.shape[1] - 1) + 1):
                total += MEMORY ** (lag - 1) * np.einsum("ij,ij->i", part[:, lag:], part[:, :-lag])
        first, second, weight = self._left_out
        return np.asarray(total - (rows[:, first] * rows[:, second] * weight).sum(axis=1))

    def scale(self, scores: FloatArray) -> float:
        """What the statistic would be if all values were the same but for the sign of none."""
        return float((scores**2).sum()) / (1 - MEMORY)


@dataclass(frozen=True)
class _Exchange:
    """How values change places: within their group; related ones, of several groups, go together.

    ``places`` are those of the values sorted by group and label.  ``keys`` is for each value the place of the first
    value with its label, whose random number all of them have.
    """

    group: IntArray
    places: IntArray
    keys: IntArray

    @classmethod
    def of(cls, group: IntArray, related: Sequence[Hashable | None] | None) -> _Exchange:
        own = np.arange(group.size)
        if related is None:
            return cls(group, np.argsort(group, kind="stable"), own)
        first: dict[Hashable, int] = {}
        keys = [place if label is None else first.setdefault(label, place) for place, label in enumerate(related)]
        numbers = np.array(keys, dtype=np.int64)
        return cls(group, np.lexsort((numbers, group)), numbers)

    def shuffled(self, scores: FloatArray, rows: int, stream: Stream) -> FloatArray:
        """So many random orders of the scores."""
        found = np.empty((rows, scores.size))
        some = max(1, _IN_CACHE // scores.size)
        for first in range(0, rows, some):
            part = found[first : first + some]
            words = stream.words(part.size).reshape(part.shape)
            for row, shuffled in zip(part, scores.take(self._orders(words)), strict=True):
                row[self.places] = shuffled
        return found

    def _orders(self, words: Words) -> IntArray:
        """For each row of random words the values by group, at random within; of equal words the first comes first."""
        numbers = (words if self._is_each_its_own else words[:, self.keys]) >> np.uint64(24)
        below = (self.group.size - 1).bit_length()
        if _CHANCE + int(self.group.max()).bit_length() + below > _WORD:
            return np.argsort(numbers + (self.group.astype(np.uint64) << np.uint64(_CHANCE)), axis=1, kind="stable")
        # Numbers that say at their end which value they are of need not be sorted by way of their places.
        numbers <<= np.uint64(below)
        numbers |= self._groups_and_places
        numbers.sort(axis=1)
        numbers &= np.uint64((1 << below) - 1)
        return numbers.view(np.int64)

    @cached_property
    def _is_each_its_own(self) -> bool:
        return bool((self.keys == np.arange(self.keys.size)).all())

    @cached_property
    def _groups_and_places(self) -> Words:
        """Of each value what a number of it begins and ends with."""
        below = (self.group.size - 1).bit_length()
        places = np.arange(self.group.size, dtype=np.uint64)
        return np.asarray((self.group.astype(np.uint64) << np.uint64(_CHANCE + below)) | places)


def _as_like(
    scores: FloatArray, exchange: _Exchange, pairs: _Pairs, statistic: float, n_resamples: int, stream: Stream
) -> tuple[int, int]:
    """How many orders have neighbours at least as alike, and of how many."""
    count = done = 0
    most = max(1, _AT_ONCE // scores.size)
    few = min(_NONE_OF, n_resamples) if scores.size > _LARGE else n_resamples
    slack = 1e-12 * max(1.0, abs(statistic))
    while done < (n_resamples if count else few) and not (done >= _FIRST and count > _MANY):
        rows = min(_FIRST if done < _FIRST else most, (n_resamples if count else few) - done)
        count += int((pairs.sums(exchange.shuffled(scores, rows, stream)) >= statistic - slack).sum())
        done += rows
    return count, done


def _result(statistic: float, p_value: float, n_resamples: int) -> TestResult:
    return TestResult(
        statistic=statistic,
        p_value=p_value,
        alternative="greater",
        method="correlation with what came before, random orders within groups",
        n_resamples=n_resamples,
        warnings=() if n_resamples else (series_advice.NoOrder(),),
    )
