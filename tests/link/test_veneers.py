"""AArch64: what linkers put in the way of instructions where an address demands it, and no mutation of it, is accepted."""

from __future__ import annotations

import random
import struct
from itertools import pairwise

import numpy as np
import pytest

from buildkit import Relinker, cross_compiled, cross_linker
from layoutrand.link.leads import ends_of_added_code, undone
from layoutrand.objects.known.aarch64 import PROCESSOR
from proofkit import Proof, patched

# Errata of Cortex-A53. 843419: ADRP in one of the last two words of a page, then two loads or stores; 835769: a load or store, then a
# multiplication of 64 bits that adds.
SEQUENCES = {
    "843419": "adrp x0, v\nldr x1, [x2]\nldr x3, [x0, :lo12:v]\n",
    "835769": "ldr x1, [x2]\nmadd x3, x4, x5, x6\nadd x7, x7, #1\n",
}
TEXT = (
    '.section .data.v,"aw"\n.balign 16\n.globl v\nv: .xword 1, 2\n.section .text._start,"ax"\n.globl _start\n_start: ret\n'
    + "".join(
        f'.section .text.f{number},"ax"\n.globl f{number}\n.type f{number},%function\nf{number}:\n'
        + "SEQUENCE" * (60 + 41 * number)
        + f"ret\n.size f{number},.-f{number}\n"
        for number in range(9)
    )
    + '.section .note.GNU-stack,"",%progbits\n'
)
ARGUMENT = "--fix-cortex-a53-843419"
OTHER = "--fix-cortex-a53-835769"
FIXES = [*(("bfd", f"{ARGUMENT}={how}") for how in ("full", "adrp", "adr")), ("bfd", OTHER), ("lld", ARGUMENT)]


CASES = [pytest.param(fix, marks=pytest.mark.slow) if OTHER in fix else fix for fix in FIXES]


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def fixed(request, tmp_path_factory):
    """The program with that fix, and its proof."""
    kind, argument = request.param
    folder = tmp_path_factory.mktemp("erratum")
    sequence = next(text for erratum, text in SEQUENCES.items() if erratum in argument)
    path = cross_compiled("aarch64", folder, "a.s", TEXT.replace("SEQUENCE", sequence))
    flags = ["-m", "aarch64linux", argument]
    return Proof(Relinker(kind, folder / "link", [path], *flags, program=cross_linker("aarch64", kind)))


def orders(proof, count=8):
    for seed in range(count):
        order = list(range(len(proof.program.chosen)))
        random.Random(seed).shuffle(order)
        yield order


def at_page_ends(proof, binary):
    """How many ADRP stand where they must not, and what stands there, as words at their places."""
    where, found = proof.where(binary), 0
    for section, address in enumerate(where.address.tolist()):
        for offset in range(0, int(proof.masks.stored[section]) - 12, 4):
            if (address + offset) % 4096 >= 0xFF8:
                word = struct.unpack_from("<I", binary.data, proof.place(binary, section, offset))[0]
                found += word & 0x9F000000 == 0x90000000
    return found


