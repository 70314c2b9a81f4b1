"""Imported rows put together: one sample for each system, benchmark and metric, as `selection` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.analysis.sample import Executions, Sample
from layoutrand.config.metric import Better
from layoutrand.errors import UsageError
from layoutrand.interop.import_spec import layout_of
from layoutrand.interop.imported import ImportedNumber
from layoutrand.interop.interop_warnings import OnlyWarmup, SingleBinaries
from layoutrand.model import IDENTITY, STOCK, BinaryName, LayoutName
from layoutrand.text.digits import MEASURABLE, is_measurable
from layoutrand.warning import AnyWarning

UNNAMED: Final = "unnamed"
"""What the one binary of a file is called that knows nothing of binaries."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row, and the number of the file it is from: executions of two files are different ones."""

    file: int
    row: ImportedNumber


_Key = tuple[str, str, str, str]
_Places = dict[tuple[int, int], list[tuple[int, ImportedNumber]]]
_Unit = tuple[str, Better]


def samples(
    items: Sequence[FileRow], systems: Sequence[str], benchmarks: Sequence[str], warmup: int
) -> tuple[tuple[Sample, ...], list[AnyWarning]]:
    """The samples in the order of benchmarks and systems, and warnings.

    A benchmark's primary metric is the first that there is of it.  Iterations flagged as warm-up are left out, and so
    are the first ``warmup`` of each execution.  Raises `UsageError` where units or directions of one metric differ, or
    a value cannot be analysed.
    """
    table: dict[_Key, dict[str, _Places]] = {}
    units: dict[tuple[str, str, str], _Unit] = {}
    primary: dict[str, tuple[str, str]] = {}
    series: dict[tuple[str, ...], _Places] = {}  # where the rows of one binary go
    for item in items:
        row = item.row
        if not is_measurable(row.value):
            where = f"{row.system}, {row.benchmark}, {row.metric}"
            raise UsageError(f"{where}: a value is {row.value:g} in its base unit; {MEASURABLE}")
        alike = (row.system, row.benchmark, row.instrument, row.metric, row.binary, row.unit, row.better)
        places = series.get(alike)
        if places is None:
            metric = (row.benchmark, row.instrument, row.metric)
            unit = units.setdefault(metric, (row.unit, row.better))
            if unit != (row.unit, row.better):
                raise UsageError(
                    f"{row.benchmark}, {row.metric}: measured in {_shown(unit)} here, in "
                    f"{_shown((row.unit, row.better))} there; one metric has one unit"
                )
            primary.setdefault(row.benchmark, metric[1:])
            places = table.setdefault((row.system, *metric), {}).setdefault(row.binary, {})
            series[alike] = places
        run = places.get((item.file, row.execution))
        if run is None:
            places[item.file, row.execution] = [(row.iteration, row)]
        else:
            run.append((row.iteration, row))

    def place(key: _Key) -> tuple[int, int, bool, str, str]:
        system, benchmark, instrument, metric = key
        is_other = (instrument, metric) != primary[benchmark]
        return benchmarks.index(benchmark), systems.index(system), is_other, instrument, metric

    found = []
    warnings: list[AnyWarning] = []
    for key in sorted(table, key=place):
        sample = _sample(key, table[key], units[key[1:]], warmup, is_primary=key[2:] == primary[key[1]])
        found.append(sample)
        if sample.is_primary:
            warnings += _warnings(sample, table[key])
    return tuple(found), [*warnings, *_single(found)]


def _shown(unit: _Unit) -> str:
    return f"{unit[0] or 'no unit'} ({unit[1]} is better)"


def _sample(key: _Key, table: Mapping[str, _Places], unit: _Unit, warmup: int, *, is_primary: bool) -> Sample:
    binaries: dict[BinaryName, Executions] = {}
    controls: dict[LayoutName, Executions] = {}
    nodes: dict[BinaryName, tuple[str, ...]] = {}
    for name, places in table.items():
        counted = {place: values for place in sorted(places) if (values := _iterations(places[place], warmup))}
        kept, executions = list(counted), tuple(counted.values())
        if not executions:
            continue
        layout = layout_of(name) if name else UNNAMED
        nodes[layout] = nodes.get(layout, ()) + tuple(places[place][0][1].node for place in kept)
        if name == STOCK:
            controls[STOCK] = executions
        elif name == IDENTITY:
            controls[IDENTITY] = executions
        else:
            binaries[layout] = binaries.get(layout, ()) + executions
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
    )


def _iterations(run: Sequence[tuple[int, ImportedNumber]], warmup: int) -> tuple[float, ...]:
    if len(run) == 1 and not warmup:
        row = run[0][1]
        return () if row.warmup else (row.value,)
    ordered = sorted(run, key=lambda pair: pair[0])
    return tuple(row.value for _, row in ordered[warmup:] if not row.warmup)


def _seeds_first(name: BinaryName) -> tuple[bool, int, str]:
    return (False, name, "") if isinstance(name, int) else (True, 0, name)


def _warnings(sample: Sample, table: Mapping[str, _Places]) -> list[OnlyWarmup]:
    counted = sum(len(runs) for _, runs in sample.binaries) + sum(len(runs) for runs in sample.controls.values())
    lost = sum(len(places) for places in table.values()) - counted
    return [OnlyWarmup(sample.system, sample.benchmark, lost)] if lost else []


def _single(found: Sequence[Sample]) -> list[SingleBinaries]:
    """A warning about samples of one binary, which is all that most harnesses ever measure."""
    primary = [sample for sample in found if sample.is_primary]
    single = [sample for sample in primary if len(sample.binaries) == 1]
    if not single:
        return []
    systems = dict.fromkeys(sample.system for sample in single)
    return [SingleBinaries(tuple(systems), len(single) == len(primary))]
