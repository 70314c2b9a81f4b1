"""How `layoutrand check` answers: a screen, tables in full, or one of the formats of CI systems."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from layoutrand.cli.charts import Line
from layoutrand.cli.options import leave_out_of_source
from layoutrand.cli.terminal import Display, Terminal, terminal_width
from layoutrand.errors import UsageError
from layoutrand.text.strict_json import json_text
from layoutrand.warning import plural

if TYPE_CHECKING:
    from layoutrand.analysis.conclusion import Verdict
    from layoutrand.capture.function_changes import FunctionChanges
    from layoutrand.check.question import CheckAnswer, CheckedBenchmark, SystemCheck
    from layoutrand.cli.failing import Failures

FORMATS: Final = ("text", "github", "gitlab", "junit", "markdown", "json")
SUMMARY: Final = "GITHUB_STEP_SUMMARY"
"""The variable that names the file which a step of GitHub Actions shows beside its log."""

MOST_ROWS: Final = 8
_MOST_FUNCTIONS: Final = 40
_MOST_STEPS: Final = 2


@dataclass(frozen=True)
class CheckOutput:
    """What was asked for: the format on standard output, (format, file) of what is written, and whether in full.

    ``failing`` are the verdicts that fail.
    """

    format: str
    files: Sequence[tuple[str, Path]]
    full: bool
    failing: Collection[Verdict]

    @classmethod
    def of(cls, format_name: str, outputs: Sequence[str], *, full: bool, failing: Collection[Verdict]) -> CheckOutput:
        """As the options have it; raises `UsageError`."""
        _known(format_name, FORMATS, "--format")
        files = []
        for text in outputs:
            name, separator, path = text.partition("=")
            if not separator or not path:
                raise UsageError(f"--output {text}: write FORMAT=FILE, such as junit=check.xml")
            _known(name, FORMATS[1:], "--output")
            files.append((name, Path(path)))
        return cls(format_name, tuple(files), full, failing)

    @property
    def is_document(self) -> bool:
        """Whether standard output is for a program."""
        return self.format != "text"

    def show(self, answer: CheckAnswer, terminal: Terminal, told: Failures) -> None:
        """Print the answer, and write it into the files; ``told`` are failures that were told meanwhile."""
        show_failed(answer, terminal, told)
        for name, path in self.files:
            _write(path, self._document(answer, name))
        leave_out_of_source(answer.question.config, answer.question.project, [path for _, path in self.files], terminal)
        if self.format == "github":
            self._to_github(answer)
        elif self.format != "text":
            sys.stdout.write(self._document(answer, self.format))
        elif self.full:
            show_full(answer, terminal)
        else:
            terminal.screen(check_screen(answer, terminal_width()))

    def _document(self, answer: CheckAnswer, name: str) -> str:
        from layoutrand.check.check_document import check_document
        from layoutrand.check.ci_formats import github_annotations, gitlab_code_quality, junit
        from layoutrand.check.comment import comment

        match name:
            case "json":
                return json_text(check_document(answer))
            case "github":
                return "".join(f"{line}\n" for line in github_annotations(answer, self.failing, *_places(answer)))
            case "gitlab":
                return json_text(gitlab_code_quality(answer, self.failing, *_places(answer)))
            case "junit":
                return junit(answer, self.failing)
            case _:
                return comment(answer)

    def _to_github(self, answer: CheckAnswer) -> None:
        """Annotations, and the comment: appended to the summary of the step where there is one, else behind them."""
        annotations, text = (self._document(answer, name) for name in ("github", "markdown"))
        sys.stdout.write(annotations)
        summary = os.environ.get(SUMMARY)
        if not summary:
            sys.stdout.write(text)
            return
        with _writable(Path(summary)), Path(summary).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")


def _known(name: str, formats: Sequence[str], option: str) -> None:
    if name not in formats:
        raise UsageError(f"{option} {name}: there are {', '.join(formats)}")


def _write(path: Path, text: str) -> None:
    from layoutrand.platform.foreign import write_text

    write_text(path, text)


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    """A place where a file is written: what stands in the way is told with its name."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _places(answer: CheckAnswer) -> tuple[Mapping[str, int], str]:
    """Benchmark -> line of layoutrand.toml, and the directory of that file in its repository."""
    from layoutrand.capture.checked_commits import source_repository
    from layoutrand.cli.project_directory import CONFIG_NAME
    from layoutrand.config.lines import lines_of

    project = answer.question.project.resolve()
    found = lines_of((project / CONFIG_NAME).read_text("utf-8"))
    names = [each.name for each in answer.question.config.benchmarks]
    of_entries = {name: found.get(f"benchmarks[{number}]", 1) for number, name in enumerate(names)}
    judged = [each.quantity for _, each in answer.benchmarks]
    lines = of_entries | {each.benchmark: of_entries.get(each.executed, 1) for each in judged}
    try:
        return lines, source_repository(project, ".", None).inside
    except UsageError:  # the configuration lies outside of the repository that it builds
        return lines, ""


