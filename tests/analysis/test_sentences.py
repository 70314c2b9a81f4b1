"""The plain words for a comparison: the direction, the counts, and nothing that the interval does not bear out."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from layoutrand.analysis.compare import BenchmarkRatio, Comparison
from layoutrand.analysis.default_builds import AsBuilt, SinglePairs
from layoutrand.analysis.place_among import briefly_among, place_among
from layoutrand.analysis.sentences import of_ratio
from layoutrand.analysis.sureness import Sureness
from layoutrand.analysis.verdict_marks import change_words
from layoutrand.stats import Forecast, Interval
from layoutrand.stats.advice import NoForecast
from layoutrand.text.quantities import digits_of, estimate, p_words, quantity, ratio_words


def interval(centre, low, high):
    return Interval(centre=centre, low=low, high=high, confidence=0.95, method="fieller", warnings=())


PAIR = BenchmarkRatio(
    benchmark="fib",
    instrument="native",
    metric="wall_s",
    unit="s",
    ratio=interval(0.979, 0.972, 0.986),
    verdict="faster",
    n_baseline=30,
    n_candidate=30,
    baseline_mean=1.0,
    candidate_mean=0.979,
    paired=None,
    n_pairs=0,
    correlation=None,
    variance_reduction=None,
    warnings=(),
    sureness=Sureness(0.001, 0.001, 0.001, 0.001, 1, "faster"),
    new_pair=interval(1.0, 0.941, 1.017),
    forecast=None,
)
FORECAST = Forecast(
    n_binaries=1200,
    n_more=1170,
    fewest=700,
    difference=0.02,
    is_measured=False,
    power=0.8,
    assurance=0.8,
    warnings=(),
)
RESULT = Comparison(
    baseline="O2",
    candidate="O3",
    confidence=0.95,
    threshold=0.01,
    benchmarks=(PAIR,),
    suite=None,
    only_baseline=(),
    only_candidate=(),
    failures=(),
    build_failures=(),
    warnings=(),
)


def said(**changes):
    return of_ratio(RESULT, replace(PAIR, **changes))


def test_a_decided_ratio():
    assert said() == (
        "fib: faster: O3 takes 2.1 % less time than O2 (1.02 x as fast, 95 % interval 1.4 to 2.8 % less, "
        "30 binaries each); one more binary of each would show 2 % more to 6 % less (in 95 of 100 cases)"
    )


@pytest.mark.parametrize("metric", ["value", "time_s", "time_per_op", "single_shot", "duration_s", "reported_time"])
def test_what_a_harness_measures_from_start_to_end_is_time(metric):
    assert "O3 takes 2.1 % less time than O2 (1.02 x as fast" in said(metric=metric)
    assert f"2.1 % less {metric} than" in said(metric=metric, unit="1")


def test_a_time_of_another_kind_has_its_name():
    assert "O3 takes 2.1 % less cpu_time_s than O2" in said(metric="cpu_time_s")


def test_slower_with_different_counts_and_only_one_direction():
    sentence = said(
        ratio=interval(1.2, 1.15, 1.25),
        verdict="slower",
        n_baseline=28,
        new_pair=interval(1.0, 1.05, 1.4),
        sureness=replace(PAIR.sureness, verdict="slower"),
    )
    assert sentence == (
        "fib: slower: O3 takes 20 % more time than O2 (0.83 x as fast, 95 % interval 15 to 25 % more, "
        "30 and 28 binaries); one more binary of each would show 5 to 40 % more (in 95 of 100 cases)"
    )


def test_undecided():
    sentence = said(
        ratio=interval(0.995, 0.98, 1.01),
        verdict="undecided",
        forecast=FORECAST,
    )
    assert sentence.startswith(
        "fib: cannot tell: O3 took 0.5 % less time than O2 (95 % interval 1.0 % more to 2.0 % less, "
        "30 binaries each); 700 to 1,200 binaries each, executed as often as these, would decide it in at least 80 % of cases if they are about normally "
        "distributed and the two are the same, or there is a true difference of 2.0 % or more; one more binary of each"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fewest": 40, "n_binaries": 40}, "; 40 binaries each, executed as often as these, would decide it"),
        ({"n_binaries": None}, "; 700 to more than 100,000 binaries each, executed as often as these, would decide it"),
        (
            {"n_binaries": None, "fewest": None},
            "; more than 100,000 binaries each, executed as often as these, would decide it",
        ),
        (
            {"difference": 0.004, "is_measured": True},
            "would decide it in at least 80 % of cases if they are about normally distributed and there is a true "
            "difference of 0.4 %, as measured;",
        ),
        (
            {"n_more": 0},
            "; 30 binaries each decide it in at least 80 % of cases if they are about normally distributed and the two "
            "are the same, or there is a true difference of 2.0 % or more; what lies between takes more; one more binary",
        ),
    ],
)
def test_how_many_would_decide(changes, words):
    forecast = replace(FORECAST, **changes)
    assert words in said(ratio=interval(0.995, 0.98, 1.01), verdict="undecided", forecast=forecast)


def test_undecided_for_ever():
    forecast = replace(FORECAST, n_binaries=None, n_more=None, warnings=(NoForecast(1),))
    assert "would decide" not in said(ratio=interval(0.99, 0.98, 1.01), verdict="undecided", forecast=forecast)


def test_equivalent():
    sentence = said(
        ratio=interval(1.001, 0.998, 1.004),
        verdict="equivalent",
        new_pair=None,
        sureness=replace(PAIR.sureness, verdict="equivalent"),
    )
    assert sentence == (
        "fib: same within 1 %: O3 takes 0.10 % more time than O2 "
        "(95 % interval 0.40 % more to 0.20 % less, 30 binaries each)"
    )


def test_a_verdict_that_does_not_stand_beside_the_others():
    sure = Sureness(0.01, 0.2, 0.02, 0.24, 12, "undecided")
    assert "; not sure beside the 12 verdicts given at once (Holm); one more binary" in said(sureness=sure)


def test_one_layout():
    sentence = said(one_layout=(True, True), new_pair=None)
    assert "30 executions each" in sentence
    assert sentence.endswith("one layout alone, so nothing is said of what other layouts would show")
    assert "one more binary" not in sentence


def test_one_layout_of_one_of_the_two():
    sentence = said(one_layout=(True, False), new_pair=None, n_baseline=1, n_candidate=20)
    assert "95 % interval 1.4 to 2.8 % less, 20 binaries of O3, 1 execution of O2)" in sentence
    assert sentence.endswith("O2 has one layout alone, so nothing is said of what other layouts would show")
    assert "one more binary" not in sentence
    undecided = said(one_layout=(True, False), verdict="undecided", forecast=FORECAST)
    assert "700 to 1,200 executions or binaries each would decide it" in undecided


def test_a_single_binary_each():
    sentence = said(
        ratio=interval(1.5, float("-inf"), float("inf")),
        verdict="undecided",
        n_baseline=1,
        n_candidate=1,
        new_pair=interval(1.0, 1.5, 1.5),
        forecast=None,
    )
    assert (
        sentence == "fib: cannot tell: O3 took 50.0 % more time than O2 (95 % interval without bounds, 1 binary each)"
    )


def test_more_is_better():
    sentence = said(
        metric="rate", unit="1/s", better="more", ratio=interval(1.05, 1.03, 1.07), new_pair=interval(1.0, 0.9, 1.2)
    )
    assert sentence == (
        "fib: faster: O3 reaches 5.0 % more rate than O2 (1.05 x as fast, 95 % interval 3.0 to 7.0 % more, "
        "30 binaries each); one more binary of each would show 10 % less to 20 % more (in 95 of 100 cases)"
    )


def test_what_is_no_time_is_less_or_more():
    sentence = said(metric="instructions", unit="1", new_pair=interval(1.0, 0.97, 0.99))
    assert sentence.startswith("fib: less: O3 takes 2.1 % less instructions than O2 (")
    assert sentence.endswith("would show 1.0 to 3.0 % less (in 95 of 100 cases)")


def test_by_round_with_what_single_binaries_and_the_own_builds_would_have_said():
    sentence = said(
        primary="paired",
        single_pairs=SinglePairs(30, 4),
        as_built=AsBuilt(interval(1.012, 1.010, 1.014), "slower", None),
    )
    assert "30 binaries each, round by round); one more" in sentence
    assert sentence.endswith(
        "; 4 of 30 pairs of one binary each say the opposite; "
        "of your own two builds O3 took 1.20 % more time than O2 (95 % interval, of noise alone: 1.00 to 1.40 % more)"
    )
    same = said(verdict="equivalent", ratio=interval(1.0, 0.998, 1.002), single_pairs=SinglePairs(30, 7))
    assert same.endswith("7 of 30 pairs of one binary each differ by more than 1 %")


def test_nothing_differs():
    sentence = said(
        metric="instructions",
        unit="1",
        verdict="equivalent",
        ratio=interval(1.0, 1.0, 1.0),
        new_pair=interval(1.0, 1.0, 1.0),
        sureness=replace(PAIR.sureness, verdict="equivalent"),
    )
    assert sentence.startswith(
        "fib: same within 1 %: O3 takes as much instructions as O2 (95 % interval without width, "
    )
    assert "one more binary" not in sentence


def test_no_ratio():
    assert said(ratio=None) == "fib: cannot tell: no ratio of O3 to O2 can be given"


@pytest.mark.parametrize(
    ("value", "words"), [(0.0123, "p = 0.012"), (0.00001, "p < 0.0001"), (1.0, "p = 1"), (0.5, "p = 0.5")]
)
def test_p_values(value, words):
    assert p_words(value) == words


def test_a_narrow_range_is_given_in_as_many_digits_as_tell_its_ends_apart():
    assert "would show 5.001 to 5.003 % more" in said(new_pair=interval(1.0, 1.050013, 1.050031))
    assert "interval 1.8212 to 1.8213 % less" in said(ratio=interval(0.98178, 0.981787, 0.981788), verdict="faster")
    assert "interval from a tenth or less to ten times or more" in said(ratio=interval(0.7, 0.0001, 945.9))
    assert "would show from a tenth or less to ten times or more" in said(new_pair=interval(0.7, 1e-9, 6.5e13))
    assert "interval 870 % more to 91 % less" in said(ratio=interval(0.7, 0.09, 9.7))


@pytest.mark.parametrize(
    ("mean", "changes", "words"),
    [
        (0.5, {}, "faster than all 4 layouts"),
        (9.0, {}, "slower than all 4 layouts"),
        (2.5, {}, "faster than 2 of 4 layouts"),
        (1.0, {}, "faster than 3 of 4 layouts"),
        (9.0, {"better": "more"}, "faster than all 4 layouts"),
        (0.5, {"unit": "1"}, "less than all 4 layouts"),
        (9.0, {"unit": "1"}, "more than all 4 layouts"),
        (1.0, {"binary_means": ((1, 1.0), (2, 1.0))}, "as all 2 layouts"),
        (0.5, {"binary_means": ((1, 1.0),)}, "faster than the one layout"),
    ],
)
def test_the_place_of_a_build_among_the_layouts(mean, changes, words):
    """Counted in layouts, in the direction that is better: "above 0 %" of them is the best of all."""
    fields = {"binary_means": tuple((seed, float(seed)) for seed in (1, 2, 3, 4)), "unit": "s", "better": "less"}
    assert place_among(SimpleNamespace(**fields | changes), mean) == words


@pytest.mark.parametrize(
    ("mean", "seeds", "words"),
    [
        (0.5, (1, 2, 3), "beats all 3"),
        (9.0, (1, 2, 3), "beaten by all 3"),
        (1.5, (1, 2, 3), "beats 2 of 3"),
        (2.0, (2,), "-"),
        (9.0, (2,), "-"),
    ],
)
def test_the_place_in_a_column(mean, seeds, words):
    fields = {"binary_means": tuple((seed, float(seed)) for seed in seeds), "unit": "s", "better": "less"}
    assert briefly_among(SimpleNamespace(**fields), mean) == words


@pytest.mark.parametrize(
    ("half_width", "digits"), [(10.4, 0), (2.0, 1), (0.7, 1), (0.35, 2), (0.36, 1), (0.16, 2), (1e-9, 4), (0.0, 4)]
)
def test_no_digit_is_finer_than_the_interval(half_width, digits):
    assert digits_of(half_width) == digits


def test_numbers_are_written_alike():
    assert [quantity(value, "1") for value in (196254.0, 22307157.0, 999.0)] == ["196,254", "22,307,157", "999"]
    assert estimate(197254.0, 196254.0, 198254.0, "1") == ("197,300", "[196,300, 198,300]")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0.979123, 0.972, 0.986), ("0.979", "[0.972, 0.986]")),
        ((1.2, 0.7, 1.9), ("1.20", "[0.70, 1.90]")),
        ((0.9981, 0.9965, 0.9997), ("0.9981", "[0.9965, 0.9997]")),
        ((1.5, float("-inf"), float("inf")), ("1.50", "without bounds")),
        ((0.031, 1e-26, 2.6e24), ("0.03", "[≤ 0.1, ≥ 10]")),
    ],
)
def test_ratios_in_tables(values, words):
    assert ratio_words(*values) == words


def test_an_interval_that_tells_nothing_has_no_ends_in_figures():
    """Two layouts of a noisy program: -97 % (-100 ... +2.6e24) would be read as a finding."""
    assert change_words(interval(0.031, 1e-26, 2.6e24)) == ("−97 %", "(−90 or less … +900 or more)")
    assert change_words(interval(1.5, 0.2, 11.0)) == ("+50 %", "(−80 … +1000)")
