"""Warnings of statistics: what they are about, and what they count."""

from layoutrand import stats
from layoutrand.stats.advice import NoVariation, Single, TooFew, UnboundedRatio
from layoutrand.stats.stats_warning import BASELINE, CANDIDATE, WarningSubject


def test_a_ratio_says_which_system_each_warning_is_about():
    found = stats.ratio_interval([1.0, 1.1, 1.2], [2.0, 2.0, 2.0, 2.0])

    assert found.warnings == (
        TooFew(3, of=(BASELINE,)),
        TooFew(4, of=(CANDIDATE,)),
        NoVariation(of=(CANDIDATE,)),
    )
    assert [each.sides for each in found.warnings] == [{"baseline"}, {"candidate"}, {"candidate"}]


def test_a_pairing_names_the_system_that_does_not_vary():
    assert stats.pairing([1.0] * 5, [1.0, 2.0, 3.0, 2.0, 1.0]).warnings == (NoVariation(of=(BASELINE,)),)
    assert stats.pairing([1.0] * 5, [2.0] * 5).warnings == (NoVariation(of=(BASELINE, CANDIDATE)),)


def test_data_whose_highest_level_is_executions_are_told_of_executions():
    assert "binar" in str(Single())
    for warning in (Single(), TooFew(3), NoVariation(), UnboundedRatio(3, 9), UnboundedRatio(3, None)):
        told = warning.in_executions()
        assert "binar" not in str(told)
        assert "execution" in str(told)
        assert told != warning


def test_benchmarks_are_named_with_their_side():
    subjects = (WarningSubject("baseline", "gcc"), WarningSubject("candidate", "mcf"))

    assert str(NoVariation(of=subjects)).startswith("all binaries of gcc (baseline), mcf (candidate) have exactly")
