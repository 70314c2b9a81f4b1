"""What a page tells of a mark when somebody points at it: seed, value and time, as attributes of the path of marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from layoutrand.text.document import plain

_BETWEEN = "|"
_FIRST_DATE = 946_684_800.0
"""The year 2000 in epoch seconds: what is less is no date but a number that a table counts executions with."""


class MarkData(NamedTuple):
    """Of marks in their order: the system that they are of, seeds, values in ``unit``, and starts in epoch seconds.

    ``values`` and ``started`` are empty where there are none to tell.
    """

    system: str
    unit: str
    seeds: Sequence[str]
    values: Sequence[float] = ()
    started: Sequence[float] = ()


def attributes(data: MarkData) -> str:
    """The attributes ``data-of``, ``-s``, ``-v``, ``-u`` and ``-t``: lists in the order of the marks.

    Times are whole seconds: the first since the epoch, the others since the first; there are none of numbers that a
    table only counts executions with.
    """
    parts = [f"data-of={_quoted(data.system)}", f"data-s={_quoted(_listed(data.seeds))}"]
    if data.values:
        parts += [f"data-u={_quoted(data.unit)}", f"data-v={_quoted(_listed([f'{v:.5g}' for v in data.values]))}"]
    if data.started and data.started[0] >= _FIRST_DATE:
        first = round(data.started[0])
        parts.append(f"data-t={_quoted(_listed([str(first), *(str(round(t) - first) for t in data.started[1:])]))}")
    return " " + " ".join(parts)


def _listed(words: Sequence[str]) -> str:
    return _BETWEEN.join(word.replace(_BETWEEN, "¦") for word in words)


def _quoted(words: str) -> str:
    return quoteattr(plain(words))
