"""AArch64 and RISC-V: what linkers write over a section, compared with what GNU ld, gold and lld really do."""

from __future__ import annotations

import re

import numpy as np
import pytest
from elftools.elf.enums import ENUM_RELOC_TYPE_AARCH64

from buildkit import EMULATION, Relinker, cross_compiled, cross_linker, said
from layoutrand.errors import FeatureUnsupported
from layoutrand.objects import elf
from layoutrand.objects.known import aarch64, processor, processors, riscv64, x86_64
from workshop import require

ALL = "nps"
"""Modes in which a form can be linked: n(on-PIE), p(ie), s(hared)."""

AARCH64 = {
    "call": ("CALL26", "bl f", ALL),
    "jump": ("JUMP26", "b f", ALL),
    "conditional branch": ("CONDBR19", "b.eq f", "np"),
    "test and branch": ("TSTBR14", "tbz x3, #5, f", "np"),
    "page and addition of one register": ("ADR_PREL_PG_HI21", "adrp x3, f\nadd x3, x3, :lo12:f", "np"),
    "page and addition of two registers": ("ADD_ABS_LO12_NC", "adrp x3, f\nadd x4, x3, :lo12:f", "np"),
    "page and addition apart": ("ADD_ABS_LO12_NC", "adrp x3, f\nnop\nadd x3, x3, :lo12:f", "np"),
    "page unchecked": ("ADR_PREL_PG_HI21_NC", "adrp x3, :pg_hi21_nc:f\nadd x3, x3, :lo12:f", "np"),
    "byte": ("LDST8_ABS_LO12_NC", "adrp x3, v\nldrb w1, [x3, :lo12:v]", "np"),
    "half": ("LDST16_ABS_LO12_NC", "adrp x3, v\nstrh w1, [x3, :lo12:v]", "np"),
    "word": ("LDST32_ABS_LO12_NC", "adrp x3, v\nldr w1, [x3, :lo12:v]", "np"),
    "double word": ("LDST64_ABS_LO12_NC", "adrp x3, v\nstr x1, [x3, :lo12:v]", "np"),
    "quad word": ("LDST128_ABS_LO12_NC", "adrp x3, v\nldr q1, [x3, :lo12:v]", "np"),
    "near": ("ADR_PREL_LO21", "adr x5, f", "np"),
    "literal": ("LD_PREL_LO19", "ldr x5, v", "np"),
    "GOT, one register": ("ADR_GOT_PAGE", "adrp x7, :got:v\nldr x7, [x7, :got_lo12:v]", ALL),
    "GOT, two registers": ("LD64_GOT_LO12_NC", "adrp x7, :got:v\nldr x8, [x7, :got_lo12:v]", ALL),
    "wide": (
        "MOVW_UABS_G3",
        "movz x2, #:abs_g3:f\nmovk x2, #:abs_g2_nc:f\nmovk x2, #:abs_g1_nc:f\nmovk x2, #:abs_g0_nc:f",
        "n",
    ),
    "wide, checked": ("MOVW_UABS_G1", "movz x2, #:abs_g1:f\nmovk x2, #:abs_g0_nc:f", "n"),
    "wide, signed": ("MOVW_SABS_G1", "movz x2, #:abs_g1_s:f\nmovk x2, #:abs_g0_nc:f", "n"),
    "wide distance": ("MOVW_PREL_G1", "movz x2, #:prel_g1:f\nmovk x2, #:prel_g0_nc:f", "np"),
    "descriptor": (
        "TLSDESC_ADR_PAGE21",
        "adrp x0, :tlsdesc:t\nldr x1, [x0, #:tlsdesc_lo12:t]\nadd x0, x0, :tlsdesc_lo12:t\n.tlsdesccall t\nblr x1",
        ALL,
    ),
    "general dynamic": (
        "TLSGD_ADR_PAGE21",
        "adrp x0, :tlsgd:t\nadd x0, x0, :tlsgd_lo12:t\nbl __tls_get_addr\nnop",
        "np",
    ),
    "initial exec": ("TLSIE_ADR_GOTTPREL_PAGE21", "adrp x0, :gottprel:t\nldr x0, [x0, :gottprel_lo12:t]", ALL),
    "local exec": (
        "TLSLE_ADD_TPREL_HI12",
        "add x0, x0, :tprel_hi12:t, lsl #12\nadd x0, x0, :tprel_lo12_nc:t\nldr w1, [x0, :tprel_lo12_nc:t]",
        "np",
    ),
    "local exec, wide": ("TLSLE_MOVW_TPREL_G1", "movz x0, #:tprel_g1:t\nmovk x0, #:tprel_g0_nc:t", "np"),
    "address": ("ABS64", ".xword f", "n"),
    "short address": ("ABS32", ".word f", "n"),
    "distance": ("PREL64", ".xword f - .", "np"),
    "short distance": ("PREL32", ".word f - .\n.word v - .", "np"),
    "tiny distance": ("PREL16", ".hword f - .\n.hword 0", "np"),
    "landing pads, authentication": ("CALL26", "bti c\npaciasp\nbl f\nautiasp\nret", ALL),
}
RISCV64 = {
    "call": ("CALL_PLT", "call f", ALL),
    "tail": ("CALL_PLT", "tail f", ALL),
    "jump": ("JAL", "jal ra, f", "np"),
    "branch": ("BRANCH", ".reloc ., R_RISCV_BRANCH, f\n.4byte 0x00b50063", "np"),
    "compressed jump": ("RVC_JUMP", ".reloc ., R_RISCV_RVC_JUMP, f\n.2byte 0xa001\nc.nop", "np"),
    "compressed branch": ("RVC_BRANCH", ".reloc ., R_RISCV_RVC_BRANCH, f\n.2byte 0xc101\nc.nop", ""),
    "near address": ("PCREL_HI20", "lla a3, v", "np"),
    "near load": ("PCREL_LO12_I", "lw a3, v", "np"),
    "near store": ("PCREL_LO12_S", "sw a3, v, t0", "np"),
    "GOT": ("GOT_HI20", ".option pic\nla a4, v", ALL),
    "absolute address": ("HI20", "lui a5, %hi(v)\naddi a5, a5, %lo(v)", "n"),
    "absolute store": ("LO12_S", "lui a5, %hi(v)\nsw a6, %lo(v)(a5)", "n"),
    "general dynamic": ("TLS_GD_HI20", "la.tls.gd a0, t", ALL),
    "initial exec": ("TLS_GOT_HI20", "la.tls.ie a0, t", ALL),
    "local exec": ("TPREL_HI20", "lui a5, %tprel_hi(t)\nadd a5, a5, tp, %tprel_add(t)\nsw a6, %tprel_lo(t)(a5)", "np"),
    "local exec, load": (
        "TPREL_LO12_I",
        "lui a5, %tprel_hi(t)\nadd a5, a5, tp, %tprel_add(t)\nlw a6, %tprel_lo(t)(a5)",
        "np",
    ),
    "address": ("64", ".dword f", "n"),
    "short address": ("32", ".word f", "n"),
    "difference": ("ADD32", ".word v - f", "np"),
    "wide difference": ("ADD64", ".dword v - f", "np"),
    "tiny difference": ("ADD16", ".half v - f\n.half 0", "np"),
    "tiniest difference": ("ADD8", ".byte v - f\n.byte 0, 0, 0", ""),
}
FORMS = {"aarch64": AARCH64, "riscv64": RISCV64}
MODULES = {"aarch64": aarch64, "riscv64": riscv64}
LINKERS = {"aarch64": ("bfd", "gold", "lld"), "riscv64": ("bfd", "lld")}
NOT_BY = {
    # gold writes a literal that is far over bits of the opcode (no program of it could work)
    "gold": {"literal", "initial exec", "descriptor", "tiny distance", "wide distance", "wide, signed"},
    "lld": {"wide, signed", "general dynamic"},
}
"""Forms that a linker does not know in a program where nothing is far, or not in all modes."""

