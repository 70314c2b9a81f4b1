from __future__ import annotations

import signal
from collections import Counter

import pytest

from layoutrand.config.conditions import (
    MAX_STACK_OFFSET,
    STACK_STEP,
    Conditions,
    Ending,
    draw_stack_offset,
    limit_verdict,
)
from layoutrand.config.topology import Placement

LIMITED = Conditions(memory_limit=2 << 30, output_limit=1 << 20)


def test_offsets_are_pinned_for_ever():
    """Whoever cites a schedule seed gets these offsets from it again."""
    assert [draw_stack_offset(1, bytes([n])) for n in range(6)] == [3184, 1920, 192, 2272, 3536, 528]
    assert draw_stack_offset(2, b"\0") != draw_stack_offset(1, b"\0")


def test_offsets_are_spread_over_all_steps():
    counts = Counter(draw_stack_offset(1, str(n).encode()) for n in range(20_000))
    assert set(counts) == set(range(0, MAX_STACK_OFFSET, STACK_STEP))
    expected = 20_000 / len(counts)
    chi_squared = sum((count - expected) ** 2 / expected for count in counts.values())
    assert chi_squared < 300, "223 degrees of freedom: 300 is beyond the 99.9th percentile"


def test_facts_are_what_was_asked_for():
    assert Conditions().facts() == {}
    assert Conditions(stack_offset=0, priority=0).facts() == {"stack_offset": 0, "priority": 0}
    everything = Conditions(Placement((1,), (3,)), -5, 16, 1, 2)
    assert everything.facts() == {
        "cpus": [1],
        "siblings": [3],
        "priority": -5,
        "stack_offset": 16,
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
