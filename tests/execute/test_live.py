"""What is told while a run goes on: time left from measured durations, means with their half-widths."""

from __future__ import annotations

import math

import pytest

from experiments import execution
from fakes import make_config
from layoutrand.config.schedule import Slot
from layoutrand.config.twice import second_of
from layoutrand.execute.live import Live
from layoutrand.execute.run_progress import cost, executed_alone, limit_words
from layoutrand.model import Measurement

CONFIG = make_config(
    '[[benchmarks]]\nname = "x"\ncommand = ["{artefact}"]\nmetric = {wall = true, cachegrind = true}\n[[benchmarks]]\nname = "y"\ncommand = ["{artefact}"]\nmetric = {wall = true, cachegrind = true}\n'
)
BENCHMARKS = {benchmark.name: benchmark for benchmark in CONFIG.benchmarks}


def slots(system, benchmark, count, instrument="native"):
    return [Slot(system, benchmark, 1, instrument, 1, k, k) for k in range(count)]


def done(tmp_path, system, benchmark, seconds, **changes):
    values = (Measurement("wall_s", "s", 0, seconds, warmup=False),)
    fields = {"layout": 1, "wall_s": seconds, "started_at": 0.0, "measurements": values} | changes
    return execution(CONFIG, tmp_path, system, benchmark, fields.pop("layout"), **fields)


def test_nothing_is_known_before_anything_was_executed():
    assert Live(BENCHMARKS, [], slots("a", "x", 3)).remaining_s() is None


def test_of_short_executions_nothing_is_known_before_the_second(tmp_path):
    """What lies between them is most of the time that they take."""
    live = Live(BENCHMARKS, [], slots("a", "x", 60))
    live.add(done(tmp_path, "a", "x", 0.004, started_at=100.0))
    assert live.remaining_s() is None
    live.add(done(tmp_path, "a", "x", 0.004, started_at=100.5))
    assert live.remaining_s() == pytest.approx(58 * 0.5)


def test_nothing_is_left_at_the_end(tmp_path):
    live = Live(BENCHMARKS, [], slots("a", "x", 1))
    live.add(done(tmp_path, "a", "x", 5.0))
    assert live.remaining_s() == 0


def test_durations_are_means_of_each_kind_earlier_ones_included(tmp_path):
    live = Live(BENCHMARKS, [done(tmp_path, "a", "x", 1.0)], slots("a", "x", 4) + slots("a", "y", 2))
    live.add(done(tmp_path, "a", "x", 3.0))  # mean 2 s
    live.add(done(tmp_path, "a", "y", 10.0, started_at=3.0))
    assert live.remaining_s() == pytest.approx(3 * 2.0 + 1 * 10.0)


def test_a_kind_that_was_never_executed_lasts_as_long_as_those_most_like_it(tmp_path):
    known = [done(tmp_path, "a", "x", 1.0), done(tmp_path, "a", "y", 9.0)]
    known.append(done(tmp_path, "a", "x", 50.0, instrument="cachegrind"))
    assert Live(BENCHMARKS, known, slots("b", "x", 2)).remaining_s() == pytest.approx(2.0)  # the same benchmark
    assert Live(BENCHMARKS, known, slots("b", "y", 1, "cachegrind")).remaining_s() == pytest.approx(50.0)


def test_of_a_simulator_executions_without_it_tell_no_duration_nor_it_theirs(tmp_path):
    """It takes tens of times as long: 40 executions of 30 ms, half of them simulated, were said to take two seconds."""
    plain, simulated = done(tmp_path, "a", "x", 2.0), done(tmp_path, "a", "x", 50.0, instrument="cachegrind")
    both = slots("a", "x", 1) + slots("a", "x", 1, "cachegrind")
    for known in ([plain], [simulated]):
        assert Live(BENCHMARKS, known, both).remaining_s() is None
    assert Live(BENCHMARKS, [plain, simulated], both).remaining_s() == pytest.approx(52.0)


