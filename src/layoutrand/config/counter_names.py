"""``metric.counters``: names of events that ``perf stat`` counts, and what their metrics are called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_EVENT: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@-]*(/[A-Za-z0-9_.=,@-]*/[A-Za-z0-9]*)?", re.ASCII)


def metric_of(event: str) -> str:
    """The metric of an event: ``branch-misses`` is branch_misses, ``instructions:u`` instructions_u."""
    return re.sub(r"[^a-z0-9]+", "_", event.lower()).strip("_")


def checked_events(events: Sequence[str]) -> None:
    """Raise `ValueError` for what cannot be one event, and for two events that would be one metric."""
    seen: dict[str, str] = {}
    for event in events:
        if not _EVENT.fullmatch(event):
            raise ValueError(f"{event!r} is not the name of one event; `perf list` names those of this machine")
        if (metric := metric_of(event)) in seen:
            raise ValueError(f"{seen[metric]!r} and {event!r} are both called {metric}; leave one out")
        seen[metric] = event
