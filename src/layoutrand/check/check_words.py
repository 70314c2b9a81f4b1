"""What a check says, worded once for screens, comments and documents."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Final

from layoutrand.analysis.conclusion_words import is_speed, no_time_words, verdict_words
from layoutrand.analysis.layout_words import may_have_missed
from layoutrand.analysis.next_steps import USUAL_LAYOUTS
from layoutrand.analysis.sentences import percent_digits
from layoutrand.analysis.verdict_marks import SYMBOLS
from layoutrand.capture.function_changes import ChangedFunction, FunctionChanges
from layoutrand.check.question import CheckAnswer, CheckedBenchmark, CheckQuestion, SystemCheck
from layoutrand.config.flag_warnings import flags_that_win
from layoutrand.config.two_commits import BASE, HEAD
from layoutrand.execute.output_warnings import MeasuresItself
from layoutrand.instruments.program_output import without_last_words
from layoutrand.model import STOCK, BuildFailure
from layoutrand.text.name_lists import first_names
from layoutrand.text.quantities import duration, signed

_NUMBERS: Final = re.compile(r"\d+(?:\.\d+)?")
_MOST_NAMES: Final = 3

FAILED_WORD: Final = "failed"
FAILED_SYMBOL: Final = "⚠"
"""What stands in place of a verdict where nothing could be built or executed; the exit status is that of a failure."""


def commits_words(question: CheckQuestion) -> str:
    """``main 08ceab1 → HEAD a19c3e9``; how many files of the work tree differ from its commit."""
    head = question.head
    files = f" ({head.changed} file{'s' * (head.changed != 1)} changed)" if head.changed else ""
    return f"{question.base.label} → {head.label}{files}"


def submodules_sentence(changed: Sequence[str]) -> str:
    """That what was changed within submodules is not checked, as the work tree is what `git add` would take of it."""
    one = len(changed) == 1
    return (
        f"changes within submodule{'s' * (not one)} {first_names(changed, _MOST_NAMES)} are not in what is checked, as "
        f"`git add` takes none of them: commit them {'there' if one else 'in each'}"
    )


def change_sentence(system: SystemCheck) -> str:
    """``3 functions differ (parse_line, emit, main), 1 added``; that nothing does; "" where it is not known."""
    if system.is_same_program and system.changes is None and system.captures[0] == system.captures[1]:
        return "same program: every object that is linked is the same"
    if system.is_same_program:
        return "same program: whatever is loaded is the same to the byte"
    if system.changes is None:
        return ""
    parts = [of_artefact(each, several=len(system.changes) > 1) for each in system.changes if not each.is_empty]
    return "; ".join(parts) or "no function differs, only what is not loaded"


def of_artefact(found: FunctionChanges, *, several: bool = False) -> str:
    """What differs in one artefact, in a few words."""
    parts = []
    if found.differ:
        parts.append(f"{_count(found.differ)} differ{'s' * (len(found.differ) == 1)} ({_names(found.differ)})")
    for what, functions in (("added", found.added), ("removed", found.removed)):
        if functions:
            count = f"{len(functions)} {what}" if parts else f"{_count(functions)} {what} ({_names(functions)})"
            parts.append(count)
    if not parts:
        parts.append("no function differs")
    if found.data:
        parts.append(
            f"data of {len(found.data)} object{'s' * (len(found.data) > 1)} differ{'s' * (len(found.data) == 1)}"
        )
    if found.system:
        parts.append("files of the system differ")
    return f"{found.artefact}: {', '.join(parts)}" if several else ", ".join(parts)


def _count(functions: Sequence[ChangedFunction]) -> str:
    return f"{len(functions)} function{'s' * (len(functions) != 1)}"


def _names(functions: Sequence[ChangedFunction]) -> str:
    shown = [each.shown for each in functions[:_MOST_NAMES]]
    return ", ".join([*shown, "..."] if len(functions) > _MOST_NAMES else shown)


def size_words(function: ChangedFunction) -> str:
    """``parse_line 212 → 230 bytes``."""
    if function.before is None:
        return f"{function.shown} {function.after:,} bytes"
    if function.after is None:
        return f"{function.shown} {function.before:,} bytes"
    if function.before == function.after:
        return f"{function.shown} {function.after:,} bytes, as before"
    return f"{function.shown} {function.before:,} → {function.after:,} bytes"


def verdict_of(answer: CheckAnswer, system: SystemCheck, each: CheckedBenchmark) -> str:
    """The verdict in the words of `compare`; that it failed where there is none for want of any result."""
    if system.is_without_result(each):
        return FAILED_WORD
    of_speed = each.pair is None or is_speed(each.pair)
    return verdict_words(each.concluded.verdict, answer.question.threshold, of_speed=of_speed)


def symbol_of(system: SystemCheck, each: CheckedBenchmark) -> str:
    """The symbol of what `verdict_of` says."""
    return FAILED_SYMBOL if system.is_without_result(each) else SYMBOLS[each.concluded.verdict]


def as_built_words(each: CheckedBenchmark) -> str:
    """``+4.2 %``: what one build of each would have shown; a dash where that is not known."""
    change = as_built_change(each)
    return "-" if change is None else f"{signed(100 * change, _digits(each))} %"


def as_built_change(each: CheckedBenchmark) -> float | None:
    """The relative difference of the two builds as they are; None where they were not executed."""
    own = None if each.pair is None else each.pair.as_built
    return None if own is None or not math.isfinite(own.ratio.centre) else own.ratio.centre - 1


def layout_share(each: CheckedBenchmark) -> float | None:
    """What of `as_built_change` is layout: the ratio of both builds over that of the layouts, less 1."""
    if each.pair is None or each.pair.as_built is None or each.pair.ratio is None or each.pair.ratio.centre <= 0:
        return None
    return each.pair.as_built.ratio.centre / each.pair.ratio.centre - 1


def layout_words(each: CheckedBenchmark, threshold: float) -> str:
    """``as built: +4.2 %, which is layout``; "" where both builds would have shown about the same."""
    change, share = as_built_change(each), layout_share(each)
    if change is None or share is None or abs(share) <= max(threshold, 0.001):
        return ""
    text = f"as built: {as_built_words(each)}"
    if each.concluded.verdict == "same":
        return f"{text}, which is layout"
    if each.concluded.verdict == "cannot tell":
        return text
    return f"{text}, {signed(100 * share, 1)} of it layout"


def _digits(each: CheckedBenchmark) -> int:
    assert each.pair is not None
    assert each.pair.as_built is not None
    return min(1, percent_digits(each.pair.as_built.ratio))


def rounds_words(each: CheckedBenchmark) -> str:
    """``decided after 9 layouts``, ``open after 40 layouts``."""
    layouts = f"{each.n_rounds:,} layout{'s' * (each.n_rounds != 1)}"
    return f"decided after {layouts}" if each.settled else f"open after {layouts}"


def missed_words(each: CheckedBenchmark) -> str:
    """How rare layouts may be of which "same" says nothing, of fewer than are usual; "" for all else."""
    share = None if each.pair is None or each.concluded.verdict != "same" else each.pair.could_miss
    if share is None or each.n_rounds >= USUAL_LAYOUTS:
        return ""
    return may_have_missed("the same", each.n_rounds, share)


def closing_sentences(system: SystemCheck, question: CheckQuestion) -> list[str]:
    """What is told beside the verdicts: why nothing more was executed, and what could not be compared."""
    ending = ending_sentence(system, question)
    first = first_change_sentence(system, question)
    win = flags_that_win(question.config, system.system) if system.ending == "same program" else None
    return [
        *(text for text in (ending, first) if text),
        *([] if win is None else [str(win)]),
        *apart_sentences(system, question),
        *one_sided_sentences(system, question),
        *of_measuring_themselves(system),
    ]


def of_measuring_themselves(system: SystemCheck) -> list[str]:
    """Which benchmarks are judged by the time of their process though they may run for a fixed time."""
    judged = {(each.quantity.benchmark, each.quantity.metric) for each in system.benchmarks}
    seen = () if system.selection is None else system.selection.warnings
    return [
        each.brief() for each in seen if isinstance(each, MeasuresItself) and (each.benchmark, each.metric) in judged
    ]


def no_time_sentences(system: SystemCheck) -> list[str]:
    """What is judged that is no speed, where a row has no name of a metric."""
    names = [each.quantity.benchmark for each in system.benchmarks]
    return no_time_words(
        (each.quantity.benchmark, each.quantity.metric)
        for each in system.benchmarks
        if each.pair is not None and not is_speed(each.pair) and names.count(each.quantity.benchmark) == 1
    )


def apart_sentences(system: SystemCheck, question: CheckQuestion) -> list[str]:
    """Of which entries with a harness nothing was compared at all."""
    measured = "" if question.metric is None else f" with {question.metric}"
    return [f"{name}: nothing was compared, as no case{measured} is at both commits" for name in system.apart]


def ending_sentence(system: SystemCheck, question: CheckQuestion) -> str:
    """Why nothing more was executed, where that is not because everything was decided."""
    match system.ending:
        case "budget":
            budget, goes_on = f"--budget {duration(question.budget_s)}", "the same command goes on from here"
            if system.waited_s >= 1:  # what is less is no reason to end
                still = "still measures" if system.is_kept_off else "measured"
                goes_on = f"another layoutrand {still}, for {duration(system.waited_s)} of that; {goes_on}"
            if not any(each.n_rounds for each in system.benchmarks):
                return f"no layout was executed of both commits before {budget} was used up; {goes_on}"
            if system.next_round_s is not None:
                takes = f"the next round (about {duration(system.next_round_s)})"
                return f"stopped, as {takes} would not fit in what is left of {budget}; {goes_on}"
            return f"stopped at {budget}; {goes_on}"
        case "layouts":
            return f"stopped at --most-layouts {question.most_layouts:,}"
        case "coarse clock":
            return "stopped, as times lie on steps of their clock, which no number of layouts makes finer"
        case "failures":
            if lost := _of_all_rounds(system):
                return _unbuilt(system, question, lost)
            return f"stopped, as {_failing(system, question)}; where that is mended, --retry-failed executes them again"
        case _:
            return ""


def first_change_sentence(system: SystemCheck, question: CheckQuestion) -> str:
    """What may be behind it where BASE alone fails; "" for all else.

    Of its failure alone nobody knows whether the benchmark is not there yet, or the commit is broken.
    """
    if not system.fails_at_base_alone:
        return ""
    base, head = question.base.label, question.head.label
    was = "executed" if system.is_built else "built"
    return (
        f"{head} was {was}. If it adds the benchmark, or what builds it, {base} has nothing to compare it with, which "
        "is status 1: merge that first, in a change of its own, and later changes are compared with it"
    )


def _of_all_rounds(system: SystemCheck) -> list[BuildFailure]:
    """The failures that leave nothing to execute: of the commits' builds, or else of layouts; stock is no round."""
    return [each for each in system.build_failures if not system.is_built or each.layout != STOCK]


