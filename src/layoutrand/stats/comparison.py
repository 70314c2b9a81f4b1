"""Tests to compare with: Welch's t, Mann-Whitney, Chen's HPT, and Student's t over benchmarks.

They answer "different or not" only; an interval of the ratio says by how much, and is what to report.  All take
binaries' means as their observations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.benchmark_suite import pair_suites
from layoutrand.stats.checks import check_choice, check_fraction
from layoutrand.stats.interval import sample_variance
from layoutrand.stats.levels import FloatArray, Measurements, nested
from layoutrand.stats.quantiles import normal_tail, t_tail
from layoutrand.stats.randomization import ALTERNATIVES, TestResult
from layoutrand.stats.ranks import average_ranks, rank_sum_cdf, signed_rank_cdf
from layoutrand.stats.ratio import log_means, satterthwaite
from layoutrand.stats.stats_warning import StatsWarning
from layoutrand.warning import plural

_MOST_EXACT = 40
"""Rank tests use the exact null distribution up to this many observations on each side, if there are no ties."""


def welch_test(
    baseline: Measurements, candidate: Measurements, *, alternative: str = "two-sided", scale: str = "log"
) -> TestResult:
    """Welch's t test on the binaries' means.

    Parameters
    ----------
    baseline, candidate
        Measurements, axes highest level first; at least 2 binaries each.
    alternative
        ``"greater"``: the candidate's mean is larger; ``"less"``; ``"two-sided"``.
    scale
        ``"log"`` (default; means above 0) tests the ratio, ``"linear"`` the difference.

    Returns
    -------
    TestResult
        The statistic is t, candidate minus baseline.

    Raises
    ------
    AnalysisError
        Malformed data, a single binary, or means not above 0 on the logarithmic scale.

    Notes
    -----
    ``t = (m' - m) / sqrt(s'^2 / r' + s^2 / r)`` with Welch and Satterthwaite's degrees of freedom.  Two systems
    without any variation give p = 1 if they are equal and p = 0 if not, with a warning.
    """
    check_choice(alternative, ALTERNATIVES, name="alternative")
    check_choice(scale, ("log", "linear"), name="scale")
    samples = nested(baseline, name="baseline"), nested(candidate, name="candidate")
    if scale == "log":
        old, new = log_means(samples[0], "baseline"), log_means(samples[1], "candidate")
    else:
        exponent = max(sample.scaled()[1] for sample in samples)
        old, new = (np.ldexp(sample.top_means, -exponent) for sample in samples)
    _need_two(old, new, "welch_test")
    parts = (sample_variance(old) / old.size, sample_variance(new) / new.size)
    difference = float(new.mean() - old.mean()) if sum(parts) > 0 else float(new[0] - old[0])
    warnings = advice.few_binaries(min(old.size, new.size))
    if sum(parts) > 0:
        statistic = difference / math.sqrt(sum(parts))
    else:
        statistic = math.copysign(math.inf, difference) if difference else 0.0
        warnings += (advice.NoVariation(),)
    p_value = _p_value(statistic, satterthwaite(parts, (old.size, new.size)), alternative)
    return _result(statistic, p_value, alternative, f"Welch's t, {scale} scale", warnings)


def mann_whitney_test(baseline: Measurements, candidate: Measurements, *, alternative: str = "two-sided") -> TestResult:
    """Mann-Whitney (Wilcoxon rank-sum) test on the binaries' means.

    Parameters
    ----------
    baseline, candidate
        Measurements, axes highest level first.
    alternative
        ``"greater"``: the candidate tends to larger values; ``"less"``; ``"two-sided"``.

    Returns
    -------
    TestResult
        The statistic is U: pairs in which the candidate's mean is the larger, ties counted half.

    Raises
    ------
    AnalysisError
        Malformed data, or a single binary.

    Notes
    -----
    Exact null distribution without ties up to 40 binaries a side, else normal with corrections for ties and
    continuity.  Two-sided p is twice the smaller one-sided, at most 1.
    """
    check_choice(alternative, ALTERNATIVES, name="alternative")
    old, new = nested(baseline, name="baseline").top_means, nested(candidate, name="candidate").top_means
    _need_two(old, new, "mann_whitney_test")
    statistic, p_value, how = rank_sum(old, new, alternative)
    smallest = (2 if alternative == "two-sided" else 1) / math.comb(old.size + new.size, new.size)
    needed = 4 if alternative == "two-sided" else 3
    warnings = advice.coarse_p_value(smallest, needed, "binaries")
    return _result(statistic, p_value, alternative, f"Mann-Whitney, {how}", warnings)


def rank_sum(old: FloatArray, new: FloatArray, alternative: str) -> tuple[float, float, str]:
    """U of the candidate, its p-value, and how that was found."""
    pooled = np.concatenate([old, new])
    ranks = average_ranks(pooled)
    n, m = old.size, new.size
    u = float(ranks[n:].sum()) - m * (m + 1) / 2
    _, ties = np.unique(pooled, return_counts=True)
    if max(n, m) <= _MOST_EXACT and ties.max() == 1:
        cdf = rank_sum_cdf(n, m)
        sides = {"less": float(cdf[round(u)]), "greater": float(cdf[n * m - round(u)])}
        how = "exact"
    else:
        total = n + m
        variance = n * m / 12 * (total + 1 - float((ties**3 - ties).sum()) / (total * (total - 1)))
        if variance <= 0:
            return u, 1.0, "all values equal"
        above, below = u - n * m / 2 - 0.5, u - n * m / 2 + 0.5
        sides = {"greater": normal_tail(above / math.sqrt(variance)), "less": normal_tail(-below / math.sqrt(variance))}
        how = "normal approximation"
    sides["two-sided"] = min(1.0, 2 * min(sides.values()))
    return u, sides[alternative], how


def hpt_test(
    baselines: Mapping[str, Measurements],
    candidates: Mapping[str, Measurements],
    *,
    alternative: str = "two-sided",
    significance: float = 0.05,
) -> TestResult:
    """Hierarchical performance testing of Chen et al.: rank-sum per benchmark, then signed-rank over benchmarks.

    Parameters
    ----------
    baselines, candidates
        Benchmark name to measurements above 0, axes highest level first; at least 2 binaries each.
    alternative
        ``"greater"``: the candidate's scores are larger; ``"less"``; ``"two-sided"``.
    significance
        Level of the rank-sum tests of the first step.

    Returns
    -------
    TestResult
        The statistic is R+, the sum of ranks in favour of larger scores of the candidate.

    Raises
    ------
    AnalysisError
        No benchmark in common, malformed data, or means not above 0.

    Notes
    -----
    Step 1: for each benchmark a two-sided rank-sum test; where it finds nothing, the difference counts as 0, else it
    is the logarithm of the ratio of medians (so that benchmarks of different length can be ranked together).
    Step 2: the signed-rank test of the differences, with the ranks of zeros split evenly between the sides, and the
    null distribution for as many benchmarks without ties.  Chen et al., HPCA-18, 2012; a comparator in Li, Chen and
    Peng, section VI.
    """
    check_choice(alternative, ALTERNATIVES, name="alternative")
    check_fraction(significance, name="significance")
    pair = pair_suites(baselines, candidates)
    differences = []
    for name, baseline, candidate in zip(pair.names, pair.baselines, pair.candidates, strict=True):
        old, new = log_means(baseline, f"baseline, {name}"), log_means(candidate, f"candidate, {name}")
        _need_two(old, new, f"hpt_test, {name}")
        is_different = rank_sum(old, new, "two-sided")[1] <= significance
        differences.append(float(np.median(new) - np.median(old)) if is_different else 0.0)
    statistic, p_value = _signed_rank(np.array(differences), alternative)
    return _result(
        statistic, p_value, alternative, "HPT", pair.warnings + _few_benchmarks(len(differences), alternative)
    )


def suite_t_test(
    baselines: Mapping[str, Measurements], candidates: Mapping[str, Measurements], *, alternative: str = "two-sided"
) -> TestResult:
    """Student's t over benchmarks: the t test that Li, Chen and Peng compare with.

    Parameters
    ----------
    baselines, candidates
        Benchmark name to measurements above 0, axes highest level first.
    alternative
        ``"greater"``: the candidate's means are larger; ``"less"``; ``"two-sided"``.

    Returns
    -------
    TestResult
        The statistic is t.

    Raises
    ------
    AnalysisError
        No benchmark in common, malformed data, means not above 0, or a single benchmark.

    Notes
    -----
    One observation per benchmark, the logarithm of the ratio of its means; the measurements' own spread is not
    used.  So t asks whether benchmarks in general differ, and cannot see a difference in few of them: when L of k
    benchmarks differ by the same ratio, ``t = sqrt(L (k - 1) / (k - L))`` whatever the ratio.
    """
    check_choice(alternative, ALTERNATIVES, name="alternative")
    pair = pair_suites(baselines, candidates)
    if len(pair.names) < 2:
        raise AnalysisError("suite_t_test: 1 benchmark has no spread over benchmarks; use welch_test on its binaries")
    ratios = np.array(
        [
            math.log(_positive_mean(new.mean, name)) - math.log(_positive_mean(old.mean, name))
            for name, old, new in zip(pair.names, pair.baselines, pair.candidates, strict=True)
        ]
    )
    variance = sample_variance(ratios)
    warnings = pair.warnings
    if variance > 0:
        statistic = float(ratios.mean()) / math.sqrt(variance / ratios.size)
    else:
        statistic = math.copysign(math.inf, ratios[0]) if ratios[0] else 0.0
        warnings += (advice.EqualRatios(),)
    p_value = _p_value(statistic, ratios.size - 1, alternative)
    return _result(statistic, p_value, alternative, "Student's t over benchmarks", warnings)


def _signed_rank(differences: FloatArray, alternative: str) -> tuple[float, float]:
    ranks = average_ranks(np.abs(differences))
    plus = float(ranks[differences > 0].sum() + ranks[differences == 0].sum() / 2)
    cdf = signed_rank_cdf(differences.size)
    largest = cdf.size - 1
    sides = {"less": float(cdf[math.floor(plus)]), "greater": float(cdf[math.floor(largest - plus)])}
    sides["two-sided"] = min(1.0, 2 * min(sides.values()))
    return plus, sides[alternative]


def _few_benchmarks(count: int, alternative: str) -> tuple[StatsWarning, ...]:
    sides, needed = (2, 6) if alternative == "two-sided" else (1, 5)
    return advice.coarse_p_value(sides / 2**count, needed, "benchmarks")


def _positive_mean(mean: float, name: str) -> float:
    if mean <= 0:
        raise AnalysisError(f"{name}: its mean is not above 0, but logarithms are taken; leave it out")
    return mean


def _need_two(old: FloatArray, new: FloatArray, what: str) -> None:
    if min(old.size, new.size) < 2:
        raise AnalysisError(
            f"{what}: {plural(old.size)} of the baseline and {new.size} of the candidate; "
            "at least 2 of each are needed, better 5"
        )


def _p_value(statistic: float, degrees: float, alternative: str) -> float:
    if alternative == "two-sided":
        return min(1.0, 2 * t_tail(abs(statistic), degrees))
    return t_tail(statistic if alternative == "greater" else -statistic, degrees)


def _result(
    statistic: float, p_value: float, alternative: str, method: str, warnings: tuple[StatsWarning, ...]
) -> TestResult:
    return TestResult(
        statistic=statistic, p_value=p_value, alternative=alternative, method=method, n_resamples=0, warnings=warnings
    )
