"""Objects with unique names and symbols: edited copies mean the same to every tool."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildkit import LINKERS, compiled, link_with, marks, relocation_lines, run, said
from layoutrand.errors import FeatureUnsupported
from layoutrand.objects import edit, elf
from layoutrand.objects.unique_names import section_name, symbol_name
from workshop import require

LIBRARY = """
#include <stdexcept>
#include <string>
thread_local int depth;
template <class T> [[gnu::noinline]] T largest(T a, T b) { return a < b ? b : a; }
static int helper(int x) { static int calls; if (x < 0) throw std::runtime_error("negative"); return x + ++calls; }
[[gnu::noinline]] int guarded(int x) { ++depth; try { return helper(x); } catch (const std::exception &e) { return -(int) std::string(e.what()).size(); } }
struct Base { virtual ~Base() {} virtual int value() { return 1; } };
struct Derived : Base { int value() override { return largest(2, 3) + depth; } };
int use(Base &b) { return b.value(); }
int all() { Derived d; return guarded(4) + guarded(-1) + use(d); }
"""
MAIN = """
#include <cstdio>
template <class T> [[gnu::noinline]] T largest(T a, T b) { return a < b ? b : a; }
int all();
static int helper(int x) { static int calls = 10; return x * ++calls; }
int (*volatile chosen)(int) = helper;
int main() { std::printf("%d %d %d\\n", all(), chosen(3), largest(all(), 7)); }
"""
C_LIBRARY = """
static int state = 5; int common_one; static __thread int mine = 3;
static int helper(int x) { return x + state + mine; }
__attribute__((cold, noinline)) int rare(int x) { return helper(x) * 2; }
int table(int x) { switch (x) { case 0: return 1; case 1: return 7; case 2: return rare(3); case 3: return 9; case 4: return 4; default: return 0; } }
"""
C_MAIN = """
#include <stdio.h>
int table(int); static int helper(int x) { return -x; }
__attribute__((constructor)) static void begin(void) { puts("begin"); }
int main(void) { for (int i = 0; i < 6; i++) printf("%d %d\\n", table(i), helper(i)); return 0; }
"""


def code_sections(data, start=0):
    """Header index to capture index of every code section of an object."""
    source = elf.read(data, name="x.o")
    wanted = elf.SHF_ALLOC | elf.SHF_EXECINSTR
    which = np.flatnonzero(((source.sections["flags"] & wanted) == wanted) & (source.sections["size"] > 0)).tolist()
    return {header: start + number for number, header in enumerate(which)}


def edited(path, folder, *, rename=True, start=0):
    """The object with all its code sections marked, written to the folder."""
    data = path.read_bytes()
    target = Path(folder, path.name)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(edit.edit(data, marks(code_sections(data, start), rename=rename), name=path.name))
    return target


def symbols(path):
    """What nm says of every symbol in the table, in its order, without ours."""
    rows = [re.sub(r"\s+", " ", row) for row in said("nm", "-ap", path).splitlines()]
    return [row for row in rows if " .lr." not in row]


def original_names(path, old):
    """Unique section name to the name that the section had."""
    source = elf.read(old.read_bytes(), name="x")
    numbers = code_sections(old.read_bytes())
    return {section_name(number): source.section_names[header] for header, number in numbers.items()}


SOURCES = {
    "C++ with debug information": ("lib.cc", LIBRARY, "main.cc", MAIN, "g++", ["-g3"]),
    "C++ position dependent": ("lib.cc", LIBRARY, "main.cc", MAIN, "g++", ["-fno-pie", "-O2"]),
    "C with compressed debug information": ("lib.c", C_LIBRARY, "main.c", C_MAIN, "gcc", ["-O2", "-g", "-gz", "-fPIC"]),
    "C without function sections": (
        "lib.c",
        C_LIBRARY,
        "main.c",
        C_MAIN,
        "gcc",
        ["-O2", "-fno-function-sections", "-fcommon"],
    ),
}


@pytest.fixture(scope="module", params=SOURCES.values(), ids=SOURCES.keys())
def pair(request, tmp_path_factory):
    """A library's and a main program's object, the driver that links them, and its flags."""
    lib, lib_text, main, main_text, driver, flags = request.param
    folder = tmp_path_factory.mktemp("objedit")
    objects = [
        compiled(folder, lib, lib_text, *flags, driver=driver),
        compiled(folder, main, main_text, *flags, driver=driver),
    ]
    return objects, driver, ["-no-pie"] if "-fno-pie" in flags else []


@pytest.mark.parametrize("rename", [True, False], ids=["renamed", "marked only"])
def test_binutils_read_the_edited_object_without_complaint(pair, tmp_path, rename):
    """readelf and objdump understand every table and say nothing on standard error."""
    for old in pair[0]:
        new = edited(old, tmp_path, rename=rename)
        complaints = [
            run(*words, path).stderr for words in (["readelf", "-aW"], ["objdump", "-drx"]) for path in (old, new)
        ]

        assert complaints == [b""] * 4


@pytest.mark.parametrize("rename", [True, False], ids=["renamed", "marked only"])
def test_symbols_stay_and_one_is_added_to_each_section(pair, tmp_path, rename):
    """All old symbols keep order, binding, type, section and value; each code section gets one local symbol at its start."""
    for old in pair[0]:
        new = edited(old, tmp_path, rename=rename)
        names = original_names(new, old)
        kept = [
            row if row.split()[-1] not in names else row.replace(row.split()[-1], names[row.split()[-1]])
            for row in symbols(new)
        ]
        source = elf.read(new.read_bytes(), name="new.o")
        added = [row for row in said("readelf", "-sW", new).splitlines() if " .lr." in row]

        assert kept == symbols(old)
        assert {row.split()[7]: (row.split()[1], row.split()[3:5], int(row.split()[6])) for row in added} == {
            symbol_name(number): ("0" * 16, ["NOTYPE", "LOCAL"], header)
            for header, number in code_sections(old.read_bytes()).items()
        }
        assert not rename or {source.section_names[h] for h in code_sections(new.read_bytes())} == set(names)


@pytest.mark.parametrize("rename", [True, False], ids=["renamed", "marked only"])
def test_relocations_name_the_same_symbols(pair, tmp_path, rename):
    """Every relocation has its old offset, type, symbol and addend."""
    for old in pair[0]:
        new = edited(old, tmp_path, rename=rename)
        names = original_names(new, old)
        rows = [tuple(names.get(field, field) for field in row) for row in relocation_lines(new)]

        assert rows == relocation_lines(old)
        assert len(rows) > 10


def test_contents_and_groups_stay(pair, tmp_path):
    """No byte of code or data changes, and every COMDAT group has its signature and members."""
    for old in pair[0]:
        before = elf.read(old.read_bytes(), name="old.o")
        after = elf.read(edited(old, tmp_path).read_bytes(), name="new.o")
        allocated = np.flatnonzero(before.sections["flags"] & elf.SHF_ALLOC).tolist()

        assert [after.content(index) for index in allocated] == [before.content(index) for index in allocated]
        assert after.group_signatures() == before.group_signatures()
        assert after.source_name() == before.source_name()


@pytest.mark.parametrize("kind", LINKERS)
def test_the_edited_program_links_and_runs_alike(pair, tmp_path, kind):
    """The program made of edited objects prints what the original prints, exceptions, TLS and statics included."""
    objects, driver, flags = pair
    new = [edited(obj, tmp_path, start=100 * number) for number, obj in enumerate(objects)]
    before = link_with(kind, tmp_path, objects, *flags, driver=driver, output="before")
    after = link_with(kind, tmp_path, new, *flags, driver=driver, output="after")

    assert run(after).stdout == run(before).stdout != b""


@pytest.mark.parametrize("kind", LINKERS)
def test_marking_changes_nothing_that_is_loaded(pair, tmp_path, kind):
    """With symbols but without new names the linked program is the same once loaded, byte for byte."""
    objects, driver, flags = pair
    new = [edited(obj, tmp_path, rename=False, start=100 * number) for number, obj in enumerate(objects)]
    programs = [
        link_with(kind, tmp_path, files, *flags, "-Wl,--build-id=none", driver=driver, output=name)
        for name, files in (("before", objects), ("after", new))
    ]
    contents = [elf.loaded_content(elf.read(path.read_bytes(), name="p"), skip=frozenset()) for path in programs]

    assert contents[0] == contents[1]


def test_a_stripped_object_is_a_clear_error(tmp_path):
    """An object without symbol table is named, with the likely reason."""
    path = compiled(tmp_path, "a.s", ".globl f\nf: ret\n")
    run("objcopy", "--strip-all", path)

    with pytest.raises(
        FeatureUnsupported, match=r"^lib/a\.o: the object has no symbol table \(stripped before the link\?\)$"
    ):
        edit.edit(path.read_bytes(), marks({1: 0}), name="lib/a.o")


def test_nothing_to_mark_changes_nothing(tmp_path):
    """An object without placed sections stays as it is, stripped or not."""
    path = compiled(tmp_path, "a.s", ".data\n.long 1\n")
    run("objcopy", "--strip-all", path)

    assert edit.edit(path.read_bytes(), {}, name="a.o") == path.read_bytes()


def test_sections_of_the_same_name_get_names_of_their_own(tmp_path):
    """Two sections called .text.same in one object can be placed apart by a linker script."""
    text = "".join(
        f'.section .text.same,"ax",@progbits,unique,{n}\n.globl {name}\n{name}: mov ${n},%eax\nret\n'
        for n, name in enumerate(("one", "two", "three"))
    )
    old = compiled(tmp_path, "same.s", text)
    new = edited(old, tmp_path / "new")
    placed = (".text.same", ".text.same", ".text.same")

    assert (
        tuple(elf.read(old.read_bytes(), name="o").section_names[h] for h in code_sections(old.read_bytes())) == placed
    )
    assert [name for name in elf.read(new.read_bytes(), name="n").section_names if name.startswith(".text.lr.")] == [
        ".text.lr.0000000",
        ".text.lr.0000001",
        ".text.lr.0000002",
    ]
    assert relocation_lines(new) == relocation_lines(old)


@pytest.mark.slow
def test_an_object_with_more_sections_than_16_bits_number(tmp_path):
    """With more than 65,280 sections, symbols of the last ones keep their extended section index and the program runs."""
    count = 33_500  # one code and one relocation section each
    lines = [f'.section .text.f{n},"ax",@progbits\n.globl f{n}\nf{n}: call g\nret\n' for n in range(count)]
    lines.append(
        ".text\n.globl main\nmain: sub $8,%rsp\ncall f0\ncall f33499\nadd $8,%rsp\nxor %eax,%eax\nret\n.globl g\ng: ret\n"
    )
    lines.append('.section .note.GNU-stack,"",@progbits\n')
    old = compiled(tmp_path, "many.s", "".join(lines))
    new = edited(old, tmp_path / "new", rename=False)
    source = elf.read(new.read_bytes(), name="new.o")
    names = source.symbol_names(np.arange(len(source.symbols)))
    where = dict(zip(names, source.symbol_sections.tolist(), strict=True))
    numbers = code_sections(old.read_bytes())

    assert source.section_count > 65_280
    assert where["f33499"] > elf.SHN_LORESERVE
    assert {symbol_name(number): header for header, number in numbers.items()}.items() <= where.items()
    assert source.section_names[where["f33499"]] == ".text.f33499"
    assert run("readelf", "-SW", new).stderr == b""
    assert run(link_with("bfd", tmp_path, [new])).returncode == 0


def test_extended_indices_without_their_table_are_refused(tmp_path):
    """A section beyond 65,279 cannot be marked where no symbol was there before."""
    lines = [f'.section .rodata.r{n},"a",@progbits\n.byte 1\n' for n in range(65_300)]
    lines.append('.section .text.last,"ax",@progbits\nret\n.data\nlow: .byte 1\n')
    data = compiled(tmp_path, "many.s", "".join(lines)).read_bytes()
    source = elf.read(data, name="x")
    extended = np.flatnonzero(source.sections["type"] == elf.SHT_SYMTAB_SHNDX).tolist()
    changed = bytearray(data)
    for index in extended:  # as if it had never been there
        changed[source.section_offset + elf.SECTION.itemsize * index + 4] = 1

    with pytest.raises(FeatureUnsupported, match=r"^many\.o: more than 65,279 sections"):
        edit.edit(bytes(changed), marks(code_sections(data)), name="many.o")


LLVM = """
.section .text.f,"ax",@progbits
.globl f
f: call g@PLT
call rare
ret
.section .text.unlikely.rare,"ax",@progbits
rare: ret
.section .text.main,"ax",@progbits
.globl main
main: subq $8, %rsp
call f
xorl %eax,%eax
addq $8, %rsp
ret
.section .text.g,"axG",@progbits,g,comdat
.weak g
g: ret
.addrsig
.addrsig_sym f
.addrsig_sym g
.addrsig_sym rare
.cg_profile f, g, 10
.cg_profile main, f, 3
.section ".note.GNU-stack","",@progbits
"""


@pytest.fixture
def llvm_object(tmp_path):
    """An object as clang makes them: one string table for symbols and sections, and tables of LLVM's own."""
    (tmp_path / "m.s").write_text(LLVM)
    run(
        require("llvm-mc", "llvm"),
        "-filetype=obj",
        "-triple=x86_64-linux-gnu",
        tmp_path / "m.s",
        "-o",
        tmp_path / "m.o",
    )
    return tmp_path / "m.o"


