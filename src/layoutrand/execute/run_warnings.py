"""What a run tells of itself beside its results."""

from __future__ import annotations

from dataclasses import dataclass

from layoutrand.warning import AnyWarning


@dataclass(frozen=True)
class NotExecuted(AnyWarning):
    """Executions that were left out, as the first of their system and benchmark all failed for one cause."""

    system: str
    benchmark: str
    instrument: str
    count: int
    failed: int
    reason: str

    def __str__(self) -> str:
        were = "was" if self.count == 1 else "were"
        return (
            f"{self.system}, {self.benchmark}: {self.count} more {were} not executed: {self.failed} failed alike, and "
            "none has ever succeeded; `layoutrand run --keep-going` executes all"
        )
