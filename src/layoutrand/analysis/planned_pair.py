"""Two systems of a pilot, compared as `compare` does it: how much their ratio varies, and whether it is decided."""

from __future__ import annotations

from dataclasses import dataclass

from layoutrand.analysis.analyse import measurements
from layoutrand.analysis.blocking import Freed
from layoutrand.analysis.forecasting import ratio_spread
from layoutrand.analysis.median_ratio import median_ratio
from layoutrand.analysis.primary_ratio import both_ratios
from layoutrand.analysis.ratio_findings import of_ratios
from layoutrand.analysis.round_design import Primary
from layoutrand.analysis.sample_pair import SamplePair, sample_pair
from layoutrand.stats import PairSpread, decide, pair_spread


@dataclass(frozen=True)
class PlannedPair:
    """How much the ratio varies from one binary of each to the next, in which design, and whether it is decided."""

    spread: PairSpread
    pair: SamplePair
    primary: Primary
    is_decided: bool


def planned_pair(
    baseline: Freed, measured: Freed, threshold: float, confidence: float, *, at_random: bool
) -> PlannedPair:
    """Compare both; ``at_random`` as for `round_design`."""
    pair = sample_pair(baseline.raw, measured.raw, at_random=at_random)
    both = both_ratios(pair, confidence)
    primary, ratio, _ = both.primary(pair)
    if ratio is not None and (found := ratio_spread(pair, primary)) is not None and found.degrees > 0:
        verdict = decide(ratio, threshold, better=pair.measured[0].better)
        shape = [] if both.clock.are_seen else of_ratios(pair)
        median = median_ratio(pair, primary, shape, confidence, threshold)
        is_open = pair.design.cannot_tell or verdict == "undecided"
        is_opposed = median is not None and median.against(verdict) == "opposite"
        return PlannedPair(found, pair, primary, not (is_open or is_opposed))
    # `compare` cannot tell of these two, as where one was executed after the other; the next experiment may.
    each = [own.charged(measurements(own.sample)) for own in (baseline, measured)]
    return PlannedPair(pair_spread(*each), pair, "unpaired", is_decided=False)
