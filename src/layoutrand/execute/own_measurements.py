"""Programs that measure themselves while the time of their process is judged: told by what they print.

A benchmark that repeats its work for a fixed time prints how fast it was, and its process takes as long in every
layout.  From outside that cannot be told from one that does the same work each time, so what is told is what was seen:
numbers that are other ones in each execution.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from layoutrand.config.config import Benchmark
from layoutrand.execute.output_warnings import MeasuresItself
from layoutrand.instruments.asked_for import primary_metric
from layoutrand.instruments.known import is_elapsed, simulated
from layoutrand.model import Execution
from layoutrand.text.toml_words import toml_string

_NUMBER: Final = re.compile(
    r"(?<![\w.:+-])(?P<number>\d+(?:,\d{3})*(?P<fraction>\.\d+)?)"
    r"(?P<unit>[ \t]?(?:\w+/\w+|[nuµm]?s|sec|seconds|ops)\b)?(?![\d:]|\.\d)"
)
"""A number that may be a measurement, which has a fraction or a unit of time, or of something per something.

Not what stands in an address, a date, a time of day or a version, and not a process's number.
"""

_LINES: Final = re.compile(r"[\r\n\b]+")
_PLACE: Final = "\0"
"""Stands for a measurement in the words of its line."""

_TIMES: Final = frozenset({"s", "sec", "seconds", "ms", "us", "µs", "ns"})
_MOST_BEFORE: Final = 24
"""Characters of its line that a measurement is known by, at most."""

_MOST_READ: Final = 1 << 20
_MOST_LINES: Final = 2000
"""Bytes and lines of an output that are looked at: what a benchmark measured stands in fewer."""


def measuring_themselves(
    executions: Iterable[Execution], benchmarks: Mapping[str, Benchmark], project: Path
) -> list[MeasuresItself]:
    """One warning for each benchmark judged by the time of its process that prints other measurements each time.

    Nothing is said where its outputs are not kept in the project, or where the same is printed in most executions.
    """
    judged = {name for name, each in benchmarks.items() if _is_by_process(each)}
    printed: dict[tuple[str, str], list[Execution]] = {}
    for each in executions:
        if (
            each.benchmark in judged
            and each.status == "ok"
            and each.output_sha256
            and each.instrument not in simulated()
        ):
            printed.setdefault((each.benchmark, each.system), []).append(each)
    found: dict[str, MeasuresItself] = {}
    for (benchmark, _), own in printed.items():
        if benchmark not in found and len({each.output_sha256 for each in own}) * 2 > len(own):
            logs = dict.fromkeys(each.log for each in own if each.log)
            for seen in _unlike_numbers(list(logs), project):
                metric = primary_metric(benchmarks[benchmark])[1]
                found[benchmark] = MeasuresItself(benchmark, metric, seen.first, seen.second, _setting(seen))
                break
    return list(found.values())


def _is_by_process(benchmark: Benchmark) -> bool:
    """Whether the time from start to end is what it is judged by, and no number that it prints is asked for."""
    metric = benchmark.metric
    if metric.by_case or metric.suite is not None or metric.numbers():
        return False
    instrument, name = primary_metric(benchmark)
    return is_elapsed(name) and instrument not in simulated()


class _Seen(NamedTuple):
    """A measurement of one output and of another, the text before it in its line, and both outputs."""

    first: str
    second: str
    before: str
    outputs: tuple[str, str]


def _unlike_numbers(logs: Sequence[str], project: Path) -> Iterator[_Seen]:
    """Measurements in which two kept outputs differ, in lines that are the same otherwise."""
    outputs = [text for log in logs if (text := _text(project / log / "stdout"))]
    for one, other in pairwise(outputs):
        others = _by_words(other)
        for words, numbers in _by_words(one).items():
            places = zip(numbers, others.get(words, ()), words.split(_PLACE), strict=False)
            for first, second, before in places:
                if first != second:
                    yield _Seen(first, second, before, (one, other))


def _setting(seen: _Seen) -> str:
    """What has this number judged, as layoutrand.toml has it.

    "" where it cannot be told from other numbers, or whether more of it is better.
    """
    match = _NUMBER.fullmatch(seen.first)
    unit = "" if match is None else (match["unit"] or "").strip()
    better = _better(unit)
    if match is None or not better or "," in match["number"]:
        return ""
    words = seen.before[-_MOST_BEFORE:].split()
    words = words[len(seen.before) > _MOST_BEFORE :]  # the first is cut off there
    regex = "".join(re.escape(each) + r"\s*" for each in words) + r"([0-9.]+)\s*" + re.escape(unit) + r"\b"
    for output, told in zip(seen.outputs, (seen.first, seen.second), strict=True):
        if re.findall(regex, output, re.MULTILINE) != [told.removesuffix(unit).strip()]:
            return ""
    return f"metric = {{ regex = {toml_string(regex)}, unit = {toml_string(unit)}, better = {toml_string(better)} }}"


def _better(unit: str) -> str:
    """Whether more of the unit is better, or less; "" where it does not say."""
    of, slash, per = unit.partition("/")
    if slash:
        return "less" if of in _TIMES else "more" if per in _TIMES else ""
    return "less" if unit in _TIMES else ""


def _text(path: Path) -> str:
    """The beginning of an output."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_READ).decode("utf-8", "replace")
    except OSError:  # it is not kept any more
        return ""


def _by_words(text: str) -> dict[str, list[str]]:
    """The measurements of each line, by its words; of several lines with the same words the last ones."""
    return {
        _NUMBER.sub(lambda match: _PLACE if _told(match) else match[0], line): [
            told for told in map(_told, _NUMBER.finditer(line)) if told
        ]
        for line in _LINES.split(text, _MOST_LINES)[:_MOST_LINES]
    }


def _told(match: re.Match[str]) -> str:
    """The number with its unit, or "" where it may be anything else."""
    return match[0] if match["fraction"] or match["unit"] else ""
