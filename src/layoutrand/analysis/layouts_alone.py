"""How many binaries a comparison would take if nothing but layout made a binary's times differ.

A quieter machine, more work and more executions of each binary make less of what executions add, and nothing of what
layouts do.  Where these alone ask for more than is within reach, less noise is no advice.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import Final

from layoutrand.analysis.analyse import collapse
from layoutrand.analysis.blocking import Freed, freed
from layoutrand.analysis.forecasting import ratio_spread
from layoutrand.analysis.layout_part import execution_noise, layout_part
from layoutrand.analysis.next_steps import WITHIN_REACH
from layoutrand.analysis.round_design import Primary
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.sample_pair import SamplePair
from layoutrand.errors import AnalysisError
from layoutrand.stats import ControlNoise, PairSpread, variance_limit
from layoutrand.stats.control_noise import control_noise
from layoutrand.stats.sample_size import MOST_BINARIES

CONFIDENCE: Final = 0.95
"""Of the lower limit of what layouts add: no more often than in one case of twenty do they add less."""


def fewest_without_noise(fewest: int | None, pair: SamplePair, primary: Primary, sd: float = math.nan) -> int | None:
    """The binaries of each system that are needed at least without any noise, where ``fewest`` are with it.

    ``fewest`` is None where not even as many would do as are ever counted, which are then the least.  ``sd`` is the
    standard deviation of the logarithm of the ratio of two binaries that ``fewest`` rests on, by default that of these
    results.  None where nothing shows the noise: no binary was executed twice, and no control often enough.  0 where
    more than are within reach would be, and it cannot be told from noise whether layouts differ.
    """
    spread = ratio_spread(pair, primary)
    if spread is None or not spread.sd:
        return None
    least = _least_of_layouts(pair, spread)
    if least is None:
        return None
    needed = MOST_BINARIES if fewest is None else fewest
    found = math.ceil(needed * least / (spread.sd if math.isnan(sd) else sd) ** 2)
    # What `analyse` cannot tell from noise hides nothing; asked for last, as it is work.
    return found if found <= WITHIN_REACH or any(map(_matters, pair.measured)) else 0


def _least_of_layouts(pair: SamplePair, spread: PairSpread) -> float | None:
    """Lower limit of the variance that layouts add to the logarithm of the ratio of two binaries."""
    noise = [found for own in pair.free if (found := _of_one_binary(own)) is not None]
    if len(noise) < len(pair.free) or min(spread.degrees, *(each.degrees for each in noise)) < 1:
        return None
    squares = [spread.sd**2, *(each.variance for each in noise)]
    degrees = [spread.degrees, *(each.degrees for each in noise)]
    # The upper limit of noise less all there is, which is the negative of what is left to layouts at least.
    return max(0.0, -variance_limit(squares, degrees, weights=[-1.0, *(1.0 for _ in noise)], confidence=CONFIDENCE))


def _matters(sample: Sample) -> bool:
    """Whether layouts are seen to differ beyond noise, as `analyse` has it."""
    own = freed(sample)
    data, names = collapse([runs for _, runs in own.sample.binaries])
    return layout_part(own, data, names, CONFIDENCE).answer == "matters"


def _of_one_binary(own: Freed) -> ControlNoise | None:
    """What noise leaves in the mean of a binary, over the squared mean of all; None where nothing shows it."""
    sample = own.sample
    runs = [[fmean(run) for run in executions] for _, executions in sample.binaries]
    mean = fmean(map(fmean, runs))
    if sample.one_layout or not mean:
        return None
    try:
        found = control_noise(runs) if any(len(each) > 1 for each in runs) else execution_noise(own)
    except AnalysisError:
        return None
    if found is None:
        return None
    often = len(runs) / sum(1 / len(each) for each in runs)
    return ControlNoise(variance=found.variance / (often * mean**2), degrees=found.degrees)
