"""Offsets at which one mechanism alone differs: with it or without it, and all others that are looked at the same.

Of all offsets of a range those are taken that meet as much of every other mechanism; among them some that meet the
least of this one, and as many that meet the most.  So what they differ by is not what another mechanism of the list
does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import UsageError
from layoutrand.explain.caches import CodeCaches
from layoutrand.explain.data_mechanisms import DATA_MECHANISMS, data_repeats_within
from layoutrand.explain.mechanisms import MECHANISMS, repeats_within
from layoutrand.explain.offsets import LARGEST, LINE, Offsets
from layoutrand.stats import DoseFit, Interval, dose_fit, mean_interval

MOST: Final = 4
"""Offsets with the mechanism, and without it, at most."""

_FOUR_LINES: Final = 4 * LINE
"""Bytes: where offsets are looked for of what repeats sooner, so that there are several like each other."""

_FINEST: Final = 1024
"""So many offsets are looked at at most."""


@dataclass(frozen=True)
class Switch:
    """The offsets at which the function meets the least of the mechanism, and those at which it meets the most."""

    mechanism: str
    without: tuple[int, ...]
    with_it: tuple[int, ...]

    @property
    def offsets(self) -> tuple[int, ...]:
        """All of them, ascending."""
        return tuple(sorted((*self.without, *self.with_it)))


@dataclass(frozen=True)
class Switched:
    """What the mechanism does: the ``difference`` of logarithms with and without it, with its interval.

    ``fit`` says whether offsets with, or without it, differ among themselves.
    """

    switch: Switch
    difference: Interval
    fit: DoseFit
    alike: bool

    @property
    def matters(self) -> bool:
        """Whether it does anything, as far as the interval tells."""
        return not self.difference.low <= 0 <= self.difference.high


def repeats(mechanism: str, caches: CodeCaches) -> int:
    """Bytes: what is moved by so many meets as much of the mechanism as it did, all else in its place."""
    return (data_repeats_within if mechanism in DATA_MECHANISMS else repeats_within)(mechanism, caches)


def range_of(mechanism: str, caches: CodeCaches, step: int | None) -> Offsets:
    """Where its offsets are looked for."""
    return Offsets(0, min(LARGEST, max(_FOUR_LINES, repeats(mechanism, caches))) - 1, step)


def candidates(asked: Offsets, align: int) -> tuple[int, ...]:
    """All offsets of the range that the function's alignment allows; where they are many, in larger steps."""
    step = max(1, align) if asked.step is None else asked.step
    while (asked.last - asked.first) // step >= _FINEST:
        step *= 2
    return tuple(range(-(-asked.first // step) * step, asked.last + 1, step))


def choose_switch(
    mechanism: str, met: Mapping[str, Sequence[float]], offsets: Sequence[int], name: str, *, every: bool = False
) -> Switch:
    """The offsets for this mechanism, by how much of each is ``met`` at every one of the ``offsets``.

    Raises `UsageError` where there are none, and says why; ``name`` is the function's, and ``every`` says that others
    are as these are.
    """
    if mechanism not in met:
        why = "the sizes of its TLB are not known here" if mechanism == "itlb" else "this processor does not have it"
        raise UsageError(f"--switch {mechanism}: {why}; there are {', '.join(met)}")
    if len(set(met[mechanism])) < 2:
        others = "its alignment allows no others" if every else "a larger --offset or a smaller --step may have others"
        raise UsageError(
            f"--switch {mechanism}: {name} meets as much of it at all {len(offsets)} offsets that were looked at; "
            f"{others}"
        )
    groups: dict[tuple[float, ...], dict[float, list[int]]] = {}
    rivals = [each for each in met if each != mechanism]
    for number, offset in enumerate(offsets):
        key = tuple(met[each][number] for each in rivals)
        groups.setdefault(key, {}).setdefault(met[mechanism][number], []).append(offset)
    best = max(
        groups.values(), key=lambda levels: (len(levels) > 1, min(len(levels[min(levels)]), len(levels[max(levels)])))
    )
    if len(best) < 2:
        along = [each for each in rivals if len(set(met[each])) > 1]
        raise UsageError(
            f"--switch {mechanism}: wherever {name} meets more of it, it meets another amount of {' or '.join(along)}, "
            f"too ({len(offsets)} offsets): it cannot be switched alone"
        )
    few, many = best[min(best)], best[max(best)]
    count = min(MOST, len(few), len(many))
    return Switch(mechanism, _spread(few, count), _spread(many, count))


def check_kind(mechanism: str, name: str, *, is_code: bool) -> None:
    """Raise `UsageError` for a mechanism of variables where ``name`` is a function's, and the other way round."""
    if (mechanism in MECHANISMS) != is_code:
        kinds = ("variables", "a function") if is_code else ("functions", "a variable")
        there = ", ".join(MECHANISMS if is_code else DATA_MECHANISMS)
        raise UsageError(f"--switch {mechanism}: it is one of {kinds[0]}, and {name} is {kinds[1]}; there are {there}")


def _spread(offsets: Sequence[int], count: int) -> tuple[int, ...]:
    """So many of them, as far apart as they lie."""
    places = np.linspace(0, len(offsets) - 1, count).round().astype(int)
    return tuple(offsets[place] for place in places.tolist())


def switched(values: NDArray[np.float64], switch: Switch, *, confidence: float, seed: int) -> Switched:
    """What it does; ``values`` are logarithms, shape (rounds, offsets), in the order of `Switch.offsets`.

    Within each round offsets with it are held against those without it, so that no round's own speed counts.
    """
    has = np.isin(switch.offsets, switch.with_it)
    contrasts = values[:, has].mean(axis=1) - values[:, ~has].mean(axis=1)
    fit = dose_fit(values, has.astype(float).tolist(), seed=seed)
    return Switched(
        switch=switch,
        difference=mean_interval(contrasts, confidence=confidence),
        fit=fit,
        alike=fit.p_value > 1 - confidence,
    )
