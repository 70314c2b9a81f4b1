"""One benchmark in the report: where binaries lie, what varies, and the figures of `report/course.py`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from layoutrand.analysis import layout_words
from layoutrand.analysis.analyse import Analysis
from layoutrand.analysis.conclusion import of_layouts
from layoutrand.analysis.findings import Outlier
from layoutrand.analysis.selection import Selection
from layoutrand.analysis.variation import NAMES, what_varies, why_no_shares
from layoutrand.report import plot, row_figures, tracks
from layoutrand.report.course import convergence, dependence, run_order
from layoutrand.report.mark_data import MarkData
from layoutrand.report.members import Axis, SuiteMember, axis_of, remarks_of
from layoutrand.stats import Interval
from layoutrand.text.document import Figure, Table
from layoutrand.text.name_lists import fitting_names
from layoutrand.text.quantities import alike, estimate, fine_percent, in_a_column, quantity, two_digits
from layoutrand.warning import AnyWarning

_MOST_NAMED: Final = 3
"""Systems of which one reason is told."""


@dataclass(frozen=True)
class BenchmarkFigures:
    """The figures of a benchmark: those shown first, further ones, and sentences that say why some are not there."""

    first: Sequence[Figure]
    more: Sequence[Figure]
    absent: Sequence[str]


def of_benchmark(
    members: Sequence[SuiteMember],
    selection: Selection,
    confidence: float,
    anchor: str,
    warnings: Sequence[AnyWarning] = (),
) -> BenchmarkFigures:
    """All figures; their anchors begin with ``anchor``, and ``warnings`` are those about all that is analysed."""
    axis = axis_of(members)
    more = []
    absent = []
    if any(member.analysis.n_binaries > 1 for member in members):
        more = [_ecdf(members, axis), *_levels(members, confidence, warnings)]
    else:
        absent.append("There is one binary of each system here: how layouts differ cannot be seen.")
    drawn, reason = run_order(members, selection, axis)
    absent += [reason] if reason else []
    more += convergence(members, confidence)
    more += [figure for number, member in enumerate(members) for figure in dependence(member, number)]
    first = [replace(_strip(members, axis), anchor=f"{anchor}-binaries")]
    first += [replace(figure, anchor=f"{anchor}-order") for figure in drawn]
    return BenchmarkFigures(first, more, absent)


def shares(members: Sequence[SuiteMember], warnings: Sequence[AnyWarning]) -> list[tuple[str, str, str]]:
    """(system, bar, words): what part of the variance each cause has, in one bar for each system.

    No bar and why where layout's part is not known, once for all systems of which it is so; ``warnings`` as for
    `of_benchmark`.
    """
    drawn = []
    unknown: dict[str, list[str]] = {}
    for member in members:
        parts = [part for part in what_varies(member.analysis) if part.share is not None]
        if not parts:
            continue
        if why := why_no_shares(member.analysis, of_layouts(member.analysis, warnings)):
            unknown.setdefault(why, []).append(member.analysis.system)
            continue
        words = ", ".join(f"{NAMES[part.part]} {100 * (part.share or 0.0):.0f} %" for part in parts)
        bar = tracks.stacked([(part.share or 0.0, f"p-{part.part.replace(' ', '-')}") for part in parts])
        drawn.append((member.analysis.system, bar, words))
    return [*drawn, *((fitting_names(systems, _MOST_NAMED), "", why) for why, systems in unknown.items())]


def _strip(members: Sequence[SuiteMember], axis: Axis) -> Figure:
    drawn = []
    for number, member in enumerate(members):
        analysis = member.analysis
        middle = analysis.mean
        low, centre, high = (value / axis.factor for value in (middle.low, middle.centre, middle.high))
        controls = (("S", analysis.stock), ("I", analysis.identity))
        drawn.append(
            row_figures.FigureRow(
                name=analysis.system,
                series=number,
                value=_with_width(analysis) if analysis.n_binaries > 1 else quantity(middle.centre, analysis.unit),
                points=[mean / axis.factor for _, mean in analysis.binary_means],
                interval=(low, centre, high) if analysis.n_binaries > 1 else None,
                flags=[(control.mean / axis.factor, letter) for letter, control in controls if control is not None],
                ringed=[far.mean / axis.factor for far in _far(analysis)],
                told=_told(member, axis),
            )
        )
    benchmark = members[0].analysis.benchmark
    chart = row_figures.RowChart(
        title=f"{benchmark}: mean of each binary",
        description=f"{sum(len(row.points) for row in drawn)} means by system; the numbers are in the table.",
        axis=axis.label,
        rows=drawn,
    )
    caption = (
        _what_marks_are(members)
        + (" S: stock, your own build." if any(member.analysis.stock for member in members) else "")
        + (" I: identity, relinked with nothing moved." if any(member.analysis.identity for member in members) else "")
    )
    if any(_far(member.analysis) for member in members):
        caption += " In a diamond: far from the others by a robust rule; it is in the numbers all the same."
    return Figure("Binaries", row_figures.draw(chart), caption, _binaries(members))


def _told(member: SuiteMember, axis: Axis) -> MarkData:
    """Seed, mean and time of the first execution of each binary."""
    names = [name for name, _ in member.analysis.binary_means]
    starts = [member.sample.started.get(name, ()) for name in names]
    return MarkData(
        member.analysis.system,
        axis.unit,
        [str(name) for name in names],
        [mean / axis.factor for _, mean in member.analysis.binary_means],
        [start[0] for start in starts] if all(starts) else (),
    )


def _what_marks_are(members: Sequence[SuiteMember]) -> str:
    fixed = [member.analysis.system for member in members if member.sample.one_layout]
    if len(fixed) == len(members):
        return "Each mark is one execution: there is one layout alone."
    said = "Each mark is one binary, that is one layout. The line below is the mean over layouts with its interval."
    return f"{said} Of {', '.join(fixed)} there is one layout alone, and each mark is one execution." if fixed else said


def _binaries(members: Sequence[SuiteMember]) -> Table:
    """One row for each seed and control, one column for each system; what is unusual in a note."""
    means: dict[tuple[str, str], float] = {}
    counts: dict[str, dict[str, int]] = {}
    for member in members:
        analysis = member.analysis
        own = [(str(seed), mean) for seed, mean in analysis.binary_means]
        made = {str(seed): len(executions) for seed, executions in member.sample.binaries}
        for name, control in (("stock", analysis.stock), ("identity", analysis.identity)):
            if control is not None:
                own.append((name, control.mean))
                made[name] = control.n_executions
        for name, mean in own:
            means[name, analysis.system] = mean
            counts.setdefault(name, {})[analysis.system] = made[name]
    usual = Counter(count for row in counts.values() for count in row.values()).most_common(1)[0][0]
    far = {(m.analysis.system, str(each.binary)) for m in members for each in _far(m.analysis)}
    systems = [member.analysis.system for member in members]
    said = dict(zip(means, in_a_column(list(means.values()), members[0].analysis.unit), strict=True))
    rows = []
    for name in sorted(counts, key=lambda name: name in {"stock", "identity"}):
        odd = [system for system in systems if (system, name) in far]
        notes = [_of_systems("far from the others", odd, systems)] if odd else []
        others = {count for count in counts[name].values() if count != usual}
        for count in sorted(others):
            own_systems = [system for system in systems if counts[name].get(system) == count]
            notes.append(_of_systems(f"{count} execution{'s' * (count != 1)}", own_systems, systems))
        rows.append((name, *(said.get((name, system), "-") for system in systems), "; ".join(notes)))
    caption = f"{members[0].analysis.benchmark}: mean of each binary, of {usual} execution{'s' * (usual != 1)}"
    columns = ("seed", *systems, "note")
    if any(row[-1] for row in rows):
        return Table(caption, columns, rows)
    return Table(caption, columns[:-1], [row[:-1] for row in rows])


def _of_systems(words: str, some: Sequence[str], systems: Sequence[str]) -> str:
    """Words, and what they are about unless that is every system."""
    return words if len(some) == len(systems) else f"{words}: {', '.join(some)}"


def _far(analysis: Analysis) -> Sequence[Outlier]:
    return () if analysis.findings is None else analysis.findings.shape.outliers


def _with_width(analysis: Analysis) -> str:
    middle = analysis.mean
    width = f" ± {two_digits(middle.relative_half_width)}" if math.isfinite(middle.relative_half_width) else ""
    return f"{estimate(middle.centre, middle.low, middle.high, analysis.unit)[0]}{width}"


def _ecdf(members: Sequence[SuiteMember], axis: Axis) -> Figure:
    series = []
    for number, member in enumerate(members):
        if member.sample.one_layout:
            continue
        sorted_means = sorted(member.analysis.binary_means, key=lambda pair: pair[1])
        means = [mean / axis.factor for _, mean in sorted_means]
        told = MarkData(member.analysis.system, axis.unit, [str(name) for name, _ in sorted_means])
        points = [(means[0], 0.0), *((mean, (k + 1) / len(means)) for k, mean in enumerate(means))]
        series.append(plot.Series(member.analysis.system, number, "steps", points, told))
    stocks = [
        plot.VerticalLine(m.analysis.stock.mean / axis.factor, k)
        for k, m in enumerate(members)
        if m.analysis.stock is not None
    ]
    chart = plot.Plot(
        title=f"{members[0].analysis.benchmark}: distribution over layouts",
        description="Empirical distribution of the binaries' means by system; the table of binaries has the numbers.",
        x_label=axis.label,
        y_label="share of layouts at or below",
        series=series,
        verticals=stocks,
        from_zero=True,
    )
    caption = "The steeper, the less layout matters."
    caption += " Dotted, with the mark of its system on top: stock." if stocks else ""
    columns = ("system", "lowest", "lower quartile", "median", "upper quartile", "highest")
    cells = [
        (member.analysis.system, *alike(_five(member), member.analysis.unit))
        for member in members
        if not member.sample.one_layout
    ]
    benchmark = members[0].analysis.benchmark
    return Figure(
        "Distribution over layouts", plot.draw(chart), caption, Table(f"{benchmark}: distribution", columns, cells)
    )


def _five(member: SuiteMember) -> list[float]:
    """Lowest, quartiles (Hyndman and Fan's type 7, as numpy has them) and highest of the binaries' means."""
    means = [mean for _, mean in member.analysis.binary_means]
    return [float(value) for value in np.quantile(means, (0, 0.25, 0.5, 0.75, 1))]


def _levels(members: Sequence[SuiteMember], confidence: float, warnings: Sequence[AnyWarning]) -> list[Figure]:
    drawn, cells = [], []
    remarks: list[AnyWarning] = []
    for number, member in enumerate(members):
        analysis = member.analysis
        if analysis.n_binaries < 2 or analysis.mean.centre == 0:
            continue
        open_ = bool(why_no_shares(analysis, of_layouts(analysis, warnings)))
        for part in what_varies(analysis):
            if part.part == "layout" and analysis.is_machine:
                cells.append((analysis.system, NAMES[part.part], layout_words.MACHINE, "-"))
                continue
            interval = part.interval
            bounds = None if interval is None else (100 * interval.low, 100 * interval.high)
            remarks += [] if interval is None else interval.warnings
            shown = _sd_words(part.relative_sd, interval)
            name = NAMES[part.part]
            drawn.append(
                row_figures.FigureRow(
                    f"{name}, {analysis.system}",
                    shown,
                    number,
                    bar=100 * part.relative_sd,
                    interval=None if bounds is None else (bounds[0], 100 * part.relative_sd, bounds[1]),
                )
            )
            share = "-" if part.share is None or open_ else f"{100 * part.share:.0f} %"
            cells.append((analysis.system, name, shown, share))
    if not drawn:
        return []
    benchmark = members[0].analysis.benchmark
    chart = row_figures.RowChart(
        title=f"{benchmark}: what varies",
        axis="relative standard deviation that it adds [%]",
        rows=drawn,
        description=f"{len(drawn)} relative standard deviations; the numbers are in the table.",
    )
    caption = (
        f"Standard deviation that each adds, over the mean, with its {100 * confidence:g} % interval. Where binaries "
        f"were executed once, executions of stock and identity show what executions add.{remarks_of(remarks)}"
    )
    columns = ("system", "what", "relative sd and interval", "share of the variance")
    return [Figure("What varies", row_figures.draw(chart), caption, Table(f"{benchmark}: variation", columns, cells))]


def _sd_words(value: float, interval: Interval | None) -> str:
    return fine_percent(value) if interval is None else fine_percent(value, interval.low, interval.high)
