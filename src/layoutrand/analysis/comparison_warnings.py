"""Every warning that a comparison of two systems adds: how they were executed, and what their layouts are like."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Final

from layoutrand.config.seeds import format_seeds
from layoutrand.model import BinaryName
from layoutrand.text.quantities import ratio_words
from layoutrand.warning import AnyWarning

_AS_MANY: Final = 30
"""New rounds that are proposed, as many as `run` makes by itself."""


_MEASURE_IN_TURN: Final = "measure again with your own harness, both systems in turn"
"""What helps where no `run` of ours executes more."""


def _listed(names: tuple[BinaryName, ...]) -> str:
    seeds = [name for name in names if isinstance(name, int)]
    return format_seeds(seeds) if 1 < len(seeds) == len(names) else ", ".join(map(str, names))


@dataclass(frozen=True)
class DesignError(AnyWarning):
    """Two systems that were executed so that a drift of the machine can look like a difference between them.

    ``alone`` are the executions of baseline and candidate, of ``n_executions`` each, that were made while the other
    was not executed.  ``last_seed`` is the largest that either was executed with; ``of_others`` as in `Evidence`.
    """

    alone: tuple[int, int]
    n_executions: tuple[int, int]
    last_seed: int
    of_others: bool = field(default=False, kw_only=True)

    @property
    def new_rounds(self) -> str:
        """Seeds that no system was executed with, which all systems are executed with beside each other."""
        return f"{self.last_seed + 1}..{self.last_new_seed}"

    @property
    def last_new_seed(self) -> int:
        """The last of these seeds."""
        return self.last_seed + _AS_MANY

    @property
    def _together(self) -> str:
        if self.of_others:
            return f"{_MEASURE_IN_TURN}, and import that"
        return (
            "what is recorded is not executed again, so it takes new rounds: `layoutrand run --seeds "
            f"{self.new_rounds}` executes all systems of a round one after the other"
        )

    @property
    def _counts(self) -> str:
        parts = [
            f"{mine} of {of} of the {name}"
            for name, mine, of in zip(("baseline", "candidate"), self.alone, self.n_executions, strict=True)
            if mine
        ]
        return f"executions while the other system was not executed: {', '.join(parts)}"


@dataclass(frozen=True)
class ExecutedApart(DesignError):
    """No two rounds in which both systems were executed."""

    def __str__(self) -> str:
        return (
            f"error of design, so there is no verdict: {self._counts}. What the machine did meanwhile cannot be told "
            f"from a difference between the systems; {self._together}"
        )

    def brief(self) -> str:
        """What was found."""
        return "the two systems were not executed at the same time"


@dataclass(frozen=True)
class TooFewRounds(AnyWarning):
    """Not yet two layouts that both systems were executed in, where a ratio is looked at after every round."""

    n_complete: int

    def __str__(self) -> str:
        return f"no ratio yet: {self.brief()}"

    def brief(self) -> str:
        """What was found."""
        count = f"{self.n_complete} layout was" if self.n_complete == 1 else f"{self.n_complete} layouts were"
        return f"{count} executed of both, and it takes at least 2 to see how much layouts differ"


@dataclass(frozen=True)
class AddedAlone(DesignError):
    """Rounds of one system alone, which are left out."""

    n_rounds: int

    def __str__(self) -> str:
        return (
            f"error of design: {self._counts}. What the machine did meanwhile would look like a difference, so only "
            f"the {self.n_rounds} rounds are compared in which both were executed; {self._together}"
        )

    def brief(self) -> str:
        """What was found."""
        return f"rounds were added to one system alone; compared by the {self.n_rounds} rounds that both have"


@dataclass(frozen=True)
class RoundsApart(AnyWarning):
    """Rounds that were not executed at one time, as after ``--retry-failed``."""

    names: tuple[BinaryName, ...]

    def __str__(self) -> str:
        return f"compared without {_listed(self.names)}, of which the two systems were executed at different times"


@dataclass(frozen=True)
class IncompleteRounds(AnyWarning):
    """Binaries that have no counterpart: how many of baseline and candidate."""

    left_out: tuple[int, int]
    n_rounds: int

    def __str__(self) -> str:
        parts = [
            f"{count} of the {name}"
            for name, count in zip(("baseline", "candidate"), self.left_out, strict=True)
            if count
        ]
        return (
            f"compared by the {self.n_rounds} rounds that both systems have; left out, since the other system lacks "
            f"them: {', '.join(parts)}"
        )


@dataclass(frozen=True)
class FewCompleteRounds(AnyWarning):
    """A comparison that does not go by round, as hardly any rounds are complete; ``of_others`` as in `Evidence`."""

    complete: int
    of: int
    of_others: bool = False

    def __str__(self) -> str:
        together = (
            f"{_MEASURE_IN_TURN}, and import the same seeds or names of both"
            if self.of_others
            else "`layoutrand run` without --system executes all systems of a round one after the other"
        )
        have = "none is" if not self.complete else f"{self.complete} {'is' if self.complete == 1 else 'are'}"
        return (
            f"not compared by round: of up to {self.of} rounds {have} complete, so a drift of the machine widens the "
            f"interval; {together}"
        )


@dataclass(frozen=True)
class NotByRound(AnyWarning):
    """A comparison that does not go by round, since a ratio of rounds is not defined."""

    reason: str

    def __str__(self) -> str:
        return f"not compared by round: {self.reason}"


def _whose(side: str) -> str:
    return f"binaries of the {side}" if side else "rounds"


@dataclass(frozen=True)
class OddValues(AnyWarning):
    """Ratios of rounds, or means of the binaries of a ``side``, whose mean says little of most of them."""

    side: str

    @property
    @abstractmethod
    def in_short(self) -> str:
        """``some rounds lie far from the others``."""


@dataclass(frozen=True)
class FarValues(OddValues):
    """Rounds whose ratio, or binaries whose mean, lies far from the others."""

    names: tuple[BinaryName, ...]

    def __str__(self) -> str:
        return f"{_whose(self.side)} far from the others, but in the numbers: {_listed(self.names)}"

    @property
    def in_short(self) -> str:
        """Which lie far."""
        return f"some {_whose(self.side)} lie far from the others"


@dataclass(frozen=True)
class TailOfValues(OddValues):
    """Ratios of rounds, or means of binaries, that reach further to one side than chance makes normal ones."""

    skewness: float
    p_value: float

    def __str__(self) -> str:
        return f"{self.in_short} (skewness {self.skewness:.2g}, p = {self.p_value:.2g})"

    @property
    def in_short(self) -> str:
        """Which tail is long."""
        what = f"the means of the {self.side}" if self.side else "the ratios of the rounds"
        return f"{what} have a long tail of {'large' if self.skewness > 0 else 'small'} values"


@dataclass(frozen=True)
class GroupsOfValues(OddValues):
    """Ratios of rounds, or means of binaries, with more than one peak."""

    p_value: float

    def __str__(self) -> str:
        return f"{self.in_short} (dip test, p = {self.p_value:.2g}), so one ratio describes none of them"

    @property
    def in_short(self) -> str:
        """What falls into groups."""
        return f"{f'the means of the {self.side}' if self.side else 'the ratios of the rounds'} fall into groups"


@dataclass(frozen=True)
class RatiosDrifted(AnyWarning):
    """Ratios that are like those of the rounds before them."""

    correlation: float
    p_value: float

    def __str__(self) -> str:
        return (
            f"ratios of successive rounds are alike (correlation {self.correlation:.2f}, p = {self.p_value:.2g}): "
            "something changed for one system and not for the other, and the interval takes it for chance"
        )

    def brief(self) -> str:
        """What was found."""
        return "something changed for one system meanwhile and not for the other"


@dataclass(frozen=True)
class QuotientDiffers(AnyWarning):
    """A ratio by round, and the quotient of the two means, which are not the same number."""

    ratio: float
    low: float
    high: float
    quotient: float

    @property
    def is_outside(self) -> bool:
        """Whether the interval leaves the quotient out."""
        return not self.low <= self.quotient <= self.high

    def __str__(self) -> str:
        centre, interval = ratio_words(self.ratio, self.low, self.high)
        quotient, _ = ratio_words(self.quotient, self.low, self.high)
        where = f", which its interval {interval} leaves out" if self.is_outside else ""
        return (
            f"the ratio {centre} is the geometric mean of the ratios of single rounds; the two means, in which large "
            f"values weigh more, have the quotient {quotient}{where}"
        )
