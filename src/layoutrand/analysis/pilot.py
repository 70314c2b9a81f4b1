"""What a pilot tells of an experiment with other repetition counts: how much binaries would vary, and at most.

All variances are over the squared mean.  The variance between binaries' means contains what lower levels leave in them:
with more executions of each it is smaller, and how much smaller is known only as well as the executions' variance is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from layoutrand.analysis.blocking import Freed
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Selection
from layoutrand.model import Execution
from layoutrand.stats import ControlNoise, variance_components, variance_limit
from layoutrand.stats.levels import nested
from layoutrand.text.quantities import SECONDS


@dataclass(frozen=True)
class LevelSquare:
    """The mean square of a level (S_i^2) over the squared mean, its degrees of freedom, and the repetitions behind it.

    ``repetitions`` are those of this level in each unit of the level above, as their harmonic mean.
    """

    square: float
    degrees: float
    repetitions: float


@dataclass(frozen=True)
class Pilot:
    """The levels below the binaries, level 1 first, and the binaries' means.

    ``top`` is the relative variance between binaries' means, with ``top_degrees``.
    """

    below: tuple[LevelSquare, ...]
    top: float
    top_degrees: float

    @property
    def components(self) -> tuple[float, ...]:
        """What each level adds itself, T_1^2 to T_n^2 (level 1 first), as `analyse` has it, or nothing."""
        squares = [*(level.square for level in self.below), self.top]
        under = [0.0, *(level.square / level.repetitions for level in self.below)]
        return tuple(max(0.0, square - part) for square, part in zip(squares, under, strict=True))

    def variance(self, counts: Sequence[float]) -> tuple[float, float]:
        """Of a binary's mean with these repetitions below it (level 1 first): the estimate and its upper limit."""
        return combined([(self.top, self.top_degrees)], [(self, counts)])

    def upper_of_binaries(self) -> float:
        """Upper limit of what binaries add themselves, T_n^2: what is left with executions without end.

        It is at least what so small a pilot cannot tell from nothing: binaries that happened to differ by less than
        noise explains are no evidence that they never do.
        """
        if not self.below:
            return 0.0
        noise = self.noise([level.repetitions for level in self.below])
        likely = Pilot(self.below, max(self.top, noise), self.top_degrees)
        return likely.variance([1.0] * (len(self.below) - 1) + [math.inf])[1]

    def noise(self, counts: Sequence[float]) -> float:
        """What lower levels alone leave in a binary's mean."""
        left = under = 0.0
        for place, level in enumerate(self.below):
            left += max(0.0, level.square - under) / math.prod(counts[place:])
            under = level.square / level.repetitions
        return left


def combined(
    tops: Sequence[tuple[float, float]], pilots: Sequence[tuple[Pilot, Sequence[float]]]
) -> tuple[float, float]:
    """Variance and its upper limit of what ``tops`` (squares, degrees) become with other counts in each of ``pilots``.

    S_i^2 estimates T_i^2 + S_{i-1}^2 / r_{i-1}, so other counts change the variance of a binary's mean by a
    weighted sum of the mean squares below (Kalibera and Jones, TR 4-12, section 6.1).  With the counts that the pilots
    have it is what was measured, which `compare` goes by.  Of more there is left what noise leaves, or what was
    measured where that is less: no binary varies by more for being executed more often.
    """
    terms = [(square, degrees, 1.0) for square, degrees in tops]
    for pilot, counts in pilots:
        for place, level in enumerate(pilot.below):
            share = 1.0 / math.prod(counts[place + 1 :])
            terms.append((level.square, level.degrees, share * (1.0 / counts[place] - 1.0 / level.repetitions)))
    least = min(sum(square for square, _ in tops), sum(pilot.noise(counts) for pilot, counts in pilots))
    estimate = max(least, sum(square * weight for square, _, weight in terms))
    squares, degrees, weights = zip(*terms, strict=True)
    return estimate, max(estimate, variance_limit(squares, degrees, weights=weights))


def pilot_of(own: Freed, data: Any, mean: float, noise: ControlNoise | None) -> Pilot:
    """Of measurements that levels without repetitions were taken out of; at least two binaries.

    ``noise`` is that of the controls' executions, where binaries were executed once.
    """
    sample = nested(data)
    found = variance_components(data)
    scale = mean**2
    below = []
    for square, counts in zip(found.biased[:-1], sample.counts[:-1], strict=True):
        degrees = int(counts.sum()) - counts.size
        harmonic = float(counts[0] if (counts == counts[0]).all() else counts.size / np.sum(1.0 / counts))
        below.append(LevelSquare((square or 0.0) / scale, max(1, degrees), harmonic))
    if noise is not None:
        below = [LevelSquare(noise.variance / scale, max(1.0, noise.degrees), 1.0)]
    return Pilot(tuple(below), (found.biased[-1] or 0.0) / scale, max(1, sample.n_top - 1 - own.lost))


def executions_of(sample: Sample, selection: Selection) -> list[Execution]:
    """The executions of layouts that went well, and so are in the sample; all of them, where it has one layout."""
    of = (sample.system, sample.benchmark, sample.instrument)
    return [
        execution
        for execution in selection.executions
        if (execution.system, execution.benchmark, execution.instrument) == of
        and execution.status == "ok"
        and (sample.one_layout or isinstance(execution.layout, int))
    ]


def unplanned(selection: Selection) -> list[str]:
    """What there is no plan for beside others: benchmarks of a system with fewer than two binaries."""
    return [f"{s.system}, {s.benchmark}" for s in selection.samples if s.is_primary and len(s.binaries) < 2]


def costs_of(
    sample: Sample, executions: Sequence[Execution], link_s: Mapping[str, float], levels: Sequence[str]
) -> dict[str, float]:
    """Seconds for one more of each level: a link, a start with its warm-up, an iteration.

    A level that the data do not have is part of the one below the next higher: its seconds are paid there.
    """
    walls = [execution.wall_s for execution in executions]
    links = [link_s[e.binary_sha256] for e in executions if e.binary_sha256 in link_s]
    link = fmean(links) if links else 0.0
    wall = fmean(walls)
    if "iteration" not in levels:
        return {"binary": link + wall} if levels == ("binary",) else {"binary": link, "execution": wall}
    counted = [len(run) for _, runs in sample.binaries for run in runs]
    every = [sum(m.metric == sample.metric for m in execution.measurements) for execution in executions]
    iteration = _iteration_s(sample, executions, every)
    start = max(0.0, round(wall - iteration * fmean(counted), 9))  # less is the rounding of a difference
    if "execution" in levels:
        return {"binary": link, "execution": start, "iteration": iteration}
    return {"binary": link + start, "iteration": iteration}


def _iteration_s(sample: Sample, executions: Sequence[Execution], every: Sequence[int]) -> float:
    """Mean seconds of an iteration: as the program says, or an equal share of the execution where it says no times.

    An iteration takes no more than that share, so longer times are of something else.
    """
    share = fmean(e.wall_s / count for e, count in zip(executions, every, strict=True))
    if sample.unit not in SECONDS:
        return share
    said = fmean(m.value for e in executions for m in e.measurements if m.metric == sample.metric and not m.warmup)
    return min(said * SECONDS[sample.unit], share)
