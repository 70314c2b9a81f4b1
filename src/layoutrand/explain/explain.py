"""What `layoutrand explain` does, step by step: from results to suspects, and from suspects to their confirmation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.analysis.analyse import Analysis, choose_metrics
from layoutrand.analysis.same_program import same_program
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Selection
from layoutrand.build.build import SystemBuild
from layoutrand.cache.store import Cache
from layoutrand.config.config import Benchmark, Config
from layoutrand.errors import AnalysisError, BuildFailed, FeatureUnsupported, LayoutrandError, ToolNotFound
from layoutrand.execute import experiment as experiments
from layoutrand.execute.run_plan import RunChoices, RunRequest
from layoutrand.execute.run_progress import RunProgress, Summary
from layoutrand.execute.run_request import make_request
from layoutrand.explain.as_analysed import as_analysed
from layoutrand.explain.caches import caches_of
from layoutrand.explain.confirming import Confirmation, choose_groups, conclude, in_random_order, results_path
from layoutrand.explain.data_use import DataUse
from layoutrand.explain.explain_warnings import (
    ExplainedBefore,
    MeasuredWhileChanging,
    NotShownToDiffer,
    VariablesNotTraced,
)
from layoutrand.explain.hot_functions import ProfilingSetup, profile_of
from layoutrand.explain.next_sweep import with_sweeps
from layoutrand.explain.other_artefacts import others_of
from layoutrand.explain.own_results import execute_apart
from layoutrand.explain.suspects import Explanation, Subject, addresses, enough_means, explain, hot_starts
from layoutrand.explain.traced_data import Variables, data_use
from layoutrand.harnesses.case_names import ENTRY_OF_ITS_OWN, entry_of
from layoutrand.harnesses.command_words import with_one_case
from layoutrand.harnesses.harness import UnsupportedByHarness
from layoutrand.instruments.known import simulated
from layoutrand.instruments.profile import Profile
from layoutrand.layout.factors import places_data
from layoutrand.model import IDENTITY, Binary, LayoutName
from layoutrand.results import file
from layoutrand.warning import AnyWarning, plural

_MOST_TRACED: Final = 50_000_000
"""Instructions: half a minute or so, as for the profile."""


@dataclass(frozen=True)
class ExplainSetup:
    """Where and with what is looked for suspects: ``build`` makes layouts, ``choices`` are for executions."""

    config: Config
    project: Path
    cache: Cache
    build: Callable[[str, Sequence[LayoutName]], SystemBuild]
    profiling: ProfilingSetup
    choices: RunChoices


@dataclass(frozen=True)
class Unexplained:
    """A benchmark of a system that could not be looked at, and why."""

    system: str
    benchmark: str
    metric: str
    reason: str


@dataclass(frozen=True)
class Confirmed:
    """What became of suspects: confirmations, why there are none of some, and what was executed, if anything was."""

    confirmations: tuple[Confirmation, ...]
    problems: tuple[str, ...]
    summary: Summary | None


def explain_selection(
    selection: Selection, metric: str | None, setup: ExplainSetup, *, most_functions: int, level: float
) -> Iterator[Explanation | Unexplained]:
    """Look for suspects in each benchmark's main metric, or in the one that is named, one after the other.

    One that cannot be looked at is no reason to leave out the others.  Raises `UnknownMetric` for a metric that was
    never measured, and where nothing was.
    """
    samples = choose_metrics(selection, [metric] if metric else [])
    chosen = [sample for sample in samples if sample.is_primary or metric]
    if not chosen:
        others = f"; there are {', '.join(sorted({s.metric for s in samples}))} (--metric)" if samples else ""
        failed = f" ({plural(len(selection.failures), 'execution')} failed)" if selection.failures else ""
        raise AnalysisError(f"no main metric was measured, so there is nothing to explain{failed}{others}")
    for number, sample in enumerate(chosen):
        try:
            found = _explain(sample, selection, _numbered(setup, number, len(chosen)), most_functions, level)
            yield replace(found, warnings=(*found.warnings, *explained_before(sample, chosen[:number], selection)))
        except LayoutrandError as error:
            yield Unexplained(sample.system, sample.benchmark, sample.metric, str(error))


def _numbered(setup: ExplainSetup, number: int, of: int) -> ExplainSetup:
    """The same, which says with each step how many samples it has come to: a profile of each may take a minute."""
    if of == 1:
        return setup
    say = setup.profiling.say
    return replace(setup, profiling=replace(setup.profiling, say=lambda words: say(f"{number + 1} of {of}: {words}")))


def explained_before(sample: Sample, earlier: Sequence[Sample], selection: Selection) -> tuple[ExplainedBefore, ...]:
    """That the sample is of the program of an earlier one of the same benchmark and metric, as two systems may be."""
    for other in earlier:
        if (other.benchmark, other.metric) != (sample.benchmark, sample.metric):
            continue
        why = same_program(selection, sample.benchmark, other.system, sample.system)
        if why is not None:
            return (ExplainedBefore(other.system, str(why)),)
    return ()


def _explain(
    sample: Sample, selection: Selection, setup: ExplainSetup, most_functions: int, level: float
) -> Explanation:
    subject, profile, request = examined(sample, selection, setup, enough_means)
    words = setup.profiling.profiler.words
    use, not_traced = _variables(subject, request, setup)
    found = explain(
        replace(subject, use=use),
        profile,
        words,
        setup.cache,
        most_functions=most_functions,
        level=level,
        readable=setup.profiling.readable,
    )
    found = replace(found, warnings=(*found.warnings, *not_traced))
    own = as_analysed(sample, selection, 1 - level)
    if own is not None:
        found = replace(found, warnings=(*found.warnings, *_doubts(own, found)))
    benchmark, case = executed(sample.benchmark, setup.config)
    # A sweep measures whole benchmarks, and executes here: of layouts that were executed elsewhere it says nothing.
    if case or setup.config.remote is not None or not experiments.is_of_here(selection.experiment, setup.config):
        return found
    return with_sweeps(found, benchmark.name, setup.project)


def _doubts(own: Analysis, found: Explanation) -> Iterator[AnyWarning]:
    """What of the analysis of the layouts speaks against looking for what they do."""
    if own.is_machine:
        yield MeasuredWhileChanging()
        return
    part = None if own.findings is None else own.findings.layout
    is_little = part is not None and part.answer == "practically none"
    # Without a measure of noise nothing was tested, and `analyse` speaks neither for nor against.
    is_tested = part is not None and part.answer == "cannot tell" and part.test is not None
    if part is not None and (is_little or is_tested) and found.relative_sd:
        yield NotShownToDiffer(part.upper, is_little=is_little, is_suspected=bool(found.suspects))


def refuse_prebuilt(sample: Sample, config: Config) -> None:
    """Raise `AnalysisError` for a system of which no placement of code is known, whatever was measured of it."""
    if config.systems[sample.system].prebuilt is not None:
        raise AnalysisError(
            "prebuilt: nothing was linked, so there is no placement of code to look at; only systems that "
            "layoutrand builds can be explained"
        )


def examined(
    sample: Sample, selection: Selection, setup: ExplainSetup, check: Callable[[Subject], object]
) -> tuple[Subject, Profile, RunRequest]:
    """The binaries that a sample was measured of, as they are built now, and a profile of identity's; how it was made.

    ``check`` raises for a subject of which no profile is wanted, as that takes long.  Raises `AnalysisError` for a
    prebuilt system and binaries that are others by now, and `BuildFailed` where there is no identity.
    """
    config = setup.config
    refuse_prebuilt(sample, config)
    benchmark, case = executed(sample.benchmark, config)
    seeds = [name for name, _ in sample.binaries if isinstance(name, int)]
    built = setup.build(sample.system, [IDENTITY, *seeds])
    artefact = experiments.artefact_of(benchmark, config)
    binaries = {binary.layout: binary for binary in built.binaries if binary.artefact == artefact}
    if built.capture is None or IDENTITY not in binaries:
        reasons = dict.fromkeys(failure.error for failure in built.failures)
        raise BuildFailed(f"{artefact} cannot be built: {'; '.join(reasons)}")
    link = built.capture.link(artefact)
    others, program = others_of(benchmark, artefact, config)
    subject = Subject(
        sample=sample,
        artefact=artefact,
        link=link,
        identity=binaries[IDENTITY],
        binaries=_measured(sample, selection, binaries),
        caches=caches_of(
            selection.host_facts, sample.instrument, link.machine, huge=experiments.on_huge_pages(selection.experiment)
        ),
        others=others,
        program=program,
    )
    check(subject)
    profiled = _of_one_case(config, benchmark, case) if case else config
    request = _request(setup, profiled, built, benchmark.name, [1])
    return subject, profile_of(request, sample.system, benchmark.name, setup.profiling, case), request


def _variables(
    subject: Subject, request: RunRequest, setup: ExplainSetup
) -> tuple[DataUse | None, tuple[AnyWarning, ...]]:
    """How variables are used, where layouts place them; or why that cannot be told."""
    sample, sections, policy = subject.sample, subject.link.sections, setup.config.layout
    if sample.instrument in simulated() or not (places_data(policy.drawn) or policy.by_address):
        return None, ()
    address = addresses(setup.cache, subject.identity, subject.link)
    variables = Variables(sections, address, most=_MOST_TRACED)
    (benchmark,) = request.choices.benchmarks
    try:
        return data_use(request, sample.system, benchmark, setup.profiling, variables), ()
    except (AnalysisError, FeatureUnsupported, ToolNotFound) as error:
        return None, (VariablesNotTraced(str(error)),)


def executed(name: str, config: Config) -> tuple[Benchmark, str]:
    """The entry of ``[[benchmarks]]`` that is executed for a benchmark, and the case of it that it is, or ""."""
    wanted = entry_of(name, [each.name for each in config.benchmarks])
    entry = next(each for each in config.benchmarks if each.name == wanted)
    return entry, name[len(entry.name) + 1 :]


def _of_one_case(config: Config, benchmark: Benchmark, case: str) -> Config:
    """The configuration whose entry executes one of its cases, as long as it is profiled."""
    try:
        alone = with_one_case(benchmark, case)
    except UnsupportedByHarness as error:
        raise AnalysisError(
            f"{error}, and a profile would be of all cases that a process executes; {ENTRY_OF_ITS_OWN}"
        ) from error
    others = [alone if each.name == benchmark.name else each for each in config.benchmarks]
    return config.model_copy(update={"benchmarks": others})


def _measured(sample: Sample, selection: Selection, binaries: dict[LayoutName, Binary]) -> dict[int, Binary]:
    """The binaries that were measured; raises `AnalysisError` where what is built now are others."""
    measured = {
        e.layout: e.binary_sha256
        for e in selection.executions
        if (e.system, e.benchmark) == (sample.system, sample.benchmark) and isinstance(e.layout, int)
    }
    same = {
        seed: binary
        for seed, binary in binaries.items()
        if isinstance(seed, int) and measured.get(seed) == binary.sha256
    }
    others = [seed for seed in measured if seed in binaries and seed not in same]
    if others:
        raise AnalysisError(
            f"the binaries of {len(others)} layouts are not those that were measured (the source, the toolchain or the "
            "flags have changed since); `layoutrand run` measures these"
        )
    return same


def _request(
    setup: ExplainSetup,
    config: Config,
    built: SystemBuild,
    benchmark: str,
    rounds: Sequence[int],
    instruments: Sequence[str] = (),
) -> RunRequest:
    choices = replace(setup.choices, benchmarks=[benchmark], seeds=rounds, instruments=instruments)
    return make_request(config, setup.project, [built], choices)


def confirm(
    explanation: Explanation,
    setup: ExplainSetup,
    *,
    count: int,
    first: int,
    confidence: float,
    progress: Callable[[RunProgress], None],
) -> Confirmed:
    """Execute ``count`` new layouts on each side of each suspect, from seed ``first`` on, and compare.

    Raises what `execute` and `conclude` raise.
    """
    sample, config = explanation.subject.sample, in_random_order(setup.config)

    def build(seeds: Sequence[LayoutName]) -> SystemBuild:
        return setup.build(sample.system, seeds)

    def locate(binaries: Sequence[Binary]) -> NDArray[np.int64]:
        return hot_starts(setup.cache, explanation.subject.link, explanation.hotness, binaries)

    file.check_usable(results_path(setup.project))
    suspects = [suspect for suspect in explanation.suspects if suspect.split is not None]
    groups, problems = choose_groups(explanation, suspects, count, first, build, locate)
    problems += [
        f"{suspect.feature.words}: too few layouts on one side, so it is not known which placement is the worse one"
        for suspect in explanation.suspects
        if suspect.split is None
    ]
    if not groups:
        return Confirmed((), tuple(problems), None)
    seeds = sorted({seed for group in groups for seed in (*group.worse, *group.better)})
    built = build(seeds)
    entry = executed(sample.benchmark, config)[0]
    request = _request(setup, config, built, entry.name, seeds, [sample.instrument])
    profiling = setup.profiling
    target = results_path(setup.project)
    summary = execute_apart(request, target, profiling.executor, progress=progress, say=profiling.say)
    captures = {} if built.capture is None else {sample.system: built.capture.id}
    made, more = conclude(explanation, groups, config, setup.project, captures, confidence=confidence)
    return Confirmed(tuple(made), (*problems, *more), summary)
