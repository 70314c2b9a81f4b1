"""One metric of one system on one benchmark: all its measurements, by binary, and when and where they were made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from operator import attrgetter
from statistics import fmean
from typing import Final

import numpy as np

from layoutrand.config.config import Benchmark, Config
from layoutrand.config.metric import Better
from layoutrand.errors import AnalysisError
from layoutrand.instruments.known import reads_output
from layoutrand.model import IDENTITY, STOCK, BinaryName, Execution, LayoutName
from layoutrand.stats.levels import Nested, nested_executions
from layoutrand.text.digits import MEASURABLE, is_measurable
from layoutrand.text.measurable_columns import are_measurable

Executions = tuple[tuple[float, ...], ...]
"""Measurements of one binary: (execution, iteration), warm-up left out."""


ROUND: Final = re.compile(r"round (\d+)(?:, \d+)?")
"""Name of an execution of what has one layout alone: its round, and its number where a round has several."""


@dataclass(frozen=True)
class Sample:
    """All measurements of one metric of one system on one benchmark.

    ``binaries`` holds (seed, its executions), or (name, its executions) of imported results; ``controls`` the
    executions of stock and identity where there are any.
    ``better`` says whether less or more of it is an improvement.  ``one_layout`` is for a prebuilt system, which has
    no layouts to sample: each of its ``binaries`` is then an execution of the same one, named by its round.
    ``nodes`` holds, under the names of binaries and controls, the node of each of their executions; nothing where all
    were made on the submitting machine.  ``rounds`` and ``started`` hold in the same way the round that each belongs to
    and when it began, in seconds since the epoch; of imported results nothing, or numbers that grow with time.
    ``fixed_addresses`` where nothing of the address space was random (run.aslr); ``may_simulate`` as of `Benchmark`.
    ``is_imported`` where another harness may have measured, which no key of layoutrand.toml is for.
    """

    system: str
    benchmark: str
    instrument: str
    metric: str
    unit: str
    is_primary: bool
    binaries: tuple[tuple[BinaryName, Executions], ...]
    controls: Mapping[LayoutName, Executions]
    better: Better = "less"
    one_layout: bool = False
    nodes: Mapping[BinaryName, tuple[str, ...]] = field(default_factory=dict)
    rounds: Mapping[BinaryName, tuple[int, ...]] = field(default_factory=dict)
    started: Mapping[BinaryName, tuple[float, ...]] = field(default_factory=dict)
    fixed_addresses: bool = False
    may_simulate: bool = True
    is_imported: bool = False

    def __post_init__(self) -> None:
        """Raise `AnalysisError` for a value that nothing can be computed with."""
        everything = [*self.binaries, *self.controls.items()]
        values = chain.from_iterable(chain.from_iterable(executions for _, executions in everything))
        if are_measurable(np.fromiter(values, np.float64)).all():  # at once: there may be millions
            return
        for name, executions in everything:
            for value in chain.from_iterable(executions):
                if not is_measurable(value):
                    where = f"system {self.system}, benchmark {self.benchmark}, {self.metric}, {name}"
                    raise AnalysisError(f"{where}: a value is {value:g}; {MEASURABLE}")

    @property
    def n_binaries(self) -> int:
        """How many different binaries the sample has."""
        return min(1, len(self.binaries)) if self.one_layout else len(self.binaries)

    @property
    def n_executions(self) -> int:
        """How many executions the sample has, without those of controls."""
        return sum(len(executions) for _, executions in self.binaries)

    @cached_property
    def nested(self) -> Nested:
        """The binaries' measurements at all levels for `layoutrand.stats`; raises `AnalysisError` for no binaries.

        Once: each question about a sample begins with these, and there may be millions.
        """
        return nested_executions([executions for _, executions in self.binaries])

    @cached_property
    def binary_means(self) -> tuple[float, ...]:
        """`binary_mean` of each of the binaries, in their order."""
        return tuple(binary_mean(executions) for _, executions in self.binaries)

    def of(self, binaries: tuple[tuple[BinaryName, Executions], ...]) -> Sample:
        """The sample with these binaries; itself, with what is known of them, where they are its own."""
        return self if binaries == self.binaries else replace(self, binaries=binaries)


def order_is_known(samples: Iterable[Sample]) -> bool:
    """Whether it is known of every binary when it was executed: of imported results often nobody wrote that down."""
    return all(name in sample.started for sample in samples for name, _ in sample.binaries)


def binary_mean(executions: Executions) -> float:
    """The mean over a binary's executions of the mean over the iterations of each."""
    return fmean([own[0] if len(own) == 1 else fmean(own) for own in executions])


