"""Catch2 (C++): ``BENCHMARK`` in test cases and sections, reported as XML by versions 2 and 3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree.ElementTree import Element

from layoutrand.config.readings import HarnessReading
from layoutrand.errors import NoMeasurement
from layoutrand.harnesses.harness import TIME, Case, CaseQuantity, Harness, LeftByHarness, elapsed, number, seconds
from layoutrand.harnesses.written_forms import xml_root

_FILE: Final = "layoutrand-cases.xml"
_RESULT: Final = "BenchmarkResults"
_CONTAINERS: Final = frozenset({"TestCase", "Section"})
_DEEPEST: Final = 100
_TAKEN: Final = ("-r", "--reporter", "-o", "--out", "-l", "--list", "-h", "--help", "-?", "--skip-benchmarks")
"""How options of a command begin that wants no times, or wants them in its own way."""
_OF_SPECIFICATIONS: Final = frozenset('\\",[]*~')


class _Catch2(Harness):
    name = "catch2"
    described = "Catch2, C++: the mean of each `BENCHMARK`, by the XML reporter"
    files = (_FILE,)
    traces = (b"_ZN5Catch9Benchmark9Benchmark3runI",)

    def chosen_by(self, words: Sequence[str]) -> tuple[list[str], str] | None:
        """See `Harness`; words that choose test cases may stand before its options."""
        return None if any(word.startswith(_TAKEN) for word in words) else (list(words), "")

    def words(self, reading: HarnessReading) -> list[str]:
        """See `Harness`; ``cases`` is a test specification, and ``repetitions`` are samples of one mean."""
        words = ["-r", "xml", "-o", _FILE]
        if reading.repetitions is not None:
            words += ["--benchmark-samples", str(reading.repetitions)]
        return words if reading.cases is None else [*words, reading.cases]

    def words_for(self, case: str) -> list[str]:
        """See `Harness`: it chooses a test case and the sections in it, and executes every `BENCHMARK` there."""
        name, *inside = case.split("/")
        quoted = "".join(f"\\{each}" if each in _OF_SPECIFICATIONS else each for each in name)
        return ["-r", "xml", "-o", _FILE, f'"{quoted}"', *(word for each in inside[:-1] for word in ("-c", each))]

    def read(self, left: LeftByHarness) -> list[Case]:
        """See `Harness`."""
        if not left.files.get(_FILE, "").strip():
            raise NoMeasurement("Catch2 wrote no report: is the program one with Catch2's own main?")
        return cases_of(left.files[_FILE])


def cases_of(text: str) -> list[Case]:
    """The benchmarks of a report, called by test case, sections and themselves; raises `NoMeasurement`.

    One that stands before a section is executed each time its test case is entered: then it has several values.
    """
    values: dict[str, list[float]] = {}
    failures: dict[str, str] = {}
    root = xml_root(text, "the report of Catch2")
    unmet = {id(each): what for test in root.iter("TestCase") if (what := _unmet(test)) for each in test.iter(_RESULT)}
    for name, result in _results(root, ()):
        failed, mean = result.find("failed"), result.find("mean")
        if id(result) in unmet:
            failures.setdefault(name, f"the test case failed: {unmet[id(result)]}")
            continue
        if failed is not None:
            failures.setdefault(name, f"the case failed: {failed.get('message') or 'it gives no reason'}")
        elif mean is None:
            raise NoMeasurement(f"the report of Catch2 has no mean of {name}")
        else:
            values.setdefault(name, []).append(_seconds(mean.get("value", ""), name))
    if not values and not failures:
        raise NoMeasurement(
            "the report of Catch2 has no BENCHMARK: version 2 needs CATCH_CONFIG_ENABLE_BENCHMARKING, and cases that "
            "are hidden, as by [!benchmark], are executed if `cases` names them"
        )
    measured = [
        Case(name, {TIME: CaseQuantity("s", tuple(own))}) for name, own in values.items() if name not in failures
    ]
    return [*measured, *(Case(name, {}, failure) for name, failure in failures.items())]


def _unmet(test: Element) -> str:
    """Which assertion of a test case did not hold, if it failed; a number of what computes wrongly is none."""
    result = test.find("OverallResult")
    if result is None or result.get("success") != "false":
        return ""
    broken = (each for each in test.iter("Expression") if each.get("success") == "false")
    originals = (" ".join((each.findtext("Original") or "").split()) for each in broken)
    return next((f"{each} does not hold" for each in originals if each), "Catch2 says so, and names no assertion")


def _seconds(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise NoMeasurement(f"the mean of {name} is {text!r}, which is no number") from error
    return seconds(elapsed(number(value, f"the mean of {name}"), f"the mean of {name}"), "ns")


def _results(place: Element, path: tuple[str, ...]) -> Iterator[tuple[str, Element]]:
    if len(path) > _DEEPEST:
        raise NoMeasurement("the report of Catch2 has sections nested too deeply")
    for part in place:
        if part.tag == _RESULT:
            yield "/".join([*path, part.get("name", "unnamed")]), part
        elif part.tag in _CONTAINERS:
            yield from _results(part, (*path, part.get("name", "unnamed")))
        elif part.tag == "Group":
            yield from (each for inner in part for each in _results_of(inner, path))


def _results_of(part: Element, path: tuple[str, ...]) -> Iterator[tuple[str, Element]]:
    if part.tag in _CONTAINERS:
        yield from _results(part, (*path, part.get("name", "unnamed")))


HARNESS: Final = _Catch2()
