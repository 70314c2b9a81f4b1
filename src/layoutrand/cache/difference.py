"""Two sets of facts compared part by part: what a key was made of then, and what it is made of now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Change = Literal["same", "changed", "added", "removed"]


@dataclass(frozen=True)
class Part:
    """One part of a key by its dotted name (``tools.cc.version``), and what became of it; None for not there."""

    name: str
    change: Change
    was: Any
    now: Any


@dataclass(frozen=True)
class FileChanges:
    """Names of files by what became of them, sorted."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


def compare(was: Mapping[str, Any] | None, now: Mapping[str, Any]) -> list[Part]:
    """Every part of ``now`` in its order, then those that only ``was`` has; all are added where there is nothing else.

    Tables are taken apart, whatever keys they have; any other value, a list for one, is one part.
    """
    before = dict(_leaves(was or {}, ()))
    after = dict(_leaves(now, ()))
    parts = [_part(name, before, after) for name in after]
    return parts + [Part(name, "removed", value, None) for name, value in before.items() if name not in after]


def _part(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Part:
    if name not in before:
        return Part(name, "added", None, after[name])
    return Part(name, "same" if before[name] == after[name] else "changed", before[name], after[name])


def _leaves(facts: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for key, value in facts.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*above, key))
        else:
            yield ".".join((*above, key)), value


def compare_files(was: Mapping[str, str], now: Mapping[str, str]) -> FileChanges:
    """What became of each file; both map names to contents."""
    return FileChanges(
        added=tuple(sorted(now.keys() - was.keys())),
        removed=tuple(sorted(was.keys() - now.keys())),
        changed=tuple(sorted(name for name in now.keys() & was.keys() if now[name] != was[name])),
    )


def unchanged(parts: list[Part]) -> list[str]:
    """Names of what is the same, as short as can be: a table's own name where all its parts are."""
    first: dict[str, list[Part]] = {}
    for part in parts:
        first.setdefault(part.name.split(".", 1)[0], []).append(part)
    names: list[str] = []
    for name, group in first.items():
        same = [part.name for part in group if part.change == "same"]
        names += [name] if len(same) == len(group) else same
    return names
