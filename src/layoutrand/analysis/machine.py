"""The machine, not the layout: what all executions of a benchmark, in the order of their start, say of each other.

Layouts are executed in an order that has nothing to do with them, stock and identity are in every round, and all
systems take turns.  So whatever follows the order of execution is the machine's: a drift, a step, or a few levels that
it alternates between (regimes), which two groups of layouts would look like if each were executed once.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import fmean, median, pvariance
from typing import Final, NamedTuple

from layoutrand.analysis.machine_warnings import (
    CountsChanged,
    CountsFollowTime,
    GroupsInOneBinary,
    MachineChanged,
    MachineDrifted,
    MachineSwitched,
)
from layoutrand.analysis.sample import Sample
from layoutrand.instruments.known import counts, simulated
from layoutrand.model import IDENTITY, STOCK, BinaryName, LayoutName
from layoutrand.stats import dip_test, find_regimes, order_test
from layoutrand.warning import AnyWarning

LEVEL: Final = 0.01
"""Of the test whether executions follow their order; stricter than others, as it is made of every benchmark."""

GROUPS_LEVEL: Final = 0.05
"""Of the test whether the executions of one binary fall into groups."""

FEWEST: Final = 10
"""Executions, below which nothing is said of their order, or of groups among them."""

LITTLE: Final = 0.1
"""Share of the variance between binaries, up to which what regimes make of it leaves what is said of layouts."""

_REPEATED: Final = 3
"""So many executions of a binary show its own level; of fewer, all layouts of a system are one group."""


Quantity = tuple[str, str, str]
"""Benchmark, instrument and metric."""


@dataclass(frozen=True)
class Regime:
    """One level of the machine.

    ``factor`` is what it multiplies by, 1 being the mean of all; ``n_executions`` were made while it lasted.
    """

    factor: float
    n_executions: int


@dataclass(frozen=True)
class MachineState:
    """What the executions of one metric of one benchmark, of all systems, say of the machine.

    ``correlation`` is that of an execution with those before it and ``p_value`` that of its being chance.  ``regimes``
    are the levels that the machine alternated between, lowest first, with ``n_changes`` from one to another, on
    ``node`` where there are several; empty where there was none, or what was found is a drift.
    """

    correlation: float
    p_value: float
    n_executions: int
    regimes: tuple[Regime, ...] = ()
    n_changes: int = 0
    node: str = ""
    labels: tuple[tuple[_Key, int], ...] = ()

    @property
    def follows_time(self) -> bool:
        """Whether chance alone hardly makes executions so like those before them: the machine changed."""
        return self.p_value <= LEVEL

    @property
    def has_regimes(self) -> bool:
        """Whether the machine alternated between levels."""
        return bool(self.regimes)


_Key = tuple[str, BinaryName, int]
"""System, binary or control, and number among its executions."""


@dataclass(frozen=True)
class Alternation:
    """What the regimes of the machine make of one system's executions.

    ``levels`` are in the metric's unit, lowest first, and ``counts`` how many executions of ``binary`` (a control, or
    the layouts where there is none) were made at each.  ``share`` is that of the variance between binaries which the
    regimes make.
    """

    levels: tuple[float, ...]
    counts: tuple[int, ...]
    binary: str
    share: float
    n_changes: int

    @property
    def is_instead_of_layout(self) -> bool:
        """Whether nothing is to be said of groups and effects of layouts, as the machine alone makes such."""
        return self.share > LITTLE


@dataclass(frozen=True)
class MachineFinding:
    """The machine in one sample: its state, what its regimes make of the sample, groups within one binary.

    ``alternation`` is None without regimes; ``one_binary`` is the p-value of the executions of one binary being in one
    group, None where there are too few, or layouts are in one group themselves.
    """

    state: MachineState | None
    alternation: Alternation | None
    one_binary: float | None
    warnings: tuple[AnyWarning, ...]

    @property
    def instead_of_layout(self) -> bool:
        """Whether regimes forbid to say that layout matters, or that it does not: that cannot be told."""
        return self.alternation is not None and self.alternation.is_instead_of_layout

    @property
    def instead_of_groups(self) -> bool:
        """Whether groups of values are no groups of layouts: regimes, or groups within one binary."""
        return self.instead_of_layout or (self.one_binary is not None and self.one_binary <= GROUPS_LEVEL)


class _Made(NamedTuple):
    """One execution: which, when and where, its mean; ``group`` is what it is of, ``related`` its layout's seed."""

    key: _Key
    started: float
    node: str
    value: float
    group: Hashable
    related: Hashable | None
    is_control: bool


def quantity_of(sample: Sample) -> Quantity:
    """What all systems have one sample of."""
    return sample.benchmark, sample.instrument, sample.metric


def machine_states(samples: Sequence[Sample]) -> dict[Quantity, MachineState | None]:
    """The state of the machine by what was measured."""
    together: dict[Quantity, list[Sample]] = {}
    for sample in samples:
        together.setdefault(quantity_of(sample), []).append(sample)
    return {name: machine_state(own) for name, own in together.items()}


