"""What each node of a cluster did: how many executions, how much slower or faster it was, and how nodes differ."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any, Final

import numpy as np

from layoutrand.analysis.blocking import HOME
from layoutrand.analysis.node_facts import differing, facts_of, warnings
from layoutrand.analysis.node_warnings import OneRoundEach
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Selection
from layoutrand.errors import AnalysisError
from layoutrand.instruments.known import simulated
from layoutrand.model import Execution
from layoutrand.stats import BlockEffects, Interval, adjust, block_effects
from layoutrand.stats.block_fit import levelled, numbered
from layoutrand.warning import AnyWarning

_LAYOUTS: Final = "layouts"


@dataclass(frozen=True)
class NodeRow:
    """One node: what it executed, and how much more it measured than the nodes on average.

    ``effect`` is over the geometric mean of all nodes, ``against_others`` over that of the others; above 1 is slower
    (more, of what is no time), whatever is better.  ``holm`` is the p-value of no effect, adjusted to how many nodes
    there are; ``stands_out`` where that is at most 1 - confidence and the interval does not hold the median of all
    nodes either: beside one slow node all others are faster than the mean, without anything being odd about them.
    None where nodes cannot be compared.  ``facts`` are those in which nodes differ.
    """

    name: str
    facts: Mapping[str, str]
    n_executions: int
    n_failed: int
    n_seeds: int
    effect: Interval | None = None
    against_others: Interval | None = None
    p_value: float | None = None
    holm: float | None = None
    stands_out: bool = False


@dataclass(frozen=True)
class NodeTable:
    """All nodes by name, over all benchmarks and systems together.

    ``p_value`` is that of the hypothesis that nodes do not differ, ``between_sd`` the relative standard deviation
    between them; None where they cannot be compared.  ``counted`` says what the error is estimated from: "rounds", of
    which each is a mean over the benchmarks, or "executions" where there are too few rounds.  ``is_speed`` is whether
    all of it is times or what more is better of.
    """

    rows: tuple[NodeRow, ...]
    n_seeds: int
    p_value: float | None
    between_sd: float | None
    counted: str
    confidence: float
    is_speed: bool
    warnings: tuple[AnyWarning, ...]


@dataclass(frozen=True)
class _Value:
    """The main metric of one execution, as a logarithm that grows with slowness."""

    log: float
    group: tuple[str, str, str]
    unit: tuple[str, str, Hashable]
    visit: tuple[int, int, str]
    node: str
    is_control: bool


def node_table(selection: Selection, confidence: float, systems: Collection[str] = ()) -> NodeTable | None:
    """Of these systems or all; None where fewer than two nodes executed anything, and for imported results."""
    executions = [e for e in selection.executions if not systems or e.system in systems]
    names = sorted({e.node or HOME for e in executions})
    if len(names) < 2:
        return None
    measured = [s for s in selection.samples if s.instrument not in simulated()]
    samples = [s for s in measured if s.is_primary] or measured
    values = _values([e for e in executions if e.status == "ok"], samples)
    found, counted = _effects(values, confidence)
    said = warnings(selection.nodes, executions)
    if found is not None and counted == "executions":
        said.append(OneRoundEach())
    rows = _executed_on(executions, names, facts_of(selection.nodes, names))
    return NodeTable(
        rows=tuple(rows if found is None else _with_effects(rows, found)),
        n_seeds=_n_seeds(executions),
        p_value=None if found is None else found.p_value,
        between_sd=None if found is None else found.between_sd,
        counted=counted,
        confidence=confidence,
        is_speed=all(s.unit == "s" or s.better == "more" for s in samples),
        warnings=tuple(said),
    )


def _executed_on(
    executions: Sequence[Execution], names: Sequence[str], facts: Mapping[str, Mapping[str, str]]
) -> list[NodeRow]:
    """What each of the nodes executed, and in what it is unlike others."""
    different, rows = differing(facts), []
    for name in names:
        own = [e for e in executions if (e.node or HOME) == name]
        n_failed = sum(e.status != "ok" for e in own)
        rows.append(NodeRow(name, {key: facts[name][key] for key in different}, len(own), n_failed, _n_seeds(own)))
    return rows


def _n_seeds(executions: Sequence[Execution]) -> int:
    return len({e.layout for e in executions if isinstance(e.layout, int)})


def _with_effects(rows: Sequence[NodeRow], found: BlockEffects) -> list[NodeRow]:
    """The rows with how much more each node measured; as they are of nodes that are not compared."""
    holm = adjust(found.p_values)
    places = {str(name): place for place, name in enumerate(found.blocks)}
    return [
        replace(
            row,
            effect=found.effects[place],
            against_others=found.against_others(place),
            p_value=found.p_values[place],
            holm=holm[place],
            stands_out=_is_odd(found, place, holm[place]),
        )
        if (place := places.get(row.name)) is not None
        else row
        for row in rows
    ]


def _is_odd(found: BlockEffects, place: int, holm: float) -> bool:
    own = found.effects[place]
    return holm <= 1 - own.confidence and median(effect.centre for effect in found.effects) not in own


def _values(executions: Sequence[Execution], samples: Sequence[Sample]) -> list[_Value]:
    """Those of metrics that are above 0 throughout; in others a node's factor means nothing."""
    metrics = {(s.system, s.benchmark, s.instrument): s for s in reversed(samples)}
    found: dict[tuple[str, str, str], list[_Value]] = {}
    bad = set()
    for e in executions:
        key = (e.system, e.benchmark, e.instrument)
        sample = metrics.get(key)
        kept = [m.value for m in e.measurements if sample and m.metric == sample.metric and not m.warmup]
        if sample is None or not kept:
            continue
        mean = fmean(kept)
        if mean <= 0:
            bad.add(key)
            continue
        node = e.node or HOME
        layout = _LAYOUTS if isinstance(e.layout, int) or sample.one_layout else str(e.layout)
        found.setdefault(key, []).append(
            _Value(
                log=math.log(mean) * (-1 if sample.better == "more" else 1),
                group=(e.system, e.benchmark, layout),
                unit=(e.system, e.benchmark, e.layout),
                visit=(e.round, e.repetition, node),
                node=node,
                is_control=layout != _LAYOUTS,
            )
        )
    return [value for key, values in found.items() if key not in bad for value in values]