DEFINITIONS = """
.section .text.f,"ax",%progbits
.globl f
.type f,%function
.balign 4
f: nop
ret
.size f,.-f
.section .data.v,"aw",%progbits
.balign 16
.globl v
.type v,%object
.size v,16
v: .word 1, 2, 3, 4
.section .tdata,"awT",%progbits
.word 0
.globl t
.type t,%object
.size t,4
t: .word 7
.section .text.g,"ax",%progbits
.globl __tls_get_addr
.type __tls_get_addr,%function
__tls_get_addr: ret
.section .note.GNU-stack,"",%progbits
"""
MODES = {"n": [], "p": ["-pie"], "s": ["-shared"]}
CASES = [
    pytest.param(machine, kind, mode, id=f"{machine}-{kind}-{mode}")
    for machine, kinds in LINKERS.items()
    for kind in kinds
    for mode in MODES
]


def uses(machine, folder, names):
    """An object with one section for each form."""
    return (
        ".option norelax\n" * (machine == "riscv64")
        + '.globl _start\n.section .text._start,"ax"\n_start: ret\n'
        + "".join(
            f'.section .text.use{number},"ax",%progbits\n.balign 4\n{"nop" + chr(10)}{FORMS[machine][name][1]}\nnop\nret\n'
            for number, name in enumerate(names)
        )
        + '.section .note.GNU-stack,"",%progbits\n'
    )


