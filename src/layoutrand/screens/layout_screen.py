"""The first screen of `analyse`: how much layout matters, within a screen; `--full` has the tables behind it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from statistics import stdev
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len

from layoutrand.analysis.conclusion import LayoutConclusion, LayoutVerdict, of_layouts
from layoutrand.analysis.machine import in_time
from layoutrand.analysis.next_steps import ENOUGH_TO_EXPLAIN, STEPS
from layoutrand.analysis.place_among import briefly_among, expected_move
from layoutrand.analysis.sentences import ONE_LAYOUT, one_more
from layoutrand.analysis.verdict_marks import SYMBOLS
from layoutrand.screens.charts import SCREEN_LINES, Line, histogram, in_order, paragraph, screen_width, width_of
from layoutrand.screens.screen_parts import (
    GAP,
    failure_lines,
    filled,
    header,
    missed_lines,
    names_of,
    next_lines,
    possible_steps,
    remark_lines,
    source_facts,
    warning_lines,
    wrapped,
)
from layoutrand.text.name_lists import first_names
from layoutrand.text.quantities import MINUS, at_most, quantity, signed, two_digits

if TYPE_CHECKING:
    from layoutrand.analysis.analyse import Analysis, AnalysisReport
    from layoutrand.analysis.next_steps import Step

MOST_ROWS: Final = 8
"""Benchmarks and systems that are told one by one; the others are counted."""

MOST_LINES: Final = 20
"""Beyond which there are no more figures."""

_ROOM_FOR_STEPS: Final = 2
_NARROW_NAME: Final = 12

_COLUMNS: Final = ("", "layout", "noise", "one build shows", "your build")

_LEGENDS: Final = ("   S = your own build", "   S = your build")
"""What S is in a figure, at length and where there is less room."""

_STYLES: Final[dict[str, str]] = {
    "layout matters": "magenta",
    "practically none": "blue",
    "machine, not layout": "yellow",
    "cannot tell": "yellow",
    "one layout": "blue",
}

_QUESTION: Final = "How much does code layout matter?"


class _Row(NamedTuple):
    name: str
    analysis: Analysis
    concluded: LayoutConclusion


def analysis_screen(
    report: AnalysisReport, shown: Sequence[Analysis], columns: int | None, explainable: Collection[str] = ()
) -> list[Line]:
    """The lines for so many columns; None where there is no terminal.  ``shown`` are those that are told.

    ``explainable`` are systems of which `explain` may say more.
    """
    lines, steps = layout_answer(report, shown, columns)
    asked = [each for each in shown if each.system in explainable and _is_explicable(each, report)]
    return lines + next_lines([*steps, *possible_steps(_why(asked), report.selection, 0)], screen_width(columns))


def _is_explicable(analysis: Analysis, report: AnalysisReport) -> bool:
    """Whether layouts differ for what may be one function's place, and are enough to find out which."""
    matters = of_layouts(analysis, report.warnings).verdict == "layout matters"
    can_be_profiled = analysis.benchmark not in report.selection.never_alone
    return matters and can_be_profiled and analysis.n_binaries >= ENOUGH_TO_EXPLAIN


def _why(asked: Sequence[Analysis]) -> list[Step]:
    """The command that says whose place it is; of a metric that is no benchmark's main one with its name."""
    if not asked:
        return []
    step, metrics = STEPS["which function"], {each.metric for each in asked}
    if all(each.is_primary for each in asked) or len(metrics) > 1:
        return [step]
    return [replace(step, command=f"{step.command} --metric {metrics.pop()}")]


def layout_answer(
    report: AnalysisReport, shown: Sequence[Analysis], columns: int | None
) -> tuple[list[Line], list[Step]]:
    """The answer alone, and what to do next; rows that do not fit into a screen are left to `--full`, and counted."""
    width = screen_width(columns)
    rows = [
        _Row(name, each, of_layouts(each, report.warnings)) for name, each in zip(names_of(shown), shown, strict=True)
    ]
    lines: list[Line] = []
    for most in range(MOST_ROWS, 0, -1):  # where the terminal is narrow, names stand on lines of their own
        lines = _answer(report, shown, rows, width, most)
        if len(lines) + _ROOM_FOR_STEPS <= SCREEN_LINES:
            break
    steps = [step for row in rows for step in row.concluded.next]
    return lines, possible_steps(steps, report.selection, max((each.n_binaries for each in shown), default=0))


