"""A system compared with itself, as a table: how often that finds a difference, and the noise floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from layoutrand.analysis.analysis_warnings import ExecutedAgain
from layoutrand.screens.display import Display
from layoutrand.screens.screen_parts import wrapped
from layoutrand.text.name_lists import first_names
from layoutrand.text.quantities import digits_of, percent, ratio_words

if TYPE_CHECKING:
    from layoutrand.analysis.aa import SelfComparison
    from layoutrand.analysis.selection import Selection
    from layoutrand.analysis.sides_of_itself import Sides
    from layoutrand.screens.charts import Line


def show_aa(rows: Sequence[SelfComparison], confidence: float, page: Display, *, seeds: Sequence[int] = ()) -> None:
    """Each system against itself; ``seeds`` where not all that are recorded are judged."""
    from layoutrand.analysis.aa import alarms
    from layoutrand.config.seeds import format_seeds

    over = f", seeds {format_seeds(seeds)} ({len(seeds)})" if seeds else ""
    page.table(
        f"A/A: each system against itself{over}",
        ("benchmark", "system", "metric", "sides", "binaries", "ratio", "interval", "alarm", "noise floor"),
        [
            (
                row.benchmark,
                row.system,
                row.metric,
                row.sides,
                f"{row.n_each} each",
                *(("-", "-") if row.ratio is None else ratio_words(row.ratio.centre, row.ratio.low, row.ratio.high)),
                "-" if row.ratio is None else "yes" if row.is_alarm else "no",
                floor_words(row),
            )
            for row in rows
        ],
    )
    if missed := [row.could_miss for row in rows if row.could_miss is not None]:
        page.item(
            f"noise floor: what happens to fewer than {percent(max(missed), 0)} of executions may have been missed, "
            "and is not in it"
        )
    expected = percent(1 - confidence, 0)
    count, of = alarms(rows, in_time=False)
    if of:
        page.item(
            f"intervals that find a difference of a system from itself: {count} of {of}, where {expected} are to be "
            "expected by chance" + ("; so few tell little of how often" if of < FEW else "")
        )
    count, of = alarms(rows, in_time=True)
    if of:
        meaning = ": the machine, or chance, did that, and would have done it to systems executed one after the other"
        page.item(f"of sides executed at different times: {count} of {of}{meaning if count else ''}")


def show_beside(rows: Sequence[SelfComparison], confidence: float, page: Display) -> None:
    """The same below a comparison, where systems were executed twice."""
    if rows:
        page.line()
        show_aa(rows, confidence, page)


SIDES_IN_WORDS: Final[Mapping[Sides, str]] = {
    "executed twice": "as it was executed twice in each round",
    "neighbouring rounds": "neighbouring rounds as if they were two systems (`run --twice` executes it as two)",
    "executed apart": "as it was executed at two times",
    "first and second half": "the first half of its rounds as one system and the second as another (run.order)",
}
"""What the two sides of a system are."""

FEW: Final = 20
"""Comparisons with itself, of which the share of alarms says little: one is expected."""


_MOST_FLOORS: Final = 3
_LINES: Final = 2


def floor_lines(rows: Sequence[SelfComparison], confidence: float, width: int) -> list[Line]:
    """The noise floor of each row of a first screen, or that there are too few layouts for any."""
    several = len({row.system for row in rows}) > 1
    floors = [
        f"{row.benchmark}{f' of {row.system}' if several else ''} {floor_words(row)}"
        for row in rows
        if row.noise_floor is not None
    ]
    if floors:
        cases = f"{100 * confidence:g} of 100 that do not differ are no farther apart"
        text = f"Noise floor ({cases}): {first_names(floors, _MOST_FLOORS)}."
        return wrapped("ⓘ", "cyan", text, width, most=_LINES)
    if any(row.has_too_few for row in rows):
        return wrapped("ⓘ", "cyan", "There are too few layouts for a noise floor.", width)
    return []


def beside_lines(rows: Sequence[SelfComparison], confidence: float, width: int) -> list[Line]:
    """What each system against itself says of a comparison, on its first screen: `show_aa` has the rows."""
    from layoutrand.analysis.aa import alarms

    lines: list[Line] = []
    for in_time, when in ((False, ""), (True, ", executed at another time")):
        count, of = alarms(rows, in_time=in_time)
        if of:
            text = f"Each system against itself{when}: {count} of {of} intervals find a difference."
            lines += wrapped("⚠" if count else "ⓘ", "yellow" if count else "cyan", text, width, most=_LINES)
    return [*lines, *floor_lines(rows, confidence, width)]


def without_told(selection: Selection, rows: Sequence[SelfComparison]) -> Selection:
    """The selection of a first screen that has `beside_lines`: what these are made of is not told as left out there."""
    told = {row.system for row in rows}
    kept = [
        each
        for each in selection.warnings
        if not (isinstance(each, ExecutedAgain) and told & {each.system, selection.names.system(each.system)})
    ]
    return replace(selection, warnings=tuple(kept))


def floor_words(row: SelfComparison) -> str:
    """How far apart two systems that do not differ would be measured, and of how many rounds."""
    if row.noise_floor is None:
        return "too few" if row.has_too_few else "-"
    digits = max(0, min(2, digits_of(row.noise_floor * 100)))
    return f"± {100 * row.noise_floor:.{digits}f} % ({row.n_floor} rounds)"
