"""Warnings about recorded executions: what disturbed them, what changed between them, what warm-up leaves of them."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from layoutrand.config.disturbance import MOST_TOGETHER, Disturbed, summed, whereabouts
from layoutrand.model import Execution
from layoutrand.text.name_lists import first_names
from layoutrand.text.quantities import quantity
from layoutrand.warning import AnyWarning, plural

Counts = tuple[tuple[str, int], ...]
"""(What it was, in how many executions), the most frequent first."""


@dataclass(frozen=True)
class MachineWarning(AnyWarning):
    """About the machine while it measured: nothing that a simulated processor takes notice of."""


@dataclass(frozen=True)
class DisturbedExecutions(MachineWarning):
    """Executions of one benchmark that were disturbed, executed again where ``is_repeated``."""

    row: Disturbed = field(hash=False)
    is_repeated: bool

    def __str__(self) -> str:
        return f"{self.row.benchmark}: {self.beside_name()}"

    def beside_name(self) -> str:
        """The sentence without the benchmark."""
        is_help = not (self.is_repeated or self.row.is_throughout)
        repeat = "; run.disturbance.repeat executes such executions again" if is_help else ""
        return f"{self.row.how_many()}; {whereabouts([self.row])}{repeat}"

    def brief(self) -> str:
        """What was found."""
        return f"{self.row.disturbed:,} of {self.row.executions:,} executions were disturbed"


def disturbed_of(warnings: Iterable[AnyWarning], rows: Sequence[Disturbed]) -> list[AnyWarning]:
    """The warnings, those of disturbed executions with the counts of these ``rows``, without those that are of none.

    What is selected counts the executions of all systems, and a comparison is of two.
    """
    own = {row.benchmark: row for row in rows}
    return [
        replace(each, row=own[each.row.benchmark]) if isinstance(each, DisturbedExecutions) else each
        for each in warnings
        if not isinstance(each, DisturbedExecutions) or each.row.benchmark in own
    ]


def disturbed_together(warnings: Iterable[AnyWarning]) -> list[AnyWarning]:
    """The warnings, each once: those of cases of one harness, which are of the same executions, as one.

    So are those of benchmarks that were disturbed alike.
    """
    told = list(dict.fromkeys(warnings))
    alike: dict[tuple[object, ...], list[str]] = {}
    for each in told:
        if isinstance(each, DisturbedExecutions):
            alike.setdefault(_counts(each), []).append(each.row.benchmark)
    named = list(dict.fromkeys(_named(each, alike) for each in told))
    one = summed_of_each(named)
    return list(dict.fromkeys(one.get(each, each) for each in named))


def summed_of_each(warnings: Iterable[AnyWarning]) -> dict[AnyWarning, AnyWarning]:
    """Each that is of disturbed executions -> the one of all benchmarks that were disturbed alike (`summed`)."""
    found = [each for each in dict.fromkeys(warnings) if isinstance(each, DisturbedExecutions)]
    sums = {repeated: summed(each.row for each in found if each.is_repeated == repeated) for repeated in (False, True)}
    return {each: replace(each, row=sums[each.is_repeated][each.row.benchmark]) for each in found}


def _counts(warning: DisturbedExecutions) -> tuple[object, ...]:
    """What is the same of cases of one entry, whose names begin with it; of others the name itself is not."""
    row = warning.row
    entry, slash, _ = row.benchmark.partition("/")
    whose = entry if slash else row.benchmark, bool(slash)
    counted = tuple(row.by.items()), tuple(row.systems.items())
    return whose, row.executions, row.disturbed, row.failed, warning.is_repeated, counted


def _named(warning: AnyWarning, alike: Mapping[tuple[object, ...], Sequence[str]]) -> AnyWarning:
    if not isinstance(warning, DisturbedExecutions):
        return warning
    names = alike[_counts(warning)]
    return replace(warning, row=replace(warning.row, benchmark=first_names(names, MOST_TOGETHER), examples={}))


@dataclass(frozen=True)
class MixedSettings(MachineWarning):
    """A setting of the machine that was not the same in all executions."""

    setting: str
    counts: Counts

    def __str__(self) -> str:
        listed = ", ".join(f"{value} {count}" for value, count in self.counts)
        return (
            f"the executions were made with different settings of the {self.setting} ({listed}); a difference between "
            "systems or layouts may come from that"
        )

    def brief(self) -> str:
        """What was found."""
        return f"the {self.setting} was not the same in all executions"


@dataclass(frozen=True)
class MixedConditions(MachineWarning):
    """Executions that were not all made alike, and what to do about it."""

    counts: Counts
    cure: ClassVar[str] = ""

    @property
    @abstractmethod
    def what(self) -> str:
        """What was not alike."""

    @property
    @abstractmethod
    def why(self) -> str:
        """Why that may be, and where it matters."""

    def __str__(self) -> str:
        listed = "; ".join(f"{name}: {count}" for name, count in self.counts)
        return (
            f"{self.what} ({listed}), {self.why}, a difference between systems or layouts may come from that{self.cure}"
        )

    def brief(self) -> str:
        """What was found."""
        return self.what


class MixedCpus(MixedConditions):
    """Executions that were pinned to different CPUs."""

    what = "the executions were made on different CPUs"
    why = "since others were to be had; where cores differ"
    cure = ". run.cpu = N stays on one"


class MixedIsolation(MixedConditions):
    """Executions of which some were held by a control group and others were not."""

    what = "the executions were isolated in different ways"
    why = "as layoutrand could not make a control group every time; since what the kernel counts in one takes time"
    cure = ". run.isolation stays with one"


class MixedProgramFiles(MixedConditions):
    """Executions whose programs came into their places in unlike manners."""

    what = "the executions' programs were not all made in one manner"
    why = (
        "copies or clones of the cache's files, since the cache or the project moved to another file system; where "
        "file systems differ"
    )


class MixedLaunchers(MixedConditions):
    """Executions that were not all started by the same file."""

    what = "the executions were not all started by the same launcher"
    why = "as when it was upgraded; where launchers differ"


@dataclass(frozen=True)
class EmulatedExecutions(MachineWarning):
    """Executions of which an emulator was the processor."""

    counts: Counts

    def __str__(self) -> str:
        listed = ", ".join(f"{name} {count}" for name, count in self.counts)
        return (
            f"an emulator executed the programs ({listed}): times are those of its translation, and say nothing of "
            "what a processor makes of where code lies"
        )

    def brief(self) -> str:
        """What was found."""
        return "an emulator executed the programs: times are those of its translation"


@dataclass(frozen=True)
class NothingButWarmup(AnyWarning):
    """Executions, ``most`` iterations long at most, that a ``setting`` leaves nothing of."""

    benchmark: str
    metric: str
    setting: str
    iterations: int
    n_executions: int
    most: int

    def __str__(self) -> str:
        return (
            f"{self.benchmark}: {self.setting} = {self.iterations} leaves nothing of {self.metric} in "
            f"{plural(self.n_executions, 'execution')}, which "
            f"{'has' if self.n_executions == 1 else 'have'} {plural(self.most, 'iteration')} at most: not in the sample"
        )


TOO_SHORT_S: Final = 0.020
"""Of 200 starts of a program that does nothing, with a load on the same two CPUs, the fastest took 0.8 ms and the
middle half 0.9 to 4.7 ms: at least 4 % of 20 ms is not the program's work.  Where the line is drawn is a choice."""


