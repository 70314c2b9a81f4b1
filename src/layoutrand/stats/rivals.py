"""Whether classes are all there is: what is left of a response within them, and whether it goes with anything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import check_count, check_seed
from layoutrand.stats.levels import FloatArray, IntArray, flat_numbers
from layoutrand.stats.projections import basis_beyond, basis_of, beyond, orders_within
from layoutrand.stats.streams import Stream

_ROUNDING: Final = 1e-12


@dataclass(frozen=True, kw_only=True)
class ClassRest:
    """What goes with a response among observations of one class.

    Attributes
    ----------
    p_value
        How often something would go with it as much if within classes nothing did; 1 where nothing differs there.
    index
        Which of the designs goes with it most, None where none differs within classes.
    """

    p_value: float
    index: int | None


def left_in_classes(
    response: FloatArray,
    classes: FloatArray,
    *,
    designs: Sequence[FloatArray],
    straight: bool = False,
    n_permutations: int = 1999,
    seed: int = 0,
) -> ClassRest:
    """Whether any of the designs goes with the response beyond what classes do.

    Parameters
    ----------
    response, classes
        Shape ``(observations,)``; the class of each observation is a number.
    designs
        For each thing that may matter its columns, shape ``(observations, columns)``.
    straight
        Whether the response is a straight line over the numbers of the classes, where each has few observations.
    n_permutations
        How many permutations.
    seed
        Of the permutations.

    Returns
    -------
    ClassRest

    Raises
    ------
    AnalysisError
        Fewer than 3 observations, shapes that do not fit, or numbers that are not finite.

    Notes
    -----
    Response and designs lose their means in each class.  The statistic is the largest F ratio of all designs; the
    response is permuted within classes, which is exact where its observations of a class are exchangeable, whatever
    classes do and however many designs there are (Westfall and Young 1993).  With a straight line what is left of both
    beside it is looked at, and permuted over all (Freedman and Lane 1983), which holds nearly.
    """
    target, level = flat_numbers(response, name="response"), flat_numbers(classes, name="classes")
    check_count(n_permutations, name="n_permutations")
    check_seed(seed)
    columns = [np.asarray(each, np.float64) for each in designs]
    if len(target) < 3 or level.shape != target.shape or any(len(each) != len(target) for each in columns):
        raise AnalysisError("3 observations or more are needed, and a class and a row of each design for each of them")
    if not all(np.isfinite(each).all() for each in (target, level, *columns)):
        raise AnalysisError("response, classes and designs must be finite numbers")
    _, place = np.unique(np.zeros_like(level) if straight else level, return_inverse=True)
    beside = basis_of(
        np.column_stack([np.ones(len(target)), level]) if straight else np.equal.outer(level, np.unique(level)) * 1.0
    )
    rest = beyond(target[:, None], beside)[:, 0]
    bases = [basis_beyond(each, beside) for each in columns]
    if float((rest**2).sum()) <= _ROUNDING * float(((target - target.mean()) ** 2).sum()) or not any(
        b.size for b in bases
    ):
        return ClassRest(p_value=1.0, index=None)
    degrees = len(target) - beside.shape[1]
    observed = _ratios(rest[None], beside, bases, degrees)[0]
    largest = _permuted(rest, place, beside, bases, degrees, n_permutations, seed)
    reached = int((largest >= observed.max() * (1 - 1e-9)).sum())
    return ClassRest(p_value=(reached + 1) / (n_permutations + 1), index=int(np.argmax(observed)))


def _ratios(rests: FloatArray, beside: FloatArray, bases: Sequence[FloatArray], degrees: int) -> FloatArray:
    """The F ratio of each design, shape (rests, designs); 0 where nothing is left to judge it by, or of it."""
    found = np.zeros((len(rests), len(bases)))
    whole = (rests**2).sum(axis=1)
    squares = np.maximum(whole - ((rests @ beside) ** 2).sum(axis=1), _ROUNDING * whole)
    for number, basis in enumerate(bases):
        rank = basis.shape[1]
        if 0 < rank < degrees:
            explained = ((rests @ basis) ** 2).sum(axis=1)
            noise = np.maximum(squares - explained, _ROUNDING * squares) / (degrees - rank)
            found[:, number] = explained / rank / noise
    return found


def _permuted(
    rest: FloatArray,
    place: IntArray,
    beside: FloatArray,
    bases: Sequence[FloatArray],
    degrees: int,
    count: int,
    seed: int,
) -> FloatArray:
    """The largest ratio of each permutation within classes, shape (count,)."""
    stream = Stream(seed, "rivals")
    slots = np.argsort(place, kind="stable")
    found = []
    for order in orders_within(place, rest.shape, count, stream):
        moved = np.empty(order.shape)
        moved[:, slots] = rest[order]
        found.append(_ratios(moved, beside, bases, degrees).max(axis=1))
    return np.concatenate(found)
