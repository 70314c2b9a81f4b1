"""Whether a run was long enough to show that the machine drifted: if not, its mean is that of this run alone."""

from __future__ import annotations

from typing import Final

from layoutrand.analysis.sample import Sample
from layoutrand.instruments.known import simulated

FEWEST: Final = 90
"""Executions of a system, stock and identity included, from which on a drift as large as the layouts' differences, that
lasts for some 50 executions, is found in .98 of runs.  Of 60 it is in .8, of 30 in .4, of 15 in .1, while intervals of
the mean hold what the machine does in the long run in .5 to .7 of all these."""


def short_run(sample: Sample) -> int | None:
    """How many executions there are, where they are too few to show a drift; None where they are not.

    None, too, where the order of executions is not known, and for simulated processors, which do not drift.
    """
    if sample.instrument in simulated() or not sample.started:
        return None
    count = sum(map(len, sample.started.values()))
    return count if count < FEWEST else None


def short_run_words(count: int) -> str:
    """What that means for the mean."""
    return (
        f"{count} executions are too few to show whether the machine drifts, so the mean is that of this run, and "
        "another run may differ by more"
    )
