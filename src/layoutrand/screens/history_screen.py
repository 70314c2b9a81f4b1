"""The first screen of `history`: how each benchmark went over commits, its steps, and what is only layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from layoutrand.analysis.next_steps import LayoutsThere
from layoutrand.analysis.reasons import steps
from layoutrand.config.disturbance import MOST_TOGETHER
from layoutrand.config.execution_warnings import DisturbedExecutions
from layoutrand.history.bisect_words import bisect_command
from layoutrand.history.history_warnings import TooShortHistory
from layoutrand.history.history_words import (
    NOTABLE,
    STEP_SYMBOLS,
    all_warnings,
    disturbed,
    from_to,
    has_no_step,
    how_compared,
    no_step,
    no_time_sentences,
    of_one_commit,
    reasons_of,
    seeds_with_more,
    series_name,
    step_place,
    step_verdict,
    step_words,
)
from layoutrand.screens.charts import SCREEN_LINES, Line, between, screen_width, width_of
from layoutrand.screens.screen_parts import cut_to, filled, header, steps_and_details, warning_lines, wrapped
from layoutrand.text.distinct_names import distinct_names
from layoutrand.text.quantities import estimate, quantity

if TYPE_CHECKING:
    from layoutrand.history.history_values import CommitSeries, History, HistoryStep
    from layoutrand.screens.display import Display

MOST_LINES: Final = 20
_LINES_OF_NOTE: Final = 3
"""Some end with a command, which has to be whole."""

_LINES_OF_STEP: Final = 4

_MOST_SERIES: Final = 5
_MOST_STEPS: Final = 4
_MOST_WARNINGS: Final = 3
_LONGEST_NAME: Final = 20
_STYLES: Final = {"faster": "green", "slower": "red", "layout only": "cyan"}


def history_screen(history: History, columns: int | None) -> list[Line]:
    """The lines for so many columns; None where there is no terminal.

    What does not fit into a screen is left to `--full`: first remarks, then the series with the smallest steps.
    """
    width = screen_width(columns)
    ways = [(_MOST_SERIES, most) for most in range(_MOST_WARNINGS, 1, -1)]
    ways += [(most, 1) for most in range(_MOST_SERIES, 0, -1)]
    found: list[Line] = []
    for most_series, most_warnings in ways:
        found = _screen(history, width, most_series, most_warnings)
        if len(found) <= SCREEN_LINES:
            break
    return found


def _screen(history: History, width: int, most_series: int, most_warnings: int) -> list[Line]:
    """The lines with so many series and remarks at most."""
    rows = sorted(history.series, key=_weight)[:most_series]
    told = [series for series in history.series if series in rows]
    lines: list[Line] = [*header(_title(history), _facts(history), width), []]
    notes = _notes(history, width, most_warnings)
    if alone := of_one_commit(history):
        lines += [*wrapped("?", "yellow", alone, width), []]
        return [*lines, *notes, *([[]] if notes else []), *_next(told, history, width)]
    room = MOST_LINES - len(lines) - len(notes) - 3 - (len(told) < len(history.series))
    each = max(0, room // max(1, len(told)) - 2)
    for series in told:
        lines += _drawn(series, history, width)
        lines += _steps(series, history, width, min(each, _MOST_STEPS))
    if rest := len(history.series) - len(told):
        lines.append([(f"    and {rest} more without larger steps: --full", "dim")])
    lines.append([])
    if notes:
        lines += [*notes, []]
    return [*lines, *_next(told, history, width)]


def _title(history: History) -> str:
    n = len({commit.commit for series in history.series for point in series.points for commit in point.commits})
    of = {series.system for series in history.series}
    name = f"{next(iter(of))} over" if len(of) == 1 else "Over"
    return f"{name} {n} commit{'' if n == 1 else 's'}"


def _facts(history: History) -> list[str]:
    counts = [point.n_layouts for series in history.series for point in series.points]
    layouts = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    measured = {commit.commit for series in history.series for point in series.points for commit in point.commits}
    in_order = [commit.short for commit in history.commits if commit.commit in measured]
    ends = " … ".join(dict.fromkeys([in_order[0], in_order[-1]]))
    return [f"{layouts} layouts each", history.host, ends]


def _weight(series: CommitSeries) -> float:
    """What is told first: the largest step."""
    sizes = [abs(step.ratio.centre - 1) for step in series.steps if step.verdict in NOTABLE]
    sizes += [abs(step.stock.centre - 1) / 2 for step in series.steps if step.stock and step.verdict == "layout only"]
    return -max(sizes, default=0.0)


def _drawn(series: CommitSeries, history: History, width: int) -> list[Line]:
    """Means over layouts as bars, and below them stock, on the same scale."""
    names = [series_name(each, history.series) for each in history.series]
    name = dict(zip(names, distinct_names(names, _LONGEST_NAME), strict=True))[series_name(series, history.series)]
    right = from_to(series)
    room = width - 4 - max(cell_len(name), len("as built")) - 2 - 2 - cell_len(right)
    means = [point.mean.centre for point in series.points for _ in point.commits]
    stocks = [point.stock for point in series.points for _ in point.commits]
    known = [value for value in stocks if value is not None]
    middle = sum(means) / len(means)
    slack = abs(middle) * history.threshold
    low, high = min([*means, *known, middle - slack]), max([*means, *known, middle + slack])
    left = max(cell_len(name), len("as built")) + 2
    bars = between(means, low, high, room)
    lines: list[Line] = [
        [("  ", ""), (filled(name, left), "bold"), (filled(bars, room), "magenta"), (f"  {right}", "")]
    ]
    if known:
        bars = between([low if value is None else value for value in stocks], low, high, room)
        if len(known) < len(stocks):  # nothing where it was not executed, as of commits that `bisect` looked at
            shown = zip(bars, stocks, strict=True) if len(bars) == len(stocks) else ()
            bars = "".join(" " if value is None else bar for bar, value in shown)
        if bars:
            lines.append([("  ", ""), (filled("as built", left), "dim"), (bars, "dim")])
    return lines


def _steps(series: CommitSeries, history: History, width: int, most: int) -> list[Line]:
    shown = [step for step in series.steps if step.verdict in NOTABLE]
    largest = sorted(shown, key=lambda step: -abs(step.ratio.centre - 1))[: max(most, 1)]
    lines = [line for step in shown if step in largest for line in _step(step, series, history, width)]
    small = len(series.steps) - len(largest)
    if not shown:
        said = no_step(history, series)
        symbol = "=" if series.is_one_program else "≈" if has_no_step(history, series) else "?"
        rest = f"; {small} smaller: --full" if small else ""
        lines += _below(symbol, "yellow" if symbol == "?" else "", "", f"{said}{rest}", width)
    elif small:
        which = "more" if len(shown) > len(largest) else "smaller"
        lines.append([(f"    and {small} {which}: --full", "dim")])
    return lines


def _step(step: HistoryStep, series: CommitSeries, history: History, width: int) -> list[Line]:
    place = step_place(history, series, step)
    style = _STYLES.get(step.verdict, "yellow")
    said = f"{step_verdict(series, step)}  {step_words(step)}  {place}"
    lines = _below(STEP_SYMBOLS[step.verdict], style, style if step.verdict == "slower" else "", said, width)
    room = width - width_of(lines[-1]) - 2
    if room > 8 and place.commit.subject:
        lines[-1] = [*lines[-1], (f"  {cut_to(place.commit.subject, room)}", "dim")]
    return lines


def _below(symbol: str, style: str, of_words: str, said: str, width: int) -> list[Line]:
    """What is said below the bars of a series: on one line, or on as many as it takes."""
    lines = wrapped(symbol, style, said, width - 2, _LINES_OF_STEP)
    return [[("  ", ""), *line[:-1], (line[-1][0], of_words)] for line in lines]


def _notes(history: History, width: int, most: int) -> list[Line]:
    told = all_warnings(history, MOST_TOGETHER)
    warnings = [each for each in told if not isinstance(each, DisturbedExecutions)]
    if of_one_commit(history):  # which says it of all series
        warnings = [each for each in warnings if not isinstance(each, TooShortHistory)]
    said = list(dict.fromkeys(str(each) for each in warnings))
    lines = [line for text in no_time_sentences(history) for line in wrapped("ⓘ", "cyan", text, width)]
    lines += warning_lines(disturbed(history), width)
    lines += [line for text in said[:most] for line in wrapped("ⓘ", "cyan", text, width, _LINES_OF_NOTE)]
    if len(said) > most:
        lines.append([(f"    and {len(said) - most} more: --full", "dim")])
    return lines


def _next(told: Sequence[CommitSeries], history: History, width: int) -> list[Line]:
    """A step that may lie at one of several commits, or be the machine's, is what `bisect` is for.

    Unknown sizes take more layouts.  A finer clock is no matter of commits.
    """
    for series in sorted(told, key=_weight):
        for step in series.steps:
            place = step_place(history, series, step)
            if step.good is not None and (place.others or series.is_apart):
                bad = series.points[step.last].commits[0].short
                metric = "" if series.is_main else series.metric
                command = bisect_command(step.good.short, bad, series.benchmark, series.system, metric)
                return steps_and_details([command], "Details: --full", width)
    for series in sorted(told, key=_weight):
        is_short = series.n_rounds and any(step.verdict == "size unknown" for step in series.steps)
        if is_short and (seeds := seeds_with_more(series)):
            ends = f"{series.points[0].commits[0].short}..{series.points[-1].commits[-1].short}"
            command = f"layoutrand history --run {ends} --seeds {seeds}"
            return steps_and_details([command], "Details: --full", width)
    found = [reason for series in told for reason in reasons_of(series)]
    found += [reason for _, own in disturbed(history) for reason in own]
    why = [warning for reason in found for warning in reason.warnings]
    helps = [step.briefly for step in steps(why, layouts=LayoutsThere(max(series.n_rounds for series in told)))]
    return steps_and_details(helps, "Details: --full · a page: --html FILE", width)


def show_history(history: History, page: Display) -> None:
    """All points and steps as tables, then sentences that can be quoted."""
    from layoutrand.history.history_words import certainty_words, sentences

    for series in history.series:
        name = f"{series.benchmark}, {series.system}, {series.metric}"
        page.table(
            f"{name}: {how_compared(series)}",
            ("commit", "date", "mean", "interval", "layouts", "as built", "subject"),
            [
                (
                    commit.short,
                    commit.day or "-",
                    *estimate(point.mean.centre, point.mean.low, point.mean.high, series.unit),
                    str(point.n_layouts) if commit == point.commits[0] else "same program",
                    "-" if point.stock is None else quantity(point.stock, series.unit),
                    commit.subject,
                )
                for point in series.points
                for commit in point.commits
            ],
        )
    for sentence in sentences(history):
        page.line(sentence)
    said = certainty_words(history)
    page.line(f"{said[0].upper()}{said[1:]}.")
    for warning in all_warnings(history):
        page.warn(str(warning))
