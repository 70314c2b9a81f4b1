"""What rows of a table share that differ in value, execution and iteration alone: a table has few such kinds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from layoutrand.config.disturbance import MEND
from layoutrand.config.metric import Better, usual_direction
from layoutrand.interop.import_spec import ONE_SEED, Spellings
from layoutrand.interop.imported import (
    PROGRAM_ITSELF,
    FailedRun,
    ImportedNumber,
    is_impossible,
    refuse_impossible,
    to_base_unit,
)
from layoutrand.model import MAX_SEED
from layoutrand.results.rows import is_digest_or_empty
from layoutrand.text.digits import MEASURABLE, digits_of_cell, is_measurable, whole_number
from layoutrand.text.foreign_fields import MadeOnce, excerpt, parse_number, plain, unreadable

OK: Final = "ok"
NO_BENCHMARK: Final = "benchmark"
NO_METRIC: Final = "value"
OF_EACH_ROW: Final = frozenset({"value", "execution", "iteration", "started_at"})
"""Columns that have another cell in each row."""
NOT_READ: Final = "output_sha256"
"""What `export` writes and no analysis of imported results asks for.

Of a program that prints something else each time every execution would be a kind of its own.
"""

PROGRAM: Final = "program_sha256"
DISTURBANCES: Final = "disturbances"
"""Names of what disturbed an execution, divided by spaces."""

_NAMES: Final = ("system", "benchmark", "seed", "metric", "unit", "instrument", "node")
_DIRECTIONS: Final[Mapping[str, Better]] = {each: each for each in get_args(Better)}
_FLAGS: Final = {"": False, "0": False, "false": False, "no": False, "1": True, "true": True, "yes": True}
_ROUND: Final = "round"
_WHOLE: Final = ("seed", _ROUND, "warmup")
"""Columns of whole numbers, which stand there as floating-point ones where the program that wrote them had gaps."""


@dataclass(frozen=True, slots=True)
class RowKind:
    """One of them.

    ``number`` is what its numbers have in common, ``measured`` what is measured in them: rows of one binary in several
    units, or on several nodes, have the same.  ``divisor`` and ``factor`` bring values to the unit of ``number``.
    ``problem`` is what is wrong with it, or empty.
    """

    number: ImportedNumber
    measured: int
    divisor: float
    factor: float
    status: str
    reason: str
    problem: str

    @property
    def failed(self) -> bool:
        """Whether they have no values."""
        return self.status != OK

    def is_impossible(self, value: float) -> bool:
        """Whether none of them can have this value in its base unit."""
        return is_impossible(value, self.number.unit, self.number.metric)

    def value_of(self, text: str, where: str, line: int | None) -> float:
        """The value of one of them in its base unit, NaN for one that failed; raises `UnreadableResults`."""
        if self.failed:
            if text:
                raise unreadable(where, f"status is {self.status!r}, so value must be empty", line=line)
            return math.nan
        value = parse_number(text, where, "value", line=line) / self.divisor * self.factor
        if not is_measurable(value):
            size = "large" if abs(value) > 1 else "small"
            raise unreadable(where, f"value is too {size} in its base unit: {MEASURABLE}", line=line)
        refuse_impossible(value, self.number.unit, self.number.metric, where, "value", line=line)
        return value

    def failed_run(self, execution: int, started: float | None) -> FailedRun:
        """One of them that failed; ``started`` is None or NaN where that is not known."""
        return FailedRun(
            benchmark=self.number.benchmark,
            status=plain(self.status),
            reason=plain(self.reason),
            execution=execution,
            system=self.number.system,
            binary=self.number.binary,
            instrument=self.number.instrument,
            node=self.number.node,
            round=self.number.round,
            program_sha256=self.number.program_sha256,
            disturbances=self.number.disturbances,
            started_at=None if started is None or math.isnan(started) else started,
        )


class RowKinds:
    """The kinds in a table."""

    def __init__(self, columns: Sequence[str], held: Callable[[str], str]) -> None:
        """Of a table with these columns; ``held`` is what a cell holds."""
        self._columns = [column for column in columns if column not in OF_EACH_ROW and column != NOT_READ]
        self.places = [columns.index(column) for column in self._columns]
        self.known: list[RowKind] = []
        self._held = MadeOnce(held)
        self._plainly = MadeOnce(plain)
        self._by_cells: dict[tuple[str, ...], int] = {}
        self._measured: dict[tuple[str, ...], int] = {}
        self._spelt = Spellings()

    def place(self, cells: tuple[str, ...]) -> int:
        """The place in ``known`` of rows with these cells in the columns at ``places``."""
        found = self._by_cells.get(cells)
        if found is None:
            self.known.append(self._read(dict(zip(self._columns, map(self._held.__getitem__, cells), strict=True))))
            found = self._by_cells[cells] = len(self.known) - 1
        return found

    def _read(self, cells: Mapping[str, str]) -> RowKind:
        cells = {**cells, **{column: digits_of_cell(cells[column]) for column in _WHOLE if column in cells}}
        named = {column: self._plainly[cells.get(column, "")] for column in _NAMES}
        status, flag, better = (cells.get(name, "") for name in ("status", "warmup", "better"))
        divisor, factor, unit = to_base_unit(named["unit"])
        number = ImportedNumber(
            value=0.0,
            metric=named["metric"] or NO_METRIC,
            unit=unit,
            system=named["system"],
            benchmark=named["benchmark"] or NO_BENCHMARK,
            binary=named["seed"],
            instrument=named["instrument"] or PROGRAM_ITSELF,
            node=named["node"],
            warmup=_FLAGS.get(flag.lower(), False),
            better=_DIRECTIONS.get(better) or usual_direction(unit),
            program_sha256=cells.get(PROGRAM, ""),
            round=_round(cells.get(_ROUND, "")),
            disturbances=None if DISTURBANCES not in cells else tuple(cells[DISTURBANCES].split()),
        )
        problem = "" if status not in {"", OK} else _problem(flag, better, cells.get(_ROUND, ""))
        problem = problem or _unknown(number.disturbances or ())
        if not is_digest_or_empty(number.program_sha256):
            problem = problem or f"{PROGRAM} is {excerpt(number.program_sha256)}; expected 64 digits, 0-9 and a-f"
        if other := self._spelt.other(number.system, number.benchmark, number.binary):
            problem = problem or f"seed is {excerpt(number.binary)} here, and {excerpt(other)} above; {ONE_SEED}"
        series = (number.system, number.benchmark, number.binary, number.instrument, number.metric)
        return RowKind(
            number=number,
            measured=self._measured.setdefault(series, len(self._measured)),
            divisor=divisor,
            factor=factor,
            status=status or OK,
            reason=cells.get("reason", ""),
            problem=problem,
        )


def _round(text: str) -> int | None:
    return whole_number(text, MAX_SEED) if text and len(text) <= len(str(MAX_SEED)) else None


def _unknown(disturbances: Sequence[str]) -> str:
    """What is wrong where one of these is none."""
    other = next((name for name in disturbances if name not in MEND), None)
    return "" if other is None else f"{DISTURBANCES} has {excerpt(other)}; expected some of {' '.join(MEND)}"


def _problem(flag: str, better: str, number: str) -> str:
    if number and _round(number) is None:
        return f"round is {excerpt(number)}; expected the seed of a round"
    if flag.lower() not in _FLAGS:
        return f"warmup is {excerpt(flag)}; expected 0 or 1"
    if better and better not in _DIRECTIONS:
        return f"better is {excerpt(better)}; expected less or more"
    return ""
