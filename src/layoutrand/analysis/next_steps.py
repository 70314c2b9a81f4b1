"""What to do next, in words or as a command, where a conclusion is open or doubtful."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from layoutrand.analysis.plan_warnings import FewDistinctLayouts

StepKind = Literal[
    "more layouts",
    "more executions",
    "as many executions",
    "other threshold",
    "sooner",
    "quiet machine",
    "repeat disturbed",
    "retry failed",
    "same rounds",
    "more work",
    "look at the program",
    "run again",
    "repeatable",
    "same work",
    "same output",
    "name the input",
    "which function",
    "simulated caches",
    "merge first",
]

USUAL_LAYOUTS: Final = 30
"""What most questions take, where nothing is known that would say how many."""

MORE_FACTORS: Final = "more layouts: padding in layout.factors"
"""What to do next where more layouts are needed than the program has."""

WITHIN_REACH: Final = 1_000
"""So many layouts may be named as what would tell; more are no advice, and "too noisy", or hidden by layout."""

ENOUGH_TO_EXPLAIN: Final = 20
"""With fewer layouts no function's place stands out, unless it outweighs everything else."""


@dataclass(frozen=True)
class Step:
    """What to do next: its kind, a command or nothing, and a sentence without a full stop.

    ``has_figures`` where it says how many of something would do; ``n_layouts`` is how many layouts, if that is it, and
    ``fewest`` how many may do; ``n_executions`` is what it has ``run.executions`` be.
    ``short`` is for a screen that has a few words for each.  ``may_simulate`` is False where counts of a simulated
    processor would not help (`Benchmark`).  ``comes_first`` where all else would be in vain without it.
    """

    kind: StepKind
    command: str
    sentence: str
    has_figures: bool = False
    n_layouts: int | None = None
    short: str = ""
    fewest: int | None = None
    may_simulate: bool = True
    comes_first: bool = False
    n_executions: int | None = None

    @property
    def briefly(self) -> str:
        """The command, or a few words."""
        return self.command or self.short or self.sentence

    def __str__(self) -> str:
        return f"{self.sentence}: `{self.command}`" if self.command else self.sentence


_SIMULATED: Final = "simulated counts"

_LESS_NOISE: Final[dict[StepKind, str]] = {
    "quiet machine": "a quieter machine",
    "more work": "more work for each execution",
}
"""What makes less noise -> its words among those of "sooner"."""


def _sooner(told: Collection[StepKind] = (), *, may_simulate: bool = True) -> str:
    """The sentence of "sooner", beside steps that say what makes less noise."""
    ways = ", ".join(
        f"{words}, {_SIMULATED}" if kind == "more work" and may_simulate else words
        for kind, words in _LESS_NOISE.items()
        if kind not in told
    )
    return (
        f"more layouts than are within reach would be needed: less noise {f'({ways}) ' if ways else ''}or a larger "
        "--threshold decides sooner"
    )


def _more_work(*, may_simulate: bool) -> str:
    counts = f", or measure {_SIMULATED}" if may_simulate else ""
    return f"give the benchmark more work for each execution{counts}"


def without_simulation(step: Step) -> Step:
    """The step, of a benchmark whose simulated counts would say no more than its times."""
    if step.kind == "sooner":
        return replace(step, sentence=_sooner(may_simulate=False), may_simulate=False)
    if step.kind == "more work":
        return replace(step, sentence=_more_work(may_simulate=False), may_simulate=False)
    return step


_OFF: Final = '"off"'


def _set(key: str, value: object, then: str = "") -> str:
    """A key of layoutrand.toml as a step: where it is, and what to write there."""
    return f"set {key} = {value} in layoutrand.toml{then}"


def _as_many(there: int) -> str:
    return _set("run.executions", there, ", as these results have")


def _counted_with(there: int, wanted: str) -> str:
    return f"layouts are counted with {there} executions each: {wanted}"


