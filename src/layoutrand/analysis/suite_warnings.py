"""What cannot be told of a whole suite: the kinds of warning, and the words of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from layoutrand.warning import AnyWarning, plural

FEWEST_FOR_SUITE: Final = 10
"""With fewer binaries the suite's bootstrap interval has no bounds too often, or covers less than it says."""


@dataclass(frozen=True)
class NoSuiteBootstrap(AnyWarning):
    """No interval by resampling: ``count`` is that of the system with the fewest binaries, None where a mean is 0."""

    count: int | None

    def __str__(self) -> str:
        if self.count is None:
            return "no bootstrap interval: some resampled means are not above 0"
        return f"no bootstrap interval of {plural(self.count)}: fewer than {FEWEST_FOR_SUITE} are too few to resample"


@dataclass(frozen=True)
class MixedMetrics(AnyWarning):
    """A suite without a common metric."""

    metrics: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"no ratio for the suite: its benchmarks are measured in different metrics ({', '.join(self.metrics)}); "
            "--metric chooses one"
        )


@dataclass(frozen=True)
class MixedDirections(AnyWarning):
    """A suite whose metric is better when more of it is there, and when less is."""

    metric: str

    def __str__(self) -> str:
        return f"no ratio for the suite: of {self.metric} less is better in some of its benchmarks, more in others"


@dataclass(frozen=True)
class BenchmarksTakenForIndependent(AnyWarning):
    """A suite without common seeds."""

    def __str__(self) -> str:
        return (
            "the suite's interval takes the benchmarks for independent, although one binary serves them all; "
            "execute all benchmarks of a system with the same seeds to do without that"
        )


@dataclass(frozen=True)
class SuiteNotPaired(AnyWarning):
    """Systems that have few seeds in common, among many; ``of_others`` as in `Evidence`."""

    common: int
    of: int
    of_others: bool = False

    def __str__(self) -> str:
        seeds = "seed is" if self.common == 1 else "seeds are"
        both = (
            "import the same seeds or names of both, in all benchmarks"
            if self.of_others
            else "`layoutrand run` without --system gives both the same seeds"
        )
        return (
            f"the suite is not paired by seed: {self.common} {seeds} common to all benchmarks of both systems, of up "
            f"to {self.of}; {both}"
        )
