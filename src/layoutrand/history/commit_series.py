"""Recorded executions by commit: one sample for each program that was built of a system, with the commits it is of.

What differs in more than the commit (machine, tools, flags, how executions are made, the benchmark) is never mixed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from layoutrand.analysis.asked_results import Question, recorded_experiment
from layoutrand.analysis.current_executions import current_binaries, current_definitions
from layoutrand.analysis.damage_warnings import damaged_results
from layoutrand.analysis.present_captures import made_from
from layoutrand.analysis.sample import Sample, samples_of
from layoutrand.analysis.unlike_starts import most_started_with
from layoutrand.build.present_parts import PresentSystem
from layoutrand.config.at_commits import declared
from layoutrand.config.config import choose
from layoutrand.config.twice import is_second
from layoutrand.execute import experiment as experiments
from layoutrand.execute.cases import CasesOfHarnesses
from layoutrand.execute.iterations import read_now
from layoutrand.history.history_warnings import (
    ChangedTrees,
    ElsewhereLeftOut,
    OtherToolsLeftOut,
    WithoutCommit,
)
from layoutrand.host.attempts import that_count
from layoutrand.instruments.asked_for import primary_metric
from layoutrand.model import BuiltFrom, Execution, Experiment
from layoutrand.results.experiments import ResultsStore
from layoutrand.warning import AnyWarning

_OF_THE_COMMIT = "source"
"""The part of what a capture is made from that may differ."""


@dataclass(frozen=True)
class ProgramSamples:
    """What was measured of one capture of a system: ``built`` says of which commits, ``samples`` are by metric."""

    system: str
    capture: str
    built: tuple[BuiltFrom, ...]
    samples: tuple[Sample, ...]
    executions: tuple[Execution, ...]

    @property
    def commits(self) -> dict[str, BuiltFrom]:
        """The commits whose program it is."""
        return {each.commit: each for each in self.built if each.commit and each.dirty is False}


@dataclass(frozen=True)
class RecordedCommits:
    """All programs of commits that belong together, the experiment, and what was left out."""

    experiment: Experiment
    programs: tuple[ProgramSamples, ...]
    warnings: tuple[AnyWarning, ...]


def recorded_commits(question: Question, store: ResultsStore) -> RecordedCommits:
    """What the results have of commits of the systems and benchmarks asked for.

    Raises as `layoutrand.analysis.selection.select` does; programs may be none.
    """
    config = question.config
    systems = choose("system", list(question.systems), list(config.systems))
    experiment, merged = recorded_experiment(question, store)
    recorded = [(each.hostname, store.executions(each)) for each in merged]
    cases = CasesOfHarnesses.of(config, [execution for _, own in recorded for execution in own])
    config = cases.configuration()
    names = choose("benchmark", cases.names(question.benchmarks), [benchmark.name for benchmark in config.benchmarks])
    benchmarks = [benchmark for benchmark in config.benchmarks if benchmark.name in names]
    entries = cases.entries(names)
    definitions = cases.definitions(experiments.definitions(question.config, entries, question.project))
    of_entries = [entry.name for entry in entries]
    warnings: list[AnyWarning] = [*_elsewhere(store, merged, systems, of_entries)]
    kept = [
        execution
        for hostname, own in recorded
        for execution in cases.split(_as_declared(own, of_entries, systems, question, hostname))
        if execution.benchmark in names
    ]
    kept = current_definitions(kept, definitions, warnings)
    made = _made(store, merged)
    grouped: dict[str, dict[str, list[Execution]]] = {}
    for execution in kept:
        grouped.setdefault(execution.system, {}).setdefault(execution.capture, []).append(execution)
    primary = {benchmark.name: primary_metric(benchmark) for benchmark in benchmarks}
    programs = []
    for system in systems:
        own = grouped.get(system, {})
        for capture in _comparable(system, own, made, warnings):
            executions = current_binaries(own[capture], warnings)
            fine = [execution for execution in executions if execution.status == "ok"]
            samples = samples_of(fine, primary, [system], benchmarks, config)
            built = tuple(made[system, capture])
            programs.append(ProgramSamples(system, capture, built, tuple(samples), tuple(executions)))
    warnings += damaged_results(store)
    return RecordedCommits(experiment, tuple(programs), tuple(dict.fromkeys(warnings)))


def _as_declared(
    executions: Sequence[Execution],
    benchmarks: Collection[str],
    systems: Collection[str],
    question: Question,
    host: str,
) -> list[Execution]:
    """The executions that count, of these systems at whatever commit, under the systems' own names."""
    mine = [
        e for e in executions if e.benchmark in benchmarks and declared(e.system) in systems and not is_second(e.system)
    ]
    counting = that_count(mine, experiments.slot_values)
    return read_now([replace(e, system=declared(e.system)) for e in counting], question.config, host)


