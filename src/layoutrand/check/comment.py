"""A check as a comment on a change: verdict line, table, and what is behind it folded away; Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from layoutrand.analysis.conclusion import counted
from layoutrand.analysis.conclusion_words import is_speed, verdict_words
from layoutrand.analysis.evidence import sentences
from layoutrand.analysis.verdict_marks import SYMBOLS, change_words
from layoutrand.capture.function_changes import ChangedFunction
from layoutrand.check.check_words import (
    FAILED_SYMBOL,
    FAILED_WORD,
    as_built_words,
    change_sentence,
    closing_sentences,
    commits_words,
    missed_words,
    multiplicity_sentence,
    no_time_sentences,
    rounds_words,
    size_words,
    symbol_of,
    verdict_of,
)
from layoutrand.check.question import CheckAnswer, CheckedBenchmark, SystemCheck
from layoutrand.text.markdown import plain, plain_table

_MOST_FUNCTIONS: Final = 30
_MOST_ROWS: Final = 100

Row = tuple[SystemCheck, CheckedBenchmark]


def comment(answer: CheckAnswer) -> str:
    """The comment; it ends with a line end."""
    told = [row for row in answer.benchmarks if row[1].concluded.verdict not in {"same", "same program"}]
    rest = [row for row in answer.benchmarks if row not in told]
    parts = [f"### {headline(answer)}\n\n"]
    parts += [f"{plain(commits_words(answer.question))}{_of_system(answer, each)}\n\n" for each in answer.systems]
    if told:
        parts.append(_table(answer, told[:_MOST_ROWS]))
    if len(told) > _MOST_ROWS:
        parts.append(f"and {len(told) - _MOST_ROWS} more\n\n")
    parts += [f"{plain(each)}\n\n" for each in _endings(answer)]
    if rest:
        parts.append(_folded(f"{len(rest)} unchanged", _table(answer, rest[:_MOST_ROWS])))
    if functions := _functions(answer):
        parts.append(_folded("which functions", functions))
    parts.append(_folded("how measured, how to reproduce", _behind(answer)))
    return "".join(parts).rstrip("\n") + "\n"


def headline(answer: CheckAnswer) -> str:
    """``✗ 1 slower · ≈ 12 same``; of counts, which are no speed, ``✗ 1 takes more``; failures first."""
    judged = [each for system, each in answer.benchmarks if not system.is_without_result(each)]
    failed = len(answer.benchmarks) - len(judged) + sum(len(system.apart) for system in answer.systems)
    speeds = [each.concluded for each in judged if _is_speed(each)]
    amounts = [each.concluded for each in judged if not _is_speed(each)]
    parts = [f"{FAILED_SYMBOL} {failed} {FAILED_WORD}"] if failed else []
    parts += [f"{SYMBOLS[verdict]} {number} {verdict}" for verdict, number in counted(speeds).items()]
    for verdict, number in counted(amounts).items():
        word = verdict_words(verdict, 0.0, of_speed=False)
        parts.append(f"{SYMBOLS[verdict]} {number} {'takes' if number == 1 else 'take'} {word}")
    return " · ".join(parts) or "nothing checked"


def _is_speed(each: CheckedBenchmark) -> bool:
    """Whether the verdict has the same words for it as for a time."""
    return each.pair is None or is_speed(each.pair) or each.concluded.verdict not in {"faster", "slower"}


def _of_system(answer: CheckAnswer, system: SystemCheck) -> str:
    name = f" ({plain(system.system)})" if len(answer.systems) > 1 else ""
    sentence = change_sentence(system)
    return f"{name}{': ' if sentence else ''}{plain(sentence)}"


def _table(answer: CheckAnswer, told: Sequence[Row]) -> str:
    several = len(answer.systems) > 1
    columns = ["", "benchmark", "verdict", "change", f"{100 * answer.question.confidence:g} %", "as built", "layouts"]
    table = []
    for system, each in told:
        change, ends = change_words(None if each.pair is None else each.pair.ratio)
        cells = [
            symbol_of(system, each),
            benchmark_name(system, each, several=several),
            verdict_of(answer, system, each),
        ]
        table.append([*cells, change, ends.strip("()"), as_built_words(each), str(each.n_rounds)])
    return plain_table(columns, table) + "\n"


def benchmark_name(system: SystemCheck, each: CheckedBenchmark, *, several: bool) -> str:
    """The benchmark, with its metric where it has several, and the system where there are several."""
    of_it = [row.quantity for row in system.benchmarks if row.quantity.benchmark == each.quantity.benchmark]
    name = f"{each.quantity.benchmark} {each.quantity.metric}" if len(of_it) > 1 else each.quantity.benchmark
    return f"{name} ({system.system})" if several else name


def _endings(answer: CheckAnswer) -> list[str]:
    found = [
        (system.system, text)
        for system in answer.systems
        for text in [*no_time_sentences(system), *closing_sentences(system, answer.question)]
    ]
    several = len(answer.systems) > 1
    return [f"{name}: {text}" if several else text for name, text in found]


def _functions(answer: CheckAnswer) -> str:
    lines = []
    for system in answer.systems:
        for found in system.changes or ():
            for what, functions in (("differ", found.differ), ("added", found.added), ("removed", found.removed)):
                lines += _listed(found.artefact, what, functions)
            lines += [f"- {plain(found.artefact)}: data of {plain(name)}" for name in found.data[:_MOST_FUNCTIONS]]
        if lines:
            break  # systems differ in flags: the functions of one tell what the change is
    return "\n".join(lines) + "\n\n" if lines else ""


def _listed(artefact: str, what: str, functions: Sequence[ChangedFunction]) -> list[str]:
    lines = [f"- {plain(artefact)}, {what}: {plain(size_words(each))}" for each in functions[:_MOST_FUNCTIONS]]
    more = len(functions) - _MOST_FUNCTIONS
    return [*lines, f"- and {more} more"] if more > 0 else lines


def _behind(answer: CheckAnswer) -> str:
    """What the numbers rest on, and the command that makes them again."""
    said = [multiplicity_sentence(answer)]
    for system in answer.systems:
        if system.comparison is not None and system.comparison.evidence is not None:
            said += sentences(system.comparison.evidence)
        said += [f"{each.quantity.benchmark}: {rounds_words(each)}" for each in system.benchmarks if not each.settled]
        said += [f"{each.quantity.benchmark}: {missed_words(each)}" for each in system.benchmarks if missed_words(each)]
        said += [
            f"{each.quantity.benchmark}: {reason.beside_name()}"
            for each in system.benchmarks
            for reason in each.concluded.reasons
        ]
    lines = [f"- {plain(each)}" for each in dict.fromkeys(said)]
    return "\n".join([*lines, "", "```sh", reproduce(answer), "```", ""]) + "\n"


def reproduce(answer: CheckAnswer) -> str:
    """The command that checks these two commits again, with these settings."""
    question = answer.question
    words = ["layoutrand", "check", question.base.commit]
    if not question.head.changed:
        words.append(question.head.commit)
    words += [f"--threshold={100 * question.threshold:g}%", f"--confidence={question.confidence:g}"]
    words += [f"--system={each.system}" for each in answer.systems]
    words += [f"--benchmark={name}" for name in question.benchmarks]
    words += [f"--metric={question.metric}"] if question.metric else []
    words += ["--couple=address"] if question.config.layout.by_address else []
    return shlex.join(words)


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{plain(title)}</summary>\n\n{text}</details>\n\n"
