"""`layoutrand sweep`: one function's place is the dose, and what a benchmark measures is the response.

Binaries are made of one base layout in which the function alone lies elsewhere (`layoutrand.link.one_moved`), one for
each offset.  Every round executes all of them once, in an order drawn from the schedule seed, and the test and the
intervals go by rounds (`layoutrand.stats.dose`).  Where a mechanism is asked for and the processor counts, counters say
whether it can be that (`layoutrand.explain.counted`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.analysis.sample import Sample
from layoutrand.build.swept import SweptBinaries, SweptFunction, swept_binaries, swept_function, swept_hole
from layoutrand.cache.capture_record import CapturedLink
from layoutrand.config.config import Config
from layoutrand.errors import AnalysisError, BuildFailed, FeatureUnsupported, UsageError
from layoutrand.execute import experiment as experiments
from layoutrand.execute.run_progress import RunProgress, Summary
from layoutrand.execute.run_request import make_request
from layoutrand.explain.caches import USUAL, CodeCaches, caches_of
from layoutrand.explain.causes import Cause, cause, shown_by
from layoutrand.explain.counted import Counters, with_counters
from layoutrand.explain.counting import EventCounter
from layoutrand.explain.explain_warnings import RoundsLeftOut
from layoutrand.explain.hot_branches import branches_at, with_branches
from layoutrand.explain.hot_functions import profile_of
from layoutrand.explain.hotness import OFTEN, hot_functions
from layoutrand.explain.mechanism_words import unseen
from layoutrand.explain.mechanisms import HotCode, hot_branches, hot_code, levels, repeats_within
from layoutrand.explain.offsets import checked_offsets
from layoutrand.explain.own_results import execute_apart
from layoutrand.explain.suspects import addresses
from layoutrand.explain.sweep_rounds import (
    SweepOrder,
    SweepSetup,
    by_round,
    in_rounds,
    request_of,
    results_path,
    sample_of,
)
from layoutrand.explain.switching import Switch, Switched, candidates, choose_switch, switched
from layoutrand.host.facts import host_facts
from layoutrand.instruments.asked_for import measured_by, primary_metric
from layoutrand.instruments.known import simulated
from layoutrand.link.one_moved import Hole
from layoutrand.model import IDENTITY
from layoutrand.objects import elf
from layoutrand.results import file
from layoutrand.stats import DoseResponse, dose_response
from layoutrand.warning import AnyWarning

HOTTEST: Final = 20
"""So many hot functions may be in the way of the one that is swept."""


@dataclass(frozen=True)
class Sweep:
    """What came of it.

    ``means`` has what was measured in each complete round at each offset, shape (rounds, offsets); ``lost`` names the
    rounds that were left out, because an execution of theirs failed.  ``cause`` is None where it was not asked for, and
    where no offset differs, which has none; ``switched`` where one mechanism alone was to be switched.  ``counters`` is
    None where there was no mechanism to count events of.
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
    counters: Counters | None = None

    @property
    def warnings(self) -> tuple[AnyWarning, ...]:
        """What to tell beside the result."""
        return (RoundsLeftOut(self.lost, len(self.lost) + len(self.rounds)),) if self.lost else ()


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
    request = request_of(order, setup, config, function, made)
    summary = execute_apart(
        request, results_path(setup.project), setup.executor, progress=progress, say=setup.setup.progress.say
    )
    sample, hostname = sample_of(order, setup, config, request.built.captures)
    rounds, means, lost = by_round(sample, offsets, order.rounds)
    if (means <= 0).any():
        raise AnalysisError(
            f"some values of {sample.metric} are not above 0, and ratios are looked at; --metric names another"
        )
    response = dose_response(
        np.log(means), offsets, period=order.offsets.period, confidence=order.confidence, seed=config.run.schedule_seed
    )
    caches = _caches(config, sample.instrument, function)
    counter = EventCounter(order, setup, config, function, made, offsets, progress)
    told, does, counters = None, None, None
    if switch is not None:
        does = switched(np.log(means), switch, confidence=order.confidence, seed=config.run.schedule_seed)
        counters = _counted_of_switch(does, sample, counter)
    elif setup.profiling is not None and response.matters:
        code = _code(order, setup, config, function, made.hole, caches)
        met = levels(code, [made.hole.window + offset for offset in offsets])
        costs = _worse(sample) * np.log(means)
        level, seed = 1 - order.confidence, config.run.schedule_seed
        alone = cause(costs, met, sample.instrument, level=level, seed=seed)
        counters = _counted_of_cause(alone, response, sample, counter)
        told = alone if counters is None else with_counters(alone, counters)
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
        cause=told,
        caches=caches,
        switched=does,
        counters=counters,
    )


def _worse(sample: Sample) -> int:
    """1 where more of the metric is worse, -1 where less is."""
    return 1 if sample.better == "less" else -1


def _counted_of_switch(does: Switched, sample: Sample, counter: EventCounter) -> Counters | None:
    """What counters say of the mechanism that was switched; None where it does nothing, or nothing is real."""
    if not (does.alike and does.matters) or sample.instrument in simulated():
        return None
    is_worse = _worse(sample) * does.difference.centre > 0
    return counter.count(does.switch.with_it if is_worse else does.switch.without, [does.switch.mechanism])


def _counted_of_cause(found: Cause, response: DoseResponse, sample: Sample, counter: EventCounter) -> Counters | None:
    """What counters say of the mechanisms that offsets leave; None where they leave none, or nothing is real."""
    left = [each.mechanism for each in found.candidates if not each.out]
    if not left or sample.instrument in simulated():
        return None
    inside = set(response.largest.doses)
    is_worse = _worse(sample) * response.largest.difference.centre > 0
    return counter.count([offset for offset in response.doses if (offset in inside) == is_worse], left)


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
