"""`run --twice`: each system is executed as two, which differ in nothing: the second has layouts of its own.

The second is an ordinary system to whatever comes after: built, scheduled, executed, resumed and recorded like any
other, in the same rounds.  Its layouts are other ones of the same capture, because the layouts of two systems that are
compared are not the same either.  The round of seed k executes its layout of the seed `second_seed` (k).
"""

from __future__ import annotations

from typing import Final

from layoutrand.model import LayoutName

_AGAIN: Final = " again"
"""No system that a user declares has a space in its name."""

_FAR: Final = 1_000_000_000
"""Between a seed and the second one of its round: farther than seeds are that people ask for."""


def second_of(system: str) -> str:
    """The name that a system has when it is executed the second time."""
    return system + _AGAIN


def is_second(system: str) -> bool:
    """Whether it is a system that is executed the second time."""
    return system.endswith(_AGAIN)


def first_of(system: str) -> str:
    """The name of the system as declared, which is its own unless it is executed the second time."""
    return system.removesuffix(_AGAIN)


def second_seed(seed: int) -> int:
    """The seed of the layout that the second executes in the round of this seed."""
    return (seed + _FAR) % 2**64


def layout_in_round(system: str, layout: LayoutName) -> LayoutName:
    """What the system executes where others execute this layout."""
    return second_seed(layout) if is_second(system) and isinstance(layout, int) else layout
