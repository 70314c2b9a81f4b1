"""Measurements with their hierarchy.

Every function of `layoutrand.stats` takes measurements as an array whose axes run from the highest level to
the lowest, ``(binary, execution, iteration)``, or as nested sequences of the same shape in which the numbers
of executions or iterations may differ from place to place (unbalanced).  This module turns either into one
flat vector with the repetition counts beside it, and says precisely what is wrong when it cannot.

Levels are numbered as in the papers: 1 is the lowest (iteration), n the highest (binary).  Messages call the
top level *binary*, whatever the caller keeps there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Final, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import check_count

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
Measurements: TypeAlias = "npt.ArrayLike | Sequence[Any] | Nested"


@dataclass(frozen=True, kw_only=True)
class Nested:
    """Measurements of one system on one benchmark, flat, with the repetition counts of every level.

    Attributes
    ----------
    values
        All measurements in order, shape ``(N,)``, any unit.
    counts
        Level 1 first.  ``counts[i - 1][j]`` is the number of level-i units in the j-th unit of level i + 1; the
        last entry has one element, the number of binaries.
    lost
        Degrees of freedom that the binaries' means lack because something was estimated from them and taken out, as by
        `without_blocks`; 0 for measurements as they are.
    """

    values: FloatArray
    counts: tuple[IntArray, ...]
    lost: int = 0

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.counts)

    @property
    def n_top(self) -> int:
        """Repetition count of the top level: the number of binaries."""
        return int(self.counts[-1][0])

    @property
    def n_free(self) -> int:
        """The number of binaries that would have as many degrees of freedom: what Student's t and F are told."""
        return self.n_top - self.lost

    @cached_property
    def is_balanced(self) -> bool:
        """Whether every unit of a level has the same number of units below it."""
        return all(bool((counts == counts[0]).all()) for counts in self.counts)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Repetition counts, highest level first; of an unbalanced experiment, the largest of each level."""
        return tuple(int(counts.max()) for counts in reversed(self.counts))

    def unit_means(self, level: int) -> FloatArray:
        """Mean of every level-`level` unit: the unweighted mean of the means of the units inside it."""
        means = self.values
        for counts in self.counts[: level - 1]:
            means = group_means(means, counts)
        return means

    @cached_property
    def top_means(self) -> FloatArray:
        """Mean of every binary, shape ``(n_binaries,)``."""
        return self.unit_means(self.n_levels)

    @cached_property
    def mean(self) -> float:
        """Grand mean: the unweighted mean of the binaries' means, within their range despite rounding."""
        return float(np.clip(self.top_means.mean(), self.values.min(), self.values.max()))

    def scaled(self) -> tuple[Nested, int]:
        """Divide by a power of two so that no square can overflow or vanish; exact but for subnormal numbers.

        Returns
        -------
        scaled, exponent
            Measurements of magnitude at most 1, and the exponent with ``values == scaled.values * 2**exponent``.
        """
        largest = float(np.abs(self.values).max())
        if largest == 0.0:
            return self, 0
        exponent = math.frexp(largest)[1]
        return Nested(values=np.ldexp(self.values, -exponent), counts=self.counts, lost=self.lost), exponent


def group_sums(values: FloatArray, counts: IntArray) -> FloatArray:
    """Sums of consecutive groups of `values`, the j-th of ``counts[j]`` elements."""
    first = int(counts[0])
    if bool((counts == first).all()):
        return np.asarray(values.reshape(-1, first).sum(axis=1), dtype=np.float64)
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    return np.asarray(np.add.reduceat(values, starts), dtype=np.float64)


def group_means(values: FloatArray, counts: IntArray) -> FloatArray:
    """Means of consecutive groups of `values`, the j-th of ``counts[j]`` elements."""
    return group_sums(values, counts) / counts


