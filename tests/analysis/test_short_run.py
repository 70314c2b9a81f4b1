"""Of a run that could not show a drift, it is said that its mean is its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from experiments import measured, selected, write
from fakes import make_config
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.documents import analyse_document
from layoutrand.analysis.sentences import of_analysis
from layoutrand.analysis.short_run import FEWEST, short_run
from roundkit import executed, layouts

CONFIG = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', systems=("a",))


def sample_of(rounds):
    """A sample with as many executions of stock as of layouts."""
    rng = np.random.default_rng(1)
    plan = [(seed, "ab") for seed in range(1, rounds + 1)]
    return executed(rng, plan, {s: layouts(rng, "normal", rounds + 1) for s in "ab"})[0]


@pytest.mark.parametrize(("rounds", "found"), [(5, 10), (44, 88), (45, None)])
def test_all_executions_of_the_system_count(rounds, found):
    assert FEWEST == 90
    assert short_run(sample_of(rounds)) == found


def test_where_the_order_is_not_known_or_does_not_matter_nothing_is_said():
    sample = sample_of(5)
    assert short_run(replace(sample, started={})) is None
    assert short_run(replace(sample, instrument="cachegrind")) is None


def test_it_stands_in_the_sentence_and_in_the_document(tmp_path):
    write(CONFIG, tmp_path, measured(CONFIG, tmp_path, "a", "b", {k: [[1 + 0.01 * (k * 7 % 5)]] for k in range(1, 13)}))
    report = analyse(selected(CONFIG, tmp_path), confidence=0.95, metrics=[])

    assert analyse_document(report)["benchmarks"][0]["short_run"] == 12
    assert (
        "; 12 executions are too few to show whether the machine drifts, so the mean is that of this run, and another "
        "run may differ by more"
    ) in of_analysis(report.analyses[0])
