"""The studies: one simulated experiment each, through the commands, counted into a tally."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from layoutrand.analysis.stopping import seeds_to_add, widths
from rates import figures, recorded
from rates.figures import Tally, against, doubts_of, holds, interval_of, layout_test, may_be_missed, may_have_drifted
from rates.worlds import CONTROLS, FIRST_SECONDS, WORLDS, Drawn, Size, World, draw, median_of, median_ratio_of

MATTERS, SAME, CANNOT_TELL, MOVED = "layout matters", "same", "cannot tell", {"faster", "slower"}
THRESHOLD = 0.01
MOST_FOLLOWED = 200
"""Forecasts of more layouts are followed with as many: decided then is decided, otherwise they gave no number."""

UNTIL, FIRST_SEEDS, MOST_SEEDS = 0.005, 3, 200


@dataclass(frozen=True)
class Cell:
    """One place of the tables: a study of a world at a size."""

    study: str
    world: str
    size: Size

    @property
    def name(self) -> str:
        """What its file is called."""
        size = self.size
        return f"{self.study}-{self.world}-{size.layouts}x{size.executions}x{size.benchmarks}"


def selection_of(drawn: Drawn, size: Size, ratio: float = 1.0, systems: tuple[str, ...] = ()) -> Any:
    """What the commands work on, of a drawn experiment."""
    rows = recorded.executions_of(drawn.plan, drawn.at(ratio), drawn.failed, size.benchmarks)
    return recorded.selection_of(rows, size.benchmarks, systems)


def of_one(world: World, size: Size, number: int, tally: Tally) -> None:
    """`analyse` and `compare` of one benchmark."""
    key = ("one", number)
    drawn = draw(world, size, key)
    _analysed(world, drawn, size, tally)
    _alike(draw(world, size, key, is_layout=False), size, tally)
    _compared(world, drawn, size, tally)


def _analysed(world: World, drawn: Drawn, size: Size, tally: Tally) -> None:
    document = recorded.analysed(selection_of(drawn, size, systems=("a",)))
    analysis = document["benchmarks"][0]
    doubts = doubts_of(analysis, document)
    tally.heard(doubts)
    doubt = against(doubts) + may_be_missed(world, analysis) + may_have_drifted(world, analysis)
    truth, median = drawn.truth, median_of(world, size.executions)
    tally.add("mean", holds(analysis["interval"], truth.means[0, 0]), doubt)
    if median is not None:
        tally.add("median", holds(interval_of(analysis, "median"), FIRST_SECONDS * median), doubt)
    tally.add("layout sd", holds(analysis["layout_relative_sd_interval"], truth.layout_sds[0]), doubt)
    tally.add("layout found", analysis["conclusion"] == MATTERS, doubt)
    stock = analysis["stock"] or {}
    beside = doubt + against(doubts_of(stock))
    tally.add("shift", holds(interval_of(stock, "shift"), truth.means[0, 0] / truth.controls[0, 0, 0]), beside)
    tally.add("groups", bool((analysis["modality"] or {}).get("several_peaks")), doubt)
    tally.add("drift", bool((analysis.get("drift") or {}).get("found")), doubt)
    tally.add("machine", (analysis.get("machine") or {}).get("changed"), doubt)


def _alike(drawn: Drawn, size: Size, tally: Tally) -> None:
    """`analyse` where all layouts are alike."""
    document = recorded.analysed(selection_of(drawn, size, systems=("a",)))
    analysis = document["benchmarks"][0]
    doubt = against(doubts_of(analysis, document))
    tally.add("layout wrongly", analysis["conclusion"] == MATTERS, doubt)
    tally.add("layout alarm", layout_test(analysis), doubt)
    tally.add("no layout sd", holds(analysis["layout_relative_sd_interval"], 0.0), doubt)


def _compared(world: World, drawn: Drawn, size: Size, tally: Tally) -> None:
    equal = 1 / drawn.truth.ratio
    selection = selection_of(drawn, size, equal)
    document = recorded.compared(selection, 0.0)
    pair = document["benchmarks"][0]
    tally.heard(doubts_of(pair, document))
    doubt = doubts_about(world, document)
    controls = drawn.truth.controls[:, 0, 0]
    tally.add("ratio", holds(pair["interval"], 1.0), doubt)
    tally.add("paired", holds(interval_of(pair, "paired"), 1.0), doubt)
    tally.add("unpaired", holds(interval_of(pair, "unpaired"), 1.0), doubt)
    median = median_ratio_of(world, size.executions) * equal
    tally.add("median ratio", holds(interval_of(pair, "median"), median), doubt)
    tally.add("as built", holds(interval_of(pair, "as_built"), equal * controls[1] / controls[0]), doubt)
    tally.add("new pair", figures.within(interval_of(pair, "new_pair"), drawn.truth.new_ratios[0] * equal), doubt)
    tally.add("verdict at 0", pair["conclusion"] in MOVED, doubt)
    document = recorded.compared(selection, THRESHOLD)
    pair, doubt = document["benchmarks"][0], doubts_about(world, document)
    tally.add("verdict at 1 %", pair["conclusion"] in MOVED, doubt)
    tally.add("cannot tell at 1", pair["conclusion"] == CANNOT_TELL, doubt)
    pair, doubt = _pair_at(world, drawn, size, 1.01 * equal)
    tally.add("same at 1.01", pair["conclusion"] == SAME, doubt)
    pair, doubt = _pair_at(world, drawn, size, 1.03 * equal)
    tally.add("cannot tell at 1.03", pair["conclusion"] == CANNOT_TELL, doubt)
    tally.add("wrong way at 1.03", pair["conclusion"] in {"faster", SAME}, doubt)


def doubts_about(world: World, document: recorded.Document) -> list[str]:
    """What a comparison says against its first benchmark's numbers."""
    pair = document["benchmarks"][0]
    return against(doubts_of(pair, document)) + may_be_missed(world, pair)


