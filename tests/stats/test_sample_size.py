"""How many binaries a pilot says are enough, and whether that is true."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as reference

from layoutrand import stats
from layoutrand.errors import AnalysisError
from layoutrand.stats import sample_size
from layoutrand.stats.streams import Stream

THRESHOLD = 0.01
SD = 0.012
"""Of binaries over their mean: small enough for quick experiments."""


@pytest.mark.parametrize(("n", "sd"), [(5, 0.01), (12, 0.008), (30, 0.02), (200, 0.05)])
@pytest.mark.parametrize(("threshold", "difference"), [(0.01, 0.02), (0.0, 0.004), (0.05, 0.2)])
def test_the_power_for_a_difference_is_that_of_a_noncentral_t(n, sd, threshold, difference):
    """Chow et al., section 3.2; the other tail, a verdict in the wrong direction, is beyond the digits."""
    gap = min(
        math.log1p(difference) - math.log1p(threshold),
        math.log1p(-threshold) - math.log1p(-difference),
    )
    with np.errstate(divide="ignore"):  # scipy 1.10 raises the flag on its way to 1
        expected = reference.nct.sf(reference.t.ppf(0.975, n - 1), n - 1, gap / (sd / math.sqrt(n)))

    assert stats.decision_power(n, sd, threshold=threshold, difference=difference) == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize(("n", "sd"), [(5, 0.004), (20, 0.012), (60, 0.03)])
def test_the_power_for_equivalence_is_that_of_two_one_sided_tests(n, sd):
    """Schuirmann 1987, by simulation of normal log ratios: the mean and the chi-square of each."""
    size = 100_000
    stream = Stream(1, "equivalence", n)
    means = stream.normals(size) * sd / math.sqrt(n)
    sds = sd * np.sqrt(reference.chi2.ppf(stream.uniforms(size), n - 1) / (n - 1))
    half = reference.t.ppf(0.975, n - 1) * sds / math.sqrt(n)
    inside = (means - half >= math.log1p(-THRESHOLD)) & (means + half <= math.log1p(THRESHOLD))

    assert stats.decision_power(n, sd, threshold=THRESHOLD) == pytest.approx(inside.mean(), abs=0.006)


def test_the_textbook_sizes_for_equivalence():
    """Trials of two periods with a coefficient of variation of 30 %, the same within 0.8 to 1.25 at two times 5 %.

    Diletti, Hauschke and Steinijans 1991: 32 subjects for a power of 80 %, 40 for 90 %, even numbers alone.
    """
    sd = math.sqrt(2 * math.log1p(0.3**2))
    margins = (math.log(1.25), math.log(1.25))
    powers = {n: sample_size._power(n, sd, margins, 0.9) for n in (30, 32, 38, 40)}

    assert powers[30] < 0.8 <= powers[32]
    assert powers[38] < 0.9 <= powers[40]


def test_the_lower_number_is_the_first_that_has_the_power():
    found = stats.binaries_to_decide(0.03, 0.04, threshold=THRESHOLD, difference=0.02)

    assert stats.decision_power(found.low, 0.03, threshold=THRESHOLD, difference=0.02) >= 0.8
    assert stats.decision_power(found.low - 1, 0.03, threshold=THRESHOLD, difference=0.02) < 0.8


def test_the_upper_number_is_that_of_the_upper_limit():
    found = stats.binaries_to_decide(0.03, 0.04, threshold=THRESHOLD, difference=0.02)

    assert found.high == stats.binaries_to_decide(0.04, 0.04, threshold=THRESHOLD, difference=0.02).low > found.low


def test_no_spread_needs_the_fewest_and_too_much_is_out_of_reach():
    assert stats.binaries_to_decide(0.0, 0.0, threshold=0.01).high == 5
    far = stats.binaries_to_decide(0.5, 0.6, threshold=0.001)
    assert (far.low, far.high) == (None, None)
    assert stats.binaries_to_decide(0.01, 0.01, threshold=0.0).low is None  # nothing is exactly the same


@pytest.mark.parametrize("difference", [0.01, 0.005])
def test_no_number_decides_a_difference_within_the_threshold(difference):
    with pytest.raises(AnalysisError, match="is within the threshold of 0.01, and no number of binaries decides it"):
        stats.decision_power(10, 0.01, threshold=0.01, difference=difference)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sd": -1.0}, "must be a finite number of at least 0, got -1.0"),
        ({"upper": math.inf}, "must be a finite number of at least 0, got inf"),
        ({"upper": 0.005}, "the upper limit 0.005 is below the standard deviation 0.01"),
        ({"power": 1.0}, "power must lie strictly between 0 and 1"),
    ],
)
def test_messages(arguments, message):
    given = {"sd": 0.01, "upper": 0.02, "power": 0.8, **arguments}
    for function, wanted in (
        (stats.binaries_to_decide, {"threshold": 0.01}),
        (stats.binaries_for_half_width, {"half_width": 0.01}),
    ):
        with pytest.raises(AnalysisError, match=message):
            function(given["sd"], given["upper"], power=given["power"], **wanted)


@pytest.mark.parametrize("half_width", [0.005, 0.02])
def test_four_of_five_intervals_are_as_narrow_as_wanted(half_width):
    """Kupper and Hafner 1989: with the number for a known standard deviation; one fewer is too few."""
    found = stats.binaries_for_half_width(0.02, 0.03, half_width=half_width).low

    def share(n):
        return reference.chi2.cdf((n - 1) * n * (half_width / (reference.t.ppf(0.975, n - 1) * 0.02)) ** 2, n - 1)

    assert share(found) >= 0.8
    assert found == 5 or share(found - 1) < 0.8


def test_the_limit_of_one_variance_is_that_of_chi_square():
    expected = 7 * 4.0 / reference.chi2.ppf(0.1, 7)

    assert stats.variance_limit([4.0], [7], confidence=0.9) == pytest.approx(expected)


def test_the_limit_of_sums_and_differences_holds():
    """Each in at least 80 % of samples, and not in many more: simulated mean squares."""
    for case, (truth, degrees, weights) in enumerate(
        [
            ((2.0, 1.0), (4, 10), (1.0, 0.5)),
            ((2.0, 1.0), (4, 10), (1.0, -0.75)),
            ((1.1, 1.0), (9, 30), (1.0, -0.8)),
            ((2.0, 1.0, 3.0), (5, 5, 20), (1.0, -0.5, -0.1)),
        ]
    ):
        stream = Stream(case, "limits")
        squares = np.array(
            [t * reference.chi2.ppf(stream.uniforms(600), d) / d for t, d in zip(truth, degrees, strict=True)]
        )
        wanted = float(np.dot(truth, weights))
        held = sum(stats.variance_limit(list(each), degrees, weights=weights) >= wanted for each in squares.T.tolist())
        assert 0.75 <= held / 600 <= 0.92, case


def test_limits_want_one_of_each():
    with pytest.raises(AnalysisError, match="1 squares, 2 degrees of freedom and 1 weights"):
        stats.variance_limit([1.0], [2, 3])


def _followed(pilot, difference, sets, *, draw, of_old=False):
    """Share of experiments decided truly that were made with as many binaries as a pilot said."""
    decided = 0
    for k in range(sets):
        stream = Stream(k, "followed", pilot)
        first = draw(stream, pilot)
        variance = 2 * float(first.var(ddof=1) / first.mean() ** 2)
        upper = math.sqrt(stats.variance_limit([variance], [pilot - 1]))
        wanted = stats.binaries_to_decide(math.sqrt(variance), upper, threshold=THRESHOLD, difference=difference).high
        if of_old:  # the number for which the expected half-width is the threshold
            wanted = stats.plan(first, [1.0], half_width=THRESHOLD / math.sqrt(2)).chosen.counts[-1]
        old, new = draw(stream, wanted), draw(stream, wanted) * (1 + difference)
        verdict = stats.decide(stats.ratio_interval(old, new, method="fieller-welch"), THRESHOLD)
        decided += verdict == ("slower" if difference else "equivalent")
    return decided / sets


def _normal(stream, n):
    return 1 + SD * stream.normals(n)


def _lognormal(stream, n):
    return np.exp(SD * stream.normals(n))


@pytest.mark.parametrize("difference", [0.0, 2 * THRESHOLD])
def test_the_promise_is_kept(difference):
    """A fifth of the experiments may stay open; with the numbers for a half-width most did."""
    sets = 120
    fewest = reference.binom.ppf(0.001, sets, 0.8) / sets

    assert _followed(10, difference, sets, draw=_normal) >= fewest
    assert _followed(10, difference, sets, draw=_normal, of_old=True) < fewest


@pytest.mark.slow
@pytest.mark.parametrize("pilot", [3, 5, 10, 30])
@pytest.mark.parametrize("difference", [0.0, 2 * THRESHOLD])
@pytest.mark.parametrize("draw", [_normal, _lognormal])
def test_the_promise_is_kept_from_pilots_of_any_size(pilot, difference, draw):
    """Also from 3 binaries, whose upper number is about four times the lower one."""
    sets = 400
    assert _followed(pilot, difference, sets, draw=draw) >= reference.binom.ppf(0.001, sets, 0.8) / sets


@pytest.mark.slow
def test_of_what_a_pilot_has_not_seen_nothing_is_promised():
    """One layout in twenty that is 10 % slower: most pilots of 5 show none, and too few binaries are made."""

    def rare(stream, n):
        return 1 + 0.1 * (stream.uniforms(n) < 0.05) + 0.002 * stream.normals(n)

    assert _followed(5, 0.0, 300, draw=rare) < 0.75
