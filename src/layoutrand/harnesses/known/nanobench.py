"""nanobench (C++): a header without a command line; the program renders its results with the template ``json()``."""

from __future__ import annotations

from typing import Any, Final

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
)
from layoutrand.harnesses.written_forms import document, part


class _Nanobench(Harness):
    name = "nanobench"
    described = "nanobench, C++: what the program renders with `templates::json()`, printed or into a `*.json`"
    files = ("*.json",)
    traces = (b"6ankerl9nanobench",)
    needs = (
        "the program has benchmarks of nanobench, which repeats them by the clock, so numbers of the whole process, "
        "counts too, say little of its code: have it render templates::json(), where it does not, and give the "
        'benchmark harness = "nanobench"'
    )

    def words(self, reading: HarnessReading) -> list[str]:
        """See `Harness`: the program has no options of nanobench's."""
        for key, value in (("cases", reading.cases), ("repetitions", reading.repetitions)):
            if value is not None:
                raise UnsupportedByHarness(
                    f"{key}: nanobench has no command line; where the program has an option for it, put it into command"
                )
        return []

    def words_for(self, case: str) -> list[str]:
        """See `Harness`: the program has no options of nanobench's."""
        del case  # it is so of each, and told once
        raise UnsupportedByHarness(
            "nanobench has no command line, so no case can be executed by itself, unless the program has an option of "
            "its own for that"
        )

    def read(self, left: LeftByHarness) -> list[Case]:
        """See `Harness`."""
        texts = [text for text in (left.output, *left.files.values()) if text.lstrip().startswith("{")]
        if not texts:
            raise NoMeasurement(
                "nanobench left no JSON: the program must render ankerl::nanobench::templates::json() to standard "
                "output, and nothing else there, or into a file *.json in its working directory"
            )
        return [case for text in texts for case in cases_of(document(text, "the JSON of nanobench"))]


def cases_of(whole: Any) -> list[Case]:
    """The results of a document: seconds for one unit of the batch, by epoch; raises `NoMeasurement`."""
    cases = []
    for result in part(whole, "results", list, "the document"):
        title, name = (part(result, key, str, "a result of nanobench") for key in ("title", "name"))
        batch = elapsed(number(result.get("batch", 1), f"batch of {name}"), f"batch of {name}")
        values = []
        for epoch in part(result, "measurements", list, name):
            time = number(epoch.get("elapsed") if isinstance(epoch, dict) else None, f"elapsed of {name}")
            values.append(number(elapsed(time, f"elapsed of {name}") / batch, f"elapsed of {name}"))
        shown = f"{title}/{name}" if title and title != "benchmark" else name
        if values:
            cases.append(Case(shown, {TIME: CaseQuantity("s", tuple(values))}))
        else:
            cases.append(Case(shown, {}, "it has no measurements"))
    if not cases:
        raise NoMeasurement("the document of nanobench holds no result")
    return cases


HARNESS: Final = _Nanobench()
