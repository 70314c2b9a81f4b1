"""Times that lie on one or two steps of their clock: what is concluded allows for half a step, and says why."""

from __future__ import annotations

import dataclasses

import pytest

from experiments import measured, selected, write
from fakes import make_config
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.clock_warnings import CoarseClock
from layoutrand.analysis.compare import compare
from layoutrand.analysis.conclusion import of_layouts, of_pair, of_suite
from layoutrand.analysis.plan import make_plans
from layoutrand.screens.plan_screen import plan_screen
from layoutrand.stats.streams import Stream

NAMES = ("x", "y")
CONFIG = make_config(
    "".join(
        f'[[benchmarks]]\nname = "{name}"\ncommand = ["{{artefact}}"]\nmetric = {{ wall = true }}\n' for name in NAMES
    ),
    systems="ab",
)
N, LAYOUT, NOISE = 10, 0.01, 0.005


def experiment(tmp_path, number, *, seconds, step, ratio=1.0, names=NAMES[:1]):
    """Ten layouts of two systems, and stock, measured in steps, which may be two."""
    rows = []
    steps = step if isinstance(step, tuple) else (step, step)
    for (system, factor), own in zip((("a", 1.0), ("b", ratio)), steps, strict=True):
        for name in names:
            points = Stream(number, "clock", system, name).normals(3 * N).reshape(3, N)
            layouts = seconds * factor * (1 + LAYOUT * points[0]) * (1 + NOISE * points[1])
            stock = seconds * factor * (1 + NOISE * points[2])
            data = {k + 1: [[_read(value, own)]] for k, value in enumerate(layouts)}
            data["stock"] = [[_read(value, own)] for value in stock]
            rows += measured(CONFIG, tmp_path, system, name, data)
    return write_and_select(tmp_path, rows)


def write_and_select(tmp_path, rows):
    tmp_path.mkdir(exist_ok=True)
    write(CONFIG, tmp_path, rows)
    return selected(CONFIG, tmp_path)


def _read(value, step):
    return float(value) if step is None else round(value / step) * step


def compared(selection, threshold=0.01):
    return compare(selection, "a", "b", confidence=0.95, threshold=threshold, metric=None)


@pytest.mark.parametrize("seconds", [0.2, 0.205])
def test_two_systems_within_a_step_are_not_called_the_same(tmp_path, seconds):
    """The truth is 2 % slower, and 1.25 and 2.5 % are half a step: of 30 experiments none says the same or faster."""
    for number in range(15):
        result = compared(experiment(tmp_path / str(number), number, seconds=seconds, step=0.01, ratio=1.02))
        (pair,) = result.benchmarks
        concluded = of_pair(result, pair)
        assert concluded.verdict == "cannot tell"
        assert "coarse clock" in [each.cause for each in concluded.reasons]
        assert pair.ratio.low <= 1.02 <= pair.ratio.high
        assert (pair.sureness.no_difference, pair.sureness.decision) == (1, 1), "no verdict is sure"
        assert (pair.forecast, pair.median) == (None, None)  # more layouts do not make steps finer
        assert [each.kind for each in concluded.next] == ["more work"]
        assert pair.as_built.ratio.low <= 1.02 <= pair.as_built.ratio.high


def test_steps_that_are_no_power_of_ten_have_the_same_room(tmp_path):
    """A clock of 1/64 s, as of old kernels: the truth is 2 % slower, and 3.9 % are half a step."""
    result = compared(experiment(tmp_path, 0, seconds=0.205, step=1 / 64, ratio=1.02))
    (pair,) = result.benchmarks
    assert of_pair(result, pair).verdict == "cannot tell"
    assert [each.step_s for each in pair.warnings if isinstance(each, CoarseClock)] == [pytest.approx(1 / 64)]
    assert pair.ratio.low <= 1.02 <= pair.ratio.high


