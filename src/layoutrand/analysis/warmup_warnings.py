"""Warnings of `layoutrand warmup`: the kinds, and the words of each."""

from __future__ import annotations

from dataclasses import dataclass

from layoutrand.warning import AnyWarning, plural


@dataclass(frozen=True)
class NotASpeed(AnyWarning):
    """Something that more is better of, with values that have no reciprocal."""

    metric: str

    def __str__(self) -> str:
        return (
            f"{self.metric} has values that are not above 0, so it cannot be read as a speed: a start-up phase with "
            "low values is not recognised"
        )


@dataclass(frozen=True)
class TooShortForWarmup(AnyWarning):
    """Too few iterations per execution."""

    count: int
    fewest: int

    def __str__(self) -> str:
        return (
            f"{plural(self.count, 'iteration')} per execution {'is' if self.count == 1 else 'are'} too few to see "
            f"warm-up: have the program do at least {self.fewest}, better 300 once"
        )


@dataclass(frozen=True)
class NoSteadyState(AnyWarning):
    """A benchmark, of one system or (None) of all, for which nothing is written; ``too_few`` iterations to tell."""

    benchmark: str
    system: str | None
    too_few: bool = False

    def __str__(self) -> str:
        if self.too_few:
            whose = "one of its systems has" if self.system is None else "it has"
            return f"{_named(self.benchmark, self.system)}: nothing written, because {whose} too few iterations to tell"
        who = "not every system reaches a" if self.system is None else "it reaches no"
        return f"{_named(self.benchmark, self.system)}: nothing written, because {who} steady state"


@dataclass(frozen=True)
class OwnWarmup(AnyWarning):
    """A number with a setting of its own, ``key``, for which nothing is written."""

    benchmark: str
    system: str | None
    metric: str
    key: str

    def __str__(self) -> str:
        return (
            f"{_named(self.benchmark, self.system)}: nothing written, because {self.metric} has a warmup of its own "
            f"({self.key}.warmup), which [[warmup]] does not change; take it out first, or write without --for-host "
            "and --for-system"
        )


@dataclass(frozen=True)
class OverruledWarmup(AnyWarning):
    """A more specific entry than the one just written."""

    benchmark: str
    system: str
    setting: str
    iterations: int
    host: str

    def __str__(self) -> str:
        return (
            f"{self.benchmark}, {self.system}: {self.setting} = {self.iterations} is more specific and still holds on "
            f"{self.host}"
        )


def _named(benchmark: str, system: str | None) -> str:
    return benchmark if system is None else f"{benchmark}, {system}"