_SampleKey = tuple[str, str, str, str]


def samples_of(
    executions: list[Execution],
    primary: Mapping[str, tuple[str, str]],
    systems: list[str],
    benchmarks: list[Benchmark],
    config: Config,
) -> Iterable[Sample]:
    """One sample for each system, benchmark and metric, in the order of the configuration, the primary metric first."""
    names = [benchmark.name for benchmark in benchmarks]
    metrics = {benchmark.name: benchmark.metric for benchmark in benchmarks}
    simulable = {benchmark.name: benchmark.may_simulate for benchmark in benchmarks}
    fixed = config.in_one_layout()
    table: dict[_SampleKey, dict[BinaryName, list[tuple[float, ...]]]] = {}
    made: dict[_SampleKey, dict[BinaryName, list[Execution]]] = {}
    units: dict[_SampleKey, str] = {}
    for execution in sorted(executions, key=attrgetter("round", "repetition")):
        values: dict[str, list[float]] = {}
        of_metrics: dict[str, str] = {}
        for measurement in execution.measurements:
            if not measurement.warmup:
                values.setdefault(measurement.metric, []).append(measurement.value)
                of_metrics[measurement.metric] = measurement.unit
        name: BinaryName = execution.layout
        if execution.system in fixed:
            name = f"round {execution.round}" + (f", {execution.repetition}" if execution.repetition else "")
        for metric, iterations in values.items():
            key = (execution.system, execution.benchmark, execution.instrument, metric)
            units[key] = of_metrics[metric]
            table.setdefault(key, {}).setdefault(name, []).append(tuple(iterations))
            made.setdefault(key, {}).setdefault(name, []).append(execution)

    def place(key: _SampleKey) -> tuple[int, int, bool, str, str]:
        system, benchmark, instrument, metric = key
        return names.index(benchmark), systems.index(system), key[2:] != primary[benchmark], instrument, metric

    for key in sorted(table, key=place):
        system, benchmark, instrument, metric = key
        layouts = table[key]
        yield Sample(
            system=system,
            benchmark=benchmark,
            instrument=instrument,
            metric=metric,
            unit=units[key],
            is_primary=(instrument, metric) == primary[benchmark],
            binaries=tuple((name, tuple(layouts[name])) for name in _population(layouts, one_layout=system in fixed)),
            controls={name: tuple(layouts[name]) for name in (STOCK, IDENTITY) if name in layouts},
            better=metrics[benchmark].better_of(metric) if reads_output(instrument) else "less",
            one_layout=system in fixed,
            nodes=_nodes(made[key]),
            rounds={name: tuple(e.round for e in own) for name, own in made[key].items()},
            started={name: tuple(e.started_at for e in own) for name, own in made[key].items()},
            fixed_addresses=config.run.aslr == "off",
            may_simulate=simulable[benchmark],
        )


def _nodes(made: Mapping[BinaryName, Sequence[Execution]]) -> dict[BinaryName, tuple[str, ...]]:
    if not any(e.node for own in made.values() for e in own):
        return {}
    return {name: tuple(e.node for e in own) for name, own in made.items()}


def _population(names: Iterable[BinaryName], *, one_layout: bool) -> list[BinaryName]:
    """What the sample consists of: the seeds, or the rounds where there is one layout alone."""
    return list(names) if one_layout else sorted(name for name in names if isinstance(name, int))
