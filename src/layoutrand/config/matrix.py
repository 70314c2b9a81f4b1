"""``[matrix]``: revisions x toolchains x flags, expanded into ordinary systems.

::

    [matrix]
    rev = ["v1.0", "main"]                        # a list, or a table that gives each value a name
    toolchain = { gnu = "gcc", mine = "toolchains/mine.toml" }
    flags = { O2 = "-O2", lto = { cflags = "-O2 -flto", ldflags = "-flto" } }
    name = "{rev}-{toolchain}-{flags}"            # default: the axes with more than one value, joined by "-"
    exclude = [{ toolchain = "mine", flags = ["O2", "lto"] }]

Every axis may be left out, one must be there.  A value's name (its label) is what names and exclusions are made of.
After the expansion nothing tells a cell from a ``[systems.NAME]`` written by hand, so keys and results do not either.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

from layoutrand.config.problems import given_words, suggest
from layoutrand.errors import UsageError
from layoutrand.text.strict_table import NAME_PATTERN, NAME_RULE

AXES: Final = ("rev", "toolchain", "flags")
KEYS: Final = (*AXES, "name", "exclude")
_NAME: Final = re.compile(NAME_PATTERN)
_PART: Final = re.compile(r"[A-Za-z0-9._+-]*")
_SIMPLE: Final = {"rev": "rev", "toolchain": "toolchain", "flags": "cflags"}  # the setting that a plain string is
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")

Settings = Mapping[str, Any]
"""Some keys of a ``[systems.NAME]`` table with their values."""
Check = Callable[[str, Settings], Sequence[str]]
"""Takes an axis and the settings of one of its values: what is wrong, one ``key: message`` for each problem."""


@dataclass(frozen=True)
class _Value:
    """One value of an axis: its label, the settings it gives a system, and where it stands in the file.

    ``simple``: the value itself stands there, not a table of settings; ``listed``: it is its own label.
    """

    label: str
    settings: Settings
    where: str
    simple: bool
    listed: bool


@dataclass
class _Matrix:
    """The table as far as it can be read; ``problems`` says what could not."""

    axes: dict[str, list[_Value]] = field(default_factory=dict)
    template: str = ""
    problems: list[str] = field(default_factory=list)

    def named(self) -> list[str]:
        """The axes whose labels are part of a name."""
        return [axis for axis in self.axes if f"{{{axis}}}" in self.template]


_Cell = Mapping[str, _Value]
"""One combination: axis -> value."""


def expand(table: Any, taken: Sequence[str], check: Check) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The systems that the ``table`` stands for by name, and every problem with it; no systems if there is any.

    ``taken`` are the names of systems written out beside it; ``check`` judges the settings of a value.
    """
    if not isinstance(table, dict):
        return {}, [f"matrix: must be a table{given_words(table)}"]
    matrix = _Matrix()
    for key in table:
        if key not in KEYS:
            matrix.problems.append(
                f"matrix.{key}: unknown key{suggest(key, KEYS) or '; known here: ' + ', '.join(KEYS)}"
            )
        elif key in AXES:
            matrix.axes[key] = _axis(key, table[key], check, matrix.problems)
    if not matrix.axes:
        matrix.problems.append("matrix: give at least one of rev, toolchain, flags")
    matrix.template = _template(table.get("name"), matrix)
    for axis in matrix.named():
        matrix.problems += _unfit_labels(axis, matrix.axes[axis])
    sound = not matrix.problems  # else names would only repeat what is wrong with labels
    cells = _left_over(table.get("exclude", []), matrix)
    systems = _systems(cells, matrix, taken) if sound else {}
    return ({}, matrix.problems) if matrix.problems else (systems, [])


