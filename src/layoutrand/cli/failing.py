"""Failed executions on a `Display`: a few of each kind as they happen, and in the end how many more, of which seeds.

A program that is wrong is wrong in every layout: the tenth line that says so hides what else went wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from layoutrand.instruments.program_output import without_last_words

if TYPE_CHECKING:
    from layoutrand.cli.terminal import Display
    from layoutrand.model import Execution, LayoutName

MOST_OF_A_KIND: Final = 3
"""Lines about failures of one system and benchmark with one reason."""

MOST_LINES: Final = 30
"""Lines about single failures, and about kinds, where the reasons differ from one failure to the next."""

_Kind = tuple[str, str, str]
_Place = tuple["LayoutName", str, int, int]


class Failures:
    """What one call says of failed executions; all of them are in its JSON document and in the results."""

    def __init__(self) -> None:
        self._said: dict[_Kind, list[_Place]] = {}
        self._held_back = False

    def happened(self, execution: Execution, page: Display) -> None:
        """One more failed; it is told, unless others like it were."""
        if self._tell(execution, page):
            return
        if not self._held_back:
            self._held_back = True
            page.fail("further failures like these are counted at the end")

    def conclude(self, failures: Sequence[Execution], page: Display) -> None:
        """All that failed: the first of each kind that were not told yet, then how many more, and their layouts."""
        kinds: dict[_Kind, list[Execution]] = {}
        for execution in failures:
            self._tell(execution, page)
            kinds.setdefault(_kind(execution), []).append(execution)
        left = {
            kind: more
            for kind, members in kinds.items()
            if (more := [each for each in members if _place(each) not in self._said.get(kind, [])])
        }
        for kind, members in list(left.items())[:MOST_LINES]:
            page.fail(_several(members, more=kind in self._said))
        untold = list(left.values())[MOST_LINES:]
        if untold:
            page.fail(f"{sum(map(len, untold))} more executions, for {len(untold)} other reasons; --json lists all")

    def _tell(self, execution: Execution, page: Display) -> bool:
        """Say it, unless enough was said; whether it has been said."""
        own = self._said.get(_kind(execution), [])
        if _place(execution) in own:
            return True
        if len(own) >= MOST_OF_A_KIND or sum(map(len, self._said.values())) >= MOST_LINES:
            return False
        self._said.setdefault(_kind(execution), []).append(_place(execution))
        page.fail(_sentence(execution))
        return True


def _kind(execution: Execution) -> _Kind:
    return execution.system, execution.benchmark, without_last_words(execution.reason)


def _place(execution: Execution) -> _Place:
    """What tells it from others of its kind, but for attempts: of these the last one alone is told at the end."""
    return execution.layout, execution.instrument, execution.round, execution.repetition


def _several(members: Sequence[Execution], *, more: bool) -> str:
    """Failures of one kind in a line; ``more`` where others of it were told one by one."""
    first = members[0]
    if len(members) == 1 and not more:
        return _sentence(first)
    start = f"system {first.system}, benchmark {first.benchmark}: {len(members)} {'more' if more else 'executions'}"
    return f"{start}: {_layouts(members)}: {without_last_words(first.reason) if more else first.reason}"


def _layouts(members: Sequence[Execution]) -> str:
    """``seeds 4..30, stock``."""
    from layoutrand.config.seeds import format_seeds

    seeds = [execution.layout for execution in members if isinstance(execution.layout, int)]
    names = dict.fromkeys(execution.layout for execution in members if not isinstance(execution.layout, int))
    numbers = [f"seed {seeds[0]}" if len(set(seeds)) == 1 else f"seeds {format_seeds(seeds)}"] if seeds else []
    return ", ".join([*numbers, *names])


def _sentence(execution: Execution) -> str:
    log = f"; output in {execution.log}" if execution.log else ""
    node = f", node {execution.node}" if execution.node else ""
    place = f"system {execution.system}, benchmark {execution.benchmark}, {_layout(execution.layout)}{node}"
    return f"{place}: {execution.reason}{log}"


def _layout(layout: LayoutName) -> str:
    return f"seed {layout}" if isinstance(layout, int) else layout
