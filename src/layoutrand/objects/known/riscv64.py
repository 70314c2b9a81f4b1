"""RISC-V (64 bits): which bits of which instructions a linker may write.

Numbers and fields are those of the "RISC-V ELF Specification" (riscv-elf-psabi-doc), chapter Relocations.  Linker
relaxation, which makes code shorter where addresses allow it, so that its size would depend on the layout, has to be
off (``-mno-relax``): an object that asks for alignment by a relocation is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import FeatureUnsupported
from layoutrand.objects.branches import Branch
from layoutrand.objects.elf import Table, relocation_types
from layoutrand.objects.processor import Processor, WrittenBits
from layoutrand.objects.reading import (
    Numbers,
    Read,
    Readings,
    Relocations,
    Windows,
    Words,
    field,
    place_in,
    readings,
    signed,
    together,
)

_U: Final = 0xFFFFF000  # LUI, AUIPC; JAL has its bits in another order
_I: Final = 0xFFF00000  # loads, ADDI, JALR
_S: Final = 0xFE000F80  # stores; branches
_C_BRANCH: Final = 0x1C7C  # C.BEQZ
_C_JUMP: Final = 0x1FFC  # C.J
_C_LUI: Final = 0x107C
_SIX: Final = 0x3F

# Number, mask and bytes of each type.
_TYPES: Final = {
    "NONE": (0, 0, 0), "32": (1, 0xFFFFFFFF, 4), "64": (2, (1 << 64) - 1, 8),
    "BRANCH": (16, _S, 4), "JAL": (17, _U, 4), "CALL": (18, _U | _I << 32, 8), "CALL_PLT": (19, _U | _I << 32, 8),
    "GOT_HI20": (20, _U, 4), "TLS_GOT_HI20": (21, _U, 4), "TLS_GD_HI20": (22, _U, 4), "PCREL_HI20": (23, _U, 4),
    "PCREL_LO12_I": (24, _I, 4), "PCREL_LO12_S": (25, _S, 4), "HI20": (26, _U, 4), "LO12_I": (27, _I, 4),
    "LO12_S": (28, _S, 4), "TPREL_HI20": (29, _U, 4), "TPREL_LO12_I": (30, _I, 4), "TPREL_LO12_S": (31, _S, 4),
    "TPREL_ADD": (32, 0, 0), "ADD8": (33, 0xFF, 1), "ADD16": (34, 0xFFFF, 2), "ADD32": (35, 0xFFFFFFFF, 4),
    "ADD64": (36, (1 << 64) - 1, 8), "SUB8": (37, 0xFF, 1), "SUB16": (38, 0xFFFF, 2), "SUB32": (39, 0xFFFFFFFF, 4),
    "SUB64": (40, (1 << 64) - 1, 8), "GOT32_PCREL": (41, 0xFFFFFFFF, 4), "ALIGN": (43, 0, 0),
    "RVC_BRANCH": (44, _C_BRANCH, 2), "RVC_JUMP": (45, _C_JUMP, 2), "RVC_LUI": (46, _C_LUI, 2), "RELAX": (51, 0, 0),
    "SUB6": (52, _SIX, 1), "SET6": (53, _SIX, 1), "SET8": (54, 0xFF, 1), "SET16": (55, 0xFFFF, 2),
    "SET32": (56, 0xFFFFFFFF, 4), "32_PCREL": (57, 0xFFFFFFFF, 4), "PLT32": (59, 0xFFFFFFFF, 4),
    "TLSDESC_HI20": (62, _U, 4), "TLSDESC_LOAD_LO12": (63, _I, 4), "TLSDESC_ADD_LO12": (64, _I, 4),
    "TLSDESC_CALL": (65, 0, 0),
}  # a table: a row for what belongs together  # fmt: skip
NUMBER: Final = {name: number for name, (number, _mask, _width) in _TYPES.items()}
_AUIPC_OR_LUI: Final = 0x20
"""The bit by which AUIPC and LUI differ: what a missing weak symbol's address, 0, is made of is the linker's choice."""

_HIGH: Final = [NUMBER[name] for name in ("PCREL_HI20", "GOT_HI20", "CALL", "CALL_PLT")]
_HIGH_OF_TWO: Final = [
    NUMBER[name] for name in ("PCREL_HI20", "GOT_HI20", "TLS_GOT_HI20", "TLS_GD_HI20", "TLSDESC_HI20")
]
_ABS64, _ABS32, _PREL32, _CALL, _JAL, _B, _CB, _CJ, _PAIR_I, _PAIR_S, _ABSOLUTE_I, _ABSOLUTE_S = range(12)
"""Readings."""

_PLAIN: Final = {
    "64": _ABS64,
    "32": _ABS32,
    "32_PCREL": _PREL32,
    "GOT32_PCREL": _PREL32,
    "PLT32": _PREL32,
    "CALL": _CALL,
    "CALL_PLT": _CALL,
    "JAL": _JAL,
    "BRANCH": _B,
    "RVC_BRANCH": _CB,
    "RVC_JUMP": _CJ,
}
_LOW_BY_LABEL: Final = {"PCREL_LO12_I": _PAIR_I, "PCREL_LO12_S": _PAIR_S}
_LOW_BY_SYMBOL: Final = {"LO12_I": _ABSOLUTE_I, "LO12_S": _ABSOLUTE_S}
"""The lower half of an address, by how its upper half is found: a label at that, or the same symbol."""

_AUIPC, _LUI, _JALR = 0x17, 0x37, 0x67
_LONG_BRANCHES: Final = frozenset((0x63, 0x6F, _JALR))  # BRANCH, JAL, JALR
_SHORT_JUMPS: Final = frozenset((0xA001, 0xC001, 0xE001))  # C.J, C.BEQZ, C.BNEZ: funct3 and the lowest two bits


class _RiscV(Processor):
    machine = "EM_RISCV"
    number = 243
    fields: ClassVar[Mapping[int, bytes]] = {
        number: mask.to_bytes(width, "little") for number, mask, width in _TYPES.values()
    }
    filling = b"\0\0"  # an illegal instruction by definition
    absolute = frozenset({_ABS64, _ABS32})

    def written(
        self, relocations: Table, content: NDArray[np.uint8], *, where: str
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """See `Processor`; raises `FeatureUnsupported` also for code whose length the linker decides."""
        if self.is_cut(relocations):
            raise FeatureUnsupported(
                f"{where}: was compiled for linker relaxation, by which its length depends on where it lies; build "
                "with -mno-relax, also what is assembled (toolchains gcc-riscv64 and clang-riscv64 do)"
            )
        return super().written(relocations, content, where=where)

    def is_cut(self, relocations: Table) -> bool:
        """See `Processor`: what aligns itself leaves to the linker how many of its NOPs are needed."""
        return bool((relocation_types(relocations) == NUMBER["ALIGN"]).any())

    def relax(self, relocations: Table, content: NDArray[np.uint8], masks: WrittenBits) -> None:
        """See `Processor`."""
        del content
        at = relocations["offset"][np.isin(relocation_types(relocations), _HIGH)].astype(np.int64)
        masks.relaxed[at] |= np.uint8(_AUIPC_OR_LUI)

    def branches(self, code: bytes) -> tuple[Branch, ...]:
        """See `Processor`; what is longer than four bytes is not known."""
        found: list[Branch] = []
        at = 0
        while at + 2 <= len(code):
            half = int.from_bytes(code[at : at + 2], "little")
            size = 2 if half & 3 != 3 else 4
            if half & 0x1F == 0x1F or at + size > len(code):
                break
            register = half & 0xE07F == 0x8002 and half & 0xF80  # C.JR and C.JALR
            if half & 0x7F in _LONG_BRANCHES if size == 4 else half & 0xE003 in _SHORT_JUMPS or register:
                found.append(Branch(at, at + size, at))
            at += size
        return tuple(found)

    def readings(self, relocations: Relocations, image: Windows, place: Numbers) -> Readings:
        """See `Processor`."""
        del image, place
        types = relocations.type
        found = [readings(np.flatnonzero(types == NUMBER[name]), kind) for name, kind in _PLAIN.items()]
        at = relocations.place
        high = np.flatnonzero(np.isin(types, _HIGH_OF_TWO))
        by_place = high[np.argsort(at[high], kind="stable")]
        for name, kind in _LOW_BY_LABEL.items():
            low, first = _of_label(relocations, np.flatnonzero(types == NUMBER[name]), by_place)
            found.append(readings(first, kind, 0, at[low] - at[first]))
        for name, kind in _LOW_BY_SYMBOL.items():
            low, first = _of_one_symbol(relocations, np.flatnonzero(types == NUMBER[name]))
            found.append(readings(first, kind, 0, at[low] - at[first]))
        return together(found)

    def read(self, kind: int, first: Words, second: Words, address: Numbers, second_address: Numbers) -> Read:
        """See `Processor`."""
        del second_address
        valid = np.ones(len(first), bool)
        word = first & np.uint64(0xFFFFFFFF)
        if kind == _ABS64:
            return Read(first.view(np.int64), valid)
        if kind == _ABS32:
            return Read(word.view(np.int64), valid)
        if kind == _PREL32:
            return Read(signed(first, 32) + address, valid)
        if kind == _CALL:
            two = first >> np.uint64(32)
            valid = ((word & np.uint64(0x7F)) == _AUIPC) & ((two & np.uint64(0x7F)) == _JALR)
            return Read(address + _upper(word) + _lower_i(two), valid)
        if kind == _JAL:
            return Read(address + _gathered(word, ((31, 1, 20), (12, 8, 12), (20, 1, 11), (21, 10, 1)), 21), valid)
        if kind == _B:
            return Read(address + _gathered(word, ((31, 1, 12), (7, 1, 11), (25, 6, 5), (8, 4, 1)), 13), valid)
        if kind == _CB:
            return Read(address + _gathered(word, ((12, 1, 8), (10, 2, 3), (5, 2, 6), (3, 2, 1), (2, 1, 5)), 9), valid)
        if kind == _CJ:
            bits = ((12, 1, 11), (11, 1, 4), (9, 2, 8), (8, 1, 10), (7, 1, 6), (6, 1, 7), (3, 3, 1), (2, 1, 5))
            return Read(address + _gathered(word, bits, 12), valid)
        low = _lower_i(second) if kind in (_PAIR_I, _ABSOLUTE_I) else _lower_s(second)
        relative = kind in (_PAIR_I, _PAIR_S)
        valid = (word & np.uint64(0x7F)) == (_AUIPC if relative else _LUI)
        return Read(_upper(word) + low + (address if relative else 0), valid)


def _of_label(relocations: Relocations, low: Numbers, by_place: Numbers) -> tuple[Numbers, Numbers]:
    """Those of the rows whose symbol is a label at one of the rows ``by_place``, and for each that row."""
    places = relocations.place[by_place]
    low = low[relocations.target[low] >= 0] if len(places) else low[:0]
    label = place_in(relocations.target[low], relocations.value[low])
    slot = np.minimum(np.searchsorted(places, label), len(places) - 1)
    known = places[slot] == label
    return low[known], by_place[slot[known]]


def _of_one_symbol(relocations: Relocations, low: Numbers) -> tuple[Numbers, Numbers]:
    """Those of the rows, and for each a row of `HI20` of the same section, symbol and addend."""
    keys = np.stack([relocations.section, relocations.symbol, relocations.addend], axis=1)
    high = np.flatnonzero(relocations.type == NUMBER["HI20"])
    first = dict(zip(map(tuple, keys[high[::-1]].tolist()), high[::-1].tolist(), strict=True))
    known = [
        (row, first[key]) for row, key in zip(low.tolist(), map(tuple, keys[low].tolist()), strict=True) if key in first
    ]
    found = np.array(known, np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _upper(word: Words) -> Numbers:
    """The immediate of LUI and AUIPC."""
    return signed(word & np.uint64(_U), 32)


def _lower_i(word: Words) -> Numbers:
    """The immediate of loads, ADDI and JALR."""
    return signed(field(word, 20, 12), 12)


def _lower_s(word: Words) -> Numbers:
    """The immediate of stores."""
    return signed(field(word, 25, 7) << np.uint64(5) | field(word, 7, 5), 12)


def _gathered(word: Words, parts: Sequence[tuple[int, int, int]], bits: int) -> Numbers:
    """An immediate of so many bits, put together from (first bit, bits, where they belong)."""
    value = np.zeros(len(word), np.uint64)
    for low, width, to in parts:
        value |= field(word, low, width) << np.uint64(to)
    return signed(value, bits)


PROCESSOR: Final = _RiscV()
