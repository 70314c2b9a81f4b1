"""SPEC CPU's report for people (``.txt``), which is all that is published of most results.

Its table has a line for each iteration, base and peak side by side, and after a line of ``=`` the selected iterations
once more, which are not taken.  Times are printed with three digits, so what is below a third of a per cent is lost.
That peak is a copy of base is believed where the report says ``basepeak = yes``: rounded times may be equal by chance.
The size of the input is not stated where it is ref, the only one that there is a ratio of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from layoutrand.interop.imported import FailedRun, Imported, ImportedNumber
from layoutrand.interop.interop_warnings import RoundedTimes
from layoutrand.interop.spec import copies_left_out, spec_failure, spec_row
from layoutrand.text.foreign_fields import excerpt, parse_number, plain, unreadable
from layoutrand.text.spec_rsf import SUCCESS, input_size, number_at_once

_HEADER: Final = re.compile(r"Benchmarks[ \t]+(Copies|Ref\.|Threads)[ \t]+Run Time[ \t]+(?:Rate|Ratio)\b")
_ANY_HEADER: Final = re.compile(rf"^[ \t]*{_HEADER.pattern}.*\r?\n[ \t]*-{{3,}}[ \t]+-", re.MULTILINE)
_END: Final = re.compile(r"\s*={10,}\s*")
_BASEPEAK: Final = re.compile(r"^\s*(\d{3}\.\w+)\s*: basepeak = yes", re.MULTILINE | re.ASCII)
_SET_TO: Final = re.compile(r"\(set\s+to\s+'(\w+)'\s+for\s+this\s+run\)", re.ASCII)
_STATUS: Final = re.compile(r"\*|[A-Z]{1,2}")
_NAME: Final = re.compile(r"\d{3}\.\w+", re.ASCII)
_SELECTED: Final = "*"
_NOT_RUN: Final = "NR"
_NONE: Final = "--"
_OTHER_INPUT: Final = "not ref"
"""The size where the report has no ratio and does not say why."""


def recognise(text: str) -> bool:
    """Whether it is a report of SPEC CPU, or the table of one."""
    return "Run Time" in text and _ANY_HEADER.search(text) is not None


@dataclass(frozen=True)
class _Cells:
    """What a line says of base or of peak: words before the status, and the status."""

    words: tuple[str, ...]
    status: str


def parse(text: str, source: str) -> Imported:
    """Rows of the table of all iterations; raises `UnreadableResults` with the line."""
    lines = [line.expandtabs() for line in text.replace("\r\n", "\n").split("\n")]
    top = next((n for n, line in enumerate(lines) if _HEADER.match(line.strip())), None)
    if top is None or top + 1 >= len(lines):
        raise unreadable(source, 'no table with "Benchmarks ... Run Time"; is this a report of SPEC CPU2006 or later?')
    counted = lines[top].split()[1]
    columns = [match.start() for match in re.finditer(r"-+", lines[top + 1])]
    if len(columns) not in {4, 7}:
        raise unreadable(source, f"a table of {len(columns)} columns; expected 4 or 7", line=top + 2)
    peak_begins = columns[4] if len(columns) == 7 else None
    told = _SET_TO.search(text)
    copied = {plain(name) for name in _BASEPEAK.findall(text)}
    rows: list[ImportedNumber] = []
    failures: list[FailedRun] = []
    seen: dict[tuple[str, str], int] = {}
    not_run: set[str] = set()
    for number, line in enumerate(lines[top + 2 :], top + 3):
        if _END.fullmatch(line):
            break
        if not line.strip():
            continue
        benchmark, halves = _halves(line, peak_begins, source, number)
        for tune, cells in halves.items():
            variant = "" if tune == "base" else tune
            if cells.status == _NOT_RUN:
                continue
            if variant and benchmark in copied:
                not_run.add(benchmark)
                continue
            index = seen.get((benchmark, tune), 0)
            seen[benchmark, tune] = index + 1
            if cells.status not in {SUCCESS, _SELECTED}:
                failures.append(spec_failure(benchmark, cells.status, "", index, variant))
                continue
            row = _row(benchmark, cells, index, source, number, counted=counted)
            size = "ref" if cells.words[2] != _NONE else input_size(told[1]) if told else _OTHER_INPUT
            rows.append(replace(row, variant=variant, workload=size))
    else:
        raise unreadable(source, "ends within the table of results; is the report complete?", line=len(lines))
    if not rows and not failures:
        raise unreadable(source, "nothing was run: its table of results holds no time")
    return Imported(tuple(rows), tuple(failures), (*copies_left_out(not_run), *([RoundedTimes()] if rows else [])))


def _halves(line: str, peak_begins: int | None, source: str, number: int) -> tuple[str, dict[str, _Cells]]:
    """The benchmark, and what is said of base and peak: each ends with a status; peak stands below its columns."""
    found = list(re.finditer(r"\S+", line))
    name = found[0][0]
    if not _NAME.fullmatch(name):
        raise unreadable(source, f"{excerpt(line.strip())} does not begin with a benchmark", line=number)
    halves: dict[str, _Cells] = {}
    words: list[str] = []
    for match in found[1:]:
        words.append(match[0])
        if not _STATUS.fullmatch(match[0]):
            continue
        tune = "base" if peak_begins is None or match.start() < peak_begins else "peak"
        if tune in halves:
            raise unreadable(source, f"{tune} has two statuses in {excerpt(line.strip())}", line=number)
        halves[tune] = _Cells(tuple(words[:-1]), words[-1])
        words = []
    if words or not halves:
        raise unreadable(source, f"{excerpt(line.strip())} does not end with a status; is it complete?", line=number)
    return plain(name), halves


def _row(benchmark: str, cells: _Cells, index: int, source: str, line: int, *, counted: str) -> ImportedNumber:
    if len(cells.words) != 3:
        said: Sequence[str] = cells.words
        raise unreadable(source, f"{' '.join(said) or 'nothing'!r} before the status; expected 3 numbers", line=line)
    number = None
    if counted != "Ref.":
        number = number_at_once(cells.words[0], source, f"the number of {counted.lower()}", line=line)
    seconds = parse_number(cells.words[1], source, "the run time", line=line)
    copies = number if counted == "Copies" else None
    row = spec_row(benchmark, seconds, copies, index, source, "the run time", line)
    return replace(row, threads=number if counted == "Threads" else None)
