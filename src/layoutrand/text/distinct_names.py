"""Names that are too long for their column, cut so that they can still be told apart."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final

from layoutrand.text.document import cut

_WHOLE_PARTS: Final = re.compile(r".*(?:/|::|\s|(?<=[A-Za-z_])\.)")
_PARTS_OF_A_NAME: Final = re.compile(r"\S*(?:/|::|(?<=[A-Za-z_])\.)")


def distinct_names(names: Sequence[str], longest: int) -> list[str]:
    """The same names, none longer than ``longest`` characters.

    Of those that are longer, what all begin with says nothing, and is left out first; then their middle is, since cases
    of a harness (``lexer/parse_long_line``, ``lexer/parse_long_word``) differ at their ends as often as in front.
    Where that leaves two alike (``Tree.walk,depth=1,kind=red``, ``Tree.walk,depth=31,kind=red``), it is
    shown where they differ.
    """
    long = [name for name in dict.fromkeys(names) if len(name) > longest]
    alike = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*long, strict=False))
    # Beside others, a benchmark of which the system or the metric alone is left could not be told.
    parts = _WHOLE_PARTS if len(long) == len(set(names)) else _PARTS_OF_A_NAME
    shared = parts.match("".join(letters[0] for letters in alike)) if len(long) > 1 else None
    begin = shared.end() if shared else 0
    said = {name: cut(("…" if begin else "") + name[begin:], longest) for name in long}
    for alike_now in [[name for name in long if said[name] == text] for text in dict.fromkeys(said.values())]:
        if len(alike_now) > 1:
            differ = next(place for place in itertools.count() if len({name[: place + 1] for name in alike_now}) > 1)
            said |= {name: _around(name, differ, longest) for name in alike_now}
    return [said.get(name, name) for name in names]


def _around(name: str, place: int, longest: int) -> str:
    """So much of a name that what is at ``place`` can be read, with a little of what stands before it."""
    begin = max(0, min(place - longest // 3, len(name) - longest + 1))
    shown = "…" * (begin > 0) + name[begin:]
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
