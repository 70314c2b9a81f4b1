"""What randomising the layout does to one system, and what a single binary would have reported.

Two questions are asked of every benchmark (ISMM 2013, section 8 and figure 2): how much do layouts vary beyond
the noise of executions, and by how much does the mean over layouts differ from the default layout's?
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import check_confidence
from layoutrand.stats.distribution import FiveNumberSummary, summarise
from layoutrand.stats.interval import Interval, sample_variance
from layoutrand.stats.levels import Measurements, Nested, nested
from layoutrand.stats.quantiles import chi2_quantile, f_quantile, f_tail
from layoutrand.stats.ratio import log_means, ratio_interval
from layoutrand.stats.stats_warning import BASELINE, StatsWarning
from layoutrand.warning import plural

_LARGEST_LOG: Final = math.log(np.finfo(float).max)
"""Of a ratio: what is beyond counts as the largest number that there is."""


@dataclass(frozen=True, kw_only=True)
class LayoutEffect:
    """Randomised layouts beside the default layout.

    Attributes
    ----------
    shift
        Interval of mean over layouts / mean of the default layout; above 1 the default layout is faster than most.
    default_sd
        Relative standard deviation of the executions of the default layout's binary.
    randomised_sd
        Relative standard deviation of the means of the randomised binaries.
    layout_variance
        Variance that the layouts add, relative to the squared mean; may be negative.
    layout_sd_interval
        Interval of the standard deviation that the layouts add, relative to the mean; the centre is `layout_sd`.
    correlation
        Share of the variance of a single execution that is due to the layout (intraclass correlation), within [0, 1].
    p_value
        Of the hypothesis that layouts add no variance.
    warnings
        What limits the answers, and the count that would cure it.
    """

    shift: Interval
    default_sd: float
    randomised_sd: float
    layout_variance: float
    layout_sd_interval: Interval
    correlation: Interval
    p_value: float
    warnings: tuple[StatsWarning, ...]

    @property
    def layout_sd(self) -> float:
        """Relative standard deviation that the layouts add; 0 when the variance is negative."""
        return math.sqrt(max(self.layout_variance, 0.0))


def layout_effect(default: Measurements, randomised: Measurements, *, confidence: float = 0.95) -> LayoutEffect:
    """Compare randomised layouts with the default layout of the same system.

    Parameters
    ----------
    default
        Measurements of the one binary with the default layout, axes ``(execution, iteration)``, or as many axes as
        `randomised` with a first axis of length 1; at least 2 executions.
    randomised
        Measurements of the binaries with randomised layouts, axes ``(binary, execution, iteration)``, with as many
        iterations per execution as `default`.
    confidence
        Nominal confidence of the shift.

    Raises
    ------
    AnalysisError
        Fewer than 2 executions or binaries, or a mean of 0.

    Notes
    -----
    The shift is a fieller-welch interval.  With e executions per randomised binary, relative variances V of the
    binaries' means and v of the default binary's executions, the layouts add ``V - v / e``, and
    ``F = V / (v / e)`` with (binaries - 1, executions - 1) degrees of freedom tests whether they add any (normal
    data).  Noise with long tails gives it false alarms, 18 to 30 % instead of 5 % with 30 binaries, and drift of the
    machine takes its power away; `rounds_spread_test` and `spread_test` bear both.  It takes the default binary's
    executions to be as noisy as the others'.  The correlation is
    ``(F - 1) / (F - 1 + e)``, and its bounds the same of F over its quantiles (Searle, Casella and McCulloch,
    Variance Components, 1992, section 3.6, with the noise estimated from the default binary).  The interval of the
    layouts' standard deviation is Williams's, ``d V (1 - F_q / F) / chi2_q`` with d = binaries - 1 (Biometrika 49,
    1962), cut at 0; its confidence is at least nominal.
    """
    check_confidence(confidence)
    layouts = nested(randomised, name="randomised")
    stock = nested(default, name="default")
    if stock.n_levels == layouts.n_levels > 1 and stock.n_top == 1:
        stock = Nested(values=stock.values, counts=stock.counts[:-1], lost=stock.lost)
    if stock.n_top < 2 or layouts.n_top < 2:
        raise AnalysisError(
            f"layout effect: {plural(stock.n_top, 'execution')} of the default layout and "
            f"{plural(layouts.n_top)} with randomised layouts; at least 2 of each are needed, better 5"
        )
    shift = ratio_interval(stock, layouts, confidence=confidence, method="fieller-welch")
    executions = float(layouts.counts[-2].mean()) if stock.n_levels < layouts.n_levels else 1.0
    scaled, _ = layouts.scaled()
    scaled_stock, _ = stock.scaled()
    if scaled.mean == 0 or scaled_stock.mean == 0:
        raise AnalysisError("layout effect: a mean is 0, so a relative spread has no meaning; shift the measurements")
    variance = sample_variance(scaled.top_means) / scaled.mean**2
    noise = sample_variance(scaled_stock.top_means) / scaled_stock.mean**2
    statistic = variance * executions / noise if noise > 0 else (math.inf if variance > 0 else 0.0)
    return LayoutEffect(
        shift=shift,
        default_sd=math.sqrt(noise),
        randomised_sd=math.sqrt(variance),
        layout_variance=variance - noise / executions,
        layout_sd_interval=_layout_sd(
            variance, noise / executions, (layouts.n_free, stock.n_free), confidence, shift.warnings
        ),
        correlation=_correlation(statistic, executions, (layouts.n_free, stock.n_free), confidence, shift.warnings),
        p_value=1.0 if variance == 0 else f_tail(statistic, layouts.n_free - 1, stock.n_free - 1),
        warnings=tuple(map(_of_default_layout, shift.warnings)),
    )


def _of_default_layout(warning: StatsWarning) -> StatsWarning:
    """The same where it is about the baseline, which is executions of one layout here."""
    if warning.of != (BASELINE,):
        return warning
    return replace(warning, of=(replace(BASELINE, is_default=True),), counted="execution")


def _layout_sd(
    variance: float, noise: float, counts: tuple[int, int], confidence: float, warnings: tuple[StatsWarning, ...]
) -> Interval:
    degrees = (counts[0] - 1, counts[1] - 1)
    low, high = (
        degrees[0] * (variance - noise * f_quantile(tail, *degrees)) / chi2_quantile(tail, degrees[0])
        for tail in ((1 + confidence) / 2, (1 - confidence) / 2)
    )
    centre, low, high = (math.sqrt(max(value, 0.0)) for value in (variance - noise, low, high))
    return Interval(centre=centre, low=low, high=high, confidence=confidence, method="f", warnings=warnings)


def _correlation(
    statistic: float, executions: float, counts: tuple[int, int], confidence: float, warnings: tuple[StatsWarning, ...]
) -> Interval:
    tails = ((1 + confidence) / 2, (1 - confidence) / 2)
    points = [1.0, *(f_quantile(tail, counts[0] - 1, counts[1] - 1) for tail in tails)]
    excess = [max(statistic / point - 1, 0.0) for point in points]
    centre, low, high = (1.0 if math.isinf(value) else value / (value + executions) for value in excess)
    return Interval(centre=centre, low=low, high=high, confidence=confidence, method="f", warnings=warnings)


def single_binary_ratios(baseline: Measurements, candidate: Measurements) -> FiveNumberSummary:
    """Ratios that comparisons of a single binary of each system would have reported.

    Parameters
    ----------
    baseline, candidate
        Measurements of the two systems, means above 0, axes highest level first.

    Returns
    -------
    FiveNumberSummary
        Of candidate / baseline over all pairs of one binary of each: the spread that one lucky or unlucky layout
        can feign.
    """
    old = log_means(nested(baseline, name="baseline"), "baseline")
    new = log_means(nested(candidate, name="candidate"), "candidate")
    return summarise(np.exp(np.minimum(new[:, None] - old[None, :], _LARGEST_LOG)).ravel())
