"""What linkers write over a section: masks compared with what GNU ld, gold and lld really do."""

import numpy as np
import pytest
from elftools.elf.enums import ENUM_RELOC_TYPE_x64

from buildkit import Relinker, compiled, run, said
from layoutrand.errors import FeatureUnsupported
from layoutrand.objects import elf
from layoutrand.objects.known.x86_64 import NUMBER, PROCESSOR, RELAXED
from workshop import require

# What each form is assembled to, and in which modes which linkers take it: n(on-PIE), p(ie), s(hared).
EVERYWHERE = {"bfd": "nps", "gold": "nps", "lld": "nps"}
NOT_SHARED = {"bfd": "np", "gold": "np", "lld": "np"}
FORMS = {
    "call through GOT": ("GOTPCRELX", "call *f@GOTPCREL(%rip)", EVERYWHERE),
    "jmp through GOT": ("GOTPCRELX", "jmp *f@GOTPCREL(%rip)", EVERYWHERE),
    "mov 32": ("GOTPCRELX", "movl f@GOTPCREL(%rip),%eax", EVERYWHERE),
    "mov 64": ("REX_GOTPCRELX", "movq f@GOTPCREL(%rip),%r9", EVERYWHERE),
    "test 32": ("GOTPCRELX", "testl %ecx,f@GOTPCREL(%rip)", EVERYWHERE),
    "test 64": ("REX_GOTPCRELX", "testq %rax,f@GOTPCREL(%rip)", EVERYWHERE),
    "add": ("REX_GOTPCRELX", "addq f@GOTPCREL(%rip),%rax", EVERYWHERE),
    "cmp": ("REX_GOTPCRELX", "cmpq f@GOTPCREL(%rip),%r12", EVERYWHERE),
    "xor 32": ("GOTPCRELX", "xorl f@GOTPCREL(%rip),%edx", EVERYWHERE),
    "push": ("GOTPCREL", "pushq f@GOTPCREL(%rip)", EVERYWHERE),
    "32": ("32", "movl $f,%edi", {"bfd": "n", "gold": "n", "lld": "n"}),
    "32S": ("32S", "movq $f,%rdi", {"bfd": "n", "gold": "n", "lld": "n"}),
    "64": ("64", "movabsq $f,%rdi", {"bfd": "n", "gold": "n", "lld": "n"}),
    "PC32": ("PC32", "leaq f(%rip),%rdi", NOT_SHARED),
    "PLT32": ("PLT32", "call f@PLT", EVERYWHERE),
    "PC64": ("PC64", ".quad f-.", NOT_SHARED),
    "16": ("16", ".word small", {"bfd": "n", "gold": "nps", "lld": "np"}),
    "8": ("8", ".byte small", {"bfd": "n", "gold": "nps", "lld": "np"}),
    "PC16": ("PC16", ".word f-.", NOT_SHARED),
    "SIZE32": ("SIZE32", ".long f@SIZE", {"bfd": "nps", "lld": "np"}),
    "SIZE64": ("SIZE64", ".quad f@SIZE", {"bfd": "nps", "lld": "np"}),
    "GOTOFF64": ("GOTOFF64", ".quad f@GOTOFF", {"bfd": "nps", "gold": "nps", "lld": "np"}),
    "GOTPC32": ("GOTPC32", ".long _GLOBAL_OFFSET_TABLE_-.", EVERYWHERE),
    "GOTPC64": ("GOTPC64", ".quad _GLOBAL_OFFSET_TABLE_-.", EVERYWHERE),
    "GOT32": ("GOT32", ".long f@GOT", EVERYWHERE),
    "GOT64": ("GOT64", ".quad f@GOT", EVERYWHERE),
    "GOTPCREL64": ("GOTPCREL64", ".quad f@GOTPCREL", {"bfd": "nps", "gold": "nps"}),
    "PLTOFF64": ("PLTOFF64", ".quad f@PLTOFF", EVERYWHERE),
    "DTPOFF32": ("DTPOFF32", ".long t@DTPOFF", EVERYWHERE),
    "DTPOFF64": ("DTPOFF64", ".quad t@DTPOFF", {"gold": "nps", "lld": "nps"}),
    "TPOFF32": ("TPOFF32", ".long t@TPOFF", NOT_SHARED),
    "TPOFF64": ("TPOFF64", ".quad t@TPOFF", {"bfd": "np", "lld": "np"}),
    "initial exec, mov": ("GOTTPOFF", "movq t@gottpoff(%rip),%rax", EVERYWHERE),
    "initial exec, add": ("GOTTPOFF", "addq t@gottpoff(%rip),%r12", EVERYWHERE),
    "general dynamic": (
        "TLSGD",
        ".byte 0x66\nleaq t@tlsgd(%rip),%rdi\n.value 0x6666\nrex64\ncall __tls_get_addr@PLT",
        EVERYWHERE,
    ),
    "general dynamic, no PLT": (
        "TLSGD",
        ".byte 0x66\nleaq t@tlsgd(%rip),%rdi\n.byte 0x66\nrex64\ncall *__tls_get_addr@GOTPCREL(%rip)",
        EVERYWHERE,
    ),
    "local dynamic": ("TLSLD", "leaq t@tlsld(%rip),%rdi\ncall __tls_get_addr@PLT", EVERYWHERE),
    "local dynamic, no PLT": ("TLSLD", "leaq t@tlsld(%rip),%rdi\ncall *__tls_get_addr@GOTPCREL(%rip)", EVERYWHERE),
    "descriptor": ("GOTPC32_TLSDESC", "leaq t@tlsdesc(%rip),%rax\ncall *t@tlscall(%rax)", EVERYWHERE),
    "general dynamic, large": (
        "TLSGD",
        "leaq t@tlsgd(%rip),%rdi\nmovabsq $__tls_get_addr@PLTOFF,%rax\naddq %r15,%rax\ncall *%rax",
        {"bfd": "nps"},
    ),
    "local dynamic, large": (
        "TLSLD",
        "leaq t@tlsld(%rip),%rdi\nmovabsq $__tls_get_addr@PLTOFF,%rax\naddq %r15,%rax\ncall *%rax",
        {"bfd": "nps"},
    ),
}
NO_STACK = '.section .note.GNU-stack,"",@progbits\n'
DEFINITIONS = """
.section .text.f,"ax",@progbits
.globl f
.type f,@function
f: nop
ret
.size f,.-f
.globl small
.set small,5
.section .tdata,"awT",@progbits
.long 0
.globl t
.type t,@object
.size t,4
t: .long 7
"""
MODES = {"n": [], "p": ["-pie"], "s": ["-shared"]}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The object with the definitions, and a library with __tls_get_addr."""
    folder = tmp_path_factory.mktemp("parts")
    (folder / "tls.c").write_text("void *__tls_get_addr(void *p) { return p; }")
    run("gcc", "-shared", "-fPIC", "-nostdlib", folder / "tls.c", "-o", folder / "libtls.so")
    return compiled(folder, "definitions.s", DEFINITIONS + NO_STACK), folder / "libtls.so"


def uses(folder, names, *flags):
    """An object with one section for each form; padding around it so that every place is its own."""
    text = "".join(
        f'.section .text.use{number},"ax",@progbits\n.fill {5 + number % 7},1,0x90\n{FORMS[name][1]}\n.fill 8,1,0x90\nret\n'
        for number, name in enumerate(names)
    )
    return compiled(folder, "uses.s", ".globl _start\n.section .text._start\n_start: ret\n" + text + NO_STACK, *flags)


def relinker(folder, kind, mode, parts, names, *flags):
    definitions, library = parts
    return Relinker(kind, folder / "link", [uses(folder, names), definitions], *MODES[mode], *flags, after=[library])


CASES = [(kind, mode) for kind in ("bfd", "gold", "lld") for mode in MODES]


@pytest.mark.parametrize(("kind", "mode"), CASES)
def test_linkers_change_nothing_outside_the_masks(tmp_path, parts, kind, mode):
    """Every form of every type, relaxed or not: bytes outside the mask are the object's."""
    names = [name for name, (_type, _text, modes) in FORMS.items() if mode in modes.get(kind, "")]
    program = relinker(tmp_path, kind, mode, parts, names)
    masks = program.masks()
    code = program.code(program.link(range(len(program.chosen))))
    wrong = np.flatnonzero((code ^ masks.content) & masks.input_fixed)

    assert len(wrong) == 0, [names[np.searchsorted(masks.start, at, side="right") - 2] for at in wrong.tolist()]
    assert (code != masks.content).any()


