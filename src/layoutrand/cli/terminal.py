"""Output: documents and tables on stdout, progress and remarks on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_PLAIN_INTERVAL_S = 10.0


class Page(Protocol):
    """Something that results can be shown on: the terminal, or a written report."""

    def line(self, text: str = "") -> None:
        """A line of results."""

    def warn(self, text: str) -> None:
        """A warning."""

    def fail(self, text: str) -> None:
        """A recorded failure."""

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table whose first column is text; the others are right-aligned."""


@dataclass(frozen=True)
class Terminal:
    """A `Page`: ``json`` makes stdout one document, ``quiet`` leaves out everything but results and errors."""

    json: bool
    quiet: bool

    @property
    def out(self) -> Console:
        """Results for people."""
        return Console(highlight=False, soft_wrap=True)

    @property
    def err(self) -> Console:
        """Remarks."""
        return Console(stderr=True, highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """A remark, unless quiet."""
        if not self.quiet:
            self.err.print(escape(text))

    def warn(self, text: str) -> None:
        """A warning; it is shown even when quiet, because nothing may go wrong silently."""
        self.err.print(f"[yellow]warning:[/] {escape(text)}")

    def fail(self, text: str) -> None:
        """A recorded failure."""
        self.err.print(f"[red]failed:[/] {escape(text)}")

    def document(self, value: Mapping[str, Any]) -> None:
        """The one JSON document on stdout."""
        json.dump(value, sys.stdout, indent=2, allow_nan=False)
        sys.stdout.write("\n")

    def line(self, text: str = "") -> None:
        """A line of results."""
        if not self.json:
            self.out.print(escape(text))

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table of results; all columns but the first are right-aligned."""
        if self.json:
            return
        table = Table(title=escape(title), title_justify="left", title_style="bold", box=None, pad_edge=False)
        for number, column in enumerate(columns):
            table.add_column(escape(column), justify="left" if number == 0 else "right", no_wrap=True)
        for row in rows:
            table.add_row(*(escape(cell) for cell in row))
        console = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
        console.print(table)

    @contextmanager
    def progress(self, label: str) -> Iterator[Callable[[int, int], None]]:
        """A bar with ETA on a terminal, a line every ten seconds elsewhere; takes how many are done, of how many."""
        if self.quiet:
            yield lambda _done, _total: None
        elif sys.stderr.isatty():
            with self._bar(label) as update:
                yield update
        else:
            yield _plain(label)

    @contextmanager
    def _bar(self, label: str) -> Iterator[Callable[[int, int], None]]:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        # Drawn only between executions: a refresh thread would disturb what is being measured.
        with Progress(*columns, console=self.err, transient=True, auto_refresh=False) as bar:
            task = bar.add_task(escape(label), total=None)

            def update(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)
                bar.refresh()

            yield update


def _plain(label: str) -> Callable[[int, int], None]:
    last = time.monotonic()
    first: tuple[int, float] | None = None

    def update(done: int, total: int) -> None:
        nonlocal last, first
        now = time.monotonic()
        if first is None:  # what came before the first is something else: builds, or results of earlier calls
            first = (done, now)
        elif done < total and now - last >= _PLAIN_INTERVAL_S:
            last = now
            left = (now - first[1]) / (done - first[0]) * (total - done)
            sys.stderr.write(f"{label}: {done} of {total}, about {left:.0f} s left\n")

    return update
