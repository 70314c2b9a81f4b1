"""Sweeps of one function in several layouts: whether what its place does there is what it does in others, too.

Each layout is swept by itself, in rounds of its own.  Over layouts it is the layouts that are drawn, and no more the
executions: of each one value counts for every offset, the mean of its rounds, and layouts take the place of rounds in
the test and in the intervals (`layoutrand.stats.dose`).  So an offset that stands out in one layout alone, for what
lies around the function there, is none that stands out over layouts.  What a layout does at one offset it does at its
neighbours, too, so values are no more free to change places: what layouts have beside their means changes its sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.explain.sweep import Sweep
from layoutrand.explain.sweep_document import of_run, sweep_document
from layoutrand.explain.sweep_words import run_in_words, verdict
from layoutrand.stats import DoseResponse, dose_response
from layoutrand.stats.dose import RESAMPLES, fewest_rounds
from layoutrand.text.quantities import digits_of, finite, percent

MOST_BASES: Final = 1000


@dataclass(frozen=True)
class SeveralBases:
    """The sweep of each layout, and what they say together; ``as_one`` has layouts for rounds, to be shown as one."""

    sweeps: tuple[Sweep, ...]
    response: DoseResponse
    as_one: Sweep

    @property
    def bases(self) -> tuple[str, ...]:
        """The layouts' names."""
        return tuple(str(each.order.base) for each in self.sweeps)


def over_bases(sweeps: Sequence[Sweep], *, seed: int, n_permutations: int = RESAMPLES) -> SeveralBases:
    """What they say together; raises `AnalysisError` for fewer than two, or of other offsets."""
    if len(sweeps) < 2 or len({each.offsets for each in sweeps}) > 1:
        raise AnalysisError("what holds over layouts takes sweeps of the same offsets in two or more of them")
    first = sweeps[0]
    values = np.array([np.log(each.means).mean(axis=0) for each in sweeps])
    period, confidence = first.order.offsets.period, first.order.confidence
    response = dose_response(
        values,
        first.offsets,
        period=period,
        confidence=confidence,
        n_permutations=n_permutations,
        seed=seed,
        are_layouts=True,
    )
    rounds = tuple(range(1, len(sweeps) + 1))
    as_one = replace(first, means=np.exp(values), rounds=rounds, lost=(), response=response, cause=None, switched=None)
    return SeveralBases(tuple(sweeps), response, as_one)


def verdict_over_bases(found: SeveralBases) -> str:
    """The first sentence: which offsets differ over layouts, and by how much; or that none does."""
    response, name, count = found.response, found.as_one.name, len(found.sweeps)
    if not response.can_tell:
        offsets = len(found.as_one.offsets)
        enough = fewest_rounds(offsets, confidence=response.confidence, are_layouts=True)
        return (
            f"cannot tell: {count} layouts with {offsets} offsets are too few for a difference to stand out from what "
            f"layouts do; {enough} or more in --base can"
        )
    if response.matters:
        return f"over {count} layouts {run_in_words(found.as_one, response.largest)} ({_level(found)})"
    if response.is_exact:
        return f"over {count} layouts no offset of {name} differs, to the digit"
    bound = 100 * math.expm1(response.bound)
    digits = digits_of(bound)
    return (
        f"over {count} layouts nothing stands out: no offset of {name} differs from the others by more than "
        f"{math.ceil(bound * 10**digits) / 10**digits:.{digits}f} % on average ({_level(found)})"
    )


def _level(found: SeveralBases) -> str:
    if found.response.is_exact:
        return "the same in each of them, to the digit"
    chance = percent(1 - found.response.confidence, 0 if found.response.confidence <= 0.99 else 1)
    return (
        f"all offsets' intervals hold at once, of the mean over layouts; where none matters over layouts, {chance} of "
        "such sweeps say that one does"
    )


def agreement(found: SeveralBases) -> str:
    """In how many of the layouts something stands out by itself, and in how many of these it is the same.

    Of those with rounds enough to tell; "" where none has.
    """
    telling = [each.response for each in found.sweeps if each.response.can_tell]
    if not telling:
        return ""
    alone = [each for each in telling if each.matters]
    looked_at = f"by itself, 1 of {len(telling)} layouts has"
    if len(alone) != 1:
        looked_at = f"by themselves, {len(alone)} of {len(telling)} layouts have"
    some = f"{looked_at} an offset that stands out"
    if not alone or not found.response.matters:
        return some
    said = _differing(found.response)
    same = sum(_differing(each) == said for each in alone)
    return f"{some}, {same} of them the same offsets in the same direction"


def _differing(response: DoseResponse) -> frozenset[int]:
    """The offsets that are larger than the others, which are all the others where those that stand out are smaller."""
    inside = frozenset(response.largest.doses)
    return inside if response.largest.difference.centre > 0 else frozenset(response.doses) - inside


def each_base(found: SeveralBases) -> list[str]:
    """What each layout says by itself."""
    return [f"layout {each.order.base}: {verdict(each)}" for each in found.sweeps]


def bases_document(found: SeveralBases) -> dict[str, Any]:
    """``layoutrand/sweep-bases/1``: what holds over layouts, and the document of each layout's sweep."""
    response = found.response
    return {
        "schema": "layoutrand/sweep-bases/1",
        "verdict": verdict_over_bases(found),
        "agreement": agreement(found),
        "matters": response.matters if response.can_tell else None,
        "p_value": response.p_value,
        "confidence": response.confidence,
        "bases": [each.order.base for each in found.sweeps],
        "largest": of_run(response.largest),
        "bound": finite(math.expm1(response.bound)),
        "exact": response.is_exact,
        "offsets": [
            {"offset": offset, **of_run(run)} for offset, run in zip(found.as_one.offsets, response.single, strict=True)
        ],
        "sweeps": [sweep_document(each) for each in found.sweeps],
    }
