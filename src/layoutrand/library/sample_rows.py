"""Samples as rows: one for each number that was measured, as values, as a data frame, and as Parquet."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from layoutrand.analysis.analyse import choose_metrics
from layoutrand.config.metric import Better
from layoutrand.errors import ToolNotFound
from layoutrand.interop.export import program_digest

if TYPE_CHECKING:
    import pandas as pd

    from layoutrand.analysis.sample import Sample
    from layoutrand.analysis.selection import Selection
    from layoutrand.model import BinaryName, Execution

SCHEMA: Final = "layoutrand/samples/1"
"""What a Parquet file says of itself: columns may be added; CHANGELOG.md names those that change."""


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One number: one metric of one iteration of one execution.

    Attributes
    ----------
    system, benchmark
        Names, as in layoutrand.toml or in what was imported.
    metric, unit
        What was measured, such as ``wall_s`` in ``s``; what a program prints has the unit that it was given.
    better
        ``"less"`` or ``"more"``: of which there is to be more.
    is_primary
        Whether it is the benchmark's main metric, which verdicts rest on unless another is asked for.
    instrument
        What measured it: ``native``, ``cachegrind``, ...
    layout, seed
        The layout that was executed: its seed in digits, ``stock``, ``identity``, or the name that a binary has in
        what was imported; and the seed as a number, None where the layout has none.
    execution
        Number of the execution among those of this layout, benchmark and instrument, from 0.
    iteration
        Number of the iteration within the execution, from 0; warm-up counts.
    value
        The number, in ``unit``.
    warmup
        Whether the iteration is warm-up, which no analysis takes.
    round
        The seed whose round the execution belongs to; None where an imported file does not say.
    started_at
        When the execution began, in seconds since the epoch; None where an imported file does not say.
    node
        The machine of a cluster that executed it; empty for the machine that layoutrand was started on.
    disturbances
        What was not as it should be on the machine, joined by commas; empty where nothing was found.
    output_sha256
        The SHA-256 of what the execution printed; empty where that is not known.
    program_sha256
        Which program was executed, as in CSV and JSON of ``layoutrand export``: systems that have the same in all
        layouts that both have are one program; empty where that is not known.
    """

    system: str
    benchmark: str
    metric: str
    unit: str
    better: Better
    is_primary: bool
    instrument: str
    layout: str
    seed: int | None
    execution: int
    iteration: int
    value: float
    warmup: bool
    round: int | None
    started_at: float | None
    node: str
    disturbances: str
    output_sha256: str = ""
    program_sha256: str = ""


@dataclass(frozen=True, slots=True)
class FailureRow:
    """One execution that failed and is in no number: what it was of, the kind of failure, the reason, and its log."""

    system: str
    benchmark: str
    instrument: str
    layout: str
    status: str
    reason: str
    log: str


def sample_rows(selection: Selection, metrics: Sequence[str] = (), *, warmup: bool = False) -> list[SampleRow]:
    """Every number of these metrics, or of all, in the order of the samples; warm-up only where it is asked for.

    Of imported results warm-up is left out as they are read.  Raises `UnknownMetric` for a metric that was never
    measured.
    """
    samples = choose_metrics(selection, metrics)
    return list(_imported(selection, samples) if selection.sources else _executed(selection, samples, warmup=warmup))


def failure_rows(selection: Selection) -> list[FailureRow]:
    """The failed executions of a selection."""
    return [
        FailureRow(e.system, e.benchmark, e.instrument, str(e.layout), e.status, e.reason, e.log)
        for e in selection.failures
    ]


def _executed(selection: Selection, samples: Sequence[Sample], *, warmup: bool) -> Iterator[SampleRow]:
    own = {(each.system, each.benchmark, each.instrument, each.metric): each for each in samples}
    found: dict[tuple[str, str, str, str], list[SampleRow]] = {key: [] for key in own}
    numbers: Counter[tuple[str, str, str, str]] = Counter()
    for execution in sorted(selection.executions, key=lambda e: (e.round, e.repetition)):
        slot = (execution.system, execution.benchmark, execution.instrument, str(execution.layout))
        number = numbers[slot]
        numbers[slot] += 1
        if execution.status != "ok":
            continue
        program = program_digest(selection.programs, execution)
        for m in execution.measurements:
            sample = own.get((*slot[:3], m.metric))
            if sample is not None and (warmup or not m.warmup):
                place = (execution.layout, number, m.iteration)
                row = _row(sample, place, m.value, execution, warmup=m.warmup)
                found[*slot[:3], m.metric].append(replace(row, program_sha256=program))
    for rows in found.values():
        yield from rows


