"""AArch64: which bits of which instructions a linker may write.

Numbers and fields are those of "ELF for the Arm 64-bit Architecture (AArch64)", section 5.7 (static relocations), and
of the Arm Architecture Reference Manual (encodings of the instructions that they change).  Relaxations are those that
section 5.7 and linkers describe: thread-local sequences for another model, a load from the GOT that becomes an
addition, a page and an addition that become one ADR, a call of a missing weak function that becomes NOP.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.objects.branches import Branch
from layoutrand.objects.elf import Table, relocation_symbols, relocation_types
from layoutrand.objects.processor import Processor, WrittenBits, feature_note
from layoutrand.objects.reading import (
    Numbers,
    Read,
    Readings,
    Relocations,
    Windows,
    Words,
    field,
    readings,
    signed,
    together,
)

_BRANCH26: Final = 0x03FFFFFF  # B, BL
_BRANCH19: Final = 0x00FFFFE0  # B.cond, CBZ; LDR (literal)
_BRANCH14: Final = 0x0007FFE0  # TBZ
_ADR: Final = 0x60FFFFE0  # ADR, ADRP
_IMM12: Final = 0x003FFC00  # ADD (immediate); LDR, STR (unsigned immediate)
_IMM16: Final = 0x001FFFE0  # MOVZ, MOVK
_SIGNED16: Final = 0x401FFFE0  # MOVZ or MOVN, as the sign demands
_WORD: Final = 4
_BRANCHES: Final = (
    (0x7C000000, 0x14000000),  # B, BL
    (0xFE000000, 0x54000000),  # B.cond, BC.cond
    (0x7E000000, 0x34000000),  # CBZ, CBNZ
    (0x7E000000, 0x36000000),  # TBZ, TBNZ
    (0xFE000000, 0xD6000000),  # BR, BLR, RET and their kin
)
"""Masks of a word, and what is left of a branch (Arm Architecture Reference Manual, C4.1.86)."""

# Number and bits of each type: a number of bytes of data, or a mask of an instruction.
_TYPES: Final[Mapping[str, tuple[int, int | str]]] = {
    "NULL": (0, 0), "NONE": (256, 0),
    "ABS64": (257, "8"), "ABS32": (258, "4"), "ABS16": (259, "2"),
    "PREL64": (260, "8"), "PREL32": (261, "4"), "PREL16": (262, "2"), "PLT32": (314, "4"), "GOTPCREL32": (315, "4"),
    "GOTREL64": (307, "8"), "GOTREL32": (308, "4"),
    **{f"MOVW_UABS_{name}": (263 + n, _IMM16)
       for n, name in enumerate(("G0", "G0_NC", "G1", "G1_NC", "G2", "G2_NC", "G3"))},
    **{f"MOVW_SABS_G{n}": (270 + n, _SIGNED16) for n in range(3)},
    "LD_PREL_LO19": (273, _BRANCH19), "ADR_PREL_LO21": (274, _ADR), "ADR_PREL_PG_HI21": (275, _ADR),
    "ADR_PREL_PG_HI21_NC": (276, _ADR), "ADD_ABS_LO12_NC": (277, _IMM12), "LDST8_ABS_LO12_NC": (278, _IMM12),
    "TSTBR14": (279, _BRANCH14), "CONDBR19": (280, _BRANCH19), "JUMP26": (282, _BRANCH26), "CALL26": (283, _BRANCH26),
    "LDST16_ABS_LO12_NC": (284, _IMM12), "LDST32_ABS_LO12_NC": (285, _IMM12), "LDST64_ABS_LO12_NC": (286, _IMM12),
    "LDST128_ABS_LO12_NC": (299, _IMM12),
    **{f"MOVW_PREL_{name}": (287 + n, _IMM16 if name.endswith("NC") else _SIGNED16)
       for n, name in enumerate(("G0", "G0_NC", "G1", "G1_NC", "G2", "G2_NC", "G3"))},
    **{f"MOVW_GOTOFF_{name}": (300 + n, _IMM16 if name.endswith("NC") else _SIGNED16)
       for n, name in enumerate(("G0", "G0_NC", "G1", "G1_NC", "G2", "G2_NC", "G3"))},
    "GOT_LD_PREL19": (309, _BRANCH19), "LD64_GOTOFF_LO15": (310, _IMM12), "ADR_GOT_PAGE": (311, _ADR),
    "LD64_GOT_LO12_NC": (312, _IMM12), "LD64_GOTPAGE_LO15": (313, _IMM12),
    "TLSGD_ADR_PREL21": (512, _ADR), "TLSGD_ADR_PAGE21": (513, _ADR), "TLSGD_ADD_LO12_NC": (514, _IMM12),
    "TLSGD_MOVW_G1": (515, _SIGNED16), "TLSGD_MOVW_G0_NC": (516, _IMM16),
    "TLSLD_ADR_PREL21": (517, _ADR), "TLSLD_ADR_PAGE21": (518, _ADR), "TLSLD_ADD_LO12_NC": (519, _IMM12),
    "TLSLD_MOVW_G1": (520, _SIGNED16), "TLSLD_MOVW_G0_NC": (521, _IMM16), "TLSLD_LD_PREL19": (522, _BRANCH19),
    "TLSLD_MOVW_DTPREL_G2": (523, _SIGNED16), "TLSLD_MOVW_DTPREL_G1": (524, _SIGNED16),
    "TLSLD_MOVW_DTPREL_G1_NC": (525, _IMM16), "TLSLD_MOVW_DTPREL_G0": (526, _SIGNED16),
    "TLSLD_MOVW_DTPREL_G0_NC": (527, _IMM16), "TLSLD_ADD_DTPREL_HI12": (528, _IMM12),
    "TLSLD_ADD_DTPREL_LO12": (529, _IMM12), "TLSLD_ADD_DTPREL_LO12_NC": (530, _IMM12),
    **{f"TLSLD_LDST{bits}_DTPREL_LO12{nc}": (531 + 2 * n + m, _IMM12)
       for n, bits in enumerate((8, 16, 32, 64)) for m, nc in enumerate(("", "_NC"))},
    "TLSIE_MOVW_GOTTPREL_G1": (539, _SIGNED16), "TLSIE_MOVW_GOTTPREL_G0_NC": (540, _IMM16),
    "TLSIE_ADR_GOTTPREL_PAGE21": (541, _ADR), "TLSIE_LD64_GOTTPREL_LO12_NC": (542, _IMM12),
    "TLSIE_LD_GOTTPREL_PREL19": (543, _BRANCH19),
    "TLSLE_MOVW_TPREL_G2": (544, _SIGNED16), "TLSLE_MOVW_TPREL_G1": (545, _SIGNED16),
    "TLSLE_MOVW_TPREL_G1_NC": (546, _IMM16), "TLSLE_MOVW_TPREL_G0": (547, _SIGNED16),
    "TLSLE_MOVW_TPREL_G0_NC": (548, _IMM16), "TLSLE_ADD_TPREL_HI12": (549, _IMM12),
    "TLSLE_ADD_TPREL_LO12": (550, _IMM12), "TLSLE_ADD_TPREL_LO12_NC": (551, _IMM12),
    **{f"TLSLE_LDST{bits}_TPREL_LO12{nc}": (552 + 2 * n + m, _IMM12)
       for n, bits in enumerate((8, 16, 32, 64)) for m, nc in enumerate(("", "_NC"))},
    "TLSDESC_LD_PREL19": (560, _BRANCH19), "TLSDESC_ADR_PREL21": (561, _ADR), "TLSDESC_ADR_PAGE21": (562, _ADR),
    "TLSDESC_LD64_LO12": (563, _IMM12), "TLSDESC_ADD_LO12": (564, _IMM12), "TLSDESC_OFF_G1": (565, _SIGNED16),
    "TLSDESC_OFF_G0_NC": (566, _IMM16), "TLSDESC_LDR": (567, 0), "TLSDESC_ADD": (568, 0), "TLSDESC_CALL": (569, 0),
    "TLSLE_LDST128_TPREL_LO12": (570, _IMM12), "TLSLE_LDST128_TPREL_LO12_NC": (571, _IMM12),
    "TLSLD_LDST128_DTPREL_LO12": (572, _IMM12), "TLSLD_LDST128_DTPREL_LO12_NC": (573, _IMM12),
}  # a table: a row for what belongs together  # fmt: skip
NUMBER: Final = {name: number for name, (number, _bits) in _TYPES.items()}
_RELAXED: Final = [
    number
    for name, number in NUMBER.items()
    if name.startswith(("TLSGD_", "TLSIE_", "TLSDESC_"))
    or name in ("TLSLD_ADR_PREL21", "TLSLD_ADR_PAGE21", "TLSLD_ADD_LO12_NC", "TLSLD_LD_PREL19", "CALL26", "JUMP26")
]
"""Types whose instruction may become another one, once for all layouts."""

_CALLS_BEHIND: Final = [
    NUMBER[name] for name in ("TLSGD_ADR_PREL21", "TLSGD_ADD_LO12_NC", "TLSLD_ADR_PREL21", "TLSLD_ADD_LO12_NC")
]
"""What is followed by BL __tls_get_addr and NOP, which go with it."""

_PAGES: Final = {
    "ADR_PREL_PG_HI21": 1,
    "ADR_PREL_PG_HI21_NC": 1,
    "ADR_GOT_PAGE": 2,
    "TLSIE_ADR_GOTTPREL_PAGE21": 3,
    "TLSDESC_ADR_PAGE21": 4,
    "TLSGD_ADR_PAGE21": 5,
    "TLSLD_ADR_PAGE21": 6,
}
"""What says the page of an address, and by which group its other part is known."""

_LOWS: Final = {
    "ADD_ABS_LO12_NC": (1, 0),
    "LDST8_ABS_LO12_NC": (1, 0),
    "LDST16_ABS_LO12_NC": (1, 1),
    "LDST32_ABS_LO12_NC": (1, 2),
    "LDST64_ABS_LO12_NC": (1, 3),
    "LDST128_ABS_LO12_NC": (1, 4),
    "LD64_GOT_LO12_NC": (2, 3),
    "TLSIE_LD64_GOTTPREL_LO12_NC": (3, 3),
    "TLSDESC_LD64_LO12": (4, 3),
    "TLSDESC_ADD_LO12": (4, 0),
    "TLSGD_ADD_LO12_NC": (5, 0),
    "TLSLD_ADD_LO12_NC": (6, 0),
}
"""What says the last twelve bits: the group, and by how many bits they are shifted."""

_GROUPS: Final = {NUMBER[name]: group for name, group in _PAGES.items()} | {
    NUMBER[name]: group for name, (group, _shift) in _LOWS.items()
}
_ABS64, _ABS32, _PREL64, _PREL32, _PREL16, _B26, _B19, _B14, _ADR21, _PAGE, _PAIR, _LOW = range(12)
"""Readings; those of the last twelve bits are `_LOW` and what they are shifted by."""

_PLAIN: Final = {
    "ABS64": _ABS64,
    "ABS32": _ABS32,
    "PREL64": _PREL64,
    "PREL32": _PREL32,
    "PREL16": _PREL16,
    "PLT32": _PREL32,
    "CALL26": _B26,
    "JUMP26": _B26,
    "CONDBR19": _B19,
    "LD_PREL_LO19": _B19,
    "GOT_LD_PREL19": _B19,
    "TSTBR14": _B14,
    "ADR_PREL_LO21": _ADR21,
}
_IN_PAIRS: Final = {
    NUMBER["ADR_PREL_PG_HI21"]: NUMBER["ADD_ABS_LO12_NC"],
    NUMBER["ADR_GOT_PAGE"]: NUMBER["LD64_GOT_LO12_NC"],
}
"""Page and last bits that linkers may make one instruction of, where nothing stands between them."""

_OF_GOT: Final = 8
"""Added to the readings of last bits of what may have been written for another model of thread-local data."""

_ALL: Final = np.uint64(0xFFFFFFFF)
_NOP: Final = 0xD503201F
_BR_X16: Final = 0xD61F0200
_PAGE_SIZE: Final = 4096
_BTI_C: Final = b"\x5f\x24\x03\xd5"
_LONGEST_STUB: Final = 28


def _bits(bits: int | str) -> bytes:
    """A mask of an instruction, or that of so many bytes of data."""
    if isinstance(bits, str):
        return b"\xff" * int(bits)
    return bits.to_bytes(_WORD, "little") if bits else b""


class _AArch64(Processor):
    machine = "EM_AARCH64"
    number = 183
    of_itself: ClassVar[Mapping[int, bytes]] = {number: _bits(bits) for number, bits in _TYPES.values()}
    # ADRP may become ADR, where an erratum of Cortex-A53 (843419) forbids it to be the last but one of a page.
    fields: ClassVar[Mapping[int, bytes]] = {**of_itself, **{NUMBER[name]: _bits(_ADR | 1 << 31) for name in _PAGES}}
    loose = frozenset({*(NUMBER[name] for name in _PAGES), *_IN_PAIRS.values()})
    filling = b"\0\0\0\0"  # udf #0
    features = feature_note(0xC0000000)  # GNU_PROPERTY_AARCH64_FEATURE_1_AND
    absolute = frozenset({_ABS64, _ABS32})
    adds_code = True

    def relax(self, relocations: Table, content: NDArray[np.uint8], masks: WrittenBits) -> None:
        """See `Processor`."""
        types, symbol = relocation_types(relocations), relocation_symbols(relocations)
        offset = relocations["offset"].astype(np.int64)
        behind = offset[np.isin(types, _CALLS_BEHIND)]
        for at in (offset[np.isin(types, _RELAXED)], behind + _WORD, behind + 2 * _WORD):
            for step in range(_WORD):
                masks.add_relaxed(at + step)
        first, _second = _pairs(offset, types, symbol, relocations["addend"])
        at = offset[first][_may_be_one(Windows(content.tobytes()).words(offset[first]))]
        for step in range(2 * _WORD):
            masks.add_field(at + step)

    def group(self, type_: int) -> int:
        """See `Processor`."""
        return _GROUPS.get(type_, 0)

    def branches(self, code: bytes) -> tuple[Branch, ...]:
        """See `Processor`."""
        words = np.frombuffer(code, "<u4", len(code) // _WORD)
        found = np.zeros(len(words), bool)
        for mask, value in _BRANCHES:
            found |= words & np.uint32(mask) == value
        at = (np.flatnonzero(found) * _WORD).tolist()
        return tuple(Branch(begin, begin + _WORD, begin) for begin in at)

    def readings(self, relocations: Relocations, image: Windows, place: Numbers) -> Readings:
        """See `Processor`."""
        del image, place
        types = relocations.type
        found = [readings(np.flatnonzero(types == NUMBER[name]), kind) for name, kind in _PLAIN.items()]
        first, second = _pairs(relocations.place, types, relocations.symbol, relocations.addend)
        found.append(readings(first, _PAIR, 0, _WORD))
        alone = np.ones(len(types), bool)
        alone[first] = alone[second] = False
        found += [readings(np.flatnonzero(alone & (types == NUMBER[name])), _PAGE) for name in _PAGES]
        for name, (group, shift) in _LOWS.items():
            kind = _LOW + shift + (_OF_GOT if group > 1 else 0)
            found.append(readings(np.flatnonzero(alone & (types == NUMBER[name])), kind))
        return together(found)

    def read(self, kind: int, first: Words, second: Words, address: Numbers, second_address: Numbers) -> Read:
        """See `Processor`."""
        word = first & _ALL
        valid = np.ones(len(first), bool)
        if kind in (_ABS64, _PREL64):
            return Read(first.view(np.int64) + (address if kind == _PREL64 else 0), valid)
        if kind == _ABS32:
            return Read(word.view(np.int64), valid)
        if kind in (_PREL32, _PREL16):
            return Read(signed(first, 32 if kind == _PREL32 else 16) + address, valid)
        if kind == _B26:
            return Read(address + (signed(word, 26) << 2), (word & np.uint64(0x7C000000)) == 0x14000000)
        if kind == _B19:
            return Read(address + (signed(field(word, 5, 19), 19) << 2), valid)
        if kind == _B14:
            return Read(address + (signed(field(word, 5, 14), 14) << 2), valid)
        if kind == _ADR21:
            return Read(address + _distance(word), valid)
        if kind == _PAGE:
            page, is_page = _page(word, address)
            return Read(page, is_page, -_PAGE_SIZE)
        if kind == _PAIR:
            return _pair(word, second & _ALL, address, second_address)
        shift = (kind - _LOW) % _OF_GOT
        if kind >= _LOW + _OF_GOT:
            valid = (word & np.uint64(0xFFC00000)) == (0xF9400000 if shift else 0x91000000)
        low = field(word, 10, 12).view(np.int64) << shift
        return Read(low, valid & (low < _PAGE_SIZE), _PAGE_SIZE - 1)

    def through(self, code: bytes, address: int) -> int | None:
        """See `Processor`: the long branches of GNU ld, gold and lld, by the registers that calls may destroy."""
        at = address
        if code.startswith(_BTI_C):
            code, at = code[_WORD:], at + _WORD
        if len(code) < _LONGEST_STUB - _WORD:
            return None
        one, two, three, four = struct.unpack_from("<4I", code)
        if one & 0xFC000000 == 0x14000000:  # b
            return _branched(one, at)
        if one & 0x9F00001F == 0x90000010 and two & 0xFFC003FF == 0x91000210 and three == _BR_X16:  # adrp, add, br
            pages = int(_distance(np.array([one], np.uint64))[0])
            low: int = two >> 10 & 0xFFF
            return (at & -_PAGE_SIZE) + pages * _PAGE_SIZE + low
        if one == 0x58000050 and two == _BR_X16:  # ldr x16, 8; br; .xword
            return int.from_bytes(code[8:16], "little")
        if (one, two, three, four) == (0x58000090, 0x10000011, 0x8B110210, _BR_X16):  # ldr, adr x17, add, br; .xword
            return at + _WORD + int.from_bytes(code[16:24], "little", signed=True)
        return None

    def beside(self, code: bytes, address: int) -> int | None:
        """See `Processor`: copies of instructions for `detour`.

        GNU ld keeps a page for them, which begins with a branch to its end, so that nothing else moves within its page;
        lld puts an instruction and the branch back there, and nothing else.
        """
        if len(code) < 2 * _WORD:
            return None
        one, two = struct.unpack_from("<2I", code)
        if one & 0xFC000000 == 0x14000000 and two == _NOP and (_branched(one, address) - address) % _PAGE_SIZE == 0:
            return _branched(one, address)
        copies = one not in (_NOP, 0) and one & 0xFC000000 != 0x14000000 and two & 0xFC000000 == 0x14000000
        return address + 2 * _WORD if copies else None

    def detour(self, word: bytes, address: int) -> int | None:
        """See `Processor`: B to a copy of an instruction, behind which B leads back (errata 843419, 835769)."""
        value = int.from_bytes(word, "little")
        return _branched(value, address) if value & 0xFC000000 == 0x14000000 else None


def _branched(word: int, address: int) -> int:
    """Where B leads."""
    return address + ((word & 0x3FFFFFF ^ 0x2000000) - 0x2000000) * _WORD


def _distance(word: Words) -> Numbers:
    """The immediate of ADR and ADRP."""
    return signed(field(word, 5, 19) << np.uint64(2) | field(word, 29, 2), 21)


def _page(word: Words, address: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
    """The page that ADRP, or ADR in its place, gives; and whether it is one of them."""
    is_adrp = (word & np.uint64(0x9F000000)) == 0x90000000
    near = address + _distance(word)
    is_adr = ((word & np.uint64(0x9F000000)) == 0x10000000) & (near % _PAGE_SIZE == 0)
    far = (address & -_PAGE_SIZE) + _distance(word) * _PAGE_SIZE
    return np.where(is_adrp, far, near), is_adrp | is_adr


def _pair(one: Words, two: Words, address: Numbers, second_address: Numbers) -> Read:
    """An address made by a page and the last bits, or read from the GOT there; or by NOP and ADR."""
    page, is_page = _page(one, address)
    register, base = field(two, 0, 5), field(two, 5, 5)
    adds = (two & np.uint64(0xFFC00000)) == 0x91000000
    loads = (two & np.uint64(0xFFC00000)) == 0xF9400000
    low = field(two, 10, 12).view(np.int64) << np.where(loads, 3, 0)
    is_long = is_page & (adds | loads) & (base == field(one, 0, 5)) & (low < _PAGE_SIZE)
    is_short = (one == _NOP) & ((two & np.uint64(0x9F000000)) == 0x10000000)
    value = np.where(is_short, second_address + _distance(two), page + low)
    form = (
        register
        | np.where(is_short, register, base) << np.uint64(5)
        | (loads & is_long).astype(np.uint64) << np.uint64(10)
    )
    return Read(value, is_long | is_short, form=form.view(np.int64))


def _pairs(place: Numbers, types: Numbers, symbol: Numbers, addend: Numbers) -> tuple[Numbers, Numbers]:
    """Rows of relocations that stand side by side, and may be written as one: the page's, and that of the last bits."""
    order = np.argsort(place, kind="stable")
    one, two = order[:-1], order[1:]
    fits = np.zeros(len(one), bool)
    for page, low in _IN_PAIRS.items():
        fits |= (types[one] == page) & (types[two] == low)
    fits &= (place[two] == place[one] + _WORD) & (symbol[one] == symbol[two]) & (addend[one] == addend[two])
    return one[fits], two[fits]


def _may_be_one(words: Words) -> NDArray[np.bool_]:
    """Whether two instructions are of one register alone."""
    target, base, register = field(words, 0, 5), field(words, 37, 5), field(words, 32, 5)
    same: NDArray[np.bool_] = (target == base) & (base == register)
    return same


PROCESSOR: Final = _AArch64()
