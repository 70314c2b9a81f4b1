"""``--import FILE``, ``NAME=FILE``, ``NAME:SEED=FILE`` and ``NAME:*=PATTERN``: whose results a file holds.

A name stands before the first ``=`` unless that follows a ``/``; so a file with ``=`` in its name is ``./a=b.json``.
The last ``:`` of the name begins the seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from layoutrand.errors import UsageError
from layoutrand.model import IDENTITY, MAX_SEED, STOCK, BinaryName, LayoutName
from layoutrand.text.digits import whole_number

EVERY: Final = "*"
SYNTAX: Final = "write FILE, NAME=FILE, NAME:SEED=FILE, or NAME:*=PATTERN with one * where the seed stands"
ONE_SEED: Final = "as numbers these are one seed: write one binary in one way, and call two by names with letters"
"""What to do about binaries such as 1 and 01."""


@dataclass(frozen=True)
class Wanted:
    """One file to import; ``name`` and ``seed`` are None where not given, ``seed`` is `EVERY` with a pattern."""

    name: str | None
    seed: str | None
    file: str


def parse_import(text: str) -> Wanted:
    """One ``--import``; raises `UsageError`.

    >>> parse_import("gcc:7=runs/7.json")
    Wanted(name='gcc', seed='7', file='runs/7.json')
    """
    label, equals, file = text.partition("=")
    if not equals or "/" in label:
        label, file = "", text
    elif not label.strip():
        raise UsageError(f"--import {text}: nothing stands before the =; {SYNTAX} (./=... for a file of that name)")
    if not file:
        raise UsageError(f"--import {text}: names no file; {SYNTAX}")
    if not label:
        return Wanted(None, None, file)
    name, colon, seed = label.rpartition(":")
    if not colon:
        return Wanted(label, None, file)
    if not name.strip() or not seed.strip():
        raise UsageError(
            f"--import {text}: {'no name before' if seed.strip() else 'no seed after'} the colon; {SYNTAX}"
        )
    if seed == EVERY and file.rpartition("/")[2].count("*") != 1:
        raise UsageError(f"--import {text}: with the seed * the file's name needs exactly one *; {SYNTAX}")
    return Wanted(name, seed, file)


def layout_of(text: str) -> LayoutName | BinaryName:
    """A binary by what it is called: a number is a seed (07 is 7), stock and identity are the controls.

    Raises `UsageError` for a number that is too large to be a seed.
    """
    if text in {STOCK, IDENTITY}:
        return text
    if text.isascii() and text.isdigit():
        if len(text) > 40 or int(text) > MAX_SEED:
            raise UsageError(
                f"the seed {text[:40]} is larger than {MAX_SEED}; give the binary a name that is no number"
            )
        return int(text)
    return text


class Spellings:
    """How the seed of each binary was written so far: 01 beside 1 may be meant as another one, and is the same."""

    def __init__(self) -> None:
        """Of nothing so far."""
        self._first: dict[tuple[str, str, int], str] = {}

    def other(self, system: str, benchmark: str, binary: str) -> str:
        """How the same seed was written before in this benchmark of the system, if otherwise; else ""."""
        seed = whole_number(binary, MAX_SEED)
        if seed is None:
            return ""
        first = self._first.setdefault((system, benchmark, seed), binary)
        return "" if first == binary else first
