"""criterion (Rust): ``cargo bench`` programs that leave a directory of JSON files for each case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from layoutrand.config.readings import HarnessReading
from layoutrand.errors import NoMeasurement
from layoutrand.harnesses.harness import TIME, Case, CaseQuantity, Harness, LeftByHarness, elapsed, exactly, number
from layoutrand.harnesses.written_forms import document, part

_HOME: Final = "criterion"
_SAMPLE: Final = "sample.json"
_NAMES: Final = "benchmark.json"
WRITTEN: Final = (f"**/new/{_SAMPLE}", f"**/new/{_NAMES}")
"""Patterns of what it writes of the latest execution of each case, below its directory."""

_PROFILED: Final = re.compile(r"^Benchmarking (.+): Complete \(Analysis Disabled\)", re.MULTILINE)


class _Criterion(Harness):
    name = "criterion"
    described = "criterion, Rust: cases by its filter, one value for each of its samples"
    files = tuple(f"{_HOME}/{pattern}" for pattern in WRITTEN)

    def words(self, reading: HarnessReading) -> list[str]:
        """See `Harness`; ``--bench`` is what cargo gives, without which each case is executed once as a test."""
        words = ["--bench", "--noplot"]
        if reading.repetitions is not None:
            words += ["--sample-size", str(reading.repetitions)]
        return words if reading.cases is None else [*words, reading.cases]

    def words_for(self, case: str) -> list[str]:
        """See `Harness`; with `--profile-time` it analyses nothing, so that the profile is none of its statistics."""
        return ["--bench", "--noplot", "--profile-time", "5", exactly(case)]

    def executed(self, left: LeftByHarness) -> set[str]:
        """See `Harness`: so it leaves no files."""
        return set(_PROFILED.findall(left.output + left.messages))

    def environment(self) -> dict[str, str]:
        """See `Harness`: its files are left in the working directory, which is new in every execution."""
        return {"CRITERION_HOME": _HOME}

    def read(self, left: LeftByHarness) -> list[Case]:
        """See `Harness`."""
        return cases_of(left.files)


def cases_of(files: Mapping[str, str]) -> list[Case]:
    """The cases of what matches `WRITTEN`, path -> text; raises `NoMeasurement`."""
    cases = []
    for path, text in files.items():
        if PurePosixPath(path).name == _SAMPLE:
            names = str(PurePosixPath(path).with_name(_NAMES))
            if names not in files:
                raise NoMeasurement(f"criterion left {path} without {names}; was the program ended early?")
            cases.append(case_of(document(files[names], names), document(text, path)))
    if not cases:
        raise NoMeasurement("criterion executed no case: it left no sample.json")
    return cases


def case_of(names: Any, sample: Any) -> Case:
    """The case of a ``benchmark.json`` and the ``sample.json`` beside it: seconds of one iteration, by sample.

    Times are those of criterion's wall clock, in ns; another measurement of criterion's cannot be told from it there.
    Raises `NoMeasurement`.
    """
    name = part(names, "full_id", str, "benchmark.json")
    iterations, times = (part(sample, key, list, f"sample.json of {name}") for key in ("iters", "times"))
    if len(iterations) != len(times) or not times:
        raise NoMeasurement(f"sample.json of {name} has {len(times)} times of {len(iterations)} samples")
    values = []
    for count, time in zip(iterations, times, strict=True):
        of_all = elapsed(number(time, f"a time of {name}"), f"a time of {name}")
        values.append(number(of_all / elapsed(number(count, f"iters of {name}"), f"iters of {name}") / 1e9, name))
    return Case(name, {TIME: CaseQuantity("s", tuple(values))})


HARNESS: Final = _Criterion()