def _answer(
    report: AnalysisReport, shown: Sequence[Analysis], rows: Sequence[_Row], width: int, most: int
) -> list[Line]:
    """The answer with so many of the rows."""
    told = rows if len(rows) <= most else sorted(rows, key=_weight)[:most]
    told = [row for row in rows if row in told]
    facts = [_counts(shown), *source_facts(report.selection)]
    lines: list[Line] = [*header(_QUESTION, facts, width), [], *_table(told, width)]
    if others := [row for row in rows if row not in told]:
        lines.append([(f"    and {len(others)} more: {_folded(others)}", "dim")])
    lines.append([])
    notes = [*_own_builds(rows, width), *_not_seen(rows, width)]
    if any(row.analysis.one_layout for row in rows):
        notes += wrapped(SYMBOLS["one layout"], _STYLES["one layout"], ONE_LAYOUT, width, most=2)
    notes += warning_lines([(row.name, row.concluded.reasons) for row in rows], width)
    notes += failure_lines(report.selection, width)
    notes += remark_lines(report.selection, [(each.benchmark, each.instrument) for each in shown], width)
    for figure in _figures(told, report, width):
        if len(lines) + len(figure) + len(notes) + bool(notes) + _ROOM_FOR_STEPS <= MOST_LINES:
            lines += figure
    if notes:
        lines += [*notes, []]
    return lines


def _weight(row: _Row) -> tuple[int, float]:
    """What is told first: what needs a look, then where layout makes most."""
    found = row.analysis.findings
    size = 0.0 if found is None or found.layout.sd is None else found.layout.sd.centre
    return (row.concluded.verdict not in {"machine, not layout", "layout matters"}, -size)


def _folded(rows: Sequence[_Row]) -> str:
    """How many have which answer."""
    numbers = Counter(row.concluded.verdict for row in rows)
    return ", ".join(f"{count} {verdict}" for verdict, count in numbers.most_common())


def _counts(shown: Sequence[Analysis]) -> str:
    executed = all(each.one_layout for each in shown)
    counts = {each.n_executions if executed else each.n_binaries for each in shown}
    what = "executions" if executed else "layouts"
    what = what.removesuffix("s") if counts == {1} else what
    said = f"{min(counts):,} {what}" if len(counts) == 1 else f"{min(counts):,} to {max(counts):,} {what}"
    systems = {each.system for each in shown}
    return f"{systems.pop()}: {said}" if len(systems) == 1 else said


def _table(rows: Sequence[_Row], width: int) -> Iterator[Line]:
    cells = [_cells(row) for row in rows]
    widths = [max(cell_len(each[place]) for each in [*cells, _COLUMNS]) for place in range(len(_COLUMNS))]
    # Numbers stand closer together where there is no room for names beside them, then names on lines of their own.
    room = {columns: width - 4 - sum(widths[1:]) - columns * (len(widths) - 1) for columns in (GAP, 1)}
    columns = next((each for each, left in room.items() if left >= min(widths[0], _NARROW_NAME)), 1)
    widths[0] = min(widths[0], room[columns]) if room[columns] >= min(widths[0], _NARROW_NAME) else 0
    gap = " " * columns
    heads = [filled(name, size) for name, size in zip(_COLUMNS, widths, strict=True)]
    yield [("    " + gap.join(heads).rstrip(), "dim")]
    for row, each in zip(rows, cells, strict=True):
        symbol, style = SYMBOLS[row.concluded.verdict], _STYLES[row.concluded.verdict]
        line: Line = [("  ", ""), (symbol, f"bold {style}"), (" ", "")]
        if cell_len(each[0]) > widths[0]:  # the name stands whole, on a line of its own
            first, *others = paragraph(each[0], " " * 4, width)
            yield [*line, (first[0][0].strip(), "")]
            yield from others
            line = [(" " * (4 + widths[0]), "")]
        else:
            line.append((filled(each[0], widths[0]), ""))
        for place in range(1, len(_COLUMNS)):
            line += [(gap, ""), (filled(each[place], widths[place]), style if place == 1 else "")]
        yield line


def _cells(row: _Row) -> tuple[str, str, str, str, str]:
    analysis, found = row.analysis, row.analysis.findings
    layout = noise = "-"
    if analysis.one_layout:
        noise = _among_executions(analysis)
    elif found is not None:
        part = found.layout
        noise_sd = _of_one_binary(analysis) if analysis.n_binaries == 1 else part.noise_sd
        noise = "-" if noise_sd is None else _plain(noise_sd)
        if row.concluded.verdict == "layout matters" and part.sd is not None:
            layout = f"±{two_digits(part.sd.centre)}"
        elif part.upper is not None and row.concluded.verdict in {"practically none", "cannot tell"}:
            layout = bounded(part.upper)
        elif row.concluded.verdict == "machine, not layout":
            layout = "cannot tell"
    one = one_more(analysis).replace("-", MINUS)
    own = "-" if analysis.stock is None or analysis.one_layout else briefly_among(analysis, analysis.stock.mean)
    return row.name, layout, noise, one or "-", own


def _of_one_binary(analysis: Analysis) -> float | None:
    """What executions of the only binary differ by, as of files of other harnesses: all that these can tell.

    With what the iterations of each leave in its mean, as in the noise beside layouts: where iterations differ so much
    that nothing is left for executions, these are not without noise.
    """
    known = {level.level: level.relative_sd for level in analysis.levels}
    executions = known.get("execution")
    if executions is None or not analysis.n_iterations:
        return executions
    return math.hypot(
        executions, (known.get("iteration") or 0.0) / math.sqrt(analysis.n_iterations / analysis.n_executions)
    )


