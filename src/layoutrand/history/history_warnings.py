"""What is recorded and is no part of a history, and what it rests on: the kinds, and the words of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from layoutrand.analysis.clock_warnings import CoarseClock
from layoutrand.analysis.next_steps import USUAL_LAYOUTS
from layoutrand.execute.cases import ABSENT
from layoutrand.model import Execution
from layoutrand.text.name_lists import first_names
from layoutrand.warning import AnyWarning, plural

FEWEST_ROUNDS: Final = 6
"""Of blocks that all points have: below it points are compared by their means alone."""

ADVISED_ROUNDS: Final = 10
"""A step as large as layouts differ is found in six rounds in about 59 of 100 cases, in ten in 98."""

_HARDLY_ANY_TWICE: Final = 1000
"""Layouts from which on six seeds have six in 98 of 100 cases; of six layouts `USUAL_LAYOUTS` seeds have all in 97."""


@dataclass(frozen=True)
class ElsewhereLeftOut(AnyWarning):
    """Executions of other machines, or under other settings of [layout] and [run]."""

    count: int
    hosts: tuple[str, ...]

    def __str__(self) -> str:
        if not self.hosts:
            return f"left out {plural(self.count, 'execution')} under other settings of [layout] or [run]"
        return (
            f"left out {plural(self.count, 'execution')} on other machines ({', '.join(self.hosts)}); --host names one"
        )


@dataclass(frozen=True)
class OtherToolsLeftOut(AnyWarning):
    """Captures made with other flags, commands or tools than the last: a step would be theirs, not a commit's."""

    count: int
    system: str
    difference: str

    def __str__(self) -> str:
        return (
            f"{self.system}: left out {plural(self.count, 'execution')} built or started otherwise ({self.difference})"
        )


@dataclass(frozen=True)
class WithoutCommit(AnyWarning):
    """Captures of which no commit is recorded: of no repository, prebuilt, or of a layoutrand before this one."""

    count: int
    system: str

    def __str__(self) -> str:
        return f"{self.system}: left out {plural(self.count, 'execution')} of which no commit is recorded"


@dataclass(frozen=True)
class ChangedTrees(AnyWarning):
    """Captures of work trees that differed from their commit."""

    count: int
    system: str

    def __str__(self) -> str:
        executions = plural(self.count, "execution")
        return f"{self.system}: left out {executions} of work trees with changes, which are no commits"


@dataclass(frozen=True)
class OtherBranches(AnyWarning):
    """Measured commits that are not among those asked for."""

    count: int
    system: str
    of: str

    def __str__(self) -> str:
        what = plural(self.count, "measured commit")
        return f"{self.system}: left out {what} that {'is' if self.count == 1 else 'are'} not in {self.of}"


@dataclass(frozen=True)
class UnbuiltCommits(AnyWarning):
    """Commits that were to be executed and could not be built, out of so many; ``system`` where others were built."""

    commits: tuple[str, ...]
    n_asked: int
    system: str = ""

    def __str__(self) -> str:
        few = first_names(self.commits, 3)
        be = "is" if len(self.commits) == 1 else "are"
        of = f"{self.system}: " if self.system else ""
        return (
            f"{of}{len(self.commits)} of {plural(self.n_asked, 'commit')} could not be built and {be} left out: {few}"
        )


@dataclass(frozen=True)
class SeriesWarning(AnyWarning):
    """What is to be known of the series of one benchmark; ``benchmark`` names several where it is the same of them."""

    benchmark: str
    system: str


def told_together(warnings: Iterable[AnyWarning], most: int) -> list[AnyWarning]:
    """The warnings, each once: what is the same of several benchmarks of a system is one, with ``most`` names."""
    alike: dict[AnyWarning, dict[str, None]] = {}
    for each in warnings:
        if isinstance(each, SeriesWarning):
            alike.setdefault(replace(each, benchmark=""), {})[each.benchmark] = None
        else:
            alike.setdefault(each, {})
    return [
        replace(each, benchmark=first_names(list(names), most)) if isinstance(each, SeriesWarning) else each
        for each, names in alike.items()
    ]


@dataclass(frozen=True)
class FewRounds(SeriesWarning):
    """Commits that were measured in so few of the others' layouts that no steps are looked for in them."""

    commits: tuple[str, ...]

    def __str__(self) -> str:
        few = first_names(self.commits, 3)
        return (
            f"{self.benchmark}, {self.system}: {few}: measured in few of the layouts of the others, so shown, but not "
            "looked at for steps"
        )


MORE_COMMITS: Final = "`layoutrand history --run OLD..NEW` measures commits from OLD to NEW"


