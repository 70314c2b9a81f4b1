"""`layoutrand warmup --write`: the suggestion becomes a setting, for a benchmark or for a host or system alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.analysis.warmup_command import Warmup
from layoutrand.analysis.warmup_warnings import NoSteadyState, OverruledWarmup, OwnWarmup
from layoutrand.config.config import Config, parse
from layoutrand.config.settings import with_chosen_warmup, with_warmup
from layoutrand.execute.iterations import warmups_of
from layoutrand.warning import AnyWarning

_ENTRY: Final = "[[warmup]] iterations"


@dataclass(frozen=True)
class Scope:
    """What the choice is for: one ``host`` or None for all, each system ``by_system`` or one value for all of them."""

    host: str | None = None
    by_system: bool = False

    @property
    def is_everywhere(self) -> bool:
        """Whether the choice is that of the benchmark itself, ``metric.warmup``."""
        return self.host is None and not self.by_system

    def words(self, system: str | None) -> str:
        """``on host h with system s``."""
        host = "" if self.host is None else f" on host {self.host}"
        return host if system is None else f"{host} with system {system}"


@dataclass(frozen=True)
class Chosen:
    """The new ``text`` of layoutrand.toml, what changed in it, and what did not or has no effect."""

    text: str
    written: tuple[str, ...]
    warnings: tuple[AnyWarning, ...]


def choose_suggested(text: str, path: str, config: Config, found: Sequence[Warmup], scope: Scope, here: str) -> Chosen:
    """Set the largest suggestion over the systems that share a setting.

    ``config`` is what ``text``, the file called ``path``, says so far; ``here`` names the host that was looked at.
    Where one of the systems reaches no steady state, nothing is set.  The benchmarks of a suite have no table of their
    own in the file, so their setting is an entry of ``[[warmup]]`` always.
    """
    numbers = {benchmark.name: benchmark.metric.numbers() for benchmark in config.benchmarks}
    written: list[str] = []
    warnings: list[AnyWarning] = []
    set_now: dict[Warmup, str] = {}
    for (benchmark, metric, system), together in _together(found, scope).items():
        counts = [each.suggested for each in together]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            missing = [each for each in together if each.suggested is None]
            few = all("initialised" in each.too_few for each in missing)
            warnings.append(NoSteadyState(benchmark, system, too_few=few))
            continue
        key, own = next((key, n.warmup is not None) for key, n in numbers[benchmark].items() if n.name == metric)
        if own and not scope.is_everywhere:
            warnings.append(OwnWarmup(benchmark, system, metric, key))
            continue
        if scope.is_everywhere and config.suite is None:
            setting = f"{key if own else 'metric'}.warmup"
            text = with_warmup(text, benchmark, max(known), printed=metric if own else None)
        else:
            setting = _ENTRY
            text = with_chosen_warmup(text, benchmark, max(known), host=scope.host, system=system)
        others = [n.name for n in numbers[benchmark].values() if n.name != metric and n.warmup is None]
        shared = f" (for {', '.join([metric, *others])})" if others and not own else ""
        written.append(f"{benchmark}: {setting} = {max(known)}{scope.words(system)}{shared}")
        set_now |= dict.fromkeys(together, setting)
    now = parse(text, path=path)
    if config.suite is not None:  # whose benchmarks the text alone does not tell
        now = config.model_copy(update={"warmup": now.warmup})
    return Chosen(text, tuple(written), (*warnings, *_overruled(now, set_now, scope, here)))


def _together(found: Sequence[Warmup], scope: Scope) -> Mapping[tuple[str, str, str | None], list[Warmup]]:
    """(Entry, number, system or None for all) -> those that one setting is for."""
    together: dict[tuple[str, str, str | None], list[Warmup]] = {}
    for each in found:
        together.setdefault((each.entry, each.number, each.system if scope.by_system else None), []).append(each)
    return together


def _overruled(config: Config, set_now: Mapping[Warmup, str], scope: Scope, here: str) -> list[AnyWarning]:
    """Warnings where a more specific entry than the one just written holds all the same."""
    benchmarks = {benchmark.name: benchmark for benchmark in config.benchmarks}
    warnings: list[AnyWarning] = []
    for each, setting in set_now.items():
        now = warmups_of(config, benchmarks[each.entry], each.system, here)[each.number]
        keys = (each.entry, scope.host, each.system if scope.by_system else None)
        entries = [(entry.benchmark, entry.host, entry.system) for entry in config.warmup]
        expected = f"warmup[{entries.index(keys)}].iterations" if setting == _ENTRY else setting
        if now.setting != expected:
            warnings.append(OverruledWarmup(each.entry, each.system, now.setting, now.iterations, here))
    return warnings
