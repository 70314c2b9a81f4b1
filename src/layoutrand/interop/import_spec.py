"""``--import FILE``, ``NAME=FILE``, ``NAME:SEED=FILE`` and ``NAME:*=PATTERN``: whose results a file holds.

A name stands before the first ``=`` unless that follows a ``/``; so a file with ``=`` in its name is ``./a=b.json``.
The last ``:`` of the name begins the seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from layoutrand.errors import UsageError
from layoutrand.model import IDENTITY, MAX_SEED, STOCK, BinaryName, LayoutName

EVERY: Final = "*"
SYNTAX: Final = "write FILE, NAME=FILE, NAME:SEED=FILE, or NAME:*=PATTERN with one * where the seed stands"


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
