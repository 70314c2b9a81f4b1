"""The ratio of two systems: worked example, closed forms, other implementations, degenerate data, messages."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arch.bootstrap import IndependentSamplesBootstrap
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError
from stats.papers import NEW, OLD
from stats.scipy_generator import seeded
from warningkit import said

METHODS = (
    "fieller",
    "fieller-welch",
    "fieller-normal",
    "log-t",
    "bootstrap",
    "bca",
    "bootstrap-t",
    "paired-log-t",
    "paired-bootstrap",
)


def _pair(n=25, m=25, seed=3):
    rng = np.random.default_rng(seed)
    return rng.normal(100, 3, (n, 3)), rng.normal(98, 4, (m, 3))


def test_worked_example_of_the_report():
    found = stats.ratio_interval(OLD, NEW)

    assert found.centre == pytest.approx(6.5 / 10.5)
    assert (found.low, found.high) == pytest.approx((0.10983, 1.72530), abs=5e-6)
    assert (round(found.low, 1), round(found.high, 1)) == (0.1, 1.7)


def test_the_formula_of_the_paper_as_printed():
    """ISMM equation 5: (Y Y' -+ sqrt((Y Y')^2 - (Y^2 - h^2)(Y'^2 - h'^2))) / (Y^2 - h^2)."""
    a, b = _pair(10, 10)
    y, y_new = a.mean(), b.mean()
    t = scipy_stats.t.ppf(0.975, 9)
    h2, h2_new = (t * t * x.mean(axis=1).var(ddof=1) / 10 for x in (a, b))
    root = math.sqrt((y * y_new) ** 2 - (y * y - h2) * (y_new * y_new - h2_new))
    expected = [(y * y_new + sign * root) / (y * y - h2) for sign in (-1, 1)]

    found = stats.ratio_interval(a, b)

    assert [found.low, found.high] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("method", "counts"),
    [("fieller", (10, 10)), ("fieller-normal", (10, 14)), ("fieller", (10, 14)), ("fieller-welch", (9, 9))],
)
def test_fieller_limits_are_the_ratios_that_a_t_test_cannot_reject(method, counts):
    """Independent definition: theta with (Y' - theta Y)^2 = q^2 (v' + theta^2 v)."""
    a, b = (x.mean(axis=1) for x in _pair(*counts))
    v, v_new = a.var(ddof=1) / a.size, b.var(ddof=1) / b.size
    found = stats.ratio_interval(a, b, method=method)
    if method == "fieller-normal":
        q = scipy_stats.norm.ppf(0.975)
    elif method == "fieller" and counts[0] == counts[1]:
        q = scipy_stats.t.ppf(0.975, counts[0] - 1)
    else:
        w = found.centre**2 * v
        q = scipy_stats.t.ppf(0.975, (w + v_new) ** 2 / (w**2 / (a.size - 1) + v_new**2 / (b.size - 1)))

    for theta in (found.low, found.high):
        assert (b.mean() - theta * a.mean()) ** 2 == pytest.approx(q**2 * (v_new + theta**2 * v), rel=1e-9)
    assert found.low < found.centre < found.high


def test_the_root_loses_no_digits_when_variances_are_tiny():
    rng = np.random.default_rng(1)
    a, b = 1e6 + rng.normal(0, 1e-3, 30), 1.1e6 + rng.normal(0, 1e-3, 30)

    found = stats.ratio_interval(a, b)
    expected = stats.ratio_half_width(
        found.centre,
        stats.mean_interval(a).relative_half_width,
        candidate=stats.mean_interval(b).relative_half_width,
    )

    assert found.half_width == pytest.approx(expected, rel=1e-6)


def test_half_width_relation_of_the_paper():
    a, b = _pair(12, 12)
    e, e_new = (stats.mean_interval(x).relative_half_width for x in (a, b))
    found = stats.ratio_interval(a, b)

    assert found.half_width == pytest.approx(stats.ratio_half_width(found.centre, e, candidate=e_new), rel=1e-9)
    approximate = stats.ratio_half_width(found.centre, e, candidate=e_new, is_exact=False)
    assert approximate == found.centre * math.sqrt(e * e + e_new * e_new)
    assert approximate == pytest.approx(found.half_width, rel=e * e)
    assert stats.ratio_half_width(1.0, 1.0, candidate=0.1) == math.inf


def test_comparing_a_system_with_itself_widens_by_the_root_of_two():
    e = stats.mean_interval(_pair()[0]).relative_half_width

    assert stats.ratio_half_width(1.0, e, candidate=e, is_exact=False) == pytest.approx(e * math.sqrt(2))


@pytest.mark.parametrize("counts", [(25, 25), (8, 20)])
def test_log_t_is_welch_on_logarithms(counts):
    a, b = (x.mean(axis=1) for x in _pair(*counts))
    welch = scipy_stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    if not hasattr(welch, "confidence_interval"):
        pytest.skip("scipy before 1.11 has no interval for a difference")
    expected = welch.confidence_interval(0.95)

    found = stats.ratio_interval(a, b, method="log-t")

    assert (found.low, found.high) == pytest.approx(tuple(np.exp(expected)), rel=1e-10)
    assert found.centre == pytest.approx(scipy_stats.gmean(b) / scipy_stats.gmean(a))


def test_welch_degrees_of_statsmodels():
    from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

    a, b = (np.log(x.mean(axis=1)) for x in _pair(7, 30))
    expected = CompareMeans(DescrStatsW(b), DescrStatsW(a)).tconfint_diff(usevar="unequal")

    found = stats.ratio_interval(np.exp(a), np.exp(b), method="log-t")

    assert (math.log(found.low), math.log(found.high)) == pytest.approx(expected, rel=1e-9)


def test_paired_log_t_is_the_paired_t_test():
    a, b = (x.mean(axis=1) for x in _pair())
    expected = scipy_stats.ttest_rel(np.log(b), np.log(a)).confidence_interval(0.95)

    found = stats.ratio_interval(a, b, method="paired-log-t")

    assert (found.low, found.high) == pytest.approx(tuple(np.exp(expected)), rel=1e-10)


def test_fieller_and_log_t_agree_on_benchmark_like_data():
    rng = np.random.default_rng(6)
    a, b = rng.normal(100, 1, 30), rng.normal(101, 1, 30)
    fieller, log_t = (stats.ratio_interval(a, b, method=m) for m in ("fieller-welch", "log-t"))

    assert (fieller.low, fieller.high) == pytest.approx((log_t.low, log_t.high), abs=1e-4)


@pytest.mark.parametrize(("ours", "theirs"), [("bootstrap", "percentile"), ("bca", "BCa")])
def test_bootstrap_of_scipy(ours, theirs):
    a, b = (x.mean(axis=1) for x in _pair(25, 30))

    expected = scipy_stats.bootstrap(
        (b, a), lambda x, y, axis: x.mean(axis=axis) / y.mean(axis=axis), n_resamples=20_000, method=theirs, **seeded()
    ).confidence_interval
    found = stats.ratio_interval(a, b, method=ours, n_resamples=20_000)

    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=4e-4)


def test_bootstrap_of_arch():
    a, b = (x.mean(axis=1) for x in _pair(25, 30))

    expected = IndependentSamplesBootstrap(b, a, seed=2).conf_int(
        lambda x, y: np.array([x.mean() / y.mean()]), 20_000, method="percentile"
    )
    found = stats.ratio_interval(a, b, method="bootstrap", n_resamples=20_000)

    assert (found.low, found.high) == pytest.approx(tuple(expected.ravel()), abs=4e-4)


def test_bootstrap_t_agrees_with_log_t_on_normal_data():
    a, b = _pair(40, 40)
    studentised = stats.ratio_interval(a[:, 0], b[:, 0], method="bootstrap-t", n_resamples=20_000)
    log_t = stats.ratio_interval(a[:, 0], b[:, 0], method="log-t")

    assert (studentised.low, studentised.high) == pytest.approx((log_t.low, log_t.high), abs=2e-3)


def test_paired_bootstrap_cancels_what_the_systems_share():
    rng = np.random.default_rng(4)
    shared = rng.normal(0, 5, 30)
    a, b = 100 + shared + rng.normal(0, 0.1, 30), 100 + shared + rng.normal(0, 0.1, 30)

    paired, apart = (stats.ratio_interval(a, b, method=m) for m in ("paired-bootstrap", "bootstrap"))

    assert paired.half_width < apart.half_width / 10
    assert paired.half_width == pytest.approx(stats.ratio_interval(a, b, method="paired-log-t").half_width, rel=0.15)


def test_paired_bootstrap_of_scipy():
    a, b = (x.mean(axis=1) for x in _pair())
    expected = scipy_stats.bootstrap(
        (b, a),
        lambda x, y, axis: x.mean(axis=axis) / y.mean(axis=axis),
        paired=True,
        n_resamples=20_000,
        method="percentile",
        **seeded(),
    ).confidence_interval

    found = stats.ratio_interval(a, b, method="paired-bootstrap", n_resamples=20_000)

    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=4e-4)


def test_paired_bootstrap_draws_the_same_binaries_from_balanced_and_ragged_data():
    """The same means in two shapes: with the insides kept, every replicate of the ratio is exactly 1."""
    values = np.random.default_rng(1).normal(10, 1, 12)
    ragged = [[v] * (1 + i % 3) for i, v in enumerate(values)]

    found = stats.ratio_interval(values[:, None], ragged, method="paired-bootstrap", resampling="RN", n_resamples=200)

    assert (found.low, found.high) == pytest.approx((1.0, 1.0), abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_swapping_the_systems_inverts_the_ratio(method):
    a, b = _pair(20, 20)
    forth, back = stats.ratio_interval(a, b, method=method), stats.ratio_interval(b, a, method=method)
    exact = method not in ("bootstrap", "bca", "bootstrap-t", "paired-bootstrap")

    assert forth.centre * back.centre == pytest.approx(1, rel=1e-12)
    # fieller-welch takes its degrees at the estimated ratio, which swapping inverts too
    assert forth.low * back.high == pytest.approx(1, rel=1e-12 if exact else 2e-3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_huge_and_tiny_units_do_not_matter(method, scale):
    a, b = _pair(20, 20)
    plain, scaled = stats.ratio_interval(a, b, method=method), stats.ratio_interval(a * scale, b * scale, method=method)
    mixed = stats.ratio_interval(a, b * scale, method=method)

    for found, factor in ((scaled, 1.0), (mixed, scale)):
        assert [found.centre / factor, found.low / factor, found.high / factor] == pytest.approx(
            [plain.centre, plain.low, plain.high], rel=1e-9
        )


def test_fieller_without_bounds_says_so_and_how_many_binaries_would_bound_it():
    a = [1.0, -1.0, 2.0, 3.0]
    found = stats.ratio_interval(a, [3.0, 4.0, 5.0, 4.0])

    assert found.centre == 4.0 / 1.25
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert said(found.warnings)[0] == (
        "the baseline's mean does not differ significantly from zero at this confidence, so the ratio has no bounds "
        "(Fieller); about 6 more binaries (10 in all) would bound it"
    )
    q = [scipy_stats.t.ppf(0.975, r - 1) ** 2 * np.var(a, ddof=1) / r for r in (9, 10)]
    assert q[0] > 1.25**2 > q[1]


def test_fieller_of_negative_quantities_is_ordered():
    found = stats.ratio_interval([-10.0, -11.0, -9.0, -10.5, -9.5], [-5.0, -5.5, -4.5, -5.2, -4.8])

    assert 0 < found.low < found.centre == 0.5 < found.high


def test_bootstrap_ratio_refuses_a_denominator_that_crosses_zero():
    found = stats.ratio_interval([1.0, -1.0, 2.0], [3.0, 4.0, 5.0], method="bootstrap", n_resamples=1000)

    assert (found.low, found.high) == (-math.inf, math.inf)
    assert "the baseline's mean reaches or crosses 0 in" in said(found.warnings)[0]


@pytest.mark.parametrize("method", METHODS)
def test_one_binary_on_either_side_has_no_bounds(method):
    single, several = [[5.0, 6.0]], [[5.0, 7.0], [6.0, 6.5]]
    is_paired = method.startswith("paired")
    found = stats.ratio_interval(single, single if is_paired else several, method=method)

    assert (found.low, found.high) == (-math.inf, math.inf)
    assert said(found.warnings)[0] == (
        "1 binary of the baseline cannot show how much binaries differ, so the interval has no bounds; "
        "at least 1 more is needed, and 4 more for a usable interval"
    )


@pytest.mark.parametrize("method", METHODS)
def test_constant_data_give_a_ratio_without_width(method):
    found = stats.ratio_interval([4.0] * 6, [3.0] * 6, method=method, n_resamples=100)

    assert [found.centre, found.low, found.high] == [found.centre] * 3
    assert found.centre == pytest.approx(0.75, rel=1e-15)
    assert sum("exactly the same mean" in warning for warning in said(found.warnings)) == 2


def test_default_is_fieller_on_binaries_means():
    a, b = _pair()

    assert stats.ratio_interval(a, b) == stats.ratio_interval(a.mean(axis=1), b.mean(axis=1), method="fieller")


def test_levels_may_differ_between_the_systems():
    a, b = _pair()
    ragged = [row[: 1 + i % 3].tolist() for i, row in enumerate(b)]

    found = stats.ratio_interval(a, ragged)

    assert found.centre == pytest.approx(np.mean([np.mean(row) for row in ragged]) / a.mean())


@pytest.mark.parametrize(
    ("baseline", "candidate", "arguments", "message"),
    [
        ([1, -1], [1, 2], {}, "baseline: its mean is 0, so a ratio to it is undefined"),
        (
            [1, 2],
            [1, -2],
            {"method": "log-t"},
            "candidate: the mean of binary 1 is not above 0, but logarithms are taken",
        ),
        (
            [1, 2, 3],
            [1, 2],
            {"method": "paired-log-t"},
            "the baseline has 3 binaries and the candidate 2; keep only the seeds",
        ),
        ([1, 2, 3], [1], {"method": "paired-bootstrap"}, "the candidate 1; keep only the seeds"),
        (
            [1, 2],
            [1, 2],
            {"method": "paired-bootstrap", "resampling": "FLAT"},
            "paired-bootstrap draws binaries, but resampling 'FLAT' does not",
        ),
        ([1, 2], [1, -2], {"method": "bootstrap-t"}, "bootstrap-t takes logarithms and needs means above 0"),
        ([1, 2], [1, 2], {"method": "feller"}, "did you mean 'fieller'?"),
        ([1, 2], [1, 2], {"confidence": 0}, "confidence must lie strictly between 0 and 1"),
        ([1, 2], [1, 2], {"method": "bootstrap", "n_resamples": 5}, "n_resamples must be an integer of at least 40"),
        ([1, 2], [1, 2], {"seed": "x"}, "seed must be an integer of at least 0"),
    ],
)
def test_validation_messages(baseline, candidate, arguments, message):
    with pytest.raises(AnalysisError) as error:
        stats.ratio_interval(baseline, candidate, **arguments)

    assert message in str(error.value)
