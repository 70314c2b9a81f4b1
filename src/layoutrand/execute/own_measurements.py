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
from typing import Final

from layoutrand.config.config import Benchmark
from layoutrand.execute.output_warnings import MeasuresItself
from layoutrand.instruments.asked_for import primary_metric
from layoutrand.instruments.known import is_elapsed, simulated
from layoutrand.model import Execution

_NUMBER: Final = re.compile(
    r"(?<![\w.:+-])(?P<number>\d+(?:,\d{3})*(?P<fraction>\.\d+)?)"
    r"(?P<unit>[ \t]?(?:\w+/\w+|[nuµm]?s|sec|seconds|ops)\b)?(?![\d:]|\.\d)"
)
"""A number that may be a measurement, which has a fraction or a unit of time, or of something per something.

Not what stands in an address, a date, a time of day or a version, and not a process's number.
"""

_LINES: Final = re.compile(r"[\r\n\b]+")
_MOST_LINES: Final = 2000
"""Of an output that are looked at: what a benchmark measured stands in fewer."""


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
            for first, second in _unlike_numbers(list(logs), project):
                found[benchmark] = MeasuresItself(benchmark, primary_metric(benchmarks[benchmark])[1], first, second)
                break
    return list(found.values())


def _is_known(execution: Execution) -> bool:
    return execution.status == "ok" and bool(execution.output_sha256)


def _is_by_process(benchmark: Benchmark) -> bool:
    """Whether the time from start to end is what it is judged by, and no number that it prints is asked for."""
    metric = benchmark.metric
    if metric.by_case or metric.suite is not None or metric.numbers():
        return False
    instrument, name = primary_metric(benchmark)
    return is_elapsed(name) and instrument not in simulated()


def _unlike_numbers(logs: Sequence[str], project: Path) -> Iterator[tuple[str, str]]:
    """Measurements in which two kept outputs differ, in lines that are the same otherwise."""
    outputs = [_by_words(lines) for log in logs if (lines := _lines(project / log / "stdout"))]
    for one, other in pairwise(outputs):
        for words, numbers in one.items():
            for first, second in zip(numbers, other.get(words, ()), strict=False):
                if first != second:
                    yield first, second


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:  # it is not kept any more
        return []
    return _LINES.split(text, _MOST_LINES)[:_MOST_LINES]


def _by_words(lines: Iterable[str]) -> dict[str, list[str]]:
    """The measurements of each line, by its words; of several lines with the same words the last ones."""
    return {
        _NUMBER.sub(lambda match: "#" if _told(match) else match[0], line): [
            told for told in map(_told, _NUMBER.finditer(line)) if told
        ]
        for line in lines
    }


def _told(match: re.Match[str]) -> str:
    """The number with its unit, or "" where it may be anything else."""
    return match[0] if match["fraction"] or match["unit"] else ""
