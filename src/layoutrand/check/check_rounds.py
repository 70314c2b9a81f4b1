"""The rounds of a check: which executions are due, what is settled, and why there is no more of them.

Seeds are taken in their order, 1, 2, 3, ..., whatever was interrupted: the rounds that a verdict rests on are the first
so many, never a choice.  A quantity that is settled is executed no more, but for a case of a harness: a process
executes all cases of its entry as long as one of them is open, and each verdict rests on all rounds that there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from layoutrand.analysis.asked_results import Question
from layoutrand.analysis.clock_warnings import CoarseClock
from layoutrand.analysis.compare import BenchmarkRatio, Comparison, adjusted, compare
from layoutrand.analysis.conclusion import CANNOT_TELL, of_pair
from layoutrand.analysis.sample import Sample, binary_mean
from layoutrand.analysis.selection import Selection, select
from layoutrand.check.commit_pair import CommitPair
from layoutrand.check.earlier_counts import take_earlier_counts
from layoutrand.check.judged import JudgedCases, judged_cases, main_metrics
from layoutrand.check.question import Ending, Quantity, quantity_of
from layoutrand.check.round_slots import Executed, slots_of_rounds
from layoutrand.check.waiting import Waiting
from layoutrand.config.two_commits import BASE, HEAD
from layoutrand.errors import AnalysisError, StillMeasured, UnknownMetric
from layoutrand.execute.execute import execute
from layoutrand.execute.run_plan import make_plan
from layoutrand.instruments.known import simulated
from layoutrand.model import STOCK, LayoutName
from layoutrand.results import file
from layoutrand.stats import decide, running_ratio
from layoutrand.stats.running_ratio import FEWEST_EXACT, FEWEST_ROUNDS

COUNTED_FIRST: Final = 12
"""Rounds that a simulated count has to settle, before what else the benchmark measures is executed as well."""

AHEAD: Final = 4
"""Layouts that are linked at once, after the first few."""

MOST_FAILED: Final = 3
"""Rounds in a row without a result, after which no more are tried."""

_AGAIN: Final = 1.25
"""How many times as many rounds there are before a conclusion that was withheld is asked for again."""


@dataclass
class _Progress:
    """How far one quantity is: the rounds that count, and what is known of it.

    ``is_coarse`` where nothing but the steps of its clock leaves it open, for which no further round is executed.
    """

    n_rounds: int = 0
    failed: int = 0
    settled: bool = False
    ended: bool = False
    is_coarse: bool = False
    ask_at: int = FEWEST_EXACT

    @property
    def is_done(self) -> bool:
        """Whether it is executed no more."""
        return self.settled or self.ended or self.is_coarse


@dataclass
class CheckRounds:
    """The rounds of one pair of commits; ``unfit_s`` is how long one would take that less than that was left for.

    ``waited_s`` is how long another layoutrand measured meanwhile, ``is_kept_off`` whether it still did in the end.
    """

    pair: CommitPair
    asked: Sequence[Quantity]
    selection: Selection | None = None
    executed: int = 0
    one_sided: dict[str, str] = field(default_factory=dict)
    apart: list[str] = field(default_factory=list)
    unfit_s: float | None = None
    waited_s: float = 0.0
    is_kept_off: bool = False
    _progress: dict[Quantity, _Progress] = field(default_factory=dict)
    _seed: dict[Executed, int] = field(default_factory=dict)
    _compared: tuple[Selection, Comparison | None] | None = None
    _round_s: float = 0.0

    def __post_init__(self) -> None:
        """Begin with nothing executed."""
        self._progress = {each: _Progress() for each in self.asked}

    @property
    def quantities(self) -> list[Quantity]:
        """What is judged: in place of an entry with a harness its cases, once a process has reported them."""
        return list(self._progress)

    @property
    def n_rounds(self) -> Mapping[Quantity, int]:
        """How many complete rounds each quantity has."""
        return {each: state.n_rounds for each, state in self._progress.items()}

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to execute."""
        return all(state.is_done for state in self._progress.values())

    @property
    def settled(self) -> int:
        """How many quantities are settled."""
        return sum(state.settled for state in self._progress.values())

    def recall(self) -> None:
        """Take what earlier calls recorded, and counts that checks of other commits did."""
        path = self.pair.results_path()
        captures = self.pair.recorded
        is_counted = any(each.instrument in simulated() for each in self.asked)
        known = (self.pair.config, self.pair.question.project, path, captures)
        if captures and is_counted and (count := take_earlier_counts(*known)):
            self.pair.tools.say(f"{count:,} counts are known from checks of other commits")
        if path.exists():
            self._look()
            for quantity, state in self._progress.items():  # the last round may lack its executions of stock
                alike = [each for each in self._progress if _executed(each) == _executed(quantity)]
                last = max((seed for each in alike for seed in self._seeds(each)), default=0)
                self._seed[_executed(quantity)] = max(0, last - 1)
                state.ended = last >= self.pair.question.most_layouts

    def retry(self, left_s: Callable[[], float]) -> None:
        """Execute again what failed in earlier calls, where that is asked for, as long as there are seconds left.

        Rounds go on behind the last complete one, so failures before it would stay, and so would those of a benchmark
        that has its verdict.
        """
        for seed, executed in self._failed():
            if left_s() <= 0:
                break
            self._link([seed])
            self._execute({executed: seed}, left_s())
            if self.is_kept_off:
                break
            self._look()

    def _failed(self) -> list[tuple[int, Executed]]:
        """The rounds of which an earlier call has failures that are to be executed again."""
        before = self.pair.question.retry_before
        if before is None or self.selection is None:
            return []
        failures = [each for each in self.selection.failures if each.started_at < before]
        found = {
            (failure.round, _executed(quantity))
            for quantity in self._progress
            for failure in failures
            if failure.instrument == quantity.instrument
            and failure.benchmark in (quantity.benchmark, quantity.executed)
        }
        return sorted(found)

    def ending(self) -> Ending:
        """Why there are no more rounds, or would be none but for the budget."""
        states = self._progress.values()
        if all(state.settled for state in states):
            return "decided"
        if any(state.failed >= MOST_FAILED or (state.failed and not state.n_rounds) for state in states):
            return "failures"
        if not self.is_over:
            return "budget"
        return "coarse clock" if all(state.is_coarse for state in states if not state.settled) else "layouts"

    def next_round(self, left_s: float) -> bool:
        """Execute one more round of all that is open; False where it would not end in the seconds that are left."""
        if not self._fits(left_s):
            return False
        begin = self.pair.tools.clock()
        active = self._active()
        wanted = {each: self._seed.get(each, 0) + 1 for each in map(_executed, active)}
        self._link(wanted.values())
        linked = self.pair.tools.clock()
        if not self._fits(left_s - (linked - begin)):
            return False
        waited_s = self._execute(wanted, left_s - (linked - begin) - self._round_s)
        if self.is_kept_off:
            return False
        self._seed |= wanted
        self._look()
        for quantity, state in self._progress.items():
            if (seed := wanted.get(_executed(quantity))) is not None:
                done = state.settled or seed in self._seeds(quantity)
                state.failed = 0 if done else state.failed + 1
                state.ended = state.failed >= MOST_FAILED or seed >= self.pair.question.most_layouts
        if waited_s is not None:  # that another layoutrand measured says nothing of how long the next round takes
            self._round_s = self.pair.tools.clock() - linked - waited_s
        return True

    def _fits(self, left_s: float) -> bool:
        """Whether a round would end in the seconds that are left; links may have taken them all."""
        self.unfit_s = self._round_s if self._round_s > left_s > 0 else None
        return self._round_s <= left_s

    def comparison(self) -> Comparison | None:
        """The comparison of all that was executed, each benchmark by itself; None without any complete round."""
        if self.selection is None:
            return None
        if self._compared is None or self._compared[0] is not self.selection:
            self._compared = (self.selection, self._compare(self.selection))
        return self._compared[1]

    def _compare(self, selection: Selection) -> Comparison | None:
        question = self.pair.question
        found: Comparison | None = None
        rows: dict[Quantity, BenchmarkRatio] = {}
        for metric in dict.fromkeys([question.metric, *self._beside()]):
            try:
                result = compare(
                    selection,
                    BASE,
                    HEAD,
                    confidence=question.confidence,
                    threshold=question.threshold,
                    metric=metric,
                    looks="after every round",
                )
            except (AnalysisError, UnknownMetric):  # no round of this metric is complete
                continue
            found = found or result
            rows |= {quantity_of(each): each for each in result.benchmarks if quantity_of(each) in self._progress}
        if found is None:
            return None
        alone = [adjusted([rows[each]], question.confidence)[0] for each in self.quantities if each in rows]
        return replace(found, benchmarks=tuple(alone), suite=None)

    def _beside(self) -> list[str]:
        """Counts that are judged beside the main metrics."""
        own = [each for each in self.quantities if not each.entry]
        main = main_metrics(self.pair.config, own)
        return [each.metric for each in own if main[each.benchmark] != (each.instrument, each.metric)]

    def _active(self) -> list[Quantity]:
        """What is executed next: where counts may still settle a benchmark, these alone."""
        found = [each for each, state in self._progress.items() if not state.is_done]
        counting = {
            each.benchmark
            for each in found
            if each.instrument in simulated() and self._progress[each].n_rounds < COUNTED_FIRST
        }
        return [each for each in found if each.instrument in simulated() or each.benchmark not in counting]

    def _link(self, seeds: Iterable[int]) -> None:
        """Have binaries of these rounds, of some more ahead, and of all before: a layout of two seeds counts once."""
        wanted = set(seeds)
        if wanted <= self.pair.linked:
            return
        last = max(wanted)
        ahead = FEWEST_ROUNDS if last <= FEWEST_ROUNDS else AHEAD
        end = max(last, min((last - 1) // ahead * ahead + ahead, self.pair.question.most_layouts))
        stock: list[LayoutName] = [STOCK] if self.pair.question.as_built else []
        self.pair.link([*stock, *range(1, end + 1)])

    def _execute(self, wanted: Mapping[Executed, int], spare_s: float) -> float | None:
        """Execute these rounds, waiting ``spare_s`` at most; how long we waited, None where nothing was executed."""
        tools = self.pair.tools
        request = self.pair.request()
        slots = slots_of_rounds(make_plan(request).slots, wanted)
        if not slots:
            return None
        longest_s = request.choices.wait_s
        wait_s = min(longest_s, max(0.0, spare_s))
        request = replace(request, slots=tuple(slots), choices=replace(request.choices, wait_s=wait_s))
        waiting = Waiting(tools.clock, tools.say)
        path, begin = file.results_path(self.pair.question.project), tools.clock()
        try:
            with (
                file.open_for_writing(self.pair.results_path()) as store,
                file.exclusive_use(path, wait_s=wait_s, on_wait=waiting.begins),
                tools.progress() as advance,
            ):
                begin = tools.clock()
                summary = execute(
                    request,
                    store=store,
                    executor=tools.executor,
                    progress=advance,
                    say=tools.say,
                    prepare=waiting.ends,
                    on_wait=waiting.begins,
                )
        except StillMeasured:
            if wait_s == longest_s:
                raise
            self.is_kept_off = True
            self.waited_s += waiting.waited_s(begin)
            return None
        self.executed += summary.executed
        if not summary.executed:
            return None
        waited_s = waiting.waited_s(begin)
        self.waited_s += waited_s
        return waited_s

    def _look(self) -> None:
        """Read what there is, and see what it settles."""
        question, pair = self.pair.question, self.pair
        if not pair.results_path().exists():  # nothing that was linked could be executed so far
            return
        asked = Question(pair.config, question.project, [], question.entries, {}, None)
        try:
            with file.open_for_reading(pair.results_path()) as store:
                self.selection = replace(select(asked, store), by_run=False)
        except AnalysisError:  # nothing is recorded of what is asked for
            return
        self._find_cases(self.selection)
        grown = []
        for quantity, state in self._progress.items():
            before, state.n_rounds = state.n_rounds, len(self._seeds(quantity))
            if state.settled and state.n_rounds > before:
                grown.append(quantity)
                state.settled = self._is_decided(quantity)
            elif not state.settled and state.n_rounds >= state.ask_at:
                state.settled = self._settles(quantity)
        if self.is_over:  # what a process measured of other cases meanwhile must not have taken their verdicts away
            for quantity in grown:
                self._progress[quantity].settled = self._settles(quantity)

    def _find_cases(self, selection: Selection) -> None:
        """Have the cases that processes reported in the place of their entries, and failures of these alone."""
        judged: list[Quantity] = []
        self.one_sided, self.apart = {}, []
        for each in self.asked:
            found = judged_cases(self.pair.question, selection, each) if each.entry else JudgedCases()
            judged += found.quantities or ([] if found.is_apart else [each])
            self.apart += [each.benchmark] if found.is_apart else []
            self.one_sided |= found.one_sided
        self._progress = {each: self._progress.get(each, _Progress()) for each in judged}
        names = {each.benchmark for each in judged}
        failures = tuple(each for each in selection.failures if each.benchmark in names)
        self.selection = replace(selection, failures=failures)

    def _settles(self, quantity: Quantity) -> bool:
        """Whether a verdict stands: by the ratio alone first, then with all that may cast it away."""
        state = self._progress[quantity]
        if not self._is_decided(quantity):
            return False
        comparison = self.comparison()
        if comparison is None:
            return False
        pair = next((each for each in comparison.benchmarks if quantity_of(each) == quantity), None)
        if pair is not None and of_pair(comparison, pair).verdict != CANNOT_TELL:
            return True
        if pair is not None and any(isinstance(each, CoarseClock) and each.is_open for each in pair.warnings):
            state.is_coarse = True
        state.ask_at = math.ceil(state.n_rounds * _AGAIN) + 1
        return False

    def _is_decided(self, quantity: Quantity) -> bool:
        """Whether the ratio of the rounds alone would be a verdict."""
        question = self.pair.question
        old, new = self._rounds(quantity)
        try:
            is_count = quantity.instrument in simulated()
            ratio = running_ratio(old, new, confidence=question.confidence, is_count=is_count)
        except AnalysisError:
            return False
        return decide(ratio, question.threshold) != "undecided"

    def _samples(self, quantity: Quantity) -> tuple[Sample | None, Sample | None]:
        found = (
            {}
            if self.selection is None
            else {each.system: each for each in self.selection.samples if quantity_of(each) == quantity}
        )
        return found.get(BASE), found.get(HEAD)

    def _seeds(self, quantity: Quantity) -> list[int]:
        """Rounds of which both commits have a result."""
        old, new = self._samples(quantity)
        if old is None or new is None:
            return []
        there = {name for name, _ in new.binaries}
        return [name for name, _ in old.binaries if isinstance(name, int) and name in there]

    def _rounds(self, quantity: Quantity) -> tuple[list[float], list[float]]:
        """The means of both commits, round by round."""
        old, new = self._samples(quantity)
        assert old is not None
        assert new is not None
        sides = [{name: binary_mean(runs) for name, runs in each.binaries} for each in (old, new)]
        seeds = self._seeds(quantity)
        return [sides[0][seed] for seed in seeds], [sides[1][seed] for seed in seeds]


def _executed(quantity: Quantity) -> Executed:
    return quantity.executed, quantity.instrument
