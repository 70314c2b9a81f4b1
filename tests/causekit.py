"""What a sweep's values come to: whether something stands out, and the cause that is told."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from layoutrand.explain.causes import cause
from layoutrand.stats import dose_response


def told_of(
    rng: np.random.Generator,
    met: Mapping[str, tuple[float, ...]],
    level: np.ndarray,
    offsets: np.ndarray,
    *,
    rounds: int,
    seed: int,
) -> str:
    """The mechanism that is told where each step of ``level`` adds 10 % and executions differ by 1 %, or that none is."""
    values = rng.normal(0, 0.01, (rounds, len(offsets))) + 0.1 * level
    period = max(64, 1 << int(offsets[-1]).bit_length())
    if not dose_response(values, offsets.tolist(), period=period, seed=seed, n_permutations=199).matters:
        return "nothing found"
    return cause(values, dict(met), "wall", level=0.05, seed=seed).mechanism or "cannot tell"
