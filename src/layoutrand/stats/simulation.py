"""Simulated measurements of known truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import check_choice, check_count, check_seed
from layoutrand.stats.levels import FloatArray
from layoutrand.stats.streams import Stream


@dataclass(frozen=True, kw_only=True)
class HierarchicalModel:
    """A population of measurements: a grand mean, and at each level an independent deviation of mean 0.

    Attributes
    ----------
    mean
        Grand mean, in any unit.
    sds
        Standard deviation of each level's deviation, level 1 (the lowest) first, in the same unit.
    layout
        Distribution of the top level's deviation, always with standard deviation ``sds[-1]``: ``"normal"``,
        ``"skewed"`` (log-normal, skewness 1.75), ``"bimodal"`` (one in 5 binaries slow) or ``"rare"`` (one in 20
        very slow).  Lower levels are normal.
    """

    mean: float
    sds: tuple[float, ...]
    layout: str

    @property
    def variances(self) -> tuple[float, ...]:
        """Variance of each level, level 1 first."""
        return tuple(sd * sd for sd in self.sds)

    def of_top_means(self, lower_counts: Sequence[int]) -> HierarchicalModel:
        """The one-level population of binaries' means; exact for normal layouts.

        Parameters
        ----------
        lower_counts
            Repetitions below the top, highest first, as in ``counts[1:]`` of `simulate`.
        """
        variance = 0.0
        for own, count in zip(self.variances[:-1], reversed(lower_counts), strict=True):
            variance = (variance + own) / count
        return HierarchicalModel(mean=self.mean, sds=(math.sqrt(variance + self.variances[-1]),), layout="normal")


def published_models() -> dict[str, HierarchicalModel]:
    """Populations with the variation of published benchmarks, mean 100, so that standard deviations are percent.

    Returns
    -------
    dict
        The ten benchmarks of TR 4-12, table 8.2 (measurement, execution, compilation), and ``"layout 2 %"``: layouts
        that differ by 2 % and executions by 0.5 %, of one measurement each.
    """
    models = {name: HierarchicalModel(mean=100.0, sds=sds, layout="normal") for name, sds in _REPORT_TABLE_8_2.items()}
    models["layout 2 %"] = HierarchicalModel(mean=100.0, sds=(0.0, 0.5, 2.0), layout="normal")
    return models


def simulate(
    model: HierarchicalModel, counts: Sequence[int], *, n_datasets: int | None = None, seed: int = 0
) -> FloatArray:
    """Draw measurements from a hierarchical model.

    Parameters
    ----------
    model
        The population.
    counts
        Repetitions, highest level first: ``(binaries, executions, iterations)``; as many as the model has levels.
    n_datasets
        Number of independent experiments; None draws one and leaves out its axis.
    seed
        The measurements depend on it alone.

    Returns
    -------
    ndarray
        Shape ``(n_datasets, *counts)`` or ``counts``, in the model's unit.

    Raises
    ------
    AnalysisError
        Bad counts, a negative or infinite standard deviation, or an unknown distribution.

    Notes
    -----
    The hierarchical normal model of TR 4-12, section 8.4 (random effects, section 7.1); the other layouts are of
    this project.
    """
    _check_model(model, counts)
    check_seed(seed)
    if n_datasets is not None:
        check_count(n_datasets, name="n_datasets")
    shape: tuple[int, ...] = (n_datasets or 1,)
    result = np.full(shape, model.mean)
    for axis, (count, sd) in enumerate(zip(counts, reversed(model.sds), strict=True)):
        shape = (*shape, count)
        stream = Stream(seed, "simulate", axis)
        draw = _LAYOUTS[model.layout] if axis == 0 else _normal
        result = result[..., None] + (sd * draw(stream, math.prod(shape)).reshape(shape) if sd else np.zeros(shape))
    return result if n_datasets is not None else result[0]


def _check_model(model: HierarchicalModel, counts: Sequence[int]) -> None:
    check_choice(model.layout, tuple(_LAYOUTS), name="layout distribution")
    if not math.isfinite(model.mean):
        raise AnalysisError(f"model: the mean must be finite, got {model.mean!r}")
    if not model.sds or any(not math.isfinite(sd) or sd < 0 for sd in model.sds):
        raise AnalysisError(f"model: standard deviations must be finite and not negative, got {model.sds!r}")
    if not isinstance(counts, Sequence) or isinstance(counts, str | bytes):
        raise AnalysisError(f"model: counts must be integers, one for each level, got {type(counts).__name__}")
    if len(counts) != len(model.sds):
        raise AnalysisError(f"model has {len(model.sds)} levels, but {len(counts)} repetition counts were given")
    for count in counts:
        check_count(count, name="each repetition count")


def _normal(stream: Stream, size: int) -> FloatArray:
    return stream.normals(size)


def _skewed(stream: Stream, size: int) -> FloatArray:
    """Log-normal, standardised; 0.5 is the standard deviation of its logarithm."""
    spread = math.exp(0.25)
    return (np.exp(0.5 * stream.normals(size)) - math.sqrt(spread)) / math.sqrt(spread * (spread - 1))


def _two_point(share: float) -> Callable[[Stream, int], FloatArray]:
    """A `share` of slow units, standardised."""

    def draw(stream: Stream, size: int) -> FloatArray:
        is_slow = stream.uniforms(size) < share
        return np.where(is_slow, math.sqrt((1 - share) / share), -math.sqrt(share / (1 - share)))

    return draw


_LAYOUTS: dict[str, Callable[[Stream, int], FloatArray]] = {
    "normal": _normal,
    "skewed": _skewed,
    "bimodal": _two_point(0.2),
    "rare": _two_point(0.05),
}

_REPORT_TABLE_8_2 = {
    "FFT NA OPT": (1.4, 8.2, 3.4),
    "FFT NA": (1.4, 7.8, 3.4),
    "FFT OPT": (4.3, 8.2, 4.4),
    "FFT": (4.6, 6.7, 4.1),
    "HTTP OPT": (22.5, 0.8, 0.2),
    "HTTP": (21.5, 0.7, 0.2),
    "Rijndael OPT": (9.3, 3.8, 0.4),
    "Rijndael": (9.1, 3.5, 0.4),
    "TCP OPT": (41.8, 1.7, 0.6),
    "TCP": (38.6, 1.8, 0.6),
}
