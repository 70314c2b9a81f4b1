"""What a run tells of itself beside its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "system": self.system,
            "benchmark": self.benchmark,
            "instrument": self.instrument,
            "executions": self.count,
            "failed": self.failed,
            "reason": self.reason,
        }

    def __str__(self) -> str:
        were = "was" if self.count == 1 else "were"
        return (
            f"{self.system}, {self.benchmark}: {self.count} more {were} not executed: {self.failed} failed alike, and "
            "none has ever succeeded; `layoutrand run --keep-going` executes all"
        )


@dataclass(frozen=True)
class CasesFailed(AnyWarning):
    """Cases of a harness that have no numbers in some executions of one entry, which has those of others."""

    benchmark: str
    cases: tuple[str, ...]
    count: int
    reason: str

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "benchmark": self.benchmark,
            "cases": list(self.cases),
            "executions": self.count,
            "reason": self.reason,
        }

    def __str__(self) -> str:
        more = len(self.cases) - 1
        cases = f"{self.cases[0]} and {more} more {'case' if more == 1 else 'cases'}" if more else self.cases[0]
        have = "have" if more else "has"
        executions = "1 execution" if self.count == 1 else f"{self.count:,} executions"
        return f"{self.benchmark}: {cases} {have} no numbers in {executions}: {self.reason}"
