"""The first screen of `plan`: how many layouts are enough, within a screen."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from rich.cells import cell_len

from layoutrand.analysis.analysis_warnings import NothingToFind
from layoutrand.analysis.machine_warnings import MachineSwitched
from layoutrand.analysis.plan import BenchmarkPlan, RatioForecast, WidthForecast
from layoutrand.analysis.plan_warnings import FewDistinctLayouts, NoiseOfControls
from layoutrand.analysis.planned_counts import PlannedCount
from layoutrand.analysis.selection import Selection, Source
from layoutrand.config.disturbance import Disturbed
from layoutrand.config.execution_warnings import DisturbedExecutions, TooShort
from layoutrand.model import STOCK
from layoutrand.screens.charts import SCREEN_LINES
from layoutrand.screens.plan_screen import MOST_ROWS, plan_screen
from layoutrand.screens.plan_tables import show_plans


def count(low: int | None, high: int | None, each_s: float = 1.0) -> PlannedCount:
    return PlannedCount((low, high), tuple(math.inf if n is None else n * each_s for n in (low, high)))


def planned(name: str, system: str, ratio: RatioForecast | None, **changes: object) -> BenchmarkPlan:
    mean = tuple(WidthForecast(width, count(n, 2 * n)) for width, n in ((0.005, 400), (0.01, 100), (0.02, 25)))
    plan = BenchmarkPlan(
        system=system,
        benchmark=name,
        metric="wall_s",
        n_binaries=30,
        mean=1.0,
        levels=("binary", "execution"),
        relative_sds={"binary": 0.05, "execution": 0.01},
        costs_s={"binary": 0.1, "execution": 0.5},
        counts={"execution": 1},
        repetitions={"execution": 1.0},
        for_mean=mean,
        for_ratio=ratio,
        warnings=(NoiseOfControls((STOCK,)),),
    )
    return replace(plan, **changes)


def deciding(baseline: str, different: PlannedCount, same: PlannedCount) -> RatioForecast:
    return RatioForecast(baseline, bool(baseline), 0.01, 0.02, same, different)


class Told:
    """A page of which titles of tables and warnings are kept."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.warned: list[str] = []

    def table(self, title: str, *_: object) -> None:
        self.titles.append(title)

    def line(self, _text: str = "") -> None:
        """Not kept."""

    def item(self, _text: str) -> None:
        """Not kept."""

    def warn(self, text: str) -> None:
        self.warned.append(text)


SELECTION = Selection(
    experiment=None,
    samples=(),
    executions=(),
    failures=(),
    build_failures=(),
    warnings=(),
    sources=(Source("d/results.csv", "csv", ("O2",), None),),
)


def shown(plans: list[BenchmarkPlan], columns: int | None = 80, half_width: float = 0.01) -> list[str]:
    lines = ["".join(text for text, _ in line) for line in plan_screen(plans, SELECTION, half_width, columns)]
    assert all(cell_len(line) <= max(columns or 80, 60) for line in lines), lines
    return lines


@pytest.mark.parametrize("columns", [60, 80, 120, None])
def test_numbers_times_and_the_next_command(columns: int | None) -> None:
    ratio = deciding("O2", count(1238, 1597, 2.1), count(3000, None, 2.1))
    lines = shown([planned("lua", "O2", None), planned("lua", "O3", ratio)], columns)
    text = "\n".join(lines)
    assert lines[0].startswith("How many layouts are enough?")
    assert "to find 2 %" in text
    assert "same within 1 %" in text
    assert "mean ± 1 %" in text
    row = next(number for number, line in enumerate(lines) if "1,238 to 1,597" in line)
    assert lines[row].split()[0] == "lua"
    assert lines[row + 1].startswith("    O3 against O2")  # with its times behind it or, where it is narrow, below
    assert any("43 to 56 min" in line for line in lines[row + 1 : row + 3])
    assert "3,000 to >100,000" in lines[row]
    assert "100 to 200" in text
    assert text.count("the noise of executions") == 1  # of both, so it is told once, and of none by name
    assert "executions of each binary" not in text
    assert "less noise, or a larger --threshold" in " ".join(text.split())  # thousands are no advice, as in `compare`
    ratio = replace(ratio, fewest_without_noise=1_001)  # of layouts alone: a quiet machine would not do
    text = " ".join("\n".join(shown([planned("lua", "O2", None), planned("lua", "O3", ratio)], columns)).split())
    assert "less noise" not in text
    assert "Next: a larger --threshold" in text
    few = [planned("lua", system, own, n_binaries=3) for system, own in (("O2", None), ("O3", ratio))]
    assert "Next: layoutrand run --seeds 30 · plan again" in " ".join("\n".join(shown(few, columns)).split())
    near = replace(deciding("O2", count(12, 40), count(12, 50)), fewest_without_noise=10)
    both = [
        planned(name, *own) for name, far in (("lua", ratio), ("near", near)) for own in (("O2", None), ("O3", far))
    ]
    text = " ".join("\n".join(shown(both, columns)).split())  # what some layouts more decide is no matter of noise
    assert "less noise" not in text