def test_layouts_with_moved_instructions_are_proved(fixed):
    """ADR in place of ADRP, or a load behind a branch: nothing else differs, and it is really there."""
    moved = short = 0
    for order in orders(fixed):
        binary = fixed.program.link(order)
        assert fixed.wrong(binary, order) is None
        plain = undone(fixed.blocks, binary, fixed.where(binary), fixed.masks.size)
        moved += plain.data != binary.data
        words = np.frombuffer(binary.data[: len(binary.data) // 4 * 4], "<u4")
        short += int(((words & 0x9F00001F) == 0x10000000).sum())
    assert moved + short > 0


def detours(proof, binary):
    """File offsets of branches that stand for an instruction, and where its copy is in the file."""
    where = proof.where(binary)
    plain = undone(proof.blocks, binary, where, proof.masks.size)
    home = binary.sections[int(where.output[0])]
    shift = int(home["offset"]) - int(home["addr"])
    for at in np.flatnonzero(np.frombuffer(plain.data, np.uint8) != np.frombuffer(binary.data, np.uint8)).tolist():
        place = at - at % 4
        yield place, PROCESSOR.detour(binary.data[place : place + 4], place - shift) + shift


@pytest.mark.hour
def test_a_mutated_detour_is_told(fixed):
    """Dropped, led elsewhere, with another instruction, or without the way back."""
    tried = 0
    for order in orders(fixed):
        binary = fixed.program.link(order)
        for place, copy in list(detours(fixed, binary))[:3]:
            word = struct.unpack_from("<I", binary.data, copy)[0]
            mutants = [
                {copy: bytes(4)},
                {copy: struct.pack("<I", word ^ 1)},
                {copy: struct.pack("<I", word ^ 1 << 10)},
                {copy + 4: bytes(4)},
                {copy + 4: struct.pack("<I", struct.unpack_from("<I", binary.data, copy + 4)[0] + 1)},
                {place: struct.pack("<I", struct.unpack_from("<I", binary.data, place)[0] + 2)},
                {place: bytes(4)},
            ]
            tried += len(mutants)
            assert [n for n, each in enumerate(mutants) if fixed.wrong(patched(binary, each), order) is None] == []
    kind = fixed.program.kind, fixed.program.flags[-1]
    assert tried or kind == ("bfd", ARGUMENT + "=full") or kind == ("bfd", ARGUMENT + "=adr")


def test_room_that_the_linker_takes_between_sections_is_known(fixed):
    """Each section begins where the one before it ends, or where what the linker put there by itself ends."""
    found = 0
    for order in orders(fixed):
        binary = fixed.program.link(order)
        where = fixed.where(binary)
        for before, after in pairwise(order):
            end, begin = int(where.address[before] + fixed.masks.size[before]), int(where.address[after])
            if end != begin:
                assert begin in ends_of_added_code(binary, where, fixed.masks.size, end)
                found += 1
    assert found or fixed.program.flags[-1] != ARGUMENT + "=adrp"


STUBS = {
    "short": ("b target", 0),
    "page": ("adrp x16, target\nadd x16, x16, :lo12:target\nbr x16", 0),
    "page, landing pad": ("bti c\nadrp x16, target\nadd x16, x16, :lo12:target\nbr x16", 0),
    "address": ("ldr x16, 1f\nbr x16\n1: .xword target", 0),
    "distance": ("0: ldr x16, 1f\nadr x17, .\nadd x16, x16, x17\nbr x16\n1: .xword target - 0b - 4", 0),
}


@pytest.mark.parametrize("name", STUBS)
def test_what_stands_where_a_branch_does_not_reach_leads_on(tmp_path, name):
    """As an assembler and a linker write it; one bit less of it is not taken for it, or leads elsewhere."""
    text = (
        f'.arch armv8.5-a\n.section .text.s,"ax"\n.globl _start\n_start:\n{STUBS[name][0]}\n.fill 8, 4, 0xd503201f\n'
        '.section .text.t,"ax"\n.globl target\ntarget: ret\n'
    )
    path = cross_compiled("aarch64", tmp_path, "a.s", text)
    program = Relinker("bfd", tmp_path / "link", [path], "-m", "aarch64linux", program=cross_linker("aarch64", "bfd"))
    binary = program.link([0, 1])
    proof_place = {n: int(address) for n, address in zip(range(2), _addresses(program, binary), strict=True)}
    home = int(np.flatnonzero(np.array(binary.section_names) == ".text")[0])
    begin = proof_place[0] - int(binary.sections["addr"][home])
    code = bytes(binary.view(home)[begin : begin + 32])

    assert PROCESSOR.through(code, proof_place[0]) == proof_place[1]
    length = (code.index(b"\x1f\x20\x03\xd5") if b"\x1f\x20\x03\xd5" in code else 24) * 8
    for bit in range(length):
        mutant = bytearray(code)
        mutant[bit // 8] ^= 1 << bit % 8
        assert PROCESSOR.through(bytes(mutant), proof_place[0]) != proof_place[1], bit


def _addresses(program, binary):
    from layoutrand.link import codecheck

    masks = program.masks()
    return codecheck.placed(binary, codecheck.placed_addresses(binary), masks.size).address


FORWARDS = """
.section .text._start,"ax"
.globl _start
_start: bl aim
ret
.section .text.forwards,"ax"
.globl forwards
forwards: b aim
.section .text.aim,"ax"
.globl aim
aim: ret
.section .note.GNU-stack,"",%progbits
"""


@pytest.mark.parametrize("kind", ["bfd", "lld"])
def test_a_function_that_begins_with_a_branch_is_no_thunk(tmp_path, kind):
    """A call of it would end at the same place, and is another call all the same."""
    path = cross_compiled("aarch64", tmp_path, "a.s", FORWARDS)
    program = Relinker(kind, tmp_path / "link", [path], "-m", "aarch64linux", program=cross_linker("aarch64", kind))
    start, forwards, aim = (
        [candidate.section.name for candidate in program.chosen].index(f".text.{name}")
        for name in ("_start", "forwards", "aim")
    )
    proof = Proof(program)
    order = [aim, start, forwards]
    binary = program.link(order)
    assert proof.wrong(binary, order) is None
    distance = int(proof.where(binary).address[forwards] - proof.where(binary).address[start]) // 4
    call = {proof.place(binary, start, 0): struct.pack("<I", 0x94000000 | distance & 0x3FFFFFF)}
    assert proof.wrong(patched(binary, call), order) == "reference"


FAR = """
.section .text._start,"ax"
.globl _start
_start: bl far
b far
ret
.section .text.gap,"ax"
.globl gap
gap: .space {size}
.section .text.far,"ax"
.globl far
far: ret
.section .text.other,"ax"
.globl other
other: ret
.section .note.GNU-stack,"",%progbits
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bfd", "lld"])
def test_branches_over_more_than_they_reach(tmp_path, kind):
    """129 MiB between: a thunk leads on. In the layout where all is near there is none; both are proved."""
    path = cross_compiled("aarch64", tmp_path, "a.s", FAR.format(size=129 << 20))
    program = Relinker(kind, tmp_path / "link", [path], "-m", "aarch64linux", program=cross_linker("aarch64", kind))
    names = [candidate.section.name for candidate in program.chosen]
    start, gap, far, other = (names.index(f".text.{name}") for name in ("_start", "gap", "far", "other"))
    proof = Proof(program)
    near, apart = [start, far, other, gap], [start, other, gap, far]
    for order in (near, apart, [far, gap, start, other]):
        assert proof.wrong(program.link(order), order) is None
    binary = program.link(apart)
    call = proof.place(binary, start, 0)
    mutant = patched(
        binary, {call: struct.pack("<I", 0x94000000 | (struct.unpack_from("<I", binary.data, call)[0] + 1 & 0x3FFFFFF))}
    )
    assert proof.wrong(mutant, apart) == "reference"
