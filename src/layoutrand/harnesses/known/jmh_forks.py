"""JMH (Java): each execution is a fork, of which JMH's own JVM starts one for each case."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Any, Final

from layoutrand.config.jdk import words_of_the_jvm
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

_INHERITED: Final = ("-X", "-D")
"""How options begin that the JVM says it was started with."""

_JAR: Final = "-jar"
_MAIN: Final = "org.openjdk.jmh."
_OWN: Final = frozenset(["-f", "-foe", "-rf", "-rff", "-o"])
"""What an execution is, and what it leaves where, is layoutrand's to say."""

_WITH_VALUE: Final = _OWN | frozenset(
    [
        *("-i", "-bs", "-r", "-wi", "-wbs", "-w", "-to", "-t", "-bm", "-si", "-gc", "-v", "-wf", "-prof", "-tg"),
        *("-jvm", "-jvmArgs", "-jvmArgsAppend", "-jvmArgsPrepend", "-tu", "-opi", "-wm", "-e", "-p", "-wmb"),
    ]
)
_NO_TIMES: Final = frozenset(["-l", "-lp", "-lrf", "-lprof", "-h"])


class _Jmh(Harness):
    name = "jmh"
    described = "JMH, Java: one fork in each execution, one value for each of its iterations"
    files = (_FILE,)

    def chosen_by(self, words: Sequence[str]) -> tuple[list[str], str] | None:
        """See `Harness`; what stands behind the jar, or the class of JMH, is JMH's own."""
        place = _begins(words)
        left, cases = list(words[:place]), []
        rest = iter(words[place:])
        for word in rest:
            option, equals, _ = word.partition("=")
            if option in _NO_TIMES:
                return None
            value = [next(rest, "")] if word in _WITH_VALUE else []
            if not word.startswith("-"):
                cases.append(word)
            elif not (option in _OWN and (equals or value)):
                left += [word, *value]
        return left, "|".join(cases)

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
        return cases_of(document(left.files[_FILE], "the results of JMH"), inherited(left.argv))


def _begins(words: Sequence[str]) -> int:
    """Where the words of JMH itself begin."""
    if _JAR in words:
        return list(words).index(_JAR) + 2
    return next((place + 1 for place, word in enumerate(words) if word.startswith(_MAIN)), len(words))


def inherited(argv: Sequence[str]) -> tuple[str, ...]:
    """The options of the JVM that a command starts, as far as JMH hands them on to its forks.

    >>> inherited(["nice", "/opt/jdk/bin/java", "-Xmx1g", "-cp", "x:y", "-Da=b", "org.openjdk.jmh.Main", "-Xno"])
    ('-Xmx1g', '-Da=b')
    """
    java = next((word for word in argv if posixpath.basename(word) == "java"), "")
    return tuple(word for word in words_of_the_jvm(argv, java) if word.startswith(_INHERITED))


def cases_of(results: Any, options: Sequence[str] = ()) -> list[Case]:
    """The results of one fork, called by method, parameters, and by mode where one method has several.

    A case whose fork was without one of these ``options`` has no numbers.  Raises `NoMeasurement`.
    """
    if not isinstance(results, list) or not results:
        raise NoMeasurement("the results of JMH are no array, or an empty one: no benchmark matches")
    named = [(_name(result), part(result, "mode", str, "a result of JMH"), result) for result in results]
    names = [name for name, _, _ in named]
    return [_case(f"{name},{mode}" if names.count(name) > 1 else name, result, options) for name, mode, result in named]


def _case(name: str, result: dict[str, Any], options: Sequence[str]) -> Case:
    had = result.get("jvmArgs")
    if not isinstance(had, list):
        had = []
        if options:
            return Case(name, {}, failure="its results do not tell which options its JVM was started with (jvmArgs)")
    lacking = [option for option in options if option not in had]
    if not lacking:
        return Case(name, _numbers(result, name))
    return Case(
        name,
        {},
        # By its name alone: what a layout sets it to is another in each, and the cause one.
        failure=f"its JVM was started without options that the command has, such as {lacking[-1].partition('=')[0]}: "
        "@Fork(jvmArgs = ...) and -jvmArgs take their place, jvmArgsAppend and jvmArgsPrepend stand beside them",
    )


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
