"""What stands where the whole suite has no number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from layoutrand.stats.stats_warning import plural
from layoutrand.warning import AnyWarning

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