@pytest.mark.parametrize("columns", [80, 120])
def test_the_screen_says_whole_what_its_numbers_suppose(columns: int) -> None:
    told = " ".join(
        "".join(part for part, _ in line).strip()
        for line in plan_screen([planned("lua", "O2", None)], SELECTION, 0.01, columns)
    )
    assert "at least 80 % of experiments decide, where what is measured is about normally distributed" in told
    assert "can miss a group of up to" in told
    assert " of all." in told


def test_the_next_command_decides_whichever_is_true() -> None:
    """The larger of both numbers, as `compare` has it; none where the results decide."""
    ratio = deciding("O2", count(123, 159), count(200, 300))
    plans = [planned("lua", "O2", None), planned("lua", "O3", ratio)]
    assert "Next: layoutrand run --seeds 300" in "\n".join(shown(plans))
    plans = [planned("lua", "O2", None), planned("lua", "O3", replace(ratio, is_decided=True))]
    assert "Next: what was executed decides already · layoutrand compare O2 O3" in "\n".join(shown(plans))


def test_what_is_enough_already_and_what_no_number_is_enough_for() -> None:
    enough = deciding("", count(12, 20), count(12, 30))
    assert "Next: there are enough  " in "\n".join(shown([planned("lua", "O2", enough)]))
    of_two = [planned("lua", "O2", None), planned("lua", "O3", replace(enough, baseline="O2"))]
    assert "Next: there are enough · layoutrand compare O2 O3" in "\n".join(shown(of_two))
    endless = deciding("", count(None, None), count(None, None))
    text = "\n".join(shown([planned("lua", "O2", endless)]))
    assert ">100,000" in text
    assert "Next: less noise, or a larger --threshold · layoutrand doctor" in text
    assert "run --seeds" not in text
    counted = replace(planned("lua", "O2", endless), is_simulated=True)
    text = "\n".join(shown([counted]))  # a simulated processor has no noise that could be less
    assert "Next: a larger --threshold " in text
    assert "noise, or" not in text


@pytest.mark.parametrize(
    ("n_layouts", "step"), [(24, "more layouts: padding in layout.factors"), (720, "layoutrand run --seeds 300")]
)
def test_seeds_for_which_there_are_no_layouts_are_not_the_next_step(n_layouts: int, step: str) -> None:
    """`run` would refuse them."""
    ratio = deciding("O2", count(60, 80), count(200, 300))
    plans = [planned("p", "O2", None), planned("p", "O3", ratio, warnings=(FewDistinctLayouts(n_layouts),))]
    assert f"Next: {step}" in "\n".join(shown(plans))


def test_a_machine_that_disturbed_nearly_all_is_quiet_first() -> None:
    """As `compare` has it; not where a simulator counted."""
    ratio = deciding("", count(12, 40), count(12, 60))

    def told(disturbed: int, ratio: RatioForecast, **changes: object) -> str:
        row = Disturbed("lua", 30, disturbed, {"busy": disturbed}, {"O2": disturbed}, {})
        selection = replace(SELECTION, warnings=(DisturbedExecutions(row, is_repeated=False),))
        lines = plan_screen([planned("lua", "O2", ratio, **changes)], selection, 0.01, 100)
        return "\n".join("".join(part for part, _ in line) for line in lines)

    assert "Next: layoutrand doctor · layoutrand run --seeds 60" in told(30, ratio)
    assert "Next: layoutrand run --seeds 60" in told(10, ratio)
    assert "Next: layoutrand run --seeds 60" in told(30, ratio, is_simulated=True)
    far = deciding("", count(None, None), count(None, None))
    assert "Next: layoutrand doctor · less noise, or a larger --threshold" in told(30, far)


