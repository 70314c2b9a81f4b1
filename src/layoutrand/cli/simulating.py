"""`layoutrand simulate`: how often the statistics keep their promises, on simulated data of known truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from layoutrand.cli import options
from layoutrand.errors import UsageError

if TYPE_CHECKING:
    from layoutrand.stats import Rate

simulate_app = typer.Typer(
    help="How often intervals hold the truth, and tests raise false alarms, on simulated data.", no_args_is_help=True
)

_MOST: Final = 1_000_000
"""Of anything that is simulated."""

Layout = Annotated[str, typer.Option(help="Distribution of layout effects: normal, skewed, bimodal or rare.")]
LayoutSd = Annotated[
    float,
    typer.Option(
        min=0, max=_MOST, callback=options.a_number, help="Standard deviation of layout, in percent of the mean."
    ),
]
ExecutionSd = Annotated[
    float,
    typer.Option(min=0, max=_MOST, callback=options.a_number, help="Standard deviation of executions, in percent."),
]
IterationSd = Annotated[
    float,
    typer.Option(min=0, max=_MOST, callback=options.a_number, help="Standard deviation of iterations, in percent."),
]
Datasets = Annotated[int, typer.Option(min=1, max=_MOST, help="Simulated experiments for each row.")]
Seed = Annotated[int, typer.Option(min=0, help="The study depends on it alone.")]


@simulate_app.command()
def coverage(  # noqa: PLR0913 - one parameter for each option
    binaries: Annotated[str, typer.Option(help="Numbers of binaries, separated by commas.")] = "3,5,10,15,20,30,50",
    executions: Annotated[int, typer.Option(min=1, max=_MOST)] = 100,
    iterations: Annotated[int, typer.Option(min=1, max=_MOST)] = 100,
    layout_sd: LayoutSd = 3.0,
    execution_sd: ExecutionSd = 5.0,
    iteration_sd: IterationSd = 5.0,
    layout: Layout = "normal",
    ratio: Annotated[float, typer.Option(min=0.01, max=100, callback=options.a_number, help="The true ratio.")] = 0.95,
    methods: Annotated[str, typer.Option(help="Methods of the ratio interval.")] = "fieller,fieller-normal,log-t",
    datasets: Datasets = 2000,
    seed: Seed = 1,
    json: options.Json = False,
) -> int:
    """How often the interval of a ratio holds the true ratio (the technical report's section 8.4)."""
    from layoutrand.stats import HierarchicalModel, coverage_study

    model = HierarchicalModel(mean=100.0, sds=(iteration_sd, execution_sd, layout_sd), layout=layout)
    found = coverage_study(
        model,
        n_binaries=_numbers(binaries),
        lower_counts=(executions, iterations),
        ratio=ratio,
        methods=methods.split(","),
        n_datasets=datasets,
        seed=seed,
    )
    columns = ("method", "binaries", "coverage", "95 % interval of it", "mean half-width", "unbounded")
    rows = [
        (
            r.method,
            str(r.n_binaries),
            _share(r.coverage),
            _range(r.coverage),
            f"{r.mean_half_width:.4f}",
            str(r.n_unbounded),
        )
        for r in found
    ]
    return _show(
        "coverage", f"Coverage of nominal 95 % intervals, {datasets} comparisons", columns, rows, found, json=json
    )


@simulate_app.command("false-alarms")
def false_alarms(  # noqa: PLR0913 - one parameter for each option
    designs: Annotated[
        str, typer.Option(help="Repetitions of each sample, binaries x executions x iterations.")
    ] = "1x30x1,3x10x1,10x3x1,30x1x1",
    analyses: Annotated[str, typer.Option(help="per-binary, flat-t, RRR, RRN, RNN, FLAT.")] = "flat-t,per-binary",
    thresholds: Annotated[str, typer.Option(help="Relative differences that count, in percent.")] = "0",
    layout_sd: LayoutSd = 2.0,
    execution_sd: ExecutionSd = 0.5,
    iteration_sd: IterationSd = 0.0,
    layout: Layout = "normal",
    datasets: Datasets = 1000,
    seed: Seed = 1,
    json: options.Json = False,
) -> int:
    """How often a system is called different from itself (the technical report's section 8.3)."""
    from layoutrand.stats import HierarchicalModel, false_alarm_study

    model = HierarchicalModel(mean=100.0, sds=(iteration_sd, execution_sd, layout_sd), layout=layout)
    found = false_alarm_study(
        model,
        designs=[_numbers(design, "x") for design in designs.split(",")],
        analyses=analyses.split(","),
        thresholds=[number / 100 for number in _decimals(thresholds)],
        n_comparisons=datasets,
        seed=seed,
    )
    columns = ("analysis", "binaries x executions x iterations", "threshold", "false alarms", "95 % interval of it")
    rows = [
        (r.analysis, " x ".join(map(str, r.counts)), f"{100 * r.threshold:g} %", _share(r.alarms), _range(r.alarms))
        for r in found
    ]
    return _show("false-alarms", f"False alarms in {datasets} A/A comparisons", columns, rows, found, json=json)


@simulate_app.command()
def power(
    benchmarks: Annotated[int, typer.Option(min=1, max=_MOST)] = 13,
    scores: Annotated[int, typer.Option(min=2, max=_MOST, help="Scores of each system per benchmark.")] = 5,
    sd: Annotated[
        float,
        typer.Option(
            min=0,
            max=_MOST,
            callback=options.a_number,
            help="Standard deviation of the scores; the means are 5, 6, 7...",
        ),
    ] = 0.5,
    difference: Annotated[
        float,
        typer.Option(
            min=-_MOST, max=_MOST, callback=options.a_number, help="What the benchmarks that differ differ by."
        ),
    ] = 1.0,
    datasets: Datasets = 200,
    seed: Seed = 1,
    json: options.Json = False,
) -> int:
    """How often tests find that some benchmarks of a suite differ (Li, Chen and Peng, section VI)."""
    from layoutrand.stats import power_study

    found = power_study(
        [5.0 + k for k in range(benchmarks)],
        [sd] * benchmarks,
        difference=difference,
        n_scores=scores,
        n_datasets=datasets,
        seed=seed,
    )
    columns = ("test", "benchmarks that differ", "rejections", "95 % interval of it")
    rows = [(r.test, str(r.n_different), _share(r.rejections), _range(r.rejections)) for r in found]
    return _show("power", f"Power at 5 %, {datasets} experiments a row", columns, rows, found, json=json)


def _show(
    study: str,
    title: str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    found: Sequence[Any],
    *,
    json: bool,
) -> int:
    from dataclasses import asdict

    terminal = options.terminal(json=json, quiet=False)
    if json:
        terminal.document({"schema": "layoutrand/simulate/1", "study": study, "rows": [asdict(row) for row in found]})
    terminal.table(title, columns, rows)
    return 0


def _numbers(text: str, separator: str = ",") -> tuple[int, ...]:
    from layoutrand.text.digits import whole_number
    from layoutrand.text.foreign_fields import excerpt

    numbers = [whole_number(word.strip(), _MOST) for word in text.split(separator)]
    if None in numbers:
        raise UsageError(f"{excerpt(text)}: write whole numbers separated by {separator!r}, of at most {_MOST:,}")
    return tuple(number for number in numbers if number is not None)


def _decimals(text: str) -> tuple[float, ...]:
    from layoutrand.text.foreign_fields import excerpt

    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError as error:
        raise UsageError(f"{excerpt(text)}: write numbers separated by commas") from error


def _share(rate: Rate) -> str:
    return f"{100 * rate.rate:.1f} %"


def _range(rate: Rate) -> str:
    return f"{100 * rate.low:.1f} to {100 * rate.high:.1f} %"