def machine_state(samples: Sequence[Sample]) -> MachineState | None:
    """Judge the executions of one metric of one benchmark by their order; ``samples`` are those of all systems.

    None where the order is not known, as of imported results, and for fewer than 10 executions.
    """
    made = sorted((each for sample in samples for each in _made(sample)), key=attrgetter("node", "started"))
    if len({each.started for each in made}) < FEWEST:
        return None
    values = [each.value for each in made]
    if not all(map(math.isfinite, values)):
        return None
    test = order_test(
        values,
        [each.group for each in made],
        chains=[each.node for each in made],
        related=[each.related for each in made],
    )
    state = MachineState(test.statistic, test.p_value, len(made))
    if not state.follows_time or all(sample.instrument in simulated() for sample in samples):
        return state
    by_node: dict[str, list[_Made]] = {}
    for each in made:
        by_node.setdefault(each.node, []).append(each)
    described = [found for node, own in by_node.items() if (found := _described(state, node, own)) is not None]
    return max(described, key=lambda found: found.n_changes, default=state)


def machine_finding(
    sample: Sample, state: MachineState | None, *, has_groups: bool, by_round: bool = False
) -> MachineFinding:
    """What the machine's state means for a sample that it was found in.

    ``has_groups`` if its layouts seem to have some, ``by_round`` if they were compared with controls of their rounds.
    """
    warnings: list[AnyWarning] = []
    alternation = _alternation(sample, state) if state is not None and state.has_regimes else None
    if alternation is not None:
        warnings.append(
            MachineSwitched(
                alternation.levels,
                sample.unit,
                alternation.counts,
                alternation.binary,
                alternation.n_changes,
                alternation.is_instead_of_layout,
            )
        )
    elif state is not None and state.follows_time:
        warnings.append(CountsFollowTime() if sample.instrument in simulated() else MachineDrifted(by_round))
    one_binary = None
    if sample.instrument in simulated():
        warnings += _unlike_counts(sample)
    else:
        one_binary = _groups_in_one(sample) if has_groups else None
        if one_binary is not None and one_binary <= GROUPS_LEVEL and alternation is None:
            warnings += _groups_everywhere(sample, one_binary)
    return MachineFinding(state, alternation, one_binary, tuple(warnings))


def in_time(samples: Sequence[Sample]) -> list[float]:
    """All executions of one metric of one benchmark in order of their start, each over the mean of what it is of."""
    made = sorted((each for sample in samples for each in _made(sample)), key=attrgetter("node", "started"))
    own: dict[Hashable, list[float]] = {}
    for each in made:
        own.setdefault(each.group, []).append(each.value)
    means = {group: fmean(values) for group, values in own.items()}
    return [each.value / means[each.group] if means[each.group] else 0.0 for each in made]


@dataclass(frozen=True)
class TimedExecution:
    """One execution of a sample: of which system and binary or control, number ``number`` of it, begun when and how.

    ``value`` is the mean of its iterations, ``started`` in seconds since the epoch.
    """

    system: str
    name: BinaryName
    number: int
    started: float
    value: float


def in_order_of_start(samples: Sequence[Sample]) -> list[TimedExecution]:
    """All executions of one metric of one benchmark in the order of their starts, whatever the node."""
    made = [each for sample in samples for each in _made(sample)]
    return [TimedExecution(*each.key, each.started, each.value) for each in sorted(made, key=lambda e: e.started)]


def of_both(samples: Sequence[Sample], *, by_round: bool, in_turns: bool = True) -> list[AnyWarning]:
    """What the machine's state means for the ratio of systems, ``by_round`` if it is that of their rounds.

    Where all take turns, what the machine does to all of them makes the ratio less certain and not wrong.
    """
    state = machine_state(samples)
    changed = state is not None and state.follows_time
    if samples[0].instrument in simulated():
        unlike = [each for sample in samples for each in _unlike_counts(sample, whose=f" of {sample.system}")]
        return [CountsFollowTime(), *unlike] if changed else unlike
    if state is None or not changed:
        return []
    alternation = next((made for each in samples if (made := _alternation(each, state)) is not None), None)
    levels = () if alternation is None else alternation.levels
    return [MachineChanged(levels, samples[0].unit, state.n_changes, by_round, in_turns)]


def _made(sample: Sample) -> list[_Made]:
    """The executions whose start is known."""
    found = []
    fewest = min((len(executions) for _, executions in sample.binaries), default=0)
    for name, executions in [*sample.binaries, *sample.controls.items()]:
        started = sample.started.get(name, ())
        if not started:  # of imported results, which may be millions
            continue
        nodes = sample.nodes.get(name, ("",) * len(executions))
        is_control = name in (STOCK, IDENTITY) or sample.one_layout
        for number, iterations in enumerate(executions):
            if number >= len(started):
                continue
            group: Hashable = (sample.system, name)
            related: Hashable | None = None
            if sample.one_layout:
                group = (sample.system, STOCK)
            elif not is_control and fewest < _REPEATED:
                group, related = (sample.system, "layouts", number), name
            key = (sample.system, name, number)
            node = nodes[number] if number < len(nodes) else ""
            value = iterations[0] if len(iterations) == 1 else fmean(iterations)
            found.append(_Made(key, started[number], node, value, group, related, is_control))
    return found


