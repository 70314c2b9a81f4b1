"""divan (Rust): a tree of cases with the fastest, slowest, median and mean time of each, as printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from layoutrand.config.readings import HarnessReading
from layoutrand.errors import NoMeasurement
from layoutrand.harnesses.harness import TIME, Case, CaseQuantity, Harness, LeftByHarness, elapsed, number, seconds

_BRANCH: Final = re.compile(r"(?P<indent>(?:│  |   )*)(?:├─ |╰─ )(?P<rest>\S.*)")
_COLUMNS: Final = ("fastest", "slowest", "median", "mean")
COLUMN: Final = "│"
"""The sign between columns of its tables."""

_BEHIND: Final = 5
"""Columns behind the first; the last two, of samples and iterations, are no times."""
_PADDING: Final = "  "
"""Between a name and the first column there are two blanks at least."""
_TIME: Final = re.compile(r"(?P<value>[0-9]{1,15}(?:\.[0-9]{1,15})?) (?P<unit>\w{1,2})")
_LONG: Final[Mapping[str, int]] = {"m": 60, "h": 60 * 60, "d": 24 * 60 * 60}
"""Seconds in the units that divan takes from a minute on."""
_STEP: Final = 3


class _Divan(Harness):
    name = "divan"
    described = "divan, Rust: the mean of each case, and its median and fastest sample beside it, as printed"

    def words(self, reading: HarnessReading) -> list[str]:
        """See `Harness`; it prints no single samples, so that ``repetitions`` are samples of one mean."""
        words = ["--bench", "--color", "never"]
        if reading.repetitions is not None:
            words += ["--sample-count", str(reading.repetitions)]
        return words if reading.cases is None else [*words, reading.cases]

    def words_for(self, case: str) -> list[str]:
        """See `Harness`."""
        return ["--bench", "--color", "never", "--exact", case]

    def read(self, left: LeftByHarness) -> list[Case]:
        """See `Harness`."""
        return cases_of(left.output)


def cases_of(output: str) -> list[Case]:
    """The leaves of the tree that have times, called by their path in it; raises `NoMeasurement`.

    Lines below a leaf, such as of throughput and of allocations, say nothing of its time and are left out.
    """
    cases: list[Case] = []
    path: list[str] = []
    root: str | None = None
    for line in output.splitlines():
        # Columns are told by their signs, from the right, as a name may hold such a sign; not by their places: a name
        # that is longer than divan has reckoned with, such as "t=16" below a case, moves those of its line.
        left, *columns = (part.rstrip() for part in line.rsplit(COLUMN, _BEHIND))
        if len(columns) != _BEHIND:
            continue
        fastest, *others = _COLUMNS
        times = [column.strip() for column in columns[: len(others)]]
        if times == others and left.endswith(fastest):
            root, path = left.removesuffix(fastest).strip(), []
            continue
        branch = None if root is None else _BRANCH.fullmatch(left)
        if branch is None:
            continue
        is_leaf = any(times)
        called, _, first = branch["rest"].rpartition(_PADDING) if is_leaf else (branch["rest"], "", "")
        path = [*path[: len(branch["indent"]) // _STEP], called.rstrip()]
        if is_leaf:
            cases.append(_case("::".join([root, *path] if root else path), [first, *times]))
    if not cases:
        raise NoMeasurement("the output has no table of divan's (fastest, slowest, median, mean)")
    return cases


def _case(name: str, times: list[str]) -> Case:
    found = {column: _seconds(time, f"{column} of {name}") for column, time in zip(_COLUMNS, times, strict=True)}
    elapsed(found["mean"], f"the mean of {name}")
    return Case(
        name,
        {
            TIME: CaseQuantity("s", (found["mean"],)),
            "median_s": CaseQuantity("s", (found["median"],)),
            "fastest_s": CaseQuantity("s", (found["fastest"],)),
        },
    )


def _seconds(text: str, what: str) -> float:
    match = _TIME.fullmatch(text)
    if match is None:
        raise NoMeasurement(f"divan printed {what} as {text!r}, which is no time")
    value, unit = number(float(match["value"]), what), match["unit"]
    return value * _LONG[unit] if unit in _LONG else seconds(value, unit)


HARNESS: Final = _Divan()