def _axis(axis: str, given: Any, check: Check, problems: list[str]) -> list[_Value]:
    """The values of one axis; what is wrong with it or them goes to ``problems``."""
    values: list[_Value] = []
    if isinstance(given, dict):
        for label, value in given.items():
            where = f"matrix.{axis}.{label}"
            if not _NAME.fullmatch(label):
                problems.append(f"{where}: {NAME_RULE} (given: {label!r})")
            settings = value if axis == "flags" and isinstance(value, dict) else {_SIMPLE[axis]: value}
            values.append(_Value(label, settings, where, simple=settings is not value, listed=False))
    elif isinstance(given, list) and axis != "flags":
        for number, value in enumerate(given):
            where = f"matrix.{axis}[{number}]"
            if isinstance(value, str) and value in [earlier.label for earlier in values]:
                problems.append(f"{where}: {value!r} is listed twice")
            values.append(_Value(str(value), {axis: value}, where, simple=True, listed=True))
    else:
        shape = "a table that gives each value a name" + ("" if axis == "flags" else ", or an array")
        example = ', such as { O2 = "-O2", O3 = "-O3" }' if axis == "flags" else ""
        problems.append(f"matrix.{axis}: must be {shape}{example}{given_words(given)}")
        return []
    if not values:
        problems.append(f"matrix.{axis}: must not be empty")
    for value in values:
        wrong = check(axis, value.settings)
        problems += [f"{value.where}: {w.partition(': ')[2]}" if value.simple else f"{value.where}.{w}" for w in wrong]
    return values


def _template(given: Any, matrix: _Matrix) -> str:
    """How names are made: as given, or from the axes that have more than one value (all of them if none has)."""
    several = [axis for axis, values in matrix.axes.items() if len(values) > 1]
    default = "-".join(f"{{{axis}}}" for axis in several or matrix.axes)
    if given is None:
        return default
    if not isinstance(given, str):
        matrix.problems.append(f"matrix.name: must be a string{given_words(given)}")
        return default
    known = list(matrix.axes)
    wrong = [name for name in _PLACEHOLDER.findall(given) if name not in known]
    for name in wrong:
        there = ", ".join(f"{{{axis}}}" for axis in known) or "none"
        matrix.problems.append(
            f"matrix.name: {{{name}}} is no axis of this matrix; there are {there}{suggest(name, known)}"
        )
    rest = _PLACEHOLDER.sub("", given)
    if not wrong and not _PART.fullmatch(rest):
        matrix.problems.append(f"matrix.name: {NAME_RULE}, beside placeholders such as {{flags}} (given: {given!r})")
        wrong = [rest]
    return default if wrong else given


def _unfit_labels(axis: str, values: Sequence[_Value]) -> Iterator[str]:
    """Values of a list that cannot be part of a name as they are; a table would give them names that can."""
    for value in values:
        if value.listed and not _PART.fullmatch(value.label):
            fit = re.sub(r"[^A-Za-z0-9._+-]+", "-", value.label.removesuffix(".toml")).strip("-._+") or "name"
            yield (
                f"{value.where}: {value.label!r} cannot be part of a system's name; give each value one by writing a "
                f'table: {axis} = {{ {_quoted_key(fit)} = "{value.label}", ... }}'
            )


def _quoted_key(label: str) -> str:
    return label if re.fullmatch(r"[A-Za-z0-9_-]+", label) else f'"{label}"'


def _left_over(exclude: Any, matrix: _Matrix) -> list[_Cell]:
    """Every combination that no exclusion matches."""
    combinations = itertools.product(*matrix.axes.values())
    cells: list[_Cell] = [dict(zip(matrix.axes, values, strict=True)) for values in combinations]
    if not isinstance(exclude, list):
        matrix.problems.append(f"matrix.exclude: must be an array of tables{given_words(exclude)}")
        return cells
    if not exclude or not cells:
        return cells
    for number, entry in enumerate(exclude):
        where = f"matrix.exclude[{number}]"
        pattern = _pattern(entry, where, matrix)
        if pattern is None:
            continue
        kept = [cell for cell in cells if not all(cell[axis].label in labels for axis, labels in pattern.items())]
        if len(kept) == len(cells):
            matrix.problems.append(f"{where}: matches nothing that earlier entries leave")
        cells = kept
    if not cells:
        matrix.problems.append("matrix.exclude: leaves no system")
    return cells


