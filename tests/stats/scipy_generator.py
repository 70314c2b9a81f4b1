"""How scipy's resampling is given its generator: scipy 1.15 has another name for it."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from scipy import stats as scipy_stats

_NAME = "rng" if "rng" in inspect.signature(scipy_stats.bootstrap).parameters else "random_state"


def seeded() -> dict[str, Any]:
    """The argument, of one stream in every version."""
    return {_NAME: np.random.default_rng(1)}
