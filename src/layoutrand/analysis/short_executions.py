"""Whether executions are too short for what is measured of them: told by `analyse`, `compare` and `plan` alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from layoutrand.analysis.sample import Sample
from layoutrand.config.execution_warnings import TooShort, too_short
from layoutrand.instruments.known import is_elapsed, simulated
from layoutrand.warning import AnyWarning


def of_short(*samples: Sample) -> list[TooShort]:
    """A warning where one of these samples of a benchmark is of process times, and these are too short.

    Nothing of what a program measures of itself, which leaves its start out, or of counts.
    """
    found = []
    for sample in samples:
        if is_elapsed(sample.metric) and sample.unit == "s" and sample.instrument not in simulated():
            values = [value for _, executions in sample.binaries for run in executions for value in run]
            found += too_short(
                sample.benchmark, values, may_simulate=sample.may_simulate, is_imported=sample.is_imported
            )
    return [min(found, key=lambda each: each.seconds)] if found else []


def shortest_of_each(warnings: Iterable[AnyWarning]) -> Mapping[AnyWarning, AnyWarning]:
    """Each warning of short executions, and the one that stands for all of its benchmark: that of the shortest.

    For who tells of several systems at once, in each of which an execution takes another time.
    """
    short = [each for each in warnings if isinstance(each, TooShort)]
    return {each: min((o for o in short if o.benchmark == each.benchmark), key=lambda o: o.seconds) for each in short}
