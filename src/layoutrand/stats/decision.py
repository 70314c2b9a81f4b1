"""Verdicts from the interval of a ratio and a threshold, and what would settle an open one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.checks import check_choice, check_confidence, check_count, check_fraction, check_positive
from layoutrand.stats.interval import Interval, sample_variance
from layoutrand.stats.levels import Measurements, Nested, nested
from layoutrand.stats.quantiles import t_quantile
from layoutrand.stats.ratio import check_pairs, log_means, satterthwaite
from layoutrand.stats.sample_size import (
    ASSURANCE,
    POWER,
    CountRange,
    binaries_for_half_width,
    binaries_to_decide,
    variance_limit,
)
from layoutrand.stats.stats_warning import StatsWarning

Verdict: TypeAlias = Literal["faster", "slower", "equivalent", "undecided"]


@dataclass(frozen=True, kw_only=True)
class PairSpread:
    """How much the ratio of one binary of each system varies.

    Attributes
    ----------
    sd
        Standard deviation of its logarithm.
    degrees
        Degrees of freedom of that estimate; 0 where a single binary gives none.
    n_binaries
        Binaries of the baseline and of the candidate behind it.
    """

    sd: float
    degrees: float
    n_binaries: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """How many binaries would decide a comparison.

    Attributes
    ----------
    n_binaries
        Binaries of each system in all that are enough for the share `assurance` of samples; None when no number within
        reach is.
    n_more
        Binaries of each system still to measure; None as above.
    fewest
        Binaries of each system in all if the standard deviation is what these data say; None as above.
    difference
        The true relative difference that they decide in the share `power` of experiments.
    is_measured
        Whether that is the difference measured, since without a threshold there is no smallest one that matters;
        otherwise it is twice the threshold, and they decide as well that systems are the same which truly are.
    power
        Share of experiments.
    assurance
        Share of samples like these data, for which the upper number is enough.
    warnings
        Why there is no number.
    """

    n_binaries: int | None
    n_more: int | None
    fewest: int | None
    difference: float
    is_measured: bool
    power: float
    assurance: float
    warnings: tuple[StatsWarning, ...]


def decide(interval: Interval, threshold: float = 0.0, *, better: Literal["less", "more"] = "less") -> Verdict:
    """Judge the candidate by the interval of its ratio to the baseline.

    Parameters
    ----------
    interval
        Interval of the ratio candidate / baseline.
    threshold
        Smallest relative difference that matters, a fraction such as 0.01.
    better
        ``"less"`` for a quantity of which less is better, such as a duration; ``"more"`` for one such as a throughput.

    Returns
    -------
    str
        ``"faster"`` when the interval lies wholly below ``1 - threshold``, ``"slower"`` when wholly above
        ``1 + threshold`` (the other way round where more is better), ``"equivalent"`` when wholly within the two
        (bounds included), else ``"undecided"``.

    Raises
    ------
    AnalysisError
        A threshold outside [0, 1); a `better` that is neither.

    Notes
    -----
    The rule of TR 4-12, section 8.3, with the verdict "equivalent" added.
    """
    check_fraction(threshold, name="threshold")
    check_choice(better, ("less", "more"), name="better")
    if interval.high < 1 - threshold:
        return "faster" if better == "less" else "slower"
    if interval.low > 1 + threshold:
        return "slower" if better == "less" else "faster"
    if interval.low >= 1 - threshold and interval.high <= 1 + threshold:
        return "equivalent"
    return "undecided"


def usual_difference(threshold: float) -> float:
    """The true difference that a comparison should find unless asked otherwise: twice the threshold, a fraction.

    Beyond a threshold of 50 % twice as much is no fraction; then it is half way to the largest one.
    """
    return min(2 * threshold, (1 + threshold) / 2)


def pair_spread(baseline: Measurements, candidate: Measurements, *, is_paired: bool = False) -> PairSpread:
    """How much the ratio of one binary of each system varies.

    Parameters
    ----------
    baseline, candidate
        Measurements of the two systems, axes highest level first.
    is_paired
        Whether the systems' binaries are pairs, in the same order: of one seed, or of one round.

    Returns
    -------
    PairSpread
        Unpaired, the root of the sum of the squared relative standard deviations, with Satterthwaite's degrees of
        freedom; paired, the standard deviation of the log ratios of pairs.

    Raises
    ------
    AnalysisError
        Malformed data, a mean of 0; where they are paired, different numbers of binaries or means not above 0.
    """
    old, new = nested(baseline, name="baseline"), nested(candidate, name="candidate")
    counts = (old.n_top, new.n_top)
    if is_paired:
        check_pairs(old, new)
    if min(counts) < 2:
        return PairSpread(sd=0.0, degrees=0.0, n_binaries=counts)
    if is_paired:
        variance = sample_variance(log_means(new, "candidate") - log_means(old, "baseline"))
        degrees = float(min(old.n_free, new.n_free) - 1)
    else:
        variances = (_relative_variance(old, "baseline"), _relative_variance(new, "candidate"))
        variance, degrees = sum(variances), satterthwaite(variances, (old.n_free, new.n_free))
    return PairSpread(sd=math.sqrt(variance), degrees=degrees, n_binaries=counts)


def forecast(
    interval: Interval,
    spread: PairSpread,
    *,
    n_binaries: int,
    threshold: float = 0.0,
    power: float = POWER,
    assurance: float = ASSURANCE,
) -> Forecast:
    """Forecast how many binaries would decide a comparison.

    Parameters
    ----------
    interval
        Interval of the ratio, as for `decide`.
    spread
        How much the ratio varies from binary to binary, from `pair_spread`.
    n_binaries
        Binaries of each system so far; of the smaller sample if they differ.
    threshold
        Smallest relative difference that matters.
    power, assurance
        Shares of experiments, and of samples like this one, for which the upper number is to be enough.

    Returns
    -------
    Forecast
        With a threshold, as many as decide both that systems which are the same are equivalent, and that systems which
        differ by twice the threshold differ.  No number decides about a ratio on the threshold itself.  Without a
        threshold, as many as show a true difference of the size measured.

    Raises
    ------
    AnalysisError
        `n_binaries` below 1, a threshold outside [0, 1), shares outside (0, 1).
    """
    check_count(n_binaries, name="n_binaries")
    check_fraction(threshold, name="threshold")
    check_confidence(interval.confidence)
    difference = usual_difference(threshold) if threshold else _size(interval.centre)
    if spread.degrees <= 0 or not math.isfinite(interval.high - interval.low):
        return _unknown(advice.NoForecast(n_binaries), difference, not threshold)
    if difference == 0:
        return _unknown(advice.NoDifference(), difference, not threshold)
    upper = math.sqrt(variance_limit([spread.sd**2], [spread.degrees], confidence=assurance))
    ranges = [
        binaries_to_decide(
            spread.sd,
            upper,
            threshold=threshold,
            difference=true,
            confidence=interval.confidence,
            power=power,
        )
        for true in ((0.0, difference) if threshold else (difference,))
    ]
    enough = _largest([each.high for each in ranges])
    return Forecast(
        n_binaries=enough,
        n_more=None if enough is None else max(0, enough - n_binaries),
        fewest=_largest([each.low for each in ranges]),
        difference=difference,
        is_measured=not threshold,
        power=power,
        assurance=assurance,
        warnings=(),
    )


def binaries_to_reach(
    interval: Interval,
    half_width: float = 0.01,
    *,
    n_binaries: int,
    power: float = POWER,
    assurance: float = ASSURANCE,
) -> CountRange | None:
    """Forecast how many binaries would make an interval as narrow as wanted.

    Parameters
    ----------
    interval
        Student's interval of the mean of one system.
    half_width
        Relative half-width wanted, a fraction such as 0.01.
    n_binaries
        Binaries behind the interval.
    power, assurance
        Shares of experiments, and of samples like this one, for which the upper number is to be enough.

    Returns
    -------
    CountRange or None
        Binaries in all; those at hand where they are enough.  None where an interval without bounds, or around 0,
        allows no forecast.

    Raises
    ------
    AnalysisError
        `n_binaries` below 1, a half-width not above 0, or shares outside (0, 1).
    """
    check_count(n_binaries, name="n_binaries")
    check_positive(half_width, name="half_width")
    if n_binaries < 2 or not math.isfinite(interval.half_width) or interval.centre == 0:
        return None
    relative = interval.relative_half_width
    if relative <= half_width:
        return CountRange(low=n_binaries, high=n_binaries, power=power)
    sd = relative * math.sqrt(n_binaries) / t_quantile(interval.confidence, n_binaries - 1)
    upper = sd * math.sqrt(variance_limit([1.0], [n_binaries - 1], confidence=assurance))
    found = binaries_for_half_width(sd, upper, half_width=half_width, confidence=interval.confidence, power=power)
    low, high = (None if count is None else max(count, n_binaries + 1) for count in (found.low, found.high))
    return replace(found, low=low, high=high)


def _relative_variance(sample: Nested, name: str) -> float:
    scaled, _ = sample.scaled()
    if scaled.mean == 0:
        raise AnalysisError(f"{name}: the mean is 0, so a relative spread has no meaning; shift the measurements")
    return sample_variance(scaled.top_means) / scaled.mean**2


def _size(ratio: float) -> float:
    """Of a difference, as a fraction below 1: a ratio of 2 and one of 0.5 are as easily found."""
    if ratio <= 0:
        return 0.0
    return 1 - min(ratio, 1 / ratio)


def _largest(counts: list[int | None]) -> int | None:
    return None if None in counts else max(count for count in counts if count is not None)


def _unknown(warning: StatsWarning, difference: float, is_measured: bool, /) -> Forecast:
    return Forecast(
        n_binaries=None,
        n_more=None,
        fewest=None,
        difference=difference,
        is_measured=is_measured,
        power=POWER,
        assurance=ASSURANCE,
        warnings=(warning,),
    )
