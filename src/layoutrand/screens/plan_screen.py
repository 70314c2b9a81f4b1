"""The first screen of `plan`: how many layouts are enough and how long they take; `--full` has the tables behind it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len

from layoutrand.analysis.clock_warnings import CoarseClock
from layoutrand.analysis.forecasting import briefly_promised, range_words
from layoutrand.analysis.next_steps import MORE_FACTORS, STEPS, USUAL_LAYOUTS, WITHIN_REACH
from layoutrand.analysis.plan_warnings import FewDistinctLayouts
from layoutrand.analysis.short_executions import shortest_of_each
from layoutrand.config.execution_warnings import DisturbedExecutions
from layoutrand.screens.charts import SCREEN_LINES, Line, screen_width
from layoutrand.screens.screen_parts import GAP, filled, header, said_of, source_facts, steps_and_details, wrapped
from layoutrand.stats.advice import FEWEST_BINARIES
from layoutrand.text.quantities import percent, telling

if TYPE_CHECKING:
    from layoutrand.analysis.plan import BenchmarkPlan, RatioForecast
    from layoutrand.analysis.planned_counts import PlannedCount
    from layoutrand.analysis.selection import Selection

MOST_ROWS: Final = 8
"""Benchmarks and systems that are told one by one, those that take longest; the others are counted."""

_LINES_OF_PROMISE: Final = 4
_LINES_OF_EXECUTIONS: Final = 4
_NARROW_NAME: Final = 6
_QUIET: Final = STEPS["quiet machine"].command


class _Row(NamedTuple):
    """Of which benchmark and systems, and a number for each column (None: no question of that row)."""

    benchmark: str
    systems: str
    counts: tuple[PlannedCount | None, ...]

    @property
    def seconds(self) -> float:
        """The longest that it takes, as far as it has an end."""
        return max((each.seconds[0] for each in self.counts if each is not None), default=0.0)


def plan_screen(
    plans: Sequence[BenchmarkPlan],
    selection: Selection,
    half_width: float,
    columns: int | None,
    *,
    writes: bool = False,
) -> list[Line]:
    """The lines for so many columns; ``half_width`` is that of the means.

    ``writes`` where the executions that are best are written into layoutrand.toml, or stand there: no advice then.
    """
    width = screen_width(columns)
    counted = "executions" if all(each.levels[0] == "execution" for each in plans) else "layouts"
    rows = [row for each in plans for row in _rows(each, half_width)]
    pilot = min(each.n_binaries for each in plans)
    facts = [f"from {pilot:,} {counted}", *source_facts(selection)]
    head = [*header(f"How many {counted} are enough?", facts, width), []]
    lines: list[Line] = [[]]
    for text in _executions(plans, writes=writes):
        lines += wrapped("ⓘ", "cyan", text, width, most=_LINES_OF_EXECUTIONS)
    lines += wrapped("ⓘ", "cyan", briefly_promised(pilot, counted), width, most=_LINES_OF_PROMISE)
    for text, names in _warnings(plans).items():
        lines += said_of("⚠", "yellow", text, names, len(plans), width)
    steps = _steps(plans, counted, writes=writes)
    if steps and _is_disturbed(plans, selection):  # first, as `compare` has it
        steps = [_QUIET, *(step for step in steps if step != _QUIET)]
    lines += [[], *steps_and_details(steps, "Details: --full", width)]
    return [*head, *_longest(rows, _heads(plans, half_width), width, SCREEN_LINES - len(head) - len(lines)), *lines]


def _longest(rows: Sequence[_Row], heads: Sequence[str], width: int, room: int) -> list[Line]:
    """A table of those that take longest, as many as there is room for, and how many are not in it."""
    by_time = sorted(rows, key=lambda row: -row.seconds)
    table: list[Line] = []
    for most in range(min(MOST_ROWS, len(rows)), 0, -1):
        told = by_time[:most]
        table = _table([row for row in rows if row in told], heads, width)
        if len(rows) > most:
            table.append([(f"    and {len(rows) - most} more, which take less: --full", "dim")])
        if len(table) <= room:
            break
    return table


def _rows(plan: BenchmarkPlan, half_width: float) -> list[_Row]:
    """What a plan is of: two systems where there are such, then the mean of each."""
    of_mean = next(each.count for each in plan.for_mean if each.half_width == half_width)
    if (ratio := plan.for_ratio) is None:
        return [_Row(plan.benchmark, plan.system, (None, None, of_mean))]
    if not ratio.baseline:
        return [_Row(plan.benchmark, plan.system, (ratio.different, ratio.same, of_mean))]
    pair = _Row(plan.benchmark, f"{plan.system} against {ratio.baseline}", (ratio.different, ratio.same, None))
    return [pair, _Row(plan.benchmark, plan.system, (None, None, of_mean))]


def _heads(plans: Sequence[BenchmarkPlan], half_width: float) -> tuple[str, ...]:
    ratio = next((each.for_ratio for each in plans if each.for_ratio is not None), None)
    mean = f"mean ± {_share(half_width)}"
    if ratio is None:
        return ("", "", "", mean)
    return ("", f"to find {_share(ratio.difference)}", f"same within {_share(ratio.threshold)}", mean)


def _share(value: float) -> str:
    return percent(value, telling([100 * value], digits=0))


def _table(rows: Sequence[_Row], heads: Sequence[str], width: int) -> list[Line]:
    """Two lines for each row: the numbers, and how long they take."""
    cells = [(row.benchmark, *(_number(each) for each in row.counts)) for row in rows]
    times = [(f"  {row.systems}", *(_time(each) for each in row.counts)) for row in rows]
    used = [place for place in range(len(heads)) if place == 0 or any(row[place] for row in cells)]
    sizes = {place: max(cell_len(each[place]) for each in [*cells, *times, heads]) for place in used}
    sizes[0] = min(sizes[0], max(_NARROW_NAME, width - 4 - sum(sizes[place] + GAP for place in used[1:])))

    def drawn(row: Sequence[str], style: str) -> list[Line]:
        numbers = [(" " * GAP + _right(row[place], sizes[place]), style) for place in used[1:]]
        if cell_len(row[0]) <= sizes[0]:
            return [[(f"  {filled(row[0], sizes[0])}", style), *numbers]]
        # The name stands whole, on lines of its own: cases of a harness often differ in their ends alone.
        parts = textwrap.wrap(row[0].strip(), width - 4, break_on_hyphens=False)
        blank = " " * (2 + len(row[0]) - len(row[0].lstrip()))
        return [*([(blank + part, style)] for part in parts), [(" " * (2 + sizes[0]), style), *numbers]]

    lines = drawn(heads, "dim")
    for own, time in zip(cells, times, strict=True):
        lines += [*drawn(own, ""), *drawn(time, "dim")]
    return lines


def _right(text: str, columns: int) -> str:
    return " " * (columns - cell_len(text)) + text


def _number(count: PlannedCount | None) -> str:
    return "" if count is None else range_words(*count.binaries, more=">")


def _time(count: PlannedCount | None) -> str:
    """``40 to 55 min``."""
    if count is None:
        return ""
    ends = [_about(seconds) for seconds in count.seconds if math.isfinite(seconds)]
    if len(ends) == 2 and ends[0] != ends[1] and ends[0][1] == ends[1][1]:
        return f"{ends[0][0]} to {ends[1][0]} {ends[0][1]}"
    return " to ".join(dict.fromkeys(" ".join(end) for end in ends))


def _about(seconds: float) -> tuple[str, str]:
    """Two digits of it and their unit: a plan of a time is no more exact."""
    for size, unit, most in ((1, "s", 100), (60, "min", 100), (3600, "h", 72), (86_400, "days", math.inf)):
        if seconds < most * size:
            value = float(f"{seconds / size:.2g}")
            return (f"{value:,.0f}" if value >= 10 else f"{value:g}"), unit
    raise AssertionError("the last unit has no end")


def _executions(plans: Sequence[BenchmarkPlan], *, writes: bool) -> list[str]:
    """How often each binary should be executed, where that is more than once or not as often as in the pilot."""
    counts = {f"{each.benchmark} {each.system}": each.counts.get("execution", 1) for each in plans}
    there = sorted({each.repetitions.get("execution", 1.0) for each in plans})
    present = " to ".join(f"{each:.3g}" for each in dict.fromkeys((there[0], there[-1])))
    most = max(counts.values(), default=1)
    command = "" if writes else f": layoutrand plan --write sets run.executions = {most} for all"
    if not any(map(_is_other, plans)):
        if there == [1.0]:
            return []
        own = f"for {present} executions of each binary, as there are and as compare and analyse count"
        return [f"all numbers are {own}{command if most > 1 else ''}"]  # `run` may be half way to more
    names = [name for name, count in counts.items() if count == most]
    fewer = sorted(set(counts.values()) - {most})
    others = f", {' to '.join(map(str, dict.fromkeys((fewer[0], fewer[-1]))))} for the others" if fewer else ""
    listed = f"{', '.join(names[:3])}{' and more' * (len(names) > 3)}"
    best = f"{most} executions of each binary are best" if most > 1 else "1 execution of each binary is best"
    purpose = " (analyse may advise more, to tell layout from chance)" if most < there[-1] else ""
    beside = f"; compare counts with {present}, as there are{_as_executed(plans)}"
    return [f"{best} for {listed}{others}, as the numbers above have it{purpose}{beside}{command}"]


def _is_other(plan: BenchmarkPlan) -> bool:
    """Whether it is planned with other executions of each binary than there are."""
    return plan.counts.get("execution", 1) != round(plan.repetitions.get("execution", 1))


def _as_executed(plans: Sequence[BenchmarkPlan]) -> str:
    """The number that `compare` then names, so that nobody wonders which of two is right."""
    ratios = [each.for_ratio for each in plans if each.for_ratio is not None and not each.for_ratio.is_decided]
    there = [each.as_executed.binaries for each in ratios if each.baseline and each.as_executed is not None]
    if not there:
        return ""
    return f" ({range_words(*max(there, key=lambda each: math.inf if each[1] is None else each[1]))} layouts)"


def _warnings(plans: Sequence[BenchmarkPlan]) -> dict[str, list[str]]:
    """What to know beside, and of which plans, each thing once."""
    found: dict[str, list[str]] = {}
    shortest = shortest_of_each(warning for each in plans for warning in each.warnings)
    for each in plans:
        for warning in dict.fromkeys(shortest.get(warning, warning) for warning in each.warnings):
            found.setdefault(warning.brief(), []).append(f"{each.benchmark} {each.system}")
    return found


def _steps(plans: Sequence[BenchmarkPlan], counted: str, *, writes: bool) -> list[str]:
    """The command that executes what decides, whichever is true, where it is open and in reach: as `compare` has it."""
    if any(each.is_machine for each in plans):
        return ["less noise first", _QUIET]
    if any(isinstance(warning, CoarseClock) and warning.is_open for each in plans for warning in each.warnings):
        return [STEPS["more work"].briefly]
    ratios = [each.for_ratio for each in plans if each.for_ratio is not None]
    if counted != "layouts" or not ratios:
        return []
    wanted = [count.binaries for ratio in ratios for count in (ratio.different, ratio.same) if not ratio.is_decided]
    most = max((math.inf if high is None else high for _, high in wanted), default=0)
    if any(isinstance(each, FewDistinctLayouts) and each.n_layouts < most for plan in plans for each in plan.warnings):
        return [MORE_FACTORS]
    if most > WITHIN_REACH:
        return _steps_out_of_reach(plans)
    if most > min(each.n_binaries for each in plans):
        return [*_to_write(plans, writes=writes), f"layoutrand run --seeds {most}"]
    names = " ".join(dict.fromkeys(name for each in plans for name in _compared(each)))
    enough = "there are enough" if wanted or not names else "what was executed decides already"
    return [enough, *([f"layoutrand compare {names}"] if names else [])]


def _steps_out_of_reach(plans: Sequence[BenchmarkPlan]) -> list[str]:
    """What brings an answer nearer where more layouts than anybody executes would decide: as `compare` has it."""
    far = [(each, each.for_ratio) for each in plans if each.for_ratio is not None and _is_far(each.for_ratio)]
    open_of = {each.benchmark for each, _ in far if not each.is_simulated}
    if any(each.benchmark in open_of and each.n_binaries < FEWEST_BINARIES for each in plans):
        return [f"layoutrand run --seeds {USUAL_LAYOUTS}", "plan again"]
    if all(each.is_simulated or ratio.fewest_without_noise > WITHIN_REACH for each, ratio in far):
        return [STEPS["other threshold"].short]
    return [STEPS["sooner"].short, _QUIET]


def _compared(plan: BenchmarkPlan) -> tuple[str, ...]:
    """The two systems whose ratio is planned for, none where there is no such question."""
    return (plan.for_ratio.baseline, plan.system) if plan.for_ratio and plan.for_ratio.baseline else ()


def _is_disturbed(plans: Sequence[BenchmarkPlan], selection: Selection) -> bool:
    """Whether executions that a plan goes by were disturbed throughout, and more of them would be, too."""
    timed = {each.benchmark for each in plans if not each.is_simulated}
    found = [each.row for each in selection.warnings if isinstance(each, DisturbedExecutions)]
    return any(row.is_throughout and row.benchmark in timed for row in found)


def _is_far(ratio: RatioForecast) -> bool:
    """Whether it is open, and more layouts than are within reach would decide it."""
    ends = (count.binaries[1] for count in (ratio.different, ratio.same))
    return not ratio.is_decided and any(high is None or high > WITHIN_REACH for high in ends)


def _to_write(plans: Sequence[BenchmarkPlan], *, writes: bool) -> list[str]:
    """The command without which `run` would go on with other executions of each binary than were counted with."""
    several = max((each.counts.get("execution", 1) for each in plans), default=1) > 1
    return ["layoutrand plan --write"] if (several or any(map(_is_other, plans))) and not writes else []
