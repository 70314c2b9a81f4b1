"""JMH (Java): each execution is a fork, of which JMH's own JVM starts one for each case."""

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
    elapsed,
    exactly,
    number,
    seconds,
)
from layoutrand.harnesses.written_forms import document, part

_FILE: Final = "layoutrand-cases.json"
RATE: Final = "throughput"


class _Jmh(Harness):
    name = "jmh"
    described = "JMH, Java: one fork in each execution, one value for each of its iterations"
    files = (_FILE,)

    def words(self, reading: HarnessReading) -> list[str]:
        """See `Harness`; ``-f 1`` says that a fork is what an execution is, whatever annotations say."""
        words = ["-f", "1", "-foe", "true", "-rf", "json", "-rff", _FILE]
        if reading.repetitions is not None:
            words += ["-i", str(reading.repetitions)]
        return words if reading.cases is None else [*words, reading.cases]

    def words_for(self, case: str) -> list[str]:
        """See `Harness`; behind its name stand its parameters, and the mode where it has several."""
        name, *further = case.split(",")
        parameters = [word for each in further if "=" in each for word in ("-p", each)]
        modes = [word for each in further if "=" not in each for word in ("-bm", each)]
        return ["-f", "1", "-foe", "true", "-rf", "json", "-rff", _FILE, *parameters, *modes, exactly(name)]

    def read(self, left: LeftByHarness) -> list[Case]:
        """See `Harness`."""
        if not left.files.get(_FILE, "").strip():
            raise NoMeasurement("JMH wrote no results: its output tells why")
        return cases_of(document(left.files[_FILE], "the results of JMH"))


def cases_of(results: Any) -> list[Case]:
    """The results of one fork, called by method, parameters, and by mode where one method has several.

    Raises `NoMeasurement`.
    """
    if not isinstance(results, list) or not results:
        raise NoMeasurement("the results of JMH are no array, or an empty one: no benchmark matches")
    named = [(_name(result), part(result, "mode", str, "a result of JMH"), result) for result in results]
    names = [name for name, _, _ in named]
    return [
        Case(f"{name},{mode}" if names.count(name) > 1 else name, _numbers(result, name))
        for name, mode, result in named
    ]


def _name(result: Any) -> str:
    parameters = result.get("params") or {} if isinstance(result, dict) else {}
    if not isinstance(parameters, dict):
        raise NoMeasurement("params of a result of JMH are no object")
    name = part(result, "benchmark", str, "a result of JMH")
    return name + "".join(f",{key}={value}" for key, value in parameters.items())


def _numbers(result: Any, name: str) -> dict[str, CaseQuantity]:
    primary = part(result, "primaryMetric", dict, name)
    unit = part(primary, "scoreUnit", str, name)
    histogram = "rawDataHistogram" in primary
    forks = part(primary, "rawDataHistogram" if histogram else "rawData", list, name)
    if len(forks) != 1 or not isinstance(forks[0], list) or not forks[0]:
        raise NoMeasurement(f"{name} has {len(forks)} forks, and an execution is one: leave -f out of command")
    scores = [_mean(each, name) if histogram else number(each, f"a score of {name}") for each in forks[0]]
    over, _, under = unit.partition("/")
    if under == "op":
        return {TIME: CaseQuantity("s", tuple(seconds(elapsed(each, f"a score of {name}"), over) for each in scores))}
    if over == "ops":
        factor = seconds(1, under)
        return {RATE: CaseQuantity("ops/s", tuple(number(each / factor, f"a score of {name}") for each in scores))}
    raise NoMeasurement(f"{name} is given in {unit!r}, which is neither a time of an operation nor a rate")


def _mean(bins: Any, name: str) -> float:
    """The mean of [value, count] pairs, which sample mode has in place of scores."""
    if not isinstance(bins, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in bins):
        raise NoMeasurement(f"a histogram of {name} is no list of value and count")
    pairs = [(number(value, name), number(count, name)) for value, count in bins]
    total = sum(count for _, count in pairs)
    return sum(value * count for value, count in pairs) / elapsed(total, f"the calls of {name}")


HARNESS: Final = _Jmh()
