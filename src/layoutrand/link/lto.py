"""Link-time optimisation: the native objects that a link makes by itself, kept so that every layout is linked of them.

gcc's linker plugin hands the intermediate code of a link to lto-wrapper, which answers with the names of the native
objects made of it.  The wrappers keep those objects; a replay has the same plugin claim the same inputs, and a script
in lto-wrapper's place answers with the objects kept.  So nothing is generated again, while the linker resolves
symbols, extracts archive members and puts the native objects where it did before: byte for byte the same link, which
naming the objects on the link line would not give (GNU ld puts them after the first input claimed, gold after all
others; members that only intermediate code refers to would be missing).
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from layoutrand.errors import CaptureFailed, FeatureUnsupported
from layoutrand.link.lto_division import BALANCED, KEEPS_MODULES
from layoutrand.linkers.linkline import Word
from layoutrand.objects import elf

FOLDER: Final = "_temp/lto"
"""Where a capture keeps native objects, and the script that answers with them."""

ANSWER: Final = f"{FOLDER}/lto-wrapper"
ANSWER_SCRIPT: Final = """\
#!/bin/sh
# Stands for gcc's lto-wrapper where a captured link is replayed: the native objects exist already, beside this file.
# The plugin deletes what it is told of, so it gets links.  Its argument @FILE names a file of its own, so that what
# begins like that name is nobody else's.
here=${0%/*}
links=${1#@}.d
mkdir "$links" && ln -s "$here"/[0-9]*.o "$links" || exit
printf '%s\\n' "$links"/*.o
"""
_PARTITION: Final = "-flto-partition="
_SECTIONS: Final = ".gnu.lto_"
_SYMBOLS: Final = ".gnu.lto_.symtab."
_SLIM: Final = "__gnu_lto_slim"
_UNDEFINED: Final = (2, 3)
_TAIL: Final = 14  # kind, visibility, size (8 bytes), slot (4 bytes)


@dataclass(frozen=True)
class Native:
    """What one link-time optimisation made: the objects' contents in the linker's order, and the partitioning.

    ``extracted`` says who had lld pull which archive member in, in order, as ``path(member)``; gcc needs none.
    """

    objects: tuple[bytes, ...]
    partitioning: str
    extracted: tuple[tuple[str, str], ...]

    def files(self) -> dict[str, bytes]:
        """The objects by their names in a capture."""
        return {object_path(number): data for number, data in enumerate(self.objects)}


def object_path(number: int) -> str:
    """Where a capture keeps the native object of that number."""
    return f"{FOLDER}/{number:05d}.o"


def partitioning(options: str) -> str:
    """How a link divides the program ("1to1", "none", ...), by ``COLLECT_GCC_OPTIONS``: words quoted for a shell.

    Raises `CaptureFailed` where these are no words.
    """
    try:
        words = shlex.split(options)
    except ValueError as error:
        raise CaptureFailed(f"what the compiler tells lto-wrapper cannot be split into words: {error}") from error
    given = [word.removeprefix(_PARTITION) for word in words if word.startswith(_PARTITION)]
    return given[-1] if given else BALANCED


def uses_plugin(line: Iterable[Word]) -> bool:
    """Whether the link line loads a linker plugin."""
    return any(word.option == "plugin" for word in line)


def asking_nothing(line: Iterable[Word]) -> list[str]:
    """The words by which the link line loads a plugin that finds no intermediate code, and so asks no program."""
    found = (word for word in line if word.option in ("plugin", "plugin-opt"))
    return [each for word in found if not word.text.startswith("-fresolution=") for each in word.argv()]


def answering(line: Iterable[Word], script: str) -> list[Word]:
    """The line with the plugin's lto-wrapper replaced by ``script``, both named as files that the link reads."""
    result = []
    asked = False
    for word in line:
        if word.option == "plugin":
            result.append(replace(word, kind="file"))
        elif word.option != "plugin-opt":
            result.append(word)
        elif word.text.startswith("-fresolution="):
            result.append(replace(word, text="-fresolution=/dev/null"))  # written for lto-wrapper, which is not there
        elif word.text.startswith("-") or asked:
            result.append(word)
        else:  # the plugin's first option without a dash is the program that it asks
            asked = True
            result.append(replace(word, kind="file", text=script))
    return result


def is_intermediate(source: elf.Elf) -> bool:
    """Whether the object holds gcc's intermediate code, with machine code beside it or not."""
    return any(name.startswith(_SECTIONS) for name in source.section_names)


def is_slim(source: elf.Elf) -> bool:
    """Whether the object holds intermediate code only."""
    if not is_intermediate(source):
        return False
    return _SLIM in source.symbol_names(np.arange(len(source.symbols)))


def defined(source: elf.Elf) -> list[str]:
    """Names of the global symbols that the intermediate code of an object defines, in its order.

    Raises `FeatureUnsupported` for a table of symbols that is cut short.
    """
    names = []
    for index, section in enumerate(source.section_names):
        if not section.startswith(_SYMBOLS):
            continue
        table = source.content(index)
        at = 0
        while at < len(table):
            end = table.find(b"\0", at)
            tail = table.find(b"\0", end + 1) + 1 if end >= 0 else 0
            if not tail or tail + _TAIL > len(table):
                raise FeatureUnsupported(f"{section}: the table of symbols for the linker is cut short")
            if table[tail] not in _UNDEFINED:
                names.append(table[at:end].decode("utf-8", "surrogateescape"))
            at = tail + _TAIL
    return names


def unit_names(natives: Mapping[str, elf.Elf], owners: Mapping[str, str], division: str) -> dict[str, str]:
    """What each native object is called as the owner of its sections.

    Partitions move with flags and sources, so by default all are one object, "lto", whose functions go by their own
    names. Where each is made of one module it is called after that: the one that defines most of its symbols.
    ``owners`` maps symbols to the module that defines them.
    """
    if division not in KEEPS_MODULES:
        return dict.fromkeys(natives, "lto")
    taken: Counter[str] = Counter()
    names = {}
    for path, source in natives.items():
        found = Counter(owners[symbol] for symbol in _defined_natively(source) if symbol in owners)
        # A module without a global symbol is known by what it has: its sections.
        module = found.most_common(1)[0][0] if found else f"({_first_function(source)})"
        names[path] = f"lto/{module}:{taken[module]}" if taken[module] else f"lto/{module}"
        taken[module] += 1
    return names


def _defined_natively(source: elf.Elf) -> list[str]:
    symbols = source.symbols
    return source.symbol_names(np.flatnonzero((source.symbol_sections != 0) & (symbols["info"] >> 4 != 0)))


def _first_function(source: elf.Elf) -> str:
    return min((name for name in source.section_names if name.startswith(".text.")), default="")
