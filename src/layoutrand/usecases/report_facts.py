"""What the report says beside its figures: how the numbers came about, how to make them again, what went wrong."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from layoutrand.core.disturbance import explanations, summary
from layoutrand.model import BinaryName, Context
from layoutrand.text.html_report import Section, Table
from layoutrand.usecases.analyse import AnalysisReport
from layoutrand.usecases.compare import Comparison
from layoutrand.usecases.selection import Selection

_MOST_LISTED: Final = 200
_FLAGS: Final = ("cflags", "cxxflags", "fflags", "ldflags", "rev")


def subtitle(selection: Selection) -> str:
    """Where and when."""
    if selection.sources:
        files = [source.file for source in selection.sources]
        listed = ", ".join(files) if len(files) <= 3 else f"{files[0]} ... {files[-1]} ({len(files)} files)"
        return f"Imported from {listed}."
    times = [execution.started_at for execution in selection.executions]
    return f"Measured on {selection.experiment.hostname}, {_moment(min(times))} to {_moment(max(times))}."


def head(
    selection: Selection, contexts: Sequence[Context], confidence: float, threshold: float
) -> list[tuple[str, str]]:
    """Names and values for the top of the page."""
    experiment = selection.experiment
    seeds = {seed for sample in selection.samples for seed, _ in sample.binaries}
    names = sorted(str(seed) for seed in seeds if not isinstance(seed, int))
    shown = ", ".join([part for part in (ranges(s for s in seeds if isinstance(s, int)), *names) if part])
    facts = [
        ("Systems", ", ".join(dict.fromkeys(sample.system for sample in selection.samples)) or "none with results"),
        ("Benchmarks", str(len({sample.benchmark for sample in selection.samples}))),
        ("Seeds", f"{shown or 'none'} ({len(seeds)})"),
        ("Intervals", f"{100 * confidence:g} %, threshold {100 * threshold:g} %"),
    ]
    if selection.sources:
        return [*facts, ("Failed executions", str(len(selection.failures)))]
    captures = {e.system: e.capture[:12] for e in selection.executions}
    disturbed = summary(selection.executions)
    return [
        ("Project", experiment.project), ("Host", experiment.hostname), *facts,
        ("Layout policy", _policy(experiment.policy)),
        ("Executions", f"{len(selection.executions)}, of which {len(selection.failures)} failed"),
        ("Disturbed executions", f"{sum(row.disturbed for row in disturbed)} (they are in the numbers)"),
        ("Binaries not built", str(len(selection.build_failures))),
        ("Captures", "; ".join(f"{system} {capture}" for system, capture in captures.items())),
        ("layoutrand", ", ".join(dict.fromkeys(context.version for context in contexts)) or "version not recorded"),
    ]  # fmt: skip


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
    """Every warning of the analyses and comparisons, each once."""
    lines = list(found.warnings)
    for analysis in found.analyses:
        controls = [c for c in (analysis.stock, analysis.identity) if c is not None]
        several = [*analysis.warnings, *(line for control in controls for line in control.warnings)]
        lines += [f"{analysis.system}, {analysis.benchmark}, {analysis.metric}: {line}" for line in several]
    for result in comparisons:
        lines += result.warnings
        name = f"{result.candidate} / {result.baseline}"
        said = {line for analysis in found.analyses for line in analysis.warnings}
        lines += [
            f"{name}, {pair.benchmark}: {line}"
            for pair in result.benchmarks
            for line in pair.warnings
            if line not in said
        ]
        lines += [f"{name}: {line}" for line in (result.suite.ratio.warnings if result.suite else ())]
    return list(dict.fromkeys(lines))


def problems(selection: Selection, lines: Sequence[str]) -> list[Section]:
    """Failures where there are some, then warnings and what disturbed executions were like."""
    tables = []
    if selection.failures:
        failed = [
            (f"{e.system}, {e.benchmark}, {_layout(e.layout)}, {e.instrument}", f"{e.status}: {e.reason}", e.log)
            for e in selection.failures
        ]
        tables.append(_listed("Failed executions, not in the numbers", ("execution", "what happened", "log"), failed))
    if selection.build_failures:
        unbuilt = [
            (f"{f.system}, {f.artefact}, {_layout(f.layout)}", f.error, str(f.log or ""))
            for f in selection.build_failures
        ]
        tables.append(_listed("Binaries not built", ("binary", "error", "log"), unbuilt))
    sentences = [*lines, *explanations(summary(selection.executions))]
    none = [] if sentences else ["There are none."]
    sections = [Section("failures", "Failures", tables=tables)] if tables else []
    return [*sections, Section("warnings", "Warnings", paragraphs=none, sentences=sentences)]


def _layout(name: BinaryName) -> str:
    return f"seed {name}" if isinstance(name, int) else name


def _listed(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    more = f" (the first {_MOST_LISTED} of {len(rows)})" if len(rows) > _MOST_LISTED else ""
    return Table(caption + more, columns, rows[:_MOST_LISTED], is_text=True)


def environment(selection: Selection, contexts: Sequence[Context], baseline: str) -> list[Section]:
    """Host and configuration as recorded, and the commands; nothing of this is known of imported results."""
    if selection.sources:
        files = [(source.file, source.format, ", ".join(source.systems)) for source in selection.sources]
        return [Section(
            "source", "Imported files", tables=[Table("Files", ("file", "format", "systems"), files, is_text=True)],
            paragraphs=["The files do not say on which host and with which toolchain the binaries were made."],
        )]  # fmt: skip
    hosts = _merged([context.host_facts for context in contexts])
    tables = [Table("Host, as recorded with the executions", ("fact", "value"), hosts, is_text=True)]
    config = contexts[-1].config if contexts else {}
    systems = [(name, *_system(settings)) for name, settings in config.get("systems", {}).items()]
    tables.append(Table("Systems", ("system", "toolchain", "flags"), systems, is_text=True))
    commands = [(b["name"], shlex.join(b["command"])) for b in config.get("benchmarks", ())]
    tables.append(Table("Benchmarks", ("benchmark", "command"), commands, is_text=True))
    tools = _merged([context.instruments for context in contexts])
    tables.append(Table("Instruments", ("instrument", "how"), tools, is_text=True))
    return [
        Section("host", "Host and configuration", tables=[table for table in tables if table.rows]),
        _again(selection, contexts, baseline),
    ]


def _again(selection: Selection, contexts: Sequence[Context], baseline: str) -> Section:
    seeds = ranges(e.layout for e in selection.executions if isinstance(e.layout, int))
    # A plain number would stand for that many seeds.
    asked = seeds if not seeds.isdecimal() else f"{seeds}..{seeds}"
    digests = ", ".join(dict.fromkeys(context.config_digest[:12] for context in contexts))
    schedules = ", ".join(dict.fromkeys(str(context.schedule_seed) for context in contexts))
    builds = [line for context in contexts[-1:] for line in context.config.get("build", {}).get("commands", ())]
    text = (
        f"With the same layoutrand.toml (digest {digests or 'not recorded'}) and toolchains the seeds give the same "
        f"layouts; schedule seed {schedules or 'not recorded'} gives the same order of executions. "
        "The program itself is built by the first command, with: " + ("; ".join(builds) or "commands not recorded")
    )
    seed_option = ["--seeds", asked] if asked else []
    lines = [
        ["layoutrand", "build", *seed_option], ["layoutrand", "run", *seed_option],
        ["layoutrand", "report", "--baseline", baseline],
    ]  # fmt: skip
    return Section("again", "Making these numbers again", [text], commands=[shlex.join(line) for line in lines])


def _merged(several: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Each key with every value that it had, in the order of appearance."""
    keys = dict.fromkeys(key for facts in several for key in facts)
    merged = []
    for key in keys:
        values = dict.fromkeys(_said(facts[key]) for facts in several if key in facts)
        merged.append((key, "; then ".join(values)))
    return merged


def _said(value: Any) -> str:
    if value is None:
        return "not known"
    return value if isinstance(value, str) else json.dumps(value)


def _system(settings: Mapping[str, Any]) -> tuple[str, str]:
    flags = " ".join(f"{name}={shlex.quote(settings[name])}" for name in _FLAGS if settings.get(name))
    return str(settings.get("toolchain", "")), flags


def _policy(text: str) -> str:
    """The canonical JSON of a layout policy, for people."""
    policy = json.loads(text)
    return "; ".join(
        f"{key} {', '.join(map(str, value)) if isinstance(value, list) else value}" for key, value in policy.items()
    )


def ranges(seeds: Iterable[int]) -> str:
    """Seeds as `--seeds` takes them, such as ``1..30,35``."""
    parts: list[list[int]] = []
    for seed in sorted(set(seeds)):
        if parts and seed == parts[-1][1] + 1:
            parts[-1][1] = seed
        else:
            parts.append([seed, seed])
    return ",".join(str(first) if first == last else f"{first}..{last}" for first, last in parts)


def _moment(started_at: float) -> str:
    return datetime.fromtimestamp(started_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
