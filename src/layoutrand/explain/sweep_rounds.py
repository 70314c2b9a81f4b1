"""The executions of a sweep: rounds that have every offset once, and the values that come of them.

They are recorded in a file of their own, in which the number of a layout is an offset: no other command sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.analysis.asked_results import Question
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import select
from layoutrand.build.build import SystemBuild
from layoutrand.build.build_setup import BuildSetup
from layoutrand.build.swept import SweptBinaries, SweptSection, with_others
from layoutrand.cache import keys
from layoutrand.cache.capture_record import CapturedLink
from layoutrand.config.config import Config, choose
from layoutrand.config.schedule import Slot
from layoutrand.errors import AnalysisError
from layoutrand.execute.measure import Executor
from layoutrand.execute.run_plan import RunChoices, RunRequest
from layoutrand.execute.run_request import make_request
from layoutrand.explain.hot_functions import ProfilingSetup
from layoutrand.explain.offsets import Offsets
from layoutrand.instruments.asked_for import instruments_for, primary_metric
from layoutrand.instruments.known import simulated
from layoutrand.layout.keyed import keyed_order
from layoutrand.model import LayoutName
from layoutrand.results import file

RESULTS_NAME: Final = "sweep.sqlite"
_STREAM: Final = "sweep"


@dataclass(frozen=True)
class SweepOrder:
    """What is asked for: which function of which system, how often, and how it is looked at.

    With ``switch`` offsets are chosen of the range at which that mechanism alone differs.  Of a simulated metric
    ``rounds_if_exact`` rounds are enough where all of them have the same values; None: ``rounds`` whatever they have.
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
    rounds_if_exact: int | None = None


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


def results_path(project: Path) -> Path:
    """Where executions of sweeps are recorded."""
    return project / ".layoutrand" / RESULTS_NAME


def in_rounds(config: Config) -> Config:
    """The configuration for executing a sweep: rounds that have every offset once, and no controls."""
    run = config.run.model_copy(update={"order": "blocks", "controls": []})
    return config.model_copy(update={"run": run})


def request_of(
    order: SweepOrder, setup: SweepSetup, config: Config, swept: SweptSection, made: SweptBinaries
) -> RunRequest:
    """The request to execute the offsets, under a capture of their own, in rounds."""
    built = with_others(made.binaries, swept.build, order.base)
    choices = replace(setup.choices, benchmarks=[order.benchmark], seeds=[])
    request = make_request(config, setup.project, [built], choices)
    (earlier,) = request.built.captures.values()
    # Values are compared within rounds: what was executed at other offsets, at another time, is of no round of these.
    own = keys.swept_key(earlier, {**swept.facts, "offsets": [binary.layout for binary in made.binaries]})
    return replace(
        request,
        slots=slots_of(order, config, [binary.layout for binary in made.binaries]),
        built=replace(
            request.built,
            captures={order.system: own},
            linked={},
            tools={own: {**request.built.tools[earlier], "swept": made_from(swept)}},
            built=[replace(each, capture=own) for each in request.built.built],
        ),
    )


def made_from(swept: SweptSection) -> str:
    """What the binaries are layouts of, for the record of their executions."""
    facts = swept.facts
    name = str(facts["function"]).split("\0")
    return f"{' '.join(name)} modulo {facts['period']} in layout {facts['base']} of {swept.capture.id}"


def slots_of(order: SweepOrder, config: Config, offsets: Sequence[LayoutName]) -> tuple[Slot, ...]:
    """Every execution, round after round, for the metric that is asked for; within a round in random order."""
    instruments = _instruments(order, config)
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


def _instruments(order: SweepOrder, config: Config) -> tuple[str, ...]:
    benchmark = next(b for b in config.benchmarks if b.name == order.benchmark)
    return instruments_for(benchmark, order.metric) if order.metric else (primary_metric(benchmark)[0],)


def rounds_in_turn(order: SweepOrder, config: Config) -> tuple[SweepOrder, ...]:
    """The sweep with as many rounds as are enough if nothing varies, and as asked for; that alone where it may."""
    few = order.rounds_if_exact
    if few is None or few >= order.rounds or not set(_instruments(order, config)) <= simulated():
        return (order,)
    return replace(order, rounds=few), order


def sample_of(order: SweepOrder, setup: SweepSetup, config: Config, captures: Mapping[str, str]) -> tuple[Sample, str]:
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