def _pattern(entry: Any, where: str, matrix: _Matrix) -> dict[str, list[str]] | None:
    """Axis -> labels of one exclusion; None if something is wrong with it."""
    if not isinstance(entry, dict):
        matrix.problems.append(f"{where}: must be a table{given_words(entry)}")
        return None
    if not entry:
        matrix.problems.append(f"{where}: is empty, so it would exclude everything")
        return None
    before = len(matrix.problems)
    pattern: dict[str, list[str]] = {}
    for axis, given in entry.items():
        if axis not in matrix.axes:
            known = list(matrix.axes)
            matrix.problems.append(
                f"{where}.{axis}: is no axis of this matrix; there are {', '.join(known)}{suggest(axis, known)}"
            )
            continue
        labels = given if isinstance(given, list) else [given]
        known = [value.label for value in matrix.axes[axis]]
        for label in labels:
            if not isinstance(label, str):
                matrix.problems.append(f"{where}.{axis}: must be a string or an array of strings{given_words(label)}")
            elif label not in known:
                matrix.problems.append(
                    f"{where}.{axis}: matches nothing, {label!r} is not among {', '.join(known)}{suggest(label, known)}"
                )
        if not labels:
            matrix.problems.append(f"{where}.{axis}: must not be empty")
        pattern[axis] = labels
    return pattern if len(matrix.problems) == before else None


def _systems(cells: Sequence[_Cell], matrix: _Matrix, taken: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The cells by their names, which must be names and differ."""
    named: dict[str, list[_Cell]] = {}
    for cell in cells:
        name = matrix.template
        for axis, value in cell.items():
            name = name.replace(f"{{{axis}}}", value.label)
        named.setdefault(name, []).append(cell)
    for name, sharing in named.items():
        if not _NAME.fullmatch(name):
            matrix.problems.append(f"matrix.name: {name!r} cannot be a system's name: {NAME_RULE}")
        if len(sharing) > 1:
            matrix.problems.append(f"matrix.name: {name!r} would be {_shared(sharing, matrix)}")
        if name in taken:
            matrix.problems.append(
                f"matrix: {_described(sharing[0])} would be called {name!r}, as [systems.{name}] is; "
                "give matrix.name a prefix, or exclude the cell"
            )
    return {
        name: {key: value for axis in AXES if axis in cell for key, value in cell[axis].settings.items()}
        for name, (cell, *_rest) in named.items()
    }


def _shared(sharing: Sequence[_Cell], matrix: _Matrix) -> str:
    """Which cells have one name, and what would tell them apart."""
    named = matrix.named()
    differ = [axis for axis in matrix.axes if len({cell[axis].label for cell in sharing}) > 1 and axis not in named]
    missing = " and ".join(f"{{{axis}}}" for axis in differ)
    hint = f"add {missing}" if missing else "separate its parts, or rename a value"
    listed = "; ".join([*(_described(cell) for cell in sharing[:3]), *(["..."] if len(sharing) > 3 else [])])
    return f"{len(sharing)} systems ({listed}); {hint}"


def _described(cell: _Cell) -> str:
    return ", ".join(f"{axis} {value.label}" for axis, value in cell.items())


def matching(kind: str, wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """``wanted`` with each pattern (``gcc-*``) replaced by the ``known`` names it matches, each name once.

    Raises `UsageError` for a pattern that matches none; plain names pass as they are.
    """
    found: list[str] = []
    for name in wanted:
        if name in known or not any(mark in name for mark in "*?["):
            found.append(name)
            continue
        fitting = [one for one in known if fnmatchcase(one, name)]
        if not fitting:
            raise UsageError(f"no {kind} matches {name!r}; there are {', '.join(known) or 'none'}")
        found += fitting
    return list(dict.fromkeys(found))
