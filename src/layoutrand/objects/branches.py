"""Where a function's branches are: jumps, calls and returns, as processors and their predictors see them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Branch:
    """One of them, by bytes from the begin of the code: at ``at``, up to ``end``.

    ``begin`` is where it begins with the comparison before it that decoders make one operation of it; else as ``at``.
    """

    at: int
    end: int
    begin: int
