"""Conclusions in words, and as the keys that documents have of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol

from layoutrand.analysis.conclusion import Conclusion, LayoutConclusion, Verdict
from layoutrand.analysis.next_steps import Step
from layoutrand.analysis.reasons import Reason
from layoutrand.config.metric import Better
from layoutrand.text.name_lists import first_names
from layoutrand.text.quantities import SECONDS

_OF_AMOUNTS: Final[dict[Verdict, str]] = {"faster": "less", "slower": "more"}
"""Of a count of which less is better: fewer instructions need not be faster."""

_MOST_NAMES: Final = 3


class Measured(Protocol):
    """What has a unit, and values that are better than others."""

    @property
    def unit(self) -> str:
        """As it was recorded."""

    @property
    def better(self) -> Better:
        """Which values are."""


def is_speed(of: Measured) -> bool:
    """Whether it measures how fast something is: in time, or in what more is better of."""
    return of.unit in SECONDS or of.better == "more"


def no_time_words(judged: Iterable[tuple[str, str]]) -> list[str]:
    """What (benchmark, metric) that are no speed are judged by, a sentence for each metric.

    Where a row has no name of a metric nobody could tell what there is more of.
    """
    found: dict[str, dict[str, None]] = {}
    for benchmark, metric in judged:
        found.setdefault(metric, {})[benchmark] = None
    return [
        f"{first_names(list(names), _MOST_NAMES)}: judged by {metric}, which is no time"
        for metric, names in found.items()
    ]


def verdict_words(verdict: Verdict, threshold: float, *, of_speed: bool) -> str:
    """``same within 1 %``; ``less`` or ``more`` of what is no speed; every other verdict is its own word."""
    if verdict == "same":
        return f"same within {100 * threshold:g} %" if threshold else "same"
    if not of_speed and verdict in _OF_AMOUNTS:
        return _OF_AMOUNTS[verdict]
    return verdict


def conclusion_json(of: Conclusion | None) -> dict[str, Any]:
    """The keys ``conclusion``, ``conclusion_beside``, ``trust``, ``reasons`` and ``next``; null without one."""
    if of is None:
        return {"conclusion": None, "conclusion_beside": None, "trust": None, "reasons": [], "next": []}
    return {"conclusion": of.verdict, "conclusion_beside": of.beside, **_why(of)}


def layout_conclusion_json(of: LayoutConclusion) -> dict[str, Any]:
    """The keys ``conclusion``, ``trust``, ``reasons`` and ``next``."""
    return {"conclusion": of.verdict, **_why(of)}


def _why(of: Conclusion | LayoutConclusion) -> dict[str, Any]:
    return {
        "trust": of.trust,
        "reasons": [reason_json(each) for each in of.reasons],
        "next": [_step_json(each) for each in of.next],
    }


def reason_json(reason: Reason) -> dict[str, Any]:
    """One of the ``reasons`` of a document."""
    return {"cause": reason.cause, "effect": reason.effect, "sentence": str(reason)}


def _step_json(step: Step) -> dict[str, Any]:
    return {"kind": step.kind, "command": step.command or None, "sentence": step.sentence}
