"""The formats that can be imported, and which of them a text is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from layoutrand.harnesses.known import criterion
from layoutrand.interop import (
    asv,
    bencher_metrics,
    go_benchmark,
    harness_files,
    hyperfine,
    jmh,
    pyperf,
    pytest_benchmark,
    rebench,
    renaissance,
    spec,
    spec_report,
    table,
)
from layoutrand.interop.imported import Imported, read_json, refuse_impossible
from layoutrand.interop.imported_numbers import numbers_of
from layoutrand.text.foreign_fields import unreadable

_Of = tuple[Callable[[Any], bool], Callable[[Any, str], Imported]]

JSON_FORMATS: Final[dict[str, _Of]] = {
    "hyperfine": (hyperfine.recognise, hyperfine.parse),
    "jmh": (jmh.recognise, jmh.parse),
    "pyperf": (pyperf.recognise, pyperf.parse),
    "renaissance": (renaissance.recognise, renaissance.parse),
    "layoutrand": (table.recognise, table.parse),
    "google-benchmark": (harness_files.recognise_google_benchmark, harness_files.parse_google_benchmark),
    "nanobench": (harness_files.recognise_nanobench, harness_files.parse_nanobench),
    "pytest-benchmark": (pytest_benchmark.recognise, pytest_benchmark.parse),
    "asv": (asv.recognise, asv.parse),
    "bencher": (bencher_metrics.recognise, bencher_metrics.parse),
}
"""Format -> whether a document is of it, and how its rows are read."""

TEXT_FORMATS: Final[dict[str, _Of]] = {
    "go": (go_benchmark.recognise, go_benchmark.parse),
    "csv": (table.recognise_csv, table.parse_csv),
    "renaissance-csv": (renaissance.recognise_csv, renaissance.parse_csv),
    "spec-csv": (spec.recognise_csv, spec.parse_csv),
    "spec-report": (spec_report.recognise, spec_report.parse),
    "spec-rsf": (spec.recognise_rsf, spec.parse_rsf),
    "catch2": (harness_files.recognise_catch2, harness_files.parse_catch2),
    "doctest": (harness_files.recognise_doctest, harness_files.parse_doctest),
    "libtest": (harness_files.recognise_libtest, harness_files.parse_libtest),
    "divan": (harness_files.recognise_divan, harness_files.parse_divan),
    "rebench": (rebench.recognise, rebench.parse),
}
"""The same for text that is no JSON."""

DIRECTORY_FORMAT: Final = "criterion"
"""The one harness whose results are a directory; `IN_DIRECTORY` is which of its files are read."""

IN_DIRECTORY: Final = criterion.WRITTEN

_PRINTED: Final = (
    (
        re.compile(r'^\s*\{\s*"(sampling_mode|iters)"\s*:'),
        "is one case of criterion's, and does not name it: import the directory with all cases (target/criterion)",
    ),
    (
        re.compile(r"^={5} DaCapo .*={5}", re.MULTILINE),
        'is what DaCapo prints, which is read where layoutrand executes it: [suite] with kind = "dacapo" in '
        "layoutrand.toml names the jar; times that are there already are imported as a table (csv)",
    ),
    (
        re.compile(r"^={6} .*, iteration \d+ (started|completed)\b", re.MULTILINE),
        "is what Renaissance prints; its options --json FILE and --csv FILE write what can be imported",
    ),
    (
        re.compile(r"^(# JMH version: |# Warmup Iteration +\d+: |Benchmark .*\bMode +Cnt +Score\b)", re.MULTILINE),
        "is what JMH prints; its options -rf json -rff FILE write what can be imported",
    ),
    (
        re.compile(
            r"^(SPECjvm2008 \w+\r?$|(Iteration \d+|Warmup) \([^)\n]*\) result: |\s*<specjvm-results?>|"
            r"(Noncompliant c|C)omposite result: \S+ (SPECjvm2008 \w+ )?ops/m)",
            re.MULTILINE,
        ),
        "is of SPECjvm2008, of which nothing is read, its .raw file neither: the ops/m of each iteration are imported "
        "as a table (csv), with more in the column better",
    ),
)
"""What harnesses print for their users or write beside, by a line of it, and what can be imported in its place."""

WITH_NODES: Final = ("csv", "layoutrand")
"""Formats that can say of each execution which machine it was on."""

_OTHER_EXPORTS: Final = {
    "command,mean,stddev,": "hyperfine's CSV, which has no single times: import what --export-json writes",
    "name,iterations,real_time,cpu_time,": "Google Benchmark's CSV: import what --benchmark_out_format=json writes",
    '"Benchmark","Mode","Threads","Samples",': "JMH's CSV, which has no single iterations: import what -rf json writes",
}
"""How what harnesses export beside what can be read begins, and what it is."""

FORMATS: Final = tuple(sorted([*JSON_FORMATS, *TEXT_FORMATS, DIRECTORY_FORMAT]))


def parse(text: str, source: str, format_name: str | None) -> tuple[str, Imported]:
    """The format, and what the text holds.

    ``format_name`` is one of `FORMATS`, or None to go by the content; ``source`` is the file's name for messages.
    Raises `UnreadableResults` that says what was expected, or that no format, or more than one, fits.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise unreadable(source, "is empty")
    if format_name == DIRECTORY_FORMAT:
        raise unreadable(source, f"is a file, and what {DIRECTORY_FORMAT} writes is a directory (target/criterion)")
    name = format_name or detect(text, source)
    if name in JSON_FORMATS:
        content = JSON_FORMATS[name][1](read_json(text, source), source)
    else:
        content = TEXT_FORMATS[name][1](text, source)
    numbers = numbers_of(content.rows)
    wrong = numbers.first_impossible()  # where lines are known, it was told before
    if wrong is not None:
        row = numbers[wrong]
        what = f"{row.metric} of {row.benchmark}, execution {row.execution}, iteration {row.iteration},"
        refuse_impossible(row.value, row.unit, row.metric, source, what)
    return name, content


