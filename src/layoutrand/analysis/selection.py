"""From the results file to samples: which executions belong together, and which are left out, with the reason.

Results of different captures, layout policies, hosts or protocols are never mixed.  What is left out is said.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from layoutrand.analysis.analysis_warnings import (
    EarlierDefinition,
    ExecutedAgain,
    ExecutedInSequence,
    LeftOutExecutions,
    OtherCaptures,
    PrebuiltSystems,
    RebuiltBinaries,
)
from layoutrand.analysis.beside_files import Programs, programs
from layoutrand.analysis.damage_warnings import damaged_results
from layoutrand.analysis.display_names import DisplayNames
from layoutrand.analysis.present_captures import Recorded, WantedCaptures, choose_captures, made_from, source_of
from layoutrand.analysis.sample import Sample, samples_of
from layoutrand.analysis.unlike_starts import without_other_starts
from layoutrand.build.coincidence import CoincidingSystems, recorded_coincidence
from layoutrand.config.config import Benchmark, Config, choose
from layoutrand.config.disturbance import Disturbed, Watched, summary
from layoutrand.config.execution_warnings import DisturbedExecutions, MachineWarning, mixed_settings
from layoutrand.config.mixed_conditions import launched_executions, mixed_cpus, mixed_isolation, mixed_program_files
from layoutrand.config.twice import second_of
from layoutrand.errors import AnalysisError
from layoutrand.execute import experiment as experiments
from layoutrand.execute.cases import CasesOfHarnesses, processes
from layoutrand.execute.iterations import all_warmup, read_now
from layoutrand.execute.named_inputs import unlike_work
from layoutrand.execute.own_measurements import measuring_themselves
from layoutrand.execute.unlike_outputs import Printed, outputs_of, printed_by
from layoutrand.harnesses.case_names import entry_of
from layoutrand.harnesses.command_words import has_words_for_one
from layoutrand.host.attempts import that_count
from layoutrand.instruments.asked_for import primary_metric
from layoutrand.instruments.known import simulated
from layoutrand.model import (
    BinaryName,
    BuildFailure,
    Context,
    Execution,
    Experiment,
    Node,
)
from layoutrand.results.experiments import ResultsStore
from layoutrand.warning import AnyWarning, plural, sentences_of


@dataclass(frozen=True)
class Question:
    """What to analyse: names of systems and benchmarks, each empty for all.

    ``captures`` maps systems to capture ids; a system that is not in it is analysed by the capture that the last
    `layoutrand run` with it was about.
    ``wanted`` says which other captures are taken than those of the present configuration and source.
    ``host`` is the name of the machine whose results to take, None for this one.
    """

    config: Config
    project: Path
    systems: Sequence[str]
    benchmarks: Sequence[str]
    captures: Mapping[str, str]
    host: str | None
    wanted: WantedCaptures = field(default_factory=WantedCaptures)


@dataclass(frozen=True)
class Source:
    """A file that was imported, its format, the systems that it holds, and the binary it is of where that was said."""

    file: str
    format: str
    systems: tuple[str, ...]
    binary: BinaryName | None


@dataclass(frozen=True)
class Selection:
    """The samples of one experiment, their executions, the failures among these and among builds, what was left out.

    ``sources`` are the files it was imported from; empty for what layoutrand executed itself.  ``nodes`` are
    those of a cluster that it was executed on; empty where it was executed here.  ``programs`` says what tells the
    systems' programs apart beside their files, ``made`` of which commit or files each system was built, in words, and
    ``tools`` with which compilers and linker.
    ``names`` are the labels of systems and benchmarks (`analysis/display_names.py`), ``coinciding`` what of reconciled
    layouts lies at the same addresses, ``host_facts`` what was recorded of the machine last.  ``never_alone`` are
    benchmarks that are cases of a harness which cannot execute one of them, so that there is no profile of it.
    ``by_run`` where `layoutrand run` executed it, and may execute more of it; ``at_home`` unless it was imported where
    no project is that could have exported it.  ``benchmarks`` are the configured ones, each case of a
    harness one of them.  ``felt`` are imported executions, where the files say what disturbed each.
    ``executions_now`` is how often `run` would execute each binary, None where it would execute none of these.
    """

    experiment: Experiment
    samples: tuple[Sample, ...]
    executions: tuple[Execution, ...]
    failures: tuple[Execution, ...]
    build_failures: tuple[BuildFailure, ...]
    warnings: tuple[AnyWarning, ...]
    sources: tuple[Source, ...] = ()
    nodes: tuple[Node, ...] = ()
    programs: Programs = field(default_factory=Programs)
    made: Mapping[str, str] = field(default_factory=dict)
    names: DisplayNames = field(default_factory=DisplayNames)
    coinciding: tuple[CoincidingSystems, ...] = ()
    host_facts: Mapping[str, Any] = field(default_factory=dict)
    never_alone: frozenset[str] = frozenset()
    by_run: bool = True
    at_home: bool = True
    felt: tuple[Watched, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)
    benchmarks: tuple[Benchmark, ...] = ()
    executions_now: int | None = None

    @cached_property
    def printed(self) -> Printed:
        """What the executions printed."""
        return printed_by(self.executions)

    @property
    def at_random(self) -> bool:
        """Whether all executions were made in one random order, in which a round has no time of its own."""
        return not self.sources and "order-random" in json.loads(self.experiment.randomise)

    @property
    def in_sequence(self) -> bool:
        """Whether systems were executed one after the other."""
        return not self.sources and "order-sequential" in json.loads(self.experiment.randomise)

    @property
    def left_out(self) -> tuple[LeftOutExecutions, ...]:
        """Those of the warnings that are about executions which were recorded but are not in the samples."""
        return tuple(each for each in self.warnings if isinstance(each, LeftOutExecutions))

    def warnings_for(self, instruments: Iterable[str]) -> list[AnyWarning]:
        """The warnings about numbers of these instruments: nothing on the machine disturbs a simulated processor."""
        undisturbed = simulated().issuperset(instruments)
        return [each for each in self.warnings if not (undisturbed and isinstance(each, MachineWarning))]

    def disturbed(self, instruments: Iterable[str], systems: Collection[str] = ()) -> tuple[Disturbed, ...]:
        """What disturbed numbers of these instruments, of these systems or of all."""
        if simulated().issuperset(instruments):
            return ()
        return summary((e for e in self.felt or self.executions if not systems or e.system in systems), simulated())


def select(question: Question, store: ResultsStore) -> Selection:
    """Choose what belongs to the question.

    Raises `AnalysisError` that lists what the file has where nothing belongs, `UsageError` for an unknown name and
    `ConfigError` for a missing input file of a benchmark.
    """
    config = question.config
    systems = choose("system", list(question.systems), list(config.systems))
    if not any(benchmark.metric.by_case for benchmark in config.benchmarks):  # else names are known by what is recorded
        choose("benchmark", list(question.benchmarks), [benchmark.name for benchmark in config.benchmarks])
    experiment, merged = recorded_experiment(question, store)
    here = experiments.current_experiment(config.here())
    # What is warm-up may be set for a host, and of pools that are analysed together each has a name of its own.
    pools = [(each.hostname, read_now(store.executions(each), config, each.hostname)) for each in merged]
    cases = CasesOfHarnesses.of(config, [execution for _, own in pools for execution in own])
    config, pools = cases.configuration(), [(host, cases.split(own)) for host, own in pools]
    names = choose("benchmark", cases.names(question.benchmarks), [benchmark.name for benchmark in config.benchmarks])
    benchmarks = [benchmark for benchmark in config.benchmarks if benchmark.name in names]
    definitions = cases.definitions(experiments.definitions(question.config, cases.entries(names), question.project))
    everything = [execution for _, own in pools for execution in own]
    wanted = [e for e in everything if e.system in systems and e.benchmark in names]
    warnings: list[AnyWarning] = [*_executed_again(everything, systems)]
    current = {system: capture for each in merged for system, capture in store.current_captures(each).items()}
    current = {e.system: e.capture for e in wanted if current.get(e.system) == e.capture}
    contexts = [context for each in merged for context in store.contexts(each)]
    made = made_from(contexts)
    of_here = any(each.host == here.host or (experiments.is_pool(each) and question.host is None) for each in merged)
    prebuilt = [name for name in systems if config.systems[name].prebuilt is not None]
    recorded = Recorded(wanted, made, current, is_of_here=of_here, prebuilt=prebuilt)
    current = choose_captures(recorded, question.wanted, question.systems, warnings)
    kept = _current_captures(that_count(wanted, experiments.slot_values), {**current, **question.captures}, warnings)
    kept = current_definitions(kept, definitions, warnings)
    kept = without_other_starts(current_binaries(kept, warnings), warnings)
    if not kept:
        raise _nothing_left(experiment, everything, systems, names, [*warnings, *damaged_results(store)])
    for hostname, own in pools:
        there = {id(execution) for execution in own}
        warnings += all_warmup([execution for execution in kept if id(execution) in there], config, hostname)
    warnings += [ExecutedInSequence()] if config.order() == "sequential" and len(systems) > 1 else []
    warnings += _in_one_layout(config, systems)
    captures = {execution.system: execution.capture for execution in kept}
    primary = {benchmark.name: primary_metric(benchmark) for benchmark in benchmarks}
    build_failures = tuple(dict.fromkeys(f for each in merged for f in store.build_failures(each, captures)))
    nodes = tuple(node for each in merged for node in store.nodes(each))
    warnings += damaged_results(store)  # by now all has been read
    warnings += _of_host(kept, config)
    by_name = {each.name: each for each in benchmarks}
    warnings += measuring_themselves(kept, by_name, question.project)
    if of_here:
        printed, read = unlike_work(kept, by_name, question.project)
        warnings += [*printed, *read]
    else:  # times of files say nothing of another machine's
        warnings += outputs_of(kept, question.project)
    return Selection(
        experiment=experiment,
        samples=tuple(samples_of([e for e in kept if e.status == "ok"], primary, systems, benchmarks, config)),
        executions=tuple(kept),
        failures=tuple(execution for execution in kept if execution.status != "ok"),
        build_failures=build_failures,
        warnings=tuple(warnings),
        nodes=nodes,
        programs=programs(config, benchmarks),
        made={system: source_of(made, system, capture) for system, capture in captures.items()},
        names=DisplayNames.of(config),
        coinciding=_coinciding(contexts, captures.values()),
        host_facts=contexts[-1].host_facts if contexts else {},
        never_alone=frozenset(_never_alone(names, question.config)),
        benchmarks=tuple(benchmarks),
        tools=_tools(contexts, captures),
        executions_now=config.run.executions,
    )


def _tools(contexts: Sequence[Context], captures: Mapping[str, str]) -> dict[str, str]:
    """System -> the compilers and the linker that made its binaries, in words, where that was recorded."""
    made = {name: each for context in contexts for name, each in context.tools.items()}
    words = {system: (made.get(capture, {})) for system, capture in captures.items()}
    return {
        system: "; ".join(filter(None, (each.get("compilers"), each.get("linker")))) for system, each in words.items()
    }


def _coinciding(contexts: Sequence[Context], captures: Iterable[str]) -> tuple[CoincidingSystems, ...]:
    """What of reconciled layouts of these captures lies at the same addresses."""
    return tuple(recorded_coincidence(each.tools[name] for name in captures for each in contexts if name in each.tools))


def _never_alone(names: Iterable[str], config: Config) -> Iterable[str]:
    """Of these benchmarks the cases that their harness has no words for."""
    entries = {benchmark.name: benchmark for benchmark in config.benchmarks if benchmark.metric.by_case}
    for name in names:
        entry = entry_of(name, entries)
        if entry is not None and entry != name and not has_words_for_one(entries[entry], name[len(entry) + 1 :]):
            yield name


def _executed_again(everything: Sequence[Execution], systems: Sequence[str]) -> Iterable[ExecutedAgain]:
    """What `run --twice` executed of these systems a second time, where that is not asked for."""
    counts = Counter(execution.system for execution in everything)
    for system in systems:
        if (count := counts[second_of(system)]) and second_of(system) not in systems:
            yield ExecutedAgain(count, system)


def _in_one_layout(config: Config, systems: list[str]) -> list[PrebuiltSystems]:
    """What the intervals of prebuilt systems do not cover."""
    fixed = tuple(name for name in systems if name in config.in_one_layout())
    return [PrebuiltSystems(fixed)] if fixed else []


def _of_host(kept: list[Execution], config: Config) -> list[MachineWarning]:
    """What disturbed the executions, which are in the samples all the same unless they failed, and how they differ."""
    real = [execution for execution in kept if execution.instrument not in simulated()]
    disturbed = [DisturbedExecutions(row, config.run.disturbance.repeat > 0) for row in summary(kept, simulated())]
    mixed = [each for find in (mixed_settings, mixed_cpus, mixed_isolation, mixed_program_files) for each in find(real)]
    return [*disturbed, *mixed, *launched_executions(real)]


def recorded_experiment(question: Question, store: ResultsStore) -> tuple[Experiment, list[Experiment]]:
    """The recorded experiment that the configuration describes, on the host asked for, and those that it is made of.

    With a cluster configured it is the one executed on nodes; several of them where these may be unlike.
    """
    recorded = [(experiment, count) for experiment, count in store.experiments() if count]
    current = experiments.current_experiment(question.config)
    here = experiments.current_experiment(question.config.here())
    remote = question.config.remote
    found = []
    for experiment, _ in recorded:
        pool = experiments.is_pool(experiment)
        if question.host is not None:
            same_host = question.host in {experiment.hostname, experiment.host}
        else:
            same_host = experiment.host == current.host if remote is None else pool
        if same_host and experiments.same_question(experiment, current if pool else here):
            found.append(experiment)
    if len(found) > 1 and remote is not None and question.host is None:
        if not remote.measure.unlike_cpus:
            raise AnalysisError(unlike([(e, count) for e, count in recorded if e in found]))
        together = " and ".join(sorted(experiment.hostname for experiment in found))
        return replace(found[-1], hostname=together), found
    if found:
        return found[-1], found[-1:]
    if not recorded and store.damaged:
        raise AnalysisError(f"{store.path} holds no experiment that is as it was recorded; `layoutrand results verify`")
    if not recorded:
        raise AnalysisError(f"{store.path} holds no executions yet; make some with `layoutrand run`")
    host = question.host or (current.hostname if question.config.remote is None else "any nodes")
    lines = [
        f"{store.path} holds no results for this configuration:",
        f"    project {current.project}, layout {current.policy}, randomise {current.randomise}, "
        f"protocol {current.protocol}, host {host}",
        "It has:",
        *(
            f"  - {plural(count, 'execution')}: project {e.project}, layout {e.policy}, randomise {e.randomise}, "
            f"protocol {e.protocol}, host {e.hostname}"
            for e, count in recorded
        ),
        "Execute this configuration with `layoutrand run`, set layoutrand.toml to one of these, or name their host.",
    ]
    raise AnalysisError("\n".join(lines))


def unlike(pools: Sequence[tuple[Experiment, int]]) -> str:
    """What to say where unlike pools would have to be mixed: (pool, its executions)."""
    return "\n".join(
        [
            "executed on nodes with unlike processors, which are not analysed together unless you say so:",
            *(f"  - {plural(count, 'execution')}: {experiment.hostname}" for experiment, count in pools),
            "Name one with --host, or set unlike_cpus = true under [cluster.measure].",
        ]
    )


# Clocks of nodes may differ, and a node may end what it was asked for before the source was changed: what the last call
# was about is recorded, and when an execution began matters only where that call has executed nothing of a system yet.
def _current_captures(
    executions: list[Execution], captures: Mapping[str, str], warnings: list[AnyWarning]
) -> list[Execution]:
    latest = {execution.system: execution.capture for execution in sorted(executions, key=lambda e: e.started_at)}
    wanted = latest | {system: capture for system, capture in captures.items() if system in latest}
    kept = [execution for execution in executions if execution.capture == wanted[execution.system]]
    for system in wanted:
        left_out = [e for e in executions if e.system == system and e.capture != wanted[system]]
        if left_out and wanted[system]:  # what has no present capture was told of whole
            n_captures = len({execution.capture for execution in left_out})
            warnings.append(OtherCaptures(processes(left_out), system, n_captures, wanted[system]))
    return kept


def current_definitions(
    executions: list[Execution], definitions: Mapping[tuple[str, str], str], warnings: list[AnyWarning]
) -> list[Execution]:
    """Those of the benchmarks as they are defined now."""
    kept, left_out = [], dict[str, int]()
    for execution in executions:
        current = definitions.get((execution.benchmark, execution.instrument))
        if execution.definition == current:
            kept.append(execution)
        elif current is not None:
            left_out[execution.benchmark] = left_out.get(execution.benchmark, 0) + 1
    alike: dict[int, list[str]] = {}
    for benchmark, count in left_out.items():
        alike.setdefault(count, []).append(benchmark)
    warnings += [EarlierDefinition(count, tuple(benchmarks)) for count, benchmarks in alike.items()]
    return kept


def current_binaries(executions: list[Execution], warnings: list[AnyWarning]) -> list[Execution]:
    """A layout linked anew into other bytes is another binary: only the one executed last counts."""
    latest = {
        (e.system, e.benchmark, e.layout): e.binary_sha256 for e in sorted(executions, key=lambda e: e.started_at)
    }
    kept = [e for e in executions if e.binary_sha256 == latest[e.system, e.benchmark, e.layout]]
    if len(kept) < len(executions):
        warnings.append(RebuiltBinaries(len(executions) - len(kept)))
    return kept


def _nothing_left(
    experiment: Experiment,
    everything: list[Execution],
    systems: list[str],
    names: list[str],
    warnings: list[AnyWarning],
) -> AnalysisError:
    counts: dict[tuple[str, str, str], int] = {}
    for execution in everything:
        key = (execution.system, execution.benchmark, execution.capture[:12])
        counts[key] = counts.get(key, 0) + 1
    lines = [
        f"no results of {', '.join(names)} with {', '.join(systems)} as configured now. {experiment.hostname} has:",
        *(
            f"  - {plural(n, 'execution')} of {b} with system {s}, capture {c}"
            for (s, b, c), n in sorted(counts.items())
        ),
        *sentences_of(warnings),
        "Execute them with `layoutrand run`.",
    ]
    return AnalysisError("\n".join(lines))