STEPS: Final[dict[StepKind, Step]] = {
    step.kind: step
    for step in (
        Step("more layouts", "layoutrand run --seeds 30", "add layouts"),
        Step(
            "more executions",
            "",
            f"execute each binary more often: {_set('run.executions', 2)}",
            short=_set("run.executions", 2, ", to execute each binary twice"),
            n_executions=2,
        ),
        Step("as many executions", "", _counted_with(2, _as_many(2)), short=_as_many(2), n_executions=2),
        Step(
            "other threshold",
            "",
            "no number of layouts within reach decides it at this threshold; choose a larger one",
            short="a larger --threshold",
        ),
        Step(
            "sooner",
            "",
            _sooner(),
            short="less noise, or a larger --threshold",
        ),
        Step("quiet machine", "layoutrand doctor", "measure on a quieter machine; what disturbs this one is told by"),
        Step("repeat disturbed", "", _set("run.disturbance.repeat", 3, ", and execute again")),
        Step("retry failed", "layoutrand run --retry-failed", "execute again what failed"),
        Step(
            "same rounds", "layoutrand run", "execute all systems in the same rounds, on the same nodes, with new seeds"
        ),
        Step(
            "more work",
            "",
            _more_work(may_simulate=True),
            short="more work for each execution",
        ),
        Step(
            "look at the program",
            "",
            "whether the flags reach the compiler; these systems are one program",
            short="do the flags reach the compiler?",
        ),
        Step(
            "repeatable",
            "",
            f"have the program do the same each time: a fixed seed, no clock, no addresses ({_set('run.aslr', _OFF)})",
            short=_set("run.aslr", _OFF, ", and have the program do without clock and random seed"),
        ),
        Step(
            "same work",
            "",
            "have the program do the same each time: a fixed seed, no clock",
            short="have the program do without clock and random seed",
        ),
        Step("run again", "layoutrand run", "execute what is configured now"),
        Step(
            "same output",
            "",
            "find out why the program does not print the same in all layouts (memory that is not initialised, "
            "addresses, a race): valgrind and -fsanitize=address,undefined find much of it",
            short="why do layouts print other things?",
        ),
        Step(
            "name the input",
            "",
            "name the file that was changed in files of its benchmark, and execute again",
            short="name that file in `files` of its benchmark, and execute again",
        ),
        Step(
            "simulated caches",
            "",
            "count misses of simulated caches, which go by where code lies "
            '(metric = { instruments = ["qemu-caches"] }), or execute on such a processor',
            short='metric = { instruments = ["qemu-caches"] }, or such a processor',
        ),
        Step("which function", "layoutrand explain", "look whose place makes the difference"),
        Step(
            "merge first",
            "",
            "if the change adds the benchmark, or what builds it, merge that first, in a change of its own",
            short="if the change adds the benchmark, merge that first",
        ),
    )
}
"""The words of each step where figures give no better ones."""

LAYOUT_HIDES: Final = replace(
    STEPS["other threshold"],
    sentence="layouts alone differ too much: without any noise, too, more of them than are within reach would be "
    "needed; a larger --threshold decides sooner",
)
"""What decides where less noise would not help."""


def told_once(steps: Iterable[Step]) -> list[Step]:
    """The steps of several conclusions, each once, without what another of them says too.

    Of commands for more layouts the largest number is the one that decides all of them, and of new rounds the last
    ones are new to all; that makes more layouts by itself.  ``run.executions`` is one key for all benchmarks, and the
    largest number that is asked for does for all.  What comes first of one conclusion does so of all: commands
    execute all benchmarks.
    """
    told = _of_one_key(list(dict.fromkeys(steps)))
    first = {step.kind for step in told if step.comes_first}
    told.sort(key=lambda step: step.kind not in first)
    told = list(dict.fromkeys(replace(step, comes_first=step.kind in first) for step in told))
    never = {step.kind for step in told if not step.may_simulate}
    told = list(dict.fromkeys(without_simulation(step) if step.kind in never else step for step in told))
    kinds = {step.kind for step in told}
    most = max((step.n_layouts or 0 for step in told if _is_number(step)), default=0)
    new_rounds = [step for step in told if step.kind == "same rounds" and step.n_layouts]
    newest = max(new_rounds, key=lambda step: step.n_layouts or 0, default=None)
    found = []
    for step in told:
        makes_layouts = step.kind == "same rounds" or _is_number(step)
        if newest and step != newest and makes_layouts and (step.n_layouts or 0) <= (newest.n_layouts or 0):
            continue
        is_larger_threshold = step.kind == "other threshold" and not step.has_figures
        if (is_larger_threshold and "sooner" in kinds) or (_is_number(step) and (step.n_layouts or 0) < most):
            continue
        found.append(_beside(step, kinds))
    return found


def _of_one_key(told: list[Step]) -> list[Step]:
    """The steps with one number of executions, the largest: where the first stood, or before layouts that it counts."""
    asked = [step for step in told if step.n_executions]
    if not asked:
        return told
    counted = any(step.kind == "as many executions" for step in asked)
    place = next(n for n, step in enumerate(told) if step in asked or (counted and _is_number(step)))
    most = max(asked, key=lambda step: step.n_executions or 0)
    before, behind = told[:place], [step for step in told[place:] if step not in asked]
    return [*before, most, *behind]


def _beside(step: Step, kinds: Collection[StepKind]) -> Step:
    """The step beside others of these kinds."""
    if step.kind != "sooner":
        return step
    return replace(step, sentence=_sooner(kinds, may_simulate=step.may_simulate))


