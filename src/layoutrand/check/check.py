"""`layoutrand check`: is this change slower, faster or the same, and which functions does it change?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from layoutrand.build.build_warnings import SharedCapture
from layoutrand.capture.checked_commits import SourceRepository
from layoutrand.capture.function_changes import FunctionChanges
from layoutrand.check.check_rounds import CheckRounds
from layoutrand.check.commit_pair import CommitPair
from layoutrand.check.judged import judged_quantities
from layoutrand.check.question import (
    CheckAnswer,
    CheckQuestion,
    CheckTools,
    Ending,
    Quantity,
    SystemCheck,
    concluded_benchmarks,
    one_program,
    with_first_step,
)
from layoutrand.config.two_commits import HEAD, checkable, two_commits
from layoutrand.host.launcher import find_launcher
from layoutrand.instruments.known import instrument
from layoutrand.model import STOCK


def check(question: CheckQuestion, where: SourceRepository, tools: CheckTools) -> CheckAnswer:
    """Compare two commits of each system in rounds, until every benchmark has a verdict or the budget is used.

    Raises what `build` and `execute` raise, and `ToolNotFound` before anything is built where what executes it is not
    there.  Whatever was executed is recorded, and another call goes on from there.
    """
    quantities = judged_quantities(question)
    for name in dict.fromkeys(each.instrument for each in quantities):
        instrument(name).find()
    find_launcher(question.config.run.launcher, question.project)
    systems, left_out = checkable(question.config)
    # Both commits of each system are captured; where the captures are the same nothing else is done.
    checks = [_Begun.of(question, where, tools, name, quantities) for name in systems if name in question.systems]
    going = [each for each in checks if each.rounds is not None]
    # Both commits as built, which is a build once more: the budget is for what comes after.
    for each in going:
        each.build_stock()
    # Rounds, of all systems in turn, until everything is settled or the budget is used.
    deadline = tools.clock() + question.budget_s
    for each in going:
        each.retry(lambda: deadline - tools.clock())
    while going:
        going = [each for each in going if each.goes_on(deadline - tools.clock())]
    # What all of it means.
    return CheckAnswer(
        question,
        tuple(with_first_step(each.result()) for each in checks),
        {name: why for name, why in left_out.items() if name in question.systems},
    )


class _Begun:
    """The check of one system, on its way."""

    def __init__(self, pair: CommitPair, quantities: list[Quantity]) -> None:
        self.pair = pair
        self.quantities = quantities
        self.changes: list[FunctionChanges] | None = None
        self.rounds: CheckRounds | None = None
        self.ending: Ending = "failures"
        self.added: dict[str, str] = {}

    @classmethod
    def of(
        cls,
        question: CheckQuestion,
        where: SourceRepository,
        tools: CheckTools,
        system: str,
        quantities: list[Quantity],
    ) -> _Begun:
        """Built and compared by content; with what is recorded of it, where anything is left to execute."""
        commits = (question.base.commit, question.head.commit)
        labels = (question.base.label, question.head.label)
        config = two_commits(question.config, system, where.url, commits, labels, where.inside)
        begun = cls(CommitPair(question, tools, system, config), quantities)
        pair = begun.pair
        begun.leave_out(pair.capture_of_both({each.executed for each in quantities}))
        if not pair.is_built:
            return begun
        if all(pair.captures) and pair.captures[0] == pair.captures[1]:
            begun.ending = "same program"
            return begun
        begun.changes = pair.changes()
        nothing = pair.has_own_objects if begun.changes is None else all(each.is_empty for each in begun.changes)
        if nothing and pair.loads_the_same():
            begun.ending = "same program"
            return begun
        begun.rounds = CheckRounds(pair, begun.quantities)
        begun.rounds.recall()
        return begun

    def leave_out(self, added: Sequence[str]) -> None:
        """Judge no benchmark of these, which execute what HEAD alone makes."""
        question = self.pair.question
        self.added = {each.benchmark: HEAD for each in self.quantities if each.executed in added}
        self.quantities = [each for each in self.quantities if each.executed not in added]
        left = [name for name in question.benchmarks if question.entry(name) not in added]
        self.pair.question = replace(question, benchmarks=left)

    def build_stock(self) -> None:
        """Have both commits as built, where anything is left to execute."""
        assert self.rounds is not None
        if self.pair.question.as_built and not self.rounds.is_over:
            self.pair.link([STOCK])

    def retry(self, left_s: Callable[[], float]) -> None:
        """Execute again what failed, where that is asked for."""
        assert self.rounds is not None
        self.rounds.retry(left_s)

    def goes_on(self, left_s: float) -> bool:
        """Execute one more round; whether there may be another."""
        assert self.rounds is not None
        before = self.rounds.settled
        if self.rounds.is_over or left_s <= 0 or not self.rounds.next_round(left_s):
            return False
        if self.rounds.settled != before:  # a case that is executed beside others may be open again
            count = max(self.rounds.n_rounds.values())
            self.pair.tools.say(f"{self.rounds.settled} of {len(self.rounds.quantities)} settled after {count} rounds")
        return not self.rounds.is_over

    def result(self) -> SystemCheck:
        """What became of it."""
        pair, rounds = self.pair, self.rounds
        # That both commits are one program is the answer, and no warning beside it.
        notes = tuple(n for build in pair.builds for n in build.notes if not isinstance(n, SharedCapture))
        failures = tuple(failure for build in pair.builds for failure in build.failures)
        changes = None if self.changes is None else tuple(self.changes)
        if rounds is None:
            rows = (
                one_program(self.quantities)
                if self.ending == "same program"
                else concluded_benchmarks(None, self.quantities, {})
            )
            return SystemCheck(
                pair.system,
                self.ending,
                rows,
                changes,
                pair.captures,
                build_failures=failures,
                notes=notes,
                one_sided=self.added,
            )
        comparison = rounds.comparison()
        stopped_at = pair.question.most_layouts if rounds.ending() == "layouts" else None
        return SystemCheck(
            system=pair.system,
            ending=rounds.ending(),
            benchmarks=concluded_benchmarks(comparison, rounds.quantities, rounds.n_rounds, stopped_at=stopped_at),
            changes=changes,
            captures=pair.captures,
            comparison=comparison,
            selection=rounds.selection,
            build_failures=failures,
            notes=notes,
            executed=rounds.executed,
            results=pair.results_path(),
            one_sided={**self.added, **rounds.one_sided},
            apart=tuple(rounds.apart),
            next_round_s=rounds.unfit_s,
            waited_s=rounds.waited_s,
            is_kept_off=rounds.is_kept_off,
        )