def _unbuilt(system: SystemCheck, question: CheckQuestion, lost: Sequence[BuildFailure]) -> str:
    """Which commits could not be built, or were and have no further layouts, and why the first of them."""
    first = next((each for each in lost if each.system in (BASE, HEAD)), lost[0])
    which = _sides(question, (each.system for each in lost)) or "a commit"
    what = f"layouts of {which} could not be made" if system.is_built else f"{which} could not be built"
    return f"stopped, as {what}: {_telling(first.cause or first.error)}"


def _failing(system: SystemCheck, question: CheckQuestion) -> str:
    """The executions of which commits fail, and why the first of each did: told once where that is the same."""
    first = {each.system: _telling(each.reason) for each in reversed(system.failures)}
    if len(set(map(_cause, first.values()))) > 1:
        told = [f"{_sides(question, [side])}: {first[side]}" for side in (BASE, HEAD) if side in first]
        return f"executions fail, of {'; of '.join(told)}"
    why = next(iter(first.values()), "")
    return f"executions{f' of {_sides(question, first)}' * bool(first)} fail{f': {why}' * bool(why)}"


def _cause(reason: str) -> tuple[str, str]:
    """The reason, for a comparison: numbers in what a program wrote last are other ones in each execution."""
    own = without_last_words(reason)
    return own, _NUMBERS.sub("#", reason.removeprefix(own))


