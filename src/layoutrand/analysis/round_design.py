"""Which executions of two samples belong together, and what that allows.

A round executes every system with one seed's binary, and the controls beside it, so what the machine did to one system
then it did to the other; the ratio within a round is free of it.  Whether a comparison goes by rounds is decided here,
from the names of binaries, the nodes and the times of executions alone: never from what was measured, else the better
of two answers would be chosen.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from operator import attrgetter
from typing import Final, Literal, NamedTuple

from layoutrand.analysis.sample import ROUND, Executions, Sample
from layoutrand.instruments.known import simulated
from layoutrand.model import BinaryName, LayoutName

Primary = Literal["paired", "unpaired"]
"""Whether a ratio is that of rounds, or of two samples each by itself."""

NEAR: Final = 1
"""Executions of other rounds that may lie between those of a round; in turns there are none."""

LONG: Final = 12
"""As many executions of one system in a row do not happen by chance where two systems are executed in turns."""

_MUCH: Final = 0.25
"""Of a system's executions: what it takes for an error of design."""


@dataclass(frozen=True)
class RoundPair:
    """One round: the names of its binaries (executions, of what has one layout alone) in baseline and candidate."""

    key: BinaryName
    names: tuple[tuple[BinaryName, ...], tuple[BinaryName, ...]]


@dataclass(frozen=True)
class RoundDesign:
    """How two samples of one benchmark were executed beside each other.

    ``pairs`` are the rounds that both have, executed beside each other; ``n_rounds`` how many the sample with more of
    them has.  Of rounds that both have, ``elsewhere`` were executed on different nodes, ``not_beside`` at different
    times.  ``alone`` counts the executions of baseline and candidate that were made while the other system was not
    executed; ``n_executions`` are all of each, and ``n_binaries`` what they were executed from.
    """

    pairs: tuple[RoundPair, ...]
    n_rounds: int
    elsewhere: tuple[BinaryName, ...]
    not_beside: tuple[BinaryName, ...]
    alone: tuple[int, int]
    n_executions: tuple[int, int]
    n_binaries: tuple[int, int]

    @property
    def without_pair(self) -> tuple[int, int]:
        """How many binaries (executions) of baseline and candidate the complete rounds lack."""
        old, new = (sum(len(pair.names[side]) for pair in self.pairs) for side in (0, 1))
        return self.n_binaries[0] - old, self.n_binaries[1] - new

    @property
    def in_turns(self) -> bool:
        """Whether both systems were executed over the same time."""
        return all(mine < _MUCH * of for mine, of in zip(self.alone, self.n_executions, strict=True))

    @property
    def primary(self) -> Primary:
        """By rounds where more than half are complete, or where nothing else is free of the machine's drift."""
        if len(self.pairs) < 2:
            return "unpaired"
        return "paired" if 2 * len(self.pairs) > self.n_rounds or not self.in_turns else "unpaired"

    @property
    def cannot_tell(self) -> bool:
        """Whether a difference of the systems cannot be told from one between the times of their executions."""
        return self.primary == "unpaired" and not self.in_turns

    @property
    def is_restricted(self) -> bool:
        """Whether much was executed of one system alone, and had to be left out."""
        return self.primary == "paired" and not self.in_turns

    def only(self, sample: Sample, side: int) -> Sample:
        """The baseline (0) or the candidate (1) with the binaries of complete rounds alone."""
        kept = {name for pair in self.pairs for name in pair.names[side]}
        return sample.of(tuple(each for each in sample.binaries if each[0] in kept))

    def by_round(self, sample: Sample, side: int) -> Sample:
        """The same, with all executions of a round under the round's name, in the order of `pairs`."""
        own = dict(sample.binaries)
        return sample.of(tuple((pair.key, _runs([own[name] for name in pair.names[side]])) for pair in self.pairs))


def _runs(of_names: Sequence[Executions]) -> Executions:
    """All executions of a round; the very ones of its name where it has one."""
    return of_names[0] if len(of_names) == 1 else tuple(chain.from_iterable(of_names))


def round_design(old: Sample, new: Sample, *, at_random: bool = False) -> RoundDesign:
    """How these two samples were executed beside each other.

    ``at_random`` says that all executions were made in one random order, in which a round has no time of its own.
    Where times are not known, as of imported results, or do not matter, as of simulated processors, all rounds that
    both have count as executed beside each other.
    """
    keys = _keys(old, new)
    common = [key for key in keys[0] if key in keys[1]]
    pairs = {key: RoundPair(key, (tuple(keys[0][key]), tuple(keys[1][key]))) for key in common}
    elsewhere = [key for key in common if _nodes(old, keys[0][key]) != _nodes(new, keys[1][key])]
    left = [key for key in common if key not in elsewhere]
    order = _in_order((old, new), keys)
    alone = (0, 0)
    not_beside: list[BinaryName] = []
    if order:
        runs = _long_runs(order, at_random=at_random)
        alone = (sum(each.side == 0 for each in runs), sum(each.side == 1 for each in runs))
        if at_random:
            not_beside = [key for key in left if any(each.key == key for each in runs)]
        else:
            distances = _distances(order)
            not_beside = [key for key in left if distances.get(key, math.inf) > NEAR]
    return RoundDesign(
        pairs=tuple(pairs[key] for key in left if key not in not_beside),
        n_rounds=max(map(len, keys)),
        elsewhere=tuple(elsewhere),
        not_beside=tuple(not_beside),
        alone=alone,
        n_executions=_counts(order) if order else (old.n_executions, new.n_executions),
        n_binaries=(len(old.binaries), len(new.binaries)),
    )


