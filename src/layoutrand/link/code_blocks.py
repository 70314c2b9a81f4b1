"""Compare the code of many binaries with identity's, fast: each section in blocks that are gathered by their address.

A layout moves tens of thousands of sections. Putting their bytes back into identity's order one by one makes as many
Python objects for each binary; blocks of a fixed size are gathered by numpy, a cacheful at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutrand.link.codecheck import Placed
from layoutrand.objects import elf

_BLOCK = 128  # bytes; most functions are larger
_WORD = 8
_AT_ONCE = 2048  # blocks: what fits into a cache


@dataclass(frozen=True)
class Blocks:
    """Bits that no link may change, in capture order.

    Per block: its ``section`` (capture index) and ``offset`` in it, shape (m,); ``content`` and ``mask`` (the
    bits that are fixed), shape (m, 16), zero behind a section's end.
    """

    section: NDArray[np.int32]
    offset: NDArray[np.int64]
    content: NDArray[np.uint64]
    mask: NDArray[np.uint64]


def cut(stored: NDArray[np.int64], content: NDArray[np.uint8], fixed: NDArray[np.uint8]) -> Blocks:
    """The sections in blocks.

    ``stored`` bytes per section, shape (n,); ``content`` and ``fixed`` concatenated, shape (sum of stored,).
    """
    count = -(-stored // _BLOCK)
    first = np.cumsum(count) - count
    total = int(count.sum())
    section = np.repeat(np.arange(len(stored), dtype=np.int32), count)
    bytes_, mask = np.zeros((2, total * _BLOCK), np.uint8)
    begin = (np.cumsum(stored) - stored).tolist()
    for source, target, size in zip(begin, (first * _BLOCK).tolist(), stored.tolist(), strict=True):
        bytes_[target : target + size] = content[source : source + size]
        mask[target : target + size] = fixed[source : source + size]
    shape = (total, _BLOCK // _WORD)
    return Blocks(
        section,
        (np.arange(total) - first[section]) * _BLOCK,
        bytes_.view(np.uint64).reshape(shape),
        mask.view(np.uint64).reshape(shape),
    )


def first_change(blocks: Blocks, binary: elf.Elf, where: Placed) -> tuple[int, int] | None:
    """The first section (capture index) with a fixed bit that differs in the binary, and its byte's offset; or None."""
    return next(changes(blocks, binary, where), None)


def changes(blocks: Blocks, binary: elf.Elf, where: Placed) -> Iterator[tuple[int, int]]:
    """Section (capture index) and offset of each byte with a fixed bit that differs in the binary.

    ``where`` has the sections' places in the binary, shape (n,), inside their output sections.
    """
    homes = binary.sections[where.output]
    begin = where.address - homes["addr"].astype(np.int64) + homes["offset"].astype(np.int64)
    data = binary.data
    starts = begin[blocks.section] + blocks.offset
    last = int(starts.max(initial=0)) + _BLOCK
    if last > len(data):  # a section that ends where the file does
        data += bytes(last - len(data))
    # One block for each byte at which one may begin, all overlapping: only those asked for are ever read.
    rows = np.ndarray((max(0, len(data) - _BLOCK + 1),), f"V{_BLOCK}", data, strides=(1,))
    for at in range(0, len(blocks.section), _AT_ONCE):
        span = slice(at, at + _AT_ONCE)
        found = rows[starts[span]].view(np.uint64).reshape(-1, _BLOCK // _WORD)
        different = (found ^ blocks.content[span]) & blocks.mask[span]
        if different.any():
            for place in np.flatnonzero(different.view(np.uint8).ravel()).tolist():
                block, byte = divmod(place, _BLOCK)
                yield int(blocks.section[at + block]), int(blocks.offset[at + block]) + byte
