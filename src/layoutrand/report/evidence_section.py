"""What the report says beside its figures: what the numbers rest on, what went wrong, what was left out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from layoutrand.analysis.analyse import AnalysisReport
from layoutrand.analysis.compare import Comparison
from layoutrand.analysis.evidence import (
    SystemEvidence,
    evidence,
    left_out_words,
    node_words,
    policy_words,
    reconciled_words,
    round_words,
    seed_words,
)
from layoutrand.analysis.selection import Selection
from layoutrand.config.disturbance import explanations, summary, whereabouts
from layoutrand.config.seeds import format_seeds, layout_in_words
from layoutrand.execute.cases import processes
from layoutrand.execute.experiment import executed_how
from layoutrand.instruments.known import simulated
from layoutrand.model import Context
from layoutrand.text.document import Chapter, Table
from layoutrand.text.name_lists import fitting_names, several_files
from layoutrand.version import __version__
from layoutrand.warning import AnyWarning, plural

_MOST_LISTED: Final = 200
_MOST_NAMED: Final = 5


def subtitle(selection: Selection) -> str:
    """Where and when."""
    if selection.sources:
        return f"Imported from {several_files([source.file for source in selection.sources])}."
    times = [execution.started_at for execution in selection.executions]
    return f"Measured on {selection.experiment.hostname}, {_moment(min(times))} to {_moment(max(times))}."


def rests_on(selection: Selection, contexts: Sequence[Context]) -> str:
    """``Seeds 1..30 (30); layoutrand 0.1.0.``: what a figure is to be made again with.

    The versions are those that measured and this one, which analyses.
    """
    binaries = dict.fromkeys(binary for sample in selection.samples for binary, _ in sample.binaries)
    seeds = [binary for binary in binaries if isinstance(binary, int)]
    names = [str(binary) for binary in binaries if not isinstance(binary, int)]
    parts = [f"seeds {format_seeds(seeds)} ({len(seeds)})"] if seeds else []
    parts += [round_words(names) or plural(len(names))] if names else []
    versions = ", ".join(dict.fromkeys([*(context.version for context in contexts), __version__]))
    text = "; ".join([*parts, f"layoutrand {versions}"])
    return f"{text[0].upper() if parts else text[0]}{text[1:]}."


def head(
    selection: Selection, contexts: Sequence[Context], confidence: float, threshold: float
) -> list[tuple[str, str]]:
    """Names and values for the top of the page."""
    experiment = selection.experiment
    seeds = sorted({seed for sample in selection.samples for seed, _ in sample.binaries}, key=str)
    facts = [
        ("Systems", ", ".join(dict.fromkeys(sample.system for sample in selection.samples)) or "none with results"),
        *([("Source", source)] if (source := "; ".join(dict.fromkeys(filter(None, selection.made.values())))) else []),
        ("Benchmarks", str(len({sample.benchmark for sample in selection.samples}))),
        ("Seeds", seed_words(seeds)),
        ("Intervals", f"{100 * confidence:g} %, threshold {100 * threshold:g} %"),
    ]
    if selection.sources:
        return [*facts, ("Failed executions", str(len(selection.failures)))]
    disturbed = summary(selection.executions, simulated())
    how = executed_how(json.loads(experiment.randomise))
    n_disturbed, where = sum(row.disturbed for row in disturbed), whereabouts(disturbed, "numbers")
    return [
        ("Project", experiment.project),
        ("Host", experiment.hostname),
        *([("Nodes", node_words(nodes))] if (nodes := evidence(selection).nodes) else []),
        *facts,
        ("Layout policy", policy_words(json.loads(experiment.policy))),
        ("Executions", f"{processes(selection.executions)}, of which {processes(selection.failures)} failed"),
        ("Disturbed executions", f"{n_disturbed} ({where})" if n_disturbed else "0"),
        ("Binaries not built", str(len(selection.build_failures))),
        ("Randomised per execution", ", ".join(how.drawn) or "nothing"),
        *([("Settings of all executions", ", ".join(how.settings))] if how.settings else []),
        *([("Executed under", how.launcher)] if how.launcher else []),
        ("layoutrand", ", ".join(dict.fromkeys(context.version for context in contexts)) or "version not recorded"),
    ]


def alerts(selection: Selection, problems: Sequence[str]) -> list[str]:
    """One line where something went wrong, for the top of the page."""
    counts = (
        (len(selection.failures), "failed execution", "failed executions"),
        (len(selection.build_failures), "binary not built", "binaries not built"),
        (len(problems), "warning", "warnings"),
    )
    said = [f"{count} {one if count == 1 else several}" for count, one, several in counts if count]
    return [f"{', '.join(said)}: see the end of the page."] if said else []


def warnings(found: AnalysisReport, comparisons: Iterable[Comparison]) -> list[str]:
    """Every warning of the analyses and comparisons, each once, with all that it is about."""
    about: dict[AnyWarning, dict[str, None]] = {each: {} for each in found.warnings}
    for analysis in found.analyses:
        controls = [c for c in (analysis.stock, analysis.identity) if c is not None]
        name = f"{analysis.benchmark} with {analysis.system}"
        for each in [*analysis.warnings, *(each for control in controls for each in control.warnings)]:
            about.setdefault(each, {})[name] = None
    said = {each for analysis in found.analyses for each in analysis.warnings}
    for result in comparisons:
        name = f"{result.candidate} / {result.baseline}"
        for each in result.warnings:
            about.setdefault(each, {})
        for pair in result.benchmarks:
            for each in pair.warnings:
                if each not in said:
                    about.setdefault(each, {})[f"{pair.benchmark} {name}"] = None
        for each in result.suite.ratio.warnings if result.suite else ():
            about.setdefault(each, {})[f"geometric mean {name}"] = None
    return [
        f"{fitting_names(list(names), _MOST_NAMED)}: {each.beside_name()}" if names else str(each)
        for each, names in about.items()
    ]


def problems(selection: Selection, lines: Sequence[str]) -> list[Chapter]:
    """Failures where there are some, then warnings and what disturbed executions were like."""
    tables = []
    if selection.failures:
        failed = [
            (
                f"{e.system}, {e.benchmark}, {layout_in_words(e.layout)}, {e.instrument}",
                f"{e.status}: {e.reason}",
                e.log,
            )
            for e in selection.failures
        ]
        tables.append(_listed("Failed executions, not in the numbers", ("execution", "what happened", "log"), failed))
    if selection.build_failures:
        unbuilt = [
            (f"{f.system}, {f.artefact}, {layout_in_words(f.layout)}", f.error, str(f.log or ""))
            for f in selection.build_failures
        ]
        tables.append(_listed("Binaries not built", ("binary", "error", "log"), unbuilt))
    sentences = [*lines, *explanations(summary(selection.executions, simulated())), *_dropped(selection)]
    none = [] if sentences else ["There are none."]
    unfailing = [] if tables else ["No execution failed, and every binary was built."]
    if selection.sources and not tables:
        unfailing = ["The imported files record no failed execution."]
    return [
        _rests_on(selection),
        Chapter("failures", "Failures", paragraphs=unfailing, tables=tables),
        Chapter("warnings", "Warnings and exclusions", paragraphs=none, sentences=sentences),
    ]


def _rests_on(selection: Selection) -> Chapter:
    """Counts of each system, and what was left out."""
    found = evidence(selection)
    rows = [
        (
            row.system,
            _binaries(row),
            str(row.n_executions),
            str(row.n_failed),
            str(row.n_unbuilt),
            (row.capture or "-")[:12],
            row.source or "not recorded",
        )
        for row in found.systems
    ]
    columns = ("system", "seeds or binaries", "executions", "failed", "binaries not built", "capture", "source")
    left = [
        f"Left out: {left_out_words(found)}.",
        *(f"{text[:1].upper()}{text[1:]}." for text in reconciled_words(found)),
    ]
    return Chapter(
        "evidence",
        "What the numbers rest on",
        left,
        tables=[Table("Counts, controls included", columns, rows, is_text=True)],
    )


def _binaries(row: SystemEvidence) -> str:
    rounds = round_words(row.others) if row.one_layout else ""
    if rounds:
        return f"one layout, {rounds}"
    return ", ".join([*([row.seeds] if row.seeds else []), *_few(row.others)]) or "none"


def _few(names: Sequence[str]) -> list[str]:
    return list(names) if len(names) <= 6 else [*names[:5], f"... {len(names)} in all"]


def _dropped(selection: Selection) -> list[str]:
    """What was measured as warm-up, for each benchmark."""
    counts: dict[str, set[tuple[int, int]]] = {}
    for execution in selection.executions:
        marks = [m.warmup for m in execution.measurements]
        if any(marks):
            names = {m.metric for m in execution.measurements if m.warmup}
            first = next(iter(sorted(names)))
            own = [m.warmup for m in execution.measurements if m.metric == first]
            counts.setdefault(execution.benchmark, set()).add((sum(own), len(own)))
    return [
        f"{name}: warm-up left out, the first "
        + ", ".join(f"{dropped} of {total}" for dropped, total in sorted(found))
        + " iterations of each execution"
        for name, found in counts.items()
    ]


def _listed(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    more = f" (the first {_MOST_LISTED} of {len(rows)})" if len(rows) > _MOST_LISTED else ""
    return Table(caption + more, columns, rows[:_MOST_LISTED], is_text=True)


def _moment(started_at: float) -> str:
    return datetime.fromtimestamp(started_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
