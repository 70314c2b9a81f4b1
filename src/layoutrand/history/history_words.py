"""Steps of a history in words, for screens, pages and documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from layoutrand.analysis.comparison_document import interval_json
from layoutrand.analysis.conclusion_words import is_speed, no_time_words, reason_json, verdict_words
from layoutrand.analysis.next_steps import has_more_layouts
from layoutrand.analysis.reasons import Reason, reasons
from layoutrand.analysis.verdict_marks import change_words
from layoutrand.capture.commit_log import LoggedCommit
from layoutrand.config.execution_warnings import DisturbedExecutions, disturbed_together
from layoutrand.history.history_values import CommitSeries, History, HistoryPoint, HistoryStep, StepVerdict
from layoutrand.history.history_warnings import FEWEST_ROUNDS, MORE_COMMITS, told_together
from layoutrand.stats import Interval
from layoutrand.text.name_lists import MOST_NAMED
from layoutrand.text.quantities import estimate
from layoutrand.warning import AnyWarning, plural, sentences_of

STEP_SYMBOLS: Final[Mapping[StepVerdict, str]] = {
    "faster": "✓",
    "slower": "✗",
    "small": "≈",
    "about the threshold": "?",
    "size unknown": "?",
    "layout only": "ⓘ",
    "cannot tell": "?",
}

NOTABLE: Final[frozenset[StepVerdict]] = frozenset(
    {"faster", "slower", "about the threshold", "size unknown", "layout only", "cannot tell"}
)
"""Steps that are told one by one at first sight; small ones are counted."""


_WHOLE: Final = 10
"""Percent from which on digits after the point say nothing."""


@dataclass(frozen=True)
class StepPlace:
    """Where a step lies: it is at ``commit`` or at one of ``others`` beside it, of which some may not be measured.

    ``good`` is the last commit that is known to lie before it, for `layoutrand bisect`.
    """

    good: LoggedCommit
    commit: LoggedCommit
    others: int

    def __str__(self) -> str:
        if not self.others:
            return self.commit.short
        return f"{self.commit.short} or {self.others} other{'' if self.others == 1 else 's'}"


def step_place(history: History, series: CommitSeries, step: HistoryStep) -> StepPlace:
    """Where a step lies, among all commits of the history."""
    good = series.points[step.first - 1].commits[-1]
    last = series.points[step.last].commits[0]
    numbers = {commit.commit: number for number, commit in enumerate(history.commits)}
    between = 1
    if good.commit in numbers and last.commit in numbers:
        between = max(1, numbers[last.commit] - numbers[good.commit])
    return StepPlace(good, series.points[step.place].commit, between - 1)


def step_verdict(series: CommitSeries, step: HistoryStep) -> str:
    """The verdict of a step; of counts "more" or "less", since fewer need not be faster."""
    match step.verdict:
        case "slower" | "faster" as verdict:
            return verdict_words(verdict, 0, of_speed=is_speed(series))
        case other:
            return other


def step_words(step: HistoryStep) -> str:
    """Size and interval of a step in the means over layouts, and what stock shows."""
    size, interval = change_words(step.ratio)
    if step.verdict in {"layout only", "cannot tell"} and step.stock is not None:
        return f"as built {change_words(step.stock)[0]}, layouts {size} {interval}"
    return f"{size} {interval}"


def sees_threshold(history: History, series: CommitSeries) -> bool:
    """Whether a step as large as the threshold would have shown."""
    return series.resolution is not None and series.resolution <= history.threshold


def has_no_step(history: History, series: CommitSeries) -> bool:
    """Whether it is known that there is no step beyond the threshold, where none is told."""
    if series.is_one_program:
        return True
    if not series.layouts.can_tell:
        return False
    return sees_threshold(history, series) or (bool(series.layouts.steps) and series.clock is None)


def no_step(history: History, series: CommitSeries) -> str:
    """What it means that no step is told: that there is none, or that noise or steps of a clock would hide it."""
    if series.is_one_program:
        return "same program at all commits"
    if has_no_step(history, series):
        return f"no step beyond {100 * history.threshold:g} %"
    why = "".join(f" ({each.cause})" for each in reasons_of(series))
    if not series.layouts.can_tell or (series.resolution is None and not why):
        if len(series.points) > 1 and not series.n_common:
            return "cannot tell: too few commits for what was measured at different times"
        return f"cannot tell: too few {'layouts' if has_few_layouts(series) else 'commits'}"
    if series.resolution is None:
        return f"cannot tell{why}"
    return f"cannot tell: a step below about {size_of_step(series.resolution)} would not show{why}"


def of_one_commit(history: History) -> str:
    """What is said in place of all series where only one commit was measured; empty where there are more."""
    measured = {commit.commit for series in history.series for point in series.points for commit in point.commits}
    return f"cannot tell: one commit cannot show a step; {MORE_COMMITS}" if len(measured) == 1 else ""


def size_of_step(resolution: float) -> str:
    """How large a step has to be to show, in a few digits."""
    size = 100 * resolution
    return f"{size:.0f} %" if size >= _WHOLE else f"{size:.2g} %"


def disturbed(history: History) -> list[tuple[str, tuple[Reason, ...]]]:
    """Benchmark -> that so many of its executions were disturbed as cast doubt on its numbers, if they were.

    What is one program at all commits is so without a number.
    """
    told = [each for each in history.warnings if isinstance(each, DisturbedExecutions)]
    names = dict.fromkeys(series.benchmark for series in history.series if not series.is_one_program)
    return [(name, reasons(each for each in told if each.row.benchmark == name)) for name in names]


def all_warnings(history: History, most: int = MOST_NAMED) -> list[AnyWarning]:
    """What is to be known of the history and of its series, each once, with ``most`` names of benchmarks."""
    of_series = [each for series in history.series for each in series.warnings]
    return disturbed_together([*history.warnings, *told_together(of_series, most)])


def reasons_of(series: CommitSeries) -> tuple[Reason, ...]:
    """Why steps may be there that are not told, where that is no matter of noise."""
    return () if series.clock is None else reasons([series.clock])


def sentences(history: History) -> list[str]:
    """Every step in a sentence that can be quoted, and of series without one that they have none."""
    return [each for series in history.series for each in sentences_of_series(history, series)]


def sentences_of_series(history: History, series: CommitSeries) -> list[str]:
    """Those of one series."""
    name = f"{series.benchmark}, {series.system}, {series.metric}"
    if not series.steps:
        return [f"{name}: {no_step(history, series)}, over {plural(len(series.points), 'program')}"]
    said = []
    for step in series.steps:
        place = step_place(history, series, step)
        beside = "" if step.stock is None else f"; as built {change_words(step.stock)[0]}"
        subject = f" ({place.commit.subject})" if place.commit.subject else ""
        words = " ".join(change_words(step.ratio))
        said.append(f"{name}: {step_verdict(series, step)}: {words} over layouts{beside}, at {place}{subject}")
    return said


def no_time_sentences(history: History) -> list[str]:
    """What is followed that is no speed, where a series is shown without the name of its metric."""
    return no_time_words(
        (series.benchmark, series.metric)
        for series in history.series
        if not is_speed(series) and not series.is_one_program and not _names_metric(history.series)
    )


def certainty_words(history: History) -> str:
    """How often steps are told where there are none, and what that takes for granted."""
    text = f"of histories without a step at most {100 * (1 - history.confidence):g} % show one, for each series"
    if not any(series.is_apart for series in history.series):
        return text
    return (
        f"{text}; of commits measured at different times more do where the machine is slow for some of them on end, "
        "which looks like a step"
    )


def how_compared(series: CommitSeries) -> str:
    """What the steps of a series rest on."""
    if series.n_rounds:
        return f"{series.n_rounds} layouts that all have, round by round"
    if has_few_layouts(series):
        n = plural(series.n_common, "layout")
        return f"means alone, as commits have {n} in common and it takes {FEWEST_ROUNDS} to compare them round by round"
    return "means measured at different times, so what times add counts as noise"


def has_few_layouts(series: CommitSeries) -> bool:
    """Whether commits were measured in the same rounds, but in too few of them to be compared within these."""
    return len(series.points) > 1 and 0 < series.n_common < FEWEST_ROUNDS


def seeds_with_more(series: CommitSeries) -> int | None:
    """How many seeds give more layouts than were measured; None where hardly any do."""
    n, few = series.n_rounds, series.n_distinct
    return 2 * n if few is None or has_more_layouts(n, few) else None


def history_document(history: History) -> dict[str, Any]:
    """``layoutrand/history/1``."""
    return {
        "schema": "layoutrand/history/1",
        "project": history.project,
        "host": history.host,
        "confidence": history.confidence,
        "threshold": history.threshold,
        "commits": [commit.to_json() for commit in history.commits],
        "series": [_series_json(history, series) for series in history.series],
        "warnings": sentences_of(all_warnings(history)),
    }


def _series_json(history: History, series: CommitSeries) -> dict[str, Any]:
    return {
        "system": series.system,
        "benchmark": series.benchmark,
        "metric": series.metric,
        "unit": series.unit,
        "better": series.better,
        "compared": "by round" if series.n_rounds else "by mean",
        "n_rounds": series.n_rounds,
        "can_tell": series.layouts.can_tell,
        "resolution": series.resolution,
        "reasons": [reason_json(each) for each in reasons_of(series)],
        "points": [_point_json(point) for point in series.points],
        "steps": [_step_json(history, series, step) for step in series.steps],
        "sentences": sentences_of_series(history, series),
    }


def _point_json(point: HistoryPoint) -> dict[str, Any]:
    return {
        "commits": [commit.commit for commit in point.commits],
        "capture": point.capture,
        "mean": point.mean.centre,
        **interval_json(point.mean),
        "n_layouts": point.n_layouts,
        "n_executions": point.n_executions,
        "stock": point.stock,
        "n_stock": point.n_stock,
    }


def _step_json(history: History, series: CommitSeries, step: HistoryStep) -> dict[str, Any]:
    place = step_place(history, series, step)
    return {
        "verdict": step.verdict,
        "commit": place.commit.commit,
        "after": place.good.commit,
        "n_other_commits": place.others,
        "place": step.place,
        "first": step.first,
        "last": step.last,
        "ratio": step.ratio.centre,
        **interval_json(step.ratio),
        "stock": _ratio_json(step.stock),
    }


def _ratio_json(ratio: Interval | None) -> dict[str, Any] | None:
    return None if ratio is None else {"ratio": ratio.centre, **interval_json(ratio)}


def series_name(series: CommitSeries, all_series: Sequence[CommitSeries]) -> str:
    """Benchmark, system and metric, as far as they tell series apart."""
    parts = [series.benchmark]
    if len({each.system for each in all_series}) > 1:
        parts.append(series.system)
    if _names_metric(all_series):
        parts.append(series.metric)
    return " ".join(parts)


def from_to(series: CommitSeries) -> str:
    """The mean over layouts of the first point and of the last."""
    means = [point.mean for point in (series.points[0], series.points[-1])]
    first, last = (estimate(mean.centre, mean.low, mean.high, series.unit)[0] for mean in means)
    number, _, unit = first.partition(" ")
    return f"{number} → {last}" if last.endswith(f" {unit}") or not unit else f"{first} → {last}"


def _names_metric(all_series: Sequence[CommitSeries]) -> bool:
    return len({(each.benchmark, each.system) for each in all_series}) < len(all_series)
