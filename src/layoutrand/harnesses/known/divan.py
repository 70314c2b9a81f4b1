"""divan (Rust): a tree of cases with the fastest, slowest, median and mean time of each, as printed."""

from __future__ import annotations

import re
from typing import Final

from layoutrand.config.readings import HarnessReading
from layoutrand.errors import NoMeasurement
from layoutrand.harnesses.harness import TIME, Case, CaseQuantity, Harness, LeftByHarness, elapsed, number, seconds

_BRANCH: Final = re.compile(r"^(?P<indent>(?:│  |   )*)(?:├─ |╰─ )(?P<name>\S.*)$")
_COLUMNS: Final = ("fastest", "slowest", "median", "mean")
_TIME: Final = re.compile(r"(?P<value>[0-9]{1,15}(?:\.[0-9]{1,15})?) (?P<unit>ps|ns|us|\N{MICRO SIGN}s|ms|s)")
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
    root, column = "", None
    for line in output.splitlines():
        if "fastest" in line and "slowest" in line:
            column = line.index("fastest")
            root, path = line[:column].strip(), []
            continue
        match = None if column is None else _BRANCH.match(line[:column])
        if match is None:
            continue
        path = [*path[: len(match["indent"]) // _STEP], match["name"].strip(" │")]
        times = list(_TIME.finditer(line[column:]))
        if len(times) >= len(_COLUMNS):
            cases.append(_case("::".join([root, *path] if root else path), times[: len(_COLUMNS)]))
    if not cases:
        raise NoMeasurement("the output has no table of divan's (fastest, slowest, median, mean)")
    return cases


def _case(name: str, times: list[re.Match[str]]) -> Case:
    found = {}
    for column, match in zip(_COLUMNS, times, strict=True):
        value = number(float(match["value"]), f"{column} of {name}")
        found[column] = seconds(value, match["unit"])
    elapsed(found["mean"], f"the mean of {name}")
    return Case(
        name,
        {
            TIME: CaseQuantity("s", (found["mean"],)),
            "median_s": CaseQuantity("s", (found["median"],)),
            "fastest_s": CaseQuantity("s", (found["fastest"],)),
        },
    )


HARNESS: Final = _Divan()
