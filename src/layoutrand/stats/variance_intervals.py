"""How sure a variance is: intervals for components, the intraclass correlation, and a test of no variance.

The methods of the F distribution need normal data, and are exact where these are balanced; the kurtosis of the binaries
makes room for others; the bootstrap and the permutation test need neither.  All of them are wide: a variance takes many
more binaries than a mean.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.bootstrap import check_resamples, percentile_bounds
from layoutrand.stats.checks import check_choice, check_confidence, check_count, check_seed
from layoutrand.stats.component_bounds import harmonic, tukey_williams, with_kurtosis
from layoutrand.stats.interval import Interval
from layoutrand.stats.levels import FloatArray, IntArray, Measurements, Nested, group_means, group_sums, nested
from layoutrand.stats.quantiles import f_quantile, f_tail
from layoutrand.stats.randomization import TestResult
from layoutrand.stats.stats_warning import StatsWarning
from layoutrand.stats.streams import IndexSampler, Stream
from layoutrand.stats.variance import biased_variance, components_of, expectation_coefficients

METHODS = ("bootstrap", "f")
COMPONENT_METHODS = (*METHODS, "kurtosis")


def component_intervals(
    data: Measurements,
    *,
    confidence: float = 0.95,
    method: str = "bootstrap",
    n_resamples: int = 10_000,
    seed: int = 0,
) -> tuple[Interval | None, ...]:
    """Intervals for the unbiased variance of every level.

    Parameters
    ----------
    data
        Measurements, axes highest level first; at least 2 binaries.
    confidence
        Nominal confidence of each interval.
    method
        ``"bootstrap"`` (default), ``"f"`` for normal data, or ``"kurtosis"`` where binaries may have another shape.
    n_resamples, seed
        Bootstrap only.

    Returns
    -------
    tuple
        Level 1 first, in squared units of the measurements; None for a level that was not repeated.  The centre is
        T_i^2 and may be negative; the bounds of ``"f"`` and ``"kurtosis"`` are cut at 0, because a variance is not.

    Raises
    ------
    AnalysisError
        A single binary.

    Notes
    -----
    bootstrap: percentiles when binaries are drawn with replacement and their insides kept (RNN).  Drawing inside
    them too would inflate the higher levels by the variance of the lower.  The variance of the drawn binaries'
    means is multiplied by r / (r - 1), as drawing with replacement shrinks it by the inverse.

    f: level 1 from the chi-square distribution of ``d S_1^2 / sigma_1^2``.  Level i > 1 from the Tukey-Williams
    interval, with d_i degrees of freedom and ``F = S_i^2 r_{i-1} / S_{i-1}^2``:
    ``d_i S_i^2 (1 - F_q / F) / chi2_q`` for the lower and upper quantiles q; its confidence is at least nominal
    (Williams, Biometrika 49, 1962; Wang, Biometrics 46, 1990).  Where an execution was lost the means of units count
    alike, and ``r_{i-1}`` is the harmonic mean of the counts (Thomas and Hultquist, Annals of Statistics 6, 1978):
    close to nominal from 3 binaries on, where percentiles of few binaries cover half as often as they should.

    kurtosis: as f, but the interval of the highest level is no narrower than Bonett's by the kurtosis of the binaries'
    means (Computational Statistics and Data Analysis 50, 2006), less the noise of executions.  Its upper bound has all
    of the error where the means pass for a normal sample, and as their skewness or kurtosis says otherwise less, down
    to ``6 / n`` of it, as a sample of a long tail shows too little of that.  Of 30 binaries of which one in ten is slow
    f holds the truth in .69, this in .92; of lognormal ones .79 and .93, of Student's t with 3 degrees .65 and .84.
    Where they are normal it is 1.09 times as wide (median; 1.16 by the mean).
    """
    check_confidence(confidence)
    check_choice(method, COMPONENT_METHODS, name="method")
    check_seed(seed)
    sample = _several_binaries(data, "component_intervals")
    components = components_of(sample)
    if method in {"f", "kurtosis"}:
        bounds = [tukey_williams(sample, level, confidence) for level in range(1, sample.n_levels + 1)]
        if method == "kurtosis":
            bounds[-1] = with_kurtosis(sample, bounds[-1], confidence)
        warnings = advice.few_binaries(sample.n_top)
    else:
        check_resamples(n_resamples, confidence)
        scaled, exponent = sample.scaled()
        replicates = np.ldexp(_replicate_components(scaled, n_resamples, seed), 2 * exponent)
        limits = [percentile_bounds(row, confidence) for row in replicates]
        bounds = [(limit.low, limit.high) for limit in limits]
        warnings = advice.few_for_variance(sample.n_top)
    # Of lower levels only the F distribution is asked.
    lower = "f" if method == "kurtosis" else method
    methods = (*(lower,) * (sample.n_levels - 1), method)
    return tuple(
        None
        if centre is None
        else Interval(centre=centre, low=low, high=high, confidence=confidence, method=how, warnings=warnings)
        for centre, (low, high), how in zip(components.unbiased, bounds, methods, strict=True)
    )


def intraclass_correlation(
    data: Measurements,
    *,
    confidence: float = 0.95,
    method: str = "bootstrap",
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Share of the variance of a single measurement that is due to the binary.

    Parameters
    ----------
    data
        Measurements, axes highest level first; at least 2 binaries with repetitions below them.
    confidence
        Nominal confidence.
    method
        ``"bootstrap"`` (default), or ``"f"`` for normal data of two levels: exact where they are balanced.
    n_resamples, seed
        Bootstrap only.

    Returns
    -------
    Interval
        ``T_n^2 / sum T_i^2`` with negative variances counted as 0; bounds within [0, 1].

    Raises
    ------
    AnalysisError
        A single binary, no repetition below the top, no variance at all, or ``"f"`` with more than two levels.

    Notes
    -----
    f: with ``F = r_1 S_2^2 / S_1^2`` and its quantiles F_q, the bounds are ``(F / F_q - 1) / (F / F_q - 1 + r_1)``
    (Searle, Casella and McCulloch, Variance Components, 1992, section 3.6).  Of unbalanced data F is that of
    unweighted means and r_1 the harmonic mean of the counts, as in `component_intervals`.
    """
    check_confidence(confidence)
    check_choice(method, METHODS, name="method")
    check_seed(seed)
    sample = _several_binaries(data, "intraclass_correlation")
    _need_repetition(sample, "intraclass_correlation")
    scaled, _ = sample.scaled()
    values = np.array([[value or 0.0] for value in components_of(scaled).unbiased])
    if not (values > 0).any():
        raise AnalysisError("intraclass_correlation: the measurements do not vary at all; check the metric")
    if method == "f":
        low, high = _exact_correlation(scaled, confidence)
        warnings = advice.few_binaries(sample.n_top)
    else:
        check_resamples(n_resamples, confidence)
        limits = percentile_bounds(_top_share(_replicate_components(scaled, n_resamples, seed)), confidence)
        low, high = limits.low, limits.high
        warnings = advice.few_for_variance(sample.n_top)
    return Interval(
        centre=float(_top_share(values)[0]), low=low, high=high, confidence=confidence, method=method, warnings=warnings
    )


