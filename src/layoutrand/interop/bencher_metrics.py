"""Bencher Metric Format: benchmark -> measure -> its value, as `bencher run` takes it from any harness.

There is one value of each, so a file is one execution.  ``latency`` is in nanoseconds and ``throughput`` in operations
a second, which Bencher has as its own; of other measures neither unit nor direction stands in the file.
"""

from __future__ import annotations

from typing import Any, Final

from layoutrand.config.metric import Better
from layoutrand.interop.imported import Imported, ImportedNumber, json_number, member
from layoutrand.text.foreign_fields import plain, unreadable

_OWN: Final[dict[str, tuple[str, str, float, Better]]] = {
    "latency": ("time_s", "s", 1e9, "less"),
    "throughput": ("throughput", "ops/s", 1, "more"),
}
"""Measure -> metric, unit, how many of Bencher's are one of that, direction."""


def recognise(document: Any) -> bool:
    """Whether a JSON document is of Bencher."""
    return (
        isinstance(document, dict)
        and bool(document)
        and all(isinstance(measures, dict) and _has_values(measures) for measures in document.values())
    )


def _has_values(measures: dict[str, Any]) -> bool:
    return bool(measures) and all(isinstance(each, dict) and "value" in each for each in measures.values())


def parse(document: Any, source: str) -> Imported:
    """Rows of all benchmarks; raises `UnreadableResults`."""
    if not isinstance(document, dict) or not document:
        raise unreadable(source, "expected an object of benchmarks, and in each an object of measures")
    rows = []
    for benchmark in document:
        measures = member(document, benchmark, dict, source, "the document")
        for measure in measures:
            where = f"{benchmark!r}, {measure!r}"
            found = member(measures, measure, dict, source, repr(benchmark))
            value = json_number(found.get("value"), source, f"{where}, value")
            metric, unit, factor, better = _OWN.get(measure, (plain(measure) or "value", "", 1.0, "less"))
            value = json_number(value / factor, source, where)
            rows.append(ImportedNumber(plain(benchmark) or "benchmark", value, metric, unit, better=better))
    return Imported(tuple(rows))
