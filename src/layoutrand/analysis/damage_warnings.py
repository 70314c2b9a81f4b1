"""The warning about rows of the results file that are damaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from layoutrand.results.damage import DamagedRow
from layoutrand.results.recorded_results import RecordedResults
from layoutrand.warning import AnyWarning

_FEW: Final = 3  # rows in the warning


@dataclass(frozen=True)
class DamagedResults(AnyWarning):
    """Rows of a results file that are damaged, and so left out."""

    path: str
    rows: tuple[DamagedRow, ...]

    def __str__(self) -> str:
        more = f"; and {len(self.rows) - _FEW} more" if len(self.rows) > _FEW else ""
        count = "1 row is" if len(self.rows) == 1 else f"{len(self.rows)} rows are"
        return (
            f"{self.path}: {count} damaged and left out: {'; '.join(str(row) for row in self.rows[:_FEW])}{more}. "
            "`layoutrand results verify` lists all; `layoutrand run` executes anew what is lost"
        )


def damaged_results(store: RecordedResults) -> list[DamagedResults]:
    """What was left out of what was read so far since it is damaged; nothing where nothing is."""
    return [DamagedResults(str(store.path), store.damaged)] if store.damaged else []
