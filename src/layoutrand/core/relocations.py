"""Which bytes of a section the linker may write: the fields of its relocations, and opcodes it may relax.

Numbers, widths and relaxations are those of the x86-64 psABI (System V ABI, AMD64 supplement, tables 4.9 and B.1).
An unknown relocation is an error, never a guess: a field taken too wide would hide changed code.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from elftools.elf.enums import ENUM_RELOC_TYPE_x64 as X64
from numpy.typing import NDArray

from layoutrand.core.elf import RELA, Table
from layoutrand.errors import FeatureUnsupported

_WIDTH_8 = ("64", "PC64", "GLOB_DAT", "JUMP_SLOT", "RELATIVE", "DTPMOD64", "DTPOFF64", "TPOFF64", "GOTOFF64",
            "GOT64", "GOTPCREL64", "GOTPC64", "PLTOFF64", "SIZE64")  # fmt: skip
_WIDTH_4 = ("PC32", "GOT32", "PLT32", "GOTPCREL", "32", "32S", "TLSGD", "TLSLD", "DTPOFF32", "GOTTPOFF", "TPOFF32",
            "GOTPC32", "SIZE32", "GOTPC32_TLSDESC", "GOTPCRELX", "REX_GOTPCRELX")  # fmt: skip
FIELD_WIDTH: Final = {
    X64["R_X86_64_NONE"]: 0,
    **{X64["R_X86_64_" + name]: 8 for name in _WIDTH_8 if "R_X86_64_" + name in X64},
    **{X64["R_X86_64_" + name]: 4 for name in _WIDTH_4 if "R_X86_64_" + name in X64},
    X64["R_X86_64_16"]: 2, X64["R_X86_64_PC16"]: 2, X64["R_X86_64_8"]: 1, X64["R_X86_64_PC8"]: 1,
    X64["R_X86_64_TLSDESC_CALL"]: 0,
    _GOTPCRELX: 4,
    _REX_GOTPCRELX: 4,
}  # fmt: skip
# Bytes around the field (first, one past the last, relative to it) that relaxation may rewrite.
RELAXED: Final = {
    X64["R_X86_64_GOTPCREL"]: (-3, 4),  # mov foo@GOTPCREL(%rip) becomes lea, before the X forms existed
    _GOTPCRELX: (-2, 4),  # opcode and ModRM; a call becomes a prefixed direct call
    _REX_GOTPCRELX: (-3, 4),  # with its REX prefix
    X64["R_X86_64_TLSGD"]: (-4, 12),  # data16 lea; data16 data16 rex.W call __tls_get_addr
    X64["R_X86_64_TLSLD"]: (-3, 9),
    X64["R_X86_64_GOTTPOFF"]: (-3, 4),
    X64["R_X86_64_GOTPC32_TLSDESC"]: (-3, 4),
    X64["R_X86_64_TLSDESC_CALL"]: (0, 2),
}


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
    for kind in np.unique(types).tolist():
        if kind not in FIELD_WIDTH:
            raise FeatureUnsupported(f"{where}: relocation type {kind} is unknown, so its code cannot be verified")
        at = offsets[types == kind]
        for step in range(FIELD_WIDTH[kind]):
            fields[at + step] = True
        for step in range(*RELAXED.get(kind, (0, 0))):
            relaxed[np.maximum(at + step, 0)] = True
    branches = _indirect_branches(offsets[types == _GOTPCRELX], content)
    fields[branches - 1] = True  # "jmp *f@GOTPCREL(%rip)" becomes "jmp f; nop": its field moves one byte forward
    large = offsets[np.isin(types, _TLS_CALLS) & np.isin(offsets + 6, offsets[types == _PLTOFF64])]
    for step in range(_LARGE_TLS_END):
        relaxed[large + step] = True
    return fields[:size], (fields | relaxed)[:size]


def _indirect_branches(at: NDArray[np.int64], content: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Those of the fields at ``at`` that belong to a call or jmp through memory (opcode FF /2 or FF /4)."""
    at = at[at >= 2]
    return at[(content[at - 2] == 0xFF) & np.isin(content[at - 1], (0x15, 0x25))]
