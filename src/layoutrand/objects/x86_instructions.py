"""Instructions of x86-64 as far as their length goes, and which of them are branches.

By the maps of opcodes in Intel's Software Developer's Manual, volume 2, appendix A, and AMD's Programmer's Manual,
volume 3, appendix A (XOP).  Which comparison is fused with the conditional jump behind it is that of Intel's
Optimization Reference Manual, "Macro-Fusion".  What is not in the maps ends the reading: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from layoutrand.objects.branches import Branch

_PREFIXES: Final = frozenset(b"\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65\x66\x67")
_WIDE: Final = 0x66
_SHORT_ADDRESS: Final = 0x67

# A letter says what follows the opcode: "m" ModRM, "-" nothing, "b" "w" "z" an immediate of 1, 2 and 4 bytes (z: 2
# with prefix 66), "B" "Z" ModRM and such an immediate, "r" a displacement of 4 bytes, "e" 3 bytes (enter), "v" an
# immediate as wide as the register, "o" an address, "t" "T" ModRM and an immediate (b, z) in TEST alone, "." nothing
# that is known.  Four rows of 64 opcodes.
_ONE: Final = (
    "mmmmbz..mmmmbz..mmmmbz..mmmmbz..mmmmbz..mmmmbz..mmmmbz..mmmmbz.."
    "................----------------...m....zZbB----bbbbbbbbbbbbbbbb"
    "BZ.Bmmmmmmmmmmmm----------.-----oooo----bz------bbbbbbbbvvvvvvvv"
    "BBw-..BZe-w--b.-mmmm...-mmmmmmmmbbbbbbbbrr.b----.-..--tT------mm"
)
_TWO: Final = (
    "mmmm.-----.-.m-Bmmmmmmmmmmmmmmmmmmmm....mmmmmmmm------.-........"
    "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmBBBBmmm-mm..mmmm"
    "rrrrrrrrrrrrrrrrmmmmmmmmmmmmmmmm---mBm..---mBmmmmmmmmmmmmmBmmmmm"
    "mmBmBBBm--------mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"
)
_IMMEDIATE: Final = {"b": 1, "B": 1, "w": 2, "e": 3, "r": 4}
_SIB: Final = 4
_NO_BASE: Final = 5
_REGISTERS: Final = 3
_SHORT_JUMPS: Final = range(0x70, 0x80)
_NEAR_JUMPS: Final = range(0x80, 0x90)
_OTHER_BRANCHES: Final = frozenset((0xC2, 0xC3, 0xCA, 0xCB, 0xE0, 0xE1, 0xE2, 0xE3, 0xE8, 0xE9, 0xEB))
_INDIRECT: Final = range(2, 6)
"""Of opcode FF: calls and jumps to where a register or memory says."""

_ADD, _AND, _SUBTRACT, _COMPARE = 0, 4, 5, 7
"""Of the eight operations that have opcodes below 40."""

_ALL: Final = frozenset(range(16))
_WITH_CARRY: Final = frozenset((2, 3, 4, 5, 6, 7, 12, 13, 14, 15))
_WITHOUT_CARRY: Final = frozenset((4, 5, 12, 13, 14, 15))


@dataclass(frozen=True)
class _Instruction:
    """``fuses`` are conditions of a jump behind it that it is one operation with, ``condition`` is that of a jump."""

    at: int
    end: int
    branch: bool
    condition: int = -1
    fuses: frozenset[int] = frozenset()


def branches(code: bytes) -> tuple[Branch, ...]:
    """All branches from the begin of the code on, which is that of an instruction, up to one that is not known."""
    found: list[Branch] = []
    before = _Instruction(0, 0, branch=False)
    for each in instructions(code):
        if each.branch:
            fused = each.condition in before.fuses
            found.append(Branch(each.at, each.end, before.at if fused else each.at))
        before = each
    return tuple(found)


def instructions(code: bytes) -> Iterator[_Instruction]:
    """One after the other, up to the end of the code or to one that is not known."""
    at = 0
    while at < len(code):
        try:
            found = _instruction(code, at)
        except IndexError:  # cut off
            return
        if found is None or found.end > len(code):
            return
        yield found
        at = found.end


def _instruction(code: bytes, begin: int) -> _Instruction | None:
    at, prefixes = begin, set[int]()
    while code[at] in _PREFIXES:
        prefixes.add(code[at])
        at += 1
    wide_register = False
    if code[at] & 0xF0 == 0x40:  # REX
        wide_register = bool(code[at] & 8)
        at += 1
    opcode = code[at]
    if opcode in (0xC4, 0xC5, 0x62) or (opcode == 0x8F and code[at + 1] & 0x1F >= 8):
        return _vector(code, begin, at)
    table = 1
    form = _ONE[opcode]
    if opcode == 0x0F:
        at, table, opcode = at + 1, 2, code[at + 1]
        form = _TWO[opcode]
        if opcode in (0x38, 0x3A):
            at, table, form = at + 1, opcode, "m" if opcode == 0x38 else "B"
            opcode = code[at]
    end = _end(code, at + 1, form, prefixes, wide_register=wide_register)
    if end < 0:
        return None
    modrm = code[at + 1] if form in "mBZtT" else 0
    if table == 1:
        condition = opcode & 15 if opcode in _SHORT_JUMPS else -1
        branch = condition >= 0 or opcode in _OTHER_BRANCHES or (opcode == 0xFF and modrm >> 3 & 7 in _INDIRECT)
        return _Instruction(begin, end, branch, condition, _fuses(opcode, modrm, form))
    near = table == 2 and opcode in _NEAR_JUMPS
    return _Instruction(begin, end, near, opcode & 15 if near else -1)


def _vector(code: bytes, begin: int, at: int) -> _Instruction | None:
    """VEX, EVEX and XOP: the map says whether an immediate follows."""
    first = code[at]
    which = 1 if first == 0xC5 else code[at + 1] & (0x1F if first in (0xC4, 0x8F) else 7)
    at += {0xC5: 2, 0xC4: 3, 0x8F: 3, 0x62: 4}[first]
    opcode = code[at]
    if first == 0x8F:
        form = {8: "B", 9: "m", 10: "Z"}.get(which, ".")
    elif which == 1:
        form = "-" if first != 0x62 and opcode == 0x77 else _TWO[opcode] if _TWO[opcode] in "mB" else "."
    else:
        form = {2: "m", 3: "B", 5: "m" if first == 0x62 else ".", 6: "m" if first == 0x62 else "."}.get(which, ".")
    end = _end(code, at + 1, form, set(), wide_register=False)
    return None if end < 0 else _Instruction(begin, end, branch=False)


def _end(code: bytes, at: int, form: str, prefixes: set[int], *, wide_register: bool) -> int:
    """Where the instruction ends whose opcode ends at ``at``; -1 for a form that is not known."""
    if form == ".":
        return -1
    z = 2 if _WIDE in prefixes and not wide_register else 4
    if form in "mBZtT":
        modrm = code[at]
        at = _behind_operand(code, at)
        if form in "tT":  # of F6 and F7 only TEST has an immediate
            form = ("b" if form == "t" else "z") if modrm & 0x30 == 0 else "-"
    if form in "zZ":
        return at + z
    if form == "v":
        return at + (8 if wide_register else z)
    if form == "o":
        return at + (4 if _SHORT_ADDRESS in prefixes else 8)
    return at + _IMMEDIATE.get(form, 0)


def _behind_operand(code: bytes, at: int) -> int:
    """Behind ModRM, SIB and displacement."""
    modrm = code[at]
    mode, register = modrm >> 6, modrm & 7
    at += 1
    if mode == _REGISTERS:
        return at
    if register == _SIB:
        register = code[at] & 7
        at += 1
    far = mode == 2 or (mode == 0 and register == _NO_BASE)
    return at + (4 if far else 1 if mode == 1 else 0)


def _fuses(opcode: int, modrm: int, form: str) -> frozenset[int]:
    """Conditions of a jump behind it that decoders make one operation of the two for."""
    memory, operation = modrm >> 6 != _REGISTERS and form in "mBZtT", modrm >> 3 & 7
    if opcode in (0x84, 0x85, 0xA8, 0xA9) or (opcode in (0xF6, 0xF7) and operation < 2 and not memory):
        return _ALL  # TEST
    if opcode < 0x40 and form in "mbz":
        kind = opcode >> 3
        unfit = memory and opcode & 7 < 2 and kind != _COMPARE  # what writes memory
    elif opcode in (0x80, 0x81, 0x83):
        kind, unfit = operation, memory  # an immediate and memory
    else:
        one_more = opcode in (0xFE, 0xFF) and operation < 2 and not memory
        return _WITHOUT_CARRY if one_more else frozenset()
    if unfit or kind not in (_ADD, _AND, _SUBTRACT, _COMPARE):
        return frozenset()
    return _ALL if kind == _AND else _WITH_CARRY
