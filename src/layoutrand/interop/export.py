"""`layoutrand export`: recorded results as rows, and these in a format of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutrand.analysis.analyse import choose_metrics
from layoutrand.analysis.beside_files import Programs
from layoutrand.analysis.display_names import labels_json
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Selection
from layoutrand.build.build_document import build_failure_json
from layoutrand.errors import AnalysisError
from layoutrand.interop import exports
from layoutrand.interop.imported import FailedRun, Imported, ImportedNumber
from layoutrand.interop.interop_warnings import (
    NoPlaceForBuilds,
    NoPlaceForControls,
    NoPlaceForDirections,
    NoPlaceForFailures,
)
from layoutrand.interop.tracking_exports import TRACKING, as_bencher, as_codspeed
from layoutrand.model import IDENTITY, STOCK, Execution
from layoutrand.platform.disk import canonical_json, sha256_bytes
from layoutrand.text.foreign_fields import plain
from layoutrand.version import __version__
from layoutrand.warning import AnyWarning, sentences_of


@dataclass(frozen=True)
class Export:
    """The text, and warnings about what the format has no place for."""

    text: str
    warnings: tuple[AnyWarning, ...]


def export(selection: Selection, format_name: str, metrics: Sequence[str], *, raw_csv: bool = False) -> Export:
    """The selection in this format (one of `exports.FORMATS`); ``raw_csv`` as in `layoutrand.text.csv_cells`.

    CSV and JSON hold every metric unless some are named, the others each benchmark's main one.  Raises `UsageError`
    for what the format cannot hold and `AnalysisError` where there is nothing to export.
    """
    samples = choose_metrics(selection, metrics)
    everything = format_name in {"csv", "json"}
    if not metrics and not everything:
        samples = [sample for sample in samples if sample.is_primary]
    content = rows(selection, samples)
    facts = {"project": selection.experiment.project, "host": selection.experiment.hostname}
    warnings = selection.warnings
    if format_name == "json":
        unbuilt = [build_failure_json(failure) for failure in selection.build_failures]
        more = {
            "version": __version__,
            **facts,
            "labels": labels_json(selection.names),
            "build_failures": unbuilt,
            "warnings": sentences_of(warnings),
        }
        return Export(exports.as_json(content, more), warnings)
    if selection.build_failures:
        warnings += (NoPlaceForBuilds(format_name, len(selection.build_failures)),)
    if format_name == "csv":
        return Export(exports.as_csv(content, raw=raw_csv), warnings)
    if format_name in TRACKING:
        made = as_bencher(samples) if format_name == "bencher" else as_codspeed(samples)
        lost = [NoPlaceForFailures(format_name, len(content.failures))] if content.failures else []
        return Export(made.text, (*warnings, *made.warnings, *lost))
    if not any(row.binary not in {STOCK, IDENTITY} for row in content.rows):
        raise AnalysisError("no seed was executed successfully, so there is nothing to export")
    text = exports.as_benchstat(content.rows, facts) if format_name == "benchstat" else exports.as_pyperf(content.rows)
    return Export(text, (*warnings, *_lost(content, format_name)))


def rows(selection: Selection, samples: Sequence[Sample]) -> Imported:
    """Every number of these samples' metrics, warm-up too, in the order of the samples; and the failed executions.

    Without a cluster the node is this machine: exports of several machines may be imported together.
    """
    host = selection.experiment.hostname
    numbers: dict[tuple[str, str, str, str], int] = {}
    measured: dict[tuple[str, str, str, str], list[ImportedNumber]] = {}
    wanted = {(s.system, s.benchmark, s.instrument, s.metric): s for s in samples}
    failures = []
    for execution in sorted(selection.executions, key=lambda e: (e.round, e.repetition)):
        slot = (execution.system, execution.benchmark, execution.instrument, str(execution.layout))
        number = numbers[slot] = numbers.get(slot, -1) + 1
        if execution.status != "ok":
            failures.append(_failure(execution, number, host, program_digest(selection.programs, execution)))
            continue
        for m in execution.measurements:
            key = (*slot[:3], m.metric)
            if key in wanted:
                measured.setdefault(key, []).append(
                    ImportedNumber(
                        system=execution.system,
                        benchmark=execution.benchmark,
                        instrument=execution.instrument,
                        binary=str(execution.layout),
                        execution=number,
                        iteration=m.iteration,
                        value=m.value,
                        metric=m.metric,
                        unit=m.unit,
                        better=wanted[key].better,
                        warmup=m.warmup,
                        node=execution.node or host,
                        output_sha256=execution.output_sha256,
                        program_sha256=program_digest(selection.programs, execution),
                        round=execution.round,
                        started_at=execution.started_at,
                        disturbances=execution.disturbances,
                    )
                )
    return Imported(tuple(row for key in wanted for row in measured.get(key, ())), tuple(failures))


def _failure(execution: Execution, number: int, host: str, program: str) -> FailedRun:
    return FailedRun(
        system=execution.system,
        benchmark=execution.benchmark,
        binary=str(execution.layout),
        execution=number,
        instrument=execution.instrument,
        status=execution.status,
        reason=plain(execution.reason),
        node=execution.node or host,
        output_sha256=execution.output_sha256,
        program_sha256=program,
        round=execution.round,
        started_at=execution.started_at,
        disturbances=execution.disturbances,
    )


def program_digest(programs: Programs, execution: Execution) -> str:
    """What executions have in common where all that was executed is one program (`layoutrand.analysis.same_program`).

    It is the digest of the file where that is all of the program; of others what they were captured as is in it, too.
    """
    if not execution.binary_sha256:
        return ""
    words = programs.arguments.get(execution.system, "")
    beside = [] if execution.benchmark in programs.told_by_file else [execution.capture]
    if not words and not beside:
        return execution.binary_sha256
    return sha256_bytes(canonical_json([execution.binary_sha256, words, *beside]))


def _lost(content: Imported, format_name: str) -> list[AnyWarning]:
    lost: list[AnyWarning] = []
    if content.failures:
        lost.append(NoPlaceForFailures(format_name, len(content.failures)))
    controls = sorted({row.binary for row in content.rows} & {STOCK, IDENTITY})
    if controls:
        lost.append(NoPlaceForControls(format_name, tuple(controls)))
    rising = sorted({row.metric for row in content.rows if row.better == "more"})
    if rising and format_name == "pyperf":
        lost.append(NoPlaceForDirections(format_name, tuple(rising)))
    return lost
