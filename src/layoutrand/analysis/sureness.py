"""How sure the verdict on one benchmark is, alone and beside those on all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from layoutrand.errors import AnalysisError
from layoutrand.stats import adjust, decision_test, ratio_test, running_decision, running_test


@dataclass(frozen=True)
class Sureness:
    """p-values of one benchmark: as if it were alone, and adjusted by Holm to all that are judged at once.

    ``no_difference`` tests the ratio 1.  ``decision`` is the level at which the interval just decides between faster,
    equivalent and slower (`layoutrand.stats.decision_test`): a verdict stands beside the others where the adjusted
    one is at most 1 - confidence.  ``verdict`` is then the benchmark's, else "undecided"; ``n_judged`` says beside how
    many.

    Holm's adjustment is chosen because a reader of a table picks the verdicts that are not "undecided": it bounds the
    chance that any of these is wrong, needs nothing to be known of how the benchmarks depend on each other but for
    the direction of the error, and never decides less than Bonferroni's simultaneous intervals (Holm, Scandinavian
    Journal of Statistics 6, 1979).
    """

    no_difference: float
    no_difference_holm: float
    decision: float
    decision_holm: float
    n_judged: int
    verdict: Literal["faster", "slower", "equivalent", "undecided"]


def sureness(baseline: Any, candidate: Any, threshold: float, *, method: str) -> Sureness | None:
    """Of one benchmark by itself, by the method of its interval; None with one binary, or a baseline mean of 0."""
    try:
        difference = ratio_test(baseline, candidate, method=method).p_value
        decision = decision_test(baseline, candidate, threshold=threshold, method=method).p_value
    except AnalysisError:  # the ratio's own warnings say why
        return None
    return Sureness(difference, difference, decision, decision, 1, "undecided")


def running_sureness(baseline: Any, candidate: Any, threshold: float, *, is_count: bool) -> Sureness | None:
    """The same of rounds that are looked at one after the other; Holm's adjustment holds for these p-values, too."""
    try:
        difference = running_test(baseline, candidate, is_count=is_count)
        decision = running_decision(baseline, candidate, threshold=threshold, is_count=is_count)
    except AnalysisError:
        return None
    return Sureness(difference, difference, decision, decision, 1, "undecided")


def together(several: Sequence[Sureness | None]) -> list[Sureness | None]:
    """The same, adjusted to each other; a benchmark without p-values is judged too, so it counts as 1."""
    differences = adjust([1.0 if each is None else each.no_difference for each in several])
    decisions = adjust([1.0 if each is None else each.decision for each in several])
    return [
        None
        if each is None
        else replace(each, no_difference_holm=difference, decision_holm=decision, n_judged=len(several))
        for each, difference, decision in zip(several, differences, decisions, strict=True)
    ]


def stands(sure: Sureness, confidence: float) -> bool:
    """Whether the verdict stands beside all others at this confidence."""
    return sure.decision_holm <= 1 - confidence
