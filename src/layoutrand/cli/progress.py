"""What a run shows while it goes on: drawn between executions, never during one.

No thread refreshes anything and no timer draws: all of it happens in the call that says an execution is done, which
comes after that execution ended and before the next is started.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich.markup import escape

from layoutrand.cli.terminal import Terminal, time_left
from layoutrand.screens.display import printable
from layoutrand.text.quantities import estimate, two_digits

if TYPE_CHECKING:
    from layoutrand.analysis.display_names import DisplayNames
    from layoutrand.execute.live import RatioStanding, Standing
    from layoutrand.execute.run_progress import RunProgress

_DRAW_S: Final = 0.25
"""Executions may be shorter than drawing takes, so not each of them is drawn."""

_LINE_S: Final = 10.0
_AROUND: Final = 4
"""Lines of the terminal that are not for benchmarks: the bar, the heading, what is left out, the prompt."""

_THRESHOLD: Final = 0.01
"""What `compare` takes for the same, unless it is told otherwise."""

Advance = Callable[["RunProgress"], None]


class FirstVerdicts:
    """Of each ratio the first verdict: the intervals of all looks hold together, so a later one takes it not back."""

    def __init__(self) -> None:
        """Begin with nothing settled."""
        self._first: dict[tuple[str, str, str], tuple[str, int]] = {}

    def of(self, standing: RatioStanding) -> tuple[str, int]:
        """The verdict and the rounds that it took; "" and the rounds so far as long as it is open."""
        key = standing.benchmark, standing.baseline, standing.candidate
        verdict = _verdict(standing)
        if verdict:
            self._first.setdefault(key, (verdict, standing.n_rounds))
        return self._first.get(key, ("", standing.n_rounds))


@contextmanager
def show_progress(terminal: Terminal, confidence: float, names: DisplayNames) -> Iterator[Advance]:
    """A bar with the time left and each benchmark's mean so far on a terminal, a line every ten seconds elsewhere.

    ``names`` are those that people read.
    """
    if terminal.quiet:
        yield lambda _progress: None
    elif sys.stderr.isatty() and not terminal.err.is_dumb_terminal:
        with _drawn(terminal, confidence, names) as advance:
            yield advance
    else:
        yield _plain(confidence, names)


@contextmanager
def _drawn(terminal: Terminal, confidence: float, names: DisplayNames) -> Iterator[Advance]:
    from rich import progress as bars
    from rich.console import Group
    from rich.live import Live as Screen

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn("{task.fields[left]}"),
    )
    bar = bars.Progress(*columns, auto_refresh=False)
    task = bar.add_task("executions", total=None, left="")
    console = terminal.err
    last, verdicts = -_DRAW_S, FirstVerdicts()
    with Screen(bar, console=console, transient=True, auto_refresh=False) as screen:

        def advance(progress: RunProgress) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last < _DRAW_S and progress.done < progress.total:
                return
            bar.update(task, completed=progress.done, total=progress.total, left=_left(progress))
            known = ratio_lines(names.given_each(progress.live.ratios(confidence=confidence)), verdicts)
            ratios = known[: max(0, console.height // 2 - _AROUND)]
            room = console.height - _AROUND - len(ratios)
            standings = names.given_each(progress.live.standings(confidence=confidence))
            rows = [*ratios, *standing_lines(standings, room)]
            screen.update(Group(bar, *(escape(printable(row)) for row in rows)), refresh=True)
            last = time.monotonic()

        yield advance


def _plain(confidence: float, names: DisplayNames) -> Advance:
    last, verdicts = time.monotonic(), FirstVerdicts()

    def advance(progress: RunProgress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _LINE_S or progress.done == progress.total:
            return
        last = now
        standings = names.given_each(progress.live.standings(confidence=confidence))
        widest = f"; widest: {_standing(_by_width(standings)[0])}" if standings else ""
        settled = _settled(progress.live.ratios(confidence=confidence), verdicts)
        far = f"executions: {progress.done} of {progress.total}{_comma(_left(progress))}"
        sys.stderr.write(printable(f"{far}{settled}{widest}") + "\n")

    return advance


def ratio_lines(ratios: Sequence[RatioStanding], verdicts: FirstVerdicts) -> list[str]:
    """One line for each benchmark that has a ratio with bounds: its verdict, once it is settled, or how it stands."""
    from layoutrand.analysis.verdict_marks import change_words

    lines = []
    for each in ratios:
        if not math.isfinite(each.ratio.half_width):
            continue
        verdict, n_rounds = verdicts.of(each)
        centre, ends = change_words(each.ratio)
        how = f"{verdict or 'open'} after {n_rounds} rounds"
        lines.append(f"{each.benchmark}: {each.candidate} against {each.baseline} {how}: {centre} {ends}")
    return lines


def _verdict(standing: RatioStanding) -> str:
    """What no further look takes back but with the probability that the interval states; "" as long as it is open."""
    from layoutrand.analysis.conclusion import of_statistics
    from layoutrand.analysis.conclusion_words import is_speed, verdict_words
    from layoutrand.stats import decide

    verdict = of_statistics(decide(standing.ratio, _THRESHOLD, better=standing.better))
    return "" if verdict == "cannot tell" else verdict_words(verdict, 0, of_speed=is_speed(standing))


def _settled(ratios: Sequence[RatioStanding], verdicts: FirstVerdicts) -> str:
    """``; settled: 2 of 5 (1 faster, 1 same)``."""
    if not ratios:
        return ""
    counts = Counter(verdict for each in ratios if (verdict := verdicts.of(each)[0]))
    which = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    return f"; settled: {sum(counts.values())} of {len(ratios)}{f' ({which})' if which else ''}"


def standing_lines(standings: Sequence[Standing], most: int) -> list[str]:
    """One line for each benchmark and system; where there is no room for all, those that are known worst."""
    if len(standings) <= max(most, 1):
        return [_standing(standing) for standing in standings]
    shown = _by_width(standings)[: max(most, 1)]
    return [*map(_standing, shown), f"and {len(standings) - len(shown)} more that are known better"]


def _by_width(standings: Sequence[Standing]) -> list[Standing]:
    return sorted(standings, key=lambda s: (s.relative_half_width is not None, -(s.relative_half_width or 0.0)))


def _standing(standing: Standing) -> str:
    binaries = "1 binary" if standing.n_binaries == 1 else f"{standing.n_binaries} binaries"
    relative = standing.relative_half_width
    width = "" if relative is None else f" ± {two_digits(relative)}"
    away = math.inf if relative is None else abs(standing.mean) * relative
    mean, _ = estimate(standing.mean, standing.mean - away, standing.mean + away, standing.unit)
    return f"{standing.benchmark}, {standing.system}: {mean}{width} ({binaries})"


def _left(progress: RunProgress) -> str:
    return time_left(progress.live.remaining_s() if progress.done < progress.total else None)


def _comma(text: str) -> str:
    return f", {text}" if text else ""
