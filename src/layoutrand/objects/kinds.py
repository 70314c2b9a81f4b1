"""Which input sections can be placed, and which of them may change places with each other.

Every placeable section has a kind.  Code has the classes that GNU ld's default script keeps apart (unlikely, exit,
startup, hot, plain text); data has one kind for each stretch of the output that linkers keep apart.  Kinds that end up
in one output section form a family: a section never leaves its family.

Left where they are, because moving them would change more than a place: mergeable strings and constants (the linker
rewrites them), thread-local data, constructor arrays, linker sets (``__start_X`` ... ``__stop_X``), and whatever has
a name of its own choosing.
"""

from __future__ import annotations

from typing import Final

PLAIN: Final = "text"
_PREFIXES: Final = ("unlikely", "exit", "startup", "hot")
CODE_KINDS: Final = frozenset({*_PREFIXES, PLAIN})
DATA_KINDS: Final = ("rodata", "data.rel.ro.local", "data.rel.ro", "data", "bss")
FAMILIES: Final = (PLAIN, "rodata", "data.rel.ro", "data", "bss")


def classify(section_name: str) -> str:
    """The class of an executable section by its name, as GNU ld's default script sees it.

    One of the prefixes, or plain "text". Functions that are *named* hot or x_unlikely fall into those classes too,
    because the linker cannot tell them apart either.
    """
    rest = section_name.removeprefix(".text.")
    if rest == section_name:
        return PLAIN
    if rest.endswith("_unlikely"):  # part of the script's first pattern, so it wins over the other prefixes
        return "unlikely"
    return next((prefix for prefix in _PREFIXES if rest == prefix or rest.startswith(prefix + ".")), PLAIN)


def is_function_section(section_name: str) -> bool:
    """Whether the section is one function's own, by its name: neither .text nor the common section of a class."""
    rest = section_name.removeprefix(".text.").rstrip(".")
    return section_name.startswith(".text.") and rest not in ("", *_PREFIXES)


def family(kind: str) -> str:
    """The stretch of the output that sections of the kind share: one of `FAMILIES`."""
    if kind in CODE_KINDS:
        return PLAIN
    return "data.rel.ro" if kind.startswith("data.rel.ro") else kind


def is_code(kind: str) -> bool:
    """Whether sections of the kind hold code."""
    return kind in CODE_KINDS
