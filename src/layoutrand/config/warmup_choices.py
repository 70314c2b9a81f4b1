"""``[[warmup]]``: how many iterations a person found to be warm-up, on some host or with some system.

Start-up depends on the machine and on what executes the program (a virtual machine that compiles as it goes is a
*system* here), so a benchmark's ``metric.warmup`` may be too few on one and too many on another.  Like that setting, an
entry decides only how results are read: it is no part of what an execution is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import Field

from layoutrand.config.metric import Metric, Warmup
from layoutrand.config.problems import suggest
from layoutrand.text.strict_table import Name, StrictTable

DEFAULT: Final = "default"


class ChosenWarmup(StrictTable):
    """One of ``[[warmup]]``: the choice for a benchmark, on one host and of one system where these are given.

    ``host`` is the name of the machine as it is recorded with the results.
    """

    benchmark: Name
    iterations: Warmup
    host: Annotated[str, Field(min_length=1)] | None = None
    system: Name | None = None

    def is_for(self, place: WarmupScope) -> bool:
        """Whether the choice holds for these executions."""
        named = (self.system in {None, place.system}, self.host in {None, place.host})
        return self.benchmark == place.benchmark and all(named)


@dataclass(frozen=True)
class WarmupScope:
    """Which executions are meant: of a benchmark, with a system, on the host of that name."""

    benchmark: str
    system: str
    host: str


@dataclass(frozen=True)
class InForce:
    """How many iterations are warm-up, and the setting that says so, as its key path (`DEFAULT` where none does)."""

    iterations: int
    setting: str


def warmups_in_force(chosen: Sequence[ChosenWarmup], metric: Metric, place: WarmupScope) -> dict[str, InForce]:
    """Metric -> what holds for it at this place, for each number that the program prints.

    A number with a ``warmup`` of its own keeps it.  For the others the most specific entry of ``chosen`` holds: one for
    system and host, else one for the system, else one for the host, else one for the benchmark alone; else
    ``metric.warmup``, which is ``suite.warmup`` where the benchmark is of a suite.
    """
    own = "metric.warmup" if metric.suite is None else "suite.warmup"
    general = InForce(metric.warmup, own if "warmup" in metric.model_fields_set else DEFAULT)
    entries = [(number, entry) for number, entry in enumerate(chosen) if entry.is_for(place)]
    if entries:
        number, entry = max(entries, key=lambda each: (each[1].system is not None, each[1].host is not None))
        general = InForce(entry.iterations, f"warmup[{number}].iterations")
    return {
        number.name: general if number.warmup is None else InForce(number.warmup, f"{key}.warmup")
        for key, number in metric.numbers().items()
    }


def wrong_choices(entries: object, benchmarks: list[str] | None, systems: list[str] | None) -> Iterator[str]:
    """What is wrong between ``[[warmup]]``, as it stands in the file, and these names; None where they are not known.

    Names of hosts are not checked: they are those of any machine that results come from.
    """
    known = {"benchmark": benchmarks, "system": systems}
    seen: dict[tuple[Any, ...], int] = {}
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, Mapping):
            continue
        for kind, names in known.items():
            name = entry.get(kind)
            if isinstance(name, str) and names is not None and name not in names:
                there_are = suggest(name, names) or f"; there are {', '.join(names) or 'none'}"
                yield f"warmup[{number}].{kind}: no {kind} called {name!r}{there_are}"
        keys = tuple(entry.get(key) for key in ("benchmark", "host", "system"))
        if not all(key is None or isinstance(key, str) for key in keys):
            continue
        if keys in seen:
            yield f"warmup[{number}]: warmup[{seen[keys]}] is for the same benchmark, host and system; keep one"
        seen.setdefault(keys, number)
