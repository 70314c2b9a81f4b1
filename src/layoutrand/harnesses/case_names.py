"""What cases are called: in the record of the one process that executed them, and as benchmarks of their own."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_BETWEEN: Final = " :: "

ENTRY_OF_ITS_OWN: Final = (
    "give the case a [[benchmarks]] of its own without harness, with the words that choose it in command, and its "
    "number read by metric.json or metric.regex (docs/guides/harnesses.md has an example)"
)
"""What to do where a command needs a benchmark that is known before it is executed."""


def metric_of(case: str, quantity: str) -> str:
    """The metric under which an execution records a quantity of a case.

    >>> split_metric(metric_of("Sort :: ints/16", "time_s"))
    ('Sort :: ints/16', 'time_s')
    """
    return f"{case}{_BETWEEN}{quantity.replace(_BETWEEN, ' ')}"


def split_metric(metric: str) -> tuple[str, str] | None:
    """(Case, quantity) of such a metric; None for one of the whole process."""
    case, between, quantity = metric.rpartition(_BETWEEN)
    return (case, quantity) if between else None


def benchmark_of(group: str, case: str) -> str:
    """The name of the benchmark that a case is.

    >>> benchmark_of("sorting", "BM_Sort/16")
    'sorting/BM_Sort/16'
    """
    return f"{group}/{case}"


def entry_of(name: str, entries: Collection[str]) -> str | None:
    """The entry, one of ``entries`` with a harness, that such a name means itself or a case of; None for another's.

    The longest of several: itself before one that it would be a case of.

    >>> entry_of("sorting/BM_Sort/16", ["sorting"]), entry_of("sorted", ["sorting"])
    ('sorting', None)
    >>> entry_of("a/b", ["a", "a/b"])
    'a/b'
    """
    return max((entry for entry in entries if name == entry or name.startswith(f"{entry}/")), key=len, default=None)