def _pair_at(world: World, drawn: Drawn, size: Size, ratio: float) -> tuple[Any, list[str]]:
    document = recorded.compared(selection_of(drawn, size, ratio), THRESHOLD)
    return document["benchmarks"][0], doubts_about(world, document)


def of_suite(world: World, size: Size, number: int, tally: Tally) -> None:
    """`compare` of a suite."""
    drawn = draw(world, size, ("suite", number))
    document = recorded.compared(selection_of(drawn, size, 1 / drawn.truth.ratio), 0.0)
    suite = document["suite"] or {}
    doubts = doubts_of(*document["benchmarks"], document, suite)
    tally.heard(doubts)
    doubt = against(doubts)
    tally.add("suite ratio", holds(suite.get("interval"), 1.0), doubt)
    p_value = suite.get("p_value")
    tally.add("suite p", None if p_value is None else p_value <= 0.05, doubt)
    bootstrap = suite.get("bootstrap") or {}
    beside = against(doubts_of(bootstrap))
    tally.add("suite bootstrap", holds(bootstrap.get("interval"), 1.0), doubt + beside)
    tally.add("holm", any(each["conclusion_beside"] in MOVED for each in document["benchmarks"]), doubt)


def of_itself(world: World, size: Size, number: int, tally: Tally) -> None:
    """`compare a a`, of a system that was executed once or twice, and `compare` of two programs that are alike."""
    alone = draw(world, size, ("aa", number), design="alone")
    document = recorded.compared_with_itself(selection_of(alone, size, systems=("a",)), 0.0)
    beside, half = document["aa"]["noise_floor"]
    doubts = doubts_of(document["benchmarks"][0], document)
    tally.heard(doubts)
    tally.add("aa alarm", beside["alarm"], against(doubts))
    tally.add("aa half", half["alarm"], against(doubts))
    alike = draw(world, size, ("alike", number), is_one_program=True)
    pair, doubts = _of_two(alike, size)
    tally.add("aa true", not holds(pair["interval"], 1.0), doubts)
    floor = beside["noise_floor"]
    within = None if floor is None else abs(math.log(pair["ratio"])) <= math.log1p(floor)
    told = against(doubts_of(document["benchmarks"][0], document))
    if world.rare_executions is not None and (beside["could_miss"] or 0) >= world.rare_executions:
        told.append("rare executions could have been missed")
    tally.add("aa floor", within, told)
    rows = recorded.executed_twice(recorded.executions_of(alike.plan, alike.seconds, alike.failed, size.benchmarks))
    document = recorded.compared_with_itself(recorded.selection_of_twice(rows, size.benchmarks), 0.0)
    twice = document["aa"]["noise_floor"][0]
    assert twice["sides"] == "executed twice"
    tally.add("aa twice", twice["alarm"], against(doubts_of(document["benchmarks"][0], document)))
    pair, doubts = _of_two(draw(world, size, ("apart", number), design="apart", is_one_program=True), size)
    tally.add("aa apart", not holds(pair["interval"], 1.0), doubts)


