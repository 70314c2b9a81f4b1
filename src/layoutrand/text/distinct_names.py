"""Names that are too long for their column, cut so that they can still be told apart."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final

from layoutrand.text.document import cut

_WHOLE_PARTS: Final = re.compile(r".*(?:/|::|\s)")


def distinct_names(names: Sequence[str], longest: int) -> list[str]:
    """The same names, none longer than ``longest`` characters.

    Of those that are longer, what all begin with says nothing, and is left out first; then their middle is, since cases
    of a harness (``lexer/parse_long_line``, ``lexer/parse_long_word``) differ at their ends as often as in front.
    """
    long = [name for name in dict.fromkeys(names) if len(name) > longest]
    alike = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*long, strict=False))
    shared = _WHOLE_PARTS.match("".join(letters[0] for letters in alike)) if len(long) > 1 else None
    begin = shared.end() if shared else 0
    return [name if len(name) <= longest else cut(("…" if begin else "") + name[begin:], longest) for name in names]
