"""Sweeps that were never executed: values as the command takes them out of its file."""

from __future__ import annotations

from typing import Any

import numpy as np

from layoutrand.analysis.sample import Sample
from layoutrand.explain.offsets import Offsets
from layoutrand.explain.sweep import Sweep
from layoutrand.explain.sweep_rounds import SweepOrder, by_round
from layoutrand.stats import dose_response


def judged(table: np.ndarray, offsets: tuple[int, ...], seed: int, permutations: int = 399, period: int = 64) -> Sweep:
    """A sweep with these values, taken out of a sample as the command takes them."""
    rounds = tuple(range(1, len(table) + 1))
    sample = Sample(
        system="O2",
        benchmark="b",
        instrument="wall",
        metric="wall_s",
        unit="s",
        is_primary=True,
        binaries=tuple((o, tuple((value,) for value in table[:, n].tolist())) for n, o in enumerate(offsets)),
        controls={},
        rounds=dict.fromkeys(offsets, rounds),
    )
    _, means, _ = by_round(sample, offsets, len(table))
    response = dose_response(np.log(means), offsets, period=period, seed=seed, n_permutations=permutations)
    order = SweepOrder("O2", "b", "f", Offsets(0, period - 1, None), len(table), "identity", None, 0.95)
    nothing: Any = None
    return Sweep(
        order=order,
        sample=sample,
        artefact="a",
        name="f",
        is_code=True,
        size=64,
        align=4,
        binaries=nothing,
        offsets=offsets,
        rounds=rounds,
        means=means,
        lost=(),
        response=response,
        summary=nothing,
        hostname="here",
        cause=None,
    )