@dataclass(frozen=True)
class TooShort(AnyWarning):
    """Times of processes of which the start is no small part; ``seconds`` is their lower quartile.

    ``may_simulate`` as of `Benchmark`, and ``is_imported`` as of `Sample`.
    """

    benchmark: str
    seconds: float
    may_simulate: bool = True
    is_imported: bool = False

    def __str__(self) -> str:
        printed = f"have it print the time of it ({'and import that' if self.is_imported else 'metric.regex'})"
        ways = f"{printed}, or measure simulated counts (metric.cachegrind)" if self.may_simulate else f"or {printed}"
        return (
            f"{self.benchmark}: an execution takes {quantity(self.seconds, 's')}, and part of that is the start of the "
            f"process, which varies by itself: below {1000 * TOO_SHORT_S:g} ms differences come out too small and too "
            f"noisy. Give it more work for each execution (ten times as much, or a loop), {ways}"
        )

    def brief(self) -> str:
        """What was found."""
        return f"an execution takes {quantity(self.seconds, 's')}, much of it the start of the process"


def too_short(
    benchmark: str, seconds: Sequence[float], *, may_simulate: bool = True, is_imported: bool = False
) -> list[TooShort]:
    """A warning where the lower quartile of these times of whole processes is below `TOO_SHORT_S`.

    A load on the machine only ever adds to a time, and to short ones many times over: slow executions do not hide it.
    """
    typical = sorted(seconds)[len(seconds) // 4] if seconds else TOO_SHORT_S
    return [TooShort(benchmark, typical, may_simulate, is_imported)] if typical < TOO_SHORT_S else []


def mixed_settings(executions: Iterable[Execution]) -> list[MachineWarning]:
    """One warning for each setting of the machine that was not the same in all of these executions."""
    members = list(executions)
    found: list[MachineWarning] = []
    for key, called in (("governor", "frequency governor"), ("turbo", "turbo")):
        counts = Counter(e.host_state[key] for e in members if e.host_state.get(key) is not None)
        if len(counts) > 1:
            found.append(MixedSettings(called, tuple((_said(value), n) for value, n in counts.most_common())))
    return found


def _said(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
