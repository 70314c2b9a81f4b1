"""Which section of a captured link is the function or variable that somebody names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from layoutrand.config.problems import suggest
from layoutrand.errors import NotPlaced, UsageError
from layoutrand.explain.hotness import function_names, mangled_of, symbol_of
from layoutrand.model import Section
from layoutrand.objects import elf
from layoutrand.objects.kinds import is_code
from layoutrand.text.foreign_fields import excerpt
from layoutrand.text.name_lists import first_names

_MOST_READ: Final = 2000
"""So many symbols at most are put into words to find a name among them."""

_SHOWN: Final = 8


def find_place(
    sections: Sequence[Section], wanted: str, readable: Callable[[Sequence[str]], Mapping[str, str]]
) -> tuple[int, str]:
    """The number of the section, and what it is called; ``readable`` puts symbols into their language's words.

    It is known by its symbol, by its name in C++ or Rust, or with its object as `explain` shows it where several have
    the name.  Raises `UsageError`, with what there is that is like it.
    """
    placed = [section for section in sections if is_code(section.kind) or symbol_of(section)]
    plain = function_names(placed)
    asked = wanted.strip()
    bare = [f"{name} ({section.object})" for name, section in zip(plain, placed, strict=True)]
    symbols = [section.name.split(".", 2)[-1] if is_code(section.kind) else symbol_of(section) for section in placed]
    words = re.findall(r"\w+", re.split(r"[(<]", asked, maxsplit=1)[0])  # of its parameters symbols have no words
    likely = [symbol for symbol in mangled_of(placed) if words and all(word in symbol for word in words)]
    known = readable(likely[:_MOST_READ])
    shown = function_names(placed, known) if known else plain
    found = [
        number
        for number, names in enumerate(zip(plain, shown, bare, symbols, strict=True))
        if asked in names or (known.get(symbols[number], "").split("(", 1)[0] == asked and asked)
    ]
    if len(found) == 1:
        return placed[found[0]].index, shown[found[0]]
    if found:
        names = first_names([repr(plain[n] if plain[n] != asked else bare[n]) for n in found], _SHOWN)
        kinds = {is_code(placed[number].kind) for number in found}
        what = "functions and variables" if len(kinds) > 1 else "functions" if True in kinds else "variables"
        raise UsageError(f"{len(found)} {what} are called {excerpt(wanted)}: {names}; name one of these")
    if any(not is_code(section.kind) for section in sections):
        what, more = "no function or variable", "`layoutrand explain` lists hot functions"
    else:
        what = "no function"
        more = "`layoutrand explain` lists the hot ones; variables are placed with 'data-order' among layout.factors"
    raise NotPlaced(f"{what} that can be placed is called {excerpt(wanted)}{suggest(wanted, plain)}; {more}")


def in_no_section(binary: elf.Elf, wanted: str) -> UsageError | None:
    """Why what is called so cannot be moved, though the program has it; None where it does not."""
    if not wanted.strip() or wanted.strip() not in binary.symbol_names(np.arange(len(binary.symbols))):
        return None
    return UsageError(
        f"{excerpt(wanted)} is in {binary.name}, but in no section of its own that layouts place: a variable without "
        "'data-order' among layout.factors, a common one (-fno-common gives it its own), one of each thread, constants "
        "that the linker merges, or what a library or assembler brings"
    )
