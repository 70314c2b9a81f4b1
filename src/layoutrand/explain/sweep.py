"""`layoutrand sweep`: one function's place is the dose, and what a benchmark measures is the response.

Binaries are made of one base layout in which the function alone lies elsewhere (`layoutrand.link.one_moved`), one for
each offset.  Every round executes all of them once, in an order drawn from the schedule seed, and the test and the
intervals go by rounds (`layoutrand.stats.dose`).  Executions are recorded in a file of their own, in which the number
of a layout is an offset: no other command sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Question, select
from layoutrand.build.build import SystemBuild
from layoutrand.build.build_setup import BuildSetup
from layoutrand.build.swept import SweptBinaries, SweptFunction, swept_binaries, swept_function, swept_hole, with_others
from layoutrand.cache import keys
from layoutrand.cache.capture_record import CapturedLink
from layoutrand.config.config import Config, choose
from layoutrand.config.schedule import Slot
from layoutrand.errors import AnalysisError, BuildFailed, FeatureUnsupported, UsageError
from layoutrand.execute import experiment as experiments
from layoutrand.execute.measure import Executor
from layoutrand.execute.run_plan import RunChoices, RunRequest
from layoutrand.execute.run_progress import RunProgress, Summary
from layoutrand.execute.run_request import make_request
from layoutrand.explain.caches import USUAL, CodeCaches, caches_of
from layoutrand.explain.causes import Cause, cause, shown_by
from layoutrand.explain.explain_warnings import RoundsLeftOut
from layoutrand.explain.hot_branches import branches_at, with_branches
from layoutrand.explain.hot_functions import ProfilingSetup, profile_of
from layoutrand.explain.hotness import OFTEN, hot_functions
from layoutrand.explain.mechanism_words import unseen
from layoutrand.explain.mechanisms import HotCode, hot_branches, hot_code, levels, repeats_within
from layoutrand.explain.offsets import Offsets, checked_offsets
from layoutrand.explain.own_results import execute_apart
from layoutrand.explain.suspects import addresses
from layoutrand.explain.switching import Switch, Switched, candidates, choose_switch, switched
from layoutrand.host.facts import host_facts
from layoutrand.instruments.asked_for import measured_by, primary_metric
from layoutrand.layout.keyed import keyed_order
from layoutrand.link.one_moved import Hole
from layoutrand.model import IDENTITY, LayoutName
from layoutrand.objects import elf
from layoutrand.results import file
from layoutrand.stats import DoseResponse, dose_response
from layoutrand.warning import AnyWarning

RESULTS_NAME: Final = "sweep.sqlite"
_STREAM: Final = "sweep"
HOTTEST: Final = 20
"""So many hot functions may be in the way of the one that is swept."""


@dataclass(frozen=True)
class SweepOrder:
    """What is asked for: which function of which system, how often, and how it is looked at.

    With ``switch`` offsets are chosen of the range at which that mechanism alone differs.
    """

    system: str
    benchmark: str
    function: str
    offsets: Offsets
    rounds: int
    base: LayoutName
    metric: str | None
    confidence: float
    switch: str | None = None


@dataclass(frozen=True)
class SweepSetup:
    """Where and with what: ``build`` makes layouts of a system, ``find`` finds a function's section by its name.

    ``profiling`` is what finds the hottest instructions with, where a mechanism is asked for.
    """

    config: Config
    project: Path
    setup: BuildSetup
    build: Callable[[str, Sequence[LayoutName]], SystemBuild]
    find: Callable[[CapturedLink, str], tuple[int, str]]
    executor: Executor
    choices: RunChoices
    profiling: ProfilingSetup | None


@dataclass(frozen=True)
class Sweep:
    """What came of it.

    ``means`` has what was measured in each complete round at each offset, shape (rounds, offsets); ``lost`` names the
    rounds that were left out, because an execution of theirs failed.  ``cause`` is None where it was not asked for, and
    where no offset differs, which has none; ``switched`` where one mechanism alone was to be switched.
    """

    order: SweepOrder
    sample: Sample
    artefact: str
    name: str
    size: int
    align: int
    binaries: SweptBinaries
    offsets: tuple[int, ...]
    rounds: tuple[int, ...]
    means: NDArray[np.float64]
    lost: tuple[int, ...]
    response: DoseResponse
    summary: Summary
    hostname: str
    cause: Cause | None
    caches: CodeCaches = USUAL
    switched: Switched | None = None

    @property
    def warnings(self) -> tuple[AnyWarning, ...]:
        """What to tell beside the result."""
        return (RoundsLeftOut(self.lost, len(self.lost) + len(self.rounds)),) if self.lost else ()


def results_path(project: Path) -> Path:
    """Where executions of sweeps are recorded."""
    return project / ".layoutrand" / RESULTS_NAME


def sweep(order: SweepOrder, setup: SweepSetup, progress: Callable[[RunProgress], None]) -> Sweep:
    """Build, execute and compare.

    Raises what building, `execute` and `swept_binaries` raise, and `AnalysisError` where too little was measured.
    """
    config = in_rounds(setup.config)
    file.check_usable(results_path(setup.project))
    function, name = _function(order, setup)
    section = function.link.sections[function.section]
    switch = None if order.switch is None else _switch(order, setup, config, function, name)
    offsets = checked_offsets(order.offsets, section.align, name) if switch is None else switch.offsets
    made = swept_binaries(setup.setup, function, offsets, name=name)
    request = _request(order, setup, config, function, made)
    summary = execute_apart(
        request, results_path(setup.project), setup.executor, progress=progress, say=setup.setup.progress.say
    )
    sample, hostname = _sample(order, setup, config, request.built.captures)
    rounds, means, lost = by_round(sample, offsets, order.rounds)
    if (means <= 0).any():
        raise AnalysisError(
            f"some values of {sample.metric} are not above 0, and ratios are looked at; --metric names another"
        )
    response = dose_response(
        np.log(means), offsets, period=order.offsets.period, confidence=order.confidence, seed=config.run.schedule_seed
    )
    found, caches = None, _caches(config, sample.instrument, function)
    sign = 1 if sample.better == "less" else -1
    seed = config.run.schedule_seed
    if switch is None and setup.profiling is not None and response.matters:
        code = _code(order, setup, config, function, made.hole, caches)
        met = levels(code, [made.hole.window + offset for offset in offsets])
        level = 1 - order.confidence
        found = cause(sign * np.log(means), met, sample.instrument, level=level, seed=seed)
    does = None if switch is None else switched(np.log(means), switch, confidence=order.confidence, seed=seed)
    return Sweep(
        order=order,
        sample=sample,
        artefact=function.link.artefact,
        name=name,
        size=section.size,
        align=max(1, section.align),
        binaries=made,
        offsets=offsets,
        rounds=rounds,
        means=means,
        lost=lost,
        response=response,
        summary=summary,
        hostname=hostname,
        cause=found,
        caches=caches,
        switched=does,
    )


def _switch(order: SweepOrder, setup: SweepSetup, config: Config, function: SweptFunction, name: str) -> Switch:
    """The offsets at which the mechanism alone differs; raises `UsageError` where there are none."""
    assert order.switch is not None
    benchmark = next(b for b in config.benchmarks if b.name == order.benchmark)
    instrument, metric = primary_metric(benchmark) if order.metric is None else measured_by(benchmark, order.metric)
    if not shown_by(instrument, order.switch):
        raise UsageError(f"--switch {order.switch}: {unseen(metric, [order.switch])}")
    hole = swept_hole(setup.setup, function, name=name)
    caches = _caches(config, instrument, function)
    code = _code(order, setup, config, function, hole, caches)
    align = max(1, function.link.sections[function.section].align)
    offsets = candidates(order.offsets, align)
    every = len(offsets) * align >= repeats_within(order.switch, caches)
    met = levels(code, [hole.window + each for each in offsets])
    return choose_switch(order.switch, met, offsets, name, every=every)


def _caches(config: Config, instrument: str, function: SweptFunction) -> CodeCaches:
    """Those of this machine."""
    return caches_of(host_facts(), instrument, function.link.machine, huge=config.run.hugepages == "text")


def _code(
    order: SweepOrder,
    setup: SweepSetup,
    config: Config,
    function: SweptFunction,
    hole: Hole,
    caches: CodeCaches,
) -> HotCode:
    """What of the function is hot, by a profile of the identity binary, and which lines others are hot on."""
    assert setup.profiling is not None
    choices = replace(setup.choices, benchmarks=[order.benchmark], seeds=[1])
    request = make_request(config, setup.project, [function.build], choices)
    profile = profile_of(request, order.system, order.benchmark, setup.profiling)
    link, cache = function.link, setup.setup.cache
    identity = next(b for b in function.build.binaries if (b.artefact, b.layout) == (link.artefact, IDENTITY))
    address = addresses(cache, identity, link)
    begin, size = int(address[function.section]), link.sections[function.section].size
    executed = [(at - begin, cost) for at, cost in profile.cost.items() if begin <= at < begin + size]
    file = elf.read(identity.path.read_bytes(), name=str(identity.path))
    hotness = with_branches(hot_functions(profile, link.sections, address, most=HOTTEST), file, address)
    places = addresses(cache, function.base, link)
    lines: set[int] = set()
    branches: set[int] = set()
    for hot in hotness.functions:
        if hot.section != function.section:
            at = int(places[hot.section])
            at += hole.shift if at > hole.begin else 0
            lines.update((at + offset) // caches.line for offset in hot.hot)
            branches.update(at + each.at for each in hot_branches(hot.executed, hot.branches, OFTEN))
    code = hot_code(executed, sorted(lines), order.function, caches)
    return replace(code, branches=branches_at(file, begin, size), other_branches=tuple(sorted(branches)))


def in_rounds(config: Config) -> Config:
    """The configuration for executing a sweep: rounds that have every offset once, and no controls."""
    run = config.run.model_copy(update={"order": "blocks", "controls": []})
    return config.model_copy(update={"run": run})


def _function(order: SweepOrder, setup: SweepSetup) -> tuple[SweptFunction, str]:
    config = setup.config
    if config.systems[order.system].prebuilt is not None:
        raise FeatureUnsupported(f"system {order.system} is prebuilt: nothing is linked of it, so nothing can be moved")
    benchmark = next(b for b in config.benchmarks if b.name == order.benchmark)
    artefact = experiments.artefact_of(benchmark, config)
    built = setup.build(order.system, list(dict.fromkeys([IDENTITY, order.base])))
    there = {(binary.artefact, binary.layout) for binary in built.binaries}
    if built.capture is None or (artefact, order.base) not in there:
        reasons = dict.fromkeys(failure.error for failure in built.failures)
        raise BuildFailed(f"{artefact} cannot be built: {'; '.join(reasons)}")
    names: list[str] = []

    def find(link: CapturedLink) -> int:
        number, name = setup.find(link, order.function)
        names.append(name)
        return number

    function = swept_function(setup.setup, built, (artefact, order.base, order.offsets.period), find)
    return function, names[0]


def _request(
    order: SweepOrder, setup: SweepSetup, config: Config, function: SweptFunction, made: SweptBinaries
) -> RunRequest:
    """The request to execute the offsets, under a capture of their own, in rounds."""
    built = with_others(made.binaries, function.build, order.base)
    choices = replace(setup.choices, benchmarks=[order.benchmark], seeds=[])
    request = make_request(config, setup.project, [built], choices)
    (earlier,) = request.built.captures.values()
    # Values are compared within rounds: what was executed at other offsets, at another time, is of no round of these.
    own = keys.swept_key(earlier, {**function.facts, "offsets": [binary.layout for binary in made.binaries]})
    return replace(
        request,
        slots=slots_of(order, config, [binary.layout for binary in made.binaries]),
        built=replace(
            request.built,
            captures={order.system: own},
            linked={},
            tools={own: {**request.built.tools[earlier], "swept": made_from(function)}},
            built=[replace(each, capture=own) for each in request.built.built],
        ),
    )


def made_from(function: SweptFunction) -> str:
    """What the binaries are layouts of, for the record of their executions."""
    facts = function.facts
    name = str(facts["function"]).split("\0")
    return f"{' '.join(name)} modulo {facts['period']} in layout {facts['base']} of {function.capture.id}"


def slots_of(order: SweepOrder, config: Config, offsets: Sequence[LayoutName]) -> tuple[Slot, ...]:
    """Every execution, round after round; within a round offsets are in random order."""
    benchmark = next(b for b in config.benchmarks if b.name == order.benchmark)
    instruments = experiments.instruments_of(benchmark) if order.metric else (primary_metric(benchmark)[0],)
    slots: list[Slot] = []
    for number in range(1, order.rounds + 1):
        cells = [
            Slot(order.system, order.benchmark, offset, instrument, round=number, repetition=0, order=0)
            for offset in offsets
            for instrument in instruments
        ]
        places = keyed_order(config.run.schedule_seed, _STREAM, [cell.identity for cell in cells])
        slots += [replace(cells[place], order=len(slots) + at) for at, place in enumerate(places)]
    return tuple(slots)


def _sample(order: SweepOrder, setup: SweepSetup, config: Config, captures: Mapping[str, str]) -> tuple[Sample, str]:
    """What was measured of the metric that is asked for, else of the benchmark's main one."""
    question = Question(config, setup.project, [order.system], [order.benchmark], captures, None)
    with file.open_for_reading(results_path(setup.project)) as store:
        selection = select(question, store)
    if order.metric is None:
        chosen = [sample for sample in selection.samples if sample.is_primary]
    else:
        known = [sample.metric for sample in selection.samples]
        (wanted,) = choose("metric", [order.metric], known)
        chosen = [sample for sample in selection.samples if sample.metric == wanted]
    if not chosen:
        reasons = dict.fromkeys(failure.reason for failure in selection.failures)
        raise AnalysisError(f"no execution of the sweep measured anything: {'; '.join(reasons) or 'none succeeded'}")
    return chosen[0], selection.experiment.hostname


