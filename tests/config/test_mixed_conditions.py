"""Warnings about executions under unlike conditions."""

from __future__ import annotations

from types import SimpleNamespace

from layoutrand.config.mixed_conditions import launched_executions, mixed_isolation


def executions(*isolations):
    """With these records of their isolation; None is one of before there was any."""
    return [SimpleNamespace(conditions={} if each is None else {"isolation": each}) for each in isolations]


def test_executions_of_before_and_those_in_a_process_group_are_alike():
    assert mixed_isolation(executions(None, "process-group", None)) == []
    assert mixed_isolation(executions("control-group", "control-group")) == []
    assert mixed_isolation([]) == []


def test_two_ways_are_told_with_their_counts_and_what_helps():
    (found,) = mixed_isolation(executions(None, "control-group", None))
    assert "(process-group: 2; control-group: 1)" in str(found)
    assert "run.isolation" in str(found)


def launched(*launchers):
    """By (path, digest, whether it emulates); None is an execution without any."""
    keys = ("launcher", "launcher_sha256", "emulated")
    return [
        SimpleNamespace(
            conditions={} if each is None else dict(zip(keys, ([each[0], "-L", "/x"], *each[1:]), strict=False))
        )
        for each in launchers
    ]


def test_one_launcher_is_nothing_to_tell():
    assert launched_executions(launched(None, None)) == []
    assert launched_executions(launched(("/usr/bin/taskset", "ab"), ("/usr/bin/taskset", "ab"))) == []


def test_an_emulator_is_told():
    (found,) = launched_executions(
        launched(("/usr/bin/qemu-aarch64", "ab", True), ("/usr/bin/qemu-aarch64", "ab", True))
    )
    assert "(qemu-aarch64 2): times are those of its translation" in str(found)


def test_a_launcher_that_changed_is_told():
    (found,) = launched_executions(launched(("/sim", "0123456789"), ("/sim", "abcdef0123"), ("/sim", "abcdef0123")))
    assert "(/sim (abcdef01): 2; /sim (01234567): 1), as when it was upgraded" in str(found)
    (found,) = launched_executions(launched(None, ("/sim", "0123456789")))
    assert "none: 1" in str(found)
