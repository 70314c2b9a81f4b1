"""JMH (Java): each execution is a fork, of which JMH's own JVM starts one for each case."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
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

_OF_THE_LAUNCHER: Final = ("-Xdiag", "-XshowSettings", "-Xfuture", "-Xdock", "-XstartOnFirstThread")
"""Of these it says nothing, or something else."""

_KIND: Final = re.compile(r"(-XX:)[+-]?(\w+)|(-D[^=]+)|(-X(?:m[nsx]|ss|[a-z]+))")
_COLLECTOR: Final = re.compile(r"-XX:[+-]Use\w*GC$")
_ADDED: Final = frozenset(["-Xlog", "-Xbootclasspath", "-XX:CompileCommand"])
"""Of these there may be several."""

_PLACED: Final = frozenset(["-XX:SharedArchiveFile", "-XX:HeapBaseMinAddress"])
"""What a layout is of."""

_MEMORY: Final = frozenset(
    [
        *("-Xmx", "-Xshare", "-XX:MaxHeapSize", "-XX:MaxRAM", "-XX:MaxRAMPercentage", "-XX:UseCompressedOops"),
        *("-XX:UseCompressedClassPointers", "-XX:ObjectAlignmentInBytes", "a collector"),
    ]
)
"""What may place memory otherwise than a layout does, or undo it."""

_JAR: Final = "-jar"
_MAIN: Final = "org.openjdk.jmh."
_OWN: Final = frozenset(["f", "foe", "rf", "rff", "o"])
"""What an execution is, and what it leaves where, is layoutrand's to say."""

_ANOTHER_JVM: Final = frozenset(["jvm", "jvmArgs"])
_WITH_VALUE: Final = (
    _OWN
    | _ANOTHER_JVM
    | frozenset(
        [
            *("i", "bs", "r", "wi", "wbs", "w", "to", "t", "bm", "si", "gc", "v", "wf", "prof", "tg"),
            *("jvmArgsAppend", "jvmArgsPrepend", "tu", "opi", "wm", "e", "p", "wmb"),
        ]
    )
)
_NO_TIMES: Final = frozenset(["l", "lp", "lrf", "lprof", "h"])
_OPTION: Final = re.compile(r"--?([A-Za-z]+)(=.*)?", re.DOTALL)
_AT_ONE: Final = re.compile(r"-([a-z])(\d.*)", re.DOTALL)
"""How an option of one letter and its value can be one word."""


class _Jmh(Harness):
    name = "jmh"
    described = "JMH, Java: one fork in each execution, one value for each of its iterations"
    files = (_FILE,)

    def chosen_by(self, words: Sequence[str]) -> tuple[list[str], str] | None:
        """See `Harness`; what stands behind the jar, or the class of JMH, is JMH's own."""
        place = _begins(words)
        left, cases = list(words[:place]), []
        for name, told in _options(words[place:]):
            if name in _NO_TIMES:
                return None
            if not name:
                cases += told
            elif name not in _OWN:
                left += told
        return left, "|".join(cases)

    def refusal(self, command: Sequence[str]) -> str:
        """See `Harness`."""
        for name, told in _options(command[_begins(command) :]):
            if name in _OWN:
                return f"{' '.join(told)}: JMH is told already: an execution is one fork, what it leaves is JSON"
            if name in _ANOTHER_JVM:
                return (
                    f"{' '.join(told)}: which JVM is started, and with which options, is what a system and its layout "
                    "are: another JVM is another systems.*.prebuilt, and options stand in args"
                )
        return ""

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


def _options(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each option by its name, with the words that it consists of; "" for a word that chooses cases."""
    rest = iter(words)
    for word in rest:
        if at_one := _AT_ONE.fullmatch(word):
            yield at_one[1], [word]
        elif option := _OPTION.fullmatch(word):
            takes = option[1] in _WITH_VALUE and option[2] is None
            value = next(rest, None) if takes else None
            yield option[1], [word] if value is None else [word, value]
        else:
            yield "", [word]


def inherited(argv: Sequence[str]) -> tuple[str, ...]:
    """The options of the JVM that a command starts, as far as JMH hands them on to its forks.

    >>> inherited(["nice", "/opt/jdk/bin/java", "-Xmx1g", "-cp", "x:y", "-Da=b", "org.openjdk.jmh.Main", "-Xno"])
    ('-Xmx1g', '-Da=b')
    """
    java = next((word for word in argv if posixpath.basename(word) == "java"), "")
    words = words_of_the_jvm(argv, java)
    return tuple(word for word in words if word.startswith(_INHERITED) and not word.startswith(_OF_THE_LAUNCHER))


def _kind(option: str) -> str:
    """What an option sets, so that two of one kind contradict each other."""
    if _COLLECTOR.match(option):
        return "a collector"
    found = _KIND.match(option)
    return "".join(part for part in found.groups() if part) if found else option


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
    if lacking := [option for option in options if option not in had]:
        # By its name alone: what a layout sets it to is another in each, and the cause one.
        first = lacking[-1].partition("=")[0]
        return Case(
            name,
            {},
            failure=f"its JVM was started without options that the command has, such as {first}: @Fork(jvmArgs = ...) "
            "takes their place, jvmArgsAppend and jvmArgsPrepend stand beside them",
        )
    taken = {_kind(option) for option in options} - _ADDED
    taken |= _MEMORY if taken & _PLACED else frozenset()
    for option in had:
        if option not in options and isinstance(option, str) and _kind(option) in taken:
            return Case(
                name,
                {},
                failure=f"its JVM was started with {option} beside the command's options, which are the system and its "
                "layout, and are undone by it: is it from @Fork(jvmArgsAppend = ...)? Options belong into args",
            )
    return Case(name, _numbers(result, name))


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
