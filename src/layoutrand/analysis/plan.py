"""`layoutrand plan`: from a pilot to repetition counts, for each benchmark.

The executions recorded so far are the pilot.  They tell how much each level varies and what it costs; from these
follow the optimal counts below the binaries (Kalibera and Jones, TR 4-12, section 6) and the number of binaries for a
wanted precision.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Any, Final

from layoutrand.analysis.analyse import collapse
from layoutrand.analysis.analysis_warnings import CountsExecutions, NoiseOfStock
from layoutrand.analysis.blocking import Freed, freed
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Selection
from layoutrand.errors import AnalysisError
from layoutrand.model import STOCK, Execution
from layoutrand.stats import optimal_counts, plan, predict
from layoutrand.text.quantities import SECONDS
from layoutrand.warning import AnyWarning, sentences_of

HALF_WIDTHS: Final = (0.005, 0.01, 0.02)
MOST_BINARIES: Final = 100_000
_FEWEST_OF_STOCK: Final = 3


@dataclass(frozen=True)
class WidthForecast:
    """Binaries that are expected to give ``half_width`` (relative to the mean), and the seconds they take.

    ``binaries`` is None where not even `MOST_BINARIES` would do.
    """

    half_width: float
    binaries: int | None
    seconds: float


@dataclass(frozen=True)
class BenchmarkPlan:
    """The plan for one benchmark of one system.

    ``levels`` are those that the pilot (or stock) shows, highest first; ``relative_sds``, ``costs_s`` and ``counts``
    go by level name.  ``counts`` holds the levels below the binaries.  ``for_mean`` gives the interval of one system's
    mean, ``for_ratio`` the number of binaries of each of two systems for the interval of their ratio.
    """

    system: str
    benchmark: str
    metric: str
    n_binaries: int
    mean: float
    levels: tuple[str, ...]
    relative_sds: Mapping[str, float]
    costs_s: Mapping[str, float]
    counts: Mapping[str, int]
    for_mean: tuple[WidthForecast, ...]
    for_ratio: WidthForecast
    warnings: tuple[AnyWarning, ...]


def make_plans(
    selection: Selection,
    link_s: Mapping[str, float],
    *,
    half_widths: Sequence[float],
    threshold: float,
    confidence: float,
) -> list[BenchmarkPlan]:
    """A plan for each benchmark's main metric; ``link_s`` maps binaries (SHA-256) to the seconds of their links.

    Raises `AnalysisError` where no benchmark has been executed with two binaries or more.
    """
    samples = [sample for sample in selection.samples if sample.is_primary and len(sample.binaries) > 1]
    if not samples:
        failed = f"; {len(selection.failures)} of {len(selection.executions)} executions failed"
        raise AnalysisError(
            "a plan needs a pilot with at least 2 binaries per benchmark, better 5 or more: "
            f"`layoutrand run --seeds 5`, then plan again{failed if selection.failures else ''}"
        )
    return [
        _plan(sample, selection, link_s, half_widths=half_widths, threshold=threshold, confidence=confidence)
        for sample in samples
    ]


def unplanned(selection: Selection) -> list[str]:
    """What there is no plan for beside others: benchmarks of a system with fewer than two binaries."""
    return [f"{s.system}, {s.benchmark}" for s in selection.samples if s.is_primary and len(s.binaries) < 2]


def _plan(
    measured: Sample,
    selection: Selection,
    link_s: Mapping[str, float],
    *,
    half_widths: Sequence[float],
    threshold: float,
    confidence: float,
) -> BenchmarkPlan:
    own = freed(measured)  # no count of binaries or executions makes up for a slow node
    sample = own.sample
    executions = [
        execution
        for execution in selection.executions
        if (execution.system, execution.benchmark, execution.instrument)
        == (sample.system, sample.benchmark, sample.instrument)
        and execution.status == "ok"
        and (sample.one_layout or isinstance(execution.layout, int))
    ]
    data, levels = collapse([runs for _, runs in sample.binaries])
    costs = _costs(sample, executions, link_s, levels)
    mean = fmean(value for _, runs in sample.binaries for run in runs for value in run)
    found = plan(data, [costs[level] for level in reversed(levels)], confidence=confidence)
    components = found.unbiased
    warnings: list[AnyWarning] = list(found.warnings)
    if sample.one_layout:
        warnings.append(CountsExecutions())
    elif levels == ("binary",) and (noise := _noise_of_stock(own)) is not None:
        # One execution per binary cannot tell layout from noise; stock's executions, which vary by noise alone, can.
        levels = ("binary", "execution")
        costs = _costs(sample, executions, link_s, levels)
        components = (noise, max(0.0, components[0] - noise))
        warnings = [NoiseOfStock()]
    cost_list = [costs[level] for level in reversed(levels)]
    lower = optimal_counts(components, cost_list) if len(levels) > 1 else ()
    shape = _Shape(components, lower, cost_list, mean, confidence)
    root = math.sqrt(2)
    called = {"binary": "execution"} if sample.one_layout else {}
    ratio = shape.forecast(threshold / root)
    return BenchmarkPlan(
        system=sample.system,
        benchmark=sample.benchmark,
        metric=sample.metric,
        n_binaries=sample.n_binaries,
        mean=mean,
        levels=tuple(called.get(level, level) for level in levels),
        relative_sds={
            called.get(level, level): math.sqrt(max(0.0, component)) / abs(mean)
            for level, component in zip(levels, reversed(components), strict=True)
        },
        costs_s={called.get(level, level): cost for level, cost in costs.items()},
        counts=dict(zip(reversed(levels[1:]), lower, strict=True)),
        for_mean=tuple(shape.forecast(width) for width in half_widths),
        for_ratio=WidthForecast(threshold, ratio.binaries, 2 * ratio.seconds),
        warnings=tuple(warnings),
    )


def _costs(
    sample: Sample, executions: Sequence[Execution], link_s: Mapping[str, float], levels: Sequence[str]
) -> dict[str, float]:
    """Seconds for one more of each level: a link, a start with its warm-up, an iteration.

    A level that the data do not have is part of the one below the next higher: its seconds are paid there.
    """
    walls = [execution.wall_s for execution in executions]
    links = [link_s[e.binary_sha256] for e in executions if e.binary_sha256 in link_s]
    link = fmean(links) if links else 0.0
    wall = fmean(walls)
    if "iteration" not in levels:
        return {"binary": link + wall} if levels == ("binary",) else {"binary": link, "execution": wall}
    counted = [len(run) for _, runs in sample.binaries for run in runs]
    every = [sum(m.metric == sample.metric for m in execution.measurements) for execution in executions]
    iteration = _iteration_s(sample, executions, every)
    start = max(0.0, round(wall - iteration * fmean(counted), 9))  # less is the rounding of a difference
    if "execution" in levels:
        return {"binary": link, "execution": start, "iteration": iteration}
    return {"binary": link + start, "iteration": iteration}


def _iteration_s(sample: Sample, executions: Sequence[Execution], every: Sequence[int]) -> float:
    """Mean seconds of an iteration: as the program says, or an equal share of the execution where it says no times.

    An iteration takes no more than that share, so longer times are of something else.
    """
    share = fmean(e.wall_s / count for e, count in zip(executions, every, strict=True))
    if sample.unit not in SECONDS:
        return share
    said = fmean(m.value for e in executions for m in e.measurements if m.metric == sample.metric and not m.warmup)
    return min(said * SECONDS[sample.unit], share)


def _noise_of_stock(own: Freed) -> float | None:
    runs = own.sample.controls.get(STOCK, ()) if own.has_noise(STOCK) else ()
    return variance(fmean(run) for run in runs) if len(runs) >= _FEWEST_OF_STOCK else None


@dataclass(frozen=True)
class _Shape:
    """Variances and costs, level 1 first, with the counts of the lower levels chosen."""

    components: Sequence[float]
    lower: tuple[int, ...]
    costs: Sequence[float]
    mean: float
    confidence: float

    def forecast(self, half_width: float) -> WidthForecast:
        """The smallest number of binaries that is expected to give the relative half-width."""

        def predicted(binaries: int) -> Any:
            return predict(
                self.components, (*self.lower, binaries), costs=self.costs, mean=self.mean, confidence=self.confidence
            )

        if predicted(MOST_BINARIES).relative_half_width > half_width:
            return WidthForecast(half_width, None, math.inf)
        low, high = 1, 2
        while predicted(high).relative_half_width > half_width:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if predicted(middle).relative_half_width <= half_width else (middle, high)
        return WidthForecast(half_width, high, float(predicted(high).cost))


def plan_document(plans: Sequence[BenchmarkPlan], *, confidence: float) -> dict[str, Any]:
    """``layoutrand/plan/1``."""
    return {
        "schema": "layoutrand/plan/1",
        "confidence": confidence,
        "benchmarks": [
            {
                **{name: getattr(each, name) for name in ("system", "benchmark", "metric", "n_binaries", "mean")},
                "levels": list(each.levels),
                "relative_sds": dict(each.relative_sds),
                "costs_s": dict(each.costs_s),
                "counts": dict(each.counts),
                "predicted": [_forecast(forecast) for forecast in each.for_mean],
                "ratio": _forecast(each.for_ratio),
                "warnings": sentences_of(each.warnings),
            }
            for each in plans
        ],
    }


def _forecast(forecast: WidthForecast) -> dict[str, Any]:
    seconds = None if math.isinf(forecast.seconds) else forecast.seconds
    return {"half_width": forecast.half_width, "binaries": forecast.binaries, "seconds": seconds}
