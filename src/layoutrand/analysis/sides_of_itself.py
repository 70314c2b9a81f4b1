"""Two sides of one system, made as the design makes two systems: see `layoutrand.analysis.aa`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from layoutrand.analysis.sample import ROUND, Sample
from layoutrand.analysis.selection import Selection
from layoutrand.config.twice import is_second
from layoutrand.layout.keyed import keyed_order
from layoutrand.model import BinaryName

Sides = Literal["executed twice", "neighbouring rounds", "executed apart", "first and second half"]
"""What stands for two systems: two executions in each round, rounds beside each other, the second execution at another
time than the first, halves of the time."""

FEWEST: Final = 4
"""Binaries that can be divided."""


@dataclass(frozen=True)
class SidesOfItself:
    """Two sides: the names that they are compared under, their seeds, and their samples, both of each benchmark."""

    sides: Sides
    names: tuple[str, str]
    seeds: tuple[tuple[BinaryName, ...], tuple[BinaryName, ...]]
    samples: tuple[Sample, ...]


def of_second(own: Sequence[Sample], again: Sequence[Sample]) -> SidesOfItself | None:
    """Each round's two executions; None where there are too few of them."""
    seconds = {(sample.benchmark, sample.instrument, sample.metric): sample for sample in again}
    samples: list[Sample] = []
    names: tuple[dict[BinaryName, None], dict[BinaryName, None]] = {}, {}
    for sample in own:
        other = seconds.get((sample.benchmark, sample.instrument, sample.metric))
        if other is None:
            continue
        called = {name: _first_name(other, name) for name, _ in other.binaries}
        common = {name: name for name, _ in sample.binaries if name in set(called.values())}
        called = {name: first for name, first in called.items() if first in common}
        if 2 * len(common) >= FEWEST:
            samples += [side_of(sample, sample.system, common), side_of(other, other.system, called)]
            names[0].update(dict.fromkeys(common))
            names[1].update(dict.fromkeys(called))
    if not samples:
        return None
    both = (samples[0].system, samples[1].system)
    return SidesOfItself("executed twice", both, (tuple(names[0]), tuple(names[1])), tuple(samples))


def _first_name(sample: Sample, name: BinaryName) -> BinaryName:
    """What the first execution of a round is called, of the name of the second."""
    return sample.rounds[name][0] if isinstance(name, int) and name in sample.rounds else name


def of_once(own: Sequence[Sample], selection: Selection) -> SidesOfItself:
    """What the design makes two systems: halves of the time where it executes one after the other, else neighbours."""
    system = own[0].system
    both = (f"{system}, half 1", f"{system}, half 2")
    if selection.in_sequence:
        order = [name for _, name in in_order_of_time(own)]
        half = len(order) // 2
        firsts, seconds = order[:half], order[len(order) - half :]
        halves = {name: name for name in firsts}, {name: name for name in seconds}
        samples = [side_of(sample, name, part) for sample in own for name, part in zip(both, halves, strict=True)]
        return SidesOfItself("first and second half", both, (tuple(firsts), tuple(seconds)), tuple(samples))
    return _of_neighbours(own, both, at_random=selection.at_random)


def _of_neighbours(own: Sequence[Sample], both: tuple[str, str], *, at_random: bool) -> SidesOfItself:
    """Rounds executed one after the other on one node, by two; an odd one is left out.

    ``at_random``: rounds have no time of their own, nor have those of two systems; neighbours are then next by seed.
    """
    by_node: dict[str, list[BinaryName]] = {}
    order = in_order_of_time(own)
    if at_random:
        listed = list(dict.fromkeys(name for sample in own for name, _ in sample.binaries))
        order.sort(key=lambda each: listed.index(each[1]))
    for node, name in order:
        by_node.setdefault(node, []).append(name)
    called: tuple[dict[BinaryName, BinaryName], dict[BinaryName, BinaryName]] = {}, {}
    for names in by_node.values():
        for place in range(0, len(names) - 1, 2):
            pair = names[place : place + 2]
            first, second = (pair[k] for k in keyed_order(0, "aa", [str(name).encode() for name in pair]))
            called[0][first] = first
            called[1][second] = first
    samples = [side_of(sample, name, own_names) for sample in own for name, own_names in zip(both, called, strict=True)]
    return SidesOfItself("neighbouring rounds", both, (tuple(called[0]), tuple(called[1])), tuple(samples))


def in_order_of_time(own: Sequence[Sample]) -> list[tuple[str, BinaryName]]:
    """Node and name of all binaries in the order of execution; imported ones are taken to be in that order."""
    found: dict[BinaryName, tuple[float, str]] = {}
    for sample in own:
        for name, _ in sample.binaries:
            started = sample.started.get(name, (0.0,))[0]
            node = sample.nodes.get(name, ("",))[0]
            found[name] = min(found.get(name, (math.inf, "")), (started, node))
    return [(found[name][1], name) for name in sorted(found, key=lambda name: found[name][0])]


def side_of(sample: Sample, system: str, called: Mapping[BinaryName, BinaryName]) -> Sample:
    """The sample as one side: binaries under the names of the rounds that they stand in, and these rounds' controls."""
    rounds = {round_number(sample, name): _round_of(other) for name, other in called.items()}
    executed = {
        control: [place for place, number in enumerate(sample.rounds.get(control, ())) if number in rounds]
        for control in sample.controls
    }
    controls = {
        control: tuple(sample.controls[control][place] for place in places) for control, places in executed.items()
    }

    def chosen(of: Mapping[BinaryName, tuple[Any, ...]]) -> dict[BinaryName, tuple[Any, ...]]:
        parts = {
            control: tuple(of[control][place] for place in own) for control, own in executed.items() if control in of
        }
        return {called[name]: values for name, values in of.items() if name in called} | parts

    numbers = chosen(sample.rounds)
    for control in executed:
        if control in numbers:
            numbers[control] = tuple(rounds[number] for number in numbers[control])
    return replace(
        sample,
        system=system,
        binaries=tuple((called[name], runs) for name, runs in sample.binaries if name in called),
        controls={control: runs for control, runs in controls.items() if runs},
        rounds=numbers,
        nodes=chosen(sample.nodes),
        started=chosen(sample.started),
    )


def round_number(sample: Sample, name: BinaryName) -> int | None:
    """The round of a binary, or of an execution of what has one layout alone; None of imported names."""
    if is_second(sample.system) and name in sample.rounds:
        return sample.rounds[name][0]
    return _round_of(name)


def _round_of(name: BinaryName) -> int | None:
    found = None if isinstance(name, int) else ROUND.fullmatch(name)
    return name if isinstance(name, int) else int(found[1]) if found else None
