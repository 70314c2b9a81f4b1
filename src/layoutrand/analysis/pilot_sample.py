"""One sample as the pilot of a plan: what varies below its binaries, and what one more of each level costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from layoutrand.analysis.analyse import collapse
from layoutrand.analysis.analysis_warnings import CountsExecutions
from layoutrand.analysis.blocking import Freed, freed
from layoutrand.analysis.coarse_clock import clock_of
from layoutrand.analysis.layout_part import execution_noise
from layoutrand.analysis.pilot import Pilot, costs_of, executions_of, pilot_of
from layoutrand.analysis.plan_warnings import NoiseOfControls
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Selection
from layoutrand.analysis.short_executions import of_short
from layoutrand.model import IDENTITY, STOCK
from layoutrand.stats import ControlNoise, Interval, mean_interval, optimal_counts, plan
from layoutrand.stats.advice import IdleTop
from layoutrand.warning import AnyWarning

_FEWEST_DEGREES: Final = 2
"""Of freedom, that the noise of controls must have."""


@dataclass(frozen=True)
class PilotSample:
    """One sample as a pilot: its levels (highest first), what it tells, and what one more of each level costs.

    ``costs`` are the seconds, level 1 first; ``lower`` are the counts below the binaries that are planned: at first
    those that are best by cost, and not always whole where they are those of the pilot.  ``interval`` is that of the
    mean.  ``controls_s`` are the seconds of controls for each execution of a binary.  ``half`` is what steps of the
    clock leave open of the mean, as a share of it: no number of anything averages it out.
    """

    own: Freed
    levels: tuple[str, ...]
    pilot: Pilot
    costs: tuple[float, ...]
    lower: tuple[float, ...]
    mean: float
    interval: Interval
    warnings: tuple[AnyWarning, ...]
    controls_s: float
    half: float

    @property
    def as_executed(self) -> PilotSample:
        """The same, planned with as many below each binary as the pilot has."""
        return replace(self, lower=tuple(level.repetitions for level in self.pilot.below))

    @property
    def seconds(self) -> float:
        """For one binary more, with the executions and iterations planned, and the controls executed beside these."""
        cost = 0.0
        executions = self.lower[-1] if "execution" in self.levels else 1
        for own, count in zip(self.costs, (*self.lower, 1), strict=True):
            cost = (cost + own) * count
        return cost + executions * self.controls_s


def pilot_sample(
    measured: Sample, selection: Selection, link_s: Mapping[str, float], *, threshold: float, confidence: float
) -> PilotSample:
    """The sample as a pilot; ``link_s`` as for `make_plans`."""
    own = freed(measured)  # no count of binaries or executions makes up for a slow node
    sample = own.sample
    executions = executions_of(sample, selection)
    data, levels = collapse([runs for _, runs in sample.binaries])
    costs = costs_of(sample, executions, link_s, levels)
    mean = fmean(value for _, runs in sample.binaries for run in runs for value in run)
    found = plan(data, [costs[level] for level in reversed(levels)], confidence=confidence)
    components = found.unbiased
    # That binaries seem not to differ is no reason for executions alone: their number goes by what binaries may differ.
    warnings: list[AnyWarning] = [each for each in found.warnings if not isinstance(each, IdleTop)]
    noise = None
    if sample.one_layout:
        warnings.append(CountsExecutions())
    elif levels == ("binary",) and (noise := _noise_of_controls(own)) is not None:
        # One execution per binary cannot tell layout from noise; those of a control, which vary by noise alone, can.
        levels = ("binary", "execution")
        costs = costs_of(sample, executions, link_s, levels)
        components = (noise.variance, max(0.0, components[0] - noise.variance))
        warnings = [NoiseOfControls(tuple(name for name in (STOCK, IDENTITY) if sample.controls.get(name)))]
    clock = clock_of(measured, selection)
    warnings += [*of_short(sample), *clock.against(threshold)]
    pilot = pilot_of(own, data, mean, noise)
    cost_list = tuple(costs[level] for level in reversed(levels))
    lower = optimal_counts((*components[:-1], pilot.upper_of_binaries() * mean**2), cost_list)
    beside = sum(map(len, sample.controls.values())) / max(1, sample.n_executions)
    controls_s = beside * fmean(execution.wall_s for execution in executions)
    return PilotSample(
        own=own,
        levels=levels,
        pilot=pilot,
        costs=cost_list,
        lower=lower,
        mean=mean,
        interval=mean_interval(own.charged(data), confidence=confidence),
        warnings=tuple(warnings),
        controls_s=controls_s,
        half=clock.halves[0],
    )


def _noise_of_controls(own: Freed) -> ControlNoise | None:
    """That which `analyse` tells, where it is known well enough to be planned by."""
    found = execution_noise(own)
    return found if found is not None and found.degrees >= _FEWEST_DEGREES else None
