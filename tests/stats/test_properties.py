"""Properties that hold for any data (hypothesis)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from layoutrand import stats
from layoutrand.errors import AnalysisError

durations = st.floats(min_value=0.5, max_value=2000.0, allow_nan=False).map(lambda x: round(x, 6))
shapes = st.tuples(st.integers(2, 6), st.integers(1, 4), st.integers(1, 4))
data = shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=durations))
ragged = st.lists(st.lists(st.lists(durations, min_size=1, max_size=4), min_size=1, max_size=3), min_size=2, max_size=6)
scales = st.integers(-300, 300).map(lambda e: 2.0**e)
MEAN_METHODS = ("t", "normal", "bootstrap", "bca", "bootstrap-t")
RATIO_METHODS = (
    "fieller",
    "fieller-welch",
    "fieller-normal",
    "log-t",
    "bootstrap",
    "bca",
    "bootstrap-t",
)
quick = settings(max_examples=40, deadline=None, derandomize=True)


def _bounds(interval):
    return [interval.centre, interval.low, interval.high]


@quick
@given(data, scales, st.sampled_from(MEAN_METHODS))
def test_scaling_the_data_scales_the_interval(x, scale, method):
    """Powers of two scale exactly, to the last bit."""
    plain = stats.mean_interval(x, method=method, n_resamples=60)
    scaled = stats.mean_interval(x * scale, method=method, n_resamples=60)

    assert _bounds(scaled) == [value * scale for value in _bounds(plain)]
    assert scaled.warnings == plain.warnings


@quick
@given(data, data, scales, st.sampled_from(RATIO_METHODS))
def test_the_unit_does_not_matter_to_a_ratio(x, y, scale, method):
    plain = stats.ratio_interval(x, y, method=method, n_resamples=60)
    scaled = stats.ratio_interval(x * scale, y * scale, method=method, n_resamples=60)

    assert _bounds(scaled) == _bounds(plain)


@quick
@given(data, st.randoms(use_true_random=False))
def test_reordering_changes_nothing(x, random):
    """Iterations within executions, executions within binaries, and binaries are exchangeable."""
    shuffled = x.copy()
    for binary in shuffled:
        for execution in binary:
            execution[:] = random.sample(execution.tolist(), execution.size)
        binary[:] = binary[random.sample(range(len(binary)), len(binary))]
    shuffled = shuffled[random.sample(range(len(shuffled)), len(shuffled))]
    plain, other = stats.variance_components(x), stats.variance_components(shuffled)
    tolerance = 1e-9 * max(float(x.max()) ** 2, 1.0)

    assert other.mean == pytest.approx(plain.mean)
    for a, b in zip(plain.unbiased, other.unbiased, strict=True):
        assert (a is None and b is None) or b == pytest.approx(a, abs=tolerance)
    assert _bounds(stats.mean_interval(shuffled)) == pytest.approx(_bounds(stats.mean_interval(x)), abs=1e-9 * x.max())


@quick
@given(ragged)
def test_ragged_data_never_give_nan_or_a_crash(x):
    components = stats.variance_components(x)
    interval = stats.mean_interval(x)
    bootstrap = stats.mean_interval(x, method="bootstrap", n_resamples=60)

    assert all(value is None or math.isfinite(value) for value in components.biased + components.unbiased)
    assert all(value is None or value >= 0 for value in components.biased)
    assert interval.low <= interval.centre <= interval.high
    values = [v for binary in x for execution in binary for v in execution]
    assert min(values) <= bootstrap.low <= bootstrap.high <= max(values)


@quick
@given(data)
def test_ragged_reading_of_balanced_data_gives_the_same(x):
    lists = [[execution.tolist() for execution in binary] for binary in x]

    assert stats.variance_components(lists) == stats.variance_components(x)
    assert stats.mean_interval(lists) == stats.mean_interval(x)


@quick
@given(data)
def test_variance_decomposes(x):
    """The variance of the grand mean, S_n^2 / r_n, is sum T_i^2 / (r_i ... r_n) (TR equation 10), for any balanced data."""
    assume(x.shape[1] > 1 and x.shape[2] > 1)
    found = stats.variance_components(x)
    products = np.cumprod(list(reversed(x.shape))[::-1])[::-1]
    total = sum(t / p for t, p in zip(found.unbiased, products, strict=True))

    assert total == pytest.approx(found.biased[-1] / x.shape[0], abs=1e-9 * float(x.max()) ** 2)


@quick
@given(data, data, st.sampled_from(RATIO_METHODS), st.floats(0.5, 0.98), st.floats(0.0005, 0.015))
def test_more_confidence_is_wider(x, y, method, confidence, extra):
    narrow = stats.ratio_interval(x, y, method=method, confidence=confidence, n_resamples=400)
    wide = stats.ratio_interval(x, y, method=method, confidence=confidence + extra, n_resamples=400)

    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


@quick
@given(data, data, st.sampled_from(("fieller", "fieller-normal", "log-t")))
def test_swapping_inverts(x, y, method):
    forth, back = stats.ratio_interval(x, y, method=method), stats.ratio_interval(y, x, method=method)
    assume(forth.low > 1e-6 and math.isfinite(forth.high) and back.low > 1e-6 and math.isfinite(back.high))

    assert forth.low * back.high == pytest.approx(1, rel=1e-6)


@quick
@given(data, data)
def test_fieller_is_bounded_exactly_while_the_baseline_differs_from_zero(x, y):
    is_bounded = stats.mean_interval(x).low > 0
    assume(x.shape[0] == y.shape[0])

    found = stats.ratio_interval(x, y)

    assert math.isfinite(found.half_width) == is_bounded
    assert not is_bounded or found.low <= found.centre <= found.high


@quick
@given(data, data, st.floats(0, 0.2))
def test_verdicts_are_consistent(x, y, threshold):
    forth = stats.ratio_interval(x, y, method="log-t")
    verdict = stats.decide(forth, threshold)
    inverse = stats.Interval(
        centre=1 / forth.centre,
        low=1 / forth.high,
        high=1 / forth.low,
        confidence=0.95,
        method="",
        warnings=(),
    )
    if threshold == 0:
        assert {verdict, stats.decide(inverse, 0.0)} in ({"faster", "slower"}, {"undecided"}, {"equivalent"})
    if verdict in ("faster", "slower"):
        assert stats.decide(forth, threshold / 2) == verdict
    if verdict == "equivalent":
        assert stats.decide(forth, min(threshold * 2, 0.9)) == "equivalent"


@quick
@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=4), st.lists(st.floats(1e-3, 1e3), min_size=4, max_size=4))
def test_optimal_counts_depend_on_ratios_of_variances_and_costs_only(variances, costs):
    costs = costs[: len(variances)]
    counts = stats.optimal_counts(variances, costs)

    assert all(count >= 1 for count in counts)
    assert counts == stats.optimal_counts([v * 1024 for v in variances], [c * 4096 for c in costs])


@quick
@given(st.lists(st.floats(0, 1), max_size=30), st.sampled_from(("holm", "bh")))
def test_adjusted_p_values_are_larger_and_keep_their_order(p_values, method):
    adjusted = stats.adjust(p_values, method)
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])

    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    assert [adjusted[i] for i in order] == sorted(adjusted)
    if p_values:
        bound = stats.adjust(p_values, "holm")
        assert all(a <= b + 1e-12 for a, b in zip(stats.adjust(p_values, "bh"), bound, strict=True))


@quick
@given(st.lists(st.lists(durations, min_size=3, max_size=5), min_size=2, max_size=4), scales)
def test_randomization_p_is_a_probability_and_the_unit_does_not_matter(scores, scale):
    a = {f"b{i}": s for i, s in enumerate(scores)}
    b = {f"b{i}": [*s[::-1], 1.0] for i, s in enumerate(scores)}
    found = stats.randomization_test(a, b, n_resamples=99)
    scaled = stats.randomization_test(
        {n: np.array(s) * scale for n, s in a.items()}, {n: np.array(s) * scale for n, s in b.items()}, n_resamples=99
    )

    assert 0 < found.p_value <= 1
    assert (found.p_value, found.statistic) == (scaled.p_value, pytest.approx(scaled.statistic))


@quick
@given(st.lists(durations, min_size=10, max_size=60))
def test_any_series_gets_a_suggestion_or_none(series):
    found = stats.suggest_warmup(series)

    for count in (found.initialised, found.independent):
        assert count is None or 0 <= count < len(series)
    if found.initialised is not None and found.independent is not None:
        assert found.initialised <= found.independent
    assert found.warnings


@quick
@given(
    st.recursive(
        st.one_of(st.none(), st.floats(), st.integers(-5, 5), st.text(max_size=2), st.booleans()),
        lambda children: st.lists(children, max_size=3),
        max_leaves=8,
    )
)
def test_any_nonsense_is_a_named_error_or_a_result(x):
    try:
        found = stats.mean_interval(x)
    except AnalysisError as error:
        is_named = str(error).startswith("data: ")
    else:
        is_named = not math.isnan(found.centre) and found.low <= found.high
    assert is_named