def check_screen(answer: CheckAnswer, columns: int | None) -> list[Line]:
    """The first screen: what was compared and what differs, verdicts, what stopped it, what to do next."""
    from layoutrand.analysis.evidence import reconciled_words
    from layoutrand.analysis.next_steps import told_once
    from layoutrand.check.check_words import closing_sentences, no_time_sentences
    from layoutrand.cli.answer import as_built_lines, not_seen_lines
    from layoutrand.cli.answer_parts import (
        next_lines,
        steps_and_details,
        warning_lines,
        wrapped,
    )
    from layoutrand.cli.charts import screen_width

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
        for text in [*no_time_sentences(system), *closing_sentences(system, answer.question)]:
            notes += wrapped("ⓘ", "cyan", text, width, most=3)  # why a build failed, and what helps
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
    from layoutrand.analysis.verdict_marks import SYMBOLS, change_words
    from layoutrand.check.check_words import verdict_of
    from layoutrand.check.comment import benchmark_name
    from layoutrand.cli.answer import VERDICT_STYLES
    from layoutrand.cli.answer_parts import GAP, filled, with_note

    shown = _shown(system.benchmarks)
    cells = [
        (
            benchmark_name(system, each, several=False),
            verdict_of(answer, each),
            *(("", "") if each.pair is None or _has_one_layout(each) else change_words(each.pair.ratio)),
        )
        for each in shown
    ]
    widths = [max((cell_len(row[place]) for row in cells), default=0) for place in range(4)]
    indent = min(widths[0], max(12, width - sum(widths[1:]) - 4 - 3 * GAP))
    for each, (name, *row) in zip(shown, cells, strict=True):
        verdict = each.concluded.verdict
        line: Line = [("  ", ""), (SYMBOLS[verdict], f"bold {VERDICT_STYLES[verdict]}"), (" ", "")]
        if cell_len(name) > indent:  # the name stands whole, on a line of its own
            yield [*line, (name, "")]
            line = [(" " * (4 + indent), "")]
        else:
            line += [(filled(name, indent), "")]
        line += [(" " * GAP, ""), (filled(row[0], widths[1]), VERDICT_STYLES[verdict])]
        line += [(" " * GAP, ""), (row[1].rjust(widths[2]), ""), (" " * GAP, ""), (filled(row[2], widths[3]), "dim")]
        is_open = verdict == "cannot tell"
        note = _note(each, has_more=system.ending != "failures")
        yield from with_note(line, note, "yellow" if is_open else "dim", width, is_needed=is_open)
    rest = [each.concluded for each in system.benchmarks if each not in shown]
    if rest:
        words = [
            f"{number} {verdict_words(verdict, answer.question.threshold, of_speed=True)}"
            for verdict, number in counted(rest).items()
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
    return f"{layouts}, {why}" if why else layouts


def _has_one_layout(each: CheckedBenchmark) -> bool:
    """Whether there is no ratio as there are no two layouts to be told apart."""
    return each.pair is not None and each.pair.ratio is None and each.n_rounds < 2


def show_failed(answer: CheckAnswer, page: Terminal, told: Failures) -> None:
    """What could not be built or executed, what was left out, and what builds remarked."""
    from layoutrand.cli.building import show_failures
    from layoutrand.cli.failing import warn_folded

    for name, why in answer.not_checked.items():
        page.say(f"system {name} is left out: it {why}")
    for system in answer.systems:
        display = page.about(system.system) if len(answer.systems) > 1 else page
        show_failures(system.build_failures, display)
        warn_folded(system.notes, display)
    told.conclude([each for system in answer.systems for each in system.failures], page)


def show_full(answer: CheckAnswer, page: Display) -> None:
    """Everything: the tables of `compare`, which functions differ, what the numbers rest on."""
    from layoutrand.check.check_words import closing_sentences, multiplicity_sentence
    from layoutrand.check.comment import reproduce
    from layoutrand.check.question import of_check
    from layoutrand.cli.comparing import show_comparisons

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
                verdict_of(answer, each),
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
    page.line(f"{found.artefact}: {found.unchanged:,} functions are unchanged")
    for name in found.data:
        page.line(f"data of {name} differ")
    page.line()
