"""What layoutrand needs of a harness of benchmarks; each is a module of `layoutrand.harnesses.known`.

A harness is linked into the program (Google Benchmark, criterion) or starts it (JMH).  One process executes several
*cases*.  Its own repetitions, samples or epochs are what iterations are to any other benchmark: the level below the
execution.  Which process it was started from, and so the layout, is what results go by.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from layoutrand.config.readings import HarnessReading
from layoutrand.errors import NoMeasurement
from layoutrand.text.digits import MEASURABLE, is_measurable

TIME: Final = "time_s"
"""The main number of most harnesses: seconds from start to end of one iteration of a case."""

CPU_TIME: Final = "cpu_time_s"
"""The same in seconds of CPU time, where a harness tells."""

_SECONDS: Final[Mapping[str, float]] = {"s": 1, "ms": 1e3, "us": 1e6, "\N{MICRO SIGN}s": 1e6, "ns": 1e9, "ps": 1e12}


@dataclass(frozen=True)
class CaseQuantity:
    """One quantity of a case: its unit, and its value in each of the harness's repetitions, in order.

    A unit that ends in "/s" is that of a rate, of which more is better; of all others less is.
    """

    unit: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Case:
    """One case in one process: what was measured of it by name, the main number first, or why there is nothing."""

    name: str
    numbers: Mapping[str, CaseQuantity]
    failure: str = ""


@dataclass(frozen=True)
class LeftByHarness:
    """What a process left: its output, its messages, and the text files of `Harness.files`, by path.

    ``argv`` are the words that started it, as far as they are known.
    """

    output: str
    messages: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    argv: tuple[str, ...] = ()


class Harness(ABC):
    """One harness."""

    name: ClassVar[str]
    """``harness`` in layoutrand.toml; part of the key of executions, so it never changes."""

    described: ClassVar[str]
    """What it is, in the words of the documentation."""

    files: ClassVar[tuple[str, ...]] = ()
    """Patterns of files that it leaves in the working directory, beside what it prints.

    Or in the directory for temporary files, if it was told so: those that are `placed`.
    """

    main: ClassVar[tuple[str, ...]] = (TIME,)
    """The number of a case that is judged: the first of these that it has, or else the first that it has."""

    simulates: ClassVar[bool] = False
    """Whether it has the processor simulated: its numbers repeat to the digit, and no machine disturbs them."""

    starts: ClassVar[tuple[str, ...]] = ()
    """Programs that it looks for on PATH, where executions may not have them: theirs is the system's."""

    in_project: ClassVar[bool] = False
    """Whether it looks for the project where it is started."""

    traces: ClassVar[tuple[bytes, ...]] = ()
    """What is found in a program that has such cases linked into it: a name of a symbol, an option, a library."""

    needs: ClassVar[str] = ""
    """What its author must do before a program with these traces reports cases, as a sentence; "" where nothing."""

    @property
    def placed(self) -> dict[str, tuple[str, ...]]:
        """The files and directories that it is told by name, and `files` in each of them."""
        found: dict[str, tuple[str, ...]] = {}
        for pattern in self.files:
            name = pattern.partition("/")[0]
            if not set("*?[") & set(name):
                found[name] = (*found.get(name, ()), pattern)
        return found

    def chosen_by(self, words: Sequence[str]) -> tuple[list[str], str] | None:
        """A command for people as one for `words`: what is left of it, and the cases that it chooses, "" for all.

        None for one that asks the harness for something else, such as a list.
        """
        return list(words), ""

    def refusal(self, command: Sequence[str]) -> str:  # noqa: ARG002 - for those whose options could be there already
        """What is wrong with a command whose words would not go with `words`; "" for what goes."""
        return ""

    @abstractmethod
    def words(self, reading: HarnessReading) -> list[str]:
        """What is put behind the command, so that the cases asked for are executed and reported.

        Raises `UnsupportedByHarness` for what it has no option for.
        """

    def takes(self, reading: HarnessReading) -> bool:
        """Whether it has words for what is asked."""
        try:
            self.words(reading)
        except UnsupportedByHarness:
            return False
        return True

    def words_for(self, case: str) -> list[str]:
        """What is put behind the command in place of `words` to execute one case, by its name, for a profile of it.

        Names of some harnesses say it less than exactly: whether it was that case alone `executed` tells.  Raises
        `UnsupportedByHarness` where there is no such option.
        """
        raise UnsupportedByHarness(f"{self.name} has no option for one case: {case}")

    def executed(self, left: LeftByHarness) -> set[str]:
        """The cases of a process that `words_for` started; raises `NoMeasurement`."""
        return {case.name for case in self.read(left)}

    def environment(self) -> dict[str, str]:
        """Variables that it needs."""
        return {}

    @abstractmethod
    def read(self, left: LeftByHarness) -> list[Case]:
        """The cases of a process that ended well; raises `NoMeasurement` for what is none of its output."""


class UnsupportedByHarness(ValueError):
    """A setting that a harness has no option for: `str` is a sentence that begins with the key."""


_OF_PATTERNS: Final = frozenset("\\^$.|?*+()[{")
"""Not ] and }: alone they mean themselves in each dialect; POSIX's, which Google Benchmark uses, cannot escape them."""


def exactly(text: str) -> str:
    r"""A regular expression for a text and nothing else; none of it is special to one dialect alone.

    >>> print(exactly("Sort<int>/16 (fast)"))
    ^Sort<int>/16 \(fast\)$
    >>> print(exactly("sort [x]{2}"))
    ^sort \[x]\{2}$
    """
    return "^" + "".join(f"\\{each}" if each in _OF_PATTERNS else each for each in text) + "$"


def seconds(value: float, unit: str) -> float:
    """A time in s; raises `NoMeasurement` for a unit that is none of time.

    >>> seconds(250, "ms")
    0.25
    """
    if unit not in _SECONDS:
        raise NoMeasurement(f"the harness gives a time in {unit!r}, which is no unit of time")
    return value / _SECONDS[unit]


def number(value: Any, what: str) -> float:
    """A number of a document that can be worked with; raises `NoMeasurement`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoMeasurement(f"{what} is no number")
    try:
        result = float(value)
    except OverflowError as error:
        raise NoMeasurement(f"{what} is too large: {MEASURABLE}") from error
    if not is_measurable(result):
        raise NoMeasurement(f"{what} is {result:g}: {MEASURABLE}")
    return result


def elapsed(value: float, what: str) -> float:
    """A time that something took; raises `NoMeasurement` for one that is not above 0."""
    if value <= 0:
        raise NoMeasurement(f"{what} is {value:g}, and nothing is executed in no time")
    return value
