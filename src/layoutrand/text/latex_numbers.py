r"""Numbers of tables for LaTeX's siunitx: columns that line up at the point, and values with their units.

Version 3 of siunitx (2021) is meant: ``\num``, ``\qty``, and ``S`` columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

UNITS: Final[Mapping[str, str]] = {
    "s": r"\second",
    "ms": r"\milli\second",
    "\N{MICRO SIGN}s": r"\micro\second",
    "ns": r"\nano\second",
    "B": r"\byte",
    "KiB": r"\kibi\byte",
    "MiB": r"\mebi\byte",
    "%": r"\percent",
}
_NUMBER: Final = r"[-+]?[0-9][0-9,]*(?:\.[0-9]+)?"
_PLAIN: Final = re.compile(r"(?P<sign>[-+]?)(?P<whole>[0-9][0-9,]*)(?:\.(?P<part>[0-9]+))?")
_UNIT: Final = "|".join(map(re.escape, UNITS))
_WITH_UNIT: Final = re.compile(rf"(?P<number>{_NUMBER}) (?P<unit>{_UNIT})")
_INTERVAL: Final = re.compile(
    rf"(?P<centre>{_NUMBER})(?P<percent> %)? \[(?P<low>{_NUMBER}), (?P<high>{_NUMBER})\](?: (?P<unit>{_UNIT}))?"
)


@dataclass(frozen=True)
class NumberColumn:
    """A column of siunitx: its specification, the unit that all cells share (empty for none), and the cells."""

    specification: str
    unit: str
    cells: Sequence[str]


def number_column(cells: Sequence[str], escape_words: Mapping[str, str]) -> NumberColumn | None:
    """The column, where its cells are numbers, all with the same unit or none, or words without a figure.

    ``escape_words`` holds the LaTeX of each cell, for those that are words.
    """
    units, numbers = set(), {}
    for cell in cells:
        if match := _WITH_UNIT.fullmatch(cell):
            units.add(match["unit"])
            numbers[cell] = match["number"]
        elif _PLAIN.fullmatch(cell):
            units.add("")
            numbers[cell] = cell
        elif any(character.isdigit() for character in cell):
            return None
    if len(units) != 1:
        return None
    parts = [match for number in numbers.values() if (match := _PLAIN.fullmatch(number))]
    before = max(len(part["whole"].replace(",", "")) for part in parts)
    after = max(len(part["part"] or "") for part in parts)
    signs = {part["sign"] for part in parts} - {""}
    explicit = ", retain-explicit-plus" if "+" in signs else ""
    specification = f"S[table-format={'-' if signs else ''}{before}{f'.{after}' if after else ''}{explicit}]"
    shown = [numbers[cell].replace(",", "") if cell in numbers else f"{{{escape_words[cell]}}}" for cell in cells]
    return NumberColumn(specification, UNITS.get(units.pop(), ""), shown)


def quantity_words(words: str) -> str | None:
    r"""``\qty{12.5}{\micro\second}``, ``\num{0.98} [\num{0.97}, \num{0.99}]``; None for what is neither."""
    plus_minus = words.startswith("\N{PLUS-MINUS SIGN} ")
    rest = words[2:] if plus_minus else words
    if match := _WITH_UNIT.fullmatch(rest):
        return f"{'$' + chr(92) + 'pm$ ' if plus_minus else ''}{_quantity(match['number'], match['unit'])}"
    match = _INTERVAL.fullmatch(words)
    if match is None:
        return None
    centre = _quantity(match["centre"], "%") if match["percent"] else _number(match["centre"])
    unit = rf"\,\unit{{{UNITS[match['unit']]}}}" if match["unit"] else ""
    return f"{centre} [{_number(match['low'])}, {_number(match['high'])}]{unit}"


def _quantity(number: str, unit: str) -> str:
    return rf"\qty{_sign(number)}{{{number.replace(',', '')}}}{{{UNITS[unit]}}}"


def _number(number: str) -> str:
    return rf"\num{_sign(number)}{{{number.replace(',', '')}}}"


def _sign(number: str) -> str:
    return "[retain-explicit-plus]" if number.startswith("+") else ""
