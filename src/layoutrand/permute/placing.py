"""Where pieces lie that stand one behind the other, each aligned as it must be."""

from __future__ import annotations

import numpy as np

from layoutrand.permute.skeleton import Numbers


def places(size: Numbers, step: Numbers, gaps: Numbers | None = None, begin: int = 0) -> tuple[Numbers, int]:
    """Where each piece lies, behind its gap and at a multiple of its step, and where the last ends.

    All shape (k,) and in bytes; steps are powers of two (0 is as good as 1), and the first piece may ``begin`` there.
    From the smallest step on, pieces that have it are put behind what stands ahead of them, which begins at a multiple
    of a larger one: so far they lie alike wherever that goes, and from there on they are part of it.
    """
    extent = np.append(begin, size)  # of each piece, and ahead of them of what they begin in, with what was put behind
    gap = np.zeros_like(extent) if gaps is None else np.append(0, gaps)
    of = np.append(np.iinfo(np.int64).max, np.maximum(step, 1))
    place = np.zeros_like(extent)
    left, put = np.arange(len(extent)), []
    for each in np.unique(of[1:]).tolist():
        behind = of[left] == each
        advance = np.append(0, rounded(extent[left[:-1]] + gap[left[1:]], each))
        total = np.cumsum(np.where(behind, advance, 0))
        ahead = np.flatnonzero(~behind)
        which = np.cumsum(~behind) - 1
        inside = total - total[ahead][which]
        put.append((left[behind], left[ahead][which[behind]], inside[behind]))
        last = np.append(ahead[1:], len(left)) - 1
        extent[left[ahead]] = inside[last] + extent[left[last]]
        left = left[ahead]
    for pieces, parts, inside in reversed(put):
        place[pieces] = place[parts] + inside
    return place[1:], int(extent[0])


def rounded(value: Numbers, step: Numbers | int) -> Numbers:
    """Up to a multiple of the step, a power of two; 0 is as good as 1."""
    mask = np.maximum(np.asarray(step, np.int64), 1) - 1
    return np.asarray((value + mask) & ~mask, np.int64)