def _among_executions(analysis: Analysis) -> str:
    """What executions of one layout differ by."""
    values = [mean for _, mean in analysis.binary_means]
    centre = abs(analysis.mean.centre)
    return _plain(stdev(values) / centre) if len(values) > 1 and centre else "-"


def bounded(upper: float) -> str:
    """What layout adds at most, rounded up as sentences have it; from 100 % on that is no knowledge of it."""
    if upper >= 1:
        return "cannot tell"
    return f"below {at_most(upper)} %" if upper else "none"


def _plain(noise: float) -> str:
    return "none" if noise == 0 else f"±{two_digits(noise)}"


def _figures(rows: Sequence[_Row], report: AnalysisReport, width: int) -> Iterator[list[Line]]:
    """For each metric of a benchmark: how the layouts lie, S for stock; or what the machine did, in order of time."""
    groups: dict[tuple[str, str, str], list[_Row]] = {}
    for row in rows:
        groups.setdefault((row.analysis.benchmark, row.analysis.instrument, row.analysis.metric), []).append(row)
    for key, members in groups.items():
        if any(row.concluded.verdict == "machine, not layout" for row in members):
            yield _course(key, report, width)
        else:
            yield _distribution(members, width)


def _distribution(rows: Sequence[_Row], width: int) -> list[Line]:
    several = [row for row in rows if row.concluded.verdict == "layout matters"]
    if not several:
        return []
    first = several[0].analysis
    values = [mean for row in several for _, mean in row.analysis.binary_means]
    values += [row.analysis.stock.mean for row in several if row.analysis.stock is not None]
    low, high = min(values), max(values)
    names = max(cell_len(row.analysis.system) for row in several)
    columns = min(40, width - names - 8)
    title = f"{first.benchmark}, {first.metric}: {quantity(low, first.unit)} to {quantity(high, first.unit)}"
    lines = paragraph(title, "  ", width, below="    ")
    if any(row.analysis.stock is not None for row in several):
        room = width - width_of(lines[-1])
        legend = next((each for each in _LEGENDS if cell_len(each) <= room), "")
        if not legend:
            lines.append([(" ", "")])
        lines[-1].append((legend or _LEGENDS[0], "dim"))
    for row in several:
        bars = list(histogram([mean for _, mean in row.analysis.binary_means], low, high, columns))
        line: Line = [("    ", ""), (filled(row.analysis.system, names), ""), ("  ", "")]
        stock = row.analysis.stock
        if stock is None:
            lines.append([*line, ("".join(bars).rstrip(), "cyan")])
            continue
        place = min(columns - 1, int((stock.mean - low) / (high - low) * columns)) if high > low else 0
        rest = "".join(bars[place + 1 :]).rstrip()
        lines.append([*line, ("".join(bars[:place]), "cyan"), ("S", "bold"), (rest, "cyan")])
    return [*lines, []]


def _course(key: tuple[str, str, str], report: AnalysisReport, width: int) -> list[Line]:
    samples = [each for each in report.selection.samples if (each.benchmark, each.instrument, each.metric) == key]
    values = in_time(samples)
    title = [(f"  {key[0]}, {key[2]}, in order of execution", ""), ("   whatever binary: the machine", "dim")]
    return [
        title if width_of(title) <= width else title[:1],
        [("    ", ""), (in_order(values, min(72, width - 8)), "yellow")],
        [],
    ]


def _own_builds(rows: Sequence[_Row], width: int) -> list[Line]:
    """Builds that lie beyond all layouts, and how far: what is lost, or won, where code is laid out anew.

    A single change seldom does that: nine of ten inert ones move a build by less than 0.12 % (docs/inert.md).
    """
    found: dict[str, list[str]] = {}
    for row in rows:
        move = expected_move(row.analysis)
        if move is None or row.concluded.verdict != "layout matters":
            continue
        how = "beats" if (move > 0) == (row.analysis.better == "less") else "is beaten by"
        found.setdefault(how, []).append(f"{signed(100 * move, 1)} % ({row.name})")
    lines: list[Line] = []
    for how, moves in found.items():
        text = (
            f"your own build {how} every layout: expect about {first_names(moves, 2)} where all code is laid out anew."
        )
        lines += wrapped("★", "cyan", text, width, most=3)
    return lines


def _not_seen(rows: Sequence[_Row], width: int) -> list[Line]:
    """How rare layouts may be of which "practically none" says nothing, as none of them need be in the sample."""
    verdict: LayoutVerdict = "practically none"
    none = [row for row in rows if row.concluded.verdict == verdict]
    counts = [(row.analysis.findings.could_miss, row.analysis.n_binaries) for row in none if row.analysis.findings]
    names = [row.name for row in none]
    return missed_lines(SYMBOLS[verdict], _STYLES[verdict], verdict, names, len(rows), counts, width)