def _effects(values: Sequence[_Value], confidence: float) -> tuple[BlockEffects | None, str]:
    """What nodes add, from the means of rounds where there are enough of these.

    All executions of a round are made on one node, one after the other: what happens to the node meanwhile happens to
    all of them, so it is rounds that are independent.  Controls are the same in every round; where all rounds have them
    they alone are compared, as layouts would only add what layouts do.
    """
    if len({value.node for value in values}) < 2:
        return None, "rounds"
    row, _ = numbered([value.group for value in values])
    block, names = numbered([value.node for value in values])
    level = levelled(np.array([value.log for value in values]), row, block, len(names))
    rounds: dict[Any, list[float]] = {}
    controls: dict[Any, list[float]] = {}
    for value, own in zip(values, level.tolist(), strict=True):
        rounds.setdefault(value.visit, []).append(own)
        if value.is_control:
            controls.setdefault(value.visit, []).append(own)
    chosen = controls if len(controls) == len(rounds) else rounds
    means = [math.exp(fmean(own)) for own in chosen.values()]
    try:
        return block_effects(means, [visit[2] for visit in chosen], units=list(chosen), confidence=confidence), "rounds"
    except AnalysisError:  # one round on each node
        pass
    try:
        return block_effects(
            np.exp(level),
            [value.node for value in values],
            units=[value.unit for value in values],
            groups=[None if value.is_control else value.group for value in values],
            confidence=confidence,
        ), "executions"
    except AnalysisError:  # the analyses say that nodes cannot be told from layouts
        return None, "executions"