@dataclass(frozen=True)
class TooShortHistory(SeriesWarning):
    """A series in which no step could be found, whatever its size.

    ``n_common`` rounds are of all points, 0 where they were measured at different times; ``ends`` are its first and
    last commit.  ``n_distinct`` are the layouts that all of its programs can have at most, None where these are many
    or not known; ``new_rounds`` are the first seed that none of them was executed with, and how many from there on make
    up for the rounds that they were executed in at different times.
    """

    n_points: int
    n_common: int
    ends: tuple[str, str]
    n_distinct: int | None = None
    new_rounds: tuple[int, int] | None = None

    def __str__(self) -> str:
        what = plural(self.n_points, "program")
        why = rest = ""
        if self.ends[0] == self.ends[1]:
            rest = f"; {MORE_COMMITS}"
        if self.n_points > 1 and not self.n_common:
            why = " measured at different times"
            rest = "" if self.new_rounds is None else self._more_layouts(*self.new_rounds)
        elif self.n_points > 1 and self.n_common < FEWEST_ROUNDS:
            why = f" with {plural(self.n_common, 'layout')} in common"
            rest = self._more_layouts()
        return f"{self.benchmark}, {self.system}: {what}{why} cannot show a step, whatever its size{rest}"

    def _more_layouts(self, first: int = 1, fewest: int = ADVISED_ROUNDS) -> str:
        """How to have enough of them side by side, at least so many seeds from the first on; or that there are not."""
        few = self.n_distinct
        if few is not None and few < FEWEST_ROUNDS:
            return (
                f"; there {'is' if few == 1 else 'are'} only {plural(few, 'distinct layout')}: factors such as "
                "text-offset and padding in layout.factors make more"
            )
        # Seeds are drawn, and of few layouts two have the same one soon.
        seeds = fewest if few is None or few > _HARDLY_ANY_TWICE else max(fewest, USUAL_LAYOUTS)
        chosen = f"{seeds}" if first == 1 else f"{first}..{first + seeds - 1}"
        which = f"{fewest}" if first == 1 else "new seeds"
        command = f"layoutrand history --run {'..'.join(self.ends)} --seeds {chosen}"
        return f"; with {which} they may: `{command}` (and --every, if that was given)"


@dataclass(frozen=True)
class MeasuredApart(SeriesWarning):
    """A series with steps whose points were measured at different times, as by `layoutrand run` day after day.

    Exchanges of means take any order of them for as likely as any other.  A machine that is slow for some days on end
    breaks that, and nothing in the means tells such days from a step of the program.
    """

    def __str__(self) -> str:
        return (
            f"{self.benchmark}, {self.system}: commits were measured at different times, so a machine that was slow "
            "for some of them on end looks like a step; `layoutrand bisect` executes both sides in the same rounds"
        )


@dataclass(frozen=True)
class UnknownOrder(AnyWarning):
    """The repository is not there, so commits stand in the order of their dates."""

    why: str

    def __str__(self) -> str:
        return f"commits are in the order of their dates: {self.why}"


@dataclass(frozen=True)
class NotAboveZero(SeriesWarning):
    """A metric with values of 0 or below, of which there are no ratios."""

    def __str__(self) -> str:
        return f"{self.benchmark}, {self.system}: values of 0 or below have no ratios, so no steps are looked for"


@dataclass(frozen=True)
class ClockOfSeries(SeriesWarning):
    """A series of times that lie on one or two steps of their clock."""

    clock: CoarseClock

    def __str__(self) -> str:
        return f"{self.benchmark}, {self.system}: {self.clock}"


@dataclass(frozen=True)
class NoNumbers(SeriesWarning):
    """A benchmark of which every execution in a layout failed, so that it has no row; ``reason`` is the first one's."""

    count: int
    reason: str

    def __str__(self) -> str:
        failed = "its execution in a layout" if self.count == 1 else f"all {self.count:,} executions in layouts"
        return (
            f"{self.benchmark}, {self.system}: {failed} failed, so there is no history of it: {self.reason}; once that "
            "is mended, `layoutrand history --run OLD..NEW --retry-failed`"
        )


def without_numbers(system: str, executions: Iterable[Execution]) -> list[NoNumbers]:
    """Of which benchmarks of the system no execution in a layout gave a number: controls alone are no history.

    A case that the harness of a commit does not have, as other commits' or systems' have, has not failed there.
    """
    of: dict[str, list[Execution]] = {}
    for each in executions:
        if isinstance(each.layout, int):
            of.setdefault(each.benchmark, []).append(each)
    found: list[NoNumbers] = []
    for name, own in of.items():
        lacking = {each.capture for each in own if each.reason == ABSENT}
        failed = [each for each in own if each.capture not in lacking]
        if failed and all(each.status != "ok" for each in own):
            found.append(NoNumbers(name, system, len(failed), " ".join(failed[0].reason.split())))
    return found
