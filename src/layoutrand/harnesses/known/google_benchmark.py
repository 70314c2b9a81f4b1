"""Google Benchmark (C++): a program that lists, chooses and repeats its cases, and writes them as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from layoutrand.config.readings import HarnessReading
from layoutrand.errors import NoMeasurement
from layoutrand.harnesses.harness import (
    CPU_TIME,
    TIME,
    Case,
    CaseQuantity,
    Harness,
    LeftByHarness,
    exactly,
    number,
    seconds,
)
from layoutrand.harnesses.written_forms import document, part

_FILE: Final = "layoutrand-cases.json"
_NO_COUNTERS: Final = frozenset(
    [
        "name",
        "family_index",
        "per_family_instance_index",
        "run_name",
        "run_type",
        "repetitions",
        "repetition_index",
        "threads",
        "iterations",
        "real_time",
        "cpu_time",
        "time_unit",
        "label",
        "error_occurred",
        "error_message",
        "skipped",
        "skip_message",
        "aggregate_name",
        "aggregate_unit",
    ]
)
"""Keys that every benchmark has; what is not among them is a counter of the case."""

_TAKEN: Final = frozenset(
    [
        "benchmark_dry_run",
        "benchmark_format",
        "benchmark_list_tests",
        "benchmark_out",
        "benchmark_out_format",
        "benchmark_report_aggregates_only",
        "help",
    ]
)
"""Options of a command that wants no times, or wants them in its own way."""

_AGGREGATES_ONLY: Final = "--benchmark_report_aggregates_only, or ReportAggregatesOnly() of the case"
_OF_FAMILIES: Final = frozenset(["BigO", "RMS"])
"""Aggregates of all cases of a family, which are fitted to these."""

_RATES: Final[Mapping[str, str]] = {"bytes_per_second": "B/s", "items_per_second": "items/s"}


class _GoogleBenchmark(Harness):
    name = "google-benchmark"
    described = "Google Benchmark, C++: cases by `--benchmark_filter`, JSON by `--benchmark_out`"
    files = (_FILE,)
    traces = (b"benchmark_out_format", b"libbenchmark.so")

    def chosen_by(self, words: Sequence[str]) -> tuple[list[str], str] | None:
        """See `Harness`."""
        left, cases = [], ""
        for word in words:
            option, _, value = word.lstrip("-").partition("=")
            if option in _TAKEN:
                return None
            if option == "benchmark_filter":
                cases = "" if value in {"all", "."} else value
            else:
                left.append(word)
        return left, cases

    def words(self, reading: HarnessReading) -> list[str]:
        """See `Harness`; repetitions of different cases take turns, so that a drift is no property of one."""
        words = [f"--benchmark_out={_FILE}", "--benchmark_out_format=json"]
        if reading.cases is not None:
            words.append(f"--benchmark_filter={reading.cases}")
        if reading.repetitions is not None:
            words.append(f"--benchmark_repetitions={reading.repetitions}")
            if reading.repetitions > 1:
                words.append("--benchmark_enable_random_interleaving=true")
        return words

    def words_for(self, case: str) -> list[str]:
        """See `Harness`."""
        return [f"--benchmark_out={_FILE}", "--benchmark_out_format=json", f"--benchmark_filter={exactly(case)}"]

    def read(self, left: LeftByHarness) -> list[Case]:
        """See `Harness`; a program that failed to match a filter ends well and writes nothing."""
        if not left.files.get(_FILE, "").strip():
            last = (left.messages.strip().splitlines() or ["it printed nothing about it"])[-1]
            raise NoMeasurement(f"Google Benchmark executed no case ({shlex.quote(last)})")
        return cases_of(document(left.files[_FILE], "the output of Google Benchmark"))


def cases_of(whole: Any) -> list[Case]:
    """The cases in a document of ``--benchmark_format=json``, in the order in which they first stand there.

    Aggregates are left out: they are of the repetitions that are there as well, unless the program was told to show
    nothing else, or says so of a case, which fails then.  Raises `NoMeasurement`.
    """
    runs: dict[str, list[dict[str, Any]]] = {}
    for run in part(whole, "benchmarks", list, "the document"):
        whole_name = part(run, "name", str, "a benchmark")  # first: what is no object has no other names either
        name = run.get("run_name", whole_name)
        if not isinstance(name, str):
            raise NoMeasurement(f"run_name of {whole_name!r} is no text")
        if run.get("run_type") != "aggregate":
            runs.setdefault(name, []).append(run)
        elif str(run.get("aggregate_name")) not in _OF_FAMILIES:
            runs.setdefault(name, [])
    if not runs:
        raise NoMeasurement("the document of Google Benchmark holds no case")
    cases = [_case(name, own) for name, own in runs.items()]
    if not all(runs.values()) and not any(case.numbers for case in cases):  # one that failed has no aggregates
        raise NoMeasurement(f"the document of Google Benchmark holds only aggregates: leave out {_AGGREGATES_ONLY}")
    return cases


def _case(name: str, runs: list[dict[str, Any]]) -> Case:
    if not runs:
        return Case(name, {}, f"only aggregates of it were written: leave out {_AGGREGATES_ONLY}")
    for run in runs:
        if run.get("error_occurred") or run.get("skipped"):
            message = run.get("error_message") or run.get("skip_message") or "it gives no reason"
            return Case(name, {}, f"the case reported an error: {message}")
    times: dict[str, list[float]] = {TIME: [], CPU_TIME: []}
    counters: dict[str, list[float]] = {}
    runs = sorted(runs, key=_place)
    for run in runs:
        unit = part(run, "time_unit", str, name)
        for key, place in (("real_time", TIME), ("cpu_time", CPU_TIME)):
            value = number(run.get(key), f"{key} of {name}")
            if value < 0 or (value == 0 and place == TIME):
                return Case(name, {}, f"{key} is {value:g}: the case did nothing that takes time")
            times[place].append(seconds(value, unit))
        for key in run.keys() - _NO_COUNTERS:
            if isinstance(run[key], int | float) and not isinstance(run[key], bool):
                shown = key if key not in times else f"counter {key}"
                counters.setdefault(shown, []).append(number(run[key], f"{key} of {name}"))
    found = {key: CaseQuantity("s", tuple(values)) for key, values in times.items()}
    for key in sorted(counters):
        if len(counters[key]) == len(runs):
            found[key] = CaseQuantity(_RATES.get(key, ""), tuple(counters[key]))
    return Case(name, found)


def _place(run: dict[str, Any]) -> int:
    """Which repetition it is; the order in the file is that of cases where these take turns."""
    place = run.get("repetition_index", 0)
    return place if isinstance(place, int) else 0


HARNESS: Final = _GoogleBenchmark()
