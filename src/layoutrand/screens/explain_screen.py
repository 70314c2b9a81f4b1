"""The first screen of `explain`: whose place goes with the slow layouts of each benchmark; `--full` has the rest."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from layoutrand.analysis.next_steps import MORE_FACTORS
from layoutrand.analysis.verdict_marks import SYMBOLS, change_words
from layoutrand.explain.brief_words import (
    WOULD_BE_FOUND,
    cause_in_brief,
    doubts,
    is_sized,
    nothing_in_brief,
    place_in_brief,
    whose,
)
from layoutrand.explain.explain_warnings import NotShownToDiffer
from layoutrand.explain.words import in_the_answer, is_doubted
from layoutrand.screens.charts import Line, screen_width
from layoutrand.screens.screen_parts import (
    GAP,
    filled,
    header,
    names_of,
    remark_lines,
    said_of,
    source_facts,
    steps_and_details,
    wrapped,
)
from layoutrand.warning import plural

if TYPE_CHECKING:
    from layoutrand.analysis.selection import Selection
    from layoutrand.explain.suspects import Explanation, Suspect

_QUESTION: Final = "What goes with the {} layouts?"
_MOST_SUSPECTS: Final = 2
"""Of one benchmark and system, where no other has one; else each has one."""

_MOST_LINES: Final = 13
"""Of suspects with their places; of benchmarks that have no room any more it is said only who is suspected."""

_MOST_BRIEFLY: Final = 3
"""Benchmarks whose suspects are told without their places; the others are counted."""

_MOST_WITHOUT: Final = 6
"""Benchmarks without a suspect that are told one by one."""

_MOST_WARNINGS: Final = 3
_BELOW: Final = 6


def explain_screen(
    found: Sequence[Explanation],
    selection: Selection,
    columns: int | None,
    *,
    is_tried: bool = False,
    hint: bool = True,
    n_distinct: Callable[[], Mapping[str, int]] | None = None,
) -> list[Line]:
    """The lines for so many columns; None where there is no terminal.

    ``is_tried`` where new layouts have said already what to think of the suspects; ``hint`` at what to do next.
    ``n_distinct`` are the layouts that the program of a system can have at most, of systems where these are few, and is
    asked only where more would help, as it takes a look at captures; None where `run` would execute no more of these.
    """
    width = screen_width(columns)
    samples = [each.subject.sample for each in found]
    names = dict(zip(map(id, found), names_of(samples), strict=True))
    is_time = all(sample.unit == "s" and sample.better == "less" for sample in samples)
    facts = [_counts(found), *source_facts(selection)]
    lines: list[Line] = [*header(_QUESTION.format("slow" if is_time else "worse"), facts, width), []]
    suspected = sorted((each for each in found if each.suspects), key=lambda each: -_size(each))
    widest = min(max(map(cell_len, names.values()), default=0), width // 2)
    briefly: list[Explanation] = []
    for each in suspected:
        shown = _MOST_SUSPECTS if len(suspected) == 1 else 1
        block = _suspects(each, shown, names[id(each)], widest, width, is_tried=is_tried)
        if len(lines) + len(block) > _MOST_LINES and len(lines) > 2:
            briefly.append(each)
        else:
            lines += block
    for each in briefly[:_MOST_BRIEFLY]:
        said = _accused(each, each.suspects[0], is_tried=is_tried)
        lines += _hanging(*_mark(each, is_tried=is_tried), names[id(each)], said, widest, width)
    if len(briefly) > _MOST_BRIEFLY:
        lines.append([(f"    and {len(briefly) - _MOST_BRIEFLY} more with suspects", "dim")])
    without = [each for each in found if not each.suspects]
    most_without = max(_MOST_WITHOUT - 2 * len(briefly), 1)
    for each in without[:most_without]:
        lines += _hanging("?", "yellow", names[id(each)], nothing_in_brief(each), widest, width)
    if len(without) > most_without:
        lines.append([(f"    and {len(without) - most_without} more without any", "dim")])
    notes: list[Line] = []
    if any(is_sized(each) for each in without[:most_without]):
        notes += wrapped("ⓘ", "cyan", WOULD_BE_FOUND, width)
    if suspected and not is_tried:
        notes += wrapped("ⓘ", "cyan", doubts(found), width, most=3)
    notes += _warnings(found, names, width, is_tried=is_tried)
    notes += remark_lines(selection, [(each.benchmark, each.instrument) for each in samples], width)
    steps = (_steps(suspected) or _with_more_layouts(without, n_distinct)) if hint else []
    return [*lines, [], *notes, *([[]] if notes else []), *steps_and_details(steps, "Details: --full", width)]


def _size(found: Explanation) -> float:
    effect = found.suspects[0].effect
    return 0.0 if effect is None else abs(effect.centre - 1)


def _counts(found: Sequence[Explanation]) -> str:
    counts = {len(each.seeds) for each in found}
    systems = {each.subject.sample.system for each in found}
    said = f"{min(counts):,} layouts" if len(counts) == 1 else f"{min(counts):,} to {max(counts):,} layouts"
    return f"{systems.pop()}: {said}" if len(systems) == 1 else said


def _suspects(found: Explanation, most: int, name: str, widest: int, width: int, *, is_tried: bool) -> list[Line]:
    """Of each suspect who it is and what it makes, and below which placements are meant and why these may be slow."""
    lines: list[Line] = []
    for suspect in found.suspects[:most]:
        said = _accused(found, suspect, is_tried=is_tried)
        lines += _hanging(*_mark(found, is_tried=is_tried), name, said, widest, width)
        for text in (place_in_brief(found, suspect), cause_in_brief(suspect)):
            lines += [
                [(" " * _BELOW + part, "")] for part in textwrap.wrap(text, width - _BELOW, break_on_hyphens=False)
            ]
    if found.predicted is not None and found.predicted <= 0:
        said = "of layouts that took no part in finding it, it predicts nothing"
        lines += [
            [(" " * _BELOW + part, "yellow")] for part in textwrap.wrap(said, width - _BELOW, break_on_hyphens=False)
        ]
    if (more := len(found.suspects) - most) > 0:
        lines.append([(f"{' ' * _BELOW}and {plural(more, 'more suspect')}", "dim")])
    return lines


def _mark(found: Explanation, *, is_tried: bool) -> tuple[str, str]:
    return ("?", "yellow") if is_doubted(found) and not is_tried else (SYMBOLS["layout matters"], "magenta")


def _accused(found: Explanation, suspect: Suspect, *, is_tried: bool) -> str:
    how = "suspected before that" if is_tried else "suspected, not proved"
    return f"{whose(suspect)}: {_change(suspect, found.subject.sample.metric)}{how}"


def _change(suspect: Suspect, metric: str) -> str:
    return "" if suspect.effect is None else f"{metric} {'  '.join(change_words(suspect.effect))}  "


def _hanging(symbol: str, style: str, name: str, said: str, widest: int, width: int) -> list[Line]:
    """A row with its name in a column; the name stands whole on a line of its own where it is too long."""
    mark: Line = [("  ", ""), (symbol, f"bold {style}"), (" ", "")]
    room = width - 4 - widest - GAP
    if cell_len(name) > widest or cell_len(said) > room:
        below = textwrap.wrap(said, width - _BELOW, break_on_hyphens=False)
        return [[*mark, (name, "")], *([(" " * _BELOW + part, "")] for part in below)]
    return [[*mark, (filled(name, widest + GAP), ""), (said, "")]]


def _warnings(found: Sequence[Explanation], names: dict[int, str], width: int, *, is_tried: bool) -> list[Line]:
    """What the answers do not say themselves, each once with the names of what it is about.

    Where new layouts have told by now, it is not said that they would.
    """
    about: dict[str, list[str]] = {}
    for each in found:
        said = in_the_answer(each)
        for warning in each.warnings:
            is_told = is_tried and isinstance(warning, NotShownToDiffer) and warning.is_suspected
            if warning not in said and not is_told:
                about.setdefault(warning.brief(), []).append(names[id(each)])
    lines: list[Line] = []
    for text, whom in list(about.items())[:_MOST_WARNINGS]:
        lines += said_of("⚠", "yellow", text, whom, len(found), width)
    if len(about) > _MOST_WARNINGS:
        lines.append([(f"    and {len(about) - _MOST_WARNINGS} more: --full", "dim")])
    return lines


def _steps(suspected: Sequence[Explanation]) -> list[str]:
    """New layouts tell whether it stands, and a sweep why."""
    if not suspected:
        return []
    first = suspected[0]
    # A sweep says why, of what was shown to be there.
    sweep = None if is_doubted(first) else first.suspects[0].sweep
    return ["the same command with --confirm 15", *([shlex.join(sweep)] if sweep else [])]


def _with_more_layouts(found: Sequence[Explanation], n_distinct: Callable[[], Mapping[str, int]] | None) -> list[str]:
    """Twice the layouts, which find what makes less; nothing where there is another reason, or no more of these."""
    searched = [each for each in found if not in_the_answer(each)]
    if not searched or n_distinct is None:
        return []
    wanted, known = 2 * max(len(each.seeds) for each in searched), n_distinct()
    if any(known.get(each.subject.sample.system, wanted) < wanted for each in searched):
        return [MORE_FACTORS]
    return [f"layoutrand run --seeds {wanted}", "explain again"]
