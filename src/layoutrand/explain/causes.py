"""Why a function's place matters: which of several mechanisms the doses of a sweep go by.

Each mechanism says of every offset how much of something the function's hottest code meets there, and so puts offsets
into classes that must be alike if it is the one:

- *line*, *window*, *fetch*: how many cache lines, 32-byte windows (as caches of decoded instructions hold code) and
  16-byte blocks (in which it is fetched and decoded) its hottest instructions lie on;
- *page*: how many pages they lie on;
- *sets*: how many of its hot lines lie in sets of the first-level instruction cache that hold more hot lines than they
  have ways.

A mechanism is out where it is the same at all offsets, where more of it is not worse, and where offsets of one class
differ (`layoutrand.stats.dose_fit`) and it leaves more than a fifth of what offsets do.  One that is left alone, and
explains four fifths, is the cause; where several are left, or none, that cannot be told.  So the true one is put out
in at most 5 % of sweeps, and another takes its place only where that explains nearly all, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import AnalysisError
from layoutrand.explain.caches import USUAL, CodeCaches
from layoutrand.explain.hotness import MOST_OFTEN, OFTEN
from layoutrand.instruments.known import simulated
from layoutrand.stats import DoseFit, dose_fit

WINDOW: Final = 32
FETCH: Final = 16
ENOUGH: Final = 0.8
"""The part of what offsets do that the cause explains."""

_LONGEST: Final = 15
"""Bytes of an instruction."""

_JUMP: Final = 2
"""Bytes of a short jump, as a loop that is never left ends with."""


@dataclass(frozen=True)
class SweptCode:
    """What of the swept function is executed how often, by offset from its begin, and which lines others are hot on.

    ``executed`` is ascending; ``others`` are numbers of lines, in the binaries of the sweep; ``caches`` are those of
    the machine that executes it.
    """

    executed: tuple[tuple[int, float], ...]
    others: tuple[int, ...]
    caches: CodeCaches = USUAL


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


MECHANISMS: Final = ("line", "window", "fetch", "page", "sets")
_SEEN_BY_SIMULATION: Final = frozenset({"sets"})
"""A simulated cache has sets and ways, and nothing of how instructions are fetched and decoded."""


def levels(code: SweptCode, starts: Sequence[int]) -> dict[str, tuple[float, ...]]:
    """Of each mechanism how much the function meets of it where it begins at each of these addresses."""
    hottest = _bytes(code.executed, MOST_OFTEN)
    hot = _bytes(code.executed, OFTEN)
    line, page = code.caches.line, code.caches.page
    found = {
        name: tuple(float(len(np.unique((at + hottest) // unit))) for at in starts)
        for name, unit in (("line", line), ("window", WINDOW), ("fetch", FETCH), ("page", page))
    }
    others = np.unique(np.array(code.others, np.int64))
    conflicts = np.array([_conflicts(np.unique((at + hot) // line), others, code.caches) for at in starts], float)
    most = conflicts.max(initial=0.0)
    # None, some and many: each count by itself would be a class of one offset, which nothing can speak against.
    found["sets"] = tuple(np.ceil(2 * conflicts / most).tolist()) if most else tuple(conflicts.tolist())
    return found


def cause(
    values: NDArray[np.float64], met: dict[str, tuple[float, ...]], instrument: str, *, level: float, seed: int
) -> Cause:
    """Which mechanism ``values`` (logarithms, large is worse, shape (rounds, offsets)) go by."""
    seen = [name for name in MECHANISMS if instrument not in simulated() or name in _SEEN_BY_SIMULATION]
    candidates = tuple(_candidate(values, name, met[name], level, seed) for name in seen)
    left = [each for each in candidates if not each.out]
    alone = left[0] if len(left) == 1 and left[0].fit is not None and left[0].fit.share >= ENOUGH else None
    return Cause(
        mechanism=None if alone is None else alone.mechanism,
        candidates=candidates,
        unseen=tuple(name for name in MECHANISMS if name not in seen),
    )


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


def swept_code(
    executed: Sequence[tuple[int, float]], others: Sequence[int], name: str, caches: CodeCaches = USUAL
) -> SweptCode:
    """Raises `AnalysisError` for a function that is not executed."""
    if not executed:
        raise AnalysisError(f"{name} is not executed, or not for long enough to be seen in a profile")
    return SweptCode(tuple(sorted(executed)), tuple(others), caches)


def _bytes(executed: Sequence[tuple[int, float]], part: float) -> NDArray[np.int64]:
    """Offsets of all bytes of instructions that are executed at least this often, by the most frequent one."""
    limit = part * max(count for _, count in executed)
    places = [offset for offset, _ in executed]
    found: list[int] = []
    for number, (offset, count) in enumerate(executed):
        if count >= limit:
            size = places[number + 1] - offset if number + 1 < len(places) else _JUMP
            found += range(offset, offset + (size if size <= _LONGEST else _JUMP))
    return np.array(found, np.int64)


def _conflicts(lines: NDArray[np.int64], others: NDArray[np.int64], caches: CodeCaches) -> int:
    """How many of the lines lie in sets that hold more hot lines than they have ways."""
    everything = np.union1d(lines, others)
    held = np.bincount(everything % caches.sets, minlength=caches.sets)
    return int((held[lines % caches.sets] > caches.ways).sum())
