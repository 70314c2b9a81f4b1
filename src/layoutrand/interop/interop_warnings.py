"""Warnings about numbers of other harnesses, in and out: the kinds, and the words of each."""

from __future__ import annotations

from dataclasses import dataclass

from layoutrand.warning import AnyWarning, plural


@dataclass(frozen=True)
class FileRemark(AnyWarning):
    """What has to be known about one file, and about so many others."""

    file: str
    remark: AnyWarning
    n_others: int = 0

    def __str__(self) -> str:
        return f"{self._files()}: {self.remark}"

    def brief(self) -> str:
        """What was found."""
        return f"{self._files()}: {self.remark.brief()}"

    def _files(self) -> str:
        return f"{self.file} and {plural(self.n_others, 'other file')}" if self.n_others else self.file


@dataclass(frozen=True)
class NameOfEachBinary(AnyWarning):
    """A system each of whose binaries has benchmarks of its own, as commands with the binary's path name them."""

    system: str
    names: tuple[str, str]

    def __str__(self) -> str:
        one, other = self.names
        return (
            f"{self.system}: each binary has a name of its own, such as {one} and {other}, so they are benchmarks of "
            "one layout each; name them alike: `hyperfine --command-name NAME`, or `command` in its files"
        )

    def brief(self) -> str:
        """What to do, and to what."""
        return f"{self.system}: a name for each binary ({self.names[0]}, ...); one for all: hyperfine --command-name"


@dataclass(frozen=True)
class SharedJvm(AnyWarning):
    """A benchmark of JMH without forks."""

    benchmark: str

    def __str__(self) -> str:
        return f"{self.benchmark}: forks = 0, so it ran in one JVM with whatever ran before it"


@dataclass(frozen=True)
class NanMetric(AnyWarning):
    """A secondary metric that is left out."""

    benchmark: str
    metric: str

    def __str__(self) -> str:
        return f"{self.benchmark}: its secondary metric {self.metric} holds NaN and is left out"


@dataclass(frozen=True)
class UnmarkedWarmup(AnyWarning):
    """A format without a place for it."""

    def __str__(self) -> str:
        return "nothing in the file marks warm-up, so every iteration counts; --warmup leaves out the first ones"

    def brief(self) -> str:
        """What was found, and what helps."""
        return "warm-up is not marked, and counts: --warmup leaves it out"


@dataclass(frozen=True)
class AbnormalTermination(AnyWarning):
    """A JVM that ended before its last benchmark."""

    how: str

    def __str__(self) -> str:
        return f"the JVM's termination was {self.how!r}: benchmarks that were to follow are not in the file"


@dataclass(frozen=True)
class CopiedPeak(AnyWarning):
    """Benchmarks of SPEC CPU that were measured once for both of its metrics."""

    benchmarks: tuple[str, ...]

    def __str__(self) -> str:
        return f"peak is a copy of base for {', '.join(self.benchmarks)} and was left out there"


@dataclass(frozen=True)
class RoundedTimes(AnyWarning):
    """A report of SPEC CPU, whose times are for people."""

    def __str__(self) -> str:
        return (
            "its times are printed with three digits, so what differs by less than 0.5 % may be rounding; the raw file "
            "(.rsf) or the CSV of the same run has them all"
        )


@dataclass(frozen=True)
class SameNumbers(AnyWarning):
    """Two files that may be one."""

    first: str
    second: str

    def __str__(self) -> str:
        return (
            f"{self.first} and {self.second} hold the same numbers to the last digit, as two measurements of time "
            "never do: is one a copy of the other?"
        )

    def brief(self) -> str:
        """What was found."""
        return f"{self.first} and {self.second} hold the same numbers: is one a copy?"


@dataclass(frozen=True)
class UnknownMachines(AnyWarning):
    """Two tables of the same binaries that do not say which machine executed them."""

    first: str
    second: str

    def __str__(self) -> str:
        return (
            f"{self.first} and {self.second} have executions of the same binaries, and not all say of which machine, "
            "so these count as one's: what lies between two machines would be its noise, or a switch of its speed; "
            "name the machine in the column `node`, as `layoutrand export` does"
        )

    def brief(self) -> str:
        """What was found, and what helps."""
        return f"{self.first}, {self.second}: of one machine? the column `node` says which"