def test_what_lies_between_executions_takes_its_time_too(tmp_path):
    live = Live(BENCHMARKS, [], slots("a", "x", 4))
    live.add(done(tmp_path, "a", "x", 1.0, started_at=100.0))
    live.add(done(tmp_path, "a", "x", 1.0, started_at=101.5))
    assert live.remaining_s() == pytest.approx(2 * 1.5)
    live.add(done(tmp_path, "a", "x", 1.0, started_at=7.0))  # somebody set the clock
    assert live.remaining_s() == pytest.approx(1.25)


def test_standings_are_means_over_binaries_with_their_half_width(tmp_path):
    """Closed form: t(0.975, 2) s / sqrt(3) / mean for 9, 10, 11; several executions of a binary are its mean."""
    values = [(1, 9.0), (2, 9.0), (2, 11.0), (3, 11.0)]
    live = Live(BENCHMARKS, [done(tmp_path, "a", "x", v, layout=k) for k, v in values], [])
    (standing,) = live.standings(confidence=0.95)
    assert (standing.system, standing.benchmark, standing.unit, standing.n_binaries) == ("a", "x", "s", 3)
    assert standing.mean == pytest.approx(10.0)
    assert standing.relative_half_width == pytest.approx(4.302653 / math.sqrt(3) / 10, rel=1e-6)


def test_controls_failures_warm_up_and_other_metrics_are_no_part_of_the_mean(tmp_path):
    warm = (Measurement("wall_s", "s", 0, 99.0, warmup=True), Measurement("wall_s", "s", 1, 2.0, warmup=False))
    live = Live(BENCHMARKS, [], [])
    for item in (
        done(tmp_path, "a", "x", 50.0, layout="stock"),
        done(tmp_path, "a", "x", 60.0, status="exit", measurements=()),
        done(tmp_path, "a", "x", 70.0, instrument="cachegrind"),
        done(tmp_path, "a", "x", 2.0, measurements=(*warm, Measurement("user_s", "s", 0, 70.0, warmup=False))),
    ):
        live.add(item)
    (standing,) = live.standings(confidence=0.95)
    assert (standing.mean, standing.n_binaries, standing.relative_half_width) == (2.0, 1, None)


def test_a_mean_of_zero_has_no_relative_width(tmp_path):
    zero = [done(tmp_path, "a", "x", 0.0, layout=k) for k in (1, 2, 3)]
    (standing,) = Live(BENCHMARKS, zero, []).standings(confidence=0.95)
    assert standing.relative_half_width is None


def test_systems_stand_against_the_first_by_rounds_that_both_are_done_in(tmp_path):
    values = {"b": [8.0, 8.1, 7.9, 8.2, 8.0, 7.8], "a": [10.0, 10.1, 9.9, 10.2, 10.0, 9.9, 50.0]}
    rounds = [(s, k, v) for s, row in values.items() for k, v in enumerate(row, 1)]
    recorded = [done(tmp_path, s, "x", v, layout=k, started_at=20.0 * k) for s, k, v in rounds]
    (ratio,) = Live(BENCHMARKS, recorded, [], ["a", "b"]).ratios(confidence=0.95)
    assert (ratio.benchmark, ratio.baseline, ratio.candidate, ratio.n_rounds) == ("x", "a", "b", 6)
    assert ratio.ratio.low < ratio.ratio.centre < ratio.ratio.high < 0.99
    assert ratio.ratio.centre == pytest.approx(
        math.prod(v / w for v, w in zip(*values.values(), strict=False)) ** (1 / 6)
    )
    assert Live(BENCHMARKS, recorded, [], ["a"]).ratios(confidence=0.95) == []


