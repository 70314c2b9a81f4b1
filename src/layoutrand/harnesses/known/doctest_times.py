"""doctest (C++): how long each test case takes, from its XML reporter; it has no benchmarks of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element

from layoutrand.config.readings import HarnessReading
from layoutrand.errors import NoMeasurement
from layoutrand.harnesses.harness import (
    TIME,
    Case,
    CaseQuantity,
    Harness,
    LeftByHarness,
    UnsupportedByHarness,
    number,
)
from layoutrand.harnesses.written_forms import xml_root

_FILE: Final = "layoutrand-cases.xml"
# With this prefix every program takes them, those with options of their own as well.
_REPORT: Final = ("--dt-reporters=xml", f"--dt-out={_FILE}", "--dt-duration=true")
_ROOT: Final = "doctest"
_OF_FILTERS: Final = frozenset('*?,"\\')


class _Doctest(Harness):
    name = "doctest"
    described = "doctest, C++: the time of each test case, by the XML reporter"
    files = (_FILE,)

    def words(self, reading: HarnessReading) -> list[str]:
        """See `Harness`; ``cases`` are doctest's filters, with commas between them."""
        if reading.repetitions is not None:
            raise UnsupportedByHarness("repetitions: doctest executes each test case once")
        return [*_REPORT, *([] if reading.cases is None else [f"--dt-test-case={reading.cases}"])]

    def words_for(self, case: str) -> list[str]:
        """See `Harness`; what means something in a filter is any one letter there."""
        chosen = "".join("?" if each in _OF_FILTERS else each for each in case)
        return [*_REPORT, f"--dt-test-case={chosen}"]

    def read(self, left: LeftByHarness) -> list[Case]:
        """See `Harness`."""
        if not left.files.get(_FILE, "").strip():
            raise NoMeasurement("doctest wrote no report: is the program one with doctest's own main or context?")
        return cases_of(left.files[_FILE])


def cases_of(text: str) -> list[Case]:
    """The test cases of a report that were executed, by their names; raises `NoMeasurement`.

    A case is executed once for each of the ways through its subcases, and its time is that of all of them.
    """
    root = xml_root(text, "the report of doctest")
    if root.tag != _ROOT:
        raise NoMeasurement(f"the report of doctest begins with <{root.tag}>")
    executed = [each for each in root.iter("TestCase") if each.get("skipped") != "true"]
    if not executed:
        raise NoMeasurement("doctest executed no test case: which ones `cases` names is in `--list-test-cases`")
    found: dict[str, list[Element]] = {}
    for each in executed:
        found.setdefault(each.get("name", "unnamed"), []).append(each)
    return [_case(name, own) for name, own in found.items()]


def _case(name: str, found: Sequence[Element]) -> Case:
    if len(found) > 1:
        return Case(name, {}, failure=f"{len(found)} test cases are called so, and doctest does not tell them apart")
    result = found[0].find("OverallResultsAsserts")
    if result is None:
        return Case(name, {}, failure="the test case did not end")
    if result.get("test_case_success") == "false":
        return Case(name, {}, failure=f"the test case failed: {result.get('failures', 'some')} assertions did not hold")
    told = result.get("duration")
    if told is None:
        raise NoMeasurement(f"the report of doctest has no duration of {name}")
    try:
        value = number(float(told), f"the duration of {name}")
    except ValueError as error:
        raise NoMeasurement(f"the duration of {name} is {told!r}, which is no number") from error
    if value <= 0:
        return Case(name, {}, failure="it took less than a microsecond, which is as fine as doctest tells")
    return Case(name, {TIME: CaseQuantity("s", (value,))})


HARNESS: Final = _Doctest()