@dataclass(frozen=True)
class OtherThreads(AnyWarning):
    """Benchmarks whose program ran with other numbers of threads; ``by_system``: (system, its numbers of threads)."""

    benchmarks: tuple[str, ...]
    by_system: tuple[tuple[str, tuple[int, ...]], ...]

    def __str__(self) -> str:
        told = [f"{system} with {' and '.join(map(str, numbers))}" for system, numbers in self.by_system]
        return (
            f"{', '.join(self.benchmarks)}: other numbers of threads, {', '.join(told)}; what differs is what the "
            "threads do, too"
        )


@dataclass(frozen=True)
class OtherIterations(AnyWarning):
    """A benchmark whose executions have far more iterations in one system; ``by_system``: (system, usual number)."""

    benchmark: str
    by_system: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return f"{self._told()}: where the first ones take longer, that alone is a difference; --warmup leaves them out"

    def brief(self) -> str:
        """What was found, and what helps."""
        return f"{self._told()}: --warmup leaves out the first ones"

    def _told(self) -> str:
        told = ", ".join(f"{system} {count:,}" for system, count in self.by_system)
        return f"{self.benchmark}: other numbers of iterations in an execution, {told}"


@dataclass(frozen=True)
class OrderUnknown(AnyWarning):
    """Imported times of which no file says when they were measured."""

    def __str__(self) -> str:
        return (
            "in what order this was measured is not known, so what the machine did meanwhile may look like a "
            "difference of layouts or systems; a table may say it (column started_at)"
        )

    def brief(self) -> str:
        """What is not known, and what may be."""
        return "order of measuring unknown: a drift may look like a difference"


@dataclass(frozen=True)
class OnlyWarmup(AnyWarning):
    """Imported executions of which nothing is left."""

    system: str
    benchmark: str
    n_executions: int

    def __str__(self) -> str:
        return (
            f"{self.system}, {self.benchmark}: {plural(self.n_executions, 'execution')} "
            f"{'holds' if self.n_executions == 1 else 'hold'} nothing but warm-up: not in the sample"
        )


@dataclass(frozen=True)
class SingleBinaries(AnyWarning):
    """Systems that have one binary in some benchmarks, or in all."""

    systems: tuple[str, ...]
    is_everywhere: bool

    def __str__(self) -> str:
        where = "" if self.is_everywhere else " in some benchmarks"
        return (
            f"one binary of {', '.join(self.systems)}{where}: its executions tell of execution noise and nothing of "
            "layout, so there is no interval over layouts; build more layouts and import each as NAME:SEED=FILE"
        )


@dataclass(frozen=True)
class NoPlaceForBuilds(AnyWarning):
    """A format that knows nothing of builds."""

    format: str
    count: int

    def __str__(self) -> str:
        return f"{self.format} has no place for {plural(self.count)} not built"


@dataclass(frozen=True)
class NoPlaceForFailures(AnyWarning):
    """A format of successful executions."""

    format: str
    count: int

    def __str__(self) -> str:
        return f"{self.format} has no place for failed executions; {self.count} are not in it"


@dataclass(frozen=True)
class NoPlaceForControls(AnyWarning):
    """A format whose executions are all alike."""

    format: str
    controls: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.format} has no place for {' and '.join(self.controls)}, which are no drawn layouts: left out"


@dataclass(frozen=True)
class NoPlaceForDirections(AnyWarning):
    """A format whose readers take less of anything for better, and metrics of which more is."""

    format: str
    metrics: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.format} takes less for better, but of {', '.join(self.metrics)} more is: what it calls faster is "
            "slower there"
        )


@dataclass(frozen=True)
class NotTimes(AnyWarning):
    """A format of times, and metrics that are none."""

    format: str
    metrics: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.format} holds times alone; not in it: {', '.join(self.metrics)}"


@dataclass(frozen=True)
class CommitsWithoutAll(AnyWarning):
    """A format whose rows must have every metric, and commits that lack one."""

    format: str
    count: int

    def __str__(self) -> str:
        what = "1 commit that lacks" if self.count == 1 else f"{self.count} commits that lack"
        return f"{self.format} wants every metric of each commit: left out {what} one"
