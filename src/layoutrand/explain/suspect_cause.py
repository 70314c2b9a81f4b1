"""What may be wrong with a suspect's place: the mechanisms that layouts, as they were measured, speak for and against.

Of each mechanism (`layoutrand.explain.mechanisms`) it is known how much the suspect's code meets in every layout.  If
it is the one, layouts that meet as much of it differ by chance alone (of what functions do to each other, where each
layout meets another amount: what is left beside a straight line).  So it is out where they do not: where what is
left within its classes goes with another mechanism, or with anything else that was looked at of these functions
(`layoutrand.stats.left_in_classes`), all of them judged together; and where it is the same in all layouts, or more of
it is not worse.  The true one is put out in at most 5 % of cases.  One that is left alone is told where it goes with
the response by more than chance, and explains four fifths of what the suspect does; else it cannot be told.

Layouts differ in everything at once, and each was executed a few times: a sweep, which moves one function and nothing
else, says more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.explain.causes import ENOUGH, shown_by
from layoutrand.explain.features import Feature, design
from layoutrand.explain.mechanisms import IN_COMMON, MECHANISMS
from layoutrand.stats import explained_share, left_in_classes

PERMUTATIONS: Final = 1999


@dataclass(frozen=True)
class SuspectedMechanism:
    """One mechanism: which part of the response it explains, less what chance does, and why it is out ("": it is not).

    ``p_value`` is how often as much would go with anything else within its classes by chance; None where it was not
    looked at.
    """

    mechanism: str
    share: float
    p_value: float | None
    out: str


@dataclass(frozen=True)
class SuspectCause:
    """The mechanism, None where that cannot be told, and all that were looked at.

    ``whole`` is the share of the response that the suspect's own feature explains; ``beside`` says whether the response
    is without what suspects of other functions explain, and ``unseen`` are mechanisms that the metric cannot show.
    """

    mechanism: str | None
    candidates: tuple[SuspectedMechanism, ...]
    whole: float
    unseen: tuple[str, ...]
    beside: bool = False


def suspect_cause(
    met: Mapping[str, NDArray[np.float64]],
    response: NDArray[np.float64],
    own: Feature,
    others: Sequence[Feature],
    instrument: str,
    *,
    level: float,
    beside: bool = False,
) -> SuspectCause:
    """Which mechanism the suspect, whose feature is ``own``, goes by.

    ``met`` is what its code meets in each layout, ``response`` (large is worse) what was measured there, ``beside``
    other suspects without what they explain; ``others`` are further features of its functions.
    """
    seen = [name for name in MECHANISMS if name in met and shown_by(instrument, name)]
    features = [design(each) for each in (own, *others)]
    rivals = [*(met[name][:, None] for name in seen if len(np.unique(met[name])) > 1), *features]
    whole = explained_share(features[0], response, adjusted=True)
    candidates = tuple(_candidate(name, met[name], response, rivals, level) for name in seen)
    left = [each for each in candidates if not each.out]
    told = left[0] if len(left) == 1 and left[0].share >= ENOUGH * whole else None
    if told is not None and _by_chance(met[told.mechanism], response) > level:
        out = replace(told, out="it goes with them by no more than chance")
        candidates, told = tuple(out if each is told else each for each in candidates), None
    return SuspectCause(
        mechanism=None if told is None else told.mechanism,
        candidates=candidates,
        whole=whole,
        unseen=tuple(name for name in MECHANISMS if name in met and name not in seen),
        beside=beside,
    )


def _by_chance(met: NDArray[np.float64], response: NDArray[np.float64]) -> float:
    """How often a mechanism goes with the response as much where nothing does."""
    one_class = np.zeros(len(response))
    return left_in_classes(response, one_class, designs=[met[:, None]], n_permutations=PERMUTATIONS).p_value


def _candidate(
    name: str,
    met: NDArray[np.float64],
    response: NDArray[np.float64],
    rivals: Sequence[NDArray[np.float64]],
    level: float,
) -> SuspectedMechanism:
    if len(np.unique(met)) < 2:
        return SuspectedMechanism(name, 0.0, None, "it is the same in all layouts")
    share = explained_share(met[:, None], response, adjusted=True)
    if float((met - met.mean()) @ response) <= 0:
        return SuspectedMechanism(name, share, None, "more of it is not worse")
    rest = left_in_classes(response, met, designs=rivals, straight=name in IN_COMMON, n_permutations=PERMUTATIONS)
    out = "layouts that meet as much of it differ by something else" if rest.p_value <= level else ""
    return SuspectedMechanism(name, share, rest.p_value, out)