def nested(data: Measurements, *, name: str = "data") -> Nested:
    """Read measurements, balanced or not.

    Parameters
    ----------
    data
        Array, or nested sequences, axes highest level first; at least one axis.
    name
        What error messages call the argument.

    Raises
    ------
    AnalysisError
        Not numbers, empty at any level, unequal depth, or a value that is not finite; the message gives the place.
    """
    if isinstance(data, Nested):
        return data
    if _hides(data):
        raise AnalysisError(
            f"{name}: some measurements are masked; leave them out, such as with `compressed()` or in ragged lists"
        )
    array = _as_array(data)
    if array is not None:
        return _balanced(array, name)
    counts: list[list[int]] = []
    values: list[float] = []
    _flatten(data, place=(), counts=counts, values=values, name=name, depth=_depth(data, name))
    flat = np.asarray(values, dtype=np.float64)
    result = Nested(values=flat, counts=tuple(np.asarray(level, dtype=np.int64) for level in reversed(counts)))
    if not np.isfinite(flat).all():
        raise _not_finite(flat, name)
    return result


def nested_executions(binaries: Sequence[Sequence[Sequence[float]]]) -> Nested:
    """Numbers of binaries, executions and iterations as `nested` reads them, all at once: there may be millions.

    Parameters
    ----------
    binaries
        For each binary its executions, for each execution its iterations.

    Raises
    ------
    AnalysisError
        As `nested` does.
    """
    executions = [iterations for binary in binaries for iterations in binary]
    counts = (
        np.fromiter(map(len, executions), np.int64, len(executions)),
        np.fromiter(map(len, binaries), np.int64, len(binaries)),
        np.array([len(binaries)], dtype=np.int64),
    )
    flat = np.fromiter(chain.from_iterable(executions), np.float64, int(counts[0].sum()))
    if not all(level.all() for level in counts) or not np.isfinite(flat).all():
        return nested(binaries)  # which says what is wrong
    return Nested(values=flat, counts=counts)


def with_lost(data: Measurements, lost: int) -> Nested:
    """Measurements out of which something was taken that cost degrees of freedom between binaries.

    Parameters
    ----------
    data
        Measurements, axes highest level first.
    lost
        How many degrees of freedom it cost: of n binaries, intervals and tests then count ``n - 1 - lost``.  The
        values are to have been stretched so that their sample variance is right, as `without_blocks` does.

    Returns
    -------
    Nested
        What every function of this package takes for measurements.

    Raises
    ------
    AnalysisError
        Malformed data, or fewer than 1 degree of freedom left of several binaries.
    """
    sample = nested(data)
    check_count(lost, name="lost", at_least=0)
    if lost and sample.n_top - lost < 2:
        raise AnalysisError(
            f"{sample.n_top} binaries less {lost} degrees of freedom leave none for a variance; measure more binaries"
        )
    return replace(sample, lost=lost)


def _as_array(data: Measurements) -> np.ndarray[Any, Any] | None:
    """The data as an array, or None when they are ragged."""
    if isinstance(data, np.ndarray) and data.dtype != object:
        return data
    try:
        array = np.asarray(data)
    except (ValueError, OverflowError):
        return None
    return None if array.dtype == object else array


_PLAIN: Final = frozenset({int, float})


def _hides(data: object) -> bool:
    """Whether anything in it is masked, which an array would forget."""
    if type(data) is np.ndarray:  # numpy.ma, which takes a while to import, is not needed to say so
        return False
    if isinstance(data, np.ma.MaskedArray):
        return bool(np.ma.getmaskarray(data).any())
    if isinstance(data, list | tuple):
        if _PLAIN.issuperset(map(type, data)):  # at once: a level may hold millions
            return False
        return any(isinstance(part, list | tuple | np.ma.MaskedArray) and _hides(part) for part in data)
    return False


def flat_numbers(values: object, *, name: str) -> FloatArray:
    """A flat sequence of numbers, shape ``(n,)``, that need not be finite; raises `AnalysisError` for anything else."""
    return _numbers(values, 1, "a flat sequence of numbers", name)


