"""Names for people: the labels that layoutrand.toml gives systems and benchmarks, in all that is not read by programs.

Documents keep the names, by which commands and scripts know everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar

from layoutrand.config.config import Config
from layoutrand.config.twice import first_of, is_second, second_of

_Named = TypeVar("_Named")


@dataclass(frozen=True)
class DisplayNames:
    """Name -> label, of what has one."""

    systems: Mapping[str, str] = field(default_factory=dict)
    benchmarks: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Config) -> DisplayNames:
        """What a configuration says; a system that is executed twice has its label twice."""
        systems = {}
        for name, system in config.systems.items():
            if system.label is not None:
                systems[name] = second_of(system.label) if is_second(name) else system.label
        return cls(systems, {each.name: each.label for each in config.benchmarks if each.label is not None})

    def with_systems(self, called: Mapping[str, str]) -> DisplayNames:
        """The same with further systems, or other labels of them: name -> label."""
        return DisplayNames({**self.systems, **called}, self.benchmarks) if called else self

    def system(self, name: str) -> str:
        """The label of a system, or its name."""
        return self.systems.get(name, name)

    def benchmark(self, name: str) -> str:
        """The label of a benchmark, or its name."""
        return self.benchmarks.get(name, name)

    def name_of(self, system: str) -> str:
        """The name of a system, by its label or itself: what commands take."""
        return next((name for name, label in self.systems.items() if label == system), system)

    def with_name(self, system: str) -> str:
        """``Optimised (O3)``: a system's label with its name, or the name alone."""
        label = self.system(system)
        return system if label == system else f"{label} ({first_of(system)})"

    def benchmark_with_name(self, benchmark: str) -> str:
        """The same of a benchmark."""
        label = self.benchmark(benchmark)
        return benchmark if label == benchmark else f"{label} ({benchmark})"

    def given(self, value: _Named) -> _Named:
        """A frozen value that names systems and benchmarks in its fields, with their labels there."""
        return _renamed(value, self) if self.systems or self.benchmarks else value

    def given_each(self, values: Iterable[_Named]) -> tuple[_Named, ...]:
        """The same of several."""
        return tuple(map(self.given, values))


def labels_json(names: DisplayNames) -> dict[str, dict[str, str]]:
    """The value of the key ``labels`` of documents: name -> label of what has one."""
    return {"systems": dict(names.systems), "benchmarks": dict(names.benchmarks)}


def _renamed(value: Any, names: DisplayNames) -> Any:
    ways: Mapping[str, Callable[[str], str]] = {
        "system": names.system,
        "systems": names.system,
        "baseline": names.system,
        "candidate": names.system,
        "of": names.system,
        "benchmark": names.benchmark,
    }
    changed = {}
    for each in fields(value):
        old = getattr(value, each.name)
        if each.name in ways:
            changed[each.name] = _mapped(old, ways[each.name])
        elif each.name == "by_system":
            changed[each.name] = tuple((names.system(system), told) for system, told in old)
        elif each.name == "row" and is_dataclass(old):
            changed[each.name] = _renamed(old, names)
    return replace(value, **changed)


def _mapped(value: Any, label: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return label(value)
    if isinstance(value, Mapping):
        return {label(name): each for name, each in value.items()}
    if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
        return tuple(map(label, value))
    return value
