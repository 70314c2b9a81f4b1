"""Worlds of known truth: how layouts, executions and the machine vary, and what one experiment in them measures.

Every measurement is ``base x (1 + layout) x (1 + noise) x machine``, in the order of a real schedule, so that what the
machine does in time meets systems, layouts and controls as it would in a real run.  All draws come from keyed streams.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from scipy import special

from layoutrand.config import schedule as schedules
from layoutrand.config.schedule import Slot, schedule
from layoutrand.model import IDENTITY, STOCK
from layoutrand.stats.streams import Stream

SYSTEMS = ("a", "b")
CONTROLS = (STOCK, IDENTITY)
LAYOUT_SD, NOISE_SD = 0.01, 0.005
FIRST_SECONDS = 2.0
SCHEDULES = 8
"""Different schedules that the sets of a cell take in turn: drawing one costs more than analysing its results."""

SLOW_OF_TWO, SLOW_OF_FEW = 0.08, 0.30
SHARE_OF_TWO, SHARE_OF_FEW = 0.20, 0.03
GROUPS = {
    "bimodal": (SHARE_OF_TWO, SLOW_OF_TWO),
    "rare": (SHARE_OF_FEW, SLOW_OF_FEW),
    "tenth": (0.10, 0.05),
    "halves": (0.50, 0.02),
}
"""Shapes of layouts of which some are slower: their share, and by how much."""

SPIKES, SPIKE = 0.02, 0.10
KEPT, AR_SD = 0.98, 0.01
STEP = 0.001
TREND = 0.03
STAY, SLOW_MACHINE = 1 - 1 / 30, 1.4
LOST = 0.05
FEWER = 1 / 3


@dataclass(frozen=True)
class World:
    """What varies how.

    ``layouts`` and ``noise`` are shapes of `SHAPES`, ``machine`` one of `MACHINES`.  ``lost`` is the share of
    executions that fail, ``fewer`` whether the candidate has a third of the rounds, the others executed afterwards.
    ``only_candidate`` gives the shape of layouts to the candidate alone, the baseline's are then normal.
    """

    name: str
    title: str
    layouts: str = "normal"
    noise: str = "normal"
    machine: str = "still"
    lost: float = 0.0
    fewer: bool = False
    only_candidate: bool = False

    @property
    def rare(self) -> float | None:
        """The share of layouts that a sample may lack altogether, where that is what makes a number wrong."""
        return GROUPS[self.layouts][0] if self.layouts in GROUPS else None

    @property
    def rare_executions(self) -> float | None:
        """The share of executions that a sample may lack altogether, where that is what makes a number wrong."""
        return SPIKES if self.noise == "spikes" else None


WORLDS = {
    world.name: world
    for world in (
        World("normal", "normal"),
        World("lognormal", "lognormal", "lognormal", "lognormal"),
        World("gamma", "gamma", "gamma", "gamma"),
        World("t3", "Student's t with 3 degrees", "t3", "t3"),
        World("bimodal", "20 % of layouts 8 % slower", "bimodal"),
        World("rare", "3 % of layouts 30 % slower", "rare"),
        World("tenth", "10 % of layouts 5 % slower", "tenth"),
        World("halves", "half of the layouts 2 % slower", "halves"),
        World("rare-in-one", "the same in the candidate alone", "rare", only_candidate=True),
        World("spikes", "2 % of executions 10 % slower", noise="spikes"),
        World("ar1", "drift (AR1)", machine="ar1"),
        World("walk", "drift (random walk)", machine="walk"),
        World("trend", "drift (3 % over the run)", machine="trend"),
        World("regimes", "machine of two speeds", machine="regimes"),
        World("lost", "5 % of executions lost", lost=LOST),
        World("unequal", "candidate with a third of the rounds", fewer=True),
        World("unequal-walk", "the same, drift (random walk)", machine="walk", fewer=True),
    )
}


Design = Literal["rounds", "alone", "apart"]
"""Both systems in each round; the first system alone; the first in the first half of the rounds, then the second."""


@dataclass(frozen=True)
class Size:
    """Layouts, executions of each binary, benchmarks."""

    layouts: int
    executions: int = 1
    benchmarks: int = 1


# Shapes, each with mean 0 and standard deviation 1 but for `GROUPS`, which are relative to the mean: standard
# normal points in, so that layouts of benchmarks and systems can be correlated.


def _lognormal(z: Any) -> Any:
    spread = math.exp(0.25)
    return (np.exp(0.5 * z) - math.sqrt(spread)) / math.sqrt(spread * (spread - 1))


def _gamma(z: Any) -> Any:
    return (special.gammaincinv(2.0, special.ndtr(z)) - 2) / math.sqrt(2)


def _t3(z: Any) -> Any:
    return special.stdtrit(3, special.ndtr(z)) / math.sqrt(3)


def _normal(z: Any) -> Any:
    return z


SHAPES = {"normal": _normal, "lognormal": _lognormal, "gamma": _gamma, "t3": _t3}


def _layouts(shape: str, z: Any) -> Any:
    """Relative layout effects of standard normal points."""
    if shape in GROUPS:
        share, slow = GROUPS[shape]
        # The points within each group are normal again, and much smaller than what sets the groups apart.
        place = special.ndtr(z)
        is_slow = place > 1 - share
        within = np.where(is_slow, (place - (1 - share)) / share, place / (1 - share))
        return np.where(is_slow, slow, 0.0) + 0.3 * LAYOUT_SD * special.ndtri(np.clip(within, 1e-12, 1 - 1e-12))
    return LAYOUT_SD * SHAPES[shape](z)


def layout_mean(shape: str) -> float:
    """The mean over all layouts of what they add, relative."""
    return math.prod(GROUPS[shape]) if shape in GROUPS else 0.0


def layout_sd(shape: str) -> float:
    """The standard deviation over all layouts, relative to their mean."""
    if shape not in GROUPS:
        return LAYOUT_SD
    share, slow = GROUPS[shape]
    return math.sqrt(share * (1 - share) * slow**2 + (0.3 * LAYOUT_SD) ** 2) / (1 + share * slow)


@dataclass(frozen=True)
class Plan:
    """A schedule as arrays: of each slot its system, benchmark, and layout (seeds from 0, then the controls)."""

    slots: tuple[Slot, ...]
    system: Any
    benchmark: Any
    layout: Any


@lru_cache(maxsize=4 * SCHEDULES)
def planned(size: Size, *, fewer: bool, number: int, design: Design = "rounds") -> Plan:
    """The slots of an experiment in the order of execution; with ``fewer`` the first system goes on alone."""
    systems = SYSTEMS if design == "rounds" else SYSTEMS[:1]
    names = tuple((f"b{k}", ("native",)) for k in range(size.benchmarks))
    seeds = tuple(range(1, size.layouts + 1))
    common = max(2, math.ceil(FEWER * size.layouts)) if fewer else size.layouts

    def part(who: tuple[str, ...], which: tuple[int, ...]) -> tuple[Slot, ...]:
        return schedule(
            schedules.Design(
                systems=who,
                benchmarks=names,
                seeds=which,
                controls=CONTROLS,
                repetitions=size.executions,
                schedule_seed=number,
            )
        )

    slots = part(systems, seeds[:common])
    if design == "apart":
        slots = part(SYSTEMS[:1], seeds[: size.layouts // 2]) + part(SYSTEMS[1:], seeds[size.layouts // 2 :])
    elif common < len(seeds):
        slots += part(systems[:1], seeds[common:])
    places = {**{seed: seed - 1 for seed in seeds}, STOCK: size.layouts, IDENTITY: size.layouts + 1}
    return Plan(
        slots=slots,
        system=np.array([SYSTEMS.index(slot.system) for slot in slots]),
        benchmark=np.array([int(slot.benchmark[1:]) for slot in slots]),
        layout=np.array([places[slot.layout] for slot in slots]),
    )


@dataclass(frozen=True)
class Truth:
    """What the numbers of a set should say, of each benchmark.

    ``means`` is (system, benchmark), over all layouts; ``controls`` (system, benchmark, control).  ``ratio`` is that
    of the means, ``layout_sds`` (system,) relative to the mean; ``new_ratios`` (benchmark, draw) are those of fresh
    pairs of binaries, executed as often as the others, on one machine.
    """

    means: Any
    controls: Any
    ratio: float
    layout_sds: tuple[float, float]
    new_ratios: Any


@dataclass(frozen=True)
class Drawn:
    """One experiment: seconds of each slot of the plan at true ratio 1, which executions fail, and the truth."""

    plan: Plan
    seconds: Any
    failed: Any
    truth: Truth

    def at(self, ratio: float) -> Any:
        """The seconds if the candidate took ``ratio`` times as long."""
        return self.seconds * np.where(self.plan.system == 1, ratio, 1.0)


def draw(
    world: World,
    size: Size,
    key: tuple[str | int, ...],
    *,
    is_layout: bool = True,
    design: Design = "rounds",
    is_one_program: bool = False,
) -> Drawn:
    """One experiment, which depends on the arguments alone; without ``is_layout`` all layouts are alike.

    With ``is_one_program`` both systems are one program in layouts of their own, which have nothing in common.
    """
    number = int(key[-1])
    plan = planned(size, fewer=world.fewer, number=number % SCHEDULES, design=design)
    labels = (world.name, size.layouts, size.executions, size.benchmarks, int(is_layout), *key)
    shapes = ("normal" if world.only_candidate else world.layouts, world.layouts)
    n_new = 20
    effects = np.zeros((2, size.benchmarks, size.layouts + 2 + n_new))
    if is_layout:
        points = _points(Stream(0, "rates", "layouts", *labels), size.benchmarks, effects.shape[2])
        controls = slice(size.layouts, size.layouts + 2)
        own = LAYOUT_SD * points[:, :, controls]
        for side, shape in enumerate(shapes):
            effects[side] = _layouts(shape, points[side])
        if is_one_program:
            own = own[[0, 0]]
            others = _points(Stream(0, "rates", "layouts again", *labels), size.benchmarks, effects.shape[2])
            effects[1] = _layouts(world.layouts, others[0])
        effects[:, :, controls] = own
    level = np.array([1 + (layout_mean(shape) if is_layout else 0.0) for shape in shapes])
    count = len(plan.slots)
    machine = _machine(world.machine, Stream(0, "rates", "machine", *labels), count)
    noise = _noise(world.noise, Stream(0, "rates", "noise", *labels), count)
    bases = FIRST_SECONDS * (1 + 0.3 * np.arange(size.benchmarks))
    seconds = bases[plan.benchmark] * (1 + effects[plan.system, plan.benchmark, plan.layout]) * (1 + noise) * machine
    usual = _usual_noise(world.noise) * _usual_machine(world.machine, machine)
    fresh = _noise(world.noise, Stream(0, "rates", "fresh", *labels), 2 * size.benchmarks * n_new * size.executions)
    fresh = fresh.reshape(2, size.benchmarks, n_new, size.executions).mean(axis=-1)
    new = (1 + effects[:, :, size.layouts + 2 :]) * (1 + fresh)
    truth = Truth(
        means=usual * level[:, None] * bases,
        controls=usual * bases[None, :, None] * (1 + effects[:, :, size.layouts : size.layouts + 2]),
        ratio=float(level[1] / level[0]),
        layout_sds=tuple(layout_sd(shape) if is_layout else 0.0 for shape in shapes),  # type: ignore[arg-type]
        new_ratios=new[1] / new[0],
    )
    lost = Stream(0, "rates", "lost", *labels).uniforms(count) < world.lost
    return Drawn(plan, seconds, lost, truth)


def _points(stream: Stream, n_benchmarks: int, n_layouts: int) -> Any:
    """Standard normal points (system, benchmark, layout).

    Of one seed and benchmark the systems correlate by 0.6, of one binary the benchmarks by 0.6 too.
    """
    draws = stream.normals(n_layouts * (1 + n_benchmarks + 2 + 2 * n_benchmarks))
    common, by_benchmark, by_system, own = np.split(
        draws, np.cumsum([n_layouts, n_benchmarks * n_layouts, 2 * n_layouts])
    )
    return (
        math.sqrt(0.4) * common
        + math.sqrt(0.2) * by_benchmark.reshape(1, n_benchmarks, n_layouts)
        + math.sqrt(0.2) * by_system.reshape(2, 1, n_layouts)
        + math.sqrt(0.2) * own.reshape(2, n_benchmarks, n_layouts)
    )


def _noise(shape: str, stream: Stream, count: int) -> Any:
    points = stream.normals(count)
    if shape == "spikes":
        return NOISE_SD * points + np.where(stream.uniforms(count) < SPIKES, SPIKE, 0.0)
    return NOISE_SD * SHAPES[shape](points)


def _usual_noise(shape: str) -> float:
    return 1 + SPIKES * SPIKE if shape == "spikes" else 1.0


def _machine(kind: str, stream: Stream, count: int) -> Any:
    """How much slower the machine is at each execution."""
    if kind == "still":
        return np.ones(count)
    if kind == "regimes":
        changes = stream.uniforms(count) > STAY
        return np.where((np.cumsum(changes) + (stream.uniforms(1)[0] < 0.5)) % 2 == 0, 1.0, SLOW_MACHINE)
    if kind == "trend":
        return 1 + TREND * (np.arange(count) / count - 0.5)
    points = stream.normals(count)
    if kind == "walk":
        return np.exp(STEP * np.cumsum(points))
    course = np.empty(count)
    state = points[0]
    for place in range(count):
        state = KEPT * state + math.sqrt(1 - KEPT**2) * points[place] if place else points[0]
        course[place] = state
    return 1 + AR_SD * course


def _usual_machine(kind: str, machine: Any) -> float:
    """What the machine's mean is: in the long run, or of this run where it has no other."""
    if kind == "regimes":
        return (1 + SLOW_MACHINE) / 2
    return float(machine.mean()) if kind == "walk" else 1.0


@lru_cache
def median_of(world: World, executions: int) -> float | None:
    """The median of a binary's mean, over the first benchmark's base; None where the machine has a course of its own."""
    if world.machine != "still":
        return None
    count = 400_001
    stream = Stream(0, "rates", "median", world.name, executions)
    shape = "normal" if world.only_candidate else world.layouts
    noise = _noise(world.noise, stream, count * executions).reshape(count, executions).mean(axis=1)
    return float(np.median((1 + _layouts(shape, stream.normals(count))) * (1 + noise)))


@lru_cache
def median_ratio_of(world: World, executions: int) -> float:
    """The median of a round's ratio, on a machine that is the same for both: 1 where both systems vary alike."""
    if not world.only_candidate:
        return 1.0
    count = 200_001
    points = _points(Stream(0, "rates", "median ratio", world.name), 1, count)[:, 0]
    stream = Stream(0, "rates", "median ratio noise", world.name, executions)
    noise = _noise(world.noise, stream, 2 * count * executions).reshape(2, count, executions).mean(axis=2)
    means = [
        (1 + _layouts(shape, points[side])) * (1 + noise[side]) for side, shape in enumerate(("normal", world.layouts))
    ]
    return float(np.median(means[1] / means[0]))
