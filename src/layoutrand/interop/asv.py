"""asv's results of one commit in one environment: a benchmark for each set of parameters.

Samples are in the file only where ``asv run --record-samples`` was given; without them it has no more than a median.
Those of several processes are one list, so that which of them a process had is not known.  What a number is the name of
the benchmark's function says, as asv itself goes by it; the unit of a ``track_`` number stands in another file.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

from layoutrand.interop.imported import FailedRun, Imported, ImportedNumber, json_number, member
from layoutrand.text.foreign_fields import json_excerpt, plain, unreadable

_COLUMNS: Final = "result_columns"
_KINDS: Final = {
    "time": ("time_s", "s"),
    "timeraw": ("time_s", "s"),
    "mem": ("size_bytes", "B"),
    "peakmem": ("max_rss_bytes", "B"),
}
_TRACKED: Final = ("value", "")
_MOST: Final = 10**6
"""Sets of parameters of a benchmark: a file can name more than fit into memory."""


def recognise(document: Any) -> bool:
    """Whether a JSON document is a file of results of asv."""
    return isinstance(document, dict) and {_COLUMNS, "results", "commit_hash"} <= document.keys()


def parse(document: Any, source: str) -> Imported:
    """Rows of all benchmarks, and those that asv could not execute; raises `UnreadableResults`."""
    columns = member(document, _COLUMNS, list, source, "the document")
    rows: list[ImportedNumber] = []
    failures: list[FailedRun] = []
    for key, cells in member(document, "results", dict, source, "the document").items():
        where = f"result {key!r}"
        if not isinstance(cells, list) or len(cells) > len(columns):
            raise unreadable(source, f"{where} is {json_excerpt(cells)}; expected at most {len(columns)} cells")
        known = {name: cell for name, cell in zip(columns, cells, strict=False) if isinstance(name, str)}
        cases = _cases(plain(key), known.get("params"), source, where)
        values = _for_each(known.get("result"), cases, source, f"{where}, result")
        samples = _for_each(known.get("samples"), cases, source, f"{where}, samples")
        metric, unit = _KINDS.get(key.rpartition(".")[2].partition("_")[0], _TRACKED)
        for name, value, sampled in zip(cases, values, samples, strict=True):
            if value is None:
                failures.append(FailedRun(name, "no-measurement", "asv has no result of it: it failed"))
                continue
            if isinstance(value, float) and math.isnan(value):
                failures.append(FailedRun(name, "no-measurement", "asv skipped it"))
                continue
            numbers = sampled if isinstance(sampled, list) and sampled else [value]
            rows += [
                ImportedNumber(name, json_number(number, source, f"{where}, value {place}"), metric, unit, 0, place)
                for place, number in enumerate(numbers)
            ]
    if not rows and not failures:
        raise unreadable(source, "holds no benchmark of asv")
    return Imported(tuple(rows), tuple(failures))


def _cases(name: str, params: Any, source: str, where: str) -> list[str]:
    """The name with each set of parameters, as asv shows them and in its order."""
    listed = params or []
    if not isinstance(listed, list) or not all(isinstance(each, list) for each in listed):
        raise unreadable(source, f"{where}, params is {json_excerpt(params)}; expected an array of arrays")
    count = math.prod(map(len, listed))
    if count > _MOST:
        raise unreadable(source, f"{where} has {count} sets of parameters")
    sets = itertools.product(*listed)
    return [f"{name}({', '.join(plain(str(each)) for each in one)})" if listed else name for one in sets]


def _for_each(cell: Any, cases: list[str], source: str, where: str) -> list[Any]:
    """One value for each case; none where the whole cell is null, as of a benchmark that failed."""
    if cell is None:
        return [None] * len(cases)
    if not isinstance(cell, list) or len(cell) != len(cases):
        raise unreadable(source, f"{where} is {json_excerpt(cell)}; expected {len(cases)} values")
    return cell
