"""What `layoutrand explain` found, in words."""

from __future__ import annotations

import math
import shlex
from typing import Final

from layoutrand.config.seeds import format_seeds
from layoutrand.explain.confirming import Confirmation
from layoutrand.explain.explain_warnings import (
    CostOutside,
    MeasuredWhileChanging,
    NothingDiffers,
    NothingHot,
    NotShownToDiffer,
)
from layoutrand.explain.features import Feature
from layoutrand.explain.mechanism_words import mechanism, not_known, unseen
from layoutrand.explain.suspects import POWER, Explanation, Suspect
from layoutrand.instruments.known import simulated
from layoutrand.stats import FactorSplit, Interval
from layoutrand.text.quantities import number, percent
from layoutrand.warning import AnyWarning

TWICE: Final = 2.0
_WORTH_SAYING: Final = 0.05
"""A share of the cost below this lies where it lies."""


def title(explanation: Explanation) -> str:
    """Which benchmark it is."""
    sample = explanation.subject.sample
    return f"{sample.benchmark}, {sample.system}, {sample.metric}"


def answer(explanation: Explanation, *, is_tried: bool = False) -> str:
    """What comes of it in a sentence: the first suspect, or that nothing was found, and what could have been.

    A suspect is no proof; where it ``is_tried`` by now, new layouts say what it is.
    """
    changed = any(isinstance(each, MeasuredWhileChanging) for each in explanation.warnings)
    doubts = "; the machine changed its speed meanwhile" if changed else ""
    if not explanation.suspects:
        return f"{title(explanation)}: {nothing_found(explanation)}{doubts}"
    if explanation.predicted is not None and explanation.predicted <= 0:
        doubts += "; of layouts that took no part in finding it, it predicts nothing"
    if any(isinstance(each, CostOutside) for each in explanation.warnings):
        doubts += f"; but {cost_outside(explanation)}"
    if is_doubted(explanation) and not is_tried:
        doubts += "; but layouts were not shown to differ"
    first, *others = explanation.suspects
    share = f"it explains {percent(first.share, 0)} of what layouts do"
    if first.effect is not None:
        metric = explanation.subject.sample.metric
        where = worse_where(first.feature, first.split)
        share = f"where it is {where}, {metric} is {_change(first.effect)}; {share}"
    more = f"; {len(others)} more below" if others else ""
    how = "suspected before that" if is_tried else "suspected, not proved"
    return f"{title(explanation)}: {how}: {first.feature.words}: {share}{doubts}{more}"


def is_doubted(explanation: Explanation) -> bool:
    """Whether layouts were not shown to differ, so that what was found may be noise."""
    return any(isinstance(each, NotShownToDiffer) for each in explanation.warnings)


def looked_at(explanation: Explanation) -> str:
    """What was looked at."""
    hotness, n = explanation.hotness, len(explanation.hotness.functions)
    functions = "1 hot function" if n == 1 else f"{n or 'no'} hot functions"
    covered = f" with {percent(hotness.covered, 0 if hotness.covered >= 0.1 else 1)} of the cost" if n else ""
    rest = {
        "in its other functions": hotness.in_artefact - hotness.covered,
        "outside it": 1 - hotness.in_artefact,
    }
    others = [f"{percent(share, 0)} {where}" for where, share in rest.items() if share >= _WORTH_SAYING]
    covered += f", {' and '.join(others)}" if n and others else ""
    return (
        f"looked at: {len(explanation.seeds)} layouts (seeds {format_seeds(explanation.seeds)}), standard "
        f"deviation "
        f"{percent(explanation.relative_sd)}; {functions} of {explanation.subject.artefact}{covered} "
        f"({explanation.profiled}); {explanation.n_features} features of where they lie"
    )


def in_the_answer(explanation: Explanation) -> tuple[AnyWarning, ...]:
    """The warnings that the answer says, since they are why nothing was found; so they are not told again."""
    kinds: tuple[type[AnyWarning], ...] = (NothingDiffers,)
    if not explanation.suspects and not any(isinstance(each, NothingDiffers) for each in explanation.warnings):
        kinds = (NothingHot, CostOutside) if not explanation.hotness.functions else ()
    return tuple(each for each in explanation.warnings if isinstance(each, kinds))


def cost_outside(explanation: Explanation) -> str:
    """How much of the cost lies where no suspect can be."""
    share = 1 - explanation.hotness.in_artefact
    return f"{percent(share, 0)} of the cost lies outside {explanation.subject.artefact}"


def nothing_found(explanation: Explanation) -> str:
    """That nothing was found, what came closest, and what could have been found."""
    reasons = "; ".join(map(str, in_the_answer(explanation)))
    if explanation.closest is None:
        return f"nothing found: {reasons}"
    if reasons:
        return f"nothing found: {reasons}; where variables lie explains nothing, either. {could_be_found(explanation)}"
    name, p_value = explanation.closest
    metric = explanation.subject.sample.metric
    return (
        f"nothing found: none of the {explanation.n_features} features goes with {metric} by more "
        f"than chance gives. Closest: {name} (adjusted p = {p_value:.2g}). {could_be_found(explanation)}"
    )


def could_be_found(explanation: Explanation) -> str:
    """How strong an effect must be to be found."""
    n, share = len(explanation.seeds), explanation.detectable
    if share >= 1:
        return f"{n} layouts are too few for anything to be found"
    return (
        f"With {n} layouts a feature is found with a chance of {percent(POWER, 0)} if it explains "
        f"{percent(share, 0)} of the variance between binaries (a difference of "
        f"{number(100 * (explanation.detectable_ratio - 1), 2)} % between its worse half and its better half)"
    )