def by_round(
    sample: Sample, offsets: Sequence[int], rounds: int
) -> tuple[tuple[int, ...], NDArray[np.float64], tuple[int, ...]]:
    """Complete rounds of the first so many, their values, shape (rounds, offsets), and the rounds left out.

    Raises `AnalysisError` for fewer than 2 complete rounds, naming the offsets that have no value where there are such.
    """
    table: dict[int, dict[int, float]] = {number: {} for number in range(1, rounds + 1)}
    for name, executions in sample.binaries:
        assert isinstance(name, int)
        for number, execution in zip(sample.rounds[name], executions, strict=True):
            if number in table and name in offsets:
                table[number][name] = fmean(execution)
    complete = tuple(number for number, row in table.items() if len(row) == len(offsets))
    lost = tuple(number for number in table if number not in complete)
    if len(complete) < 2:
        never = [offset for offset in offsets if not any(offset in row for row in table.values())]
        why = f": offset {', '.join(map(str, never))} was never measured" if never else ""
        raise AnalysisError(
            f"{len(complete)} of {rounds} rounds have a value at each of {len(offsets)} offsets, and at least 2 are "
            f"needed{why}; .layoutrand/logs/run has what failed executions said"
        )
    return complete, np.array([[table[number][offset] for offset in offsets] for number in complete]), lost
