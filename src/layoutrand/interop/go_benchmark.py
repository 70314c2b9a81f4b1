"""Lines of ``go test -bench`` and of benchstat: configuration, units, and ``BenchmarkName N VALUE UNIT ...``.

What Go executes in one process is one execution, and lines of one name in it (``-count``) are its iterations.  A new
process is told by the configuration that it begins with (``goos:``), or by the verdict that the last ended with (PASS,
ok, FAIL).  A benchmark after ``--- FAIL:`` has failed; one that failed with its sub-benchmarks is not told beside them.
All other lines, such as what the benchmarks print, mean nothing here.  The key ``system``, which ``layoutrand export``
writes, names the system.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from layoutrand.config.metric import Better, usual_direction
from layoutrand.harnesses.go_lines import BEGUN, LINE, UNITS, has_processors, in_base_unit
from layoutrand.interop.imported import FailedRun, Imported, ImportedNumber
from layoutrand.text.digits import whole_number
from layoutrand.text.foreign_fields import parse_number, plain, unreadable

_KEY: Final = re.compile(r"([a-z][^\sA-Z:]*):(?:[ \t]+(.*))?")
_UNIT: Final = re.compile(r"Unit\s+(\S+)\s+better=(higher|lower)\b.*")
_ENDS: Final = re.compile(r"(?:PASS|FAIL|ok)(?:\s.*)?")
_FAILED: Final = re.compile(r"\s*--- FAIL: Benchmark(\S+).*")
_MOST: Final = 10**18


@dataclass(frozen=True)
class _Failed:
    """A benchmark that failed, and where."""

    name: str
    package: str
    system: str
    process: int


@dataclass
class _Reading:
    """Where in the file the reader is."""

    process: int = 0
    system: str = ""
    package: str = ""
    ended: bool = False
    counts: dict[tuple[str, str, str], int] = field(default_factory=dict)
    directions: dict[str, Better] = field(default_factory=dict)
    failed: list[_Failed] = field(default_factory=list)

    def next_process(self) -> None:
        """What follows is another execution; before the first number there is none to leave."""
        if self.counts:
            self.process += 1
            self.counts = {}
        self.ended = False


@dataclass(frozen=True)
class _Row:
    name: str
    package: str
    number: ImportedNumber


def recognise(text: str) -> bool:
    """Whether a text has a line of results of Go's benchmarks."""
    if "Benchmark" not in text:  # of which no line is made then: there may be millions
        return False
    return any(LINE.fullmatch(line) for line in text.splitlines() if line.startswith("Benchmark"))


def parse(text: str, source: str) -> Imported:
    """Rows of all benchmarks; raises `UnreadableResults`."""
    reading = _Reading()
    rows = [row for number, line in enumerate(text.splitlines(), 1) for row in _rows(line, reading, source, number)]
    if not rows:
        raise unreadable(source, "has no line of results such as 'BenchmarkFib-8 300 4012 ns/op'")
    everything: list[_Row | _Failed] = [*rows, *reading.failed]
    packages = {item.package for item in everything}
    processors = rows[0].name.rpartition("-")[2] if has_processors(row.name for row in rows) else None

    def named(item: _Row | _Failed) -> str:
        name = item.name if processors is None else item.name.removesuffix(f"-{processors}")  # a failed one may lack it
        return plain(f"{item.package}.{name}" if len(packages) > 1 and item.package else name)

    names = {named(item) for item in everything}
    # A benchmark fails with its sub-benchmarks, which have names of their own.
    alone = [each for each in reading.failed if not any(name.startswith(f"{named(each)}/") for name in names)]
    failures = [
        FailedRun(named(each), "no-measurement", "go test says FAIL", each.process, system=each.system)
        for each in dict.fromkeys(alone)
    ]
    return Imported(tuple(replace(row.number, benchmark=named(row)) for row in rows), tuple(failures))


def _rows(line: str, reading: _Reading, source: str, number: int) -> Iterator[_Row]:
    """The numbers of one line, which may also say something of those that follow."""
    if found := _UNIT.fullmatch(line):
        reading.directions[found[1]] = "more" if found[2] == "higher" else "less"
    elif found := _KEY.fullmatch(line):
        if reading.ended or found[1] == "goos":
            reading.next_process()
        if found[1] == "pkg":
            reading.package = found[2] or ""
        if found[1] == "system":
            reading.system = plain(found[2] or "")
    elif found := _FAILED.fullmatch(line):
        if reading.ended:
            reading.next_process()
        reading.failed.append(_Failed(found[1], reading.package, reading.system, reading.process))
    elif _ENDS.fullmatch(line):
        reading.ended = True
    elif found := LINE.fullmatch(line):
        if reading.ended:
            reading.next_process()
        yield from _numbers(found, reading, source, number)
    elif BEGUN.fullmatch(line):
        raise unreadable(source, "a benchmark's line with a value that has no unit; is the file complete?", line=number)


def _numbers(found: re.Match[str], reading: _Reading, source: str, number: int) -> Iterator[_Row]:
    name = found[1] or "Benchmark"
    if whole_number(found[2], _MOST) is None:
        raise unreadable(source, f"{found[2][:40]} iterations, which nobody can have executed", line=number)
    key = (reading.system, reading.package, name)
    iteration = reading.counts.get(key, 0)
    reading.counts[key] = iteration + 1
    words = found[3].split()
    seen = set()
    for text, unit in zip(words[::2], words[1::2], strict=True):
        usual = reading.directions.get(unit) or usual_direction(unit)
        metric, base, factor, better = UNITS.get(unit, (plain(unit), plain(unit), 1.0, usual))
        if metric in seen:
            raise unreadable(source, f"{metric} of one benchmark stands twice on a line", line=number)
        seen.add(metric)
        value = parse_number(text, source, f"{unit} of {plain(name)}", line=number)
        value = in_base_unit(value, factor)
        row = ImportedNumber(
            name, value, metric, base, reading.process, iteration, system=reading.system, better=better
        )
        yield _Row(name, reading.package, row)
