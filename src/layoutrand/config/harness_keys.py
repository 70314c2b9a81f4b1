"""``harness``, ``cases`` and ``repetitions`` of a benchmark, which say what its metric is read from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from layoutrand.config.readings import HarnessReading

_ITS_OWN: Final = ("cases", "repetitions")
_BESIDE: Final = frozenset({"warmup", "primary", "suite"})


def with_reading(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table of a benchmark whose harness, where it has one, is what its numbers come from.

    Raises `ValueError` for keys that do not go together.  What is there twice, since it was expanded before, stays.
    """
    result = dict(table)
    if result.get("harness") is None:
        if idle := [key for key in _ITS_OWN if result.get(key) is not None]:
            raise ValueError(f'{" and ".join(idle)} say what a harness executes; name it by harness = "..."')
        return result
    metric = result.get("metric", {})
    if not isinstance(metric, dict):  # a model already, or what its own check refuses
        return result
    if metric.get("suite") is not None:
        return result
    if others := sorted(metric.keys() - _BESIDE):
        raise ValueError(
            f"leave out metric.{', metric.'.join(others)} beside harness, which measures its cases itself: it decides "
            "by the clock how often it repeats them, so such numbers of the whole process would say nothing "
            "(metric.primary and metric.warmup may stay)"
        )
    if isinstance(result["harness"], str) and _fits(result):
        own = {key: result[key] for key in _ITS_OWN if result.get(key) is not None}
        result["metric"] = {**metric, "suite": {"kind": "harness", "harness": result["harness"], **own}}
    return result


def _fits(table: Mapping[str, Any]) -> bool:
    """Whether the keys are what they must be; where not, they are told at their own place."""
    try:
        HarnessReading.model_validate({key: table[key] for key in ("harness", *_ITS_OWN) if key in table})
    except ValueError:
        return False
    return True
