"""By how much the mean over layouts differs from stock's, or identity's: round by round where rounds are complete."""

from __future__ import annotations

import math
from statistics import fmean

from layoutrand.analysis.analysis_warnings import ControlSpread, FewOfControl, NoShift, UnboundedShift
from layoutrand.analysis.blocking import Freed
from layoutrand.analysis.coarse_clock import clock_steps
from layoutrand.analysis.node_warnings import ControlElsewhere
from layoutrand.analysis.round_design import RoundDesign, control_sample, of_control
from layoutrand.analysis.sample import Sample, binary_mean
from layoutrand.errors import AnalysisError
from layoutrand.model import LayoutName
from layoutrand.stats import Interval, ratio_interval, with_lost
from layoutrand.warning import AnyWarning


def control_shift(
    own: Freed, name: LayoutName, confidence: float, *, at_random: bool = False
) -> tuple[Interval | None, list[AnyWarning]]:
    """The ratio of the layouts' mean to the control's, and why there is none.

    Every round executes the control beside a layout, so round by round a drift of the machine, and what a node adds,
    cancels.  Where half of the rounds lack one of the two, as simulated ones do, it is that of two samples, but on
    several nodes still that of the rounds that have both.
    """
    executions = own.sample.controls.get(name, ())
    binaries = own.sample.binaries
    if len(executions) < 2 or len(binaries) < 2:
        return None, [FewOfControl(name, len(executions), len(binaries))]
    control = control_sample(own.raw, name)
    assert control is not None
    design, by_round = of_control(control, own.raw, at_random=at_random)
    if by_round is None:
        return None, [ControlElsewhere(name)]
    shift = _by_round(design, control, own, confidence) if by_round else None
    if shift is None:
        if not own.has_noise(name):
            return None, [ControlSpread(name)]
        stock = with_lost([fmean(iterations) for iterations in executions], own.control_lost.get(name, 0))
        layouts = own.charged([binary_mean(runs) for _, runs in binaries])
        try:
            shift = ratio_interval(stock, layouts, confidence=confidence, method="fieller-welch")
        except AnalysisError as error:
            return None, [NoShift(name, str(error))]
    shift = clock_steps(control, own.raw).of_ratio(shift) or shift
    return shift, [] if math.isfinite(shift.half_width) else [UnboundedShift(name)]


def _by_round(design: RoundDesign, control: Sample, own: Freed, confidence: float) -> Interval | None:
    """None where a mean has no logarithm."""
    rounds = design.by_round(control, 0), design.by_round(own.raw, 1)
    stock, layouts = (sample.binary_means for sample in rounds)
    try:
        return ratio_interval(stock, layouts, confidence=confidence, method="paired-log-t")
    except AnalysisError:
        return None