def _described(state: MachineState, node: str, made: Sequence[_Made]) -> MachineState | None:
    """The state with regimes; None where the executions on this node are no few levels.

    Where enough executions are of binaries that were executed again and again, these alone show the levels, without the
    differences of layouts; what was executed between them has the level of the nearest.
    """
    shown = [place for place, each in enumerate(made) if each.is_control]
    if len(shown) < FEWEST:
        shown = list(range(len(made)))
    found = find_regimes([made[place].value for place in shown], [made[place].group for place in shown])
    if found is None or found.scale != "log" or min(each.value for each in made) <= 0:
        return None  # levels are factors, which nothing that measured 0 has, be it a layout or a control
    labels = [found.labels[_nearest(shown, place)] for place in range(len(made))]
    return MachineState(
        correlation=state.correlation,
        p_value=state.p_value,
        n_executions=state.n_executions,
        regimes=tuple(Regime(level, labels.count(number)) for number, level in enumerate(found.levels)),
        n_changes=len(found.changes),
        node=node,
        labels=tuple((each.key, label) for each, label in zip(made, labels, strict=True)),
    )


def _nearest(places: Sequence[int], wanted: int) -> int:
    after = bisect_left(places, wanted)
    if after == len(places):
        return after - 1
    return after if after == 0 or places[after] - wanted <= wanted - places[after - 1] else after - 1


def _alternation(sample: Sample, state: MachineState) -> Alternation | None:
    """The regimes in a sample; None where no execution of it was made on their node."""
    labels = dict(state.labels)
    own = [(each, labels[each.key]) for each in _made(sample) if each.key in labels]
    if not own:
        return None
    control = _most_executed(sample)
    of_one = [(each.value, label) for each, label in own if each.key[1] == control or control is None]
    centre = fmean(math.log(value / state.regimes[label].factor) for value, label in of_one)
    levels = [math.exp(centre) * each.factor for each in state.regimes]
    for number in range(len(levels)):
        if at_level := [value for value, label in of_one if label == number]:
            levels[number] = median(at_level)
    return Alternation(
        levels=tuple(levels),
        counts=tuple(sum(label == number for _, label in of_one) for number in range(len(levels))),
        binary="the layouts" if control is None else str(control),
        share=_share(sample, own, state),
        n_changes=state.n_changes,
    )


def _share(sample: Sample, own: Sequence[tuple[_Made, int]], state: MachineState) -> float:
    """Of the variance between the binaries' means, what their regimes make."""
    logs: dict[BinaryName, list[tuple[float, float]]] = {}
    for each, label in own:
        if sample.one_layout or not each.is_control:
            logs.setdefault(each.key[1], []).append((math.log(each.value), math.log(state.regimes[label].factor)))
    means = [(fmean(value for value, _ in rows), fmean(level for _, level in rows)) for rows in logs.values()]
    if len(means) < 2:
        return 1.0
    total = pvariance([value for value, _ in means])
    return min(1.0, pvariance([level for _, level in means]) / total) if total > 0 else 0.0


def _most_executed(sample: Sample) -> LayoutName | None:
    """The control with the most executions, stock where both have as many; None without two of any."""
    best = max(sample.controls, key=lambda name: len(sample.controls[name]), default=None)
    return best if best is not None and len(sample.controls[best]) >= 2 else None


def _groups_in_one(sample: Sample) -> float | None:
    """The p-value of the executions of stock, or of identity, being in one group; the smaller, adjusted."""
    found = []
    for executions in sample.controls.values():
        runs = [fmean(iterations) for iterations in executions]
        if len(runs) >= FEWEST and min(runs) < max(runs):
            found.append(dip_test(runs, resolution=1.0 if counts(sample.instrument) else None).p_value)
    return min(1.0, min(found) * len(found)) if found else None


def _groups_everywhere(sample: Sample, p_value: float) -> list[AnyWarning]:
    control = _most_executed(sample)
    return [] if control is None else [GroupsInOneBinary(control, len(sample.controls[control]), p_value)]


def _unlike_counts(sample: Sample, *, whose: str = "") -> list[AnyWarning]:
    """What a simulator counted of one binary, which is to be the same every time; ``whose`` it is."""
    found: list[AnyWarning] = []
    of_several = [(str(name), runs) for name, runs in [*sample.controls.items(), *sample.binaries] if len(runs) > 1]
    for name, runs in of_several:
        values = [fmean(iterations) for iterations in runs]
        if min(values) < max(values):
            ends = min(values), max(values)
            fixed = sample.fixed_addresses
            found.append(CountsChanged(f"{name}{whose}", len(values), len(set(values)), *ends, fixed_addresses=fixed))
    return found
