"""Bounds of the variance that a level adds: of normal data, and of binaries by the kurtosis that they have."""

from __future__ import annotations

import math
from typing import Final

from layoutrand.stats.levels import IntArray, Nested
from layoutrand.stats.quantiles import chi2_quantile, f_quantile
from layoutrand.stats.spread_bounds import lower_by_kurtosis, upper_by_kurtosis
from layoutrand.stats.variance import biased_variance

_NO_KURTOSIS: Final = 3
"""Binaries that are too few to have a kurtosis of their own."""


def tukey_williams(sample: Nested, level: int, confidence: float) -> tuple[float, float]:
    """Bounds of the variance that a level adds, of normal data: in squared units, and not below 0."""
    observed = biased_variance(sample, level) or 0.0
    degrees = int(sample.counts[level - 1].sum()) - sample.counts[level - 1].size
    degrees -= sample.lost if level == sample.n_levels else 0
    tails = ((1 + confidence) / 2, (1 - confidence) / 2)
    if degrees == 0:
        return 0.0, math.inf
    noise, lower_degrees = _noise_of_means(sample, level)
    low, high = (
        degrees
        * (observed - noise * (f_quantile(tail, degrees, lower_degrees) if noise else 0.0))
        / chi2_quantile(tail, degrees)
        for tail in tails
    )
    return max(low, 0.0), max(high, 0.0)


def _noise_of_means(sample: Nested, level: int) -> tuple[float, int]:
    """What the level below leaves in the means of one, and its degrees of freedom; 0 where nothing was repeated."""
    below = next((k for k in range(level - 1, 0, -1) if int(sample.counts[k - 1].max()) > 1), None)
    if below is None:
        return 0.0, 0
    counts = sample.counts[below - 1]
    return (biased_variance(sample, below) or 0.0) / harmonic(counts), int(counts.sum()) - counts.size


def with_kurtosis(sample: Nested, normal: tuple[float, float], confidence: float) -> tuple[float, float]:
    """Bounds of normal binaries, apart as far as the kurtosis of these has them."""
    scaled, _ = sample.scaled()
    squared = biased_variance(scaled, scaled.n_levels) or 0.0
    if squared == 0 or scaled.n_top <= _NO_KURTOSIS:
        return normal
    unit = (biased_variance(sample, sample.n_levels) or 0.0) / squared
    noise, lower_degrees = _noise_of_means(scaled, scaled.n_levels)
    most = noise * f_quantile((1 + confidence) / 2, scaled.n_free - 1, lower_degrees) if noise else 0.0
    low = lower_by_kurtosis(scaled.top_means, squared, most, 1 - confidence)
    high = upper_by_kurtosis(scaled.top_means, squared, noise, 1 - confidence)
    return min(normal[0], low * unit), max(normal[1], high * unit)


def harmonic(counts: IntArray) -> float:
    """Harmonic mean of counts: means of so many vary like means of theirs, on average."""
    return float(counts.size / (1.0 / counts).sum())
