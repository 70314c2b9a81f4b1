"""What linkers report in files, as far as several do it alike: owners of sections, and files that were read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

_ESCAPED: Final = re.compile(r"\\([ #])")
_MEMBER: Final = re.compile(r"^(.+)\(([^()]+)\)$", re.DOTALL)


def placed(rows: Sequence[tuple[str, str, str]], called: Callable[[str], str | None]) -> list[tuple[str, str]]:
    """Owner and name of the sections that have content and a known owner.

    ``rows`` has owner, name and size (in hexadecimal) of each; ``called`` is as in `layoutrand.linkers.linker`.
    """
    known = {owner: owner_of(owner, called) for owner in dict.fromkeys(owner for owner, _name, _size in rows)}
    named = [(known[owner], name) for owner, name, size in rows if int(size, 16)]
    return [(owner, name) for owner, name in named if owner is not None]


def members_of(found: Sequence[str], called: Callable[[str], str | None]) -> frozenset[str] | None:
    """Members of archives among these owners; None if one of these is not known."""
    owners = [owner_of(owner, called) for owner in dict.fromkeys(found)]
    known = frozenset(owner for owner in owners if owner is not None)
    return frozenset(owner for owner in known if owner.endswith(")")) if None not in owners else None


def owner_of(owner: str, called: Callable[[str], str | None]) -> str | None:
    """The owner of a section under the name to use for it; None if its file is not known."""
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
