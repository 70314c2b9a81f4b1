"""The JSON document of `layoutrand sweep`: ``layoutrand/sweep/1``."""

from __future__ import annotations

import math
from typing import Any

from layoutrand.explain.sweep import Sweep
from layoutrand.explain.sweep_words import not_looked_at, verdict, what_counters_say, what_it_does, why
from layoutrand.stats import DoseRun, Interval
from layoutrand.text.quantities import finite
from layoutrand.warning import sentences_of


def sweep_document(found: Sweep) -> dict[str, Any]:
    """What was swept, what lay still, every value, and what follows."""
    order, response, hole, still = found.order, found.response, found.binaries.hole, found.binaries.stillness
    return {
        "schema": "layoutrand/sweep/1",
        "verdict": verdict(found),
        "matters": response.matters if response.can_tell else None,
        "p_value": response.p_value,
        "confidence": response.confidence,
        "system": order.system,
        "benchmark": order.benchmark,
        "metric": found.sample.metric,
        "unit": found.sample.unit,
        "better": found.sample.better,
        "host": found.hostname,
        "artefact": found.artefact,
        "function": found.name if found.is_code else None,
        "variable": None if found.is_code else found.name,
        "size": found.size,
        "align": found.align,
        "base": order.base,
        "period": order.offsets.period,
        "largest": of_run(response.largest),
        "bound": finite(math.expm1(response.bound)),
        "exact": response.is_exact,
        "offsets": [
            {
                "offset": offset,
                "address": hole.window + offset,
                "sha256": binary.sha256,
                "values": found.means[:, column].tolist(),
                "mean": float(found.means[:, column].mean()),
                **_relative(run),
            }
            for column, (offset, binary, run) in enumerate(
                zip(found.offsets, found.binaries.binaries, response.single, strict=True)
            )
        ],
        "cause": _cause(found),
        "switched": _switched(found),
        "counters": _counters(found),
        "rounds": list(found.rounds),
        "rounds_left_out": list(found.lost),
        "still": {
            "symbols": still.symbols,
            "sections": still.sections,
            "as_in_base": still.as_in_base,
            "pages_on": still.pages_on,
            "shift": hole.shift,
        },
        "results": str(found.summary.results),
        "failures": len(found.summary.failures),
        "warnings": sentences_of(found.warnings),
    }


def _cause(found: Sweep) -> dict[str, Any] | None:
    """None where it was not asked for, or no offset differs."""
    if found.cause is None:
        return None
    return {
        "mechanism": found.cause.mechanism,
        "sentence": why(found),
        "not_seen": list(found.cause.unseen),
        "not_known": ["itlb"] if not_looked_at(found) else [],
        "candidates": [
            {
                "mechanism": each.mechanism,
                "levels": list(each.levels),
                "share": None if each.fit is None else each.fit.share,
                "p_value": None if each.fit is None else each.fit.p_value,
                "out": each.out or None,
            }
            for each in found.cause.candidates
        ],
    }


def _switched(found: Sweep) -> dict[str, Any] | None:
    """None where no mechanism was to be switched."""
    if found.switched is None:
        return None
    switch, difference = found.switched.switch, found.switched.difference
    return {
        "mechanism": switch.mechanism,
        "sentence": what_it_does(found),
        "with": list(switch.with_it),
        "without": list(switch.without),
        "change": math.expm1(difference.centre),
        "interval": [finite(math.expm1(difference.low)), finite(math.expm1(difference.high))],
        "matters": found.switched.matters if found.switched.alike else None,
        "within_p_value": found.switched.fit.p_value,
    }


def _counters(found: Sweep) -> dict[str, Any] | None:
    """None where there was no mechanism to count events of."""
    if found.counters is None:
        return None
    return {
        "absent": found.counters.absent or None,
        "without": list(found.counters.without),
        "sentences": what_counters_say(found),
        "counted": [
            {
                "event": each.event.name,
                "mechanisms": list(each.mechanisms),
                "agrees": each.agrees if each.is_slow else None,
                "more": _difference(each.more),
                "cycles": _difference(each.cycles),
                "cycles_each_at_most": each.event.at_most,
            }
            for each in found.counters.counted
        ],
    }


def _difference(interval: Interval) -> dict[str, Any]:
    return {"mean": interval.centre, "interval": [finite(interval.low), finite(interval.high)]}


def of_run(run: DoseRun) -> dict[str, Any]:
    """Which offsets it is, the power of two that they repeat with, and by how much they differ."""
    return {"offsets": list(run.doses), "period": run.period, **_relative(run)}


def _relative(run: DoseRun) -> dict[str, Any]:
    """By how much more it is than the others, 0.02 for 2 %, with its interval."""
    difference = run.difference
    low, high = finite(math.expm1(difference.low)), finite(math.expm1(difference.high))
    return {"change": math.expm1(difference.centre), "interval": [low, high]}
