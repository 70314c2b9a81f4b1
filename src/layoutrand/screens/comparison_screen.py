"""The first screen of `compare`: the answer, within a screen; `--full` has the tables behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len

from layoutrand.analysis.conclusion import (
    CANNOT_TELL,
    Conclusion,
    Verdict,
    all_of,
    counted,
    of_pair,
    of_statistics,
    of_suite,
)
from layoutrand.analysis.conclusion_words import is_speed, no_time_words, verdict_words
from layoutrand.analysis.next_steps import USUAL_LAYOUTS
from layoutrand.analysis.verdict_marks import SYMBOLS, change_words, in_a_word, size_in_brief
from layoutrand.execute.output_warnings import SystemsPrintOther
from layoutrand.screens.charts import SCREEN_LINES, Line, PercentAxis, paragraph, screen_width
from layoutrand.screens.screen_parts import (
    GAP,
    beside_or_below,
    failure_lines,
    filled,
    header,
    missed_lines,
    next_lines,
    order_lines,
    possible_steps,
    remark_lines,
    source_facts,
    warning_lines,
    with_note,
    wrapped,
)
from layoutrand.screens.self_comparison import beside_lines, floor_lines, without_told
from layoutrand.text.distinct_names import distinct_names
from layoutrand.text.name_lists import first_names
from layoutrand.text.quantities import has_no_lower_bound, spans_tenfold

if TYPE_CHECKING:
    from layoutrand.analysis.aa import Halves, SelfComparison
    from layoutrand.analysis.compare import BenchmarkRatio, Comparison
    from layoutrand.analysis.selection import Selection
    from layoutrand.stats import Interval

MOST_ROWS: Final = 8
"""Benchmarks that are shown one by one; of more those that are the same are counted."""

_FEWEST_DRAWN: Final = 5
"""Benchmarks that are worth a figure where others are folded."""

_FIRST_TOLD: Final[dict[Verdict, int]] = {"slower": 0, "faster": 1, "cannot tell": 2}

VERDICT_STYLES: Final[dict[Verdict, str]] = {
    "faster": "green",
    "slower": "red",
    "same": "blue",
    "cannot tell": "yellow",
    "same program": "blue",
}


class _Row(NamedTuple):
    """One benchmark, or all of them; ``pair`` is None for these."""

    name: str
    concluded: Conclusion
    ratio: Interval | None
    of_speed: bool
    pair: BenchmarkRatio | None


def comparison_screen(
    results: Sequence[Comparison], selection: Selection, columns: int | None, selves: Sequence[SelfComparison] = ()
) -> list[Line]:
    """The lines of all comparisons, for so many columns; None where there is no terminal.

    ``selves`` are systems against themselves, where they were executed twice.  What does not fit into a screen is left
    to `--full` (`_ways`).
    """
    selection = without_told(selection, selves)
    return _fitting(_ways(results), partial(_comparisons, results, selection, columns, selves))


def _ways(results: Sequence[Comparison]) -> list[tuple[int, bool]]:
    """How many benchmarks may be shown one by one, and whether the figures are, in the order of what is wished for.

    Figures repeat the tables, so they give way before rows do, but for those of what is the same where more are folded.
    """
    fewest = MOST_ROWS
    if len(results) == 1 and len(rows := _rows(results[0])) > MOST_ROWS:
        telling = [row for row in rows if row.pair is None or row.concluded.verdict in _FIRST_TOLD]
        fewest = min(MOST_ROWS, max(_FEWEST_DRAWN, len(telling)))
    return [
        *((most, True) for most in range(MOST_ROWS, fewest - 1, -1)),
        *((k, False) for k in range(MOST_ROWS, 0, -1)),
    ]


def _fitting(ways: Sequence[tuple[int, bool]], screen: Callable[..., list[Line]]) -> list[Line]:
    """The screen of the first way in which it fits, or of the last."""
    found: list[Line] = []
    for most, drawn in ways:
        found = screen(most_rows=most, drawn=drawn)
        if len(found) <= SCREEN_LINES:
            break
    return found


def _comparisons(
    results: Sequence[Comparison],
    selection: Selection,
    columns: int | None,
    selves: Sequence[SelfComparison],
    *,
    most_rows: int,
    drawn: bool,
) -> list[Line]:
    width = screen_width(columns)
    facts = source_facts(selection)
    shown = [(pair.benchmark, pair.instrument) for result in results for pair in result.benchmarks]
    rest = [*failure_lines(selection, width), *remark_lines(selection, shown, width), *order_lines(selection, width)]
    rest += beside_lines(selves, results[0].confidence, width)
    lines: list[Line] = []
    for result in results:
        lines += [*_screen(result, facts, width, most_rows=most_rows, drawn=drawn), []]
        if notes := [*_notes(result, width), *(rest if result is results[-1] else ())]:
            lines += [*notes, []]
    steps = [step for result in results for each in all_of(result) for step in each.next]
    most = max((max(pair.n_baseline, pair.n_candidate) for result in results for pair in result.benchmarks), default=0)
    return [*lines, *next_lines(possible_steps(steps, selection, most), width)]


def self_screen(halves: Halves, selection: Selection, columns: int | None) -> list[Line]:
    """The lines of a system against itself: all that its sides differ by is noise, and how much that is.

    What does not fit into a screen is left to `--full`, as of other comparisons.
    """
    return _fitting(_ways([halves.comparison]), partial(_halves, halves, selection, screen_width(columns)))


def _halves(halves: Halves, selection: Selection, width: int, *, most_rows: int, drawn: bool) -> list[Line]:
    result, title = halves.comparison, f"{halves.system} against itself"
    shown = [(pair.benchmark, pair.instrument) for pair in result.benchmarks]
    lines = [*_screen(result, source_facts(selection), width, title, most_rows=most_rows, drawn=drawn), []]
    lines += wrapped("ⓘ", "cyan", f"An A/A test ({halves.sides}): whatever differs is noise.", width)
    noise = [row for row in halves.noise if row.sides == halves.sides]
    lines += floor_lines(noise, result.confidence, width)
    rows = _rows(result)
    told = [(row.name, [each for each in row.concluded.reasons if each.cause != "same binaries"]) for row in rows]
    lines += _no_time_lines(result, width)
    lines += [
        *warning_lines(told, width, whole=_name_of_all(rows)),
        *failure_lines(selection, width),
        *remark_lines(selection, shown, width),
    ]
    steps = [step for each in all_of(result) for step in each.next]
    most = max((max(pair.n_baseline, pair.n_candidate) for pair in result.benchmarks), default=0)
    return [*lines, [], *next_lines(possible_steps(steps, selection, most), width)]


def _screen(
    result: Comparison,
    facts: Sequence[str],
    width: int,
    title: str = "",
    *,
    most_rows: int,
    drawn: bool,
) -> Iterator[Line]:
    """What was compared, the verdicts of so many benchmarks, and a figure of the intervals where it is ``drawn``."""
    shown, folded = _shown(_rows(result), most_rows)
    title = title or f"{result.candidate} against {result.baseline}"
    yield from header(title, [_counts(result), *facts], width)
    yield []
    yield from _table(shown, result, width)
    if folded:
        words = f"and {', '.join(_folded_words(folded, result))}"
        yield from ([(text, "dim") for text, _ in line] for line in paragraph(words, "    ", width))
    if drawn and (figure := list(_forest(shown, result, width))):
        yield []
        yield from figure


def _notes(result: Comparison, width: int) -> list[Line]:
    """What is no time, what the own builds would have said, what "same" says nothing of, and what casts doubt."""
    rows = _rows(result)
    about = [(row.name, row.concluded.reasons) for row in rows]
    first = [
        *_no_time_lines(result, width),
        *as_built_lines(result, width),
        *not_seen_lines([(row.name, row.concluded, row.pair) for row in rows], width),
    ]
    return [*first, *_other_outputs(result, width), *warning_lines(about, width, whole=_name_of_all(rows))]


def _name_of_all(rows: Sequence[_Row]) -> str:
    """What the row over all benchmarks is called; empty where there is none."""
    return next((row.name for row in rows if row.pair is None), "")


def _no_time_lines(result: Comparison, width: int) -> list[Line]:
    """What benchmarks are judged by that are judged by no time, whose rows say "less" and "more"."""
    counts = [(pair.benchmark, pair.metric) for pair in result.benchmarks if not is_speed(pair)]
    return [line for text in no_time_words(counts) for line in wrapped("ⓘ", "cyan", text, width)]


def not_seen_lines(rows: Sequence[tuple[str, Conclusion, BenchmarkRatio | None]], width: int) -> list[Line]:
    """How rare layouts may be of which "same" says nothing: of fewer than the usual number none need be in the sample.

    Where one system alone has 10 % of them, 30 % slower, 10 layouts are called the same within 1 % in 34 of 100 cases,
    30 in 4.  ``rows`` have a name, what is concluded, and the pair, of which `check` has 8 layouts, often, and then 43
    of 100.
    """
    same = [(name, pair) for name, concluded, pair in rows if pair is not None and concluded.verdict == "same"]
    counted = [(name, pair.could_miss, min(pair.n_baseline, pair.n_candidate)) for name, pair in same]
    few = [each for each in counted if each[2] < USUAL_LAYOUTS]
    names, counts = [name for name, *_ in few], [(share, n) for _, share, n in few]
    return missed_lines(SYMBOLS["same"], VERDICT_STYLES["same"], "the same", names, len(rows), counts, width)


def _other_outputs(result: Comparison, width: int) -> list[Line]:
    """That the two systems print other things, on which benchmarks."""
    found = [each for pair in result.benchmarks for each in pair.warnings if isinstance(each, SystemsPrintOther)]
    names = list(dict.fromkeys(each.benchmark for each in found))
    if not names:
        return []
    where = f"{first_names(names, 2)}: " if len(result.benchmarks) > 1 else ""
    return wrapped("ⓘ", "cyan", f"{where}{found[0].brief()}", width)


def _rows(result: Comparison) -> list[_Row]:
    rows = [_Row(pair.benchmark, of_pair(result, pair), pair.ratio, is_speed(pair), pair) for pair in result.benchmarks]
    suite, over_all = result.suite, of_suite(result)
    if suite is not None and over_all is not None and suite.n_benchmarks > 1:
        name = f"all {suite.n_benchmarks} (geometric mean)"
        rows.append(_Row(name, over_all, suite.ratio, is_speed(result.benchmarks[0]), None))
    names = [row.name for row in rows]
    return [
        row if row.pair is None or names.count(row.name) == 1 else row._replace(name=f"{row.name} {row.pair.metric}")
        for row in rows
    ]


def _shown(rows: Sequence[_Row], most: int) -> tuple[list[_Row], list[_Row]]:
    """Those that are told one by one, in their order, and the others."""
    if len(rows) <= most:
        return list(rows), []
    alone = [row for row in rows if row.pair is not None]
    chosen = sorted(alone, key=lambda row: (_FIRST_TOLD.get(row.concluded.verdict, 3), -_size(row)))[: most - 1]
    kept = [row for row in rows if row.pair is None or row in chosen]
    return kept, [row for row in alone if row not in chosen]


def _folded_words(folded: Sequence[_Row], result: Comparison) -> list[str]:
    """How many rows have which verdict, and how many of these are doubtful, as beside a folded row nothing says it."""
    found: dict[str, list[bool]] = {}
    for verdict in counted([row.concluded for row in folded]):
        for row in folded:
            if row.concluded.verdict == verdict:
                words = verdict_words(verdict, result.threshold, of_speed=row.of_speed)
                found.setdefault(words, []).append(row.concluded.trust == "doubtful")
    told = []
    for words, doubts in found.items():
        doubtful = "doubtful" if all(doubts) else f"{sum(doubts)} doubtful"
        told.append(f"{len(doubts)} {words}" + (f" ({doubtful})" if any(doubts) and words != CANNOT_TELL else ""))
    return told


def _size(row: _Row) -> float:
    return 0.0 if row.ratio is None or row.ratio.centre <= 0 else abs(math.log(row.ratio.centre))


def _counts(result: Comparison) -> str:
    pairs = result.benchmarks
    numbers = {number for pair in pairs for number in (pair.n_baseline, pair.n_candidate)}
    kinds = {kind for pair in pairs for kind in pair.counted}
    what = {"binaries": "layouts", "executions": "executions"}.get(next(iter(kinds)), "") if len(kinds) == 1 else ""
    low, high = min(numbers), max(numbers)
    if low == high == 1 and what:
        return f"1 {what.removesuffix('s')} each"
    return f"{low:,} {what or 'binaries or executions'} each" if low == high else f"{low:,} to {high:,} {what}".rstrip()


def _table(rows: Sequence[_Row], result: Comparison, width: int) -> Iterator[Line]:
    cells = [_cells(row, result) for row in rows]
    widths = [max(cell_len(each[place]) for each in cells) for place in range(4)]
    indent = min(widths[0], max(12, width - sum(widths[1:]) - 4 - 3 * GAP))
    for row, (name, verdict, centre, interval) in zip(rows, cells, strict=True):
        symbol, style = SYMBOLS[row.concluded.verdict], VERDICT_STYLES[row.concluded.verdict]
        line: Line = [("  ", ""), (symbol, f"bold {style}"), (" ", "")]
        if cell_len(name) > indent:  # the name stands whole, on a line of its own
            yield [*line, (name, "")]
            line = [(" " * (4 + indent), "")]
        else:
            line += [(filled(name, indent), "")]
        gap = (" " * GAP, "")
        line += [gap, (filled(verdict, widths[1]), style), gap, (centre.rjust(widths[2]), "")]
        *above, line = beside_or_below(line, filled(interval, widths[3]), "dim", width)
        yield from above
        note, is_needed = in_a_word(row.concluded, row.pair), not _is_told_below(row.concluded)
        yield from with_note(line, note, "yellow", width, is_needed=is_needed)


def _is_told_below(concluded: Conclusion) -> bool:
    """Whether warnings or the next steps say why nobody can tell; that a verdict is doubtful stands beside it alone."""
    causes = [each.cause for each in concluded.reasons if each.effect == "undecides"]
    has_steps = any(step.command or step.short for step in concluded.next)
    return concluded.verdict == "cannot tell" and (has_steps or set(causes) != {"interval too wide"})


def _cells(row: _Row, result: Comparison) -> tuple[str, str, str, str]:
    verdict = verdict_words(row.concluded.verdict, result.threshold, of_speed=row.of_speed)
    return (row.name, verdict, *change_words(row.ratio))


def _forest(rows: Sequence[_Row], result: Comparison, width: int) -> Iterator[Line]:
    drawn = [row for row in rows if row.ratio is not None and _has_a_place(row.ratio)]
    if not drawn:
        return
    name_width = min(max(cell_len(row.name) for row in drawn), width // 3)
    ends = [100 * (end - 1) for row in drawn if row.ratio for end in (max(row.ratio.low, 0.0), row.ratio.high)]
    axis = PercentAxis.of(ends, 100 * result.threshold, width - name_width - 6)
    yield [(" " * (name_width + 4), ""), (_sides(drawn, result, axis.columns), "dim")]
    for row, name in zip(drawn, distinct_names([row.name for row in drawn], name_width), strict=True):
        assert row.ratio is not None
        low, centre, high = (100 * (end - 1) for end in (row.ratio.low, row.ratio.centre, row.ratio.high))
        if has_no_lower_bound(row.ratio.centre, row.ratio.low):
            low = -math.inf
        style = VERDICT_STYLES[row.concluded.verdict]
        yield [("  ", ""), (filled(name, name_width), ""), ("  ", ""), *axis.interval(low, centre, high, style)]
    yield [(" " * (name_width + 4), ""), *axis.scale()]


def _has_a_place(ratio: Interval) -> bool:
    """Whether it is drawn: one that tells nothing would make the axis too coarse for all others."""
    return math.isfinite(ratio.half_width) and not spans_tenfold(ratio.low, ratio.high)


def _sides(rows: Sequence[_Row], result: Comparison, columns: int) -> str:
    """What lies to the left and to the right."""
    pairs = [row.pair for row in rows if row.pair is not None]
    if all(is_speed(pair) and pair.better == "less" for pair in pairs):
        left, right = "faster", "slower"
    elif all(pair.better == "more" for pair in pairs):
        left, right = "slower", "faster"
    else:
        left, right = "less", "more"
    ends = f"◄ {result.candidate} {left}", f"{result.candidate} {right} ►"
    middle = f"░ ±{100 * result.threshold:g} % ░" if result.threshold else ""
    rest = columns - sum(map(cell_len, ends))
    if rest < 1:  # the title says whose
        ends = f"◄ {left}", f"{right} ►"
        rest = columns - sum(map(cell_len, ends))
    if rest < cell_len(middle) + 2:
        middle = ""
    return ends[0] + middle.center(max(rest, 1)) + ends[1]


def as_built_lines(result: Comparison, width: int) -> list[Line]:
    """What the users' own two builds would have said, where that is something else."""
    found = []
    for pair in result.benchmarks:
        own = pair.as_built
        concluded = of_pair(result, pair).verdict
        if own is None or concluded == "same program" or not math.isfinite(own.ratio.half_width):
            continue
        would = of_statistics(own.verdict)
        if would in {concluded, "cannot tell"}:
            continue
        words = verdict_words(would, result.threshold, of_speed=is_speed(pair))
        has_several = sum(each.benchmark == pair.benchmark for each in result.benchmarks) > 1
        name = f"{pair.benchmark} {pair.metric}" if has_several else pair.benchmark
        found.append(f"{size_in_brief(own.ratio)} on {name} ({words})")
    if not found:
        return []
    text = f"Your own two builds alone would have said {first_names(found, 2)}."
    return wrapped("ⓘ", "cyan", text, width)
