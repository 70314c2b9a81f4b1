"""What disturbed the executions of imported tables, where these say it, as those that `export` writes do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from layoutrand.config.disturbance import summary
from layoutrand.config.execution_warnings import DisturbedExecutions
from layoutrand.instruments.known import simulated
from layoutrand.interop.imported import FailedRun, ImportedNumber
from layoutrand.interop.imported_numbers import Numbers
from layoutrand.interop.table_kinds import OK


@dataclass(frozen=True)
class FeltExecution:
    """One execution, as far as what disturbed it goes; ``host_state`` is not told."""

    system: str
    benchmark: str
    instrument: str
    status: str
    disturbances: tuple[str, ...]
    host_state: Mapping[str, Any] = field(default_factory=dict)


def felt_executions(
    files: Sequence[Numbers], failures: Collection[FailedRun]
) -> tuple[tuple[FeltExecution, ...], list[DisturbedExecutions]]:
    """All executions, none where it is not said of each what disturbed it; a warning for each disturbed benchmark."""
    found = [each for numbers in files for each in _of_file(numbers)]
    found += [_felt(each, each.status) for each in failures if each.disturbances is not None]
    everything: list[ImportedNumber | FailedRun] = [*failures, *(kind for each in files for kind in each.kinds)]
    are_known = all(each.disturbances is not None for each in everything)
    # No key of layoutrand.toml executes such an execution again, wherever it was made.
    warnings = [DisturbedExecutions(row, is_repeated=True) for row in summary(found, simulated())]
    return tuple(found) if are_known else (), warnings


def _of_file(numbers: Numbers) -> list[FeltExecution]:
    """Each execution once, however many numbers it has."""
    groups: dict[tuple[str, ...], int] = {}
    of_kinds = [
        groups.setdefault((each.system, each.benchmark, each.instrument, each.binary), len(groups))
        for each in numbers.kinds
    ]
    told = numbers.of_each_kind([each.disturbances is not None for each in numbers.kinds])
    if not told.any():
        return []
    pairs = np.stack((np.array(of_kinds, np.int64)[numbers.kind], numbers.executions))[:, told]
    _, firsts = np.unique(pairs, axis=1, return_index=True)
    counts = np.bincount(numbers.kind[told][firsts], minlength=len(numbers.kinds)).tolist()
    return [one for kind, count in zip(numbers.kinds, counts, strict=True) for one in [_felt(kind, OK)] * count]


def _felt(of: ImportedNumber | FailedRun, status: str) -> FeltExecution:
    return FeltExecution(of.system, of.benchmark, of.instrument, status, of.disturbances or ())
