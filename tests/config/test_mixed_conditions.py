"""Warnings about executions under unlike conditions."""

from __future__ import annotations

from types import SimpleNamespace

from layoutrand.config.mixed_conditions import mixed_isolation


def executions(*isolations):
    """With these records of their isolation; None is one of before there was any."""
    return [SimpleNamespace(conditions={} if each is None else {"isolation": each}) for each in isolations]


def test_executions_of_before_and_those_in_a_process_group_are_alike():
    assert mixed_isolation(executions(None, "process-group", None)) == []
    assert mixed_isolation(executions("control-group", "control-group")) == []
    assert mixed_isolation([]) == []


def test_two_ways_are_told_with_their_counts_and_what_helps():
    (found,) = mixed_isolation(executions(None, "control-group", None))
    assert "(process-group 2, control-group 1)" in str(found)
    assert "run.isolation" in str(found)
