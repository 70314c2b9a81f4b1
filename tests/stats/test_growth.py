"""Growing a sample until its interval is narrow (LCP figure 12)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from layoutrand import stats
from layoutrand.errors import AnalysisError
from warningkit import said


def _measure(width):
    return lambda m: stats.Interval(centre=1.0, low=1.0, high=1.0 + width(m), confidence=0.95, method="x", warnings=())


def test_the_table_of_the_paper():
    """LCP table 9: widths 0.0256 ... 0.0155, 0.0149 at m = 3, 5, 7, 10, 13, 15, 16; wanted 0.015: m = 16."""
    widths = {3: 0.0256, 5: 0.0198, 7: 0.0194, 10: 0.0166, 13: 0.0153, 15: 0.0155, 16: 0.0149}

    found = stats.grow_sample(_measure(lambda m: widths.get(m, 0.02)), 0.015, start=3)

    assert (found.count, found.is_reached, said(found.warnings)) == (16, True, ())
    assert [count for count, _ in found.steps] == list(range(3, 17))
    assert found.interval.high == 1.0149


def test_an_interval_exactly_as_wide_as_wanted_is_narrow_enough():
    assert stats.grow_sample(_measure(lambda m: 1 / m), 0.25, start=3).count == 4


def test_a_suite_grows_until_it_is_precise_enough():
    rng = np.random.default_rng(1)
    a, b = ({f"b{i}": rng.normal(10, 0.3, 60) for i in range(5)} for _ in range(2))

    def measure(m):
        first = ({name: scores[:m] for name, scores in suite.items()} for suite in (a, b))
        return stats.suite_ratio(*first, method="bootstrap", n_resamples=500)

    found = stats.grow_sample(measure, 0.02, start=4, step=4, limit=60)

    assert found.is_reached
    assert found.steps[-1][1] <= 0.02 < found.steps[-2][1]
    assert found.interval == measure(found.count)


def test_giving_up_says_about_how_many_would_do():
    found = stats.grow_sample(_measure(lambda m: 1 / math.sqrt(m)), 0.1, limit=25)

    assert (found.count, found.is_reached) == (25, False)
    assert said(found.warnings) == (
        "with 25 measurements the interval is 0.2 wide instead of 0.1; about 100 measurements would do",
    )


def test_giving_up_without_bounds():
    found = stats.grow_sample(_measure(lambda _: math.inf), 0.1, start=3, limit=3)

    assert said(found.warnings) == (
        "with 3 measurements the interval is inf wide instead of 0.1; more than 3 measurements are needed to bound it",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, "width must be a finite number above 0, got 0"),
        ({"width": 1.0, "start": 0}, "start must be an integer of at least 1"),
        ({"width": 1.0, "step": 0}, "step must be an integer of at least 1"),
        ({"width": 1.0, "limit": 2}, "limit 2 is below the first sample size 20"),
    ],
)
def test_messages(arguments, message):
    with pytest.raises(AnalysisError, match=message):
        stats.grow_sample(_measure(lambda _: 1.0), **arguments)
