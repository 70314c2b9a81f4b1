"""What counts as a disturbance, and how it is told."""

from __future__ import annotations

import dataclasses

import pytest

from experiments import execution
from fakes import make_config
from layoutrand.config.disturbance import (
    MEND,
    Disturbance,
    Disturbed,
    disturbances,
    explanations,
    sentence,
    summary,
    summed,
)
from layoutrand.config.execution_warnings import DisturbedExecutions, disturbed_together, mixed_settings

QUIET = {
    "window_s": 1.0,
    "load1": 0.1,
    "governor": "performance",
    "turbo": False,
    "throttle_events": 0,
    "steal_s": 0.0,
    "other_cpu_s": 0.0,
    "own_cpu_s": 1.0,
    "swap_in_pages": 0,
    "swap_out_pages": 0,
    "frequency_hz": 2e9,
    "frequency_reference_hz": 2e9,
}


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({}, ()),
        ({"throttle_events": 1, "throttle_ms": 7}, ("throttled",)),
        ({"swap_in_pages": 1}, ("swap",)),
        ({"swap_out_pages": 1}, ("swap",)),
        ({"steal_s": 0.01}, ()),  # one tick is what rounding may do
        ({"steal_s": 0.025}, ()),
        ({"steal_s": 0.04}, ("steal",)),
        ({"other_cpu_s": 0.12}, ()),  # two ticks, 1 % of our own time, 10 %
        ({"other_cpu_s": 0.14}, ("busy",)),
        ({"other_cpu_s": 0.14, "own_cpu_s": 3.0}, ()),  # 1 % of our own time is what sampling may do
        ({"other_cpu_s": 0.04, "window_s": 0.1}, ("busy",)),
        ({"other_cpu_s": 0.02, "window_s": 0.01}, ()),  # of two ticks a short execution says nothing
        ({"frequency_hz": 1.91e9}, ()),
        ({"frequency_hz": 1.89e9}, ("frequency",)),
        ({"frequency_hz": 2.11e9}, ("frequency",)),
        ({"governor_after": "powersave"}, ("governor-changed",)),
        ({"turbo_after": True}, ("turbo-changed",)),
        ({"throttle_events": 2, "frequency_hz": 1e9, "swap_in_pages": 9}, ("throttled", "swap", "frequency")),
    ],
)
def test_what_disturbs(change, names):
    assert disturbances(QUIET | change, Disturbance()) == names


@pytest.mark.parametrize("state", [{}, {"window_s": 1.0}, {"window_s": 0.0, "steal_s": 1.0}, {"frequency_hz": 1e9}])
def test_what_a_machine_does_not_tell_is_no_disturbance(state):
    assert disturbances(state, Disturbance()) == ()


def test_limits_decide():
    state = QUIET | {"steal_s": 0.5, "other_cpu_s": 0.5, "frequency_hz": 1.5e9, "swap_in_pages": 5}
    assert disturbances(state, Disturbance()) == ("swap", "steal", "busy", "frequency")
    assert disturbances(state, Disturbance(steal=0.5, busy=0.5, frequency=0.3, swap_pages=5)) == ()


def test_each_disturbance_is_told_with_its_numbers():
    state = QUIET | {
        "throttle_events": 3,
        "throttle_ms": 40,
        "swap_in_pages": 5,
        "swap_out_pages": 6,
        "steal_s": 0.25,
        "other_cpu_s": 0.5,
        "frequency_hz": 1.5e9,
        "governor_after": "powersave",
        "turbo_after": True,
        "window_s": 2.0,
        "processes": [{"name": "cc1", "pid": 7, "cpu_s": 0.4}],
    }
    said = {name: sentence(name, state) for name in MEND}
    assert said["throttled"] == "the processor slowed down 3 times because of heat, for 40 ms in all"
    assert said["swap"] == "5 pages were swapped in and 6 out"
    assert said["steal"] == "the hypervisor took 0.25 s of CPU time, 12.5 % of a CPU"
    assert said["busy"] == "other processes used 0.50 s of CPU time, 25 % of a CPU (cc1 0.40 s)"
    assert said["frequency"] == "the clock was at 1.50 GHz, -25.0 % against the 2.00 GHz of other executions"
    assert said["governor-changed"] == "the frequency governor changed from performance to powersave"
    assert said["turbo-changed"] == "turbo was switched on"


def _executions(tmp_path, *rows):
    config = make_config(
        '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\nmetric = {wall = true, cachegrind = true}\n'
    )
    return [
        execution(config, tmp_path, system, "b", layout, disturbances=names, host_state=QUIET | state)
        for system, layout, names, state in rows
    ]


def test_the_summary_says_how_many_of_which_benchmark_by_what(tmp_path):
    rows = _executions(
        tmp_path,
        ("a", 1, ("busy",), {"other_cpu_s": 0.2}),
        ("a", 2, (), {}),
        ("b", 1, ("busy", "steal"), {"other_cpu_s": 0.3, "steal_s": 1}),
    )
    simulated = dataclasses.replace(rows[0], instrument="cachegrind")
    (row,) = summary([*rows, simulated], {"cachegrind"})
    assert (row.benchmark, row.executions, row.disturbed) == ("b", 3, 2)
    assert (row.by, row.systems) == ({"busy": 2, "steal": 1}, {"a": 1, "b": 1})
    assert row.line() == "b: 2 of 3 executions were disturbed (busy 2, steal 1; a 1, b 1)"
    assert explanations([row]) == [
        "steal, such as: the hypervisor took 1.00 s of CPU time, 100.0 % of a CPU; " + MEND["steal"],
        "busy, such as: other processes used 0.30 s of CPU time, 30 % of a CPU; " + MEND["busy"],
    ]
    assert summary(rows[1:2], ()) == ()


def test_settings_that_changed_between_executions_are_told(tmp_path):
    rows = _executions(tmp_path, ("a", 1, (), {"governor": "powersave"}), ("a", 2, (), {}), ("a", 3, (), {}))
    assert mixed_settings(rows[1:]) == []
    (line,) = map(str, mixed_settings(rows))
    assert "frequency governor (performance 2, powersave 1)" in line
    (line,) = map(
        str, mixed_settings(_executions(tmp_path, ("a", 1, (), {"turbo": True}), ("a", 2, (), {"turbo": False})))
    )
    assert "turbo (on 1, off 1)" in line


def test_benchmarks_that_were_disturbed_alike_are_one_row_and_cases_are_not():
    """It is one machine that was: three lines of "6 of 6" say no more than one of 18."""

    def row(name, disturbed, of, **by):
        return Disturbed(name, of, disturbed, by, {"O2": disturbed}, {"busy": f"of {name}"}, failed=disturbed // 6)

    rows = [row("a", 6, 6, busy=6), row("b", 7, 7, busy=7, steal=1), row("c", 6, 6, busy=6), row("d", 1, 6, steal=1)]
    cases = [row("bench/x", 6, 6, busy=6), row("bench/y", 6, 6, busy=6)]
    found = summed([*rows, *cases])
    assert list(dict.fromkeys(each.line() for each in found.values())) == [
        "a, b and 1 more: 19 of 19 executions were disturbed (busy 19, steal 1; O2 19)",
        "d: 1 of 6 executions were disturbed (steal 1; O2 1)",
        *(each.line() for each in cases),
    ]
    assert found["a"] is found["c"]
    assert (found["a"].failed, found["a"].examples) == (3, {"busy": "of c"})
    told = disturbed_together([DisturbedExecutions(each, is_repeated=False) for each in [*rows, *cases]])
    assert [each.row.benchmark for each in told] == ["a, b and 1 more", "d", "bench/x, bench/y"]
