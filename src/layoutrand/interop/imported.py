"""What an importer makes of a file of another harness, and what the importers share: names, numbers, units, JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from layoutrand.analysis.display_names import DisplayNames
from layoutrand.config.metric import Better
from layoutrand.instruments.known import is_from_start_to_end, program_itself
from layoutrand.text.digits import MEASURABLE, is_measurable
from layoutrand.text.foreign_fields import json_excerpt, unreadable
from layoutrand.text.quantities import SECONDS
from layoutrand.warning import AnyWarning

NO_LABELS: Final = DisplayNames()

PROGRAM_ITSELF: Final = program_itself().name
"""The instrument of numbers that say nothing of theirs: most harnesses time the program as it is."""

_UNITS: Final[Mapping[str, Mapping[str, float]]] = {
    "s": {**SECONDS, "sec": 1, "second": 1, "seconds": 1, "hr": 3600, "day": 86400},
    "B": {
        "B": 1, "byte": 1, "bytes": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9,
        "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
    },
}  # a table: a row for what belongs together  # fmt: skip


@dataclass(frozen=True, slots=True)  # a file may hold millions
class ImportedNumber:
    """One number of one iteration, in base units (s, B).

    ``system`` and ``binary`` are "" where the file does not say; ``variant`` tells apart systems of one file that has
    no names for them ("peak" of SPEC).  Executions and iterations count from 0 and need not be complete.
    ``fingerprint`` is a digest of the binary where the harness recorded one.  ``node`` is the machine of several that
    executed it, "" where it was the same for all.  ``workload`` is the size of the input ("" where the file does not
    say), ``copies`` how many of the program ran at once, None where it is not a matter of that: numbers of other inputs
    or copies are not comparable (`layoutrand.interop.alike`).  ``threads`` are those of one copy, None where the file
    does not say.  ``output_sha256`` is the digest of what the execution printed; it leaves, and is never read back.
    ``round`` is the seed of the round that the execution belongs to and ``started_at`` when it began, in seconds since
    the epoch or whatever else tells the order; None where the file does not say.  ``disturbances`` are the names of
    what disturbed it (`layoutrand.config.disturbance`), None where the file does not say.  ``program_sha256`` is a
    digest of all that was executed, by which systems are one program (`layoutrand.analysis.same_program`), or empty.
    """

    benchmark: str
    value: float
    metric: str
    unit: str
    execution: int = 0
    iteration: int = 0
    system: str = ""
    binary: str = ""
    variant: str = ""
    instrument: str = PROGRAM_ITSELF
    better: Better = "less"
    warmup: bool = False
    fingerprint: str = ""
    node: str = ""
    workload: str = ""
    copies: int | None = None
    threads: int | None = None
    output_sha256: str = ""
    program_sha256: str = ""
    round: int | None = None
    started_at: float | None = None
    disturbances: tuple[str, ...] | None = None


@dataclass(frozen=True)
class FailedRun:
    """An execution that the file says failed: it has no numbers."""

    benchmark: str
    status: str
    reason: str
    execution: int = 0
    system: str = ""
    binary: str = ""
    variant: str = ""
    instrument: str = PROGRAM_ITSELF
    node: str = ""
    output_sha256: str = ""
    program_sha256: str = ""
    round: int | None = None
    started_at: float | None = None
    disturbances: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Imported:
    """All that a file holds; ``remarks`` say what of it was left out or has to be known about it.

    ``labels`` are what people read in place of its names of systems and benchmarks.
    """

    rows: Sequence[ImportedNumber]
    failures: tuple[FailedRun, ...] = ()
    remarks: tuple[AnyWarning, ...] = ()
    labels: DisplayNames = NO_LABELS


def in_base_unit(value: float, unit: str) -> tuple[float, str]:
    """Times in seconds, sizes in bytes; other units stay.

    >>> in_base_unit(250, "ms")
    (0.25, 's')
    """
    divisor, factor, base = to_base_unit(unit)
    return value / divisor * factor, base


@lru_cache(maxsize=256)
def to_base_unit(unit: str) -> tuple[float, float, str]:
    """What to divide by, what to multiply with, one of which is 1, and the unit that a number is in then.

    Dividing by a power of ten rounds once; multiplying by its inverse, which has no exact form, twice.
    """
    for base, factors in _UNITS.items():
        if unit in factors:
            factor = float(factors[unit])
            return (float(round(1 / factor)), 1.0, base) if factor < 1 else (1.0, factor, base)
    return 1.0, 1.0, unit


def refuse_impossible(value: float, unit: str, metric: str, source: str, what: str, *, line: int | None = None) -> None:
    """Raise `UnreadableResults` for a number in its base unit that cannot have been measured.

    No time and no size is negative; and nothing takes no time at all from its start to its end, though it may take no
    CPU time that a clock can see.
    """
    if not is_impossible(value, unit, metric):
        return
    if math.isnan(value):
        raise unreadable(source, f"{what} is no number", line=line)
    if value < 0:
        kind = "time" if unit == "s" else "size"
        raise unreadable(source, f"{what} is {value:g} {unit}, and no {kind} is negative", line=line)
    raise unreadable(source, f"{what} is 0 s, and nothing is executed in no time", line=line)


def is_impossible(value: float, unit: str, metric: str) -> bool:
    """Whether a number in its base unit cannot have been measured."""
    if value < 0:
        return unit in _UNITS
    if value == 0:
        return unit == "s" and is_from_start_to_end(metric)
    return math.isnan(value)


def read_json(text: str, source: str) -> Any:
    """The document; raises `UnreadableResults` with the line."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise unreadable(
            source, f"no JSON ({error.msg}, column {error.colno}); is the file complete?", line=error.lineno
        ) from error
    except (RecursionError, ValueError) as error:
        raise unreadable(source, f"no JSON that can be read ({error})") from error


def member(document: Any, key: str, kind: type, source: str, where: str) -> Any:
    """``document[key]``, which must be of this kind; raises `UnreadableResults` that says what is expected."""
    names = {list: "an array", dict: "an object", str: "a string", int: "an integer"}
    if not isinstance(document, dict):
        raise unreadable(source, f"{where} is {json_excerpt(document)}; expected an object with {key!r}")
    if key not in document:
        raise unreadable(source, f"{where} has no {key!r}; expected {names[kind]}")
    value = document[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise unreadable(source, f"{where}, {key!r} is {json_excerpt(value)}; expected {names[kind]}")
    return value


def json_number(value: Any, source: str, where: str) -> float:
    """A measured value; raises `UnreadableResults`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise unreadable(source, f"{where} is {json_excerpt(value)}; expected a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not is_measurable(number):
        raise unreadable(source, f"{where} is {json_excerpt(value)}, which cannot be averaged: {MEASURABLE}")
    return number


def once(name: str, seen: Mapping[str, Any] | set[str], source: str, advice: str) -> None:
    """Raise `UnreadableResults` where the name was there before."""
    if name in seen:
        raise unreadable(source, f"there are two results called {name!r}, and nothing tells them apart; {advice}")
