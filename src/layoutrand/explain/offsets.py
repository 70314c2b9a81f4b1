"""Which offsets a function is put to: from where to where, in which steps, modulo which power of two."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from layoutrand.errors import UsageError
from layoutrand.stats.dose import MOST_DOSES
from layoutrand.text.digits import whole_number
from layoutrand.text.foreign_fields import excerpt

LINE: Final = 64
LARGEST: Final = 1 << 20
"""Bytes: the largest distance that offsets are taken modulo of."""

_STEP: Final = 16


@dataclass(frozen=True)
class Offsets:
    """Offsets from ``first`` to ``last``; ``step`` is None where it is for the function's alignment to choose."""

    first: int
    last: int
    step: int | None

    @property
    def period(self) -> int:
        """The power of two that they are offsets within: a line, or as much more as the last one needs."""
        return max(LINE, 1 << self.last.bit_length())


def parse_offsets(text: str, step: int | None) -> Offsets:
    """``0..63`` as offsets; raises `UsageError` for anything else."""
    given = f"--offset {excerpt(text, quoted=False)}"
    match = re.fullmatch(r"(\d+)\.\.(\d+)", text.strip(), re.ASCII)
    if match is None:
        raise UsageError(f"{given}: write the first and the last offset in bytes, such as 0..63 or 0..4095")
    first, last = (whole_number(digits, LARGEST - 1) for digits in match.groups())
    if first is None or last is None:
        raise UsageError(f"{given}: offsets below {LARGEST:,} bytes can be looked at")
    if last <= first:
        raise UsageError(f"{given}: the last offset must be larger than the first")
    return Offsets(first, last, step)


def checked_offsets(asked: Offsets, align: int, name: str) -> tuple[int, ...]:
    """The offsets that a function so aligned can have; raises `UsageError` where the step or the first forbid it."""
    align = max(1, align)
    step = asked.step if asked.step is not None else max(_STEP, align)
    if step % align or asked.first % align:
        raise UsageError(
            f"{name} is aligned to {align} bytes, so only offsets that are multiples of {align} exist: --offset and "
            "--step must be such"
        )
    offsets = tuple(range(asked.first, asked.last + 1, step))
    if not 2 <= len(offsets) <= MOST_DOSES:
        raise UsageError(
            f"{len(offsets)} offsets from {asked.first} to {asked.last} in steps of {step}: 2 to {MOST_DOSES} can be "
            "compared (--offset, --step)"
        )
    return offsets