def _sides(question: CheckQuestion, failed: Iterable[str]) -> str:
    """The commits that something failed at: whether it is one or both says whether the change did it."""
    labels, found = {BASE: question.base.label, HEAD: question.head.label}, set(failed)
    return " and ".join(label for side, label in labels.items() if side in found)


def one_sided_sentences(system: SystemCheck, question: CheckQuestion) -> list[str]:
    """Which cases of harnesses and benchmarks are left out, as one of the commits has none of that name."""
    found = []
    for side in (BASE, HEAD):
        cases = [case for case, has in system.one_sided.items() if has == side]
        if cases:
            found.append(f"{first_names(cases, _MOST_NAMES)}: {one_sided_words(side, question)}")
    return found


def one_sided_words(side: str, question: CheckQuestion) -> str:
    """That one commit alone has something."""
    return f"there at {_sides(question, [side])} alone, so not compared"


def _telling(reason: str) -> str:
    """The first line; with the next one where it only says that something follows."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    return " ".join(lines[: 1 + lines[0].endswith(":")])


def failure_reasons(system: SystemCheck) -> list[str]:
    """Why builds failed, or else executions: each reason once."""
    found = [each.error for each in system.build_failures] or [each.reason for each in system.failures]
    return list(dict.fromkeys(found))


def multiplicity_sentence(answer: CheckAnswer) -> str:
    """What the confidence means where several are decided."""
    decided = [each for _, each in answer.benchmarks if each.pair is not None and each.settled]
    confidence = answer.question.confidence
    text = (
        f"intervals of {100 * confidence:g} % hold at all rounds together, so that stopping at a verdict does not make "
        "it less sure"
    )
    if len(decided) < 2:
        return text
    return (
        f"{text}; each benchmark is decided by itself: of {len(decided)} verdicts "
        f"{len(decided) * (1 - confidence):.2g} may be wrong on average"
    )
