"""What is known of how a system changed over commits: points, steps, and the series that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from layoutrand.analysis.clock_warnings import CoarseClock
from layoutrand.capture.commit_log import LoggedCommit
from layoutrand.config.metric import Better
from layoutrand.stats import Interval
from layoutrand.stats.change_points import Steps
from layoutrand.warning import AnyWarning

StepVerdict = Literal["faster", "slower", "small", "about the threshold", "size unknown", "layout only", "cannot tell"]
"""Of a place where the level changes; "small" is wholly within the threshold."""

LEVELS: Final[frozenset[StepVerdict]] = frozenset({"faster", "slower", "about the threshold", "size unknown"})
"""Steps of the means themselves that are told at first sight."""


@dataclass(frozen=True)
class HistoryPoint:
    """One program: its ``commits`` in order, the mean over its layouts, and stock's, None where it was not executed."""

    commits: tuple[LoggedCommit, ...]
    capture: str
    mean: Interval
    n_layouts: int
    n_executions: int
    stock: float | None
    n_stock: int

    @property
    def commit(self) -> LoggedCommit:
        """The first commit of it."""
        return self.commits[0]


def are_one_program(points: Sequence[HistoryPoint]) -> bool:
    """Whether several commits are one program, so that there is nothing to be told by measuring."""
    return len(points) == 1 and len(points[0].commits) > 1


@dataclass(frozen=True)
class HistoryStep:
    """One place where the level changes, counted in points: ``place`` is the first point after it.

    It may be anywhere from ``first`` to ``last``.  ``ratio`` is new / old of the means over layouts, ``stock`` the same
    of the user's own builds, None where it is not known.  ``good`` is the last measured commit of the old level that
    the first of ``last`` descends from, None where there is none, or where nobody is told to search between them.
    """

    verdict: StepVerdict
    place: int
    first: int
    last: int
    ratio: Interval
    stock: Interval | None
    good: LoggedCommit | None = None


@dataclass(frozen=True)
class CommitSeries:
    """One metric of one system on one benchmark over commits.

    ``n_common`` counts the rounds that all points have, 0 where points were measured at different times; ``n_rounds``
    those within which they are compared.  That is 0 where the former are none or too few: then means are compared, and
    only what rises above all differences between these is a step.  ``layouts`` are the steps of the means, ``stocks``
    those of stock; ``steps`` is what both say together.  ``resolution`` is, of means without a step, or with steps of a
    clock, how large one in the middle could be and be taken for noise, or for these; None where that is not known.
    Where times lie on one or two steps of their clock, of which ``clock`` tells, means and ratios have room for these;
    what may be nothing but such steps is none of ``steps``, and within ``resolution``.  ``n_distinct`` are the layouts
    that all programs can have at most, where more would help and these are few; else None.  ``is_apart`` says that
    points were measured at different times by what feels these, so a spell of a slow machine looks like a step.
    ``is_main`` says that the benchmark is judged by this metric where none is named.
    """

    system: str
    benchmark: str
    metric: str
    unit: str
    better: Better
    points: tuple[HistoryPoint, ...]
    n_rounds: int
    n_common: int
    layouts: Steps
    stocks: Steps | None
    steps: tuple[HistoryStep, ...]
    warnings: tuple[AnyWarning, ...]
    resolution: float | None = None
    clock: CoarseClock | None = None
    n_distinct: int | None = None
    is_apart: bool = False
    is_main: bool = True

    @property
    def is_one_program(self) -> bool:
        """See `are_one_program`."""
        return are_one_program(self.points)


@dataclass(frozen=True)
class History:
    """All series, and what they rest on; ``commits`` are those asked for, oldest first, measured or not."""

    series: tuple[CommitSeries, ...]
    commits: tuple[LoggedCommit, ...]
    project: str
    host: str
    confidence: float
    threshold: float
    warnings: tuple[AnyWarning, ...]
