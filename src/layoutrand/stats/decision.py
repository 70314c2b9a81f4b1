"""Verdicts from the interval of a ratio and a threshold, and what would settle an open one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from layoutrand.stats import advice
from layoutrand.stats.checks import check_count, check_fraction, check_positive
from layoutrand.stats.interval import Interval
from layoutrand.stats.quantiles import first_count, t_quantile
from layoutrand.stats.stats_warning import StatsWarning

Verdict: TypeAlias = Literal["faster", "slower", "equivalent", "undecided"]

MOST_BINARIES = 100_000
"""A comparison that needs more binaries than this counts as out of reach."""


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """How many binaries would decide a comparison.

    Attributes
    ----------
    verdict
        What they would decide if the ratio stayed where it is; ``"undecided"`` when no number would.
    n_binaries
        Binaries of each system in all; None when no number within reach would decide it.
    n_more
        Binaries of each system still to measure; 0 when it is decided already, None as above.
    warnings
        Why there is no number.
    """

    verdict: Verdict
    n_binaries: int | None
    n_more: int | None
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
        A threshold outside [0, 1).

    Notes
    -----
    The rule of TR 4-12, section 8.3, with the verdict "equivalent" added.
    """
    check_fraction(threshold, name="threshold")
    if interval.high < 1 - threshold:
        return "faster" if better == "less" else "slower"
    if interval.low > 1 + threshold:
        return "slower" if better == "less" else "faster"
    if interval.low >= 1 - threshold and interval.high <= 1 + threshold:
        return "equivalent"
    return "undecided"


def binaries_to_decide(interval: Interval, threshold: float = 0.0, *, n_binaries: int) -> Forecast:
    """Forecast how many binaries would decide a comparison.

    Parameters
    ----------
    interval
        Interval of the ratio, as for `decide`, of a quantity of which less is better.
    threshold
        Smallest relative difference that matters.
    n_binaries
        Binaries of each system behind the interval; of the smaller sample if they differ.

    Returns
    -------
    Forecast
        It assumes that ratio and variance stay as they are; the interval's sides shrink, on the logarithmic scale
        where possible, by ``t_{m-1} / sqrt(m)`` over ``t_{n-1} / sqrt(n)``.

    Raises
    ------
    AnalysisError
        `n_binaries` below 1 or a threshold outside [0, 1).
    """
    check_count(n_binaries, name="n_binaries")
    verdict = decide(interval, threshold)
    if verdict != "undecided":
        return Forecast(verdict=verdict, n_binaries=n_binaries, n_more=0, warnings=())
    if n_binaries < 2 or not math.isfinite(interval.high - interval.low):
        return _unknown(advice.NoForecast(n_binaries))
    needed = first_count(
        lambda m: decide(_shrunk(interval, n_binaries, m), threshold) != "undecided",
        start=n_binaries,
        limit=MOST_BINARIES,
    )
    if needed is None:
        edge = min((1 - threshold, 1 + threshold), key=lambda value: abs(value - interval.centre))
        return _unknown(advice.TooClose(interval.centre, edge, MOST_BINARIES))
    return Forecast(
        verdict=decide(_shrunk(interval, n_binaries, needed), threshold),
        n_binaries=needed,
        n_more=needed - n_binaries,
        warnings=(),
    )


def binaries_to_reach(interval: Interval, half_width: float = 0.01, *, n_binaries: int) -> int | None:
    """Forecast how many binaries would make an interval as narrow as wanted.

    Parameters
    ----------
    interval
        Interval of the mean of one system, or of a ratio.
    half_width
        Relative half-width wanted, a fraction such as 0.01.
    n_binaries
        Binaries behind the interval.

    Returns
    -------
    int or None
        Binaries in all, at least 2; those at hand where they are enough.  None where an interval without bounds, or
        around 0, allows no forecast, or where more than 100,000 would be needed.

    Raises
    ------
    AnalysisError
        `n_binaries` below 1, or a half-width not above 0.

    Notes
    -----
    It assumes that mean and variance stay as they are: the half-width shrinks by ``t_{m-1} / sqrt(m)`` over
    ``t_{n-1} / sqrt(n)`` (ISMM 2013, equation 4).  With few binaries the forecast is as rough as the variance.
    """
    check_count(n_binaries, name="n_binaries")
    check_positive(half_width, name="half_width")
    if n_binaries < 2 or not math.isfinite(interval.half_width) or interval.centre == 0:
        return None
    now = interval.relative_half_width * math.sqrt(n_binaries) / t_quantile(interval.confidence, n_binaries - 1)
    if interval.relative_half_width <= half_width:
        return n_binaries
    return first_count(
        lambda m: now * t_quantile(interval.confidence, m - 1) / math.sqrt(m) <= half_width,
        start=n_binaries,
        limit=MOST_BINARIES,
    )


def _unknown(warning: StatsWarning) -> Forecast:
    return Forecast(verdict="undecided", n_binaries=None, n_more=None, warnings=(warning,))


def _shrunk(interval: Interval, n_binaries: int, n_more: int) -> Interval:
    """The interval that `n_more` binaries in all would be expected to give."""
    factor = (t_quantile(interval.confidence, n_more - 1) / math.sqrt(n_more)) / (
        t_quantile(interval.confidence, n_binaries - 1) / math.sqrt(n_binaries)
    )
    centre = min(max(interval.centre, interval.low), interval.high)
    if interval.low <= 0:
        low, high = (centre + factor * (bound - centre) for bound in (interval.low, interval.high))
    else:
        low, high = (centre * (bound / centre) ** factor for bound in (interval.low, interval.high))
    return replace(interval, low=low, high=high)
