"""Which bytes of a section the linker may write: the fields of its relocations, and opcodes it may relax.

Numbers, widths and relaxations are those of the x86-64 psABI (System V ABI, AMD64 supplement, tables 4.9 and B.1).
An unknown relocation is an error, never a guess: a field taken too wide would hide changed code.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import FeatureUnsupported
from layoutrand.objects.elf import RELA, Table

# Number and width in bytes of each type that may stand in an object; the dynamic linker's own types do not.
_TYPES: Final = {
    "NONE": (0, 0), "64": (1, 8), "PC32": (2, 4), "GOT32": (3, 4), "PLT32": (4, 4), "GOTPCREL": (9, 4), "32": (10, 4),
    "32S": (11, 4), "16": (12, 2), "PC16": (13, 2), "8": (14, 1), "PC8": (15, 1), "DTPOFF64": (17, 8),
    "TPOFF64": (18, 8), "TLSGD": (19, 4), "TLSLD": (20, 4), "DTPOFF32": (21, 4), "GOTTPOFF": (22, 4),
    "TPOFF32": (23, 4), "PC64": (24, 8), "GOTOFF64": (25, 8), "GOTPC32": (26, 4), "GOT64": (27, 8),
    "GOTPCREL64": (28, 8), "GOTPC64": (29, 8), "PLTOFF64": (31, 8), "SIZE32": (32, 4), "SIZE64": (33, 8),
    "GOTPC32_TLSDESC": (34, 4), "TLSDESC_CALL": (35, 0), "GOTPCRELX": (41, 4), "REX_GOTPCRELX": (42, 4),
}  # a table: a row for what belongs together  # fmt: skip
NUMBER: Final = {name: number for name, (number, _width) in _TYPES.items()}
FIELD_WIDTH: Final = dict(_TYPES.values())
# Bytes around the field (first, one past the last, relative to it) that relaxation may rewrite.
RELAXED: Final = {
    NUMBER["GOTPCREL"]: (-2, -1),  # mov foo@GOTPCREL(%rip) becomes lea, before the X forms existed
    NUMBER["GOTPCRELX"]: (-2, 4),  # opcode and ModRM; a call becomes a prefixed direct call
    NUMBER["REX_GOTPCRELX"]: (-3, 4),  # with its REX prefix
    NUMBER["TLSGD"]: (-4, 12),  # data16 lea; data16 data16 rex.W call __tls_get_addr
    NUMBER["TLSLD"]: (-3, 9),  # lea; call __tls_get_addr
    NUMBER["GOTTPOFF"]: (-3, 4),
    NUMBER["GOTPC32_TLSDESC"]: (-3, 4),
    NUMBER["TLSDESC_CALL"]: (0, 2),
}
_TLS_CALLS: Final = (NUMBER["TLSGD"], NUMBER["TLSLD"])
_LARGE_TLS_END: Final = 19  # -mcmodel=large: after the field movabs (10 bytes), add (3) and call (2)
_LONGEST: Final = 32  # no field or rewritten instruction reaches so far past the section's end


def written_bytes(
    relocations: Table, content: NDArray[np.uint8], *, where: str
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Two masks over a section's bytes, shape (size,): relocation fields, and fields with all relaxable bytes.

    ``relocations`` has dtype RELA, ``content`` is the section's bytes in its object. Raises `FeatureUnsupported` for a
    relocation type it does not know and for a relocation outside the section.
    """
    assert relocations.dtype == RELA
    size = len(content)
    fields = np.zeros(size + _LONGEST, bool)
    relaxed = np.zeros(size + _LONGEST, bool)
    types = (relocations["info"] & np.uint64(0xFFFFFFFF)).astype(np.int64)
    offsets = relocations["offset"].astype(np.int64)
    if len(offsets) and not 0 <= int(offsets.min()) <= int(offsets.max()) <= size:
        raise FeatureUnsupported(f"{where}: a relocation lies outside the section; the object is damaged")
    kinds = set(types.tolist())
    for kind in kinds:
        if kind not in FIELD_WIDTH:
            raise FeatureUnsupported(f"{where}: relocation type {kind} is unknown, so its code cannot be verified")
        at = offsets[types == kind]
        for step in range(FIELD_WIDTH[kind]):
            fields[at + step] = True
        for step in range(*RELAXED.get(kind, (0, 0))):
            relaxed[np.maximum(at + step, 0)] = True
    if NUMBER["GOTPCRELX"] in kinds:
        branches = _indirect_branches(offsets[types == NUMBER["GOTPCRELX"]], content)
        fields[branches - 1] = True  # "jmp *f@GOTPCREL(%rip)" becomes "jmp f; nop": its field moves one byte forward
    if NUMBER["PLTOFF64"] in kinds:
        large = offsets[np.isin(types, _TLS_CALLS) & np.isin(offsets + 6, offsets[types == NUMBER["PLTOFF64"]])]
        for step in range(_LARGE_TLS_END):
            relaxed[large + step] = True
    return fields[:size], (fields | relaxed)[:size]


def _indirect_branches(at: NDArray[np.int64], content: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Those of the fields at ``at`` that belong to a call or jmp through memory (opcode FF /2 or FF /4)."""
    at = at[at >= 2]
    indirect: NDArray[np.bool_] = (content[at - 2] == 0xFF) & np.isin(content[at - 1], (0x15, 0x25))
    return at[indirect]