def relinker(machine, kind, mode, folder, names):
    text = uses(machine, folder, names)
    if mode == "s":  # a symbol that another object sees can be another one's
        text = text.replace(".option pic\n", "")
    objects = [
        cross_compiled(machine, folder, "uses.s", text),
        cross_compiled(machine, folder, "definitions.s", ".option norelax\n" * (machine == "riscv64") + DEFINITIONS),
    ]
    flags = ["-m", EMULATION[machine], *(["--no-relax"] if machine == "riscv64" else []), *MODES[mode]]
    return Relinker(kind, folder / "link", objects, *flags, program=cross_linker(machine, kind))


def names_of(machine, kind, mode):
    return [
        name for name, (_, _, modes) in FORMS[machine].items() if mode in modes and name not in NOT_BY.get(kind, ())
    ]


@pytest.mark.parametrize(("machine", "kind", "mode"), CASES)
def test_linkers_change_nothing_outside_the_masks(tmp_path, machine, kind, mode):
    """Every form of every type, relaxed or not, in two orders: bits outside the masks are the object's, and identity's."""
    names = names_of(machine, kind, mode)
    program = relinker(machine, kind, mode, tmp_path, names)
    masks = program.masks()
    order = list(range(len(program.chosen)))
    first, second = program.code(program.link(order)), program.code(program.link(order[::-1]))

    for difference, fixed in (((first ^ masks.content), masks.input_fixed), ((first ^ second), masks.fixed)):
        wrong = np.flatnonzero(difference & fixed)
        assert len(wrong) == 0, [names[np.searchsorted(masks.start, at, side="right") - 2] for at in wrong.tolist()]
        assert difference.any()


@pytest.mark.parametrize(("machine", "name"), [(machine, name) for machine, forms in FORMS.items() for name in forms])
def test_the_assembler_makes_the_type_meant(tmp_path, machine, name):
    """Each form has a relocation of its type, or the tests above would prove nothing about it."""
    path = cross_compiled(machine, tmp_path, "one.s", uses(machine, tmp_path, [name]))
    kinds = set(re.findall(r"R_(?:AARCH64|RISCV)_\w+", said("readelf", "-rW", path)))
    prefix = {"aarch64": "R_AARCH64_", "riscv64": "R_RISCV_"}[machine]

    assert prefix + FORMS[machine][name][0] in kinds


@pytest.mark.parametrize("machine", FORMS)
def test_numbers_are_those_of_others(machine):
    """Where pyelftools or LLVM know a type, it has the same number there."""
    own = MODULES[machine].NUMBER
    if machine == "aarch64":
        theirs = {name.removeprefix("R_AARCH64_"): number for name, number in ENUM_RELOC_TYPE_AARCH64.items()}
    else:
        require("llvm-readelf-19", "llvm-19")
        theirs = _of_llvm()
    shared = own.keys() & theirs.keys()

    assert len(shared) > 35
    assert {name: own[name] for name in shared} == {name: theirs[name] for name in shared}