def variance_test(
    data: Measurements,
    *,
    method: str = "f",
    blocks: Sequence[Hashable] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> TestResult:
    """Test whether binaries differ at all: the hypothesis ``T_n^2 = 0``.

    Parameters
    ----------
    data
        Measurements, axes highest level first; at least 2 binaries, executed at least twice each.
    method
        ``"f"`` (default; balanced normal data), or ``"permutation"`` (any data).
    blocks
        Permutation only: of each execution, in reading order, what it was measured on, such as a node; executions then
        change places within their block alone, and their distances from its mean are what is judged.
    n_resamples, seed
        Permutation only.

    Returns
    -------
    TestResult
        The statistic is ``F = S_n^2 r_{n-1} / S_{n-1}^2``; the alternative is that binaries differ.

    Raises
    ------
    AnalysisError
        A single binary, binaries that were executed once, ``"f"`` with unbalanced data or with blocks, or not one
        block for each execution.

    Notes
    -----
    f: F has (r_n - 1, r_n (r_{n-1} - 1)) degrees of freedom when binaries do not differ.  permutation: the means of
    the executions are assigned anew to the binaries, keeping how many each has; ``p = (count + 1) / (M + 1)``.
    Unbalanced F is that of the one-way analysis of variance of the executions' means.

    With blocks the permutation test stays exact whatever blocks add to their executions, and however binaries are
    spread over them (Edgington and Onghena, Randomization Tests, 4th edition, 2007, chapter 6).  F is then that of the
    distances from blocks' means, without regard to the degrees of freedom that these cost.
    """
    check_choice(method, ("f", "permutation"), name="method")
    check_seed(seed)
    sample, _ = _several_binaries(data, "variance_test").scaled()
    _need_repetition(sample, "variance_test")
    units = sample.unit_means(sample.n_levels - 1)
    counts = sample.counts[-2]
    places = _places(units.size, blocks, method)
    if blocks is not None:
        units = _off_means(units, places)
    between, within = counts.size - 1, units.size - counts.size
    if units.max() == units.min():
        return _variance_result(0.0, 1.0, method, 0, (advice.NoVariation(),))
    statistic = float(_one_way_f(units[None, :], counts)[0])
    if method == "f":
        _need_balance(sample)
        p_value = 0.0 if math.isinf(statistic) else f_tail(statistic, between, within)
        return _variance_result(statistic, p_value, method, 0, advice.few_binaries(counts.size))
    check_count(n_resamples, name="n_resamples")
    stream = Stream(seed, "variance test")
    at_once = max(1, (1 << 20) // units.size)
    count = 0
    for done in range(0, n_resamples, at_once):
        rows = min(at_once, n_resamples - done)
        words = stream.words(rows * units.size).reshape(rows, -1)
        order = np.empty(words.shape, dtype=np.int64)
        for place in places:
            order[:, place] = place[np.argsort(words[:, place], axis=1, kind="stable")]
        count += int((_one_way_f(units[order], counts) >= statistic * (1 - 1e-9)).sum())
    p_value = (count + 1) / (n_resamples + 1)
    return _variance_result(statistic, p_value, method, n_resamples, ())


def _places(size: int, blocks: Sequence[Hashable] | None, method: str) -> list[IntArray]:
    """The places of each block's executions; of all where there are no blocks."""
    if blocks is None:
        return [np.arange(size)]
    if method == "f":
        raise AnalysisError("variance_test: method 'f' knows no blocks; use method 'permutation'")
    if len(blocks) != size:
        raise AnalysisError(f"variance_test: {size} executions, but {len(blocks)} blocks; give one for each execution")
    places: dict[Hashable, list[int]] = {}
    for place, block in enumerate(blocks):
        places.setdefault(block, []).append(place)
    return [np.array(each, dtype=np.int64) for each in places.values()]


def _off_means(units: FloatArray, places: Sequence[IntArray]) -> FloatArray:
    """Distances from the means of blocks; 0 exactly where all of a block are equal."""
    away = np.zeros(units.size)
    for place in places:
        part = units[place]
        away[place] = 0.0 if part.max() == part.min() else part - part.mean()
    return away


def _several_binaries(data: Measurements, what: str) -> Nested:
    sample = nested(data)
    if sample.n_top < 2:
        raise AnalysisError(f"{what}: 1 binary shows no variance between binaries; measure at least 2, better 20")
    return sample


def _need_balance(sample: Nested) -> None:
    if not sample.is_balanced:
        raise AnalysisError(
            "variance_test: method 'f' needs equally many repetitions everywhere; use method 'permutation'"
        )


def _need_repetition(sample: Nested, what: str) -> None:
    if sample.n_levels < 2 or int(sample.counts[-2].max()) < 2:
        raise AnalysisError(
            f"{what}: every binary was executed once, so its own variance cannot be told from the executions'; "
            "execute at least some binaries twice, or compare with repeated executions of one binary (layout_effect)"
        )


def _exact_correlation(sample: Nested, confidence: float) -> tuple[float, float]:
    if sample.n_levels != 2:
        raise AnalysisError("intraclass_correlation: method 'f' is for two levels only; use method 'bootstrap'")
    inner = harmonic(sample.counts[0])
    observed, noise = biased_variance(sample, 2) or 0.0, biased_variance(sample, 1) or 0.0
    if noise == 0:
        return 1.0, 1.0
    degrees = (sample.n_free - 1, int(sample.counts[0].sum()) - sample.n_top)
    excess = [
        inner * observed / noise / f_quantile(tail, *degrees) - 1
        for tail in ((1 + confidence) / 2, (1 - confidence) / 2)
    ]
    low, high = (max(value, 0.0) / (max(value, 0.0) + inner) for value in excess)
    return low, high


def _top_share(components: FloatArray) -> FloatArray:
    """Top component over the sum of components (axis 0), negative ones counted as 0."""
    positive = np.maximum(components, 0.0)
    total = positive.sum(axis=0)
    return np.where(total > 0, positive[-1] / np.where(total > 0, total, 1.0), 0.0)


def _replicate_components(sample: Nested, n_resamples: int, seed: int) -> FloatArray:
    """Unbiased variances of replicates that draw binaries and keep their insides, shape ``(n, n_resamples)``."""
    n_top = sample.n_top
    squares, degrees = _per_binary(sample)
    means = sample.top_means
    sampler = IndexSampler(Stream(seed, "components"), n_top, row_length=n_top)
    parts = []
    at_once = max(1, (1 << 18) // n_top)
    for done in range(0, n_resamples, at_once):
        drawn = sampler.rows(min(at_once, n_resamples - done)).astype(np.int64)
        below = squares[:, drawn].sum(axis=2) / np.maximum(degrees[:, drawn].sum(axis=2), 1)
        top = means[drawn].var(axis=1, ddof=1) * n_top / (n_top - 1)
        parts.append(np.vstack([below, top]))
    biased = np.concatenate(parts, axis=1)
    coefficients = expectation_coefficients(sample)
    unbiased = np.zeros_like(biased)
    for level in range(sample.n_levels):
        if level == sample.n_levels - 1 or degrees[level].any():
            unbiased[level] = biased[level] - coefficients[level, :level] @ unbiased[:level]
    return unbiased


def _per_binary(sample: Nested) -> tuple[FloatArray, FloatArray]:
    """Sums of squares and degrees of freedom of the levels below the top, by binary, shape ``(n - 1, r_n)``."""
    squares, degrees = [], []
    for level in range(1, sample.n_levels):
        counts = sample.counts[level - 1]
        means = sample.unit_means(level)
        deviations = means - np.repeat(group_means(means, counts), counts)
        square, degree = group_sums(deviations**2, counts), (counts - 1).astype(np.float64)
        for above in sample.counts[level:-1]:
            square, degree = group_sums(square, above), group_sums(degree, above)
        squares.append(square)
        degrees.append(degree)
    shape = (sample.n_levels - 1, sample.n_top)
    return np.array(squares).reshape(shape), np.array(degrees).reshape(shape)


def _one_way_f(rows: FloatArray, counts: IntArray) -> FloatArray:
    """F statistic of the one-way analysis of variance of each row, groups of ``counts`` consecutive elements."""
    starts = np.cumsum(counts) - counts
    means = np.add.reduceat(rows, starts, axis=1) / counts
    grand = rows.mean(axis=1, keepdims=True)
    between = ((means - grand) ** 2 * counts).sum(axis=1) / (counts.size - 1)
    within = ((rows - np.repeat(means, counts, axis=1)) ** 2).sum(axis=1) / (rows.shape[1] - counts.size)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(within > 0, between / np.where(within > 0, within, 1.0), np.inf))


def _variance_result(
    statistic: float, p_value: float, method: str, n_resamples: int, warnings: tuple[StatsWarning, ...]
) -> TestResult:
    return TestResult(
        statistic=statistic,
        p_value=p_value,
        alternative="greater",
        method=f"no variance between binaries, {method}",
        n_resamples=n_resamples,
        warnings=warnings,
    )
