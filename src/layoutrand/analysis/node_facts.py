"""In what the nodes of a cluster differ: processor, kernel, settings, and the length of the path executions ran in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from layoutrand.analysis.blocking import HOME
from layoutrand.analysis.node_warnings import ChangedNodes, Groups, UnlikeNodes, UnlikePaths, UnlikeProcessors
from layoutrand.model import Execution, Node
from layoutrand.warning import AnyWarning

_FACTS: Final = (
    "cpu_model",
    "cpus",
    "machine",
    "kernel",
    "governor",
    "turbo",
    "frequency_driver",
    "smt",
    "transparent_hugepages",
    "memory_bytes",
    "clocksource",
    "aslr",
)

_PROCESSOR: Final = ("machine", "cpu_model", "cpus")

_SETTINGS: Final = {
    "kernel": "kernel",
    "governor": "CPU governor",
    "turbo": "turbo",
    "smt": "simultaneous multithreading",
    "transparent_hugepages": "transparent huge pages",
    "memory_bytes": "memory",
    "aslr": "address space randomisation",
}
"""What may move results on processors of one kind, and its name for people."""

_SAME_MEMORY: Final = 0.02
"""Machines with the same modules report a little more or less, by what firmware keeps."""

NOT_KNOWN: Final = "not known"

_Values = tuple[str | None, ...]
"""What a fact was, one after the other; None where it is not known."""


def facts_of(nodes: Sequence[Node], names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Of each of these nodes its facts in words; of one whose facts have changed all of them, in order."""
    found = _values_of(nodes, names)
    return {name: {key: _shown(values) for key, values in own.items()} for name, own in found.items()}


def _values_of(nodes: Sequence[Node], names: Sequence[str]) -> dict[str, dict[str, _Values]]:
    """Of each of these nodes what each fact was, in order: several values where it changed, none where not recorded."""
    found: dict[str, dict[str, _Values]] = {}
    memory = [
        facts["memory_bytes"] for facts in (n.facts for n in nodes if n.name in names) if facts.get("memory_bytes")
    ]
    alike = bool(memory) and max(memory) <= (1 + _SAME_MEMORY) * min(memory)
    for name in names:
        own = [node.facts for node in nodes if node.name == name]
        if alike:
            own = [{**facts, "memory_bytes": max(memory)} for facts in own]
        found[name] = {key: tuple(dict.fromkeys(_said(key, facts.get(key)) for facts in own)) for key in _FACTS}
    return found


def _shown(values: _Values) -> str:
    return "; then ".join(NOT_KNOWN if value is None else value for value in values) or NOT_KNOWN


def differing(facts: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The facts in which the nodes differ."""
    return [key for key in _FACTS if len({own[key] for own in facts.values()} - {NOT_KNOWN}) > 1]


def warnings(nodes: Sequence[Node], executions: Sequence[Execution]) -> list[AnyWarning]:
    """About unlike processors, settings that differ, facts that changed, and paths of different lengths."""
    used = sorted({execution.node or HOME for execution in executions})
    facts = _values_of(nodes, used)
    found: list[AnyWarning] = []
    processors = _groups({name: [own[key] for key in _PROCESSOR] for name, own in facts.items()})
    if len(processors) > 1:
        found.append(UnlikeProcessors(processors))
    for key, setting in _SETTINGS.items():
        values = _groups({node: [own[key]] for node, own in facts.items()})
        if len(values) > 1:
            found.append(UnlikeNodes(setting, values))
    changes = [(name, tuple(key for key in _SETTINGS if len(own[key]) > 1)) for name, own in facts.items()]
    if changed := tuple((name, keys) for name, keys in changes if keys):
        found.append(ChangedNodes(changed))
    return [*found, *_paths(executions)]


def _paths(executions: Sequence[Execution]) -> list[AnyWarning]:
    """Longer paths of the directory that a program runs in move its stack."""
    lengths: dict[str, list[_Values]] = {}
    for execution in executions:
        workplace = execution.conditions.get("workplace")
        if isinstance(workplace, str):
            lengths[execution.node or HOME] = [(f"{len(workplace.encode())} bytes",)]
    groups = _groups(lengths)
    return [UnlikePaths(groups)] if len(groups) > 1 else []


def _groups(values: Mapping[str, Sequence[_Values]]) -> Groups:
    """Facts in words -> the nodes that have these; without those of which one is not known."""
    found: dict[str, list[str]] = {}
    for name, facts in values.items():
        if all(fact and None not in fact for fact in facts):
            found.setdefault(", ".join(map(_shown, facts)), []).append(name)
    return tuple((value, tuple(names)) for value, names in found.items())


def _said(key: str, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key == "memory_bytes" and isinstance(value, int):
        return f"{value / 2**30:.3g} GiB"
    return str(value)
