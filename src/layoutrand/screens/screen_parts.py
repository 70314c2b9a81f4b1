"""What first screens have in common: header, warnings, what to do next."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, chop_cells

from layoutrand.analysis.analysis_warnings import NewFiles, NotCompared, ShownThoughOld
from layoutrand.analysis.beside import metric_beside
from layoutrand.analysis.evidence import evidence, reconciled_words
from layoutrand.analysis.layout_words import may_have_missed
from layoutrand.analysis.next_steps import possible_of, told_once
from layoutrand.analysis.short_executions import shortest_of_each
from layoutrand.cache.capture_record import source_in_brief
from layoutrand.config.execution_warnings import summed_of_each
from layoutrand.execute.cases import processes
from layoutrand.execute.output_warnings import MeasuresItself, UnlikeOutputs, alike_in_systems
from layoutrand.interop.interop_warnings import (
    FileRemark,
    NameOfEachBinary,
    OrderUnknown,
    OtherIterations,
    OtherThreads,
    SameNumbers,
    UnknownMachines,
    UnmarkedWarmup,
)
from layoutrand.screens.charts import Line, width_of
from layoutrand.screens.failing import failed_executions
from layoutrand.stats.stats_warning import StatsWarning
from layoutrand.text.name_lists import first_names, fitting_names
from layoutrand.warning import plural

if TYPE_CHECKING:
    from layoutrand.analysis.analyse import Analysis
    from layoutrand.analysis.next_steps import Step
    from layoutrand.analysis.reasons import Reason
    from layoutrand.analysis.sample import Sample
    from layoutrand.analysis.selection import Selection
    from layoutrand.model import Execution
    from layoutrand.warning import AnyWarning

_MOST_WARNINGS: Final = 3
_TOLD_ELSEWHERE: Final = frozenset({"interval too wide", "within noise", "beside the others", "failures"})
_OF_THE_RESULTS: Final = (NewFiles, ShownThoughOld, UnlikeOutputs)
_LINES_EACH: Final = 2
_LINES_OF_QUESTION: Final = 4
GAP: Final = 2
_MOST_STEPS: Final = 3
_CUT: Final = " …"
_NO_BREAK: Final = "\N{NO-BREAK SPACE}"


def filled(text: str, columns: int) -> str:
    """Text with blanks to so many columns."""
    return text + " " * (columns - cell_len(text))


def cut_to(text: str, columns: int) -> str:
    """Text of so many columns at most; an ellipsis at its end says that there was more."""
    return text if cell_len(text) <= columns else f"{next(iter(chop_cells(text, columns - 1)), '')}…"


def header(left: str, facts: Sequence[str], width: int) -> list[Line]:
    """A title, on the right as many facts as there is room for, and below what there is none for."""
    rest = list(facts)
    *above, left = textwrap.wrap(left, width, break_long_words=False, break_on_hyphens=False) or [left]
    right = [rest.pop(0)] if rest and cell_len(left) + 3 + cell_len(rest[0]) <= width else []
    while right and rest and cell_len(left) + 3 + cell_len(" · ".join([*right, rest[0]])) <= width:
        right.append(rest.pop(0))
    said = " · ".join(right)
    room = " " * (width - cell_len(left) - cell_len(said)) if said else ""
    below = textwrap.wrap(" · ".join(rest), width - 2)
    titles: list[Line] = [*([(row, "bold")] for row in above), [(left, "bold"), (room + said, "dim")]]
    return [*titles, *([(" " * (width - cell_len(row)) + row, "dim")] for row in below)]


def source_facts(selection: Selection) -> list[str]:
    """Where a selection was executed, and of which source."""
    if selection.sources:
        files = dict.fromkeys(source.file for source in selection.sources)
        return [
            f"imported from {Path(next(iter(files))).name}" if len(files) == 1 else f"imported from {len(files)} files"
        ]
    of = evidence(selection)
    where = f"{len(of.nodes)} nodes" if len(of.nodes) > 1 else of.host or ""
    made = {row.system: source_in_brief(row.source) for row in of.systems if row.source}
    alike = len(set(made.values())) == 1
    told = list(made.values())[:1] if alike else [f"{system}: {source}" for system, source in made.items()]
    return [part for part in (where, *told) if part]


def failure_lines(selection: Selection, width: int) -> list[Line]:
    """Failures, all told once with the reason that most of them have."""
    lines: list[Line] = []
    if selection.failures:
        reasons = Counter(_reason(failure) for failure in selection.failures).most_common()
        others = f" and {plural(len(reasons) - 1, 'other reason')}" if len(reasons) > 1 else ""
        count = processes(selection.failures)
        names = list(dict.fromkeys(failure.benchmark for failure in selection.failures))
        failed = failed_executions(count)
        ways = [f"{whose}: {failed}: " for whose in _ways_to_name(names)]
        # The reason may be long, and is begun at least.
        where = next((way for way in ways if len(way) <= width), f"{failed}: ")
        lines += wrapped("⚠", "yellow", f"{where}{reasons[0][0]}{others}", width)
    if selection.build_failures:
        count = len(selection.build_failures)
        most = Counter(failure.error for failure in selection.build_failures).most_common(1)[0][0]
        unbuilt = f"{count:,} layout{'s' * (count > 1)} could not be built: {most.splitlines()[0]}"
        lines += wrapped("⚠", "yellow", unbuilt, width)
    return lines


def _reason(failure: Execution) -> str:
    """Why it failed; of what was imported without the file, as the same is the same in all of them."""
    reason = failure.reason or failure.status
    return reason.removesuffix(f" ({failure.conditions['imported']})") if "imported" in failure.conditions else reason


def possible_steps(steps: Iterable[Step], selection: Selection, n_layouts: int) -> list[Step]:
    """Without more layouts, where most of those asked for could not be built: more of them could not, either.

    Of results of others without what takes executions.
    """
    is_exhausted = len(selection.build_failures) > n_layouts
    there = possible_of(steps, of_others=evidence(selection).of_others)
    return [step for step in there if not (is_exhausted and step.kind == "more layouts")]


def remark_lines(selection: Selection, shown: Iterable[tuple[str, str]], width: int) -> list[Line]:
    """What is recorded and not in the numbers; ``shown`` are (benchmark, instrument) of these."""
    lines: list[Line] = []
    if selection.left_out:
        left_out = "; ".join(each.brief() for each in evidence(selection).left_out)
        lines += wrapped("ⓘ", "cyan", f"left out: {left_out}", width)
    for warning in dict.fromkeys(filter(_is_remark, selection.warnings)):
        lines += wrapped("ⓘ", "cyan", warning.brief(), width)
    if metric := metric_beside(selection, shown):
        lines += wrapped("ⓘ", "cyan", f"simulated counts are recorded as well: --metric {metric}", width)
    lines += reconciled_lines(selection, width)
    return lines


def order_lines(selection: Selection, width: int) -> list[Line]:
    """That nobody knows whether compared systems took turns, where that is so."""
    told = dict.fromkeys(each for each in selection.warnings if isinstance(each, OrderUnknown))
    return [line for each in told for line in wrapped("ⓘ", "cyan", each.brief(), width)]


def _is_remark(warning: AnyWarning) -> bool:
    """Whether the first screen tells it, though no conclusion names it: what is in the numbers, or missing there."""
    told = (
        FileRemark
        | MeasuresItself
        | NameOfEachBinary
        | NotCompared
        | OtherIterations
        | OtherThreads
        | SameNumbers
        | UnknownMachines
    )
    return isinstance(warning, told) and isinstance(getattr(warning, "remark", UnmarkedWarmup()), UnmarkedWarmup)


def reconciled_lines(selection: Selection, width: int) -> list[Line]:
    """How much lies at the same addresses where layouts are reconciled, and which question that answers."""
    lines: list[Line] = []
    for text in reconciled_words(evidence(selection)):
        lines += wrapped("ⓘ", "cyan", text, width, most=_LINES_OF_QUESTION)
    return lines


def warning_lines(about: Sequence[tuple[str, Sequence[Reason]]], width: int, *, whole: str = "") -> list[Line]:
    """One line for each thing that was found, with the names of what it is about; what is about the results first.

    ``whole`` is the name of what is made of all others, as their mean is: it is no more of them.
    """
    found = _found(about, whole)
    lines: list[Line] = []
    for each in sorted(found, key=lambda each: not each.is_of_results)[:_MOST_WARNINGS]:
        if set(each.names) <= set(each.systems):  # the text says of which systems
            lines += wrapped("⚠", "yellow", each.text, width)
            continue
        parts = [name for name in each.names if name != whole]
        of = len(about) - (bool(parts) and whole in dict(about))
        lines += said_of("⚠", "yellow", each.text, parts or each.names, of, width)
    if len(found) > _MOST_WARNINGS:
        lines.append([(f"    and {len(found) - _MOST_WARNINGS} more: --full", "dim")])
    return lines


@dataclass
class _Found:
    """What is said in a warning line, of which names; of which ``systems`` where the text says that itself."""

    text: str
    names: list[str] = field(default_factory=list)
    systems: tuple[str, ...] = ()
    is_of_results: bool = False


def _found(about: Sequence[tuple[str, Sequence[Reason]]], whole: str) -> list[_Found]:
    """What the warnings say, each thing once, in the order in which it is first said."""
    told = [(name, _of_both_as_one([each for reason in reasons for each in _told(reason)])) for name, reasons in about]
    of_parts = {warning for name, warnings in told if name != whole for warning in warnings}
    told = [(name, [each for each in own if name != whole or _of_none(each) not in of_parts]) for name, own in told]
    shortest = shortest_of_each(warning for _, warnings in told for warning in warnings)
    disturbed = summed_of_each(warning for _, warnings in told for warning in warnings)
    unlike = alike_in_systems(each for _, warnings in told for each in warnings if isinstance(each, UnlikeOutputs))
    found: dict[str, _Found] = {}
    for name, warnings in told:
        for warning in dict.fromkeys(shortest.get(each, disturbed.get(each, each)) for each in warnings):
            text = unlike[warning].brief if isinstance(warning, UnlikeOutputs) else warning.brief()
            said = found.setdefault(text, _Found(text))
            said.is_of_results |= isinstance(warning, _OF_THE_RESULTS)
            if isinstance(warning, UnlikeOutputs):
                said.systems = unlike[warning].systems
            if name not in said.names:
                said.names.append(name)
    return list(found.values())


def said_of(symbol: str, style: str, text: str, names: Sequence[str], of: int, width: int) -> list[Line]:
    """What is said of these ``names`` among ``of``; names give way to it, where it can be said whole at all."""
    if len(names) == of:
        return wrapped(symbol, style, text, width)
    ways = [wrapped(symbol, style, f"{whose}: {text}", width) for whose in _ways_to_name(names)]
    counted = wrapped(symbol, style, f"{len(names):,} of {of:,}: {text}", width)
    return next((each for each in [*ways, counted] if not _is_cut(each)), ways[-1])


def _of_both_as_one(warnings: Sequence[AnyWarning]) -> list[AnyWarning]:
    """Warnings, each once; what both systems share in all but the system is told of neither by name."""
    sides: dict[AnyWarning, set[str]] = {}
    for warning in warnings:
        if isinstance(warning, StatsWarning) and (len(warning.of) == 1 or not any(of.benchmark for of in warning.of)):
            sides.setdefault(_of_none(warning), set()).update(warning.sides)
    both = {warning for warning, named in sides.items() if len(named) == 2}
    return list(dict.fromkeys(_of_none(each) if _of_none(each) in both else each for each in warnings))


def _of_none(warning: AnyWarning) -> AnyWarning:
    return replace(warning, of=()) if isinstance(warning, StatsWarning) else warning


def _told(reason: Reason) -> Sequence[AnyWarning]:
    """What the verdict itself says already is not told again."""
    return () if reason.cause in _TOLD_ELSEWHERE else reason.warnings


def names_of(shown: Sequence[Analysis | Sample]) -> list[str]:
    """Benchmark, system and metric, as far as they tell rows apart."""
    parts = [[each.benchmark for each in shown], [each.system for each in shown]]
    pairs = list(zip(*parts, strict=True))
    parts = [column for column in parts if len(set(column)) > 1] or parts[:1]
    if len(set(pairs)) < len(pairs):
        parts.append([each.metric for each in shown])
    return [" ".join(row) for row in zip(*parts, strict=True)]


def missed_lines(
    symbol: str,
    style: str,
    verdict: str,
    names: Sequence[str],
    of: int,
    counts: Sequence[tuple[float | None, int]],
    width: int,
) -> list[Line]:
    """How rare layouts may be of which a ``verdict`` on ``names``, among ``of``, says nothing.

    ``counts`` are the share that may be missed and the number of layouts of each; nothing where no share is known.
    """
    most, count = max(((share, n) for share, n in counts if share), default=(0.0, 0))
    if not most:
        return []
    # Where it is said of every row, names would read as if others were left out.
    about = f"{first_names(names, 2)}: " if len(names) < of else ""
    return wrapped(symbol, style, f"{about}{may_have_missed(verdict, count, most)}", width, most=3)


def _ways_to_name(names: Sequence[str]) -> tuple[str, str]:
    """Several names, at length and in brief."""
    return fitting_names(names, 3), first_names(names, 1)


def with_note(line: Line, note: str, style: str, width: int, *, is_needed: bool) -> Iterator[Line]:
    """A row and what stands behind it; what ``is_needed`` stands below where there is no room, all else is left out."""
    if note and width_of(line) + GAP + cell_len(note) <= width:
        yield [*line, (" " * GAP, ""), (note, style)]
        return
    yield line
    if note and is_needed:
        yield [("    ", ""), (note, style)]


def beside_or_below(line: Line, text: str, style: str, width: int) -> list[Line]:
    """A row with one more cell, which stands below where there is no room for it."""
    if width_of(line) + GAP + cell_len(text) <= width:
        return [[*line, (" " * GAP, ""), (text, style)]]
    return [line, [("    ", ""), (text, style)]]


def wrapped(symbol: str, style: str, text: str, width: int, most: int = _LINES_EACH) -> list[Line]:
    """A remark of so many lines at most."""
    whole = text.replace(" %", f"{_NO_BREAK}%")  # a number stands beside its unit
    # At a hyphen an option or a name of a package would be broken, which are copied.
    wrapped_text = textwrap.wrap(whole, width - 4, max_lines=most, placeholder=_CUT, break_on_hyphens=False) or [""]
    parts = [part.replace(_NO_BREAK, " ") for part in wrapped_text]
    first: Line = [("  ", ""), (symbol, style), (" ", ""), (parts[0], "")]
    return [first, *([("    ", ""), (part, "")] for part in parts[1:])]


def _is_cut(lines: Sequence[Line]) -> bool:
    return lines[-1][-1][0].endswith(_CUT)


def _is_within_reach(step: Step) -> bool:
    """Not so many layouts that nobody executes them, nor a range of such numbers, which is a sentence of `--full`."""
    return bool(step.command or step.short) if step.kind == "more layouts" and step.has_figures else True


def next_lines(steps: Sequence[Step], width: int) -> list[Line]:
    """What to do next, commands where there are some, and where the details are."""
    within = told_once(step for step in steps if _is_within_reach(step))
    return steps_and_details(list(dict.fromkeys(step.briefly for step in within)), "Details: --full", width)


def steps_and_details(said: Sequence[str], details: str, width: int) -> list[Line]:
    """Steps behind one another, and what stands at the right or, where there is no room, below."""
    if not said:
        return [[(f"  {details}", "dim")]]
    # A command is copied: it stands in one line.
    whole = [each.replace(" ", _NO_BREAK) if each.startswith("layoutrand ") else each for each in said]
    text = f"Next: {' · '.join(whole[:_MOST_STEPS])}"
    room = width - 2 - cell_len(text) - cell_len(details)
    if room >= 5:
        return [[("  ", ""), (text.replace(_NO_BREAK, " "), "bold"), (" " * room, ""), (details, "dim")]]
    parts = textwrap.wrap(text, width - 4, break_long_words=False, break_on_hyphens=False)
    lines = [("  " if not k else "    ", part.replace(_NO_BREAK, " ")) for k, part in enumerate(parts)]
    return [*([(blank, ""), (part, "bold")] for blank, part in lines), [(f"  {details}", "dim")]]
