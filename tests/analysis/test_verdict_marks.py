"""Verdicts in brief: no figure of a screen says that there is no difference where its verdict says that there is one."""

from __future__ import annotations

import pytest

from layoutrand.analysis.verdict_marks import change_words, size_in_brief
from layoutrand.stats import Interval


def interval(centre, low, high):
    return Interval(centre=1 + centre, low=1 + low, high=1 + high, confidence=0.95, method="paired-log-t", warnings=())


@pytest.mark.parametrize(
    ("ratio", "words", "brief"),
    [
        (interval(7e-10, 7e-10, 7e-10), ("+0.00000007 %", "(exactly)"), "+0.00000007 %"),
        (interval(-7e-8, -8e-8, -6e-8), ("−0.000007 %", "(−0.000008 … −0.000006)"), "−0.000007 %"),
        (interval(4e-5, 4e-5, 4e-5), ("+0.004 %", "(exactly)"), "+0.004 %"),
        (interval(0.0, 0.0, 0.0), ("0.00 %", "(exactly)"), "0.00 %"),
        (interval(7e-8, -8e-8, 2e-7), ("0.0000 %", "(0.0000 … 0.0000)"), "0.0000 %"),
        (interval(0.012345, 0.012345, 0.012345), ("+1.23 %", "(exactly)"), "+1.23 %"),
    ],
)
def test_a_difference_is_not_told_as_none(ratio, words, brief):
    assert change_words(ratio) == words
    assert size_in_brief(ratio) == brief
