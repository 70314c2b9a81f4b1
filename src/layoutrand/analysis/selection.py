"""From the results file to samples: which executions belong together, and which are left out, with the reason.

Results of different captures, layout policies, hosts or protocols are never mixed.  What is left out is said.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from layoutrand.analysis.analysis_warnings import (
    ExecutedAgain,
    ExecutedInSequence,
    LeftOutExecutions,
    PrebuiltSystems,
)
from layoutrand.analysis.asked_results import Question, recorded_experiment
from layoutrand.analysis.beside_files import Programs, programs
from layoutrand.analysis.current_executions import current_binaries, current_captures, current_definitions, nothing_left
from layoutrand.analysis.damage_warnings import damaged_results
from layoutrand.analysis.display_names import DisplayNames
from layoutrand.analysis.present_captures import Recorded, choose_captures, made_from, source_of
from layoutrand.analysis.sample import Sample, samples_of
from layoutrand.analysis.unlike_starts import without_other_starts
from layoutrand.build.coincidence import CoincidingSystems, recorded_coincidence
from layoutrand.config.config import Benchmark, Config, choose
from layoutrand.config.disturbance import Disturbed, Watched, summary
from layoutrand.config.execution_warnings import DisturbedExecutions, MachineWarning, mixed_settings
from layoutrand.config.mixed_conditions import launched_executions, mixed_cpus, mixed_isolation, mixed_program_files
from layoutrand.config.twice import second_of
from layoutrand.execute import experiment as experiments
from layoutrand.execute.cases import CasesOfHarnesses
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
    BuiltFrom,
    Context,
    Execution,
    Experiment,
    Node,
)
from layoutrand.results.experiments import ResultsStore
from layoutrand.warning import AnyWarning


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


@dataclass(frozen=True)
class _OfQuestion:
    """What is recorded of the question's experiment, each case of a harness as a benchmark of its own.

    ``merged`` are the experiments that it is made of, and ``pools`` the executions of each, by the name of its host;
    ``wanted`` are those of the systems and benchmarks asked for, which ``names`` are.  ``config`` has the cases as
    benchmarks, too.
    """

    experiment: Experiment
    merged: Sequence[Experiment]
    pools: Sequence[tuple[str, list[Execution]]]
    contexts: Sequence[Context]
    config: Config
    systems: list[str]
    names: list[str]
    benchmarks: list[Benchmark]
    definitions: Mapping[tuple[str, str], str]
    is_of_here: bool

    @cached_property
    def everything(self) -> list[Execution]:
        return [execution for _, own in self.pools for execution in own]

    @cached_property
    def wanted(self) -> list[Execution]:
        return [e for e in self.everything if e.system in self.systems and e.benchmark in self.names]

    @cached_property
    def made(self) -> dict[tuple[str, str], list[BuiltFrom]]:
        """What each capture was made of."""
        return made_from(self.contexts)


def select(question: Question, store: ResultsStore) -> Selection:
    """Choose what belongs to the question.

    Raises `AnalysisError` that lists what the file has where nothing belongs, `UsageError` for an unknown name and
    `ConfigError` for a missing input file of a benchmark.
    """
    found = _of_question(question, store)
    systems, benchmarks, config = found.systems, found.benchmarks, found.config
    warnings: list[AnyWarning] = [*_executed_again(found.everything, systems)]
    kept = _current(question, store, found, warnings)
    captures = {execution.system: execution.capture for execution in kept}
    failed_builds = tuple(dict.fromkeys(f for each in found.merged for f in store.build_failures(each, captures)))
    nodes = tuple(node for each in found.merged for node in store.nodes(each))
    warnings += _of_design(found, kept)
    warnings += damaged_results(store)  # by now all has been read
    warnings += _of_host(kept, config)
    warnings += _of_work(found, kept, question.project)
    primary = {benchmark.name: primary_metric(benchmark) for benchmark in benchmarks}
    return Selection(
        experiment=found.experiment,
        samples=tuple(samples_of([e for e in kept if e.status == "ok"], primary, systems, benchmarks, config)),
        executions=tuple(kept),
        failures=tuple(execution for execution in kept if execution.status != "ok"),
        build_failures=failed_builds,
        warnings=tuple(warnings),
        nodes=nodes,
        programs=programs(config, benchmarks),
        made={system: source_of(found.made, system, capture) for system, capture in captures.items()},
        names=DisplayNames.of(config),
        coinciding=_coinciding(found.contexts, captures.values()),
        host_facts=found.contexts[-1].host_facts if found.contexts else {},
        never_alone=frozenset(_never_alone(found.names, question.config)),
        benchmarks=tuple(benchmarks),
        tools=_tools(found.contexts, captures),
        executions_now=config.run.executions,
    )


def _of_question(question: Question, store: ResultsStore) -> _OfQuestion:
    """Read what is recorded; raises as `select` does."""
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
    is_of_pool = question.host is None and any(map(experiments.is_pool, merged))
    return _OfQuestion(
        experiment=experiment,
        merged=merged,
        pools=pools,
        contexts=[context for each in merged for context in store.contexts(each)],
        config=config,
        systems=systems,
        names=names,
        benchmarks=[benchmark for benchmark in config.benchmarks if benchmark.name in names],
        definitions=cases.definitions(experiments.definitions(question.config, cases.entries(names), question.project)),
        is_of_here=is_of_pool or any(each.host == here.host for each in merged),
    )


def _current(
    question: Question, store: ResultsStore, found: _OfQuestion, warnings: list[AnyWarning]
) -> list[Execution]:
    """The executions that count now; why others do not is added to ``warnings``.  Raises `AnalysisError` for none."""
    config, wanted = found.config, found.wanted
    current = {system: capture for each in found.merged for system, capture in store.current_captures(each).items()}
    current = {e.system: e.capture for e in wanted if current.get(e.system) == e.capture}
    prebuilt = [name for name in found.systems if config.systems[name].prebuilt is not None]
    recorded = Recorded(wanted, found.made, current, is_of_here=found.is_of_here, prebuilt=prebuilt)
    current = choose_captures(recorded, question.wanted, question.systems, warnings)
    kept = current_captures(that_count(wanted, experiments.slot_values), {**current, **question.captures}, warnings)
    kept = current_definitions(kept, found.definitions, warnings)
    kept = without_other_starts(current_binaries(kept, warnings), warnings)
    if not kept:
        why = [*warnings, *damaged_results(store)]
        raise nothing_left(found.experiment, found.everything, found.systems, found.names, why)
    return kept


def _of_design(found: _OfQuestion, kept: Sequence[Execution]) -> Iterable[AnyWarning]:
    """What of the executions is warm-up throughout, and what their order and systems in one layout leave open."""
    for hostname, own in found.pools:
        there = {id(execution) for execution in own}
        yield from all_warmup([execution for execution in kept if id(execution) in there], found.config, hostname)
    if found.config.order() == "sequential" and len(found.systems) > 1:
        yield ExecutedInSequence()
    yield from _in_one_layout(found.config, found.systems)


def _of_work(found: _OfQuestion, kept: list[Execution], project: Path) -> Iterable[AnyWarning]:
    """What says that executions did other work than one thinks, or measured themselves."""
    by_name = {each.name: each for each in found.benchmarks}
    yield from measuring_themselves(kept, by_name, project)
    if found.is_of_here:
        printed, read = unlike_work(kept, by_name, project)
        yield from [*printed, *read]
    else:  # times of files say nothing of another machine's
        yield from outputs_of(kept, project)


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