def test_a_machine_that_changed_its_speed_is_told_and_more_layouts_are_not_the_next_step() -> None:
    ratio = deciding("", count(500, 900), count(600, 900))
    switched = MachineSwitched((0.09, 0.12), "s", (20, 10), "stock", 9, is_instead_of_layout=True)
    text = "\n".join(shown([planned("lua", "O2", ratio, warnings=(switched,), is_machine=True)]))
    assert "the machine switched between 90 ms and 120 ms" in text
    assert "Next: less noise first · layoutrand doctor" in text
    assert "run --seeds" not in text


def test_a_plan_of_one_program_twice_has_means_alone() -> None:
    same = NothingToFind("O2", "both systems have the same capture")
    plans = [planned("lua", "O2", None, warnings=()), planned("lua", "W", None, warnings=(same,))]
    text = "\n".join(shown(plans))
    assert "lua W: the same program as O2: no number of layouts finds a difference" in text.replace("\n    ", " ")
    assert "to find" not in text and "run --seeds" not in text
    page = Told()
    show_plans(plans, page)
    assert page.titles == [
        "The pilot: variation and cost of each level",
        "Binaries for a wanted half-width of the mean",
    ]
    assert page.warned == [f"W, lua: {same}"]


def test_short_executions_are_told_once_for_all_systems() -> None:
    plans = [planned("lua", system, None, warnings=(TooShort("lua", s),)) for system, s in (("A", 0.012), ("B", 0.01))]
    assert [line for line in shown(plans) if "takes" in line] == [
        "  ⚠ an execution takes 10 ms, much of it the start of the process"
    ]


def test_many_are_told_by_those_that_take_longest() -> None:
    plans = [
        planned(f"b{k}", "O2", deciding("", count(40 * k, 80 * k), count(40 * k, 80 * k)), warnings=())
        for k in range(1, 13)
    ]
    lines = shown(plans)
    text, told = "\n".join(lines), sum(line.startswith("  b") for line in lines)
    assert 1 < told <= MOST_ROWS
    assert f"and {12 - told} more, which take less: --full" in text
    assert "  b12  " in text
    assert "  b1  " not in text
    assert "layoutrand run --seeds 960" in text


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_names_that_differ_in_their_ends_alone_stand_whole(columns: int) -> None:
    """As cases of a harness do: cut ones could not be told apart."""
    names = [f"snappy_benchmark/BM_{way}Flat/{k}/{level}" for way in "UZ" for k in (0, 1) for level in (1, 2)]
    many = count(130, 980, 30.0)
    plans = [planned(name, "a_system_of_a_long_name", deciding("", many, many), warnings=()) for name in names]
    lines = shown(plans, columns)
    told = [line.split()[0] for line in lines if line.startswith("  snappy_benchmark")]

    assert len(told) > 1
    assert set(told) <= set(names)
    assert sum(line.split()[:1] == ["a_system_of_a_long_name"] for line in lines) == len(told)
    assert f"    and {len(names) - len(told)} more, which take less: --full" in lines
    assert len(lines) <= SCREEN_LINES
    assert not any(line.split()[0].endswith("…") for line in lines if line)


def test_a_plan_of_three_systems_fits_into_a_screen() -> None:
    ratio = deciding("O2", count(123, 159), count(200, 300))
    plans = [planned(name, "O2", None) for name in "xyz"]
    plans += [planned(name, system, ratio) for name in "xyz" for system in ("O3", "Os")]
    lines = shown(plans)
    assert len(lines) <= SCREEN_LINES
    told = sum("against" in line or line.strip().split("  ")[0] in {"O2", "O3", "Os"} for line in lines)
    assert f"    and {15 - told} more, which take less: --full" in lines
    assert told > 3
    assert len(shown(plans[:1])) < SCREEN_LINES