def predicted(explanation: Explanation) -> str:
    """How much the suspects predict of layouts that took no part in finding them."""
    if explanation.predicted is None:
        return "too few layouts to tell how much the suspects predict of others (cross-validation)"
    share = explanation.predicted
    if share <= 0:
        return "the suspects predict nothing of layouts that took no part in finding them (cross-validation)"
    return (
        f"cross-validated: {percent(share, 0)} of the variance of layouts that took no part in finding the suspects "
        "is predicted by them"
    )


def cause_of(found: Explanation, suspect: Suspect) -> str:
    """What may be wrong with a suspect's place, or why it cannot be told."""
    caches, cause = found.hotness.caches, suspect.cause
    assert cause is not None, "who asks has one"
    whose = f"{' and '.join(suspect.feature.functions) or 'hot code'}: "
    does = "what layouts do" + (" beside suspects of other functions" if cause.beside else "")
    left = [each for each in cause.candidates if not each.out]
    if cause.mechanism is not None:
        share = left[0].share
        return (
            f"{whose}{mechanism(cause.mechanism, caches)}, which explains {percent(share, 0)} of {does}; no other "
            "mechanism that was looked at is left"
        )
    if not left:
        worse = [each for each in cause.candidates if each.p_value is not None]
        if not worse:
            return f"{whose}cannot tell which mechanism: layouts go by none of those that were looked at"
        closest = max(worse, key=lambda each: each.share)
        return (
            f"{whose}cannot tell which mechanism: none of those that were looked at is enough; closest is "
            f"{mechanism(closest.mechanism, caches)} with {percent(closest.share, 0)} of {does}, but {closest.out}"
        )
    if len(left) == 1:
        return (
            f"{whose}cannot tell which mechanism: only {mechanism(left[0].mechanism, caches)} is left, and explains "
            f"{percent(left[0].share, 0)} of {does}, where the suspect explains {percent(cause.whole, 0)}"
        )
    ranked = sorted(left, key=lambda each: -each.share)
    names = " or ".join(f"{mechanism(each.mechanism, caches)} ({percent(each.share, 0)})" for each in ranked)
    return f"{whose}cannot tell which mechanism: {names}; these layouts do not tell them apart"


def next_step(suspect: Suspect) -> str:
    """The command that says more; "" where there is none."""
    return f"Next: {shlex.join(suspect.sweep)}" if suspect.sweep else ""


def not_seen(found: Explanation, suspect: Suspect) -> str:
    """Which mechanisms the metric has nothing of; "" where it has of all."""
    if suspect.cause is None or not suspect.cause.unseen:
        return ""
    return unseen(found.subject.sample.metric, suspect.cause.unseen)


def not_looked_at(found: Explanation) -> str:
    """Which mechanisms were not looked at, since the machine does not tell what it takes; "" where all were."""
    asked = any(suspect.cause is not None for suspect in found.suspects)
    return not_known(found.hotness.caches) if asked and found.subject.sample.instrument not in simulated() else ""


def worse_where(feature: Feature, split: FactorSplit | None) -> str:
    """Which placements go with slow layouts."""
    if split is None:
        return "-"
    if split.scale == "classes":
        return "at byte " + ", ".join(f"{value:g}" for value in sorted(split.large))
    if split.scale == "circle":
        quarter = split.period / 4
        return f"around {split.centre:.0f} ± {quarter:.0f} bytes"
    if feature.kind == "distance":
        return f"{'above' if split.above else 'below'} {_bytes(split.limit)}"
    whole = math.floor(split.limit)
    if split.above:
        return f"{whole + 1} or more"
    return f"{whole} or less" if whole else "0"  # all of these are counts


def _bytes(logarithm: float) -> str:
    size = 2**logarithm
    return f"{size / 1024:.3g} KiB" if size >= 1024 else f"{size:.0f} bytes"


def _change(effect: Interval) -> str:
    """A ratio as a change in percent, or as a factor where it is large."""
    confidence = f"{100 * effect.confidence:.4g} % interval"
    if effect.centre >= TWICE:
        return f"{effect.centre:.3g} times as much ({confidence} {effect.low:.3g} to {effect.high:.3g})"
    low, high = sorted((abs(effect.low - 1), abs(effect.high - 1)))
    more = "more" if effect.centre > 1 else "less"
    return f"{percent(abs(effect.centre - 1))} {more} ({confidence} {percent(low)} to {percent(high)})"


def of_confirmation(explanation: Explanation, confirmation: Confirmation) -> str:
    """What became of a suspect, in a sentence that can be quoted."""
    effect, groups = confirmation.effect, confirmation.groups
    sample = explanation.subject.sample
    ratio = f"in new layouts the ratio is {effect.centre:.4f} [{effect.low:.4f}, {effect.high:.4f}]"
    if confirmation.verdict == "confirmed":
        finding = f"confirmed: with the worse placement {sample.metric} is {_change(effect)}"
    elif confirmation.verdict == "not confirmed":
        finding = f"not confirmed: {ratio}, which leaves no room for half of what was found"
    else:
        finding = f"undecided: {ratio}; a larger --confirm narrows it"
    lost = f"; {confirmation.missing} more have no measurement" if confirmation.missing else ""
    return (
        f"{groups.suspect.feature.words}: {finding}; {confirmation.n_worse} + {confirmation.n_better} new layouts, "
        f"chosen among {groups.tried} by this placement alone{lost}"
    )
