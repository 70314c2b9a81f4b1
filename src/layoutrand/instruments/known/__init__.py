"""The instruments and profilers that layoutrand knows: each module here is one, and has it as ``INSTRUMENT``.

Results may name others, since they can be imported; what is not known is neither simulated nor read from output.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from layoutrand.config.metric import Metric
from layoutrand.errors import FeatureUnsupported
from layoutrand.instruments.instrument import Instrument, Starter
from layoutrand.instruments.profile import Profiler
from layoutrand.instruments.tracer import Tracer

_NAMES: Final = 256
"""So many names of instruments, which results may be full of, are not looked at again."""

_OF_HARNESSES: Final = frozenset(
    {"value", "time_s", "duration_s", "reported_time", "reported_time_s", "time_per_op", "single_shot"}
)
"""Metrics of harnesses that are a time from start to end, where their unit is one of time."""


def starters() -> tuple[Starter, ...]:
    """All of them: the instrument that reads the program's output first, then the others by name."""
    return _found(tuple(__path__))


def starter(name: str) -> Starter:
    """The one of that name; raises `FeatureUnsupported` for a name that is none, such as of another version."""
    for each in starters():
        if each.name == name:
            return each
    raise FeatureUnsupported(f"no instrument is called {name!r}; there are {', '.join(e.name for e in starters())}")


def instruments() -> tuple[Instrument, ...]:
    """Those that measure, in the order in which each round of a schedule lists them."""
    return _measuring(tuple(__path__))


def instrument(name: str) -> Instrument:
    """As `starter`, of those that measure."""
    found = starter(name)
    if not isinstance(found, Instrument):
        raise FeatureUnsupported(f"{name} measures nothing")
    return found


def profilers() -> tuple[Profiler, ...]:
    """Those that tell where the cost arises, the ones on a real processor first."""
    found = [each for each in starters() if isinstance(each, Profiler)]
    return tuple(sorted(found, key=lambda each: each.simulated))


def tracer() -> Tracer:
    """The one that tells loads and stores."""
    return next(each for each in starters() if isinstance(each, Tracer))


def program_itself() -> Instrument:
    """The one that starts the program by itself and reads what it prints."""
    return next(each for each in instruments() if each.reads_output)


def asked(metric: Metric) -> tuple[Instrument, ...]:
    """The instruments that a benchmark's ``metric`` asks for, in the order of `instruments`."""
    return tuple(each for each in instruments() if each.is_asked(metric))


def simulated() -> frozenset[str]:
    """The names of all that simulate the processor."""
    return _simulated(tuple(__path__))


def reads_output(name: str) -> bool:
    """Whether an instrument reads the numbers that the program prints."""
    return _reads_output(name, tuple(__path__))


def counts(name: str) -> bool:
    """Whether an instrument's numbers come in steps of one; so it is supposed of one that is not known."""
    return _counts(name, tuple(__path__))


def is_elapsed(metric: str) -> bool:
    """Whether a metric is the time from start to end, which is what anybody means who says faster."""
    return any(each.elapsed == metric for each in instruments())


def is_from_start_to_end(metric: str) -> bool:
    """Whether a metric in a unit of time is that of the whole program, or of what a harness measures by itself."""
    return is_elapsed(metric) or metric in _OF_HARNESSES


@cache
def _simulated(places: tuple[str, ...]) -> frozenset[str]:
    return frozenset(each.name for each in _found(places) if each.simulated)


@lru_cache(_NAMES)
def _reads_output(name: str, places: tuple[str, ...]) -> bool:
    return any(each.reads_output for each in _measuring(places) if each.name == name)


@lru_cache(_NAMES)
def _counts(name: str, places: tuple[str, ...]) -> bool:
    return all(each.counts for each in _measuring(places) if each.name == name)


@cache
def _measuring(places: tuple[str, ...]) -> tuple[Instrument, ...]:
    """Looked for once: asking each what it is takes longer than many a question about one of ten thousand rows."""
    return tuple(each for each in _found(places) if isinstance(each, Instrument))


@cache
def _found(places: tuple[str, ...]) -> tuple[Starter, ...]:
    """By the directories that were looked into."""
    found = [import_module(f"{__name__}.{module.name}").INSTRUMENT for module in iter_modules(places)]
    return tuple(sorted(found, key=lambda each: (not getattr(each, "reads_output", False), each.name)))
