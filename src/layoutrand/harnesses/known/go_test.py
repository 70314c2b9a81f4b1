"""Go's testing package: programs of ``go test -c``, which list, choose and repeat their benchmarks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from layoutrand.config.readings import HarnessReading
from layoutrand.errors import NoMeasurement
from layoutrand.harnesses.go_lines import BEGUN, LINE, UNITS, has_processors, in_base_unit
from layoutrand.harnesses.harness import (
    TIME,
    Case,
    CaseQuantity,
    Harness,
    LeftByHarness,
    exactly,
    number,
)

_OURS: Final = {"test.bench": "cases", "test.count": "repetitions", "test.run": "", "test.list": ""}
_OPTION: Final = re.compile(r"--?(test\.[a-z]+)(?:=.*)?", re.DOTALL)


class _GoTest(Harness):
    name = "go-test"
    described = (
        "Go's `testing.B`, in a program of `go test -c`: cases by `-test.bench`, one value for each `-test.count`"
    )

    def refusal(self, command: Sequence[str]) -> str:
        """See `Harness`: the last of several options counts, and ours stand behind the command."""
        for word in command:
            option = _OPTION.fullmatch(word)
            if option is not None and option[1] in _OURS:
                key = _OURS[option[1]]
                instead = f"say {key} = ... in its place" if key else "benchmarks alone are executed"
                return f"leave out {word}: {instead}"
        return ""

    def words(self, reading: HarnessReading) -> list[str]:
        """See `Harness`; no test, example or fuzz target is executed."""
        words = ["-test.run=^$", f"-test.bench={'.' if reading.cases is None else reading.cases}"]
        return words if reading.repetitions is None else [*words, f"-test.count={reading.repetitions}"]

    def words_for(self, case: str) -> list[str]:
        """See `Harness`; each part of the name has a pattern of its own, and blanks in names are underscores there."""
        return ["-test.run=^$", "-test.bench=" + "/".join(exactly(each) for each in f"Benchmark{case}".split("/"))]

    def read(self, left: LeftByHarness) -> list[Case]:
        """See `Harness`."""
        return cases_of(left.output)


def cases_of(output: str) -> list[Case]:
    """The benchmarks in what a program printed, without the word and the number of processors that all names have.

    Raises `NoMeasurement`.
    """
    rows: list[tuple[str, str]] = []
    for line in output.splitlines():
        if (match := LINE.fullmatch(line)) is not None:
            rows.append((match[1] or "Benchmark", match[3]))
        elif BEGUN.fullmatch(line):
            raise NoMeasurement(f"{line[:80]!r} has a value without a unit; was the program ended early?")
    if not rows:
        raise NoMeasurement(
            "the output has no line of Go's benchmarks, such as: BenchmarkFib-8 300 4012 ns/op; no benchmark matches, "
            "or the program is none of `go test -c`"
        )
    drop = has_processors(name for name, _ in rows)
    found: dict[str, list[str]] = {}
    for name, values in rows:
        found.setdefault(name.rpartition("-")[0] if drop else name, []).append(values)
    return [_case(name, lines) for name, lines in found.items()]


def _case(name: str, lines: list[str]) -> Case:
    numbers: dict[str, list[float]] = {}
    units: dict[str, str] = {}
    for line in lines:
        words = line.split()
        for text, unit in zip(words[::2], words[1::2], strict=True):
            metric, base, factor, _ = UNITS.get(unit, (unit, unit, 1.0, "less"))
            metric = TIME if metric == "time_per_op" else metric
            value = _value(text, f"{unit} of {name}")
            if metric == TIME and value <= 0:
                return Case(name, {}, f"{unit} is {text}: the case did nothing that takes time")
            numbers.setdefault(metric, []).append(in_base_unit(value, factor))
            units[metric] = base
    whole = {metric: values for metric, values in numbers.items() if len(values) == len(lines)}
    first = sorted(whole, key=lambda metric: metric != TIME)
    return Case(name, {metric: CaseQuantity(units[metric], tuple(whole[metric])) for metric in first})


def _value(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise NoMeasurement(f"{what} is {text[:40]!r}, which is no number") from error
    return number(value, what)


HARNESS: Final = _GoTest()
