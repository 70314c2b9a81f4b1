"""In what the nodes of a cluster differ: processor, kernel, settings, and the length of the path executions ran in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from layoutrand.analysis.blocking import HOME
from layoutrand.model import Execution, Node

_FACTS: Final = (
    "cpu_model", "cpus", "machine", "kernel", "governor", "turbo", "frequency_driver", "smt", "transparent_hugepages",
    "memory_bytes", "clocksource", "aslr",
)  # fmt: skip

_PROCESSOR: Final = ("machine", "cpu_model", "cpus")

_SETTINGS: Final = {
    "kernel": "kernel", "governor": "CPU governor", "turbo": "turbo", "smt": "simultaneous multithreading",
    "transparent_hugepages": "transparent huge pages", "memory_bytes": "memory", "aslr": "address space randomisation",
}  # fmt: skip
"""What may move results on processors of one kind, and its name for people."""

_SAME_MEMORY: Final = 0.02
"""Machines with the same modules report a little more or less, by what firmware keeps."""

NOT_KNOWN: Final = "not known"


def facts_of(nodes: Sequence[Node], names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Of each of these nodes its facts in words; of one whose facts have changed all of them, in order."""
    found: dict[str, dict[str, str]] = {}
    memory = [
        facts["memory_bytes"] for facts in (n.facts for n in nodes if n.name in names) if facts.get("memory_bytes")
    ]
    alike = bool(memory) and max(memory) <= (1 + _SAME_MEMORY) * min(memory)
    for name in names:
        own = [node.facts for node in nodes if node.name == name]
        if alike:
            own = [{**facts, "memory_bytes": max(memory)} for facts in own]
        found[name] = {
            key: "; then ".join(dict.fromkeys(_said(key, facts.get(key)) for facts in own)) or NOT_KNOWN
            for key in _FACTS
        }
    return found


def differing(facts: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The facts in which the nodes differ."""
    return [key for key in _FACTS if len({own[key] for own in facts.values()} - {NOT_KNOWN}) > 1]


def warnings(nodes: Sequence[Node], executions: Sequence[Execution]) -> list[str]:
    """About unlike processors, settings that differ, facts that changed, and paths of different lengths."""
    used = sorted({execution.node or HOME for execution in executions})
    facts = facts_of(nodes, used)
    said = []
    processors = _groups({name: ", ".join(own[key] for key in _PROCESSOR) for name, own in facts.items()})
    if len(processors) > 1:
        said.append(
            f"unlike processors are analysed together, as cluster.measure.unlike_cpus has it: {_listed(processors)}; "
            "what one layout does on one of them it may not do on another, so the numbers are those of this mix"
        )
    for key, name in _SETTINGS.items():
        values = _groups({node: own[key] for node, own in facts.items()})
        if len(values) > 1:
            said.append(
                f"nodes differ in {name}: {_listed(values)}; what that adds is part of the nodes' effects and taken "
                "out with them, but not what it does to some layouts alone"
            )
    changed = [
        f"{name} ({', '.join(key for key in _SETTINGS if '; then ' in own[key])})"
        for name, own in facts.items()
        if any("; then " in own[key] for key in _SETTINGS)
    ]
    if changed:
        said.append(f"changed while the experiment ran: {', '.join(changed)}; a node is taken for the same throughout")
    return [*said, *_paths(executions)]


def _paths(executions: Sequence[Execution]) -> list[str]:
    """Longer paths of the directory that a program runs in move its stack."""
    lengths: dict[str, str] = {}
    for execution in executions:
        workplace = execution.conditions.get("workplace")
        if isinstance(workplace, str):
            own = f"{len(workplace.encode())} bytes"
            lengths[execution.node or HOME] = own
    groups = _groups(lengths)
    if len(groups) < 2:
        return []
    return [
        f"programs ran under paths of different lengths: {_listed(groups)}; their stacks lie at different addresses on "
        "these nodes, which counts as what the nodes add; a directory of one path on all nodes avoids that"
    ]


def _groups(values: Mapping[str, str]) -> dict[str, list[str]]:
    """Value -> the nodes that have it; without those of which it is not known."""
    found: dict[str, list[str]] = {}
    for name, value in values.items():
        if NOT_KNOWN not in value:
            found.setdefault(value, []).append(name)
    return found


def _listed(groups: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(
        f"{value} ({', '.join(names[:4])}{f' and {len(names) - 4} more' if len(names) > 4 else ''})"
        for value, names in groups.items()
    )


def _said(key: str, value: Any) -> str:
    if value is None:
        return NOT_KNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key == "memory_bytes" and isinstance(value, int):
        return f"{value / 2**30:.3g} GiB"
    return str(value)
