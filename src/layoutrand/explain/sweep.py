"""`layoutrand sweep`: one function's or variable's place is the dose, and what a benchmark measures is the response.

Binaries are made of one base layout in which it alone lies elsewhere (`layoutrand.link.one_moved`), one for each
offset.  Every round executes all of them once, in an order drawn from the schedule seed, and the test and the
intervals go by rounds (`layoutrand.stats.dose`).  Where a mechanism is asked for and the processor counts, counters say
whether it can be that (`layoutrand.explain.counted`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.analysis.sample import Sample
from layoutrand.build.swept import SweptBinaries, SweptSection, swept_binaries, swept_hole, swept_section
from layoutrand.cache.capture_record import CapturedLink
from layoutrand.cache.contents import content_of
from layoutrand.config.config import Config
from layoutrand.errors import (
    AnalysisError,
    BuildFailed,
    FeatureUnsupported,
    NotPlaced,
    ToolNotFound,
    UsageError,
)
from layoutrand.execute import experiment as experiments
from layoutrand.execute.run_plan import RunRequest
from layoutrand.execute.run_progress import RunProgress, Summary
from layoutrand.execute.run_request import make_request
from layoutrand.explain.caches import USUAL, CodeCaches, caches_of
from layoutrand.explain.causes import Cause, cause, shown_by
from layoutrand.explain.counted import Counters, with_counters
from layoutrand.explain.counting import EventCounter
from layoutrand.explain.data_mechanisms import HotData, data_levels, hot_data
from layoutrand.explain.explain_warnings import CauseNotLookedFor, RoundsLeftOut
from layoutrand.explain.hot_branches import branches_at, with_branches
from layoutrand.explain.hot_functions import profile_of
from layoutrand.explain.hotness import OFTEN, hot_functions
from layoutrand.explain.mechanism_words import unseen
from layoutrand.explain.mechanisms import HotCode, hot_branches, hot_code, levels
from layoutrand.explain.offsets import checked_offsets
from layoutrand.explain.own_results import execute_apart
from layoutrand.explain.place_choice import in_no_section
from layoutrand.explain.suspects import addresses
from layoutrand.explain.sweep_rounds import (
    SweepOrder,
    SweepSetup,
    by_round,
    in_rounds,
    request_of,
    results_path,
    rounds_in_turn,
    sample_of,
    slots_of,
)
from layoutrand.explain.switching import Switch, Switched, candidates, check_kind, choose_switch, repeats, switched
from layoutrand.explain.traced_data import Variables, data_use
from layoutrand.host.facts import host_facts
from layoutrand.instruments.asked_for import measured_by, primary_metric
from layoutrand.instruments.known import simulated, tracer
from layoutrand.link.one_moved import Hole
from layoutrand.model import IDENTITY, Binary
from layoutrand.objects import elf
from layoutrand.objects.kinds import is_code
from layoutrand.results import file
from layoutrand.stats import DoseResponse, dose_response
from layoutrand.warning import AnyWarning

_Meets = Callable[[Sequence[int]], dict[str, tuple[float, ...]]]

HOTTEST: Final = 20
"""So many hot functions may be in the way of the one that is swept."""


@dataclass(frozen=True)
class Sweep:
    """What came of it.

    ``means`` has what was measured in each complete round at each offset, shape (rounds, offsets); ``lost`` names the
    rounds that were left out, because an execution of theirs failed.  ``cause`` is None where it was not asked for, and
    where no offset differs, which has none; ``switched`` where one mechanism alone was to be switched.  ``counters`` is
    None where there was no mechanism to count events of; ``not_looked_for`` says why there is no cause to tell.
    """

    order: SweepOrder
    sample: Sample
    artefact: str
    name: str
    is_code: bool
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
    not_looked_for: tuple[AnyWarning, ...] = ()

    @property
    def warnings(self) -> tuple[AnyWarning, ...]:
        """What to tell beside the result."""
        left_out = (RoundsLeftOut(self.lost, len(self.lost) + len(self.rounds)),) if self.lost else ()
        return (*left_out, *self.not_looked_for)


def sweep(order: SweepOrder, setup: SweepSetup, progress: Callable[[RunProgress], None]) -> Sweep:
    """Build, execute and compare.

    Raises what building, `execute` and `swept_binaries` raise, and `AnalysisError` where too little was measured.
    """
    config = in_rounds(setup.config)
    slots_of(order, config, [])  # that there is no such metric is told before anything is built
    file.check_usable(results_path(setup.project))
    swept, name = _swept(order, setup)
    section = swept.link.sections[swept.section]
    if setup.profiling is not None and not is_code(section.kind):
        tracer().find()  # that it is missing is told before anything is executed
    switch = None if order.switch is None else _switch(order, setup, config, swept, name)
    offsets = checked_offsets(order.offsets, section.align, name) if switch is None else switch.offsets
    made = swept_binaries(setup.setup, swept, offsets, name=name)
    done = _executed(order, setup, config, swept, made, progress)
    sample, rounds, means, lost = done.sample, done.rounds, done.means, done.lost
    if (means <= 0).any():
        raise AnalysisError(
            f"some values of {sample.metric} are not above 0, and ratios are looked at; --metric names another"
        )
    response = dose_response(
        np.log(means), offsets, period=order.offsets.period, confidence=order.confidence, seed=config.run.schedule_seed
    )
    caches = _caches(config, sample.instrument, swept)
    counter = EventCounter(order, setup, config, swept, made, offsets, progress)
    told, does, counters = None, None, None
    not_looked_for: tuple[AnyWarning, ...] = ()
    if switch is not None:
        does = switched(np.log(means), switch, confidence=order.confidence, seed=config.run.schedule_seed)
        counters = _counted_of_switch(does, sample, counter)
    elif setup.profiling is not None and response.matters:
        meets, not_looked_for = _meets_if_it_can(order, setup, config, swept, made.hole, caches)
        if meets is not None:
            met = meets([made.hole.window + offset for offset in offsets])
            level, seed = 1 - order.confidence, config.run.schedule_seed
            alone = cause(_worse(sample) * np.log(means), met, sample.instrument, level=level, seed=seed)
            counters = _counted_of_cause(alone, response, sample, counter)
            told = alone if counters is None else with_counters(alone, counters)
    return Sweep(
        order=order,
        sample=sample,
        artefact=swept.link.artefact,
        name=name,
        is_code=is_code(section.kind),
        size=section.size,
        align=max(1, section.align),
        binaries=made,
        offsets=offsets,
        rounds=rounds,
        means=means,
        lost=lost,
        response=response,
        summary=done.summary,
        hostname=done.hostname,
        cause=told,
        caches=caches,
        switched=does,
        counters=counters,
        not_looked_for=not_looked_for,
    )


@dataclass(frozen=True)
class _Executed:
    """What was executed, and its values as `Sweep` has them."""

    sample: Sample
    hostname: str
    rounds: tuple[int, ...]
    means: NDArray[np.float64]
    lost: tuple[int, ...]
    summary: Summary


def _executed(
    order: SweepOrder,
    setup: SweepSetup,
    config: Config,
    swept: SweptSection,
    made: SweptBinaries,
    progress: Callable[[RunProgress], None],
) -> _Executed:
    """Execute round after round; raises what `execute` raises, and `AnalysisError` where too little was measured."""
    offsets = [layout for layout in (each.layout for each in made.binaries) if isinstance(layout, int)]
    before: Summary | None = None
    first, *others = rounds_in_turn(order, config)
    while True:
        request = request_of(first, setup, config, swept, made)
        summary = execute_apart(
            request, results_path(setup.project), setup.executor, progress=progress, say=setup.setup.progress.say
        )
        if before is not None:  # both are one to whoever asked
            executed = before.executed
            summary = replace(summary, already=summary.already - executed, executed=summary.executed + executed)
        if not (others and summary.failures):  # further rounds may be complete
            sample, hostname = sample_of(order, setup, config, request.built.captures)
            rounds, means, lost = by_round(sample, offsets, first.rounds)
            if not others or (means == means[0]).all():
                return _Executed(sample, hostname, rounds, means, lost, summary)
        before, (first, *others) = summary, others


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


def _switch(order: SweepOrder, setup: SweepSetup, config: Config, swept: SweptSection, name: str) -> Switch:
    """The offsets at which the mechanism alone differs; raises `UsageError` where there are none."""
    assert order.switch is not None
    benchmark = next(b for b in config.benchmarks if b.name == order.benchmark)
    instrument, metric = primary_metric(benchmark) if order.metric is None else measured_by(benchmark, order.metric)
    check_kind(order.switch, name, is_code=is_code(swept.link.sections[swept.section].kind))
    if not shown_by(instrument, order.switch):
        raise UsageError(f"--switch {order.switch}: {unseen(metric, [order.switch])}")
    hole = swept_hole(setup.setup, swept, name=name)
    caches = _caches(config, instrument, swept)
    meets = _meets(order, setup, config, swept, hole, caches)
    align = max(1, swept.link.sections[swept.section].align)
    offsets = candidates(order.offsets, align)
    every = len(offsets) * align >= repeats(order.switch, caches)
    met = meets([hole.window + each for each in offsets])
    return choose_switch(order.switch, met, offsets, name, every=every)


def _caches(config: Config, instrument: str, swept: SweptSection) -> CodeCaches:
    """Those of this machine."""
    huge = config.run.hugepages == "text" and is_code(swept.link.sections[swept.section].kind)
    return caches_of(host_facts(), instrument, swept.link.machine, huge=huge)


def _meets_if_it_can(
    order: SweepOrder, setup: SweepSetup, config: Config, swept: SweptSection, hole: Hole, caches: CodeCaches
) -> tuple[_Meets | None, tuple[AnyWarning, ...]]:
    """As `_meets`; or None, and why that cannot be told: what was measured is not to be lost for it."""
    try:
        return _meets(order, setup, config, swept, hole, caches), ()
    except (AnalysisError, FeatureUnsupported, ToolNotFound) as error:
        return None, (CauseNotLookedFor(str(error)),)


def _meets(
    order: SweepOrder, setup: SweepSetup, config: Config, swept: SweptSection, hole: Hole, caches: CodeCaches
) -> _Meets:
    """What tells of addresses how much of each mechanism there is where the function or variable begins there."""
    if is_code(swept.link.sections[swept.section].kind):
        return partial(levels, _code(order, setup, config, swept, hole, caches))
    return partial(data_levels, _data(order, setup, config, swept, hole, caches))


def _looked_at(order: SweepOrder, setup: SweepSetup, config: Config, swept: SweptSection) -> tuple[RunRequest, Binary]:
    """The identity binary, which is profiled or traced, and the request to execute it."""
    choices = replace(setup.choices, benchmarks=[order.benchmark], seeds=[1])
    wanted = swept.link.artefact, IDENTITY
    identity = next(each for each in swept.build.binaries if (each.artefact, each.layout) == wanted)
    return make_request(config, setup.project, [swept.build], choices), identity


def _data(
    order: SweepOrder, setup: SweepSetup, config: Config, swept: SweptSection, hole: Hole, caches: CodeCaches
) -> HotData:
    """How the variable is used, by a trace of the identity binary, where all others lie as they lie at every offset."""
    assert setup.profiling is not None
    request, identity = _looked_at(order, setup, config, swept)
    link, cache = swept.link, setup.setup.cache
    variables = Variables(link.sections, addresses(cache, identity, link), swept.section)
    use = data_use(request, order.system, order.benchmark, setup.profiling, variables)
    places = addresses(cache, swept.base, link)
    return hot_data(
        use, swept.section, np.where(places > hole.begin, places + hole.shift, places), order.function, caches
    )


def _code(
    order: SweepOrder,
    setup: SweepSetup,
    config: Config,
    swept: SweptSection,
    hole: Hole,
    caches: CodeCaches,
) -> HotCode:
    """What of the function is hot, by a profile of the identity binary, and which lines others are hot on."""
    assert setup.profiling is not None
    request, identity = _looked_at(order, setup, config, swept)
    profile = profile_of(request, order.system, order.benchmark, setup.profiling)
    link, cache = swept.link, setup.setup.cache
    address = addresses(cache, identity, link)
    begin, size = int(address[swept.section]), link.sections[swept.section].size
    executed = [(at - begin, cost) for at, cost in profile.cost.items() if begin <= at < begin + size]
    file = elf.read(content_of(identity.stored), name=str(identity.path))
    hotness = with_branches(hot_functions(profile, link.sections, address, most=HOTTEST), file, address)
    places = addresses(cache, swept.base, link)
    lines: set[int] = set()
    branches: set[int] = set()
    for hot in hotness.functions:
        if hot.section != swept.section:
            at = int(places[hot.section])
            at += hole.shift if at > hole.begin else 0
            lines.update((at + offset) // caches.line for offset in hot.hot)
            branches.update(at + each.at for each in hot_branches(hot.executed, hot.branches, OFTEN))
    code = hot_code(executed, sorted(lines), order.function, caches)
    return replace(code, branches=branches_at(file, begin, size), other_branches=tuple(sorted(branches)))


def _swept(order: SweepOrder, setup: SweepSetup) -> tuple[SweptSection, str]:
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
        try:
            number, name = setup.find(link, order.function)
        except NotPlaced as error:
            base = next(b for b in built.binaries if (b.artefact, b.layout) == (artefact, order.base))
            raise in_no_section(elf.read(content_of(base.stored), name=artefact), order.function) or error from error
        names.append(name)
        return number

    swept = swept_section(setup.setup, built, (artefact, order.base, order.offsets.period), find)
    return swept, names[0]
