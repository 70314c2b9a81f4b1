"""What is said of predicted layouts: the command that measures is about what was predicted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from explainkit import HOTNESS, explanation
from layoutrand.explain.predicted_layouts import Predicted, rounds_of
from layoutrand.explain.prediction_words import next_step


@pytest.mark.parametrize(
    ("is_primary", "drawn", "project", "more"),
    [
        (True, 10_000, ".", ""),
        (False, 10_000, ".", " --metric wall_s"),  # by default the main metric is predicted, and another layout is best
        (False, 300, "p", " --metric wall_s --layouts 300 -C p"),
    ],
)
def test_the_next_command_measures_what_was_predicted(tmp_path, is_primary, drawn, project, more):
    subject = explanation(tmp_path).subject
    subject = replace(subject, sample=replace(subject.sample, is_primary=is_primary))
    found = Predicted(subject, HOTNESS, (1,), drawn, SimpleNamespace(), 0.01, 40, 0.95)
    told = next_step(found, 10_000, Path(project))
    assert told == f"layoutrand predict --system O2 --benchmark b{more} --measure 20"
    assert not next_step(replace(found, p_value=0.5), 10_000, Path(project))


def test_each_layout_that_is_measured_has_controls_of_its_own():
    """Those beside the layout that was best in an earlier call were executed at another time."""
    first, second = rounds_of(40, 20), rounds_of(41, 20)
    assert len(first) == 20
    assert not set(first) & set(second)
    assert set(first) < set(rounds_of(40, 30))  # more of the same go on