def test_more_executions_of_each_are_said_where_they_are_best() -> None:
    ratio = deciding("", count(12, 40), count(12, 60))
    text = " ".join(
        line.strip()
        for line in shown([planned("lua", "O2", ratio, counts={"execution": 5}), planned("zlib", "O2", ratio)])
    )
    assert "5 executions of each binary are best for lua O2, 1 for the others, as" in text
    assert "Next: layoutrand plan --write · layoutrand run --seeds 60" in text
    assert "plan --write sets run.executions = 5 for all" in text
    text = " ".join(
        line.strip()
        for line in shown([planned(name, "O2", ratio, counts={"execution": n}) for n, name in enumerate("abc", 1)])
    )
    assert "3 executions of each binary are best for c O2, 1 to 2 for the others, as" in text
    text = " ".join(line.strip() for line in shown([planned("lua", "O2", ratio, counts={"execution": 2})]))
    assert "2 executions of each binary are best for lua O2, as" in text
    assert "; compare counts with 1, as there are: layoutrand plan --write" in text


def test_fewer_executions_of_each_are_said_as_well() -> None:
    """They are why `compare` names other numbers of binaries."""
    ratio = deciding("", count(12, 40), count(12, 60))
    plans = [planned("lua", "O2", ratio, repetitions={"execution": 3.0})]
    text = " ".join(line.strip() for line in shown(plans))
    assert (
        "1 execution of each binary is best for lua O2, as the numbers above have it (analyse may advise more" in text
    )
    assert "to tell layout from chance); compare counts with 3" in text
    pair = replace(ratio, baseline="O1", as_executed=count(20, 30))
    text = " ".join(line.strip() for line in shown([replace(plans[0], for_ratio=pair)]))
    assert "compare counts with 3, as there are (20 to 30 layouts): layoutrand plan --write" in text


def test_as_many_executions_as_there_are_are_said_to_be_counted_with() -> None:
    """`run` would make others where layoutrand.toml has another number."""
    ratio = deciding("", count(12, 40), count(12, 60))
    same = [planned("lua", "O2", ratio, counts={"execution": 3}, repetitions={"execution": 2.9})]
    text = " ".join(line.strip() for line in shown(same))
    assert "all numbers are for 2.9 executions of each binary, as there are and as compare and analyse count" in text
    assert "Next: layoutrand plan --write · layoutrand run --seeds 60" in text
    half_way = [planned("lua", "O2", ratio, repetitions={"execution": 1.07})]  # to the second execution of each
    text = " ".join(line.strip() for line in shown(half_way))
    assert "all numbers are for 1.07 executions of each binary" in text
    assert "--write" not in text
    lines = plan_screen(same, SELECTION, 0.01, 80, writes=True)
    text = " ".join("".join(part for part, _ in line).strip() for line in lines)
    assert "as there are and as compare and analyse count ⓘ" in text
    assert "Next: layoutrand run --seeds 60" in text


def test_what_is_written_is_no_advice() -> None:
    ratio = deciding("", count(12, 40), count(12, 60))
    lines = plan_screen([planned("lua", "O2", ratio, counts={"execution": 5})], SELECTION, 0.01, 80, writes=True)
    text = " ".join("".join(part for part, _ in line).strip() for line in lines)
    assert "5 executions of each binary are best for lua O2" in text
    assert "Next: layoutrand run --seeds 60" in text
    assert "--write" not in text


def test_executions_of_one_layout_are_counted_as_such() -> None:
    ratio = deciding("", count(12, 40), count(12, 60))
    lines = shown([planned("avrora", "jdk", ratio, levels=("execution",), counts={}, warnings=())], half_width=0.02)
    assert lines[0].startswith("How many executions are enough?")
    assert "mean ± 2 %" in "\n".join(lines)
    assert "--seeds" not in "\n".join(lines)


def test_names_give_way_to_what_is_said_of_them() -> None:
    names = [f"org.example.harness/BM_WithALongName_{k}" for k in range(6)]
    noisy = (NoiseOfControls((STOCK,)),)
    plans = [planned(name, "O2", None, warnings=noisy if k < 5 else ()) for k, name in enumerate(names)]
    text = " ".join(" ".join(shown(plans)).split())
    assert noisy[0].brief() in text
