"""Rows of the results file that are not what was recorded: which, and in what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

OTHER_CONTENT: Final = "its content is not what was recorded (its checksum does not fit)"
OTHER_MEASUREMENTS: Final = "its measurements are not those that were recorded (their checksum does not fit)"


@dataclass(frozen=True)
class DamagedRow:
    """A row that is not used: its ``table``, what names it there, what it is for people, and why it is not."""

    table: str
    key: str
    what: str
    reason: str

    def __str__(self) -> str:
        what = f" ({self.what})" if self.what else ""
        return f"{self.table}, {self.key}{what}: {self.reason}"