def parse_directory(files: Mapping[str, str], source: str, format_name: str | None) -> tuple[str, Imported]:
    """The same of a directory, of which ``files`` are those that match `IN_DIRECTORY`: path -> text."""
    if format_name not in (None, DIRECTORY_FORMAT):
        raise unreadable(source, f"is a directory, which {format_name} does not write")
    if not files:
        raise unreadable(
            source,
            f"is a directory, and not {DIRECTORY_FORMAT}'s (no new/sample.json is in it); "
            "what other harnesses write are files: 'NAME:*=DIRECTORY/*' imports those of a directory",
        )
    return DIRECTORY_FORMAT, harness_files.parse_criterion(files, source)


def detect(text: str, source: str) -> str:
    """The one format that the content is of; raises `UnreadableResults`."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        fitting = [name for name, (recognise, _) in TEXT_FORMATS.items() if recognise(text)]
        if not fitting and text.lstrip()[0] in "{[":
            read_json(text, source)  # says where it ceases to be JSON
        other = next((what for begin, what in _OTHER_EXPORTS.items() if text.startswith(begin)), "")
        if other and not fitting:
            raise unreadable(source, f"is {other}") from None
        if not fitting and table.recognise_other_cut(text):
            return "csv"  # which says what is wrong with its header
    else:
        fitting = [name for name, (recognise, _) in JSON_FORMATS.items() if recognise(document)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting and (
        printed := next((words for line, words in _PRINTED if line.search(text)), "") or spec.log_words(text)
    ):
        raise unreadable(source, printed)
    what = f"could be {' or '.join(fitting)}" if fitting else "is in no format that is known"
    raise unreadable(source, f"{what}; --format names one of {', '.join(FORMATS)}")
