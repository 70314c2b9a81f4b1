"""What the headers of an object file promise, against the bytes that it has: nothing is unpacked to find out.

A linker unpacks debug sections and writes them into every binary, and sections may name the same bytes again and again;
either makes gigabytes of a small file.  Compilers pack debug sections to a fifth, and no two of their sections overlap.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import FeatureUnsupported

SHF_COMPRESSED: Final = 0x800  # an Elf64_Chdr stands before the data, its size at byte 8
_ALLOC: Final = 2
_PROGBITS: Final = 1
_OLD_WAY: Final = b"ZLIB"  # .zdebug_*: this, and 8 bytes with the size, the highest first
_HEADER_SIZE: Final = 24
_ROOM: Final = 64 << 20
_MOST_TIMES: Final = 64


def refuse_giants(data: bytes, stored: NDArray[np.void], *, name: str) -> None:
    """Raise `FeatureUnsupported` where the sections are out of all proportion to the file's ``data``.

    ``stored`` are headers of the sections that have bytes in it, all within it, shape (sections,).
    """
    most = _ROOM + _MOST_TIMES * len(data)
    together = int(stored["size"].astype(object).sum()) if len(stored) * len(data) > most else 0
    if together > most:
        raise FeatureUnsupported(
            f"{name}: its sections have {together} bytes together and the file has {len(data)}: they overlap, as no "
            "compiler makes them; the file is damaged"
        )
    unpacked = 0
    for row in stored[(stored["type"] == _PROGBITS) & (stored["flags"] & np.uint64(_ALLOC) == 0)]:
        offset, size = int(row["offset"]), int(row["size"])
        if int(row["flags"]) & SHF_COMPRESSED and size >= _HEADER_SIZE:
            unpacked += int.from_bytes(data[offset + 8 : offset + 16], "little")
        elif data[offset : offset + 4] == _OLD_WAY and size >= _HEADER_SIZE // 2:
            unpacked += int.from_bytes(data[offset + 4 : offset + 12], "big")
    if unpacked > most:
        raise FeatureUnsupported(
            f"{name}: its packed debug sections say that they are {unpacked} bytes unpacked, and the file has "
            f"{len(data)}, which no compiler makes; every link would write them. Compile it without -gz, or strip it"
        )