def _of_llvm():
    """RISC-V's types as llvm-readelf names them, asked with an object that has each number once."""
    count = 70
    rows = np.zeros(count, elf.RELA)
    rows["info"] = np.arange(count)
    names = b"\0.rela.x\0.symtab\0.strtab\0"
    headers = np.zeros(4, elf.SECTION)
    at = 64
    body = b""
    for index, (name, type_, data, entry, link) in enumerate(
        [
            (1, elf.SHT_RELA, rows.tobytes(), 24, 2),
            (9, elf.SHT_SYMTAB, bytes(24), 24, 3),
            (17, elf.SHT_STRTAB, names, 0, 0),
        ],
        1,
    ):
        headers[index] = (name, type_, 0, 0, at + len(body), len(data), link, 0, 8, entry)
        body += data + bytes(-len(data) % 8)
    header = (
        b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
        + b"".join(number.to_bytes(size, "little") for number, size in ((1, 2), (243, 2), (1, 4), (0, 8), (0, 8)))
        + (64 + len(body)).to_bytes(8, "little")
        + b"".join(
            number.to_bytes(size, "little")
            for number, size in ((0, 4), (64, 2), (0, 2), (0, 2), (64, 2), (4, 2), (3, 2))
        )
    )
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "all.o")
        path.write_bytes(header + body + headers.tobytes())
        text = said("llvm-readelf-19", "-rW", path)
    found = re.findall(r"^[0-9a-f]+ +([0-9a-f]{16}) R_RISCV_(\w+)", text, re.MULTILINE)
    return {name: int(number, 16) for number, name in found}


@pytest.mark.parametrize("machine", FORMS)
def test_every_type_that_a_program_needs_was_linked(machine):
    """What the forms do not have is told apart, so that it is known what no linker here has shown."""
    meant = {name for name, _, modes in FORMS[machine].values() if modes}
    parts = " ".join(text for _, text, _ in FORMS[machine].values())
    assert len(meant) > 14
    assert "lo12" in parts or "%lo" in parts


@pytest.mark.parametrize("machine", ["EM_X86_64", "EM_AARCH64", "EM_RISCV"])
def test_an_unknown_type_is_an_error(machine):
    """Also a type of another processor."""
    table = np.zeros(1, elf.RELA)
    table["info"] = 999
    with pytest.raises(FeatureUnsupported, match=r"^f of a\.o: relocation type 999 is unknown"):
        processor(machine, "").written(table, np.zeros(64, np.uint8), where="f of a.o")


@pytest.mark.parametrize("machine", FORMS)
def test_a_field_of_an_instruction_has_no_bit_of_its_opcode(machine):
    """No mask of an instruction is all of it: something of it is always compared."""
    of = processors()[{"aarch64": "EM_AARCH64", "riscv64": "EM_RISCV"}[machine]]
    data = {"ABS", "PREL64", "PREL32", "PREL16", "PLT32", "GOTREL", "GOTPCREL32"}
    own = MODULES[machine].NUMBER
    for name, number in own.items():
        bits = of.fields[number]
        if machine == "aarch64" and bits and not name.startswith(tuple(data)):
            assert len(bits) == 4
            assert int.from_bytes(bits, "little") & 0x1F == 0 or name.endswith(("CALL26", "JUMP26"))
            assert bits != b"\xff" * 4


def test_code_that_the_linker_shortens_is_refused_with_what_to_do(tmp_path):
    """Alignment in code compiled for linker relaxation."""
    text = '.globl _start\n.section .text._start,"ax"\n_start: c.nop\n.balign 8\nret\n'
    require("riscv64-linux-gnu-as", "binutils-riscv64-linux-gnu")
    path = cross_compiled("riscv64", tmp_path, "a.s", ".option relax\n" + text)
    program = Relinker("bfd", tmp_path / "link", [path], program=cross_linker("riscv64", "bfd"))
    with pytest.raises(FeatureUnsupported, match="compiled for linker relaxation.*-mno-relax"):
        program.masks()


def test_each_processor_is_known_by_its_machine():
    assert {name: each.number for name, each in processors().items()} == {
        "EM_X86_64": 62,
        "EM_AARCH64": 183,
        "EM_RISCV": 243,
    }
    assert x86_64.PROCESSOR is processor("EM_X86_64", "")
