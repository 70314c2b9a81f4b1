"""What is said of predicted layouts, and the same as JSON values."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from layoutrand.explain.explain import Unexplained
from layoutrand.explain.predicted_layouts import MeasuredBest, Predicted
from layoutrand.model import IDENTITY, STOCK, LayoutName
from layoutrand.stats import Interval, decide
from layoutrand.text.quantities import change, estimate, finite, p_words, percent

_WELL = 60
"""Layouts, from which on little is missed of what places explain."""

CONTROLS: Mapping[LayoutName, str] = {STOCK: "your own build", IDENTITY: "identity"}


def title(found: Predicted) -> str:
    """What is predicted, of how much."""
    sample = found.subject.sample
    return (
        f"{sample.system}, {sample.benchmark}, {sample.metric}: {len(found.seeds)} layouts measured, "
        f"{found.drawn:,} drawn and not linked"
    )


def answer(found: Predicted) -> str:
    """Whether anything is predicted of layouts that were not measured, and how much."""
    if not found.holds:
        return (
            f"no prediction: of layouts it was not fitted to, where hot code lies says no more than chance would "
            f"({p_words(found.p_value)}); more measured layouts may show it (`layoutrand run --seeds "
            f"{max(_WELL, 2 * len(found.seeds))}`)"
        )
    share = found.adjusted.share_interval
    low, high = (f"{100 * max(end, 0.0):.0f}" for end in (share.low, share.high))
    return (
        f"where hot code lies predicts {percent(share.centre, 0)} [{low}, {high}] of the variance between layouts that "
        f"it was not fitted to ({p_words(found.p_value)})"
    )


def means(found: Predicted) -> str:
    """The mean over layouts, and the same with what is predicted of the measured ones taken out, where that helps."""
    if not found.holds or found.adjusted.variance_ratio >= 1:
        return ""
    unit, adjusted = found.subject.sample.unit, found.adjusted
    return (
        f"mean over layouts: {_interval(adjusted.plain, unit)}; corrected for where code happened to lie: "
        f"{_interval(adjusted.mean, unit)}, variance x {adjusted.variance_ratio:.2f}"
    )


def best(found: Predicted) -> str:
    """The layout that is predicted best; "" where nothing is predicted."""
    if not found.holds:
        return ""
    return (
        f"of {found.drawn:,} layouts that of seed {found.best} is predicted best; how good it is, only measuring tells"
    )


def next_step(found: Predicted, default: int, project: Path) -> str:
    """How to see whether it is so; "" where nothing is predicted.

    ``default`` layouts are drawn unless it is said; ``project`` is where the configuration is, from here.
    """
    if not found.holds:
        return ""
    sample = found.subject.sample
    words = ["layoutrand", "predict", "--system", sample.system, "--benchmark", sample.benchmark]
    words += [] if sample.is_primary else ["--metric", sample.metric]
    words += [] if found.drawn == default else ["--layouts", str(found.drawn)]
    words += [] if project == Path() else ["-C", str(project)]
    return shlex.join([*words, "--measure", "20"])


def measured(found: Predicted, made: MeasuredBest) -> list[str]:
    """What the layout was when it was measured, against each control."""
    sample, lines = found.subject.sample, []
    for control, ratio in made.ratios.items():
        verdict = decide(ratio, 0.0, better=sample.better)
        said = {"faster": "better than", "slower": "worse than"}.get(verdict, "not known to differ from")
        low, high = (change(end) for end in (ratio.low, ratio.high))
        lines.append(
            f"seed {made.seed}, measured in {made.rounds} rounds: {change(ratio.centre)} [{low}, {high}], "
            f"{said} {CONTROLS[control]}"
        )
    return lines


def of_one_binary(found: Predicted, made: MeasuredBest) -> str:
    """What the figures are not about, and how to have the binary; or that it is none to have."""
    verdicts = {decide(ratio, 0.0, better=found.subject.sample.better) for ratio in made.ratios.values()}
    if "faster" not in verdicts:
        return "so the layout that was predicted best is not known to be worth having"
    return (
        f"it is one binary on this machine: another change of the code deals layouts anew. `layoutrand build --seeds "
        f"{made.seed}` says where it is"
    )


def _interval(interval: Interval, unit: str) -> str:
    centre, ends = estimate(interval.centre, interval.low, interval.high, unit)
    return f"{centre} {ends}"


def document(
    found: Sequence[Predicted | Unexplained], made: Mapping[int, MeasuredBest], confidence: float
) -> dict[str, Any]:
    """``layoutrand/predict/1``."""
    return {
        "schema": "layoutrand/predict/1",
        "confidence": confidence,
        "predictions": [
            _row(each, made.get(number))
            if isinstance(each, Predicted)
            else {
                "system": each.system,
                "benchmark": each.benchmark,
                "metric": each.metric,
                "problem": each.reason,
            }
            for number, each in enumerate(found)
        ],
    }


def _row(found: Predicted, made: MeasuredBest | None) -> dict[str, Any]:
    sample, adjusted = found.subject.sample, found.adjusted
    return {
        "system": sample.system,
        "benchmark": sample.benchmark,
        "instrument": sample.instrument,
        "metric": sample.metric,
        "unit": sample.unit,
        "problem": None,
        "n_measured": len(found.seeds),
        "n_drawn": found.drawn,
        "functions": [function.name for function in found.hotness.functions],
        "holds": found.holds,
        "p_value": found.p_value,
        "predicted_share": _json(adjusted.share_interval),
        "mean": _json(adjusted.plain),
        "corrected_mean": _json(adjusted.mean),
        "variance_ratio": adjusted.variance_ratio,
        "best_seed": found.best if found.holds else None,
        "measured": None
        if made is None
        else {
            "seed": made.seed,
            "rounds": made.rounds,
            "means": {str(layout): mean for layout, mean in made.means.items()},
            "ratios": {str(control): _json(ratio) for control, ratio in made.ratios.items()},
        },
    }


def _json(interval: Interval) -> dict[str, Any]:
    return {
        "estimate": finite(interval.centre),
        "interval": [finite(interval.low), finite(interval.high)],
        "confidence": interval.confidence,
    }
