"""``metric = {...}`` of a benchmark: which numbers an execution yields, and how they are read.

Some keys decide what is recorded (`Metric.definition`), others only how it is read afterwards: ``warmup``, ``better``
and ``primary``.  The latter are no part of what an execution is, so changing them repeats none.
"""

from __future__ import annotations

import re
import warnings
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from layoutrand.config.counter_names import checked_events
from layoutrand.config.readings import HarnessReading, Reading, facts_of, numbers_of
from layoutrand.model import RUSAGE_METRICS, WALL_METRIC
from layoutrand.text.strict_table import STRICT, Name

Better = Literal["less", "more"]
JsonLines = Literal["all", "matching"]
Warmup = Annotated[int, Field(ge=0)]

_BROKEN_ESCAPE = re.compile(r"~(?![01])")


def usual_direction(unit: str) -> Better:
    """Which direction is an improvement where nobody says it: more of a rate, as of MB/s, less of all else."""
    return "more" if unit.endswith("/s") else "less"


class _Source(BaseModel):
    """Where in the output a number stands; ``json`` in the file is ``pointer`` here, since pydantic has a ``json``."""

    model_config = STRICT

    regex: str | None = None
    pointer: str | None = Field(default=None, alias="json")
    json_lines: JsonLines = "all"
    unit: str = ""
    better: Better = "less"

    @model_validator(mode="before")
    @classmethod
    def _direction_of_unit(cls, given: Any) -> Any:
        """A rate whose direction is not given is one of which more is better; without a source there is no number."""
        if not isinstance(given, dict) or "better" in given or given.keys().isdisjoint({"regex", "json"}):
            return given
        return {**given, "better": usual_direction(str(given.get("unit", "")))}

    @field_validator("regex")
    @classmethod
    def _one_group(cls, regex: str | None) -> str | None:
        if regex is not None:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", FutureWarning)
                    groups = re.compile(regex).groups
            except (re.error, OverflowError, RecursionError) as error:  # or too many repetitions, too deep
                raise ValueError(f"not a regular expression: {error}") from error
            except FutureWarning as error:
                raise ValueError(f"ambiguous: {error}; write \\[ for the sign itself") from error
            if groups != 1:
                raise ValueError(f"needs exactly one group, around the number; it has {groups}")
        return regex

    @field_validator("pointer")
    @classmethod
    def _is_pointer(cls, pointer: str | None) -> str | None:
        if pointer and not pointer.startswith("/"):
            raise ValueError("a JSON pointer (RFC 6901) is empty, for the whole document, or begins with '/'")
        if pointer and _BROKEN_ESCAPE.search(pointer):
            raise ValueError("in a JSON pointer '~' stands only in ~0, which means '~', and in ~1, which means '/'")
        return pointer

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.regex is not None and self.pointer is not None:
            raise ValueError("give either regex or json; printed = [...] takes several numbers")
        if self.json_lines != "all" and self.pointer is None:
            raise ValueError("json_lines says how the output is read for json, which is not given")
        return self

    @property
    def is_given(self) -> bool:
        """Whether there is a number to look for."""
        return self.regex is not None or self.pointer is not None


class Printed(_Source):
    """One number that the program prints, once or once per iteration.

    ``better`` says whether less of it is better, as of a time, or more, as of a throughput.  ``warmup`` is that of
    the whole metric where it is None.
    """

    name: Name
    warmup: Warmup | None = None

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if not self.is_given:
            raise ValueError(f"the number {self.name!r} needs regex or json, which say where it is printed")
        return self


class Metric(_Source):
    """``metric = {...}`` of a benchmark; ``regex`` or ``json`` with ``name`` are short for the first of ``printed``.

    ``instruments`` names instruments (`layoutrand.instruments.known`) beside those that have a key of their own.
    Whether ``primary`` is one of their metrics they know themselves (`layoutrand.instruments.asked_for`).
    """

    wall: bool = False
    cachegrind: bool = False
    counters: list[str] = []
    instruments: list[Name] = []
    name: Name = "value"
    warmup: Warmup = 0
    printed: list[Printed] = []
    suite: Annotated[Reading, Field(discriminator="kind")] | None = None
    primary: str | None = None

    @field_validator("counters")
    @classmethod
    def _events(cls, counters: list[str]) -> list[str]:
        checked_events(counters)
        return counters

    @model_validator(mode="after")
    def _something(self) -> Self:
        names = [number.name for number in self.numbers().values()]
        if not (self.wall or self.cachegrind or self.counters or self.instruments or names):
            raise ValueError("choose at least one of wall, cachegrind, counters, regex, json, printed, instruments")
        for name in names:
            if name in {WALL_METRIC, *RUSAGE_METRICS}:
                raise ValueError(f"name = {name!r} is what layoutrand calls a measurement of its own; choose another")
            if names.count(name) > 1:
                raise ValueError(f"two of the numbers that are printed are called {name!r}")
        if self.better != "less" and not self.is_given:
            raise ValueError("better is about the number of regex or json beside it; those in printed have their own")
        return self

    def numbers(self) -> dict[str, Printed]:
        """What the program prints, by the key that asks for it: ``metric`` itself, or ``metric.printed[0]``."""
        numbers = {}
        if self.suite is not None:
            for key, (name, unit) in numbers_of(self.suite).items():
                numbers[key] = Printed.model_construct(name=name, unit=unit)  # the suite knows where it stands
        if self.is_given:
            numbers["metric"] = Printed(
                name=self.name,
                regex=self.regex,
                json=self.pointer,
                json_lines=self.json_lines,
                unit=self.unit,
                better=self.better,
            )
        return numbers | {f"metric.printed[{place}]": number for place, number in enumerate(self.printed)}

    @property
    def by_case(self) -> bool:
        """Whether a harness reports several cases, each of which is a benchmark for whoever reads the results."""
        return isinstance(self.suite, HarnessReading)

    def better_of(self, name: str) -> Better:
        """Which direction is an improvement: less, unless a number that the program prints says otherwise."""
        return next((number.better for number in self.numbers().values() if number.name == name), "less")

    def definition(self) -> dict[str, Any]:
        """What decides the numbers that a native execution records, as JSON values.

        Defaults of keys that came later are left out, and ``warmup`` stands there as 0 whatever it is: so the digest
        of an existing benchmark stays what it was.
        """
        facts: dict[str, Any] = {"wall": self.wall, "warmup": 0}
        facts |= {"regex": self.regex, "name": self.name, "unit": self.unit} | _json_facts(self)
        if self.printed:
            facts["printed"] = [
                {"name": number.name, "regex": number.regex, "unit": number.unit} | _json_facts(number)
                for number in self.printed
            ]
        if self.suite is not None:
            facts["suite"] = facts_of(self.suite)
        return facts


def _json_facts(source: _Source) -> dict[str, Any]:
    return {} if source.pointer is None else {"json": source.pointer, "json_lines": source.json_lines}
