"""Output: documents and tables on stdout, progress and remarks on stderr."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from layoutrand.cli.appearance import console
from layoutrand.screens.charts import Line, can_draw, paragraph, plain, screen_width
from layoutrand.screens.display import printable
from layoutrand.text.quantities import duration
from layoutrand.text.strict_json import json_text

if TYPE_CHECKING:  # what prints help, and nothing else, does without: it takes as long as all else that is imported
    from rich.console import Console

_PLAIN_INTERVAL_S = 10.0
_TELLING_S = 2.0
"""How long something must have gone on to tell how long the rest will take."""

_WIDTH_ELSEWHERE = 200
_LONGEST_NAMES = (20, 32)
"""Longest name in one line, on a narrow terminal and on a wide one; longer ones go on below."""

_WHOLE = re.compile(r"`[^`]*`| %")
_NO_BREAK = "\N{NO-BREAK SPACE}"
_GAP = 2
_KEYS = frozenset({"benchmark", "system", "metric", "control"})
"""Columns of names, which every part of a table that is too wide repeats."""


@dataclass(frozen=True)
class Terminal:
    """A `Display`: ``json`` makes stdout one document, ``quiet`` leaves out everything but results and errors."""

    json: bool
    quiet: bool
    subject: str = ""

    def about(self, subject: str) -> Terminal:
        """The same terminal, on which remarks, warnings and failures begin with what they are about."""
        return replace(self, subject=f"{subject}: ")

    @property
    def out(self) -> Console:
        """Results for people."""
        return console(highlight=False, soft_wrap=True)

    @property
    def err(self) -> Console:
        """Remarks."""
        return console(stderr=True, highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """A remark, unless quiet."""
        if not self.quiet:
            self.err.print(_shown(self.subject + text))

    def warn(self, text: str) -> None:
        """A warning; it is shown even when quiet, because nothing may go wrong silently."""
        self.err.print(f"[yellow]warning:[/] {_shown(self.subject + text)}")

    def fail(self, text: str) -> None:
        """A recorded failure."""
        self.err.print(f"[red]failed:[/] {_shown(self.subject + text)}")

    def document(self, value: Mapping[str, Any]) -> None:
        """The one JSON document on stdout."""
        sys.stdout.write(json_text(value))  # whole before any of it is printed

    def line(self, text: str = "") -> None:
        """A line of results."""
        if not self.json:
            self.out.print(_shown(text))

    def screen(self, lines: Sequence[Line]) -> None:
        """Lines of spans with styles, for people."""
        if self.json:
            return
        from rich.text import Text

        out = self.out
        for line in lines if can_draw() else map(plain, lines):
            spans = [(printable(text), style) for text, style in line]
            text = Text.assemble(*spans, overflow="ignore", no_wrap=True)
            text.rstrip()
            out.print(text)

    def sentence(self, text: str) -> None:
        """Results in words, in lines of the screen."""
        self.screen(paragraph(text, "", screen_width(terminal_width())))

    def item(self, text: str) -> None:
        """One of several sentences, in lines of the screen.

        A command in it, which is copied, stands in one line, and a number beside its unit.
        """
        whole = _WHOLE.sub(lambda found: found[0].replace(" ", _NO_BREAK), text)
        lines = paragraph(whole, "", screen_width(terminal_width()), below="  ")
        self.screen([[(part.replace(_NO_BREAK, " "), style) for part, style in line] for line in lines])

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table of results; all columns but the first are right-aligned.

        What is wider than the terminal goes on below, under the same names of benchmarks and systems, and so do the
        ends of long names; where there is no terminal every name stands in one line, to be searched for.
        """
        if self.json:
            return
        from rich.markup import escape
        from rich.table import Table

        cells = [[printable(cell) for cell in row] for row in rows]
        keys = max(1, next((n for n, name in enumerate(columns) if name not in _KEYS), len(columns)))
        room = terminal_width()
        width = _WIDTH_ELSEWHERE if room is None else room
        longest = sys.maxsize if room is None else min(max(_LONGEST_NAMES[0], width // 4), _LONGEST_NAMES[1])
        wide = console(highlight=False, width=max(width, _needed(columns, cells)) if room is None else room)
        for number, block in enumerate(_blocks(columns, cells, keys, width, longest)):
            if number == 0:  # by itself: above a narrow table it would be broken to the table's width
                wide.print(escape(printable(title)), style="bold", soft_wrap=room is None)
            table = Table(box=None, pad_edge=False)
            for place in block:
                is_name = place < keys
                table.add_column(
                    escape(printable(columns[place])),
                    justify="left" if is_name else "right",
                    overflow="fold",
                    no_wrap=room is None or not is_name,
                    max_width=longest if is_name and room is not None else None,
                )
            for row in cells:
                table.add_row(*(escape(row[place]) for place in block))
            wide.print(table)

    @contextmanager
    def progress(self, label: str, *, alike: bool = True) -> Iterator[Callable[[int, int], None]]:
        """A bar with the time since it began on a terminal, a line every ten seconds elsewhere.

        Takes how many are done, of how many.  Only where they are ``alike`` those that are done tell how long the
        others take: a link takes a thousandth of the build before it.
        A thread keeps it moving, so nothing may be measured meanwhile.
        """
        if self.quiet:
            yield lambda _done, _total: None
        elif sys.stderr.isatty():
            with self._bar(label) as update:
                yield update
        else:
            yield _plain(label, alike=alike)

    @contextmanager
    def _bar(self, label: str) -> Iterator[Callable[[int, int], None]]:
        from rich import progress as bars
        from rich.markup import escape

        counts = bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeElapsedColumn()
        columns = bars.SpinnerColumn(), bars.TextColumn("{task.description}"), *counts
        with bars.Progress(*columns, console=self.err, transient=True, refresh_per_second=4) as bar:
            task = bar.add_task(escape(printable(label)), total=None)

            def update(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)

            yield update


def terminal_width() -> int | None:
    """Columns of the terminal that results go to; None where they go elsewhere."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console().width


def _shown(text: str) -> str:
    """Lines as they are printed: no markup, nothing but line ends and tabs that is not visible."""
    from rich.markup import escape

    return escape(printable(text, keep="\n\t"))


def _needed(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Wide enough for all of it side by side."""
    return sum(max(map(cell_len, column)) + _GAP for column in zip(columns, *rows, strict=True))


def _blocks(
    columns: Sequence[str], rows: Sequence[Sequence[str]], keys: int, width: int, longest: int
) -> Iterator[list[int]]:
    """Which columns stand beside each other: those of names in every block, the others as far as there is room."""
    widths = [max(cell_len(cell) for cell in (column, *(row[n] for row in rows))) for n, column in enumerate(columns)]
    names = list(range(keys))
    fixed = sum(min(widths[n], longest) + _GAP for n in names)
    block: list[int] = []
    used = fixed
    for place in range(keys, len(columns)):
        if block and used + widths[place] > width:
            yield names + block
            block, used = [], fixed
        block.append(place)
        used += widths[place] + _GAP
    yield names + block


def _plain(label: str, *, alike: bool) -> Callable[[int, int], None]:
    last = time.monotonic()
    first: tuple[int, float] | None = None

    def update(done: int, total: int) -> None:
        nonlocal last, first
        now = time.monotonic()
        if first is None:  # what came before the first is something else: builds, or results of earlier calls
            first = (done, now)
        elif done < total and now - last >= _PLAIN_INTERVAL_S:
            last = now
            since = now - first[1]  # what is done at once tells nothing of what takes longer
            known = time_left(since / (done - first[0]) * (total - done) if alike and since >= _TELLING_S else None)
            sys.stderr.write(f"{printable(label)}: {done} of {total}{', ' if known else ''}{known}\n")

    return update


def time_left(seconds: float | None) -> str:
    """``about 12 s left``; nothing where it is not known."""
    if seconds is None:
        return ""
    return f"about {duration(round(seconds))} left" if round(seconds) else "less than 1 s left"
