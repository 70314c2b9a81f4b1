"""What `try` says before it answers."""

from __future__ import annotations

from layoutrand.cli.trying import times_alone
from layoutrand.execute.output_warnings import MeasuresItself


def test_how_long_a_simulation_takes_is_not_promised_of_what_may_run_for_a_fixed_time():
    takes = "times alone: to count on a simulated processor would take about 13 min 50 s more"
    assert times_alone(830, []) == f"{takes} (--simulate does it)"
    said = times_alone(830, [MeasuresItself("lz4", "wall_s", "257.8 MB/s", "263.5 MB/s")])
    assert said.startswith(f"{takes} if the program does the same work each time")
    assert said.endswith("if it runs for a fixed time, counts say nothing")
