"""ReBench's data file: a line of cells, separated by tabs, for each number of each iteration of each invocation.

An invocation is an execution.  Lines that begin with # say how ReBench was called; the executor is what is compared, so
it is the system.
"""

from __future__ import annotations

from typing import Final

from layoutrand.interop.imported import Imported, ImportedNumber, in_base_unit, refuse_impossible
from layoutrand.text.digits import whole_number
from layoutrand.text.foreign_fields import excerpt, parse_number, plain, unreadable

_FIRST: Final = ("invocation", "iteration", "value", "unit", "criterion", "benchmark", "executor", "suite")
_BESIDE: Final = ("extraArgs", "cores", "inputSize", "varValue", "tag", "machine")
_MOST: Final = 10**9
_APART: Final = (
    "ReBench adds to its file, so it may hold two experiments that call them the same: give the executor another name "
    "in the lines of one, import the lines of one alone, or have ReBench begin the file anew (rebench --clean)"
)
"""What to do where something was measured twice."""

_METRICS: Final = {"total": "time_s", "MaxRSS": "max_rss_bytes"}


def recognise(text: str) -> bool:
    """Whether it is a data file of ReBench."""
    return any(line.split("\t")[: len(_FIRST)] == list(_FIRST) for line in text[:100_000].splitlines())


def parse(text: str, source: str) -> Imported:
    """Rows of all numbers; raises `UnreadableResults` with the line."""
    header: list[str] = []
    rows: list[ImportedNumber] = []
    lines: dict[tuple[str, str, int, int], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split("\t")
        if cells[: len(_FIRST)] == list(_FIRST):
            header = cells
        elif line.startswith("#") or not line.strip():
            continue
        elif not header:
            raise unreadable(source, f"begins with {excerpt(line)}; expected {', '.join(_FIRST)}", line=number)
        elif len(cells) != len(header):
            raise unreadable(source, f"{len(cells)} cells under {len(header)} columns", line=number)
        else:
            row = _row(dict(zip(header, cells, strict=True)), source, number)
            # Each iteration ends with its one total; of other criteria a benchmark may print several.
            place = (row.system, row.benchmark, row.execution, row.iteration)
            if row.metric == _METRICS["total"] and (first := lines.setdefault(place, number)) != number:
                message = f"a total of the same executor, benchmark, invocation and iteration as line {first}; {_APART}"
                raise unreadable(source, message, line=number)
            rows.append(row)
    if not rows:
        raise unreadable(source, "holds no number of ReBench")
    return Imported(tuple(rows))


def _row(cells: dict[str, str], source: str, line: int) -> ImportedNumber:
    places = [whole_number(cells[key], _MOST) for key in ("invocation", "iteration")]
    if places[0] is None or places[1] is None or min(places[0], places[1]) < 1:
        raise unreadable(source, "invocation and iteration are no numbers from 1 on", line=line)
    unit = "kB" if cells["unit"] == "kb" else plain(cells["unit"])
    value, base = in_base_unit(parse_number(cells["value"], source, "the value", line=line), unit)
    beside = [
        f"{key}={plain(cells[key])}" for key in _BESIDE if cells.get(key, "") and (key, cells[key]) != ("cores", "1")
    ]
    name = ",".join([f"{plain(cells['suite'])}/{plain(cells['benchmark'])}", *beside])
    criterion = plain(cells["criterion"]) or "value"
    metric = _METRICS.get(criterion, criterion)
    refuse_impossible(value, base, metric, source, "the value", line=line)
    return ImportedNumber(
        name,
        value,
        metric,
        base,
        places[0] - 1,
        places[1] - 1,
        system=plain(cells["executor"]),
    )
