"""The tables of `plan`, on any `Display`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from layoutrand.screens.display import Display
from layoutrand.text.quantities import duration, percent

if TYPE_CHECKING:
    from layoutrand.analysis.plan import BenchmarkPlan, RatioForecast
    from layoutrand.analysis.planned_counts import PlannedCount


def show_plans(plans: Sequence[BenchmarkPlan], page: Display) -> None:
    """What varies and what it costs, then what to do."""
    from layoutrand.analysis.forecasting import promise

    page.table(
        "The pilot: variation and cost of each level",
        ("benchmark", "system", "metric", "level", "in the pilot", "relative sd", "cost of one more", "planned"),
        [row for each in plans for row in _level_rows(each)],
    )
    page.line()
    widths = [forecast.half_width for forecast in plans[0].for_mean]
    page.table(
        "Binaries for a wanted half-width of the mean",
        ("benchmark", "system", *(f"± {percent(width, 1)}" for width in widths)),
        [(each.benchmark, each.system, *(_count(width.count) for width in each.for_mean)) for each in plans],
    )
    ratios = [(each, each.for_ratio) for each in plans if each.for_ratio is not None]
    page.line()
    if ratios:
        aim = ratios[0][1]
        page.table(
            "Binaries of each of two systems to decide between them",
            (
                "benchmark",
                "systems",
                f"truly {percent(aim.difference, 1)} apart",
                f"truly the same, shown within {percent(aim.threshold, 1)}",
            ),
            [
                (each.benchmark, _systems(each.system, ratio), _count(ratio.different), _count(ratio.same))
                for each, ratio in ratios
            ],
        )
    page.item(promise(min(each.n_binaries for each in plans)))
    for each in plans:
        for warning in each.warnings:
            page.warn(f"{each.system}, {each.benchmark}: {warning.beside_name()}")


def _level_rows(plan: BenchmarkPlan) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for level in plan.levels:
        count = plan.counts.get(level)
        rows.append(
            (
                *((plan.benchmark, plan.system, plan.metric) if not rows else ("",) * 3),
                level,
                f"{plan.repetitions.get(level, plan.n_binaries):.3g}" if rows else f"{plan.n_binaries:,}",
                percent(plan.relative_sds[level], 3),
                duration(plan.costs_s[level]),
                "as many as are wanted" if count is None else str(count),
            )
        )
    return rows


def _systems(system: str, ratio: RatioForecast) -> str:
    if not ratio.baseline:
        return f"two like {system}"
    return f"{system} against {ratio.baseline}{', in pairs' if ratio.is_paired else ''}"


def _count(count: PlannedCount) -> str:
    """``12 to 40, 3 min to 10 min``."""
    from layoutrand.analysis.forecasting import range_words

    low, high = count.binaries
    if low is None:
        return range_words(low, high)
    times = [duration(seconds) for seconds in count.seconds if math.isfinite(seconds)]
    return f"{range_words(low, high)}, {' to '.join(dict.fromkeys(times))}"