def _of_two(drawn: Drawn, size: Size) -> tuple[Any, list[str]]:
    document = recorded.compared(selection_of(drawn, size), 0.0)
    pair = document["benchmarks"][0]
    return pair, against(doubts_of(pair, document))


def of_plans(world: World, size: Size, number: int, tally: Tally) -> None:
    """`plan` and the forecast of `compare`, followed."""
    drawn = draw(world, size, ("pilot", number))
    equal = 1 / drawn.truth.ratio
    document = recorded.planned_from(selection_of(drawn, size, systems=("a",)), THRESHOLD)
    planned = document["benchmarks"][0]
    doubts = doubts_of(planned, document)
    tally.heard(doubts)
    wanted = (planned["ratio"] or {}).get("binaries")
    executions = planned["counts"].get("execution", size.executions)
    doubt = against(doubts) + may_be_missed(world, planned)
    tally.add("plan binaries", wanted, doubt)
    for name, ratio in (("plan kept", 1.0), ("plan kept at 1.02", 1 + 2 * THRESHOLD)):
        tally.add(name, _followed(world, wanted, executions, (f"after-{name}", number), ratio), doubt)
    for name, ratio in (("forecast kept", 1.0), ("forecast kept at 1.02", 1 + 2 * THRESHOLD)):
        pair, doubt = _pair_at(world, drawn, size, ratio * equal)
        if pair["conclusion"] != CANNOT_TELL:
            continue
        forecast = pair["to_decide"] or {}
        if forecast.get("is_measured"):  # its promise is about another true ratio, that which was measured
            continue
        wanted = forecast.get("n_binaries")
        doubt += against(doubts_of(forecast))
        tally.add(name, _followed(world, wanted, size.executions, (f"after-{name}", number), ratio), doubt)
        if ratio == 1:
            tally.add("forecast binaries", wanted, doubt)


def _followed(
    world: World, layouts: int | None, executions: int, key: tuple[str, int], ratio: float = 1.0
) -> bool | None:
    """Whether an experiment of that many layouts decides; None where it is too large to be followed."""
    if layouts is None or executions > 10:
        return None
    size = Size(max(2, min(layouts, MOST_FOLLOWED)), executions)
    drawn = draw(world, size, key)
    pair, _ = _pair_at(world, drawn, size, ratio / drawn.truth.ratio)
    is_decided = bool(pair["conclusion"] != CANNOT_TELL)
    return is_decided if is_decided or layouts <= MOST_FOLLOWED else None


def of_growth(world: World, _size: Size, number: int, tally: Tally) -> None:
    """`run --until-half-width`: rounds are added as the command does."""
    size = Size(MOST_SEEDS)
    drawn = draw(world, size, ("until", number))
    rows = recorded.executions_of(drawn.plan, drawn.seconds, drawn.failed, 1)
    count = FIRST_SEEDS
    while True:
        selection = recorded.selection_of([row for row in rows if row.round <= count], 1, ("a",))
        more = seeds_to_add(
            widths(selection, confidence=recorded.CONFIDENCE), wanted=UNTIL, seeds=count, limit=MOST_SEEDS
        )
        if not more:
            break
        count += more
    document = recorded.analysed(selection)
    analysis = document["benchmarks"][0]
    doubts = doubts_of(analysis, document)
    tally.heard(doubts)
    doubt = against(doubts) + may_be_missed(world, analysis) + may_have_drifted(world, analysis)
    tally.add("until", holds(analysis["interval"], drawn.truth.means[0, 0]), doubt)
    tally.add("until binaries", count, doubt)


