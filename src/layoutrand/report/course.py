"""Figures of one benchmark in the report on how the numbers came about: drift, convergence, dependence."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from layoutrand.analysis.analyse import Analysis
from layoutrand.analysis.machine import TimedExecution, in_order_of_start
from layoutrand.analysis.sample import order_is_known
from layoutrand.analysis.selection import Selection
from layoutrand.errors import AnalysisError
from layoutrand.instruments.known import simulated
from layoutrand.model import IDENTITY, STOCK
from layoutrand.report import plot
from layoutrand.report.mark_data import MarkData
from layoutrand.report.members import Axis, SuiteMember, remarks_of
from layoutrand.stats import autocorrelation, mean_interval
from layoutrand.text.document import Figure, Table
from layoutrand.text.quantities import fine_percent, in_a_column, quantity
from layoutrand.warning import plural

_MOST_PLOTTED: Final = 1500
_CONVERGENCE_POINTS: Final = 25
_FEWEST_ITERATIONS: Final = 10
_PARTS: Final = 6


def run_order(members: Sequence[SuiteMember], selection: Selection, axis: Axis) -> tuple[list[Figure], str]:
    """Value against the order of execution; or why there is no such plot."""
    first = members[0].analysis
    if first.instrument in simulated():
        return [], "The processor is simulated here, so the order of the executions cannot matter: it is not plotted."
    if selection.sources and not order_is_known([member.sample for member in members]):
        return [], "The imported files do not say in which order the executions were made: it is not plotted."
    systems = {member.analysis.system: number for number, member in enumerate(members)}
    made = in_order_of_start([member.sample for member in members])
    points = [(each.system, k, each.value / axis.factor) for k, each in enumerate(made, 1)]
    if not points:
        return [], "No execution is recorded from which an order could be plotted."
    # Each system is thinned by itself: one in two of an alternating order would be one system alone.
    every = math.ceil(len(points) / _MOST_PLOTTED) or 1
    series = [_in_order(system, number, made, axis, every) for system, number in systems.items()]
    regimes = _Regimes.of(members, made)
    chart = plot.Plot(
        title=f"{first.benchmark}: order of execution",
        description=(
            f"{plural(len(points), 'execution')} of {plural(len(systems), 'system')} "
            "in the order in which they were made."
        ),
        x_label="execution, in the order of their starts",
        counts_x=True,
        y_label=axis.label,
        series=series,
        bands=regimes.bands,
    )
    thinned = f" One in {every} of the {len(points)} executions is shown, of each system." if every > 1 else ""
    controls = " Stock and identity are included." if any(e.name in (STOCK, IDENTITY) for e in made) else ""
    drift = "A slope or a step that all systems share is drift of the machine."
    caption = f"{regimes.words or drift}{controls}{thinned}"
    return [Figure("Order of execution", plot.draw(chart), caption, _by_part(first, list(systems), points, axis))], ""


def _in_order(system: str, number: int, made: Sequence[TimedExecution], axis: Axis, every: int) -> plot.Series:
    own = [(k, each) for k, each in enumerate(made, 1) if each.system == system][::every]
    told = MarkData(
        system,
        axis.unit,
        [str(each.name) for _, each in own],
        [each.value / axis.factor for _, each in own],
        [each.started for _, each in own],
    )
    return plot.Series(system, number, "points", [(float(k), each.value / axis.factor) for k, each in own], told)


@dataclass(frozen=True)
class _Regimes:
    """Where the machine was at which of its levels, and what to say of them; nothing where it had one."""

    bands: Sequence[plot.VerticalBand] = ()
    words: str = ""

    @classmethod
    def of(cls, members: Sequence[SuiteMember], made: Sequence[TimedExecution]) -> _Regimes:
        """From the findings of the members, which all hold the state of the machine that they share."""
        found = [m.analysis.findings.machine for m in members if m.analysis.findings is not None]
        machine = next((each for each in found if each is not None and each.alternation is not None), None)
        if machine is None or machine.state is None or machine.alternation is None:
            return cls()
        labels = dict(machine.state.labels)
        levels = [labels.get((each.system, each.name, each.number)) for each in made]
        bands = []
        for level, group in itertools.groupby(enumerate(levels, 1), key=lambda pair: pair[1]):
            places = [place for place, _ in group]
            if level:
                bands.append(plot.VerticalBand(places[0] - 0.5, places[-1] + 0.5, level))
        unit = members[0].analysis.unit
        lowest, *higher = [quantity(value, unit) for value in machine.alternation.levels]
        where = f" on {machine.state.node}" if machine.state.node else ""
        n_changes = machine.alternation.n_changes
        often = "once" if n_changes == 1 else f"{n_changes} times"
        words = (
            f"The machine switched{where} between levels, {often}: one binary "
            f"({machine.alternation.binary}) takes {lowest} at the lowest, shaded is where it was higher "
            f"({', '.join(higher)})."
        )
        return cls(bands, words)


def _by_part(first: Analysis, systems: Sequence[str], points: Sequence[tuple[str, int, float]], axis: Axis) -> Table:
    """Means over parts of the run, which show a drift in numbers."""
    parts = min(_PARTS, len(points))
    bounds = [(len(points) * part // parts, len(points) * (part + 1) // parts) for part in range(parts)]
    means: dict[tuple[int, str], float] = {}
    for start, end in bounds:
        for system in systems:
            if values := [value for s, _, value in points[start:end] if s == system]:
                means[start, system] = fmean(values) * axis.factor
    said = dict(zip(means, in_a_column(list(means.values()), first.unit), strict=True))
    cells = [(f"{start + 1} to {end}", *(said.get((start, s), "-") for s in systems)) for start, end in bounds]
    return Table(f"{first.benchmark}: means in the order of execution", ("executions", *systems), cells)


def convergence(members: Sequence[SuiteMember], confidence: float) -> list[Figure]:
    """Half-width of the mean with the number of binaries; none where no system has enough of them."""
    series: list[plot.Series] = []
    cells = []
    for number, member in enumerate(members):
        if member.sample.one_layout:
            continue  # its executions are no binaries
        means = [mean for _, mean in member.analysis.binary_means]
        widths = []
        for n in _some(3, len(means)):
            try:
                width = mean_interval(means[:n], confidence=confidence).relative_half_width
            except AnalysisError:  # the first binaries alone cannot be analysed; with all of them it was possible
                continue
            if math.isfinite(width):
                widths.append((float(n), 100 * width))
                cells.append((member.analysis.system, str(n), fine_percent(width)))
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
        x_label="binaries n, by seed",
        counts_x=True,
        y_label="half-width of the interval [% of the mean]",
        series=series,
        from_zero=True,
    )
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


def dependence(member: SuiteMember, number: int) -> list[Figure]:
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
        x_label="lag in iterations",
        counts_x=True,
        y_label="correlation",
        series=series,
        horizontals=(-found.band, found.band),
    )
    caption = (
        f"{len(iterations)} iterations of the first execution of seed {seed}, warm-up left out. Independent iterations "
        f"lie within the dashed lines ({100 * found.confidence:g} % of them, each lag). Permutation test of "
        f"independence: p = {found.p_value:.3g}.{remarks_of(found.warnings)}"
    )
    table = Table(
        f"{system}: autocorrelation",
        ("lag", "as recorded", "in a random order"),
        [(str(k), f"{found.values[k]:.3f}", f"{found.reordered[k]:.3f}") for k in lags],
    )
    return [Figure(f"Dependence of iterations, {system}", plot.draw(chart), caption, table)]