@pytest.mark.parametrize("steps", [(0.01, 0.0001), (0.0001, 0.01)])
def test_a_system_that_prints_more_digits_hides_no_steps_of_the_other(tmp_path, steps):
    """Of these 30 experiments with systems that are the same, 7 intervals had no 1 while a step was what both have."""
    selections = [experiment(tmp_path / str(n), n, seconds=0.2025, step=steps) for n in range(15)]
    for result in map(compared, selections):
        (pair,) = result.benchmarks
        assert of_pair(result, pair).verdict == "cannot tell"
        assert pair.ratio.low <= 1 <= pair.ratio.high
        assert [each.step_s for each in pair.warnings if isinstance(each, CoarseClock)] == [pytest.approx(0.01)]
    coarse = "ab"[steps.index(0.01)]
    for selection in selections:
        report = analyse(selection, confidence=0.95, metrics=[])
        (own,) = (each for each in report.analyses if each.system == coarse)
        assert [each.step_s for each in own.warnings if isinstance(each, CoarseClock)] == [pytest.approx(0.01)]


def test_what_is_larger_than_the_steps_is_found_and_sure(tmp_path):
    result = compared(experiment(tmp_path, 0, seconds=0.2, step=0.01, ratio=1.5))
    (pair,) = result.benchmarks
    concluded = of_pair(result, pair)
    assert (concluded.verdict, concluded.beside, concluded.reasons) == ("slower", "slower", ())
    assert pair.sureness.decision < 0.05
    assert pair.ratio.low <= 1.5 <= pair.ratio.high


def test_what_one_more_of_each_would_show_is_no_narrower_than_what_all_show(tmp_path):
    """All of them measure one number, and so would the next: of their means half a step is open all the same."""
    (pair,) = compared(experiment(tmp_path, 1, seconds=0.2, step=0.1)).benchmarks
    assert pair.ratio is not None
    assert pair.ratio.low < 0.96
    assert pair.new_pair is None


def test_a_suite_of_such_benchmarks_is_as_uncertain(tmp_path):
    result = compared(experiment(tmp_path, 0, seconds=0.2, step=0.01, ratio=1.02, names=NAMES))
    suite = of_suite(result)
    assert suite is not None
    assert suite.verdict == "cannot tell"
    assert "coarse clock" in [each.cause for each in suite.reasons]
    assert result.suite.ratio.low <= 1.02 <= result.suite.ratio.high
    assert (result.suite.p_value, result.suite.bootstrap) == (None, None)


def test_layouts_that_a_clock_does_not_tell_apart_are_not_called_alike(tmp_path):
    """The mean and what layouts add, 1 %, lie in their intervals, and no experiment says that layout matters not."""
    for number in range(15):
        report = analyse(
            experiment(tmp_path / str(number), number, seconds=0.2, step=0.01), confidence=0.95, metrics=[]
        )
        for each in report.analyses:
            assert of_layouts(each, report.warnings).verdict == "cannot tell"
            assert each.findings.layout.upper >= LAYOUT
            assert each.mean.low <= 0.2 <= each.mean.high
            assert [type(w) for w in each.warnings if isinstance(w, CoarseClock)] == [CoarseClock]


@pytest.mark.parametrize(("seconds", "step"), [(0.2, None), (2.0, 0.001), (2.0, 0.01)])
def test_of_times_that_scatter_over_steps_nothing_changes(tmp_path, seconds, step):
    selection = experiment(tmp_path, 1, seconds=seconds, step=step, ratio=1.03)
    (pair,) = compared(selection).benchmarks
    assert not any(isinstance(each, CoarseClock) for each in pair.warnings)
    assert pair.verdict == "slower"
    assert pair.ratio.half_width < 0.02


def constant(tmp_path, a, b):
    """Six layouts of two systems, each time the same."""
    rows = []
    for system, value in (("a", a), ("b", b)):
        data = {number: [[value]] for number in range(1, 7)} | {"stock": [[value]] * 6}
        rows += measured(CONFIG, tmp_path, system, NAMES[0], data)
    return compared(write_and_select(tmp_path, rows))


