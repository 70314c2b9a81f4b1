"""The end of the report: the host, the tools and the configuration as recorded, and how to make the numbers again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from layoutrand.analysis.evidence import node_words
from layoutrand.analysis.selection import Selection
from layoutrand.config.config import FLAGS_OF_SYSTEMS
from layoutrand.config.seeds import format_seeds
from layoutrand.execute.experiment import is_pool
from layoutrand.model import Context
from layoutrand.text.document import Chapter, Table
from layoutrand.text.sizes import size_in_words

_FLAGS: Final = (*FLAGS_OF_SYSTEMS, "args", "prebuilt", "rev")


@dataclass(frozen=True)
class Asked:
    """The options of the report, for its command line; ``threshold`` and ``confidence`` are fractions."""

    baseline: str
    confidence: float
    threshold: float
    metric: str | None


def environment(selection: Selection, contexts: Sequence[Context], asked: Asked) -> list[Chapter]:
    """Host and configuration as recorded, and the commands; nothing of this is known of imported results."""
    if selection.sources:
        files = [(source.file, source.format, ", ".join(source.systems)) for source in selection.sources]
        return [
            Chapter(
                "source",
                "Imported files",
                tables=[Table("Files", ("file", "format", "systems"), files, is_text=True)],
                paragraphs=["The files do not say on which host and with which toolchain the binaries were made."],
            )
        ]
    tables = [_hosts(selection, contexts)]
    config = contexts[-1].config if contexts else {}
    names = selection.names
    systems = [(names.with_name(name), *_system(settings)) for name, settings in config.get("systems", {}).items()]
    tables.append(Table("Systems", ("system", "toolchain", "flags"), systems, is_text=True))
    prebuilt = {names.system(name) for name, each in config.get("systems", {}).items() if each.get("prebuilt")}
    made, unknown = _tools(selection, contexts, prebuilt)
    tables.append(made)
    commands = [
        (names.benchmark_with_name(each["name"]), shlex.join(each["command"])) for each in config.get("benchmarks", ())
    ]
    tables.append(Table("Benchmarks", ("benchmark", "command"), commands, is_text=True))
    tools = _merged([context.instruments for context in contexts])
    tables.append(Table("Instruments", ("instrument", "how"), tools, is_text=True))
    return [
        Chapter("host", "Host and configuration", unknown, tables=[table for table in tables if table.rows]),
        _again(selection, contexts, asked),
    ]


def _hosts(selection: Selection, contexts: Sequence[Context]) -> Table:
    """The machine that executed, or the nodes; of these each fact with the nodes that have another one."""
    if not is_pool(selection.experiment):
        hosts = _merged([context.host_facts for context in contexts])
        return Table("Host, as recorded with the executions", ("fact", "value"), hosts, is_text=True)
    facts: dict[str, dict[str, list[str]]] = {}
    for node in selection.nodes:
        for key, value in node.facts.items():
            names = facts.setdefault(key, {}).setdefault(_said(key, value), [])
            names += [] if node.name in names else [node.name]
    facts.pop("hostname", None)
    rows = [
        (key, "; ".join(value if len(values) == 1 else f"{value} ({node_words(on)})" for value, on in values.items()))
        for key, values in facts.items()
    ]
    names = sorted({node.name for node in selection.nodes})
    return Table(f"Nodes {node_words(names)}, as recorded when they executed", ("fact", "value"), rows, is_text=True)


def _tools(selection: Selection, contexts: Sequence[Context], prebuilt: Container[str]) -> tuple[Table, list[str]]:
    """With what each system's binaries were built and linked; and of which that was not recorded."""
    recorded = {name: made for context in contexts for name, made in context.tools.items()}
    sources = {(each.system, each.capture): each.words for context in contexts for each in context.built}
    rows, unknown = [], []
    order = list(dict.fromkeys(sample.system for sample in selection.samples))
    pairs = sorted({(e.system, e.capture) for e in selection.executions})
    for system, name in sorted(pairs, key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order)):
        made = recorded.get(name)
        if made is None:
            unknown += [] if system in prebuilt else [system]
            continue
        rows.append((system, made["compilers"], made["linker"], sources.get((system, name), made["source"])))
    columns = ("system", "compilers", "linker", "source")
    lines = [
        f"Compiler, linker and source of {', '.join(dict.fromkeys(unknown))} are not known: "
        "they were not recorded with the executions."
    ]
    return Table("Compilers, linkers and source, as recorded at the build", columns, rows, is_text=True), (
        lines if unknown else []
    )


def _again(selection: Selection, contexts: Sequence[Context], asked: Asked) -> Chapter:
    seeds = [e.layout for e in selection.executions if isinstance(e.layout, int)]
    digests = ", ".join(dict.fromkeys(context.config_digest[:12] for context in contexts))
    schedules = ", ".join(dict.fromkeys(str(context.schedule_seed) for context in contexts))
    text = (
        f"With the same layoutrand.toml (digest {digests or 'not recorded'}) and toolchains the seeds give the same "
        f"layouts; schedule seed {schedules or 'not recorded'} gives the same order of executions. "
        f"{_built_by(contexts[-1].config if contexts else {})}"
    )
    seed_option = ["--seeds", format_seeds(seeds)] if seeds else []
    options = ["--baseline", selection.names.name_of(asked.baseline), "--threshold", f"{100 * asked.threshold:g}%"]
    options += ["--confidence", f"{asked.confidence:g}", *(["--metric", asked.metric] if asked.metric else [])]
    lines = [
        ["layoutrand", "build", *seed_option],
        ["layoutrand", "run", *seed_option],
        ["layoutrand", "report", *options],
    ]
    return Chapter("again", "Making these numbers again", [text], commands=[shlex.join(line) for line in lines])


def _built_by(config: Mapping[str, Any]) -> str:
    systems = config.get("systems", {}).values()
    if systems and all(each.get("prebuilt") for each in systems):
        return "The programs are files that are there already: nothing is built."
    commands = "; ".join(config.get("build", {}).get("commands", ()))
    return f"The program itself is built by the first command, with: {commands or 'commands not recorded'}"


def _merged(several: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Each key with every value that it had, in the order of appearance."""
    keys = dict.fromkeys(key for facts in several for key in facts)
    merged = []
    for key in keys:
        values = dict.fromkeys(_said(key, facts[key]) for facts in several if key in facts)
        merged.append((key, "; then ".join(values)))
    return merged


def _said(key: str, value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key.endswith("_bytes") and isinstance(value, int):
        return size_in_words(value)
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return value if isinstance(value, str) else json.dumps(value)


def _system(settings: Mapping[str, Any]) -> tuple[str, str]:
    given = {name: settings[name] for name in _FLAGS if settings.get(name)}
    flags = " ".join(
        f"{name}={shlex.quote(value if isinstance(value, str) else json.dumps(value))}" for name, value in given.items()
    )
    return "none: it is prebuilt" if settings.get("prebuilt") else str(settings.get("toolchain", "")), flags
