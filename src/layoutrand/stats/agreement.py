"""Do repeated executions of binaries agree on which are slow? A test that takes no binary to be as noisy as another.

Where binaries have noise of their own, those that are noisier than the controls lie farther out, and pass for layouts
that differ.  But what is noise in one pass over the binaries is not there in the next, while what a layout adds is.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from layoutrand.stats.levels import FloatArray
from layoutrand.stats.signs import turned
from layoutrand.stats.streams import Stream

_ROUNDING: Final = 1e-12
_AT_ONCE: Final = 1 << 20
_REPEATED: Final = 0.5
"""Share of binaries that must have been executed repeatedly, else the others are not judged by these."""


def agreement_p(passes: FloatArray, *, n_resamples: int = 10_000, seed: int = 0) -> float | None:
    """p of "what binaries differ by in one pass has nothing to do with the next".

    None where too few were repeated, and where all that were agree to the digit: they have no noise, and of a handful
    there are too few signs to show it.

    ``passes`` has shape ``(pass, binary)``, NaN for what is missing.  The statistic is the sum over binaries of the
    products of their deviations from the mean of each pass.  Noise is as likely to have the other sign, whatever its
    size in this binary, so p is the share of such signs (all where they are few) that give as large a sum.
    """
    there = np.isfinite(passes)
    passes, there = passes[:, there.any(axis=0)], there[:, there.any(axis=0)]
    if passes.shape[0] < 2 or (there.sum(axis=0) > 1).mean() < _REPEATED:
        return None
    means = np.nan_to_num(passes).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    away = np.where(there, np.nan_to_num(passes) - means[:, None], 0.0)
    largest = float(np.abs(away).max())
    if largest == 0:
        return 1.0
    away /= largest
    ends = np.where(there, away, np.inf).min(axis=0), np.where(there, away, -np.inf).max(axis=0)
    if float((ends[1] - ends[0]).max()) <= _ROUNDING:
        return None
    first, others = away[0], away[1:]
    # The sum of products is this less the sum of squares, which no sign changes; nor do those of all of a binary's.
    observed = float((away.sum(axis=0) ** 2).sum()) * (1 - _ROUNDING)
    size = others.size + 1
    hits = n_signs = 0
    for signs in turned(size, n_resamples, Stream(seed, "agreement", size), max(1, _AT_ONCE // size)):
        chosen = signs[:, :-1].reshape(-1, *others.shape) * others
        hits += int((((first + chosen.sum(axis=1)) ** 2).sum(axis=1) >= observed).sum())
        n_signs += len(signs)
    return (hits + 1) / (n_signs + 1)
