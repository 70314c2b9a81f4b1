from __future__ import annotations

import signal

import pytest

from layoutrand.config.conditions import (
    Conditions,
    Ending,
    limit_verdict,
    reason_with_refusals,
)
from layoutrand.config.topology import Placement

LIMITED = Conditions(memory_limit=2 << 30, output_limit=1 << 20)


def test_facts_are_what_was_asked_for():
    assert Conditions().facts() == {}
    assert Conditions(stack_offset=0, priority=0).facts() == {"stack_offset": 0, "priority": 0}
    everything = Conditions(Placement((1,), (3,)), -5, 16, 32, 4096, 1, 2)
    assert everything.facts() == {
        "cpus": [1],
        "siblings": [3],
        "priority": -5,
        "stack_offset": 16,
        "heap_offset": 32,
        "mmap_offset": 4096,
        "memory_limit": 1,
        "output_limit": 2,
    }


@pytest.mark.parametrize(
    "ending",
    [
        Ending("ok", ""),
        Ending("timeout", "still running"),
        Ending("exit", "exit status 1"),
        Ending("signal", "killed", signal.SIGXFSZ),
    ],
)
def test_without_limits_nothing_is_added(ending):
    assert limit_verdict(Conditions(), ending) == (ending.status, ending.reason)


@pytest.mark.parametrize(
    ("ending", "status", "words"),
    [
        (Ending("ok", "", written=5), "ok", ""),
        (Ending("timeout", "still running", signal.SIGTERM, 1 << 20), "timeout", "still running"),
        (Ending("signal", "killed", signal.SIGXFSZ, 5), "output-limit", "killed by SIGXFSZ: a file that it wrote"),
        (
            Ending("ok", "", written=1 << 20),
            "output-limit",
            "its output reached output_limit = 1 MiB, and the rest is lost",
        ),
        (Ending("exit", "exit status 1", written=1 << 20), "output-limit", "the rest is lost; exit status 1"),
        (
            Ending("exit", "exit status 1", peak=1.5 * 2**30),
            "exit",
            "exit status 1 (memory_limit = 2 GiB was in force; peak resident memory 1.5 GiB; output_limit = 1 MiB was in force)",
        ),
        (
            Ending("signal", "killed by signal 6 (SIGABRT)", signal.SIGABRT),
            "signal",
            "killed by signal 6 (SIGABRT) (memory_limit = 2 GiB was in force; output_limit = 1 MiB was in force)",
        ),
    ],
)
def test_with_limits_the_reason_says_what_is_known(ending, status, words):
    found, reason = limit_verdict(LIMITED, ending)
    assert found == status
    assert words in reason


def test_refused_starts_are_told_of_what_failed():
    limited = Conditions(process_limit=7)
    words = "exit status 2 (process_limit = 7 kept it from starting 3 more)"
    assert reason_with_refusals(limited, "exit", "exit status 2", 3) == words
    assert reason_with_refusals(limited, "exit", "exit status 2", 0) == "exit status 2"
    assert reason_with_refusals(limited, "ok", "", 3) == ""
    assert reason_with_refusals(limited, "timeout", "so long", 3) == "so long"
