"""What `layoutrand explain` found, in the few words that a first screen has for each benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from layoutrand.explain.mechanism_words import short
from layoutrand.explain.suspects import POWER, Explanation, Suspect
from layoutrand.explain.words import in_the_answer, worse_where
from layoutrand.text.quantities import number, percent

WOULD_BE_FOUND: Final = (
    f"would be: where its worse half makes so much more than its better half, a place is found in {percent(POWER, 0)} "
    "of such experiments"
)
"""What the sizes in `nothing_in_brief` mean."""


def doubts(found: Sequence[Explanation]) -> str:
    """What is to be thought of suspects and their sizes; of several searches some find one by chance."""
    by_chance = (
        f"; where no place matters, up to 1 row of {round(1 / found[0].level)} has one by chance"
        if len(found) > 1
        else ""
    )
    return (
        "a suspect is chosen for being large, so that its size is too large on average, and need not be the cause"
        f"{by_chance}: new layouts tell"
    )


def nothing_in_brief(found: Explanation) -> str:
    """That there is no suspect, and why or how large an effect would have been found."""
    if reasons := in_the_answer(found):
        return f"nothing found: {reasons[0].brief()}"
    if found.detectable >= 1:
        return f"nothing found: {len(found.seeds)} layouts are too few for anything to be found"
    return f"nothing found; {number(100 * (found.detectable_ratio - 1), 2)} % would be"


def is_sized(found: Explanation) -> bool:
    """Whether `nothing_in_brief` has such a size."""
    return not found.suspects and not in_the_answer(found) and found.detectable < 1


def whose(suspect: Suspect) -> str:
    """The functions or variables whose place it is."""
    return " and ".join(suspect.feature.functions) or "hot code"


def place_in_brief(found: Explanation, suspect: Suspect) -> str:
    """Which placements are the worse ones, and how much of what layouts do they explain."""
    explained = f"explains {percent(suspect.share, 0)} of what layouts do"
    if suspect.split is None:
        return f"{suspect.feature.words}: {explained}"
    where = worse_where(suspect.feature, suspect.split)
    return (
        f"{suspect.feature.words}: worse where {where} ({suspect.n_worse} of {len(found.seeds)} layouts); {explained}"
    )


def cause_in_brief(suspect: Suspect) -> str:
    """Which mechanism it goes by, or which are left; "" where none was looked for."""
    if suspect.cause is None:
        return ""
    left = sorted((each for each in suspect.cause.candidates if not each.out), key=lambda each: -each.share)
    if suspect.cause.mechanism is not None:
        return f"why: {short([suspect.cause.mechanism])} ({percent(left[0].share, 0)}); no other mechanism is left"
    if not left:
        return "why: cannot tell, none of the mechanisms that were looked at is enough"
    names = " or ".join(f"{short([each.mechanism])} ({percent(each.share, 0)})" for each in left)
    return f"why: cannot tell from these layouts; left {'is' if len(left) == 1 else 'are'} {names}"
