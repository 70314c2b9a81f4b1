"""The second statement of a comparison: the median, where the mean says little of most ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from layoutrand.analysis.comparison_warnings import FarValues, GroupsOfValues, OddValues, TailOfValues
from layoutrand.analysis.round_design import Primary
from layoutrand.analysis.sample_pair import SamplePair
from layoutrand.stats import Interval, decide, median_interval
from layoutrand.stats.decision import Verdict
from layoutrand.warning import AnyWarning

Disagreement = Literal["", "differ", "opposite"]

_MOVED: Final = {"faster", "slower"}


@dataclass(frozen=True)
class MedianRatio:
    """The median of the rounds' ratios, or where ``of`` is "unpaired" the ratio of the systems' medians.

    ``verdict`` is what the interval would decide; ``why`` what was found that makes it worth a sentence.
    """

    ratio: Interval
    verdict: Verdict
    of: Primary
    why: OddValues

    def against(self, verdict: Verdict) -> Disagreement:
        """How it contradicts a verdict on the means: "opposite", or "differ" where one of them finds no difference."""
        both = {self.verdict, verdict}
        if "undecided" in both or len(both) == 1:
            return ""
        return "opposite" if both == _MOVED else "differ"


def median_ratio(
    pair: SamplePair, primary: Primary, found: Iterable[AnyWarning], confidence: float, threshold: float
) -> MedianRatio | None:
    """None where nothing ``found`` is odd in the ratios' shape, where the data are too few, or a mean not above 0.

    By round, the median of the rounds' ratios by order statistics, which holds whatever their distribution.  Else the
    ratio of the medians: each has an interval that holds in a share of samples whose square is the confidence, and the
    ends are set against each other, which is wider than need be.
    """
    odd = [each for each in found if isinstance(each, OddValues)]
    if not odd:
        return None
    worst = min(odd, key=lambda each: (GroupsOfValues, FarValues, TailOfValues).index(type(each)))
    samples = pair.by_round if primary == "paired" else pair.samples
    old, new = (sample.binary_means for sample in samples)
    if min(*old, *new) <= 0:
        return None
    if primary == "paired":
        logs = median_interval([math.log(b / a) for a, b in zip(old, new, strict=True)], confidence=confidence)
    else:
        logs = _apart(old, new, confidence)
    if not math.isfinite(logs.half_width):
        return None
    ratio = replace(
        logs, centre=math.exp(logs.centre), low=math.exp(logs.low), high=math.exp(logs.high), confidence=confidence
    )
    return MedianRatio(ratio, decide(ratio, threshold, better=pair.measured[0].better), primary, worst)


def _apart(old: Sequence[float], new: Sequence[float], confidence: float) -> Interval:
    """The difference of the medians of logarithms of two samples."""
    own = [
        median_interval([math.log(value) for value in side], confidence=math.sqrt(confidence)) for side in (old, new)
    ]
    return replace(
        own[0],
        centre=own[1].centre - own[0].centre,
        low=own[1].low - own[0].high,
        high=own[1].high - own[0].low,
    )
