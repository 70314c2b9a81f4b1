"""Baseline and candidate on one benchmark, and the arrays that each question about them is answered from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from layoutrand.analysis.analyse import measurements
from layoutrand.analysis.blocking import Freed, freed_together
from layoutrand.analysis.round_design import RoundDesign, round_design
from layoutrand.analysis.sample import Sample


@dataclass(frozen=True)
class SamplePair:
    """Both samples of a benchmark: as measured, by round, and with what nodes add taken out of both at once.

    ``measured`` are all executions.  ``free`` are those that the comparison rests on, which are those of complete
    rounds where it goes by round, and ``whole`` all of them, unless what was executed of one system alone is left out.
    ``comparable`` says whether the two have any nodes in common, without which ``whole`` allows no comparison.
    """

    measured: tuple[Sample, Sample]
    design: RoundDesign
    free: tuple[Freed, Freed]
    whole: tuple[Freed, Freed]
    comparable: bool

    @cached_property
    def samples(self) -> tuple[Sample, Sample]:
        """What the comparison rests on, with what nodes add taken out."""
        return self.free[0].sample, self.free[1].sample

    @cached_property
    def by_round(self) -> tuple[Sample, Sample]:
        """The complete rounds as measured: both systems of a round are executed on one node, so that cancels."""
        return self.design.by_round(self.measured[0], 0), self.design.by_round(self.measured[1], 1)

    @cached_property
    def free_by_round(self) -> tuple[Sample, Sample]:
        """The complete rounds with what nodes add taken out."""
        return self.design.by_round(self.whole[0].sample, 0), self.design.by_round(self.whole[1].sample, 1)

    def data(self, side: int) -> Any:
        """Of the baseline (0) or the candidate (1) what the comparison rests on, for `layoutrand.stats`."""
        return self.free[side].charged(measurements(self.samples[side]))

    def each_by_itself(self, side: int) -> Any:
        """The same of all executions that may be compared without regard to rounds."""
        own = self.free if self.design.is_restricted else self.whole
        return own[side].charged(measurements(own[side].sample))


def sample_pair(old: Sample, new: Sample, *, at_random: bool = False) -> SamplePair:
    """Put two samples of one quantity together; ``at_random`` as for `round_design`."""
    design = round_design(old, new, at_random=at_random)
    (first, second), comparable = freed_together([old, new])
    whole = (first, second)
    only = design.only(old, 0), design.only(new, 1)
    if design.primary == "unpaired" or only == (old, new):
        return SamplePair((old, new), design, whole, whole, comparable)
    (first, second), _ = freed_together(only)
    return SamplePair((old, new), design, (first, second), whole, comparable)