@pytest.mark.parametrize(("kind", "mode"), CASES)
def test_layouts_differ_only_in_the_fields(tmp_path, parts, kind, mode):
    """Two orders of the same sections give the same bytes outside the fields, relaxed opcodes included."""
    names = [name for name, (_type, _text, modes) in FORMS.items() if mode in modes.get(kind, "")]
    program = relinker(tmp_path, kind, mode, parts, names)
    masks = program.masks()
    order = list(range(len(program.chosen)))
    first, second = program.code(program.link(order)), program.code(program.link(order[::-1]))
    wrong = np.flatnonzero((first ^ second) & masks.fixed)

    assert len(wrong) == 0, [names[np.searchsorted(masks.start, at, side="right") - 2] for at in wrong.tolist()]
    assert (first != second).any()


def test_every_type_that_is_masked_was_linked():
    """The forms above cover every type in the table, but for NONE and the types of the tests below."""
    covered = {NUMBER[kind] for kind, _text, _modes in FORMS.values()}

    assert set(PROCESSOR.fields) - covered == {NUMBER["NONE"], NUMBER["PC8"], NUMBER["TLSDESC_CALL"]}


@pytest.mark.parametrize("name", FORMS)
def test_the_assembler_makes_the_type_meant(tmp_path, name):
    """Each form has a relocation of its type, or the tests above would prove nothing about it."""
    kinds = {
        row.split()[2] for row in said("readelf", "-rW", uses(tmp_path, [name])).splitlines() if " R_X86_64_" in row
    }

    # As of binutils 2.47 a linker may rewrite a push, too; which bytes that are is said for both types.
    meant = {FORMS[name][0], "GOTPCRELX"} if name == "push" else {FORMS[name][0]}
    assert kinds & {f"R_X86_64_{kind}" for kind in meant}