def llvm_tables(path):
    """The symbols named by the call graph profile and by the address-significance table."""
    text = said("llvm-readobj", "--addrsig", "--cg-profile", path)
    return re.findall(r"(?:Sym|From|To|Weight): ([\w.]+)", text)


@pytest.mark.parametrize("rename", [True, False], ids=["renamed", "marked only"])
def test_an_object_of_llvm_keeps_its_names_and_tables(tmp_path, llvm_object, rename):
    """The shared string table, the address-significance table and the call graph profile survive the edit."""
    new = edited(llvm_object, tmp_path / "new", rename=rename)
    source = elf.read(llvm_object.read_bytes(), name="x")

    assert source.names_index == int(source.sections[source.symbol_table]["link"])
    assert llvm_tables(new) == llvm_tables(llvm_object) == ["f", "g", "10", "main", "f", "3", "f", "g", "rare"]
    assert [row for row in symbols(new) if " .text" not in row] == [
        row for row in symbols(llvm_object) if " .text" not in row
    ]
    assert [name for name in elf.read(new.read_bytes(), name="n").section_names if name.startswith(".text.")] == (
        [section_name(number) for number in range(4)]
        if rename
        else [".text.f", ".text.unlikely.rare", ".text.main", ".text.g"]
    )


@pytest.mark.parametrize("kind", LINKERS)
def test_an_object_of_llvm_links_and_runs(tmp_path, llvm_object, kind):
    """Every linker takes the edited object."""
    new = edited(llvm_object, tmp_path / "new")

    assert run(link_with(kind, tmp_path, [new])).returncode == 0


