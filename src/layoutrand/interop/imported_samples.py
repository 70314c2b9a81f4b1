"""Imported rows put together: one sample for each system, benchmark and metric, as `selection` has them."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from layoutrand.analysis.sample import Executions, Sample, order_is_known
from layoutrand.config.metric import Better
from layoutrand.errors import UsageError
from layoutrand.instruments.known import simulated
from layoutrand.interop.column_cells import FloatArray, IntArray
from layoutrand.interop.import_spec import layout_of
from layoutrand.interop.imported import ImportedNumber
from layoutrand.interop.imported_numbers import Numbers, together
from layoutrand.interop.interop_warnings import (
    NameOfEachBinary,
    OnlyWarmup,
    OrderUnknown,
    OtherIterations,
    SingleBinaries,
)
from layoutrand.model import IDENTITY, STOCK, BinaryName, LayoutName
from layoutrand.text.digits import MEASURABLE
from layoutrand.text.measurable_columns import are_measurable
from layoutrand.warning import AnyWarning

UNNAMED: Final = "unnamed"
"""What the one binary of a file is called that knows nothing of binaries."""

_FAR_MORE: Final = 2
"""How many times as many iterations are told: harnesses that go by time make a few more of what is faster."""

_Fact = TypeVar("_Fact")
_Key = tuple[str, str, str, str]
_Unit = tuple[str, Better]


def samples(
    files: Sequence[Numbers], systems: Sequence[str], benchmarks: Sequence[str], warmup: int
) -> tuple[tuple[Sample, ...], list[AnyWarning]]:
    """The samples in the order of benchmarks and systems, and warnings; executions of two files are different ones.

    A benchmark's primary metric is the first that there is of it.  Iterations flagged as warm-up are left out, and so
    are the first ``warmup`` of each execution.  Raises `UsageError` where units or directions of one metric differ, or
    a value cannot be analysed.
    """
    numbers, file = together(files)
    units = _units(numbers)
    primary: dict[str, tuple[str, str]] = {}
    groups: dict[tuple[_Key, str], int] = {}
    group = []
    for kind in numbers.kinds:
        primary.setdefault(kind.benchmark, (kind.instrument, kind.metric))
        key = (kind.system, kind.benchmark, kind.instrument, kind.metric)
        group.append(groups.setdefault((key, kind.binary), len(groups)))
    table: dict[_Key, dict[str, _Runs]] = {}
    for (key, binary), runs in zip(groups, _runs(numbers, file, np.array(group, np.int64), warmup), strict=True):
        table.setdefault(key, {})[binary] = runs

    def place(key: _Key) -> tuple[int, int, bool, str, str]:
        system, benchmark, instrument, metric = key
        is_other = (instrument, metric) != primary[benchmark]
        return benchmarks.index(benchmark), systems.index(system), is_other, instrument, metric

    found = []
    warnings: list[AnyWarning] = []
    for key in sorted(table, key=place):
        sample = _sample(key, table[key], units[key[1:]], is_primary=key[2:] == primary[key[1]])
        found.append(sample)
        if sample.is_primary:
            warnings += _warnings(sample, table[key])
    told = {kind.system for kind in numbers.kinds if kind.fingerprint}
    return tuple(found), [*warnings, *_unlike_iterations(found), *_without_order(found), *_single(found, told)]


def _units(numbers: Numbers) -> dict[tuple[str, str, str], _Unit]:
    """The unit and the direction of each metric; raises `UsageError` as `samples` does, for what comes first."""
    units: dict[tuple[str, str, str], _Unit] = {}
    first: dict[tuple[str, str, str], ImportedNumber] = {}
    unlike: list[tuple[int, str]] = []
    for kind, row in zip(numbers.kinds, numbers.first_of_kinds().tolist(), strict=True):
        metric = (kind.benchmark, kind.instrument, kind.metric)
        unit = units.setdefault(metric, (kind.unit, kind.better))
        other = first.setdefault(metric, kind)
        if unit != (kind.unit, kind.better):
            unlike.append(
                (
                    row,
                    f"{kind.benchmark}, {kind.metric}: measured in {_shown(unit)} of {_whose(other)}, and in "
                    f"{_shown((kind.unit, kind.better))} of {_whose(kind)}; one metric has one unit",
                )
            )
            break
    wrong = np.flatnonzero(~are_measurable(numbers.values))
    if wrong.size and (not unlike or wrong[0] <= unlike[0][0]):
        row = numbers[int(wrong[0])]
        where = f"{row.system}, {row.benchmark}, {row.metric}"
        raise UsageError(f"{where}: a value is {row.value:g} in its base unit; {MEASURABLE}")
    if unlike:
        raise UsageError(unlike[0][1])
    return units


@dataclass(frozen=True)
class _Runs:
    """The executions of a binary: the iterations of those that have any, the node of each, how many there were.

    Also the round and the start of each; nothing where one of them does not say.
    """

    executions: Executions
    nodes: tuple[str, ...]
    n_all: int
    rounds: tuple[int, ...]
    started: tuple[float, ...]


def _runs(numbers: Numbers, file: IntArray, group: IntArray, warmup: int) -> Iterator[_Runs]:
    """Those of each group of kinds (``group`` has the number of each kind's), in order, by file and execution."""
    found = _in_runs(numbers, file, group, warmup)
    bounds = np.concatenate(([0], np.cumsum(found.lengths)))[[0, *found.ends]].tolist()
    lengths = found.lengths.tolist()
    done = 0
    for end, first, last in zip(found.ends, bounds[:-1], bounds[1:], strict=True):
        own = lengths[done:end]
        counted = [length for length in own if length]
        nodes = tuple(itertools.compress(found.nodes[done:end], own)) if found.nodes else ("",) * len(counted)
        rounds = tuple(itertools.compress(found.rounds[done:end], own))
        started = tuple(itertools.compress(found.started[done:end], own))
        yield _Runs(
            _divided(found.values[first:last].tolist(), counted),
            nodes,
            end - done,
            tuple(each for each in rounds if each is not None) if None not in rounds else (),
            () if any(map(math.isnan, started)) else started,
        )
        done = end


@dataclass(frozen=True)
class _InRuns:
    """Values that count, execution by execution: how many each has, where groups end.

    Of each execution also its node, its round and its start, each if any is known.
    """

    values: FloatArray
    lengths: IntArray
    nodes: Sequence[str]
    ends: Sequence[int]
    rounds: Sequence[int | None]
    started: Sequence[float]


def _in_runs(numbers: Numbers, file: IntArray, group: IntArray, warmup: int) -> _InRuns:
    of_row = group[numbers.kind]
    columns = (of_row, file, numbers.executions, numbers.iterations)
    order = np.lexsort(columns[::-1])  # rows that are the same in all stay in their order
    new = np.zeros(order.size, np.bool_)
    new[:1] = True
    for column in columns[:-1]:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    run = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    kept = np.arange(order.size) - starts[run] >= warmup
    kept &= ~numbers.of_each_kind([kind.warmup for kind in numbers.kinds])[order]
    firsts = np.minimum.reduceat(order, starts) if starts.size else order
    return _InRuns(
        values=numbers.values[order][kept],
        lengths=np.bincount(run[kept], minlength=starts.size),
        nodes=_of_rows(numbers, [kind.node for kind in numbers.kinds], firsts, ""),
        ends=np.cumsum(np.bincount(of_row[order[starts]], minlength=int(group.max(initial=-1)) + 1)).tolist(),
        rounds=_of_rows(numbers, [kind.round for kind in numbers.kinds], firsts, None),
        started=[] if numbers.started is None else numbers.started[firsts].tolist(),
    )


def _of_rows(numbers: Numbers, of_kinds: Sequence[_Fact], rows: IntArray, unknown: _Fact) -> list[_Fact]:
    """What is known of the kind of each of these rows; nothing where it is known of none."""
    if all(each == unknown for each in of_kinds):
        return []
    return [of_kinds[kind] for kind in numbers.kind[rows].tolist()]


def _divided(values: list[float], lengths: list[int]) -> Executions:
    """The values of executions, of which each has so many."""
    if not lengths:
        return ()
    left = iter(values)
    if lengths.count(lengths[0]) == len(lengths):
        return tuple(zip(*[left] * lengths[0], strict=True))
    return tuple(tuple(itertools.islice(left, length)) for length in lengths)


def _whose(kind: ImportedNumber) -> str:
    return f"{kind.system}, {kind.binary}" if kind.binary else kind.system


def _shown(unit: _Unit) -> str:
    return f"{unit[0] or 'no unit'} ({unit[1]} is better)"


def _sample(key: _Key, table: Mapping[str, _Runs], unit: _Unit, *, is_primary: bool) -> Sample:
    binaries: dict[BinaryName, Executions] = {}
    controls: dict[LayoutName, Executions] = {}
    nodes: dict[BinaryName, tuple[str, ...]] = {}
    rounds: dict[BinaryName, tuple[int, ...]] = {}
    started: dict[BinaryName, tuple[float, ...]] = {}
    for name, runs in table.items():
        if not runs.executions:
            continue
        layout = layout_of(name) if name else UNNAMED
        nodes[layout] = nodes.get(layout, ()) + runs.nodes
        rounds[layout] = rounds.get(layout, ()) + runs.rounds
        started[layout] = started.get(layout, ()) + runs.started
        if name == STOCK:
            controls[STOCK] = runs.executions
        elif name == IDENTITY:
            controls[IDENTITY] = runs.executions
        else:
            binaries[layout] = binaries.get(layout, ()) + runs.executions
    system, benchmark, instrument, metric = key
    return Sample(
        system=system,
        benchmark=benchmark,
        instrument=instrument,
        metric=metric,
        unit=unit[0],
        is_primary=is_primary,
        binaries=tuple((name, binaries[name]) for name in sorted(binaries, key=_seeds_first)),
        controls=controls,
        better=unit[1],
        nodes=nodes if any(map(any, nodes.values())) else {},
        rounds=_whole(rounds, nodes),
        started=_whole(started, nodes),
        may_simulate=False,
        is_imported=True,
    )


def _whole(
    known: Mapping[BinaryName, tuple[_Fact, ...]], nodes: Mapping[BinaryName, tuple[str, ...]]
) -> dict[BinaryName, tuple[_Fact, ...]]:
    """What is known of binaries, each of whose executions has a node; without those of which it is known in part."""
    return {name: own for name, own in known.items() if own and len(own) == len(nodes[name])}


def _seeds_first(name: BinaryName) -> tuple[bool, int, str]:
    return (False, name, "") if isinstance(name, int) else (True, 0, name)


def _warnings(sample: Sample, table: Mapping[str, _Runs]) -> list[OnlyWarmup]:
    counted = sum(len(runs) for _, runs in sample.binaries) + sum(len(runs) for runs in sample.controls.values())
    lost = sum(runs.n_all for runs in table.values()) - counted
    return [OnlyWarmup(sample.system, sample.benchmark, lost)] if lost else []


def _without_order(found: Sequence[Sample]) -> list[OrderUnknown]:
    """A warning where a machine could have drifted, and nobody can tell; simulated ones do not."""
    measured = [each for each in found if each.is_primary and each.instrument not in simulated()]
    return [] if order_is_known(measured) else [OrderUnknown()]


def _unlike_iterations(found: Sequence[Sample]) -> list[OtherIterations]:
    """A warning for each benchmark of which one system has far more iterations in an execution than another."""
    of_benchmarks: dict[str, dict[str, int]] = {}
    for sample in found:
        lengths = [len(run) for _, runs in sample.binaries for run in runs]
        if sample.is_primary and lengths:
            of_benchmarks.setdefault(sample.benchmark, {})[sample.system] = statistics.median_low(lengths)
    return [
        OtherIterations(benchmark, tuple(counts.items()))
        for benchmark, counts in of_benchmarks.items()
        if max(counts.values()) >= _FAR_MORE * min(counts.values())
    ]


def _single(found: Sequence[Sample], told: Collection[str]) -> list[AnyWarning]:
    """Warnings about samples of one binary, which is all that most harnesses ever measure.

    Of systems that are ``told``, the harness recorded which binary each number is of: benchmarks of such a suite are
    different programs, whatever they are called.
    """
    primary = [sample for sample in found if sample.is_primary]
    named = _named_apart(sample for sample in primary if sample.system not in told)
    single = [sample for sample in primary if len(sample.binaries) == 1 and sample.system not in named]
    systems = dict.fromkeys(sample.system for sample in single)
    warnings: list[AnyWarning] = [NameOfEachBinary(system, names) for system, names in named.items()]
    return [*warnings, SingleBinaries(tuple(systems), len(single) == len(primary))] if single else warnings


def _named_apart(primary: Iterable[Sample]) -> dict[str, tuple[str, str]]:
    """Systems of several binaries none of which has a benchmark of another, and two names of such benchmarks."""
    of_systems: dict[str, list[Sample]] = {}
    for sample in primary:
        of_systems.setdefault(sample.system, []).append(sample)
    return {
        system: (own[0].benchmark, own[-1].benchmark)
        for system, own in of_systems.items()
        if len(own) > 1 and all(len(each.binaries) == 1 for each in own)
        if len({each.binaries[0][0] for each in own}) == len(own)
    }
