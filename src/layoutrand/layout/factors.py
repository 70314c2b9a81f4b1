"""The factors that layouts are drawn by: their names, and what linkers are told that draw by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from layoutrand.layout.keyed import keyed_uniform

PADDING: Final = "padding"
TEXT_OFFSET: Final = "text-offset"
LINKER_SHUFFLE: Final = "linker-shuffle"
DATA_ORDER: Final = "data-order"
LINK_ORDER: Final = "link-order"
BLOCK_ORDER: Final = "block-order"
MODULE_ORDER: Final = "module-order"
FUNCTION_ORDER: Final = "function-order"
FUNCTION_ORDER_IN_MODULE: Final = "function-order-in-module"


def places_data(factors: Sequence[str]) -> bool:
    """Whether data moves too, so that a capture must know where each piece of it goes."""
    return not {DATA_ORDER, LINKER_SHUFFLE}.isdisjoint(factors)


def linker_seed(seed: int, stream: str) -> int:
    """A number in 1 ... 2^31-1 for a linker's own generator: small enough for all, never their special 0 and -1."""
    return keyed_uniform(seed, stream, b"linker", 2**31 - 1) + 1


def wide_linker_seed(seed: int, stream: str) -> int:
    """A number in 1 ... 2^63-1 for a linker whose generator takes one of 64 bits with a sign."""
    return keyed_uniform(seed, stream, b"linker", 2**63 - 1) + 1