def test_a_table_of_an_unknown_kind_is_refused(tmp_path):
    """A section that refers to symbols by number in a way that is not known is an error, not a wrong program."""
    data = compiled(tmp_path, "a.s", ".globl f\nf: ret\n").read_bytes()
    source = elf.read(data, name="x")
    changed = bytearray(data)
    at = source.section_offset + elf.SECTION.itemsize * source.section_names.index(".data")
    changed[at + 4 : at + 8] = (0x40000014).to_bytes(4, "little")  # SHT_CREL
    changed[at + 40 : at + 44] = int(source.symbol_table).to_bytes(4, "little")

    with pytest.raises(FeatureUnsupported, match=r"^a\.o: section \.data of type 0x40000014 refers to symbols"):
        edit.edit(bytes(changed), marks({1: 0}), name="a.o")


@given(st.lists(st.integers(0, 2**40), max_size=20))
def test_numbers_of_variable_length_survive(numbers):
    """ULEB128 numbers are read as they were written."""
    assert edit._read_uleb128(edit._write_uleb128(numbers)) == numbers


@pytest.mark.parametrize(
    ("kind", "field"), [(elf.SHT_SYMTAB, "info"), (elf.SHT_SYMTAB, "link"), (elf.SHT_GROUP, "info")]
)
def test_a_damaged_object_is_told_with_its_name(tmp_path, kind, field):
    """More local symbols than symbols, a table of names that is not there, a group named after nothing."""
    data = bytearray(compiled(tmp_path, "lib.cc", LIBRARY, "-ffunction-sections", driver="g++").read_bytes())
    source = elf.read(bytes(data), name="lib.o")
    section = int(np.flatnonzero(source.sections["type"] == kind)[0])
    place = source.section_offset + section * elf.SECTION.itemsize + elf.SECTION.fields[field][1]
    data[place : place + 4] = b"\xff" * 4

    with pytest.raises(FeatureUnsupported, match="^dir/lib.o: a damaged ELF file"):
        edit.edit(bytes(data), marks({1: 0}), name="dir/lib.o")


def test_numbers_without_end_are_told(tmp_path):
    """A table of significant addresses whose one number has a megabyte."""
    addrsig = '.section .llvm_addrsig,"",@0x6fff4c03\n.fill 1048576, 1, 0x80\n.byte 0\n'
    data = bytearray(compiled(tmp_path, "a.s", f".text\n_start: ret\n{addrsig}").read_bytes())
    source = elf.read(bytes(data), name="a.o")
    section = source.section_names.index(".llvm_addrsig")
    place = source.section_offset + section * elf.SECTION.itemsize + elf.SECTION.fields["link"][1]
    data[place : place + 4] = int(source.symbol_table).to_bytes(4, "little")

    with pytest.raises(FeatureUnsupported, match="^a.o: .* holds numbers of more than 64 bits"):
        edit.edit(bytes(data), marks({1: 0}), name="a.o")
