"""Changes of valid samples: of bytes, of the words and numbers of a text, of the tree of a document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from fuzz.target import Form

MOST_CHANGES = 4
LONG = "9" * 5000
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
WORD = re.compile(rb"[^\s,;:=\[\]{}()\"']+")
VALUE = re.compile(rb"(?<=[=:])[^\n]*")

NUMBERS = (
    b"0",
    b"-1",
    b"1e400",
    b"-1e400",
    b"1e-320",
    b"nan",
    b"inf",
    b"0x",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"4294967295",
    b"9007199254740993",
    LONG.encode(),
    b"-" + LONG.encode(),
    b"1e99999",
    b"1_000",
    "\u0663".encode(),
    b"1.5",
    b"",
)
WORDS = (
    b"",
    b"\0",
    b"\x1b[2J",
    b"\xff\xfe",
    b"\xed\xb2\x80",
    "\u009b31m".encode(),
    "\u202e".encode(),
    b"..",
    b"../../x",
    b"/",
    b"%s%n",
    b"{artefact}",
    b"=HYPERLINK(1)",
    b"'",
    b'"',
    b"\\",
    b"[" * 5000,
    b"x" * 5000,
    b"[",
    b"{",
    b"true",
    b"[]",
    b"{}",
    b"@f",
)
INTEGERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
WIDTHS = (1, 2, 4, 8)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    2**70,
    -(2**70),
    10**400,
    1e308,
    1e-320,
    0.5,
    "",
    "x",
    "\0",
    "\ud800",
    "\x1b[2J",
    "../../x",
    "/x",
    "9" * 400,
    [],
    {},
    [1],
    {"x": 1},
    [[]],
    [None],
    {"": None},
    "x/" * 3000,
    float("nan"),
    float("inf"),
)
DEEP = "[" * 3000 + "]" * 3000

Change = tuple[int, int, int]


def _flip(data: bytes, place: int, choice: int) -> bytes:
    at = place % max(len(data), 1)
    return data[:at] + bytes([data[at] ^ (1 << choice % 8)]) + data[at + 1 :] if data else data


def _cut(data: bytes, place: int, choice: int) -> bytes:
    del choice
    return data[: place % (len(data) + 1)]


def _drop(data: bytes, place: int, choice: int) -> bytes:
    at = place % (len(data) + 1)
    return data[:at] + data[at + 1 + choice % 64 :]


def _double(data: bytes, place: int, choice: int) -> bytes:
    at = place % (len(data) + 1)
    return data[:at] + data[at : at + 1 + choice % 512] * 2 + data[at:]


def _splice(data: bytes, place: int, choice: int) -> bytes:
    at = place % (len(data) + 1)
    return data[:at] + WORDS[choice % len(WORDS)] + data[at:]


def _integer(data: bytes, place: int, choice: int) -> bytes:
    width = WIDTHS[choice % len(WIDTHS)]
    value = INTEGERS[choice // len(WIDTHS) % len(INTEGERS)] & ((1 << 8 * width) - 1)
    at = place % (len(data) // width + 1) * width
    return data[:at] + value.to_bytes(width, "little") + data[at + width :]


def _replaced(pattern: re.Pattern[bytes], by: Sequence[bytes]) -> Callable[[bytes, int, int], bytes]:
    def change(data: bytes, place: int, choice: int) -> bytes:
        found = list(pattern.finditer(data))
        if not found:
            return _splice(data, place, choice)
        begin, end = found[place % len(found)].span()
        return data[:begin] + by[choice % len(by)] + data[end:]

    return change


def _lines(data: bytes, place: int, choice: int) -> bytes:
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    at, other = place % len(lines), choice // 3 % len(lines)
    if choice % 3 == 0:
        del lines[at]
    elif choice % 3 == 1:
        lines.insert(at, lines[other])
    else:
        lines[at], lines[other] = lines[other], lines[at]
    return b"".join(lines)


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    found: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting:
        here = waiting.pop()
        keys = list(here) if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ()
        found += [(here, key) for key in keys]
        waiting += [here[key] for key in keys]
    return found


def _tree(data: bytes, place: int, choice: int) -> bytes:
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return _splice(data, place, choice)
    found = _places(tree)
    if not found:
        return _splice(data, place, choice)
    container, key = found[place % len(found)]
    kind = choice % (len(VALUES) + 3)
    if kind < len(VALUES):
        container[key] = VALUES[kind]
    elif kind == len(VALUES):
        del container[key]
    elif kind == len(VALUES) + 1:
        container[key] = [container[key]]
    else:
        return json.dumps(tree).replace(json.dumps(container[key]), DEEP, 1).encode()
    try:
        return json.dumps(tree).encode()
    except ValueError:  # an integer of more digits than Python converts
        return data


BYTES = (_flip, _cut, _drop, _double, _splice, _integer)
TEXT = (_replaced(NUMBER, NUMBERS), _replaced(WORD, WORDS), _lines)
CHANGES: dict[Form, tuple[Callable[[bytes, int, int], bytes], ...]] = {
    "bytes": BYTES,
    "text": (*TEXT, *TEXT, *BYTES),
    "toml": (*TEXT, _replaced(VALUE, NUMBERS), _replaced(VALUE, WORDS), *BYTES),
    "json": (*[_tree] * 8, *TEXT, *BYTES),
}
_ANY = st.integers(0, 2**32 - 1)
SEVERAL: st.SearchStrategy[list[Change]] = st.lists(st.tuples(_ANY, _ANY, _ANY), min_size=1, max_size=MOST_CHANGES)
"""Changes as numbers, which are small to print and to shrink."""


def changed(data: bytes, changes: Sequence[Change], form: Form) -> bytes:
    """The data after the changes, one after the other."""
    ways = CHANGES[form]
    for kind, place, choice in changes:
        data = ways[kind % len(ways)](data, place, choice)
    return data
