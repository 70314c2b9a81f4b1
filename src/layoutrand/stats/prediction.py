"""What one more binary would show: a range for the next observation, not for the mean.

An interval of the mean gets narrower with every binary; a prediction interval does not, and says what somebody would
see who builds a program once.
"""

from __future__ import annotations

import math

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.checks import check_choice, check_confidence
from layoutrand.stats.interval import Interval, sample_variance
from layoutrand.stats.levels import FloatArray, Measurements, nested
from layoutrand.stats.quantiles import t_quantile
from layoutrand.stats.ratio import check_pairs, exponential, log_means, satterthwaite
from layoutrand.warning import plural

PREDICTION_PAIRINGS = ("seed", "none")


def next_mean(data: Measurements, *, confidence: float = 0.95) -> Interval:
    """The range that the mean of one more binary lies in.

    Parameters
    ----------
    data
        Measurements of one system, axes highest level first; at least 2 binaries.
    confidence
        The chance, over all that was measured and the binary to come, that it lies in the range; in (0, 1).

    Returns
    -------
    Interval
        In the unit of the measurements; its centre is their mean.  The method is ``"prediction-t"``,
        ``"prediction-t-or-seen"`` where a binary measured lies outside that, or ``"order-statistics"``.

    Raises
    ------
    AnalysisError
        Malformed data, or a single binary.

    Notes
    -----
    From n binaries with mean m and standard deviation s: ``m +- t_{n-1} s sqrt(1 + 1/n)``, which takes binaries for
    normal, and never less than from the lowest to the highest measured: few slow layouts, or a ratio that most seeds
    leave at 1, lie farther out than a normal sample of the same standard deviation, and that range alone holds the next
    one with a chance of ``(n - 1) / (n + 1)``, whatever the distribution.  Where
    ``j = floor((n + 1) (1 - confidence) / 2)`` is at least 1, which for 95 % takes 39 binaries, the j-th smallest and
    the j-th largest of them instead: the next one lies between with a chance of ``1 - 2 j / (n + 1)``, whatever the
    distribution (Wilks, Annals of Mathematical Statistics 12, 1941; Hahn and Meeker, Statistical Intervals, sections
    4.7 and 5.2).
    """
    check_confidence(confidence)
    sample, exponent = nested(data).scaled()
    _need_two(sample.n_top, "next mean")
    means = sample.top_means
    low, high, method = _range(means, sample.n_free - 1, confidence)
    return Interval(
        centre=math.ldexp(sample.mean, exponent),
        low=math.ldexp(low, exponent),
        high=math.ldexp(high, exponent),
        confidence=confidence,
        method=method,
        warnings=advice.few_binaries(sample.n_top),
    )


def next_ratio(
    baseline: Measurements, candidate: Measurements, *, confidence: float = 0.95, pairing: str = "seed"
) -> Interval:
    """The range that the ratio of one more binary of each system lies in.

    Parameters
    ----------
    baseline, candidate
        Measurements of the two systems, means above 0, axes highest level first; at least 2 binaries of each.
    confidence
        As for `next_mean`.
    pairing
        ``"seed"``: binary i of both belongs together, and so do the two to come (same seed, executed in one round);
        ``"none"``: they do not.

    Returns
    -------
    Interval
        Of candidate / baseline; the centre is the ratio of geometric means.

    Raises
    ------
    AnalysisError
        Malformed data, a single binary, means not above 0, or paired systems with different numbers of binaries.

    Notes
    -----
    By seed: as `next_mean`, of the logarithms of the ratios seed by seed.  Not by seed: the difference of two next
    logarithms, ``m' - m +- t sqrt(s^2 (1 + 1/r) + s'^2 (1 + 1/r'))`` with Welch and Satterthwaite's degrees of freedom
    of that sum.
    """
    check_confidence(confidence)
    check_choice(pairing, PREDICTION_PAIRINGS, name="pairing")
    old, new = nested(baseline, name="baseline"), nested(candidate, name="candidate")
    _need_two(min(old.n_top, new.n_top), "next ratio")
    if pairing == "seed":
        check_pairs(old, new)
        logs = log_means(new, "candidate") - log_means(old, "baseline")
        centre = float(logs.mean())
        low, high, method = _range(logs, min(old.n_free, new.n_free) - 1, confidence)
    else:
        a, b = log_means(old, "baseline"), log_means(new, "candidate")
        centre = float(b.mean() - a.mean())
        parts = (sample_variance(a) * (1 + 1 / a.size), sample_variance(b) * (1 + 1 / b.size))
        degrees = satterthwaite(parts, (old.n_free, new.n_free))
        half = t_quantile(confidence, degrees) * math.sqrt(sum(parts))
        low, high, method = centre - half, centre + half, "prediction-t"
    return Interval(
        centre=exponential(centre),
        low=exponential(low),
        high=exponential(high),
        confidence=confidence,
        method=method,
        warnings=advice.few_binaries(min(old.n_top, new.n_top)),
    )


def _range(values: FloatArray, degrees: int, confidence: float) -> tuple[float, float, str]:
    """Bounds for the next of these values, and the method."""
    # In floating point 40 x 0.025 is a little less than 1.
    from_each_end = math.floor((values.size + 1) * (1 - confidence) / 2 + 1e-9)
    if from_each_end:
        ordered = np.sort(values)
        return float(ordered[from_each_end - 1]), float(ordered[-from_each_end]), "order-statistics"
    half = t_quantile(confidence, degrees) * math.sqrt(sample_variance(values) * (1 + 1 / values.size))
    low, high = float(values.mean()) - half, float(values.mean()) + half
    lowest, highest = float(values.min()), float(values.max())
    if low <= lowest and highest <= high:
        return low, high, "prediction-t"
    return min(low, lowest), max(high, highest), "prediction-t-or-seen"


def _need_two(count: int, what: str) -> None:
    if count < 2:
        raise AnalysisError(f"{what}: {plural(count)} cannot show how much binaries differ; measure 2, better 5")
