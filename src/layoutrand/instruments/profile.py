"""What a profiler tells, which is costs and calls by address, and what layoutrand needs of one."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from layoutrand.instruments.instrument import InstrumentFiles, Starter


@dataclass(frozen=True)
class Profile:
    """What was executed: ``total`` cost, and in one file the ``cost`` by address, ``calls`` by (from, to) address.

    The cost is counted in instructions or in samples.
    """

    total: float
    cost: Mapping[int, float]
    calls: Mapping[tuple[int, int], int]

    def plus(self, other: Profile) -> Profile:
        """Both together, such as of two processes."""
        cost, calls = Counter(dict(self.cost)), Counter(dict(self.calls))
        cost.update(dict(other.cost))
        calls.update(dict(other.calls))
        return Profile(self.total + other.total, cost, calls)


@dataclass(frozen=True)
class Segment:
    """A stretch of a file that is loaded: where it begins in the file, at which address, and its size in bytes."""

    offset: int
    address: int
    size: int


@dataclass(frozen=True)
class ProfiledExecution:
    """An execution that ended well under a profiler, as that is shown it.

    ``artefact`` has the names under which the file of interest may have been executed, ``segments`` reads which part of
    it has which addresses.  ``written`` reads the profiler's files in `InstrumentFiles.output` whose names begin so.
    ``say`` executes the profiler's own program and gives what that prints; it raises `NoMeasurement` where it fails.
    """

    artefact: Collection[str]
    files: InstrumentFiles
    segments: Callable[[], Sequence[Segment]]
    written: Callable[[str], Sequence[str]]
    say: Callable[[Sequence[str]], str]


class Profiler(Starter):
    """One that tells where the cost arises; no benchmark's metric asks for it."""

    option: ClassVar[str]
    """What ``--profiler`` calls it."""

    options: ClassVar[tuple[str, ...]] = ()
    """Words that change what it counts; a profile that was made with others is not used again."""

    def event(self, program: str) -> str:
        """What it samples on this machine, "" where there is no choice."""
        del program
        return ""

    def suits(self, event: str) -> bool:
        """Whether it is good enough with such an event to be chosen without being asked for."""
        del event
        return True

    @abstractmethod
    def words(self, event: str) -> str:
        """What is counted, for people."""

    def alternative(self) -> str:
        """How a message proposes to install it, where another one is missing, too."""
        return f"{self.option} ({self.how_to_install()})"

    @abstractmethod
    def prefix(self, program: str, event: str, files: InstrumentFiles) -> tuple[str, ...]:
        """The words before a command."""

    @abstractmethod
    def profile(self, program: str, ended: ProfiledExecution) -> Profile:
        """What was executed, in all its processes; raises `NoMeasurement` where it says nothing, or no sense."""
