"""Warm-up: the two heuristics by their definitions, and the suggestion on series of known kind."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError
from layoutrand.stats.warmup import level_changes
from warningkit import said


def _steady(n=300, seed=1, sd=1.0):
    return np.random.default_rng(seed).normal(100, sd, n)


def _warming(n=300, seed=1, start=8):
    values = _steady(n, seed)
    values[:start] += np.linspace(80, 20, start)
    return values


def test_dacapo_by_definition():
    values = np.random.default_rng(3).normal(100, 5, 60)
    ends = [k for k in range(3, 61) if values[k - 3 : k].std(ddof=1) / values[k - 3 : k].mean() < 0.03]

    assert stats.dacapo_warmup(values) == ends[0]
    assert stats.dacapo_warmup([100.0, 100.0, 100.0]) == 3  # its smallest answer, as in ISMM table 3
    assert stats.dacapo_warmup([100.0, 100.0]) is None
    assert stats.dacapo_warmup([1.0, 2.0, 1.0, 2.0]) is None


def test_georges_by_definition():
    values = _warming()

    def relative_half_width(window):
        interval = scipy_stats.ttest_1samp(window, 0).confidence_interval(0.95)
        return (interval.high - interval.low) / 2 / window.mean()

    starts = [k for k in range(291) if relative_half_width(values[k : k + 10]) < 0.05]

    assert stats.georges_warmup(values) == starts[0] > 0
    assert stats.georges_warmup(_steady()) == 0  # its smallest answer, as in ISMM table 3
    assert stats.georges_warmup(_steady(9)) is None


def test_heuristics_take_the_largest_over_executions():
    slow, fast = _warming(60, start=8), _warming(60, start=2)

    for heuristic in (stats.dacapo_warmup, stats.georges_warmup):
        assert heuristic([slow, fast]) == max(heuristic(slow), heuristic(fast))
        assert heuristic([slow, fast[:2]]) is None


def test_suggestion_for_a_series_that_warms_up():
    found = stats.suggest_warmup([_warming(seed=s) for s in (11, 12, 13)])

    assert found.initialised == 8
    assert found.independent == 8
    assert min(found.p_values) >= 0.05
    assert found.n_iterations == 300
    assert all(8 in changes for changes in found.changes)
    assert said(found.warnings) == (
        "a suggestion only: confirm it on the run-sequence plots of at least 3 executions before using it",
    )


@pytest.mark.slow
def test_steady_series_need_no_warmup():
    starts = [stats.suggest_warmup(_steady(seed=s), seed=s) for s in range(60)]

    assert {found.initialised for found in starts} == {0}
    assert sum(found.independent == 0 for found in starts) >= 51  # 95 % each: 57, less 4 standard errors


def test_significance_is_shared_by_the_executions():
    """p = 0.032 rejects independence of one execution at 5 %, but not of one among three."""
    doubtful, *others = (_steady(seed=s) for s in (5, 100, 101))

    assert stats.suggest_warmup(doubtful).independent > 0
    assert stats.suggest_warmup([doubtful, *others]).independent == 0
    assert stats.suggest_warmup([doubtful, *others]).p_values[0] == pytest.approx(0.032)


@pytest.mark.parametrize(
    ("kind", "series"),
    [
        ("alternating", np.where(np.arange(300) % 2 == 0, 100, 110)),
        ("trend", 100 + 0.05 * np.arange(300)),
        ("slow wave", 100 + 5 * np.sin(np.arange(300) / 15)),
    ],
)
def test_dependent_series_reach_no_independent_state(kind, series):
    found = stats.suggest_warmup(series + _steady() - 100)

    assert found.independent is None, kind
    assert found.initialised == 0
    assert (
        "no independent state within 300 iterations: take the same iteration from each execution"
        in said(found.warnings)[-1]
    )


def test_autoregressive_series_are_rarely_taken_for_independent():
    def ar(seed):
        values = _steady(seed=seed) - 100
        for i in range(1, 300):
            values[i] += 0.6 * values[i - 1]
        return 100 + values

    assert sum(stats.suggest_warmup(ar(s), seed=s).independent is not None for s in range(40)) <= 2


def test_a_change_of_state_delays_independence_but_not_initialisation():
    values = _steady(sd=0.5)
    values[150:] += 3

    found = stats.suggest_warmup(values)

    assert (found.initialised, found.independent) == (0, 150)
    assert found.changes == ((150,),)


def test_single_spikes_are_not_changes_of_level():
    values = _steady(sd=0.5)
    values[[40, 90, 170, 260]] += 30

    assert level_changes(values) == ()


def test_a_series_that_is_never_initialised():
    values = np.concatenate([np.full(12, 200.0) + np.arange(12) % 2, [150.0]]) * np.linspace(3, 1, 13)

    assert stats.suggest_warmup(values).initialised is not None
    assert stats.suggest_warmup(values).independent is None


def test_constant_series_and_exact_steps():
    assert stats.suggest_warmup([3.0] * 50).independent == 0
    found = stats.suggest_warmup([9.0] * 5 + [3.0] * 45)
    assert (found.initialised, found.independent, found.changes) == (5, 5, ((5,),))


def test_warnings_count_executions_and_iterations():
    found = stats.suggest_warmup(_steady(15))

    assert said(found.warnings)[1:3] == (
        "15 iterations say little about dependence: 5 more would make 20; the papers look at 300",
        "1 execution seen: 2 more would make 3",
    )


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e200])
def test_units_do_not_matter(scale):
    assert stats.suggest_warmup(_warming() * scale) == stats.suggest_warmup(_warming())
    assert stats.dacapo_warmup(_warming() * scale) == stats.dacapo_warmup(_warming())
    assert stats.georges_warmup(_warming() * scale) == stats.georges_warmup(_warming())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: stats.suggest_warmup([1.0] * 9),
            "suggest_warmup: an execution has 9 iterations, at least 10 are needed",
        ),
        (
            lambda: stats.suggest_warmup(np.ones((2, 3, 20))),
            "expected axes (execution, iteration) or (iteration), got 3 axes",
        ),
        (lambda: stats.suggest_warmup([1.0] * 20, tolerance=0), "tolerance must be a finite number above 0, got 0"),
        (lambda: stats.suggest_warmup([1.0] * 20, significance=2), "significance must be a fraction"),
        (lambda: stats.dacapo_warmup([1.0], window=1), "window must be an integer of at least 2, got 1"),
        (lambda: stats.dacapo_warmup([1.0], threshold=0), "threshold must be a finite number above 0"),
        (lambda: stats.georges_warmup([1.0], confidence=1), "confidence must lie strictly between 0 and 1"),
    ],
)
def test_messages(call, message):
    with pytest.raises(AnalysisError) as error:
        call()

    assert message in str(error.value)
