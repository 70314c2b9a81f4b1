"""What harnesses of benchmarks write when they are executed without layoutrand: read as `layoutrand.harnesses` does.

A file (or the directory of criterion's) is of one process, so all that stands in it is of one execution, and
repetitions of a case are its iterations.  Cases that failed are failed executions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from layoutrand.config.metric import usual_direction
from layoutrand.errors import NoMeasurement
from layoutrand.harnesses.harness import Case
from layoutrand.harnesses.known import catch2, criterion, divan, doctest_times, google_benchmark, libtest, nanobench
from layoutrand.interop.imported import FailedRun, Imported, ImportedNumber, refuse_impossible
from layoutrand.text.foreign_fields import plain, unreadable

_LONGEST_HEADER: Final = 100_000
"""Characters in which a text says what it is."""


def recognise_google_benchmark(document: Any) -> bool:
    """Whether a JSON document is of Google Benchmark."""
    return _has_list(document, "benchmarks", "time_unit", "aggregate_name")


def recognise_nanobench(document: Any) -> bool:
    """Whether a JSON document is what nanobench's template ``json()`` renders."""
    return _has_list(document, "results", "measurements") and _has_list(document, "results", "epochs")


def recognise_catch2(text: str) -> bool:
    """Whether it is a report of Catch2's XML reporter."""
    return "<Catch" in text[:_LONGEST_HEADER] and "<TestCase" in text


def recognise_doctest(text: str) -> bool:
    """Whether it is a report of doctest's XML reporter."""
    return "<doctest" in text[:_LONGEST_HEADER] and "<TestCase" in text


def recognise_libtest(text: str) -> bool:
    """Whether it has lines as Rust's libtest prints for benches."""
    return "/iter" in text and _reads(libtest.cases_of, text)


def recognise_divan(text: str) -> bool:
    """Whether it has a table of divan's."""
    return divan.COLUMN in text and _reads(divan.cases_of, text)


def parse_google_benchmark(document: Any, source: str) -> Imported:
    """Rows of all cases; raises `UnreadableResults`."""
    return _imported(google_benchmark.cases_of, document, source)


def parse_nanobench(document: Any, source: str) -> Imported:
    """Rows of all results; raises `UnreadableResults`."""
    return _imported(nanobench.cases_of, document, source)


def parse_catch2(text: str, source: str) -> Imported:
    """Rows of all benchmarks; raises `UnreadableResults`."""
    return _imported(catch2.cases_of, text, source)


def parse_doctest(text: str, source: str) -> Imported:
    """Rows of all test cases that were executed; raises `UnreadableResults`."""
    return _imported(doctest_times.cases_of, text, source)


def parse_libtest(text: str, source: str) -> Imported:
    """Rows of all benches; raises `UnreadableResults`."""
    return _imported(libtest.cases_of, text, source)


def parse_divan(text: str, source: str) -> Imported:
    """Rows of all leaves; raises `UnreadableResults`."""
    return _imported(divan.cases_of, text, source)


def parse_criterion(files: Mapping[str, str], source: str) -> Imported:
    """Rows of all cases of a directory of criterion's, path -> text; raises `UnreadableResults`."""
    return _imported(criterion.cases_of, files, source)


def _has_list(document: Any, key: str, *any_of: str) -> bool:
    items = document.get(key) if isinstance(document, dict) else None
    return (
        isinstance(items, list)
        and bool(items)
        and all(isinstance(item, dict) and any(name in item for name in any_of) for item in items)
    )


def _reads(read: Callable[[str], Sequence[Case]], text: str) -> bool:
    try:
        read(text)
    except NoMeasurement:
        return False
    return True


def _imported(read: Callable[[Any], Sequence[Case]], given: Any, source: str) -> Imported:
    try:
        cases = read(given)
    except NoMeasurement as error:
        raise unreadable(source, str(error)) from error
    rows: list[ImportedNumber] = []
    failures: list[FailedRun] = []
    seen: set[str] = set()
    for case in cases:
        name = plain(case.name) or "unnamed"
        if name in seen:
            raise unreadable(source, f"two cases are called {name!r}; import what is of each system by itself")
        seen.add(name)
        if case.failure:
            failures.append(FailedRun(name, "no-measurement", plain(case.failure)))
        for metric, quantity in case.numbers.items():
            better = usual_direction(quantity.unit)
            for place, value in enumerate(quantity.values):
                refuse_impossible(value, quantity.unit, metric, source, f"{metric} of {name}")
                rows.append(ImportedNumber(name, value, plain(metric), quantity.unit, 0, place, better=better))
    return Imported(tuple(rows), tuple(failures))
