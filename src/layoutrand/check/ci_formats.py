"""A check in the forms that CI systems read: annotations of GitHub, code quality of GitLab, JUnit.

What counts as an error there is what the exit status counts as one: the verdicts that ``--fail-if`` names, and what
could not be built or executed.
"""

from __future__ import annotations

import hashlib
import xml.etree.ElementTree as ET
from collections.abc import Collection, Mapping
from typing import Any, Final, Literal

from layoutrand.analysis.conclusion import Verdict
from layoutrand.analysis.verdict_marks import change_words
from layoutrand.check.check_words import (
    FAILED_WORD,
    apart_sentences,
    as_built_words,
    change_sentence,
    commits_words,
    ending_sentence,
    failure_reasons,
    first_change_sentence,
    of_measuring_themselves,
    one_sided_sentences,
    one_sided_words,
    rounds_words,
    verdict_of,
)
from layoutrand.check.comment import benchmark_name, headline
from layoutrand.check.question import CheckAnswer, CheckedBenchmark, SystemCheck

CONFIGURATION: Final = "layoutrand.toml"
"""The file that annotations point into, at the table of the benchmark: a verdict is about no line of the source."""

MOST_ANNOTATIONS: Final = 10
"""GitHub shows no more of a kind for each step."""

Level = Literal["error", "warning", "notice"]


def level_of(system: SystemCheck, each: CheckedBenchmark, failing: Collection[Verdict]) -> Level | None:
    """How loud a verdict is to be told; None for what did not change."""
    verdict = each.concluded.verdict
    if verdict in failing or system.is_without_result(each):
        return "error"
    levels: dict[Verdict, Level] = {"slower": "warning", "cannot tell": "warning", "faster": "notice"}
    return levels.get(verdict)


def github_annotations(
    answer: CheckAnswer, failing: Collection[Verdict], lines: Mapping[str, int], folder: str
) -> list[str]:
    """Workflow commands, a line each: errors, warnings, notices, and one notice that sums up.

    ``lines`` maps benchmarks to lines of the configuration, which lies in ``folder`` of the repository.
    """
    told: dict[Level, list[str]] = {"error": [], "warning": [], "notice": []}
    for system in answer.systems:  # why something failed comes before what did, of which there may be too many
        if text := ending_sentence(system, answer.question):
            ended: Level = "error" if system.ending == "failures" else "warning"
            told[ended].append(_command(ended, {}, f"layoutrand check {system.system}", text))
        for text in apart_sentences(system, answer.question):
            told["error"].append(_command("error", {}, f"layoutrand check {system.system}", text))
        first = first_change_sentence(system, answer.question)
        remarks = (*one_sided_sentences(system, answer.question), *of_measuring_themselves(system))
        for text in (*([first] if first else []), *remarks):
            told["notice"].append(_command("notice", {}, f"layoutrand check {system.system}", text))
    for system, each in answer.benchmarks:
        level = level_of(system, each, failing)
        if level is not None:
            title = f"{_name(answer, system, each)}: {verdict_of(answer, system, each)}"
            told[level].append(_command(level, _place(each, lines, folder), title, details(each)))
    summary = f"{headline(answer)}; {commits_words(answer.question)}"
    rows = []
    for level, commands in told.items():
        most = MOST_ANNOTATIONS - 1
        rows += commands[:most]
        if len(commands) > most:
            rows.append(_command(level, {}, "layoutrand check", f"and {len(commands) - most} more: see the summary"))
    return [*rows, _command("notice", {}, "layoutrand check", summary)]


def details(each: CheckedBenchmark) -> str:
    """``+3.7 % (+2.9 … +4.5), decided after 9 layouts; as built +8.1 %``."""
    if each.pair is None:
        return "nothing was executed" if each.concluded.verdict == "same program" else "there is no ratio"
    if each.pair.ratio is None:
        return f"there is no ratio, {rounds_words(each)}"
    change, ends = change_words(each.pair.ratio)
    own = as_built_words(each)
    built = "" if own == "-" else f"; as built {own}"
    return f"{change} {ends}, {rounds_words(each)}{built}"


