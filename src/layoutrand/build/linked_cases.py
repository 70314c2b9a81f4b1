"""Which harness of benchmarks a program was linked with, as far as its file tells."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from layoutrand.harnesses.known import harness_in
from layoutrand.platform.regular_file import content_of_regular

_LARGEST: Final = 1 << 28
"""Bytes of a program that is looked through."""


def harness_of(program: Path) -> str:
    """The harness that a program has its cases from; "" for others, and for what is too large to be one of cases.

    Benches of Cargo lie under names with a hash behind them, not under their own: their source says which it is.
    """
    if not program.is_file() or program.stat().st_size > _LARGEST:
        return ""
    return harness_in(content_of_regular(program, largest=_LARGEST))