def of_control(control: Sample, other: Sample, *, at_random: bool) -> tuple[RoundDesign, bool | None]:
    """The design of a control beside layouts, or another control, and whether it goes by round.

    On several nodes nothing but rounds compares a control that was executed on some of them: what nodes add is known
    from so few executions that its error would go into the ratio uncounted.  None where there are no such rounds.
    """
    design = round_design(control, other, at_random=at_random)
    nodes = {node for sample in (control, other) for own in sample.nodes.values() for node in own}
    if design.primary == "paired" or len(nodes) < 2:
        return design, design.primary == "paired"
    return design, True if len(design.pairs) > 1 else None


def control_sample(sample: Sample, name: LayoutName) -> Sample | None:
    """The executions of a control as a sample of one layout; None where there are none."""
    runs = sample.controls.get(name)
    if not runs:
        return None
    rounds = sample.rounds.get(name, ())
    names: list[BinaryName] = []
    seen: dict[int, int] = {}
    for place in range(len(runs)):
        if place >= len(rounds):
            names.append(f"{name}, execution {place + 1}")  # imported: which round it belongs to is not known
            continue
        number = rounds[place]
        names.append(f"round {number}" + (f", {seen[number]}" if number in seen else ""))
        seen[number] = seen.get(number, 0) + 1
    nodes, started = sample.nodes.get(name, ()), sample.started.get(name, ())
    return replace(
        sample,
        binaries=tuple((each, (run,)) for each, run in zip(names, runs, strict=True)),
        controls={},
        one_layout=True,
        nodes={each: (node,) for each, node in zip(names, nodes, strict=False)},
        rounds={each: (number,) for each, number in zip(names, rounds, strict=False)},
        started={each: (time,) for each, time in zip(names, started, strict=False)},
    )


_Keys = Mapping[BinaryName, Sequence[BinaryName]]


class _Made(NamedTuple):
    """One execution of one of the two samples."""

    node: str
    started: float
    side: int
    key: BinaryName


def _keys(old: Sample, new: Sample) -> tuple[_Keys, _Keys]:
    """Round -> the names that belong to it, of both.

    A name is a round of its own, but for what has one layout alone beside what has layouts: of that all executions of
    a round stand beside the one binary.
    """
    if old.one_layout == new.one_layout:
        return {name: [name] for name, _ in old.binaries}, {name: [name] for name, _ in new.binaries}
    return _by_number(old), _by_number(new)


def _by_number(sample: Sample) -> _Keys:
    found: dict[BinaryName, list[BinaryName]] = {}
    for name, _ in sample.binaries:
        match = ROUND.fullmatch(name) if isinstance(name, str) else None
        found.setdefault(int(match[1]) if match else name, []).append(name)
    return found


def _nodes(sample: Sample, names: Sequence[BinaryName]) -> list[str]:
    """The nodes of a round's executions; how many it has does not matter where all are on one."""
    nodes = sorted(node for name in names for node in sample.nodes.get(name, ("",)))
    return nodes[:1] if len(set(nodes)) == 1 else nodes


def _in_order(samples: tuple[Sample, Sample], keys: tuple[_Keys, _Keys]) -> list[_Made]:
    """The executions of both, by node and time; nothing where times are not known or do not matter."""
    if samples[0].instrument in simulated():
        return []
    made = []
    for side, (sample, own) in enumerate(zip(samples, keys, strict=True)):
        for key, names in own.items():
            for name in names:
                times = sample.started.get(name)
                if not times:
                    return []
                nodes = sample.nodes.get(name, ("",) * len(times))
                made += [_Made(node, time, side, key) for node, time in zip(nodes, times, strict=True)]
    if len({each.started for each in made}) < 2:
        return []
    return sorted(made, key=attrgetter("node", "started"))


def _counts(order: Sequence[_Made]) -> tuple[int, int]:
    candidate = sum(each.side for each in order)
    return len(order) - candidate, candidate


def _long_runs(order: Sequence[_Made], *, at_random: bool) -> list[_Made]:
    """Executions that were made while the other system was not executed."""
    half = math.ceil(max(_counts(order)) / 2)
    long = LONG if at_random else min(LONG, max(3, half))
    runs = (list(run) for _, run in groupby(order, key=attrgetter("node", "side")))
    return [each for run in runs if len(run) >= long for each in run]


def _distances(order: Sequence[_Made]) -> dict[BinaryName, float]:
    """How many executions of other rounds lie between those of a round that belong together, at most.

    Of executions of one round each is beside the nearest of the other system; what has no counterpart, since one was
    lost, does not count.
    """
    places: dict[BinaryName, tuple[list[int], list[int]]] = {}
    for place, each in enumerate(order):
        places.setdefault(each.key, ([], []))[each.side].append(place)
    found = {}
    for key, sides in places.items():
        fewer, more = sorted(sides, key=len)
        if fewer:
            others_before = {place: place - number for number, place in enumerate(sorted([*fewer, *more]))}
            by_node: dict[str, list[int]] = {}
            for place in more:
                by_node.setdefault(order[place].node, []).append(others_before[place])
            found[key] = max(_to_nearest(others_before[place], by_node.get(order[place].node, ())) for place in fewer)
    return found


def _to_nearest(wanted: int, ascending: Sequence[int]) -> float:
    """The distance to the nearest of these numbers; infinite where there are none."""
    after = bisect_left(ascending, wanted)
    below = wanted - ascending[after - 1] if after else math.inf
    return min(below, ascending[after] - wanted) if after < len(ascending) else below
