"""What cases are called: in the record of the one process that executed them, and as benchmarks of their own."""

from __future__ import annotations

from typing import Final

_BETWEEN: Final = " :: "


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