def test_rounds_of_which_systems_were_executed_at_different_times_give_no_ratio(tmp_path):
    """What `compare` takes for an error of design is no verdict while it is made, either."""
    earlier = [done(tmp_path, "a", "x", 10.0 + k / 9, layout=k, started_at=20.0 * k) for k in range(1, 9)]
    live = Live(BENCHMARKS, earlier, [], ["a", "b"])
    later = [done(tmp_path, "b", "x", 8.0 + k / 7, layout=k, started_at=1000 + 20.0 * k) for k in range(1, 9)]
    for each in later:
        live.add(each)
    assert live.ratios(confidence=0.95) == []
    assert Live(BENCHMARKS, earlier + later, [], ["a", "b"]).ratios(confidence=0.95) == []
    for layout in range(9, 15):
        for system, seconds in (("b", 8.0), ("a", 10.0)):
            live.add(done(tmp_path, system, "x", seconds + layout / 11, layout=layout))
    (ratio,) = live.ratios(confidence=0.95)
    assert ratio.n_rounds == 6


def test_the_time_between_executions_is_that_of_earlier_ones_before_there_are_others(tmp_path):
    earlier = [done(tmp_path, "a", "x", 0.1, layout=k, started_at=1.1 * k) for k in range(1, 4)]
    assert Live(BENCHMARKS, earlier, slots("a", "x", 10)).remaining_s() == pytest.approx(11.0)


def test_a_system_that_is_added_later_is_said_to_be_executed_alone():
    both = [Slot(s, "x", k, "native", k, 0, 2 * k) for k in range(1, 31) for s in "ab"]
    said = executed_alone(both, [slot for slot in both if slot.system == "b"])
    assert said.startswith("b is executed alone: the others have 30 ") and said.endswith("run --seeds 31..60")
    twice = [Slot(s, "x", k, "native", k, 0, 2 * k) for k in range(1, 31) for s in ("a", second_of("a"))]
    assert executed_alone(twice, twice[1::2]).endswith("run --seeds 31..60 --twice")
    assert executed_alone(both, both) == executed_alone(both, []) == ""
    assert (
        executed_alone(both, [slot for slot in both if slot.round > 10 or (slot.round, slot.system) == (10, "b")]) == ""
    )
    counted = [Slot(s, "x", k, "cachegrind", k, 0, 2 * k) for k in range(1, 31) for s in "ab"]
    assert executed_alone(counted, [slot for slot in counted if slot.system == "b"]) == ""


def test_what_is_about_to_be_executed_is_said_with_its_time_where_that_is_known(tmp_path):
    known = [done(tmp_path, "a", "x", 2.0)]
    assert (
        cost(Live(BENCHMARKS, known, slots("a", "x", 40)), 40, 1)
        == "40 executions (1 is recorded already), about 1 min 20 s"
    )
    assert cost(Live(BENCHMARKS, [], slots("a", "x", 1000)), 1000, 0) == "1,000 executions"


def test_after_how_long_an_execution_is_killed_is_said_before_one_has_ended():
    """A program that waits for ever looks like any other: nothing is drawn while it is executed."""
    pending = slots("a", "x", 3)
    killed = "; one that still runs after 10 min is killed (timeout_s"
    assert limit_words(BENCHMARKS, pending) == f"{killed})"
    assert cost(Live(BENCHMARKS, [], pending), 3, 0, limit_words(BENCHMARKS, pending)) == f"3 executions{killed})"
    assert limit_words(BENCHMARKS, pending, {"x"}) == ""
    assert limit_words(BENCHMARKS, pending, {"y"}) == f"{killed})"
    simulated = limit_words(BENCHMARKS, pending + slots("a", "x", 3, "cachegrind"))
    assert simulated == f"{killed}, 50 times that under cachegrind)"
    longer = BENCHMARKS | {"y": BENCHMARKS["y"].model_copy(update={"timeout_s": 3600.0})}
    assert limit_words(longer, pending + slots("a", "y", 1)) == killed.replace("10 min", "10 min to 1 h") + ")"
    assert limit_words(BENCHMARKS, []) == ""
