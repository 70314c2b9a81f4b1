"""What linkers report in files: which input sections they placed, in which order, and what they read."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

LINKERS: Final = ("gnu", "lld")
"""Whose maps can be read."""

# " .text.f  0x1139  0x2c file.o"; a long name has a line of its own.
_GNU: Final = re.compile(r"^ (\S+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+) (.+)$", re.MULTILINE)
_GNU_BEGIN: Final = "\nLinker script and memory map\n"
# "1139  1139  2c  16  file.o:(.text.f)", in hexadecimal but for the alignment
_LLD: Final = re.compile(r"^ *[0-9a-f]+ +[0-9a-f]+ +([0-9a-f]+) +[0-9]+ +(.+):\((\S+)\)$", re.MULTILINE)
_ESCAPED: Final = re.compile(r"\\([ #])")
_MEMBER: Final = re.compile(r"^(.+)\(([^()]+)\)$", re.DOTALL)
_GNU_OWNER: Final = re.compile(r"^ (\S+)\s+0x[0-9a-f]+\s+0x[0-9a-f]+ (.+)$", re.MULTILINE)
_GNU_FILL: Final = "*fill*"
_GNU_OWN: Final = "linker stubs"  # as of binutils 2.46; before, of the first file
_LLD_OWN: Final = "<internal>"


def sections(text: str, linker: str, called: Callable[[str], str | None]) -> list[tuple[str, str]]:
    """The owner (``file`` or ``archive(member)``) and name of each section, as placed.

    ``called`` gives the name to use for a file, None to leave its sections out, as those without content are.
    ``linker`` is one of `LINKERS`.
    """
    if linker == "gnu":
        rows = [(owner, name, size) for name, size, owner in _GNU.findall(text.partition(_GNU_BEGIN)[2])]
    else:
        rows = [(owner, name, size) for size, owner, name in _LLD.findall(text)]
    known = {owner: _owner(owner, called) for owner in dict.fromkeys(owner for owner, _name, _size in rows)}
    named = [(known[owner], name) for owner, name, size in rows if int(size, 16)]
    return [(owner, name) for owner, name in named if owner is not None]


def mentioned(text: str, called: Callable[[str], str | None]) -> set[tuple[str, str]]:
    """Owner and name of every section in a map of GNU ld, those that were discarded or have no content included."""
    rows = dict.fromkeys((owner, name) for name, owner in _GNU_OWNER.findall(text))
    return {(known, name) for owner, name in rows if (known := _owner(owner, called)) is not None}


def members(text: str, linker: str, called: Callable[[str], str | None]) -> frozenset[str] | None:
    """Every ``archive(member)`` that has a section in the map, discarded ones and those without content included.

    None if there is a section of a file that ``called`` does not know, such as a member of a thin archive.
    """
    if linker == "gnu":
        found = [owner for section, owner in _GNU_OWNER.findall(text) if section != _GNU_FILL and owner != _GNU_OWN]
    else:
        found = [owner for _size, owner, _name in _LLD.findall(text) if owner != _LLD_OWN]
    owners = [_owner(owner, called) for owner in dict.fromkeys(found)]
    known = frozenset(owner for owner in owners if owner is not None)
    return frozenset(owner for owner in known if owner.endswith(")")) if None not in owners else None


def _owner(owner: str, called: Callable[[str], str | None]) -> str | None:
    member = _MEMBER.match(owner)
    name = called(member[1] if member else owner)
    return name if name is None or member is None else f"{name}({member[2]})"


def dependencies(text: bytes) -> list[str]:
    """Files in lld's or gold's dependency file, one a line; make's escapes for blanks, hashes and dollars undone."""
    rule = text.decode("utf-8", "surrogateescape").split("\n\n", 1)[0]
    rows = [row.removesuffix(" \\").lstrip(" ") for row in rule.splitlines()[1:]]
    return list(dict.fromkeys(_ESCAPED.sub(r"\1", row).replace("$$", "$") for row in rows))


def phony_targets(text: bytes) -> list[str]:
    """Files in mold's dependency file, which escapes nothing but repeats each name in a line of its own."""
    rows = text.decode("utf-8", "surrogateescape").split("\n\n")[1:]
    return [row.removesuffix("\n").removesuffix(":") for row in rows if row.strip()]
