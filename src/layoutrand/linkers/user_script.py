"""GNU ld: put an exact order of sections into the linker script that a build brings along.

The script is left as it is but for the statements that take whatever code (or data) is left, such as
``*(.text .text.*)``: the exact lines go right before the first of them.  What the script places by a name of its own
(``*(.text.boot)``, ``start.o(.text)``) is not touched at all, so it stays where the script wants it.

This reads scripts, it does not understand them: whether what it did is harmless is proved by linking identity, which
must load the very contents that the build's own link loads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from layoutrand.errors import FeatureUnsupported
from layoutrand.linkers.ldscript import Line
from layoutrand.objects.kinds import FAMILIES

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[^\s{}();,]+")
_OF_A_WORD = re.compile(r"[^\s{}();,=+&|<>-]")
_BEFORE = re.compile(rf"{_OF_A_WORD.pattern}+")
_COMMAND = re.compile(r"[A-Z_]+")
_KEEP: Final = "KEEP"
_LIMITS: Final = frozenset({"EXCLUDE_FILE", "INPUT_SECTION_FLAGS"})
"""Commands that make the description after them, or around them, take less than its patterns say."""
_FALLS_TO: Final = {"data.rel.ro": ("data.rel.ro", "data")}
"""Patterns, by the family they are named after, that take a family's sections; others take their own alone."""


@dataclass(frozen=True)
class Statement:
    """One ``file(section section ...)`` of a script: where it starts, its patterns, and what is said around it.

    ``kept`` is for KEEP, ``limited`` for a statement that does not take all that its patterns name.
    """

    start: int
    file: str
    sections: tuple[str, ...]
    kept: bool
    limited: bool

    def takes_all(self, family: str) -> bool:
        """Whether it takes every section of the family that no statement before it took, unless it is `limited`."""
        wanted = {f".{name}{tail}" for name in _FALLS_TO.get(family, (family,)) for tail in (".*", "*")}
        return self.file == "*" and not wanted.isdisjoint(self.sections)


@dataclass(frozen=True)
class Reserved:
    """What a user's script places by a name of its own, and an order must therefore leave alone.

    Pairs of a file's pattern and a section's pattern; sections that fit both are reserved.
    """

    pairs: tuple[tuple[str, str], ...]

    def holds(self, file: str, member: str, section: str) -> bool:
        """Whether the script names the ``section`` of the object ``file``, or of the ``member`` of that archive.

        ``member`` is "" for no archive. A pattern ``archive:member`` holds what either half names: leaving more alone
        than need be does no harm.
        """
        names = (file, file.rpartition("/")[2], member)
        return any(
            fnmatchcase(section, pattern) and any(fnmatchcase(name, half) for name in names for half in _halves(files))
            for files, pattern in self.pairs
        )


def _halves(pattern: str) -> list[str]:
    halves = [half for half in pattern.split(":") if half.strip("*")]
    return halves or [pattern]


NOTHING: Final = Reserved(())


def reserved(script: str) -> Reserved:
    """The names that the user's script gives before it takes the rest of a family."""
    general = {("*", f".{family}{tail}") for family in FAMILIES for tail in ("", ".*", "*")}
    rest: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    for statement in _statements(script):
        named = {(statement.file, name) for name in statement.sections} - general
        pairs.update(pair for pair in named if not any(pair[1].startswith(family) for family in rest))
        if not statement.limited:
            rest.update(f".{family}." for family in FAMILIES if statement.takes_all(family))
    return Reserved(tuple(sorted(pairs)))


def ordered_user_script(script: str, lines: Sequence[Line]) -> str:
    """The user's ``script`` with each line before the first statement that takes all of the line's family.

    Families that one statement takes stay mixed as they are in ``lines``. Raises `FeatureUnsupported` if a family has
    no such statement.
    """
    statements = list(_statements(script))
    general: dict[str, Statement] = {}
    for family in dict.fromkeys(family for family, _ in lines):
        found = next((statement for statement in statements if statement.takes_all(family)), None)
        if found is None:
            raise FeatureUnsupported(
                f"the build's linker script has no statement such as *(.{family} .{family}.*), before which an order "
                "could be put"
            )
        if found.limited:
            raise FeatureUnsupported(
                f"the build's linker script takes .{family} sections with an exception ({' or '.join(sorted(_LIMITS))})"
                " before it takes the rest, so no order can be put into it. Name what is to stay apart in a statement "
                f"of its own before *(.{family} .{family}.*)"
            )
        general[family] = found
    added: dict[Statement, list[str]] = {}
    for family, text in lines:
        kept = general[family].kept and text.startswith("*")
        added.setdefault(general[family], []).append(f"{_KEEP}({text})" if kept else text)
    for statement, texts in sorted(added.items(), key=lambda item: -item[0].start):
        inserted = "".join(f"{text}\n    " for text in texts)
        script = script[: statement.start] + inserted + script[statement.start :]
    return script


def _statements(script: str) -> Iterator[Statement]:
    """Every input section description of the script, in order."""
    text = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), script)
    depth = 0
    begin = 0
    limited_up_to = -1
    for position, character in enumerate(text):
        if character == "(":
            if depth == 0:
                begin = position
            depth += 1
        elif character == ")" and depth:
            depth -= 1
            if depth == 0:
                word = _word_before(text, begin)
                if word is None:
                    continue
                between = text[limited_up_to : word.start()] if limited_up_to >= 0 else "no limit"
                if word[0] in _LIMITS:
                    limited_up_to = position + 1
                elif word[0] == _KEEP or not _COMMAND.fullmatch(word[0]):  # not ADDR(.text), ASSERT(...), PROVIDE(...)
                    yield _statement(word, text[begin + 1 : position], limited=not between.strip())


def _word_before(text: str, end: int) -> re.Match[str] | None:
    """What stands before that place, and before blanks; looked for from its end, since words may be long."""
    while end and text[end - 1].isspace():
        end -= 1
    begin = end
    while begin and _OF_A_WORD.match(text[begin - 1]):
        begin -= 1
    return _BEFORE.match(text, begin, end)


def _statement(word: re.Match[str], inside: str, *, limited: bool) -> Statement:
    """The description that begins with ``word``, and has ``inside`` in its outermost parentheses."""
    file, kept = word[0], word[0] == _KEEP
    if kept:
        before, _, rest = inside.partition("(")
        file, inside = before.strip(), rest.rpartition(")")[0]
    limited = limited or any(limit in file or limit in inside for limit in _LIMITS)
    words = tuple(name.strip('"') for name in _WORD.findall(inside) if not _COMMAND.fullmatch(name))
    return Statement(word.start(), file.strip('"'), words, kept, limited)
