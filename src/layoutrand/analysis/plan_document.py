"""Plans as a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from layoutrand.analysis.plan import BenchmarkPlan, RatioForecast
from layoutrand.analysis.planned_counts import PlannedCount
from layoutrand.stats import missed_share
from layoutrand.stats.sample_size import ASSURANCE, POWER
from layoutrand.text.quantities import finite
from layoutrand.warning import sentences_of


def plan_document(plans: Sequence[BenchmarkPlan], *, confidence: float) -> dict[str, Any]:
    """``layoutrand/plan/1``; ``could_miss`` is the largest group of layouts that the pilot may have nothing of."""
    return {
        "schema": "layoutrand/plan/1",
        "confidence": confidence,
        "power": POWER,
        "assurance": ASSURANCE,
        "benchmarks": [
            {
                **{name: getattr(each, name) for name in ("system", "benchmark", "metric", "n_binaries", "mean")},
                "levels": list(each.levels),
                "relative_sds": dict(each.relative_sds),
                "costs_s": dict(each.costs_s),
                "counts": dict(each.counts),
                "pilot": _pilot(each),
                "predicted": [{"half_width": width.half_width, **_count(width.count)} for width in each.for_mean],
                "ratio": None if each.for_ratio is None else _ratio(each.for_ratio),
                "could_miss": missed_share(each.n_binaries),
                "warnings": sentences_of(each.warnings),
            }
            for each in plans
        ],
    }


def _pilot(plan: BenchmarkPlan) -> dict[str, Any]:
    """What the plan goes by; ``repetitions`` of a level are those in each unit of the level above (harmonic mean)."""
    numbers = {name: getattr(plan, name) for name in ("n_binaries", "n_executions", "n_iterations")}
    return {**numbers, "repetitions": dict(plan.repetitions)}


def _count(count: PlannedCount) -> dict[str, Any]:
    """``binaries`` is the number that keeps the promise, ``fewest`` that of the variance as estimated."""
    fewest, binaries = count.binaries
    return {"fewest": fewest, "binaries": binaries, "seconds": finite(count.seconds[1])}


def _ratio(forecast: RatioForecast) -> dict[str, Any]:
    both = max(forecast.same, forecast.different, key=lambda count: count.seconds[1])
    return {
        **{name: getattr(forecast, name) for name in ("is_paired", "threshold", "difference")},
        "baseline": forecast.baseline or None,
        **_count(both),
        "same": _count(forecast.same),
        "different": _count(forecast.different),
        "as_executed": None if forecast.as_executed is None else _count(forecast.as_executed),
    }