@pytest.mark.parametrize("kind", ["bfd", "gold", "lld"])
def test_one_byte_distances(tmp_path, kind):
    """A distance of one byte is written into one byte and nothing else changes."""
    text = '.globl _start\n_start: ret\n.section .text.near,"ax",@progbits\nnear: nop\n.section .text.use,"ax",@progbits\n.byte 0x90, near-., 0x90\n'
    program = Relinker(kind, tmp_path / "link", [compiled(tmp_path, "near.s", text + NO_STACK)])
    masks = program.masks()
    first, second = program.code(program.link([0, 1, 2])), program.code(program.link([2, 0, 1]))

    assert (
        NUMBER["PC8"]
        in (program.found[0].elf.relocations(program.chosen[2].header)["info"] & np.uint64(0xFFFFFFFF)).tolist()
    )
    assert np.flatnonzero(first != second).tolist() == np.flatnonzero(masks.fixed == 0).tolist() == [3]


@pytest.mark.parametrize("padding", ["prefix-addr", "suffix-nop", "prefix-0x90", "suffix-0x90"])
def test_every_padding_of_relaxed_calls(tmp_path, parts, padding):
    """GNU ld can put the spare byte of a relaxed call before or behind it; both are inside the masks."""
    program = relinker(
        tmp_path, "bfd", "p", parts, ["call through GOT", "jmp through GOT"], "-z", f"call-nop={padding}"
    )
    masks = program.masks()
    order = list(range(len(program.chosen)))
    first, second = program.code(program.link(order)), program.code(program.link(order[::-1]))

    assert not ((first ^ masks.content) & masks.input_fixed).any()
    assert not ((first ^ second) & masks.fixed).any()


TLS = """
extern __thread int shared_one; static __thread int own = 4; __thread int other = 5;
int *where(void) { return &shared_one; }
int read_own(void) { return own++; }
int read_other(void) { return other; }
extern int global; extern int function(void);
int *place(void) { return &global; }
int (*code(void))(void) { return function; }
int tail(void) { return function(); }
int _start(void) { return read_own() + read_other() + *where() + *place() + code()() + tail(); }
"""
COMPILED = {
    "default": [],
    "PIC": ["-fPIC"],
    "PIC without PLT": ["-fPIC", "-fno-plt"],
    "descriptors": ["-fPIC", "-mtls-dialect=gnu2"],
    "local dynamic": ["-fPIC", "-ftls-model=local-dynamic"],
    "initial exec": ["-fPIC", "-ftls-model=initial-exec"],
    "large": ["-fPIC", "-mcmodel=large"],
    "medium": ["-mcmodel=medium"],
    "no relaxation marks": ["-fPIC", "-Wa,-mrelax-relocations=no"],
}


@pytest.mark.parametrize(
    ("kind", "model"),
    [(kind, model) for kind in ("bfd", "lld") for model in COMPILED if (kind, model) != ("lld", "large")],
)  # lld does not relax the large code model's TLS calls, and fails
def test_what_gcc_makes_of_thread_local_and_global_names(tmp_path, parts, kind, model):
    """Every code model and TLS dialect of gcc links, in two orders, with nothing changed outside the masks."""
    one = compiled(tmp_path, "tls.c", TLS, *COMPILED[model])
    two = compiled(
        tmp_path,
        "two.c",
        "__thread int shared_one = 6; int global; int function(void) { return global; }",
        *COMPILED[model],
    )
    program = Relinker(kind, tmp_path / "link", [one, two], "-pie", after=[parts[1]])
    masks = program.masks()
    order = list(range(len(program.chosen)))
    first, second = program.code(program.link(order)), program.code(program.link(order[::-1]))

    assert not ((first ^ masks.content) & masks.input_fixed).any()
    assert not ((first ^ second) & masks.fixed).any()


