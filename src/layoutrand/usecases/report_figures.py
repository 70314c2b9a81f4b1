"""The figures of one benchmark in the report: where binaries lie, what varies, drift, convergence, dependence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.core.schedule import SIMULATED
from layoutrand.errors import AnalysisError
from layoutrand.model import Execution
from layoutrand.stats import autocorrelation, component_intervals, mean_interval
from layoutrand.text.figures import plot, rows
from layoutrand.text.html_report import Figure, Table
from layoutrand.text.quantities import percent, quantity
from layoutrand.usecases.analyse import LEVELS, Analysis, collapse
from layoutrand.usecases.selection import Sample, Selection

_MOST_PLOTTED: Final = 1500
_CONVERGENCE_POINTS: Final = 25
_FEWEST_ITERATIONS: Final = 10
_LEVEL_NAMES: Final = {
    "binary": "between binaries",
    "execution": "between executions",
    "iteration": "within executions",
}
_UNITS: Final = {"s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")), "B": ((2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))}
_COUNTS: Final = ((1e9, "10⁹"), (1e6, "10⁶"), (1.0, ""))


@dataclass(frozen=True)
class Member:
    """One system on the benchmark: its analysis and the sample that this is of."""

    analysis: Analysis
    sample: Sample


@dataclass(frozen=True)
class _Axis:
    """What values are divided by to be shown, and the label of their axis."""

    factor: float
    label: str


def of_benchmark(members: Sequence[Member], selection: Selection, confidence: float) -> tuple[list[Figure], list[str]]:
    """The figures, and sentences that say why some are not there."""
    axis = _axis(members)
    figures = [_strip(members, axis)]
    notes = []
    if any(len(member.sample.binaries) > 1 for member in members):
        figures.append(_ecdf(members, axis))
        figures += _levels(members, confidence)
    else:
        notes.append("There is one binary of each system here: how layouts differ cannot be seen.")
    drawn, reason = _run_order(members, selection, axis)
    figures += drawn
    notes += [reason] if reason else []
    figures += _convergence(members, confidence)
    figures += [figure for number, member in enumerate(members) for figure in _dependence(member, number)]
    return figures, notes


def _axis(members: Sequence[Member]) -> _Axis:
    metric, unit = members[0].analysis.metric, members[0].analysis.unit
    largest = max(abs(mean) for member in members for _, mean in member.analysis.binary_means)
    choices = _UNITS.get(unit, _COUNTS)
    factor, name = next((choice for choice in choices if largest >= choice[0]), choices[-1])
    if unit not in _UNITS:
        name = " ".join(part for part in (name, "" if unit == "1" else unit) if part)
    return _Axis(factor, f"{metric} [{name}]" if name else metric)


def _strip(members: Sequence[Member], axis: _Axis) -> Figure:
    drawn = []
    for number, member in enumerate(members):
        analysis = member.analysis
        middle = analysis.mean
        low, centre, high = (value / axis.factor for value in (middle.low, middle.centre, middle.high))
        controls = (("S", analysis.stock), ("I", analysis.identity))
        drawn.append(
            rows.Row(
                name=analysis.system, series=number,
                value=_with_width(analysis) if analysis.n_binaries > 1 else quantity(middle.centre, analysis.unit),
                points=[mean / axis.factor for _, mean in analysis.binary_means],
                interval=(low, centre, high) if analysis.n_binaries > 1 else None,
                flags=[(control.mean / axis.factor, letter) for letter, control in controls if control is not None],
            )
        )  # fmt: skip
    cells = [
        (member.analysis.system, str(seed), str(len(executions)), quantity(mean, member.analysis.unit))
        for member in members
        for (seed, executions), (_, mean) in zip(member.sample.binaries, member.analysis.binary_means, strict=True)
    ]
    cells += [
        (member.analysis.system, name, str(control.n_executions), quantity(control.mean, member.analysis.unit))
        for member in members
        for name, control in (("stock", member.analysis.stock), ("identity", member.analysis.identity))
        if control is not None
    ]
    benchmark = members[0].analysis.benchmark
    chart = rows.RowChart(
        title=f"{benchmark}: mean of each binary",
        description=f"{len(cells)} means by system; the numbers are in the table.", axis=axis.label, rows=drawn,
    )  # fmt: skip
    caption = (
        "Each mark is one binary, that is one layout. The line below is the mean over layouts with its interval."
        + (" S: stock, your own build." if any(member.analysis.stock for member in members) else "")
        + (" I: identity, relinked with nothing moved." if any(member.analysis.identity for member in members) else "")
    )
    columns = ("system", "seed", "executions", "mean")
    return Figure("Binaries", rows.draw(chart), caption, Table(f"{benchmark}: binaries", columns, cells))


def _with_width(analysis: Analysis) -> str:
    middle = analysis.mean
    width = f" ± {percent(middle.relative_half_width)}" if math.isfinite(middle.relative_half_width) else ""
    return f"{quantity(middle.centre, analysis.unit)}{width}"


def _ecdf(members: Sequence[Member], axis: _Axis) -> Figure:
    series = []
    for number, member in enumerate(members):
        means = sorted(mean / axis.factor for _, mean in member.analysis.binary_means)
        points = [(means[0], 0.0), *((mean, (k + 1) / len(means)) for k, mean in enumerate(means))]
        series.append(plot.Series(member.analysis.system, number, "steps", points))
    stocks = [(m.analysis.stock.mean / axis.factor, k) for k, m in enumerate(members) if m.analysis.stock is not None]
    chart = plot.Plot(
        title=f"{members[0].analysis.benchmark}: distribution over layouts",
        description="Empirical distribution of the binaries' means by system; the table of binaries has the numbers.",
        x_label=axis.label, y_label="share of layouts at or below", series=series, verticals=stocks, from_zero=True,
    )  # fmt: skip
    caption = "The steeper, the less layout matters."
    caption += " Dotted: stock, in the colour of its system." if stocks else ""
    return Figure("Distribution over layouts", plot.draw(chart), caption)


def _levels(members: Sequence[Member], confidence: float) -> list[Figure]:
    drawn, cells = [], []
    unknown: list[str] = []
    remarks: list[str] = []
    for number, member in enumerate(members):
        analysis = member.analysis
        if analysis.n_binaries < 2 or analysis.mean.centre == 0:
            continue
        data, _ = collapse([executions for _, executions in member.sample.binaries])
        intervals = list(reversed(component_intervals(data, confidence=confidence)))
        remarks += [line for interval in intervals if interval is not None for line in interval.warnings]
        for level, interval in zip(analysis.levels, intervals, strict=True):
            if level.relative_sd is None or interval is None:
                continue
            bounds = [math.sqrt(max(bound, 0.0)) / abs(analysis.mean.centre) for bound in (interval.low, interval.high)]
            shown = f"{percent(level.relative_sd)} [{100 * bounds[0]:.2f}, {100 * bounds[1]:.2f}]"
            name = _LEVEL_NAMES[level.level]
            drawn.append(
                rows.Row(
                    f"{name}, {analysis.system}", shown, number, bar=100 * level.relative_sd,
                    interval=(100 * bounds[0], 100 * level.relative_sd, 100 * bounds[1]),
                )
            )  # fmt: skip
            cells.append((analysis.system, name, str(level.count), shown))
        unknown += [_LEVEL_NAMES[level] for level in LEVELS if level in analysis.collapsed]
    if not drawn:
        return []
    single = ", ".join(dict.fromkeys(unknown))
    missing = f" What has no bar was not repeated and is part of the level above: {single}." if single else ""
    benchmark = members[0].analysis.benchmark
    chart = rows.RowChart(
        title=f"{benchmark}: what varies", axis="relative standard deviation that the level adds [%]", rows=drawn,
        description=f"{len(drawn)} relative standard deviations; the numbers are in the table.",
    )  # fmt: skip
    caption = (
        f"Standard deviation that each level adds, over the mean, with its {100 * confidence:g} % interval."
        f"{missing}{_remarks(remarks)}"
    )
    table = Table(f"{benchmark}: variation", ("system", "level", "repetitions", "relative sd and interval"), cells)
    return [Figure("What varies", rows.draw(chart), caption, table)]


def _remarks(lines: Sequence[str]) -> str:
    """Warnings as the end of a caption."""
    return "".join(f" Note: {line.rstrip('.')}." for line in dict.fromkeys(lines))


def _run_order(members: Sequence[Member], selection: Selection, axis: _Axis) -> tuple[list[Figure], str]:
    """Value against the order of execution; or why there is no such plot."""
    first = members[0].analysis
    if first.instrument in SIMULATED:
        return [], "The processor is simulated here, so the order of the executions cannot matter: it is not plotted."
    if selection.sources:
        return [], "The imported files do not say in which order the executions were made: it is not plotted."
    systems = {member.analysis.system: number for number, member in enumerate(members)}
    chosen = [
        execution
        for execution in selection.executions
        if (execution.benchmark, execution.instrument, execution.status) == (first.benchmark, first.instrument, "ok")
        and execution.system in systems
    ]
    values = [(e.system, _value(e, first.metric)) for e in sorted(chosen, key=lambda e: (e.started_at, e.order))]
    points = [(system, k, value / axis.factor) for k, (system, value) in enumerate(values, 1) if value is not None]
    # Each system is thinned by itself: one in two of an alternating order would be one system alone.
    every = math.ceil(len(points) / _MOST_PLOTTED) or 1
    series = [
        plot.Series(system, number, "points", [(float(k), v) for s, k, v in points if s == system][::every])
        for system, number in systems.items()
    ]
    chart = plot.Plot(
        title=f"{first.benchmark}: order of execution",
        description=f"{len(points)} executions of {len(systems)} system(s) in the order in which they were made.",
        x_label="execution, in the order of their starts", y_label=axis.label, series=series,
    )  # fmt: skip
    thinned = f" One in {every} of the {len(points)} executions is shown, of each system." if every > 1 else ""
    controls = " Stock and identity are included." if any(not isinstance(e.layout, int) for e in chosen) else ""
    caption = f"A slope or a step that all systems share is drift of the machine.{controls}{thinned}"
    return [Figure("Order of execution", plot.draw(chart), caption)], ""


def _value(execution: Execution, metric: str) -> float | None:
    values = [m.value for m in execution.measurements if m.metric == metric and not m.warmup]
    return math.fsum(values) / len(values) if values else None


def _convergence(members: Sequence[Member], confidence: float) -> list[Figure]:
    series: list[plot.Series] = []
    cells = []
    for number, member in enumerate(members):
        means = [mean for _, mean in member.analysis.binary_means]
        widths = []
        for n in _some(3, len(means)):
            try:
                width = mean_interval(means[:n], confidence=confidence).relative_half_width
            except AnalysisError:  # the first binaries alone cannot be analysed; with all of them it was possible
                continue
            if math.isfinite(width):
                widths.append((float(n), 100 * width))
                cells.append((member.analysis.system, str(n), percent(width)))
        if len(widths) < 2 or not any(width for _, width in widths):
            continue
        last, end = widths[-1]
        ideal = [(n, end * math.sqrt(last / n)) for n, _ in widths]
        series += [
            plot.Series(member.analysis.system, number, "line", widths),
            plot.Series("", number, "dashed", ideal),
        ]
    if not series:
        return []
    benchmark = members[0].analysis.benchmark
    chart = plot.Plot(
        title=f"{benchmark}: half-width with the number of binaries",
        description="Half-width of the interval of the mean over the first n binaries; the numbers are in the table.",
        x_label="binaries n, by seed", y_label="half-width of the interval [% of the mean]", series=series,
        from_zero=True,
    )  # fmt: skip
    caption = (
        "How precise the mean was with the first n binaries. Dashed: 1/√n, drawn through the last point, which is how "
        "it goes on if further layouts are like these."
    )
    table = Table(f"{benchmark}: half-widths", ("system", "binaries", "half-width"), cells)
    return [Figure("Convergence", plot.draw(chart), caption, table)]


def _some(first: int, last: int) -> list[int]:
    """Whole numbers from first to last, at most `_CONVERGENCE_POINTS`, further apart the larger they are."""
    if last < first:
        return []
    steps = _CONVERGENCE_POINTS - 1
    return sorted({round(first * (last / first) ** (k / steps)) for k in range(steps + 1)})


def _dependence(member: Member, number: int) -> list[Figure]:
    """Autocorrelations of the first binary's first execution; none where it has too few iterations."""
    seed, executions = member.sample.binaries[0]
    iterations = executions[0]
    if len(iterations) < _FEWEST_ITERATIONS:
        return []
    found = autocorrelation(iterations)
    lags = range(1, len(found.values))
    series = [
        plot.Series("in a random order", 4, "bars", [(k + 0.3, found.reordered[k]) for k in lags]),
        plot.Series("as recorded", number % 4, "bars", [(float(k), found.values[k]) for k in lags]),
    ]
    system = member.analysis.system
    chart = plot.Plot(
        title=f"{member.analysis.benchmark}, {system}: autocorrelation of iterations",
        description=f"Autocorrelation at lags 1 to {len(lags)}; the numbers are in the table.",
        x_label="lag in iterations", y_label="correlation", series=series, horizontals=(-found.band, found.band),
    )  # fmt: skip
    caption = (
        f"{len(iterations)} iterations of the first execution of seed {seed}, warm-up left out. Independent iterations "
        f"lie within the dashed lines ({100 * found.confidence:g} % of them, each lag). Permutation test of "
        f"independence: p = {found.p_value:.3g}.{_remarks(found.warnings)}"
    )
    table = Table(f"{system}: autocorrelation", ("lag", "as recorded", "in a random order"), [
        (str(k), f"{found.values[k]:.3f}", f"{found.reordered[k]:.3f}") for k in lags
    ])  # fmt: skip
    return [Figure(f"Dependence of iterations, {system}", plot.draw(chart), caption, table)]