@pytest.mark.parametrize(
    ("times", "verdict", "low", "high"),
    [
        ((0.2, 0.3), "slower", 1.43, 1.57),
        ((0.2, 0.2), "cannot tell", 0.95, 1.06),
        ((2.0, 3.0), "cannot tell", 0.99, 2.4),
    ],
)
def test_of_one_number_each_a_step_is_its_last_digit_or_a_tenth(tmp_path, times, verdict, low, high):
    """Whole numbers have no finer step than 1: 2 s may be anything from 1.5 to 2.5 s."""
    result = constant(tmp_path, *times)
    (pair,) = result.benchmarks
    assert of_pair(result, pair).verdict == verdict
    assert low <= pair.ratio.low <= times[1] / times[0] <= pair.ratio.high <= high


def test_times_that_differ_in_the_same_way_each_time_are_not_said_to_lie_on_two_steps(tmp_path):
    rows = []
    for system, factor in (("a", 1), ("b", 2)):
        data = {number: [[factor * (20 + number) / 100]] for number in range(1, 9)}
        rows += measured(CONFIG, tmp_path, system, NAMES[0], data)
    (pair,) = compared(write_and_select(tmp_path, rows)).benchmarks
    (found,) = [each for each in pair.warnings if isinstance(each, CoarseClock)]
    assert "the ratio is the same each time" in found.brief()
    assert pair.ratio.low < 2 < pair.ratio.high


def test_one_quantity_has_one_step_whatever_asks(tmp_path):
    """Of a system that is 0.20 s each time the other one says that the clock has steps of 10 ms."""
    rows = measured(CONFIG, tmp_path, "a", NAMES[0], {n: [[0.21 if n == 1 else 0.2]] for n in range(1, 11)})
    rows += measured(CONFIG, tmp_path, "b", NAMES[0], {n: [[0.2]] for n in range(1, 11)})
    selection = write_and_select(tmp_path, rows)
    report = analyse(selection, confidence=0.95, metrics=[])
    plans = make_plans(selection, {}, half_widths=[0.01], threshold=0.01, confidence=0.95)
    pairs = compared(selection).benchmarks
    told = [w for each in (*report.analyses, *plans, *pairs) for w in each.warnings if isinstance(w, CoarseClock)]
    assert len(told) == 5
    assert [each.step_s for each in told] == [pytest.approx(0.01)] * 5


def test_numbers_that_are_no_times_have_no_clock(tmp_path):
    selection = experiment(tmp_path, 1, seconds=0.2, step=0.01)
    counts = [dataclasses.replace(sample, unit="1") for sample in selection.samples]
    (pair,) = compared(dataclasses.replace(selection, samples=counts)).benchmarks
    assert not any(isinstance(each, CoarseClock) for each in pair.warnings)


def test_no_number_of_layouts_is_planned_for_what_steps_leave_open(tmp_path):
    """Half a step is 2.5 % of the mean of each: 10 % are told apart, and 1 % never."""
    selection = experiment(tmp_path, 0, seconds=0.2, step=0.01)

    def plan(threshold, difference):
        options = {"half_widths": [0.01, 0.1], "threshold": threshold, "difference": difference, "confidence": 0.95}
        return make_plans(selection, {}, **options)[1]

    close, far = plan(0.01, 0.02), plan(0.1, 0.2)
    assert [each.count.binaries[0] is None for each in close.for_mean] == [True, False]
    assert (close.for_ratio.same.binaries, close.for_ratio.different.binaries) == ((None, None), (None, None))
    assert far.for_ratio.same.binaries[0] >= 5 and far.for_ratio.different.binaries[0] >= 5


def test_a_plan_says_that_steps_are_no_matter_of_layouts(tmp_path):
    selection = experiment(tmp_path, 0, seconds=0.2, step=0.01)
    plans = make_plans(selection, {}, half_widths=[0.01], threshold=0.01, confidence=0.95)
    assert all(any(isinstance(each, CoarseClock) for each in plan.warnings) for plan in plans)
    shown = "\n".join("".join(part for part, _ in line) for line in plan_screen(plans, selection, 0.01, 100))
    assert "Next: more work for each execution" in shown
    assert "layoutrand run" not in shown
