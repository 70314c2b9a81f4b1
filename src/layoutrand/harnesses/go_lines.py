"""Lines of results that Go's benchmarks print: ``BenchmarkName-8 N VALUE UNIT ...``, and their units."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from layoutrand.config.metric import Better

LINE: Final = re.compile(r"Benchmark(\S*)\s+([0-9]+)((?:\s+\S+\s+\S+)+)\s*")
"""A whole line: the name behind "Benchmark", the iterations, and values with units."""

BEGUN: Final = re.compile(r"Benchmark\S*\s+[0-9]+\s+\S.*")
"""What begins as such a line; where it is none, a value of it has no unit, as in output that ends in the middle."""

_PROCESSORS: Final = re.compile(r"(.+)-([0-9]+)")

UNITS: Final[dict[str, tuple[str, str, float, Better]]] = {
    "ns/op": ("time_per_op", "s", 1e-9, "less"),
    "sec/op": ("time_per_op", "s", 1.0, "less"),
    "B/op": ("allocated_per_op", "B", 1.0, "less"),
    "allocs/op": ("allocations_per_op", "1", 1.0, "less"),
    "MB/s": ("throughput", "B/s", 1e6, "more"),
}
"""Unit -> metric, base unit, how many of that it is, which way is better; others, of b.ReportMetric, stay so."""


def has_processors(names: Iterable[str]) -> bool:
    """Whether all names end in one number of processors (-8), which go adds, so that it says nothing of one.

    Where they differ in it (-cpu=1,2), it is part of the name; go adds none where there is one processor.
    """
    endings = {match[2] if (match := _PROCESSORS.fullmatch(name)) else "" for name in names}
    return len(endings) == 1 and "" not in endings


def in_base_unit(value: float, factor: float) -> float:
    """A value in its base unit, of which its own is ``factor``: divided where that loses fewer digits."""
    return value / round(1 / factor) if factor < 1 else value * factor