def _imported(selection: Selection, samples: Sequence[Sample]) -> Iterator[SampleRow]:
    for sample in samples:
        programs = selection.programs.digests.get((sample.system, sample.benchmark), {})
        for name, executions in (*sample.binaries, *sample.controls.items()):
            nodes, rounds, starts = sample.nodes.get(name), sample.rounds.get(name), sample.started.get(name)
            for number, values in enumerate(executions):
                node = nodes[number] if nodes and number < len(nodes) else ""
                row = _row(sample, (name, number, 0), 0.0, node)
                row = replace(
                    row,
                    round=rounds[number] if rounds else None,
                    started_at=starts[number] if starts else None,
                    program_sha256=programs.get(name, ""),
                )
                yield from (replace(row, iteration=place, value=value) for place, value in enumerate(values))


def _row(
    sample: Sample, place: tuple[BinaryName, int, int], value: float, made: Execution | str, *, warmup: bool = False
) -> SampleRow:
    """``place`` is layout, execution and iteration; ``made`` the execution, or of one that is not known its node."""
    layout, execution, iteration = place
    known = None if isinstance(made, str) else made
    return SampleRow(
        system=sample.system,
        benchmark=sample.benchmark,
        metric=sample.metric,
        unit=sample.unit,
        better=sample.better,
        is_primary=sample.is_primary,
        instrument=sample.instrument,
        layout=str(layout),
        seed=layout if isinstance(layout, int) else None,
        execution=execution,
        iteration=iteration,
        value=value,
        warmup=warmup,
        round=None if known is None else known.round,
        started_at=None if known is None else known.started_at,
        node=made if isinstance(made, str) else made.node,
        disturbances="" if known is None else ", ".join(known.disturbances),
        output_sha256="" if known is None else known.output_sha256,
    )


def _columns(rows: Sequence[SampleRow]) -> dict[str, list[Any]]:
    return {field.name: [getattr(row, field.name) for row in rows] for field in fields(SampleRow)}


def sample_frame(rows: Sequence[SampleRow]) -> pd.DataFrame:
    """The rows under the names of their attributes; ``seed`` and ``round`` are of type UInt64, with NA for None.

    Raises `ToolNotFound` where pandas is not installed.
    """
    found = with_pandas()
    # Seeds go up to 2^64-1: as numbers beside a missing one they would become floats, which round them.
    kinds = {"seed": "UInt64", "round": "UInt64", "value": "float64", "started_at": "float64"}
    table = {name: found.Series(values, dtype=kinds.get(name)) for name, values in _columns(rows).items()}
    frame: pd.DataFrame = found.DataFrame(table)
    return frame


def with_pandas() -> Any:
    """The library; raises `ToolNotFound` where it is not installed."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ToolNotFound("a data frame needs pandas: pip install 'layoutrand[frame]'") from error
    return pd


def parquet(rows: Sequence[SampleRow], facts: Mapping[str, Any]) -> bytes:
    """The rows as a Parquet file; ``facts`` stand as JSON under ``layoutrand`` in its metadata, with `SCHEMA`.

    Raises `ToolNotFound` where pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow.parquet import write_table
    except ImportError as error:
        raise ToolNotFound(f"Parquet needs pyarrow: pip install 'layoutrand[parquet]' ({error})") from error
    kinds = {
        "is_primary": pa.bool_(),
        "warmup": pa.bool_(),
        "seed": pa.uint64(),
        "round": pa.uint64(),
        "execution": pa.int64(),
        "iteration": pa.int64(),
        "value": pa.float64(),
        "started_at": pa.float64(),
    }
    names = [(field.name, kinds.get(field.name, pa.string())) for field in fields(SampleRow)]
    about = json.dumps({"schema": SCHEMA, **facts}, allow_nan=False)
    schema = pa.schema(names, metadata={"layoutrand": about})
    out = io.BytesIO()
    write_table(pa.table(_columns(rows), schema=schema), out)
    return out.getvalue()
