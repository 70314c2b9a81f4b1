"""Every finding that a conclusion can rest on has a line in `analysis/reasons.py`, so that none is silently passed over."""

from __future__ import annotations

from typing import get_args

from layoutrand.analysis.next_steps import STEPS, StepKind
from layoutrand.analysis.reasons import MEANINGS, NOTES, Cause, Effect
from layoutrand.warning import AnyWarning
from warningkit import kinds

OF_CONCLUSIONS = (
    "layoutrand.analysis.analysis_warnings",
    "layoutrand.analysis.clock_warnings",
    "layoutrand.analysis.conclusion_warnings",
    "layoutrand.analysis.damage_warnings",
    "layoutrand.analysis.machine_warnings",
    "layoutrand.analysis.node_warnings",
    "layoutrand.analysis.noise_warnings",
    "layoutrand.analysis.start_warnings",
    "layoutrand.config.execution_warnings",
)
"""Modules whose kinds are told beside what `analyse` and `compare` conclude."""


def test_each_finding_means_something_for_a_conclusion_or_is_a_note():
    found = {kind for kind in kinds() if kind.__module__ in OF_CONCLUSIONS}
    missing = sorted(kind.__qualname__ for kind in found - MEANINGS.keys() - NOTES)

    assert len(found) > 30
    assert missing == [], "give each a line in MEANINGS of analysis/reasons.py, or in NOTES where it changes nothing"
    assert MEANINGS.keys() & NOTES == set()


def test_meanings_have_the_words_that_they_need():
    assert set(STEPS) == set(get_args(StepKind))
    assert {meaning.effect for meaning in MEANINGS.values()} <= set(get_args(Effect))
    assert {meaning.cause for meaning in MEANINGS.values()} <= set(get_args(Cause))
    assert all(issubclass(kind, AnyWarning) for kind in MEANINGS)
