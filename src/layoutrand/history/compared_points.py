"""Which points of a series are compared, and by what: round by round, or by the means of layouts of different times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

import numpy as np

from layoutrand.analysis.coarse_clock import ClockSteps, clock_steps
from layoutrand.analysis.round_design import control_sample
from layoutrand.analysis.sample import Sample, binary_mean
from layoutrand.history.history_steps import PointValues
from layoutrand.history.history_warnings import ADVISED_ROUNDS, FEWEST_ROUNDS
from layoutrand.instruments.known import simulated
from layoutrand.model import STOCK, BinaryName
from layoutrand.stats.levels import FloatArray

_BESIDE: Final = 2
"""Times as many executions as a round has may lie between its first and its last, for it to be one round."""


@dataclass(frozen=True)
class ComparedPoints:
    """What steps are looked for in.

    ``chosen`` are the places of the points that have enough layouts to be compared, ``n_common`` the rounds that all of
    these have, and ``n_rounds`` those by which they are compared: 0 where it is by their means.  ``stocks`` is None
    where fewer than two have stock.  Where not ``is_above_zero`` there is no ratio, and all values are 1.
    ``new_rounds`` is as in `TooShortHistory`, None where rounds are in common.
    """

    chosen: list[int]
    n_common: int
    n_rounds: int
    layouts: PointValues
    stocks: PointValues | None
    is_above_zero: bool
    new_rounds: tuple[int, int] | None


def compared_points(samples: Sequence[Sample], raw: Sequence[Sample], clock: ClockSteps) -> ComparedPoints:
    """Of the points of one series, as they are without what their nodes add, and ``raw`` as the clock measured them."""
    tables = [{name: binary_mean(executions) for name, executions in sample.binaries} for sample in samples]
    chosen, common = _rounds(samples, tables)
    rounds = common if len(common) >= FEWEST_ROUNDS else []
    of_chosen = [tables[number] for number in chosen]
    shared = rounds or _shared(of_chosen)
    of_shared = np.array([[table[name] for name in shared] for table in of_chosen])
    layouts = of_shared if rounds else np.array([[fmean(table.values())] for table in of_chosen])
    kept = None if rounds or len(shared) < FEWEST_ROUNDS or not _above_zero(of_shared) else of_shared
    stocks = _stocks([samples[number] for number in chosen], [raw[number] for number in chosen], is_beside=bool(rounds))
    is_above_zero = _above_zero(layouts, None if stocks is None else stocks.table)
    if not is_above_zero:
        layouts, stocks, kept = np.ones((len(chosen), 1)), None, None
    steps = clock.of_groups(*([number] for number in chosen))
    return ComparedPoints(
        chosen=chosen,
        n_common=len(common),
        n_rounds=len(rounds),
        layouts=PointValues(layouts, tuple(range(len(chosen))), steps, kept),
        stocks=stocks,
        is_above_zero=is_above_zero,
        new_rounds=None if common else _new_rounds(of_chosen),
    )


def _rounds(
    samples: Sequence[Sample], tables: Sequence[Mapping[BinaryName, float]]
) -> tuple[list[int], list[BinaryName]]:
    """The points that are compared, and the rounds that all of them have, none where they are of different times.

    In fewer than `FEWEST_ROUNDS` points are not compared round by round, but by their means.
    Of a simulated processor all layouts of one seed count as a round, since it does not matter when they are executed.
    """
    usual = median(map(len, tables))
    chosen = [number for number, table in enumerate(tables) if 2 * len(table) >= usual]
    names = _shared([tables[number] for number in chosen])
    if not all(samples[number].instrument in simulated() for number in chosen):
        beside = _beside([samples[number] for number in chosen], names)
        names = beside if 2 * len(beside) >= len(names) else []
    return chosen, names


def _shared(tables: Sequence[Mapping[BinaryName, float]]) -> list[BinaryName]:
    """The layouts that all points have."""
    return [name for name in tables[0] if all(name in table for table in tables)]


def _new_rounds(tables: Sequence[Mapping[BinaryName, float]]) -> tuple[int, int] | None:
    """The first seed that no point was executed with, and how many from there on have `_rounds` compare within them.

    None where layouts have names and no seeds.
    """
    seeds = [name for table in tables for name in table if isinstance(name, int)]
    return (max(seeds) + 1, max(ADVISED_ROUNDS, len(_shared(tables)))) if seeds else None


def _beside(samples: Sequence[Sample], names: Sequence[BinaryName]) -> list[BinaryName]:
    """The rounds in which all points were executed next to each other."""
    made = sorted(
        (moment, number, str(name))
        for number, sample in enumerate(samples)
        for name in names
        for moment in sample.started.get(name, ())
    )
    places: dict[str, list[int]] = {}
    for place, (_, _, name) in enumerate(made):
        places.setdefault(name, []).append(place)
    near = {name for name, own in places.items() if own[-1] - own[0] < _BESIDE * len(own)}
    return [name for name in names if str(name) in near]


def _stocks(samples: Sequence[Sample], raw: Sequence[Sample], *, is_beside: bool) -> PointValues | None:
    """Stock of the points that were executed with it; None where there are not two.

    ``raw`` are the samples with what their nodes add, as the clock measured them.
    """
    places = tuple(number for number, sample in enumerate(samples) if sample.controls.get(STOCK))
    own = [samples[number] for number in places]
    if len(own) < 2:
        return None
    measured = [control_sample(raw[number], STOCK) for number in places]
    clock = clock_steps(*(each for each in measured if each is not None), beside=raw)
    means = np.array([[fmean(map(fmean, sample.controls[STOCK]))] for sample in own])
    if not is_beside:
        return PointValues(means, places, clock)
    by_round: list[dict[int, list[float]]] = []
    for sample in own:
        values: dict[int, list[float]] = {}
        for number, iterations in zip(sample.rounds[STOCK], sample.controls[STOCK], strict=True):
            values.setdefault(number, []).append(fmean(iterations))
        by_round.append(values)
    rounds = [number for number in by_round[0] if all(number in values for values in by_round)]
    if len(rounds) < FEWEST_ROUNDS:
        return PointValues(means, places, clock)
    return PointValues(np.array([[fmean(values[number]) for number in rounds] for values in by_round]), places, clock)


def _above_zero(*tables: FloatArray | None) -> bool:
    return all(table is None or bool((table > 0).all()) for table in tables)