def rows(*entries):
    """Relocations (offset, type number)."""
    table = np.zeros(len(entries), elf.RELA)
    table["offset"] = [offset for offset, _ in entries]
    table["info"] = [number for _, number in entries]
    return table


@pytest.mark.parametrize("number", [5, 6, 16, 30, 36, 37, 39, 43, 51, 250, 257, 0xFFFFFFFF])
def test_an_unknown_type_is_an_error(number):
    """A type that is not in the table, or only of use to the dynamic linker, is never guessed."""
    with pytest.raises(FeatureUnsupported, match=rf"^f of a\.o: relocation type {number} is unknown"):
        PROCESSOR.written(rows((0, number)), np.zeros(64, np.uint8), where="f of a.o")


@pytest.mark.parametrize("offset", [65, 2**40, 2**63])
def test_a_relocation_outside_the_section_is_an_error(offset):
    """A damaged offset is reported, not masked away."""
    with pytest.raises(FeatureUnsupported, match=r"^f of a\.o: a relocation lies outside the section"):
        PROCESSOR.written(rows((offset, NUMBER["PC32"])), np.zeros(64, np.uint8), where="f of a.o")


@pytest.mark.parametrize("name", [name for name in NUMBER if NUMBER[name] not in RELAXED])
def test_a_field_is_as_wide_as_the_abi_says_and_no_wider(name):
    """A plain field masks its own bytes alone."""
    width = (
        0
        if name == "NONE"
        else next(int(bits) // 8 for bits in ("64", "32", "16", "8") if bits in _ABI_FIELD.get(name, name))
    )
    fields, written = PROCESSOR.written(rows((20, NUMBER[name])), np.zeros(64, np.uint8), where="f")

    assert np.flatnonzero(fields).tolist() == np.flatnonzero(written).tolist() == list(range(20, 20 + width))


_ABI_FIELD = {"32S": "32", "GOTPCREL64": "64"}


def test_numbers_are_those_of_pyelftools():
    """Where pyelftools knows a type, it has the same number there."""
    known = {
        name: ENUM_RELOC_TYPE_x64[f"R_X86_64_{name}"] for name in NUMBER if f"R_X86_64_{name}" in ENUM_RELOC_TYPE_x64
    }

    assert len(known) > 25
    assert known == {name: NUMBER[name] for name in known}


def test_no_relocation_means_no_mask():
    """A section without relocations must come out as it went in."""
    fields, written = PROCESSOR.written(rows(), np.zeros(8, np.uint8), where="f")

    assert not fields.any()
    assert not written.any()


def test_a_mask_ends_with_the_section():
    """A field that begins at the last byte is cut off, not carried into the next section."""
    fields, _written = PROCESSOR.written(rows((7, NUMBER["64"])), np.zeros(8, np.uint8), where="f")

    assert np.flatnonzero(fields).tolist() == [7]


@pytest.mark.parametrize(
    ("opcode", "field"),
    [
        (b"\xff\x15", [19, 20, 21, 22, 23]),
        (b"\xff\x25", [19, 20, 21, 22, 23]),
        (b"\x8b\x05", [20, 21, 22, 23]),
        (b"\xff\x35", [20, 21, 22, 23]),
    ],
    ids=["call", "jmp", "mov", "push"],
)
def test_only_branches_may_shift_their_field(opcode, field):
    """The byte before the field is a ModRM byte, which no link may change, unless the instruction is a call or jmp."""
    content = np.zeros(64, np.uint8)
    content[18:20] = list(opcode)
    fields, _written = PROCESSOR.written(rows((20, NUMBER["GOTPCRELX"])), content, where="f")

    assert np.flatnonzero(fields).tolist() == field


def test_another_machines_code_is_refused(tmp_path):
    """Relocation numbers of another architecture are never read as those of x86-64."""
    require("llvm-mc", "llvm")
    (tmp_path / "a.s").write_text('.section .text.f,"ax",@progbits\nf: jal g\nnop\n')
    run("llvm-mc", "-filetype=obj", "-triple=mips64el-linux-gnu", tmp_path / "a.s", "-o", tmp_path / "a.o")
    program = Relinker("lld", tmp_path / "link", [tmp_path / "a.o"])

    with pytest.raises(
        FeatureUnsupported, match="machine 8 cannot be verified, only AArch64 .*, RISC-V .* and x86-64 can"
    ):
        program.masks()
