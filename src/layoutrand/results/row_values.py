"""Values of rows as SQLite gives them: checked, since any program may have written them, and a seal can be made.

A column of numbers may hold text, JSON may have another shape, and a number may be larger than any that is recorded.
Whatever is not as layoutrand writes it raises `StrangeValue`, which says in which column.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache, partial
from itertools import chain, islice
from operator import itemgetter
from typing import Any, Final

from pydantic_core import from_json

from layoutrand.errors import ResultsError
from layoutrand.model import BuiltFrom, Context, Execution, LayoutName, Measurement, Node, SlotKey
from layoutrand.results.rows import EXECUTION_COLUMNS, SLOT_COLUMNS, is_digest_or_empty

_LARGEST_SEED: Final = 2**64 - 1
_SEED_DIGITS: Final = 20
_LARGEST_NUMBER: Final = 2**63
_REMEMBERED: Final = 256
"""So many texts of each column in which rows have most of theirs in common are not looked at again."""

Check = Callable[[Any], bool]


class StrangeValue(ResultsError):
    """A column of a row holds what no layoutrand writes there."""


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_number(value: Any) -> bool:
    return math.isfinite(value) if type(value) is float else type(value) is int and abs(value) < _LARGEST_NUMBER


def _is_word(value: Any) -> bool:
    return value is None or type(value) in (str, bool)


def _is_anything(_value: Any) -> bool:
    return True


def _list_of(each: Check) -> Check:
    return lambda value: type(value) is list and all(map(each, value))


def _table_of(each: Check) -> Check:
    return lambda value: type(value) is dict and all(map(each, value.values()))


def _table_with(**known: Check) -> Check:
    """A table in which these keys have such values, where they are there; whatever else is in it."""

    def check(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for key, each in known.items():  # noqa: SIM110 - three times as fast as `all`, for each of many rows
            if key in value and not each(value[key]):
                return False
        return True

    return check


def _json(check: Check) -> Callable[[str, Any], Any]:
    def read(column: str, value: Any) -> Any:
        try:
            found = _loaded(_text(column, value))
        except (ValueError, RecursionError) as error:
            raise StrangeValue(f"{column} is no JSON") from error
        if not check(found):
            raise StrangeValue(f"{column} is JSON of another shape than is recorded")
        return found

    return read


def _loaded(text: str) -> Any:
    """What JSON says; words that many texts have are there once for all of them."""
    try:
        return from_json(text)  # in a quarter of the time that Python's module takes
    except ValueError:  # which has names of files that are no text, and numbers of any length
        return json.loads(text)


def _items(check: Check) -> Callable[[str, Any], tuple[Any, ...]]:
    read = _json(_list_of(check))
    return lambda column, value: tuple(read(column, value))


def _text(column: str, value: Any) -> str:
    if type(value) is not str:
        raise StrangeValue(f"{column} is no text")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise StrangeValue(f"{column} is no text in UTF-8")
    return value


def _name(column: str, value: Any) -> str:
    """Text that many rows have, which is there once for all of them."""
    return sys.intern(_text(column, value))


def _digest(column: str, value: Any) -> str:
    """A SHA-256, or nothing where it is not known."""
    if not is_digest_or_empty(_text(column, value)):
        raise StrangeValue(f"{column} is no SHA-256")
    return sys.intern(value)


def _whole(column: str, value: Any) -> int:
    if type(value) is not int or value < 0:
        raise StrangeValue(f"{column} is no whole number")
    return value


def _perhaps(column: str, value: Any) -> int | None:
    if value is not None and type(value) is not int:
        raise StrangeValue(f"{column} is no whole number")
    return value


def _real(column: str, value: Any) -> float:
    if type(value) is not float or not math.isfinite(value):
        raise StrangeValue(f"{column} is no number")
    return value


def _seed(column: str, value: Any) -> int:
    text = _text(column, value)
    if not (text.isascii() and text.isdigit() and len(text) <= _SEED_DIGITS and int(text) <= _LARGEST_SEED):
        raise StrangeValue(f"{column} is no seed")
    return int(text)


def _layout(column: str, value: Any) -> LayoutName:
    if value == "stock":
        return "stock"
    return "identity" if value == "identity" else _seed(column, value)


_EXECUTION: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "layout": _layout,
    "round": _seed,
    "repetition": _whole,
    "attempt": _whole,
    "schedule_order": _whole,
    "returncode": _perhaps,
    "signal": _perhaps,
    "env_size": _perhaps,
    **dict.fromkeys(("started_at", "wall_s"), _real),
    **dict.fromkeys(("system", "benchmark", "definition", "capture", "binary_sha256", "instrument", "status"), _name),
    "rusage": _json(_table_of(_is_number)),
    "argv": _items(_is_text),
    "conditions": _json(
        _table_with(
            cpus=_list_of(_is_number),
            siblings=_list_of(_is_number),
            program_file=_is_text,
            launcher=_list_of(_is_text),
            launcher_sha256=_is_text,
        )
    ),
    "host_state": _json(
        _table_with(
            governor=_is_word, turbo=_is_word, start_files=lambda value: value is None or _table_of(_is_text)(value)
        )
    ),
    "disturbances": _items(_is_text),
    "output_sha256": _digest,
}
_EACH_ITS_OWN: Final = frozenset({"rusage"})
"""Columns of text in which each row has another value; in the others neighbouring rows have equal ones as a rule."""
_NUMBERS: Final = frozenset({_whole, _perhaps, _real})
_CONTEXT: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "version": _text,
    "config": _json(_table_with(build=_table_with(commands=_list_of(_is_text)))),
    "config_digest": _text,
    "schedule_seed": _seed,
    "host_facts": _json(_table_of(_is_anything)),
    "instruments": _json(_table_of(_is_anything)),
    "tools": _json(_table_of(_table_of(_is_anything))),
    "captures": _json(_table_of(_is_text)),
    "built": _json(
        _list_of(
            _table_with(
                **dict.fromkeys(("system", "capture", "commit", "tree", "subject", "digest", "words"), _is_text),
                committed_at=lambda value: value is None or _is_number(value),
                dirty=lambda value: value is None or type(value) is bool,
                made_from=_table_of(_is_text),
            )
        )
    ),
}
_facts = _json(_table_with(memory_bytes=lambda value: value is None or _is_number(value)))
CONTEXT_COLUMNS: Final = tuple(_CONTEXT)


def _reader(column: str) -> Callable[[Any], Any]:
    """What reads a column; where rows have equal texts, these are read once, and are there once."""
    how = _EXECUTION.get(column, _text)
    read = partial(how, column)
    is_shared = how not in _NUMBERS and column not in _EACH_ITS_OWN  # numbers are equal to others of another kind
    return lru_cache(_REMEMBERED)(read) if is_shared else read


_READERS: Final = tuple(map(_reader, EXECUTION_COLUMNS))
_NAMED_OTHERWISE: Final = {"order": "schedule_order"}
"""Field of an execution -> its column, where that has another name."""

_PLACES: Final = {name: place for place, name in enumerate((*EXECUTION_COLUMNS, "measurements"))}
_IN_ORDER: Final = itemgetter(*(_PLACES[_NAMED_OTHERWISE.get(each.name, each.name)] for each in fields(Execution)))
"""Values of columns, and measurements, as an execution has them one after the other: names would take longer."""


def executions_of(rows: Sequence[Sequence[Any]], measured: Sequence[Sequence[Sequence[Any]]]) -> list[Execution]:
    """The executions of rows with `EXECUTION_COLUMNS`, and of each what it measured; raises `StrangeValue`.

    ``measured`` are rows of metric, unit, iteration, value and warmup.  All are read a column at a time: of several
    executions that takes half as long as one after the other, and does not say which of them is strange.
    """
    if not rows:
        return []
    measurements = iter(_measurements_of(list(chain.from_iterable(measured))))
    columns = [list(map(read, column)) for read, column in zip(_READERS, zip(*rows, strict=True), strict=True)]
    columns.append([tuple(islice(measurements, len(own))) for own in measured])
    return list(map(Execution, *_IN_ORDER(columns)))


def slot_of(row: Sequence[Any]) -> SlotKey:
    """The slot of a row with `SLOT_COLUMNS`; raises `StrangeValue`."""
    return SlotKey(**_read(SLOT_COLUMNS, row, _EXECUTION))


def attempt_of(attempt: Any, status: Any, disturbances: Any, started_at: Any) -> tuple[int, str, bool, float]:
    """Number, status, whether it was disturbed, and when it began; raises `StrangeValue`."""
    disturbed = bool(_EXECUTION["disturbances"]("disturbances", disturbances))
    return _whole("attempt", attempt), _text("status", status), disturbed, _real("started_at", started_at)


def _measurements_of(rows: Sequence[Sequence[Any]]) -> Iterable[Measurement]:
    if not rows:
        return ()
    metrics, units, iterations, values, warmups = zip(*rows, strict=True)
    if not (_are(str, metrics) and _are(str, units) and _are(int, warmups)):
        raise StrangeValue("measurements: metric and unit are text, warmup is 0 or 1")
    if not _are(int, iterations) or min(iterations) < 0:
        raise StrangeValue("iteration is no whole number")
    if not _are(float, values) or not all(map(math.isfinite, values)):
        raise StrangeValue("value is no number")
    return map(Measurement, map(sys.intern, metrics), map(sys.intern, units), iterations, values, map(bool, warmups))


def _are(kind: type, values: Sequence[Any]) -> bool:
    """Whether all values are of this kind, and none of a kind of it."""
    return set(map(type, values)) == {kind}


def context_of(row: Sequence[Any]) -> Context:
    """The context of a row with `CONTEXT_COLUMNS`; what a newer layoutrand has added is left out.

    Raises `StrangeValue`.
    """
    value = _read(CONTEXT_COLUMNS, row, _CONTEXT)
    return Context(**{**value, "built": _built(value["built"])})


def _built(rows: Sequence[Mapping[str, Any]]) -> tuple[BuiltFrom, ...]:
    known = BuiltFrom.__dataclass_fields__
    try:
        return tuple(BuiltFrom(**{name: value for name, value in row.items() if name in known}) for row in rows)
    except TypeError as error:
        raise StrangeValue("built names no system or capture") from error


def node_of(name: Any, facts: Any) -> Node:
    """The node of a row; raises `StrangeValue`."""
    return Node(_text("name", name), _facts("facts", facts))


def texts(columns: Sequence[str], row: Sequence[Any]) -> list[str]:
    """The values of columns that hold text; raises `StrangeValue`."""
    return [_text(column, value) for column, value in zip(columns, row, strict=True)]


def layout_named(value: Any) -> LayoutName:
    """The layout that a column names; raises `StrangeValue`."""
    return _layout("layout", value)


def _read(
    columns: Sequence[str], row: Sequence[Any], readers: Mapping[str, Callable[[str, Any], Any]]
) -> dict[str, Any]:
    found = {}
    for column, value in zip(columns, row, strict=True):
        reader: Callable[[str, Any], Any] = readers.get(column, _text)
        found[column] = reader(column, value)
    return found