def _is_number(step: Step) -> bool:
    """Whether it asks for so many layouts, and is no sentence that says how many would be needed."""
    return step.kind == "more layouts" and bool(step.command or step.short)


NO_TIMES: Final[StepKind] = "simulated caches"
"""What helps where an emulator makes the times."""

OF_TIMES: Final[frozenset[StepKind]] = frozenset(
    {"more layouts", "sooner", "other threshold", "quiet machine", "repeat disturbed", "more work"}
)
"""What makes times more certain, which is of no use there."""

_OF_IMPORTS: Final[frozenset[StepKind]] = frozenset(
    {"more layouts", "more executions", "other threshold", "sooner", "look at the program"}
)


def steps_of_import(steps: Iterable[Step]) -> list[Step]:
    """Those that help where somebody else executed: no command of ours executes more, or on a quieter machine."""
    return [_of_import(step) for step in steps if step.kind in _OF_IMPORTS]


def possible_of(steps: Iterable[Step], *, of_others: bool) -> list[Step]:
    """The steps that can be taken: of results ``of_others`` (`Evidence.of_others`) none that executes."""
    return steps_of_import(steps) if of_others else list(steps)


def _of_import(step: Step) -> Step:
    if step.kind == "more executions":
        more = "import more executions of each binary"
        return replace(step, command="", sentence=more, short=more)
    if step.kind != "more layouts" or not step.command:  # so many that nobody executes them stay a sentence
        return step
    more = f"import {step.n_layouts:,} binaries of each system" if step.n_layouts else "import more binaries"
    return replace(step, command="", sentence=more, short=more, has_figures=False)


@dataclass(frozen=True)
class LayoutsThere:
    """How many layouts were executed; ``few`` says how many the program has, where that is less than is asked for.

    ``executions`` is how often each binary was, at most.
    """

    n_executed: int
    few: FewDistinctLayouts | None = None
    executions: int = 1


def with_number(step: Step, layouts: LayoutsThere) -> Step:
    """The step, with a number if it is about layouts or executions: as many again as there are.

    Of layouts at least the usual number.
    """
    if step.kind == "more executions":
        return _more_executions(layouts, _TO_TELL)
    if step.kind != "more layouts":
        return step
    return _more_layouts(USUAL_LAYOUTS if layouts.n_executed < USUAL_LAYOUTS else 2 * layouts.n_executed)


def _more_layouts(wanted: int) -> Step:
    return replace(STEPS["more layouts"], command=f"layoutrand run --seeds {wanted}", n_layouts=wanted)


_TO_TELL: Final = "to tell layout from chance"
"""What more executions of each binary are for; `plan` says how many are best for something else, to compare systems."""


def _more_executions(layouts: LayoutsThere, purpose: str = "") -> Step:
    wanted = max(2, 2 * layouts.executions)
    often = "twice" if wanted == 2 else f"{wanted} times"
    return replace(
        STEPS["more executions"],
        sentence=f"execute each binary more often{f', {purpose}' if purpose else ''}: {_set('run.executions', wanted)}",
        short=_set("run.executions", wanted, f", {purpose or f'to execute each binary {often}'}"),
        n_executions=wanted,
    )


def as_many_executions(there: int) -> Step:
    """Without which `run` goes on with fewer executions of each binary than a number of layouts is counted with."""
    wanted = _as_many(there)
    return replace(STEPS["as many executions"], sentence=_counted_with(there, wanted), short=wanted, n_executions=there)


def has_more_layouts(n_found: int, n_distinct: float) -> bool:
    """Whether more seeds give more layouts than were found, of so many that there are.

    Seeds are drawn, so few of the layouts that are left are found by as many seeds: half of all count as all.
    """
    return 2 * n_found < n_distinct


def within(told: tuple[Step, ...], layouts: LayoutsThere) -> tuple[Step, ...]:
    """The steps, none of which asks for layouts that there are not (`has_more_layouts`), or for more than are in reach.

    More would be needed than the program has: all of them are proposed, or something else where they are too many.
    """
    few = layouts.few
    if few is None:
        return told
    if has_more_layouts(layouts.n_executed, few.n_layouts) and few.n_layouts <= WITHIN_REACH:
        return tuple(_more_layouts(few.n_layouts) if step.kind == "more layouts" else step for step in told)
    instead = _more_executions(layouts)
    instead = replace(
        instead,
        sentence=f"{few.brief()}; {instead.sentence}, or add a factor such as text-offset or padding to layout.factors",
    )
    others = {"more layouts", "more executions", "as many executions"}
    return instead, *(step for step in told if step.kind not in others)