def of_uncontrolled(world: World, size: Size, number: int, tally: Tally) -> None:
    """`analyse` of results that have no stock and identity, as imported ones: repeated executions show the noise."""
    drawn = draw(world, size, ("uncontrolled", number))
    rows = recorded.executions_of(drawn.plan, drawn.seconds, drawn.failed, size.benchmarks)
    selection = recorded.selection_of([row for row in rows if row.layout not in CONTROLS], size.benchmarks, ("a",))
    document = recorded.analysed(selection)
    analysis = document["benchmarks"][0]
    doubts = doubts_of(analysis, document)
    tally.heard(doubts)
    doubt = against(doubts) + may_be_missed(world, analysis)
    held = holds(analysis["layout_relative_sd_interval"], drawn.truth.layout_sds[0])
    tally.add("uncontrolled sd", held, doubt)


STUDIES: Mapping[str, Callable[[World, Size, int, Tally], None]] = {
    "one": of_one,
    "suite": of_suite,
    "itself": of_itself,
    "plans": of_plans,
    "until": of_growth,
    "uncontrolled": of_uncontrolled,
}

COUNTS = (3, 5, 10, 30)


def cells() -> list[Cell]:
    """All of them, in the order of the page."""
    found = [
        Cell("one", world, Size(count, executions)) for world in WORLDS for executions in (1, 3) for count in COUNTS
    ]
    found += [
        Cell("suite", world, Size(count, 1, benchmarks))
        for world in ("normal", "gamma", "t3", "walk", "lost", "unequal")
        for benchmarks in (2, 8, 20)
        for count in COUNTS
        if benchmarks < 20 or world in {"normal", "gamma"}
    ]
    found += [
        Cell("itself", world, Size(count))
        for world in ("normal", "gamma", "t3", "spikes", "ar1", "walk", "trend", "regimes")
        for count in (10, 30)
    ]
    found += [Cell("plans", world, Size(count)) for world in ("normal", "lognormal", "bimodal") for count in COUNTS]
    found += [Cell("until", world, Size(FIRST_SEEDS)) for world in ("normal", "gamma", "t3", "bimodal", "rare", "walk")]
    found += [
        Cell("uncontrolled", world, Size(count, 3))
        for world in ("normal", "lognormal", "t3", "bimodal", "tenth", "halves")
        for count in COUNTS[1:]
    ]
    return found


CHECKED = (
    Cell("one", "normal", Size(10)),
    Cell("one", "t3", Size(30)),
    Cell("one", "regimes", Size(10, 3)),
    Cell("suite", "gamma", Size(5, 1, 2)),
    Cell("itself", "walk", Size(10)),
    Cell("plans", "normal", Size(5)),
    Cell("until", "gamma", Size(FIRST_SEEDS)),
)
"""Those whose first sets a test repeats."""


def cost(cell: Cell) -> float:
    """How long a set takes, roughly: executions."""
    size = cell.size
    executions = size.layouts * size.executions * size.benchmarks * 6
    return {"one": 8.0, "suite": 4.0, "itself": 8.0, "plans": 12.0, "until": 10.0, "uncontrolled": 1.0}[cell.study] * (
        math.sqrt(executions) + 0.05 * executions
    )


def counted(cell: Cell, first: int, last: int) -> Tally:
    """The tally of sets ``first`` to ``last``, the latter excluded."""
    tally = Tally()
    for number in range(first, last):
        try:
            STUDIES[cell.study](WORLDS[cell.world], cell.size, number, tally)
        except Exception as error:  # a crash of the product is a result as well, and no reason to lose the others
            tally.errors.append(f"{number}: {type(error).__name__}: {error}")
    return tally
