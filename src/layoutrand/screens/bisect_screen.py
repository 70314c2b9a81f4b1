"""The screen of `bisect`: the commit, its size, and what the answer rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from layoutrand.analysis.conclusion_words import no_time_words
from layoutrand.analysis.next_steps import LayoutsThere
from layoutrand.analysis.reasons import steps
from layoutrand.analysis.verdict_marks import change_words
from layoutrand.history.bisect_words import (
    QUIET,
    answer_words,
    certainty,
    certainty_of_cases,
    cost_words,
    direction,
    has_more_steps,
    merge_command,
    missed_words,
    numberless_step,
    rest_commands,
    rest_of_cases,
    size_words,
    title,
)
from layoutrand.screens.charts import paragraph, screen_width
from layoutrand.screens.screen_parts import cut_to, header, with_note, wrapped

if TYPE_CHECKING:
    from layoutrand.analysis.next_steps import Step
    from layoutrand.config.metric import Better
    from layoutrand.history.bisecting import CaseSearches, SearchAnswer
    from layoutrand.screens.charts import Line

_LINES_OF_CLOCK: Final = 5
_LINES_OF_FLAGS: Final = 4
_MOST_LISTED: Final = 6
_SYMBOLS: Final = {"slower": "✗", "more": "✗", "faster": "✓", "less": "✓", "differs": "?"}
_STYLES: Final = {"✗": "red", "✓": "green", "?": "yellow"}


def bisect_screen(
    answer: SearchAnswer,
    better: Better,
    system: str,
    benchmark: str,
    threshold: float,
    columns: int | None,
    metric: str = "",
) -> list[Line]:
    """The lines for so many columns; None where there is no terminal.

    ``metric`` is named where it is no time; "" where that is told elsewhere.
    """
    width = screen_width(columns)
    line = answer.state.line
    of = f"{line[0].short} … {line[-1].short}"
    lines: list[Line] = [*header(f"{benchmark}, {system}: {title(answer)}", [of], width), []]
    word = direction(answer, better)
    if answer.ending == "found":
        lines += _commit(answer, word, width)
    else:
        lines += wrapped(
            "≈" if answer.ending in {"no step", "same program"} else "?", "", answer_words(answer, threshold), width
        )
        if answer.ratio is not None and answer.ending == "one of several":
            lines.append([("    ", ""), (f"{word}  {size_words(answer)}", "")])
        for commit in answer.suspects[:_MOST_LISTED]:
            subject = cut_to(commit.subject, width - 6 - len(commit.short))
            lines.append([("    ", ""), (commit.short, ""), (f"  {subject}", "dim")])
        if len(answer.suspects) > _MOST_LISTED:
            lines.append([(f"    and {len(answer.suspects) - _MOST_LISTED} more", "dim")])
    lines.append([])
    if metric and not answer.of_speed:
        lines += [line for text in no_time_words([(benchmark, metric)]) for line in wrapped("ⓘ", "cyan", text, width)]
    if answer.whole is not None:
        rest = "so there are more steps" if has_more_steps(answer) else ""
        searches = rest_commands(answer, system, benchmark)
        is_sure = not answer.whole.low <= 1 <= answer.whole.high
        what = "the ends differ by" if is_sure else "the later end against the earlier one:"
        whole = f"{what} {' '.join(change_words(answer.whole))}{', ' * bool(rest)}{rest}{':' * bool(searches)}"
        lines += [*wrapped("ⓘ", "cyan", whole, width), *_typed(searches)]
    if missed := missed_words(answer):
        lines += wrapped("≈", "", missed, width)
    if search := merge_command(answer, system, benchmark):
        merge = "it is a merge; the branch that it merged is searched by"
        lines += [*wrapped("ⓘ", "cyan", merge, width), *_typed([search])]
    lines += wrapped("ⓘ", "cyan", cost_words(answer), width)
    if answer.ending in {"found", "one of several"}:
        lines += wrapped("ⓘ", "cyan", certainty(answer), width)
    if answer.clock is not None:
        lines += wrapped("ⓘ", "cyan", str(answer.clock), width, _LINES_OF_CLOCK)
    if answer.flags is not None:
        lines += wrapped("ⓘ", "cyan", str(answer.flags), width, _LINES_OF_FLAGS)
    step = numberless_step(answer)
    if answer.reasons:
        step = " · ".join(step.briefly for step in _helping(answer))
    elif not step and answer.ending == "cannot tell":
        larger = "--budget" if answer.out_of_time else "--most-seeds"
        step = f"the same command with a larger {larger} goes on from here"
    said = paragraph(f"Next: {step}", "  ", width, "    ") if step else []
    return [*lines, *([(text, "bold") for text, _ in line] for line in said)]


def _typed(commands: Sequence[str]) -> list[Line]:
    """Each on a line of its own, however long: what is broken anew is not what is to be typed."""
    return [[("    ", ""), (command, "")] for command in commands]


def _helping(answer: SearchAnswer) -> Sequence[Step]:
    told = [warning for reason in answer.reasons for warning in reason.warnings]
    n_rounds = max((each.n_rounds for each in answer.state.decisions), default=0)
    return steps(told, layouts=LayoutsThere(n_rounds))


def _commit(answer: SearchAnswer, word: str, width: int) -> list[Line]:
    commit = answer.suspects[-1]
    date = f" {commit.day}" if commit.day else ""
    style = _STYLES[_SYMBOLS[word]]
    first: Line = [("  ", ""), (f"{_SYMBOLS[word]} ", style), (commit.short, "bold"), (f"  {word}  ", style)]
    return [
        *with_note([*first, (size_words(answer), "")], date, "", width, is_needed=True),
        [("    ", ""), (cut_to(commit.subject, width - 4), "")],
    ]


def bisect_cases_screen(found: CaseSearches, system: str, threshold: float, columns: int | None) -> list[Line]:
    """The same for each case of a harness that has a step or may have one; the others in a line."""
    width = screen_width(columns)
    lines: list[Line] = []
    for case in found.cases:
        if case.answer.ending not in QUIET:
            lines += [*bisect_screen(case.answer, case.better, system, case.name, threshold, columns), []]
    lines += [line for text in rest_of_cases(found, threshold) for line in wrapped("≈", "", text, width)]
    for text in dict.fromkeys(str(case.answer.flags) for case in found.cases if case.answer.flags is not None):
        lines += wrapped("ⓘ", "cyan", text, width, _LINES_OF_FLAGS)
    counted = no_time_words((case.name, case.metric) for case in found.cases if not case.answer.of_speed)
    return [
        *lines,
        *(line for text in [*counted, certainty_of_cases(found)] for line in wrapped("ⓘ", "cyan", text, width)),
    ]
