"""libtest's bencher (Rust): ``#[bench]`` of the nightly compiler, and the crate ``bencher``, which prints the same."""

from __future__ import annotations

import re
from typing import Final

from layoutrand.config.readings import HarnessReading
from layoutrand.errors import NoMeasurement
from layoutrand.harnesses.harness import (
    TIME,
    Case,
    CaseQuantity,
    Harness,
    LeftByHarness,
    UnsupportedByHarness,
    elapsed,
    number,
    seconds,
)

# "test sum ... bench:       1,234.56 ns/iter (+/- 7.89) = 5252 MB/s"; the rate follows from the time.
_LINE: Final = re.compile(
    r"^test (?P<name>\S.{0,400}?) +\.\.\. bench:\s+"
    r"(?P<time>[0-9][0-9,]{0,30}(?:\.[0-9]{1,20})?) (?P<unit>[a-z]{1,2})/iter",
    re.MULTILINE,
)
_FAILED: Final = re.compile(r"^test (?P<name>\S.{0,400}?) +\.\.\. FAILED$", re.MULTILINE)


class _Libtest(Harness):
    name = "libtest"
    described = "libtest's `#[bench]` and the crate bencher, Rust: the median of each case, as printed"

    def words(self, reading: HarnessReading) -> list[str]:
        """See `Harness`."""
        if reading.repetitions is not None:
            raise UnsupportedByHarness(
                "repetitions: libtest repeats a case until its median stands, and has no option for it; leave it out"
            )
        return ["--bench"] if reading.cases is None else ["--bench", reading.cases]

    def words_for(self, case: str) -> list[str]:
        """See `Harness`; the crate bencher takes the first word that is not `--bench` for a part of the name."""
        return ["--bench", case, "--exact"]

    def read(self, left: LeftByHarness) -> list[Case]:
        """See `Harness`."""
        return cases_of(left.output)


def cases_of(output: str) -> list[Case]:
    """The cases in what a program printed: seconds of one iteration, in the median.  Raises `NoMeasurement`."""
    values: dict[str, list[float]] = {}
    for match in _LINE.finditer(output):
        name, printed = match["name"], match["time"]
        time = elapsed(number(float(printed.replace(",", "")), f"the time of {name}"), f"the time of {name}")
        values.setdefault(name, []).append(seconds(time, match["unit"]))
    if not values:
        raise NoMeasurement("the output has no line of libtest's benches, such as: test sum ... bench: 17 ns/iter")
    failed = dict.fromkeys(match["name"] for match in _FAILED.finditer(output))
    cases = [Case(name, {TIME: CaseQuantity("s", tuple(own))}) for name, own in values.items()]
    return cases + [Case(name, {}, "libtest says FAILED") for name in failed if name not in values]


HARNESS: Final = _Libtest()
