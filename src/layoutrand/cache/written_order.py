"""A binary as the order that it is written in: what stands for it in the cache, and its content from that.

A layout that was written without the linker is made again, to the byte, of what was learned of its program and this
order.  The file is a sealed record with the digest of what was learned, so that nothing else is taken for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from layoutrand.cache.sealed_records import sealed, unsealed

if TYPE_CHECKING:
    from layoutrand.permute.learned import LearnedTable

_MOST_GAPS: Final = 1 << 31
"""Bytes between pieces, all together: no record takes memory without end."""


@dataclass(frozen=True)
class WrittenOrder:
    """Pieces in their order, bytes that are free before each (() for none), and the digest of what was learned."""

    learned: str
    order: Sequence[int]
    gaps: Sequence[int] = ()

    def stored(self) -> bytes:
        """What is kept of it."""
        return sealed({"learned": self.learned, "order": list(self.order), "gaps": list(self.gaps)})

    @classmethod
    def of_stored(cls, data: bytes) -> WrittenOrder:
        """From what was kept; raises `ValueError` for what is damaged."""
        table: Mapping[str, Any] = unsealed(data)
        learned, order, gaps = table.get("learned"), _counts(table.get("order")), _counts(table.get("gaps"))
        if not isinstance(learned, str) or sum(gaps) > _MOST_GAPS:
            raise ValueError("it is no order of pieces")
        return cls(learned, order, gaps)

    def written(self, table: LearnedTable, into: bytearray | None) -> bytearray:
        """The binary, as `layoutrand.permute.write.written` makes it; raises `NotPermuted`, `ToolNotFound`."""
        from layoutrand.permute.write import written  # and numpy, which who finds whole files does without

        return written(table, self.order, self.gaps, into=into)


def _counts(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or not all(type(each) is int and 0 <= each < _MOST_GAPS for each in values):
        raise ValueError("it is no list of numbers")
    return tuple(values)
