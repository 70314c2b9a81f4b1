"""When to stop adding binaries: once every interval is as narrow as was asked for, or at a limit.

The rule looks at widths alone, never at a difference or its significance: stopping when a difference looks convincing
would find differences that are not there.  Stopping by width does no such harm, but it favours samples that look too
calm by chance: with few binaries many do.  Therefore it stops with no fewer than `FEWEST_TO_STOP`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from layoutrand.analysis.analyse import measurements
from layoutrand.analysis.blocking import freed
from layoutrand.analysis.coarse_clock import clock_of
from layoutrand.analysis.machine import machine_states, quantity_of
from layoutrand.analysis.selection import Selection
from layoutrand.model import MAX_SEED
from layoutrand.stats import mean_interval
from layoutrand.stats.growth import FEWEST_TO_STOP
from layoutrand.text.quantities import percent


@dataclass(frozen=True)
class Width:
    """The interval of one benchmark's main metric: its half-width over the mean (infinite of one binary,
    or of a mean of 0).

    ``has_changed`` says that its executions follow the order in which they were made, so the machine changed meanwhile.
    """

    system: str
    benchmark: str
    n_binaries: int
    relative_half_width: float
    has_changed: bool = False

    def __str__(self) -> str:
        if math.isfinite(self.relative_half_width):
            return percent(self.relative_half_width)
        return "no share of a mean of 0" if self.n_binaries > 1 else "unknown of one binary"


def widths(selection: Selection, *, confidence: float) -> list[Width]:
    """The widths of all benchmarks, widest first."""
    found = []
    primary = [sample for sample in selection.samples if sample.is_primary]
    states = machine_states(primary)
    for sample in primary:
        state = states[quantity_of(sample)]
        relative = math.inf
        if len(sample.binaries) > 1:
            own = freed(sample)  # else a slow node would ask for more binaries, which do not help against it
            interval = mean_interval(own.charged(measurements(own.sample)), confidence=confidence)
            interval = clock_of(sample, selection).of_mean(interval)
            half = (interval.high - interval.low) / 2
            if interval.centre or not half:  # counts that are all 0 are as narrow as can be
                relative = half / abs(interval.centre) if half else 0.0
        has_changed = state is not None and state.follows_time
        found.append(Width(sample.system, sample.benchmark, len(sample.binaries), relative, has_changed))
    return sorted(found, key=lambda width: -width.relative_half_width)


def seeds_to_add(found: Sequence[Width], *, wanted: float, seeds: int, limit: int) -> int:
    """How many seeds to add to the ``seeds`` so far; 0 when `may_stop`, or at the limit.

    As many as the widest interval is expected to need, since widths shrink with the root of the number of binaries,
    but at most as many again: the estimate from few binaries may be far off.  Those up to the fewest to stop with are
    added at once, and a quarter more where all is narrow enough but the machine changed.
    """
    if may_stop(found, wanted=wanted) or seeds >= limit:
        return 0
    lacking = FEWEST_TO_STOP - min(width.n_binaries for width in found)
    ratio = max(width.relative_half_width for width in found) / wanted
    fewest = seeds + 1 if ratio > 1 or lacking > 0 else seeds + math.ceil(seeds / 4)
    fewest = max(FEWEST_TO_STOP, fewest) if lacking > 0 else fewest
    expected = 2 * seeds if math.isinf(ratio) else math.ceil(seeds * ratio**2)
    return min(max(min(expected, 2 * seeds), fewest), limit) - seeds


def may_stop(found: Sequence[Width], *, wanted: float) -> bool:
    """Whether all widths are ``wanted`` or narrower, and none by chance of few binaries or on a changing machine."""
    return all(
        each.relative_half_width <= wanted and each.n_binaries >= FEWEST_TO_STOP and not each.has_changed
        for each in found
    )


def next_seeds(seeds: Sequence[int], count: int) -> list[int]:
    """The ``count`` seeds after the largest; where there are not so many, those from 1 on that are not taken."""
    first = max(seeds) + 1
    if first + count - 1 <= MAX_SEED:
        return list(range(first, first + count))
    taken = set(seeds)
    return list(itertools.islice((seed for seed in itertools.count(1) if seed not in taken), count))
