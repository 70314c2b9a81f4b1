"""x86-64: which bytes of a section the linker may write, the fields of its relocations and opcodes it may relax.

Numbers, widths and relaxations are those of the x86-64 psABI (System V ABI, AMD64 supplement, tables 4.9 and B.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.objects import x86_instructions
from layoutrand.objects.branches import Branch
from layoutrand.objects.elf import Table, relocation_types
from layoutrand.objects.processor import Processor, WrittenBits, feature_note
from layoutrand.objects.reading import Numbers, Read, Readings, Relocations, Windows, Words, readings, signed, together

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

_REL32, _REL64, _ABS32, _ABS32S, _ABS64 = range(5)
_PLAIN: Final = {
    "PC32": _REL32,
    "PLT32": _REL32,
    "PC64": _REL64,
    "32": _ABS32,
    "32S": _ABS32S,
    "64": _ABS64,
}
_THROUGH_GOT: Final = [NUMBER[name] for name in ("GOTPCREL", "GOTPCRELX", "REX_GOTPCRELX")]
_TO_CONSTANT: Final = (0xC7, 0x81, 0xF7)
"""Opcodes with an immediate, which a load from the GOT becomes where addresses have 32 bits."""

_BRANCHES: Final = (0xE8, 0xE9)


class _X86(Processor):
    machine = "EM_X86_64"
    number = 62
    fields: ClassVar[Mapping[int, bytes]] = {number: b"\xff" * width for number, width in _TYPES.values()}
    from_behind = frozenset(NUMBER[name] for name in ("PC32", "PLT32", "GOTPCREL", "GOTPCRELX", "REX_GOTPCRELX"))
    filling = b"\xcc"  # int3
    features = feature_note(0xC0000002)  # GNU_PROPERTY_X86_FEATURE_1_AND
    absolute = frozenset({_ABS32, _ABS32S, _ABS64})

    def relax(self, relocations: Table, content: NDArray[np.uint8], masks: WrittenBits) -> None:
        """See `Processor`."""
        types = relocation_types(relocations)
        offsets = relocations["offset"].astype(np.int64)
        kinds = set(types.tolist())
        for kind in kinds & RELAXED.keys():
            for step in range(*RELAXED[kind]):
                masks.add_relaxed(offsets[types == kind] + step)
        if NUMBER["GOTPCRELX"] in kinds:
            # "jmp *f@GOTPCREL(%rip)" becomes "jmp f; nop": its field moves one byte forward
            masks.add_field(_indirect_branches(offsets[types == NUMBER["GOTPCRELX"]], content) - 1)
        if NUMBER["PLTOFF64"] in kinds:
            large = offsets[np.isin(types, _TLS_CALLS) & np.isin(offsets + 6, offsets[types == NUMBER["PLTOFF64"]])]
            for step in range(_LARGE_TLS_END):
                masks.add_relaxed(large + step)

    def branches(self, code: bytes) -> tuple[Branch, ...]:
        """See `Processor`."""
        return x86_instructions.branches(code)

    def readings(self, relocations: Relocations, image: Windows, place: Numbers) -> Readings:
        """See `Processor`."""
        types, free = relocations.type, ~_of_tls_call(relocations)
        found = [readings(np.flatnonzero(free & (types == NUMBER[name])), kind) for name, kind in _PLAIN.items()]
        got = np.flatnonzero(free & np.isin(types, _THROUGH_GOT) & (relocations.offset >= 2))
        before = image.words(place[got] - 2)  # opcode and ModRM, then the field
        first, second = before & np.uint64(0xFF), (before >> np.uint64(8)) & np.uint64(0xFF)
        moved = np.isin(first, _BRANCHES) & (types[got] == NUMBER["GOTPCRELX"])  # jmp f; nop
        constant = np.isin(first, _TO_CONSTANT) & ~moved & (second >> np.uint64(6) == 3)
        found.append(readings(got, np.where(constant, _ABS32S, _REL32), np.where(moved, -1, 0)))
        return together(found)

    def read(self, kind: int, first: Words, second: Words, address: Numbers, second_address: Numbers) -> Read:
        """See `Processor`."""
        del second, second_address
        valid = np.ones(len(first), bool)
        if kind in (_REL32, _ABS32S):
            value = signed(first, 32)
        elif kind == _ABS32:
            value = (first & np.uint64(0xFFFFFFFF)).view(np.int64)
        else:
            value = first.view(np.int64)
        return Read(value + address if kind in (_REL32, _REL64) else value, valid)


def _of_tls_call(relocations: Relocations) -> NDArray[np.bool_]:
    """Which are of the call of __tls_get_addr: where a linker has taken it out, the field holds something else."""
    place = relocations.place
    fields = [
        place[relocations.type == NUMBER[name]] + behind for name, behind in (("TLSGD", 8), ("TLSLD", 5), ("TLSLD", 6))
    ]
    return np.isin(place, np.concatenate(fields))


def _indirect_branches(at: NDArray[np.int64], content: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Those of the fields at ``at`` that belong to a call or jmp through memory (opcode FF /2 or FF /4)."""
    at = at[at >= 2]
    indirect: NDArray[np.bool_] = (content[at - 2] == 0xFF) & np.isin(content[at - 1], (0x15, 0x25))
    return at[indirect]


PROCESSOR: Final = _X86()
