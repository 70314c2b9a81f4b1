"""Why a function's place matters: which of several mechanisms the doses of a sweep go by.

Each mechanism says of every offset how much of something the function's hottest code meets there
(`layoutrand.explain.mechanisms`), and so puts offsets into classes that must be alike if it is the one.

A mechanism is out where it is the same at all offsets, where more of it is not worse, and where offsets of one class
differ (`layoutrand.stats.dose_fit`) and it leaves more than a fifth of what offsets do.  One that is left alone, and
explains four fifths, is the cause; where several are left, or none, that cannot be told.  So the true one is put out
in at most 5 % of sweeps, and another takes its place only where that explains nearly all, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.instruments.known import simulated
from layoutrand.stats import DoseFit, dose_fit

ENOUGH: Final = 0.8
"""The part of what offsets do that the cause explains."""

_SEEN_BY_SIMULATION: Final = frozenset({"sets", "data-split", "data-line", "data-sets"})
"""Simulated caches have lines, sets and ways, and nothing of how instructions are fetched and decoded, jumps foreseen,
or loads held against stores.
"""


@dataclass(frozen=True)
class Mechanism:
    """One mechanism: its class at each offset, how well classes explain the sweep, and why it is out ("" if it is not).

    ``fit`` is None where it is the same at all offsets.
    """

    mechanism: str
    levels: tuple[float, ...]
    fit: DoseFit | None
    out: str


@dataclass(frozen=True)
class Cause:
    """The mechanism, None where that cannot be told, and all that were looked at.

    ``unseen`` are those that the metric cannot show, whatever their part is.
    """

    mechanism: str | None
    candidates: tuple[Mechanism, ...]
    unseen: tuple[str, ...]


def shown_by(instrument: str, mechanism: str) -> bool:
    """Whether what the instrument counts has anything of the mechanism."""
    return instrument not in simulated() or mechanism in _SEEN_BY_SIMULATION


def cause(
    values: NDArray[np.float64], met: dict[str, tuple[float, ...]], instrument: str, *, level: float, seed: int
) -> Cause:
    """Which mechanism ``values`` (logarithms, large is worse, shape (rounds, offsets)) go by."""
    seen = [name for name in met if shown_by(instrument, name)]
    candidates = tuple(_candidate(values, name, met[name], level, seed) for name in seen)
    return decided(candidates, tuple(name for name in met if name not in seen))


def decided(candidates: tuple[Mechanism, ...], unseen: tuple[str, ...]) -> Cause:
    """The one that is left alone and explains enough, if there is one."""
    left = [each for each in candidates if not each.out]
    alone = left[0] if len(left) == 1 and left[0].fit is not None and left[0].fit.share >= ENOUGH else None
    return Cause(None if alone is None else alone.mechanism, candidates, unseen)


def _candidate(
    values: NDArray[np.float64], name: str, classes: tuple[float, ...], level: float, seed: int
) -> Mechanism:
    if len(set(classes)) < 2:
        return Mechanism(name, classes, None, "it is the same at all offsets")
    fit = dose_fit(values, classes, seed=seed)
    out = ""
    if not fit.rises:
        out = "more of it is not worse"
    elif fit.p_value <= level and fit.share < ENOUGH:
        out = "offsets at which it is the same differ"
    return Mechanism(name, classes, fit, out)
