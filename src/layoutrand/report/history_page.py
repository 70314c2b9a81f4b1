"""The page of a history: steps first, then a card for each benchmark: its means over commits, and stock beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from layoutrand.capture.commit_log import LoggedCommit
from layoutrand.history.history_values import CommitSeries, History, HistoryPoint
from layoutrand.history.history_words import (
    STEP_SYMBOLS,
    all_warnings,
    certainty_words,
    has_few_layouts,
    has_no_step,
    how_compared,
    sentences,
    sentences_of_series,
    series_name,
    size_of_step,
    step_place,
    step_verdict,
    step_words,
)
from layoutrand.report import plot
from layoutrand.report.mark_data import MarkData
from layoutrand.report.page_parts import Banner, BenchmarkCard, Page, TrustLight, VerdictChip
from layoutrand.text.document import Chapter, Figure, Table
from layoutrand.text.name_lists import first_names
from layoutrand.text.quantities import estimate, quantity
from layoutrand.warning import sentences_of

_CHIPS: Final = {
    "slower": "slower",
    "faster": "faster",
    "layout only": "same",
    "cannot tell": "cannot-tell",
    "about the threshold": "cannot-tell",
    "size unknown": "cannot-tell",
    "small": "same",
}
"""The colours of steps are those of verdicts."""


def history_page(history: History) -> Page:
    """The page; `layoutrand.report.html.render` makes the file of it."""
    found = [(step.verdict, step_verdict(series, step)) for series in history.series for step in series.steps]
    chips = [
        VerdictChip(key, f"{each[1]}: {found.count(each)}")  # "1 more" would be one further
        for verdict, key in _CHIPS.items()
        for each in dict.fromkeys(found)
        if each[0] == verdict
    ]
    measured = {c.commit for series in history.series for point in series.points for c in point.commits}
    return Page(
        title=f"{history.project}: performance over commits",
        subtitle=f"{len(measured):,} of {len(history.commits):,} commits measured on {history.host}",
        banners=[Banner("Which steps are there?", chips or [_without_steps(history)])],
        lights=_lights(history),
        findings=[f"{sentence}." for sentence in sentences(history)],
        forests=[],
        alerts=sentences_of(all_warnings(history)),
        facts=[
            ("threshold", f"{100 * history.threshold:g} %"),
            ("false alarms", certainty_words(history)),
            ("machine", history.host),
        ],
        cards=[_card(series, history, number) for number, series in enumerate(history.series)],
        sections=[_commits(history)],
    )


def _without_steps(history: History) -> VerdictChip:
    """What it means that no step is told."""
    is_known = all(has_no_step(history, series) for series in history.series)
    return VerdictChip("same", "no step") if is_known else VerdictChip("cannot-tell", "cannot tell")


def _lights(history: History) -> list[TrustLight]:
    """Whether commits are compared round by round, and whether a step could be seen."""
    apart = [series for series in history.series if not series.n_rounds]
    blind = [series for series in history.series if not series.layouts.can_tell and not series.is_one_program]
    hidden = max((series.resolution or 0.0 for series in history.series), default=0.0)
    shown = "a step can be told"
    if all(series.is_one_program for series in history.series):
        shown = "all are one program"
    elif hidden > history.threshold:
        shown = f"a step of more than about {size_of_step(hidden)} can be told"
    names = first_names([series_name(series, history.series) for series in apart], 3)
    few = first_names([series_name(series, history.series) for series in blind], 3)
    which = f"{few}: " if len(blind) < len(history.series) else ""
    missing = "layouts" if blind and all(map(has_few_layouts, blind)) else "commits"
    why = "too few layouts in common" if all(map(has_few_layouts, apart)) else "measured at different times"
    return [
        TrustLight(
            "Measured side by side",
            "doubtful" if apart else "good",
            f"{names}: {why}" if apart else "all commits in the same rounds",
            "commits",
        ),
        TrustLight(
            f"Enough {missing}",
            "unknown" if blind else "good",
            f"{which}so few {missing} cannot show a step" if blind else shown,
            "commits",
        ),
    ]


def _card(series: CommitSeries, history: History, number: int) -> BenchmarkCard:
    name = series_name(series, history.series)
    return BenchmarkCard(
        anchor=f"series-{number}",
        name=name,
        order=max((abs(step.ratio.centre - 1) for step in series.steps), default=0.0),
        chips=[
            VerdictChip(
                _CHIPS[step.verdict],
                f"{STEP_SYMBOLS[step.verdict]} {step_verdict(series, step)} {step_words(step)}",
            )
            for step in series.steps
        ],
        sentences=[
            *(f"{each}." for each in sentences_of_series(history, series)),
            f"Compared by {how_compared(series)}.",
        ],
        figures=[_figure(series, history, name, f"series-{number}-course")],
    )


def _figure(series: CommitSeries, history: History, name: str, anchor: str) -> Figure:
    """The mean over layouts of each commit with its interval, and stock, in the order of commits."""
    rows = [(point, commit) for point in series.points for commit in point.commits]
    told = MarkData(
        series.system, series.unit, [commit.short for _, commit in rows], [point.mean.centre for point, _ in rows]
    )
    centres = [(float(k), point.mean.centre) for k, (point, _) in enumerate(rows, 1)]
    stocks = [(float(k), point.stock) for k, (point, _) in enumerate(rows, 1) if point.stock is not None]
    drawn = [
        plot.Series("mean over layouts", 0, "points", centres, told),
        plot.Series("its interval", 0, "dashed", _bound(rows, low=True)),
        plot.Series("", 0, "dashed", _bound(rows, low=False)),
        *([plot.Series("as built", 2, "points", stocks)] if stocks else []),
    ]
    starts = {id(point): k for k, (point, _) in reversed(list(enumerate(rows, 1)))}
    verticals = [
        plot.VerticalLine(
            starts[id(series.points[step.place])] - 0.5, 1, step_place(history, series, step).commit.short
        )
        for step in series.steps
        if step.verdict in {"slower", "faster"}
    ]
    chart = plot.Plot(
        title=f"{name} over commits",
        description=f"The mean over layouts of {len(rows)} commits, {len(series.steps)} steps, and stock beside it.",
        x_label="commit, the oldest first",
        counts_x=True,
        y_label=f"{series.metric} ({series.unit})" if series.unit != "1" else series.metric,
        series=drawn,
        verticals=verticals,
    )
    caption = "Vertical lines are steps of the means. What only the triangles show is where one build's code landed."
    return Figure("Over commits", plot.draw(chart), caption, _table(series, rows), anchor=anchor)


def _bound(rows: Sequence[tuple[HistoryPoint, LoggedCommit]], *, low: bool) -> list[plot.Point]:
    bounds = [(float(k), point.mean.low if low else point.mean.high) for k, (point, _) in enumerate(rows, 1)]
    return [(k, bound) for k, bound in bounds if math.isfinite(bound)]


def _table(series: CommitSeries, rows: Sequence[tuple[HistoryPoint, LoggedCommit]]) -> Table:
    columns = ("commit", "date", "mean", "interval", "layouts", "as built", "subject")
    cells = [
        (
            commit.short,
            _date(commit),
            *estimate(point.mean.centre, point.mean.low, point.mean.high, series.unit),
            str(point.n_layouts),
            "-" if point.stock is None else quantity(point.stock, series.unit),
            commit.subject,
        )
        for point, commit in rows
    ]
    return Table("Over commits", columns, cells)


def _commits(history: History) -> Chapter:
    """Which commits there are, and which of them were measured."""
    measured = {c.commit for series in history.series for point in series.points for c in point.commits}
    rows = [
        (commit.short, _date(commit), "yes" if commit.commit in measured else "no", commit.subject)
        for commit in history.commits
        if commit.commit in measured or len(history.commits) <= _MOST_LISTED
    ]
    text = f"{len(measured):,} of {len(history.commits):,} commits were measured."
    table = Table("Commits", ("commit", "date", "measured", "subject"), rows, is_text=True)
    return Chapter("commits", "Commits", [text], tables=[table])


_MOST_LISTED: Final = 200


def _date(commit: LoggedCommit) -> str:
    return commit.day or "-"