def table_of_numbers(values: object, *, name: str) -> FloatArray:
    """Rows of as many numbers each, finite or not, shape ``(rows, columns)``; raises as `flat_numbers` does."""
    return _numbers(values, 2, "a table of numbers", name)


def _numbers(values: object, axes: int, wanted: str, name: str) -> FloatArray:
    if _hides(values):
        raise AnalysisError(f"{name}: some values are masked; leave them out")
    try:
        array = np.asarray(values)
        if array.dtype == object and all(isinstance(each, int | float) for each in array.flat):
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise AnalysisError(f"{name}: expected {wanted}: {error}") from error
    if array.dtype.kind not in "iufb" or array.ndim != axes:
        raise AnalysisError(f"{name}: expected {wanted}, got {array.dtype} of shape {array.shape}")
    return array.astype(np.float64)


def _balanced(array: np.ndarray[Any, Any], name: str) -> Nested:
    if array.dtype.kind not in "iuf":
        raise AnalysisError(f"{name}: expected numbers, got {array.dtype}; convert the measurements to float first")
    if array.ndim == 0:
        raise AnalysisError(f"{name}: one number is no sample; give an array with axes (binary, execution, iteration)")
    if array.size == 0:
        raise AnalysisError(f"{name}: no measurements (shape {array.shape}); run the benchmark first")
    flat = np.ascontiguousarray(array, dtype=np.float64).ravel()
    if not np.isfinite(flat).all():
        raise _not_finite(flat, name, shape=array.shape)
    sizes = [1, *np.cumprod(array.shape[:-1], dtype=np.int64).tolist()]
    counts = [np.full(cells, count, dtype=np.int64) for cells, count in zip(sizes, array.shape, strict=True)]
    return Nested(values=flat, counts=tuple(reversed(counts)))


def _not_finite(flat: FloatArray, name: str, *, shape: tuple[int, ...] | None = None) -> AnalysisError:
    bad = np.flatnonzero(~np.isfinite(flat))
    where = [int(i) for i in np.unravel_index(bad[0], shape)] if shape else f"position {int(bad[0])} in reading order"
    return AnalysisError(
        f"{name}: {bad.size} of {flat.size} measurements are not finite, the first ({flat[bad[0]]}) at {where}; "
        "drop failed executions (ragged lists are accepted) before analysing"
    )


def _is_sequence(data: object) -> TypeGuard[Sequence[object]]:
    return isinstance(data, Sequence | np.ndarray) and not isinstance(data, str | bytes)


def _depth(data: object, name: str) -> int:
    depth = 0
    while _is_sequence(data):
        depth += 1
        data = next(iter(data), None)
        if data is None:
            raise AnalysisError(
                f"{name}: the first unit at depth {depth} is empty; leave out units without measurements"
            )
    return depth


def _flatten(
    data: object, *, place: tuple[int, ...], counts: list[list[int]], values: list[float], name: str, depth: int
) -> None:
    """Append the units below `data` to `counts` (highest level first) and its numbers to `values`."""
    level = len(place)
    if level == depth:
        if isinstance(data, bool | str | bytes) or not isinstance(data, int | float | np.integer | np.floating):
            raise AnalysisError(
                f"{name}: expected a number at {list(place)}, got {type(data).__name__}; "
                f"all branches need {depth} levels"
            )
        try:
            values.append(float(data))
        except OverflowError as error:
            raise AnalysisError(
                f"{name}: the number at {list(place)} is beyond the range of floating point; give it in another unit"
            ) from error
        return
    if not _is_sequence(data):
        raise AnalysisError(
            f"{name}: expected a sequence at {list(place)}, got {type(data).__name__}; all branches need {depth} levels"
        )
    children = list(data)
    if not children:
        raise AnalysisError(f"{name}: no measurements at {list(place)}; leave out units without measurements")
    if len(counts) == level:
        counts.append([])
    counts[level].append(len(children))
    for position, child in enumerate(children):
        _flatten(child, place=(*place, position), counts=counts, values=values, name=name, depth=depth)