def gitlab_code_quality(
    answer: CheckAnswer, failing: Collection[Verdict], lines: Mapping[str, int], folder: str
) -> list[dict[str, Any]]:
    """GitLab's code quality report: an entry for each verdict that is not that nothing changed."""
    severities: dict[Level, str] = {"error": "major", "warning": "minor", "notice": "info"}
    entries = []
    for system, each in answer.benchmarks:
        level = level_of(system, each, failing)
        if level is None:
            continue
        quantity = each.quantity
        kind = FAILED_WORD if system.is_without_result(each) else each.concluded.verdict
        parts = (system.system, quantity.benchmark, quantity.instrument, quantity.metric, kind)
        what = "\0".join(parts)
        entries.append(
            {
                "description": f"{_name(answer, system, each)}: {verdict_of(answer, system, each)}, {details(each)}",
                "check_name": f"layoutrand/{kind.replace(' ', '-')}",
                "fingerprint": hashlib.sha256(what.encode()).hexdigest()[:32],
                "severity": severities[level],
                "location": {
                    "path": _file(folder),
                    "lines": {"begin": lines.get(quantity.benchmark, 1)},
                },
            }
        )
    return entries


def junit(answer: CheckAnswer, failing: Collection[Verdict]) -> str:
    """JUnit's XML: a suite for each system, a case for each verdict; what nobody can tell is skipped.

    So is a case of a harness that one of the commits lacks: one that was renamed would else be missed by nobody.
    """
    root = ET.Element("testsuites", name="layoutrand check")
    for system in answer.systems:
        suite = ET.SubElement(root, "testsuite", name=_clean(f"layoutrand check {system.system}"))
        counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
        for each in system.benchmarks:
            counts["tests"] += 1
            name = benchmark_name(system, each, several=False)
            case = ET.SubElement(suite, "testcase", classname=_clean(system.system), name=_clean(name), time="0")
            verdict, text = verdict_of(answer, system, each), details(each)
            if system.is_without_result(each):
                counts["errors"] += 1
                stopped = _clean(ending_sentence(system, answer.question))
                why = "\n".join(text for text in (_why(system), first_change_sentence(system, answer.question)) if text)
                ET.SubElement(case, "error", message=stopped).text = _clean(why)
            elif each.concluded.verdict in failing:
                counts["failures"] += 1
                ET.SubElement(case, "failure", message=_clean(f"{verdict}: {text}"), type=each.concluded.verdict)
            elif each.concluded.verdict == "cannot tell":
                counts["skipped"] += 1
                ET.SubElement(case, "skipped", message=_clean(f"{verdict}: {text}"))
            ET.SubElement(case, "system-out").text = _clean(f"{verdict}, {text}\n{commits_words(answer.question)}")
        judged = {each.quantity.benchmark for each in system.benchmarks}
        for name, side in system.one_sided.items():
            if name not in judged:
                counts["tests"] += 1
                counts["skipped"] += 1
                case = ET.SubElement(suite, "testcase", classname=_clean(system.system), name=_clean(name), time="0")
                ET.SubElement(case, "skipped", message=_clean(one_sided_words(side, answer.question)))
        for name, text in zip(system.apart, apart_sentences(system, answer.question), strict=True):
            counts["tests"] += 1
            counts["errors"] += 1
            case = ET.SubElement(suite, "testcase", classname=_clean(system.system), name=_clean(name), time="0")
            ET.SubElement(case, "error", message=_clean(text))
        for key, count in counts.items():
            suite.set(key, str(count))
        if sentence := change_sentence(system):
            ET.SubElement(suite, "system-out").text = _clean(sentence)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _why(system: SystemCheck) -> str:
    return "\n".join(failure_reasons(system)) or "no round has a result"


def _name(answer: CheckAnswer, system: SystemCheck, each: CheckedBenchmark) -> str:
    return benchmark_name(system, each, several=len(answer.systems) > 1)


def _file(folder: str) -> str:
    return f"{folder}/{CONFIGURATION}" if folder else CONFIGURATION


def _place(each: CheckedBenchmark, lines: Mapping[str, int], folder: str) -> dict[str, str]:
    return {"file": _file(folder), "line": str(lines.get(each.quantity.benchmark, 1))}


def _command(level: Level, place: Mapping[str, str], title: str, text: str) -> str:
    properties = {**place, "title": title}
    told = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{level} {told}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _clean(text: str) -> str:
    """Without what XML cannot hold."""
    return "".join(c if c in "\t\n" or (c.isprintable() and c < "\ud800") or c > "\ue000" else "?" for c in text)