def _made(store: ResultsStore, merged: Iterable[Experiment]) -> dict[tuple[str, str], list[BuiltFrom]]:
    """(System as declared, capture) -> what it was built from."""
    found: dict[tuple[str, str], list[BuiltFrom]] = {}
    for (system, capture), built in made_from(context for each in merged for context in store.contexts(each)).items():
        found.setdefault((declared(system), capture), []).extend(built)
    return found


def _elsewhere(
    store: ResultsStore, merged: Sequence[Experiment], systems: Collection[str], benchmarks: Collection[str]
) -> Iterable[ElsewhereLeftOut]:
    """What is left out of these systems and benchmarks: nobody misses others here, such as those of a `try`."""
    others = []
    for each in [each for each, count in store.experiments() if count and each not in merged]:
        counts = store.counts(each).items()
        mine = [n for (system, name), n in counts if name in benchmarks and declared(system) in systems]
        if mine:
            others.append((each, sum(mine)))
    hosts = {each.host for each in merged}
    other_hosts = [(each, count) for each, count in others if each.host not in hosts]
    if other_hosts:
        names = tuple(sorted({each.hostname for each, _ in other_hosts}))
        yield ElsewhereLeftOut(sum(count for _, count in other_hosts), names)
    if settings := sum(count for each, count in others if each.host in hosts):
        yield ElsewhereLeftOut(settings, ())


def _comparable(
    system: str,
    own: Mapping[str, Sequence[Execution]],
    made: Mapping[tuple[str, str], Sequence[BuiltFrom]],
    warnings: list[AnyWarning],
) -> list[str]:
    """The captures of clean commits that were made with the tools and flags, and started as, the last one was."""
    told = [capture for capture in own if any(each.commit for each in made.get((system, capture), ()))]
    clean = [capture for capture in told if any(each.commit and each.dirty is False for each in made[system, capture])]
    if count := sum(len(own[capture]) for capture in own if capture not in told):
        warnings.append(WithoutCommit(count, system))
    if count := sum(len(own[capture]) for capture in told if capture not in clean):
        warnings.append(ChangedTrees(count, system))
    if not clean:
        return []
    last = max(clean, key=lambda capture: max(each.started_at for each in own[capture]))
    now = PresentSystem(_parts(made[system, last]), "")
    started = most_started_with(own[last])
    kept: list[str] = []
    others: dict[str, int] = {}
    for capture in clean:
        words = list(now.difference(_parts(made[system, capture]), is_of_here=True).parts)
        state = most_started_with(own[capture])
        words += [f"{path} was another" for path, digest in state.items() if started.get(path, digest) != digest]
        if words:
            others["; ".join(words)] = others.get("; ".join(words), 0) + len(own[capture])
        else:
            kept.append(capture)
    warnings += [OtherToolsLeftOut(count, system, words) for words, count in others.items()]
    return kept


def _parts(built: Sequence[BuiltFrom]) -> dict[str, str]:
    """What the capture was made from, without what tells commits apart."""
    found = next((each.made_from for each in built if each.made_from), {})
    return {name: value for name, value in found.items() if name != _OF_THE_COMMIT}
