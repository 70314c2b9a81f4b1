"""p-values that belong to the interval of a ratio, for adjustment where many benchmarks are judged at once."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.checks import check_choice, check_fraction, check_positive
from layoutrand.stats.interval import sample_variance
from layoutrand.stats.levels import FloatArray, Measurements, nested
from layoutrand.stats.quantiles import t_tail
from layoutrand.stats.randomization import TestResult
from layoutrand.stats.ratio import FIELLER_METHODS, check_pairs, fieller_degrees, log_means
from layoutrand.warning import plural

TESTED_METHODS = (*FIELLER_METHODS, "paired-log-t")


def ratio_test(
    baseline: Measurements, candidate: Measurements, *, ratio: float = 1.0, method: str = "fieller"
) -> TestResult:
    """Test whether the ratio candidate / baseline of the means is a given one.

    Parameters
    ----------
    baseline, candidate
        Measurements of the two systems in the same unit, axes highest level first; at least 2 binaries each.
    ratio
        The ratio of the hypothesis; 1 for "no difference".
    method
        ``"fieller"`` (default), ``"fieller-welch"``, ``"fieller-normal"`` or ``"paired-log-t"``, as in
        `ratio_interval`; the last needs equally many binaries, in the same order of seeds, and means above 0.

    Returns
    -------
    TestResult
        Two-sided; the statistic is t.

    Raises
    ------
    AnalysisError
        A single binary, malformed data, a ratio not above 0, or what paired-log-t cannot take.

    Notes
    -----
    ``t = (Y' - ratio Y) / sqrt(ratio^2 S^2 / r + S'^2 / r')`` with the degrees of freedom of the interval (Fieller,
    JRSS B 16, 1954); paired-log-t: Student's t of the per-seed logarithms of ratios.  p is below 1 - confidence exactly
    when the ratio lies outside the interval of that confidence, as long as that interval is bounded.
    """
    check_choice(method, TESTED_METHODS, name="method")
    check_positive(ratio, name="ratio")
    if method == "paired-log-t":
        logs, free = _log_ratios(baseline, candidate, "ratio_test")
        statistic = _student(logs, math.log(ratio))
        return _result(statistic, _two_sided(statistic, free - 1), f"ratio {ratio:g}, {method}", logs, logs)
    old, new, lost = _means(baseline, candidate, "ratio_test")
    statistic = _statistic(old, new, ratio)
    p_value = _two_sided(statistic, fieller_degrees(old, new, method=method, lost=lost))
    return _result(statistic, p_value, f"ratio {ratio:g}, {method}", old, new)


def decision_test(
    baseline: Measurements, candidate: Measurements, *, threshold: float = 0.0, method: str = "fieller"
) -> TestResult:
    """How sure a verdict is: the smallest level at which the interval of the ratio still decides.

    Parameters
    ----------
    baseline, candidate
        Measurements of the two systems in the same unit, axes highest level first; at least 2 binaries each.
    threshold
        Smallest relative difference that matters, a fraction such as 0.01, as for `decide`.
    method
        As in `ratio_test`.

    Returns
    -------
    TestResult
        p is the level: the interval of confidence ``1 - a`` gives a verdict other than ``"undecided"`` for every
        ``a > p`` and for none below.  The statistic is t of the edge of the threshold that is hardest to exclude.

    Raises
    ------
    AnalysisError
        A single binary, malformed data, a baseline mean of 0, or a threshold outside [0, 1).

    Notes
    -----
    `decide` gives the verdict of the region (faster, equivalent, slower) that holds the whole interval.  So p is the
    largest two-sided p-value of the region's edges, ``1 - threshold`` and ``1 + threshold``, by `ratio_test`, and of
    the baseline's mean being 0, without which Fieller's interval has no bounds.  A wrong verdict at level ``a`` needs
    an interval that misses the true ratio, so its chance is at most ``a``: p may be adjusted like that of a test.

    For many benchmarks `adjust` with ``"holm"`` (Holm, Scandinavian Journal of Statistics 6, 1979) does with these p
    what widening the intervals step by step would do: the surest verdict must survive the confidence ``1 - a / k``,
    the next ``1 - a / (k - 1)``, and so on.  That bounds the chance of any wrong verdict, wrong direction included, for
    benchmarks measured independently (Shaffer, Annals of Statistics 8, 1980).  It gives no single set of intervals:
    those that hold for all k at once are of confidence ``1 - a / k``, and decide less.
    """
    check_choice(method, TESTED_METHODS, name="method")
    check_fraction(threshold, name="threshold")
    if method == "paired-log-t":
        return _paired_decision(baseline, candidate, threshold)
    old, new, lost = _means(baseline, candidate, "decision_test")
    if not old.mean():
        raise AnalysisError("baseline: its mean is 0, so a ratio to it is undefined; compare differences instead")
    centre = float(new.mean()) / float(old.mean())
    name = f"decision at threshold {threshold:g}, {method}"
    if sample_variance(old) == 0 and sample_variance(new) == 0:
        return _result(math.inf, _without_spread(centre, threshold), name, old, new)
    statistics = [_statistic(old, new, edge) for edge in _edges(centre, threshold)]
    statistics.append(_statistic(new, old, 0.0))
    weakest = min(statistics, key=abs)
    degrees = fieller_degrees(old, new, method=method, lost=lost)
    return _result(weakest, _two_sided(weakest, degrees), name, old, new)


def _paired_decision(baseline: Measurements, candidate: Measurements, threshold: float) -> TestResult:
    """`decision_test` by paired-log-t, whose interval always has bounds."""
    logs, free = _log_ratios(baseline, candidate, "decision_test")
    centre = math.exp(float(logs.mean()))
    name = f"decision at threshold {threshold:g}, paired-log-t"
    if sample_variance(logs) == 0:
        return _result(math.inf, _without_spread(centre, threshold), name, logs, logs)
    weakest = min((_student(logs, math.log(edge)) for edge in _edges(centre, threshold)), key=abs)
    return _result(weakest, _two_sided(weakest, free - 1), name, logs, logs)


def _edges(centre: float, threshold: float) -> list[float]:
    """Of the region (faster, equivalent, slower) that the ratio lies in."""
    if 1 - threshold <= centre <= 1 + threshold:
        return [1 - threshold, 1 + threshold]
    return [1 - threshold] if centre < 1 - threshold else [1 + threshold]


def _without_spread(centre: float, threshold: float) -> float:
    """The p-value of a decision between systems that do not vary: sure, but on the edge of nothing."""
    return 1.0 if threshold == 0 and centre == 1 else 0.0


def _log_ratios(baseline: Measurements, candidate: Measurements, what: str) -> tuple[FloatArray, int]:
    """Seed by seed, and the number of seeds that would have as many degrees of freedom."""
    old, new = nested(baseline, name="baseline"), nested(candidate, name="candidate")
    check_pairs(old, new)
    if old.n_top < 2:
        raise AnalysisError(f"{what}: {plural(old.n_top)} of each; at least 2 are needed, better 5")
    return log_means(new, "candidate") - log_means(old, "baseline"), min(old.n_free, new.n_free)


def _student(logs: FloatArray, hypothesis: float) -> float:
    difference = float(logs.mean()) - hypothesis
    error = math.sqrt(sample_variance(logs) / logs.size)
    if error == 0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / error


def _means(
    baseline: Measurements, candidate: Measurements, what: str
) -> tuple[FloatArray, FloatArray, tuple[int, int]]:
    """The binaries' means of both, over the same power of 2, and the degrees of freedom that these lack."""
    old, new = nested(baseline, name="baseline"), nested(candidate, name="candidate")
    for sample, name in ((old, "baseline"), (new, "candidate")):
        if sample.n_top < 2:
            raise AnalysisError(f"{what}: the {name} has {plural(sample.n_top)}; at least 2 are needed, better 5")
    scaled, exponent = old.scaled()
    likewise = np.ldexp(new.values, -exponent)
    if not np.isfinite(likewise).all():
        raise AnalysisError(f"{what}: the systems are too far apart for floating point; give both in the same unit")
    return scaled.top_means, replace(new, values=likewise).top_means, (old.lost, new.lost)


def _statistic(old: FloatArray, new: FloatArray, ratio: float) -> float:
    difference = float(new.mean()) - ratio * float(old.mean())
    error = math.hypot(ratio * math.sqrt(sample_variance(old) / old.size), math.sqrt(sample_variance(new) / new.size))
    if error == 0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / error


def _two_sided(statistic: float, degrees: float) -> float:
    return 0.0 if math.isinf(statistic) else min(1.0, 2 * t_tail(abs(statistic), degrees))


def _result(statistic: float, p_value: float, method: str, old: FloatArray, new: FloatArray) -> TestResult:
    return TestResult(
        statistic=statistic,
        p_value=p_value,
        alternative="two-sided",
        method=method,
        n_resamples=0,
        warnings=advice.few_binaries(min(old.size, new.size)),
    )
