"""The screen of `check`, and its tables in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from layoutrand.screens.charts import Line
from layoutrand.screens.display import Display
from layoutrand.warning import plural

if TYPE_CHECKING:
    from layoutrand.capture.function_changes import FunctionChanges
    from layoutrand.check.question import CheckAnswer, CheckedBenchmark, SystemCheck

MOST_ROWS: Final = 8
_MOST_FUNCTIONS: Final = 40
_MOST_STEPS: Final = 2
_LINES_OF_ENDING: Final = 7


def check_screen(answer: CheckAnswer, columns: int | None) -> list[Line]:
    """The first screen: what was compared and what differs, verdicts, what stopped it, what to do next."""
    from layoutrand.analysis.evidence import reconciled_words
    from layoutrand.analysis.next_steps import told_once
    from layoutrand.check.check_words import closing_sentences, no_time_sentences
    from layoutrand.screens.charts import screen_width
    from layoutrand.screens.comparison_screen import as_built_lines, not_seen_lines
    from layoutrand.screens.screen_parts import failure_lines, next_lines, steps_and_details, warning_lines, wrapped

    width = screen_width(columns)
    lines: list[Line] = []
    several = len(answer.systems) > 1
    for system in answer.systems:
        lines += [*_header(answer, system, width, several=several), [], *_rows(answer, system, width), []]
        notes: list[Line] = []
        if system.comparison is not None:
            notes += as_built_lines(system.comparison, width)
            judged = [(each.quantity.benchmark, each.concluded, each.pair) for each in system.benchmarks]
            notes += not_seen_lines(judged, width)
            if system.comparison.evidence is not None:
                for told in reconciled_words(system.comparison.evidence):
                    notes += wrapped("ⓘ", "cyan", told, width, most=4)
        notes += warning_lines([(each.quantity.benchmark, each.concluded.reasons) for each in system.benchmarks], width)
        if system.selection is not None and not system.build_failures:  # those of this call are told as they happen
            notes += failure_lines(replace(system.selection, failures=()), width)
        for text in [*no_time_sentences(system), *closing_sentences(system, answer.question)]:
            # Why a build failed, and what helps, which is said last.
            notes += wrapped("ⓘ", "cyan", text, width, most=3 if several else _LINES_OF_ENDING)
        lines += [*notes, []] if notes else []
    # What decides that which is open comes before what makes a verdict that is there more certain.
    rows = sorted((each.concluded for _, each in answer.benchmarks), key=lambda each: each.verdict != "cannot tell")
    steps = told_once(step for each in rows for step in each.next)[:_MOST_STEPS]
    shown = next_lines(steps, width)
    return [*lines, *(shown if steps else steps_and_details([], "Details: --full", width))]


def _header(answer: CheckAnswer, system: SystemCheck, width: int, *, several: bool) -> Iterator[Line]:
    import textwrap

    said = _what_differs(answer, system)
    text = f"{system.system}: {said}" if several else said
    for part in textwrap.wrap(text, width, max_lines=3, placeholder=" …", break_on_hyphens=False):
        yield [(part, "bold")]


def _what_differs(answer: CheckAnswer, system: SystemCheck) -> str:
    """The commits, and which functions differ where that is known."""
    from layoutrand.check.check_words import change_sentence, commits_words

    return ", ".join(part for part in (commits_words(answer.question), change_sentence(system)) if part)


def _rows(answer: CheckAnswer, system: SystemCheck, width: int) -> Iterator[Line]:
    from layoutrand.analysis.conclusion import counted
    from layoutrand.analysis.conclusion_words import verdict_words
    from layoutrand.analysis.verdict_marks import change_words
    from layoutrand.check.check_words import FAILED_WORD, symbol_of, verdict_of
    from layoutrand.check.comment import benchmark_name
    from layoutrand.screens.comparison_screen import VERDICT_STYLES
    from layoutrand.screens.screen_parts import GAP, beside_or_below, filled, with_note

    shown = _shown(system.benchmarks)
    cells = [
        (
            benchmark_name(system, each, several=False),
            verdict_of(answer, system, each),
            *(("", "") if each.pair is None or _has_one_layout(each) else change_words(each.pair.ratio)),
        )
        for each in shown
    ]
    widths = [max((cell_len(row[place]) for row in cells), default=0) for place in range(4)]
    indent = min(widths[0], max(12, width - sum(widths[1:]) - 4 - 3 * GAP))
    for each, (name, *row) in zip(shown, cells, strict=True):
        verdict = each.concluded.verdict
        style = "red" if system.is_without_result(each) else VERDICT_STYLES[verdict]
        line: Line = [("  ", ""), (symbol_of(system, each), f"bold {style}"), (" ", "")]
        if cell_len(name) > indent:  # the name stands whole, on a line of its own
            yield [*line, (name, "")]
            line = [(" " * (4 + indent), "")]
        else:
            line += [(filled(name, indent), "")]
        line += [(" " * GAP, ""), (filled(row[0], widths[1]), style)]
        line += [(" " * GAP, ""), (row[1].rjust(widths[2]), "")]
        *above, line = beside_or_below(line, filled(row[2], widths[3]), "dim", width)
        yield from above
        is_open = verdict == "cannot tell"
        note = _note(each, has_more=system.ending != "failures")
        yield from with_note(line, note, "yellow" if is_open else "dim", width, is_needed=is_open)
    rest = [each for each in system.benchmarks if each not in shown]
    if rest:
        failed = sum(map(system.is_without_result, rest))
        words = [f"{failed} {FAILED_WORD}"] if failed else []
        words += [
            f"{number} {verdict_words(verdict, answer.question.threshold, of_speed=True)}"
            for verdict, number in counted(
                [each.concluded for each in rest if not system.is_without_result(each)]
            ).items()
        ]
        yield [(f"    and {', '.join(words)}", "dim")]


def _shown(rows: Sequence[CheckedBenchmark]) -> list[CheckedBenchmark]:
    """Those that are told one by one: all, or what changed before what did not."""
    if len(rows) <= MOST_ROWS:
        return list(rows)
    order = {"slower": 0, "faster": 1, "cannot tell": 2}
    chosen = sorted(rows, key=lambda each: order.get(each.concluded.verdict, 3))[: MOST_ROWS - 1]
    return [each for each in rows if each in chosen]


def _note(each: CheckedBenchmark, *, has_more: bool) -> str:
    """After how many layouts; what nobody can tell says why, and how many would tell where there are more."""
    from layoutrand.analysis.verdict_marks import in_a_word

    if each.pair is None:
        return ""
    why = in_a_word(each.concluded, each.pair if has_more else replace(each.pair, forecast=None))
    layouts = f"{each.n_rounds} layout{'s' * (each.n_rounds != 1)}"
    if _has_one_layout(each):
        return f"{layouts}, at least 2 are needed"
    return f"{layouts}, {why.removesuffix(' layouts')}" if why else layouts


def _has_one_layout(each: CheckedBenchmark) -> bool:
    """Whether there is no ratio as there are no two layouts to be told apart."""
    return each.pair is not None and each.pair.ratio is None and each.n_rounds < 2


def show_full(answer: CheckAnswer, page: Display) -> None:
    """Everything: the tables of `compare`, which functions differ, what the numbers rest on."""
    from layoutrand.check.check_words import closing_sentences, multiplicity_sentence
    from layoutrand.check.comment import reproduce
    from layoutrand.check.question import of_check
    from layoutrand.screens.comparison_tables import show_comparisons

    for system in answer.systems:
        page.item(f"{system.system}: {_what_differs(answer, system)}")
        page.line()
        for found in system.changes or ():
            _show_functions(found, page)
        _show_verdicts(answer, system, page)
        if system.comparison is not None:
            page.line("base is the first commit, head the second:")
            stopped_at = answer.question.most_layouts if system.ending == "layouts" else None
            show_comparisons([system.comparison], page, taken=partial(of_check, stopped_at=stopped_at))
        for text in closing_sentences(system, answer.question):
            page.item(text)
        if system.results is not None:
            page.line(f"{plural(system.executed, 'execution')} now; results in {system.results}")
    page.item(multiplicity_sentence(answer))
    page.line(f"again: {reproduce(answer)}")


def _show_verdicts(answer: CheckAnswer, system: SystemCheck, page: Display) -> None:
    from layoutrand.analysis.verdict_marks import change_words
    from layoutrand.check.check_words import as_built_words, layout_share, verdict_of
    from layoutrand.text.quantities import signed

    rows = []
    for each in system.benchmarks:
        share = layout_share(each)
        rows.append(
            (
                each.quantity.benchmark,
                each.quantity.metric,
                verdict_of(answer, system, each),
                *change_words(None if each.pair is None else each.pair.ratio),
                str(each.n_rounds),
                as_built_words(each),
                "-" if share is None else f"{signed(100 * share, 1)} %",
            )
        )
    columns = ("benchmark", "metric", "verdict", "change", "interval", "layouts", "as built", "of it layout")
    page.table("Verdicts", columns, rows)


def _show_functions(found: FunctionChanges, page: Display) -> None:
    changed = [*(("differs", each) for each in found.differ), *(("added", each) for each in found.added)]
    changed += [("removed", each) for each in found.removed]
    rows = [
        (each.shown, what, *("-" if size is None else f"{size:,}" for size in (each.before, each.after)))
        for what, each in changed[:_MOST_FUNCTIONS]
    ]
    if rows:
        page.table(f"Functions of {found.artefact}", ("function", "", "bytes before", "after"), rows)
    if len(changed) > _MOST_FUNCTIONS:
        page.line(f"and {len(changed) - _MOST_FUNCTIONS} more")
    page.line(
        f"{found.artefact}: {plural(found.unchanged, 'function')} {'is' if found.unchanged == 1 else 'are'} unchanged"
    )
    for name in found.data:
        page.line(f"data of {name} differ")
    page.line()
