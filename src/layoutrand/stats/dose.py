"""Doses on a circle: does a response depend on where something lies modulo a power of two, and on which stretch of it?

Every round has every dose once, in random order.  Where doses do not matter the values of a round may change places:
that is all that is assumed, so neither normal values nor equal rounds are.  What is compared are *runs*: doses that lie
side by side, of the whole period or of a smaller power of two that it repeats with, against all others.  There are many
of them, so the largest of all their statistics is judged (Westfall and Young 1993), and its distribution gives
intervals that hold for all runs at once, whichever was looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import check_confidence, check_count, check_seed
from layoutrand.stats.dose_chance import ROUNDING, judged, largest, largest_turned
from layoutrand.stats.interval import Interval
from layoutrand.stats.levels import FloatArray, IntArray, flat_numbers, table_of_numbers
from layoutrand.stats.projections import orders_within
from layoutrand.stats.streams import Stream

FEWEST_ROUNDS: Final = 3
"""Below so many rounds nothing is said, unless values repeat to the digit."""

MOST_DOSES: Final = 256
RESAMPLES: Final = 1999
BoolArray: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class DoseRun:
    """Doses that lie side by side modulo a period, held against all others.

    Attributes
    ----------
    doses
        Those of the run, ascending.
    period
        The smallest power of two that the run repeats with.
    difference
        Interval of the mean over the run minus the mean over the others; all runs' intervals hold at once.
    """

    doses: tuple[int, ...]
    period: int
    difference: Interval


@dataclass(frozen=True, kw_only=True)
class DoseResponse:
    """How a response depends on doses.

    Attributes
    ----------
    doses
        Ascending, as in what follows.
    means
        Of each dose over the rounds, less the mean over all doses, shape ``(doses,)``.
    single
        Each dose held against all others.
    largest
        The run that stands out most; its values are the larger ones.
    p_value
        How often some run would stand out as much if doses did not matter; 0 where values repeat to the digit.
    bound
        No dose differs from the others by more, in either direction, with this confidence.
    n_rounds
        How many rounds there were.
    can_tell
        Whether so few rounds of so few doses can show anything at all.
    is_exact
        Whether all rounds have the same values, to the digit.
    confidence
        Of the intervals and the bound; where no dose matters, at least so often none is said to.
    """

    doses: tuple[int, ...]
    means: FloatArray
    single: tuple[DoseRun, ...]
    largest: DoseRun
    p_value: float
    bound: float
    n_rounds: int
    can_tell: bool
    is_exact: bool
    confidence: float

    @property
    def matters(self) -> bool:
        """Whether some run stands out by more than chance gives."""
        return self.can_tell and self.p_value <= 1 - self.confidence + 1e-12


def dose_response(
    values: FloatArray,
    doses: Sequence[int],
    *,
    period: int,
    confidence: float = 0.95,
    n_permutations: int = RESAMPLES,
    seed: int = 0,
    are_layouts: bool = False,
) -> DoseResponse:
    """Which run of doses stands out, by how much, and whether that is more than chance gives.

    Parameters
    ----------
    values
        Shape ``(rounds, doses)``; differences of them are looked at, so logarithms where ratios are meant.
    doses
        Different integers from 0 to ``period`` - 1, ascending; those side by side are neighbours, however far apart.
    period
        The power of two that doses are taken modulo of.
    confidence
        Of the intervals, all at once, and of not raising a false alarm.
    n_permutations
        How many permutations.
    seed
        Of the permutations.
    are_layouts
        Whether rounds are layouts: what one does at a dose it may do at its neighbours, so it takes more to stand out.

    Returns
    -------
    DoseResponse
        Also where nothing matters.

    Raises
    ------
    AnalysisError
        Fewer than 2 rounds or doses, more than 256 doses, doses that are not as described, or numbers that are not
        finite.

    Notes
    -----
    The statistic of a run is its difference by the standard error from the residuals of the additive model of rounds
    and doses, with ``(rounds - 1)(doses - 1)`` degrees of freedom (Box, Hunter and Hunter, Statistics for
    Experimenters, 2nd ed. 2005, section 4.2).  Values are permuted within rounds.  Half-widths are the quantile of the
    largest statistic by the standard error of the run.  With ``are_layouts`` the differences of rounds from their own
    means change their sign, too, each round as a whole: exact for symmetric ones, however neighbouring doses depend on
    each other (Fisher, The Design of Experiments, 1935, section 21).  The larger p-value and half-widths count.
    """
    table = _checked(values, doses, period)
    check_confidence(confidence)
    check_count(n_permutations, name="n_permutations")
    check_seed(seed)
    n_rounds, n_doses = table.shape
    members, periods = _runs(np.asarray(doses, np.int64), period)
    contrasts = _contrasts(members)
    norms = np.sqrt((contrasts**2).sum(axis=1) / n_rounds)
    centred = table - table.mean(axis=1, keepdims=True)
    means = centred.mean(axis=0)
    differences = contrasts @ means
    squares = float((centred**2).sum())
    residual = max(0.0, squares - n_rounds * float((means**2).sum()))
    if residual <= ROUNDING * squares:  # to the digit: nothing is left to chance
        half_widths, statistics = np.zeros(len(norms)), np.abs(differences) / norms
        p_value, can_tell = (0.0 if squares > 0 else 1.0), n_rounds >= 2
    else:
        deviation = math.sqrt(residual / ((n_rounds - 1) * (n_doses - 1)))
        statistics = np.abs(differences) / (deviation * norms)
        weights, most = contrasts / norms[:, None], float(statistics.max())
        p_value, limit = judged(largest(centred, weights, n_permutations, seed), most, confidence)
        can_tell = n_rounds >= fewest_rounds(n_doses, confidence=confidence, are_layouts=are_layouts)
        if are_layouts:
            turned = judged(largest_turned(centred, weights, n_permutations, seed), most, confidence)
            p_value, limit = max(p_value, turned[0]), max(limit, turned[1])
        half_widths = limit * deviation * norms

    def run(number: int, *, other: bool) -> DoseRun:
        chosen, centre = members[number], float(differences[number])
        if other:
            chosen, centre = ~chosen, -centre
        half = float(half_widths[number])
        return DoseRun(
            doses=tuple(dose for dose, inside in zip(doses, chosen.tolist(), strict=True) if inside),
            period=int(periods[number]),
            difference=Interval(
                centre=centre,
                low=centre - half,
                high=centre + half,
                confidence=confidence,
                method="permutation",
                warnings=(),
            ),
        )

    alone, largest_run = _alone(members), int(np.argmax(statistics))
    return DoseResponse(
        doses=tuple(int(dose) for dose in doses),
        means=means,
        single=tuple(run(number, other=not members[number, dose]) for dose, number in enumerate(alone)),
        largest=run(largest_run, other=bool(differences[largest_run] < 0)),
        p_value=p_value,
        bound=float(max(abs(differences[n]) + half_widths[n] for n in alone)),
        n_rounds=n_rounds,
        can_tell=can_tell,
        is_exact=residual <= ROUNDING * squares,
        confidence=confidence,
    )


def _checked(values: FloatArray, doses: Sequence[int], period: int) -> FloatArray:
    table = table_of_numbers(values, name="values")
    if not np.isfinite(table).all():
        raise AnalysisError("values: a table of rounds and doses, of finite numbers, is needed")
    check_count(period, name="period", at_least=2)
    if period & (period - 1):
        raise AnalysisError(f"period must be a power of two, got {period}")
    rises = all(earlier < later for earlier, later in pairwise(doses))
    if len(doses) < 2 or not rises or doses[0] < 0 or doses[-1] >= period:
        raise AnalysisError(f"2 doses or more are needed, which rise from 0 or more to less than {period}")
    if table.shape[1] != len(doses) or len(doses) > MOST_DOSES:
        raise AnalysisError(f"{len(doses)} doses, {table.shape[1]} columns: as many are needed, at most {MOST_DOSES}")
    if len(table) < 2:
        raise AnalysisError("a round tells nothing of chance; give 2 or more")
    return table


def _runs(doses: IntArray, period: int) -> tuple[BoolArray, IntArray]:
    """Members of each run, shape (runs, doses), and the smallest period that it repeats with; of two halves one."""
    found: dict[bytes, int] = {}
    members: list[BoolArray] = []
    size = 2
    while size <= period:
        places = np.unique(doses % size)
        for run in _side_by_side(places):
            inside = np.isin(doses % size, run)
            if found.keys().isdisjoint((inside.tobytes(), (~inside).tobytes())):
                found[inside.tobytes()] = size
                members.append(inside)
        size *= 2
    return np.array(members), np.array(list(found.values()), np.int64)


def _side_by_side(places: IntArray) -> Iterator[IntArray]:
    """Every run of the places from left to right, the short ones first; what goes around the end is all but a run."""
    count = len(places)
    for length in range(1, count):
        for begin in range(count - length + 1):
            yield places[begin : begin + length]


def _contrasts(members: BoolArray) -> FloatArray:
    inside = members.sum(axis=1, keepdims=True)
    return np.asarray(np.where(members, 1 / inside, -1 / (members.shape[1] - inside)))


def _alone(members: BoolArray) -> list[int]:
    """The run of each dose by itself; of two doses there is one run alone."""
    by_dose = {int(np.argmax(row)): number for number, row in enumerate(members) if row.sum() == 1}
    return [by_dose.get(dose, next(iter(by_dose.values()))) for dose in range(members.shape[1])]


def fewest_rounds(n_doses: int, *, confidence: float = 0.95, are_layouts: bool = False) -> int:
    """So many rounds are needed for anything to stand out, unless values repeat to the digit.

    Parameters
    ----------
    n_doses
        How many doses, 2 or more.
    confidence, are_layouts
        As for `dose_response`.

    Returns
    -------
    int
        At least `FEWEST_ROUNDS`.

    Raises
    ------
    AnalysisError
        A confidence outside (0, 1).

    Notes
    -----
    Rounds of n doses have n! orders each, but one that all have in common changes nothing; layouts have two signs each.
    """
    check_confidence(confidence)
    wanted = math.log(1 / (1 - confidence)) - 1e-9
    found = max(FEWEST_ROUNDS, 1 + math.ceil((wanted + math.log(2)) / math.lgamma(n_doses + 1)))
    return max(found, 1 + math.ceil(wanted / math.log(2))) if are_layouts else found


@dataclass(frozen=True, kw_only=True)
class DoseFit:
    """How much of what doses do goes by the classes that they are in.

    Attributes
    ----------
    share
        The part of the variance between doses that lies between classes, both without what chance adds to them.
    p_value
        How often as much would be left within classes if doses of one class did not differ; 1 where each class has one
        dose alone, so that nothing could be left.
    rises
        Whether the response is larger on average where the class's number is.
    n_classes
        How many classes there are.
    """

    share: float
    p_value: float
    rises: bool
    n_classes: int


def dose_fit(
    values: FloatArray, classes: Sequence[float], *, n_permutations: int = RESAMPLES, seed: int = 0
) -> DoseFit:
    """Whether a response depends on doses by their classes alone.

    Parameters
    ----------
    values
        Shape ``(rounds, doses)``, as for `dose_response`.
    classes
        The class of each dose, a number.
    n_permutations
        How many permutations.
    seed
        Of the permutations.

    Returns
    -------
    DoseFit
        Nothing is explained by a single class.

    Raises
    ------
    AnalysisError
        Fewer than 2 rounds or doses, or numbers that are not finite.

    Notes
    -----
    The statistic is the F ratio of what doses differ by within classes; values are permuted within rounds and classes,
    which is exact where doses of one class do not differ, whatever classes do (Pitman 1937).
    """
    table, level = table_of_numbers(values, name="values"), flat_numbers(classes, name="classes")
    if min(table.shape) < 2 or not np.isfinite(table).all() or level.shape != table.shape[1:]:
        raise AnalysisError("values: 2 rounds and doses or more, of finite numbers, and a class for each dose")
    check_count(n_permutations, name="n_permutations")
    check_seed(seed)
    n_rounds, n_doses = table.shape
    _, place = np.unique(level, return_inverse=True)
    member = place[:, None] == np.arange(place.max() + 1)
    size, n_classes = member.sum(axis=0), int(place.max() + 1)
    centred = table - table.mean(axis=1, keepdims=True)
    means = centred.mean(axis=0)
    own = (means @ member) / size
    within, between = n_rounds * float(((means - own[place]) ** 2).sum()), n_rounds * float((size * own**2).sum())
    squares = float((centred**2).sum())
    noise = max(0.0, squares - within - between) / ((n_rounds - 1) * (n_doses - 1))
    true_between, true_within = between - (n_classes - 1) * noise, within - (n_doses - n_classes) * noise
    whole = max(true_between, 0.0) + max(true_within, 0.0)
    return DoseFit(
        share=max(true_between, 0.0) / whole if whole > ROUNDING * squares else 0.0,
        p_value=_left_within(centred, place, within, n_permutations, seed) if n_classes < n_doses else 1.0,
        rises=bool(float((level - level.mean()) @ means) > 0),
        n_classes=n_classes,
    )


def _left_within(centred: FloatArray, place: IntArray, within: float, count: int, seed: int) -> float:
    """The p-value of what doses differ by within classes."""
    n_rounds, n_doses = centred.shape
    stream = Stream(seed, "dose-fit")
    squares = float((centred**2).sum())
    if within <= ROUNDING * squares:
        return 1.0
    slots = np.argsort(place, kind="stable")
    sums = np.array([centred[:, place == number].sum() / n_rounds for number in range(int(place.max()) + 1)])
    size = np.bincount(place)
    between = n_rounds * float((sums**2 / size).sum())
    reached = 0
    for order in orders_within(place, (n_rounds, n_doses), count, stream):
        moved = np.empty((len(order), n_doses))
        moved[:, slots] = np.take_along_axis(centred[None], order, axis=2).mean(axis=1)
        # Between classes nothing changes, and the sum of squares neither: more within is less that is left to chance.
        reached += int((n_rounds * (moved**2).sum(axis=1) - between >= within * (1 - 1e-9)).sum())
    return (reached + 1) / (count + 1)
