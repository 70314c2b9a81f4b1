"""ELF files as tables: what is read, and what is refused."""

import re
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildkit import compiled, linker, run, said
from layoutrand.errors import FeatureUnsupported
from layoutrand.objects import elf

SOURCE = """
#include <cstdio>
template <class T> [[gnu::noinline]] T twice(T x) { return x + x; }
static int helper(int x) { static int calls; return x + ++calls; }
int (*volatile chosen)(int) = helper;
int main() { std::printf("%d\\n", twice(chosen(2))); }
"""


@pytest.fixture(scope="module")
def obj(tmp_path_factory):
    """A C++ object with COMDAT groups and debug information."""
    return compiled(tmp_path_factory.mktemp("elf"), "file.cc", SOURCE, "-g", driver="g++")


@pytest.fixture(scope="module")
def found(obj):
    """The same, read."""
    return elf.read(obj.read_bytes(), name="file.o")


def test_sections_are_those_of_readelf(obj, found):
    """Names, addresses, offsets and sizes of all sections agree with binutils."""
    rows = re.findall(
        r"^\s+\[ *\d+\] (\S*) +\S+ +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+) ", said("readelf", "-SW", obj), re.MULTILINE
    )
    ours = [
        (name, int(row["addr"]), int(row["offset"]), int(row["size"]))
        for name, row in zip(found.section_names, found.sections, strict=True)
    ]

    assert ours[1:] == [(name, int(addr, 16), int(offset, 16), int(size, 16)) for name, addr, offset, size in rows[1:]]


def test_symbols_are_those_of_nm(obj, found):
    """Every name that nm prints is found with its value."""
    names = found.symbol_names(np.arange(len(found.symbols)))
    ours = {name: int(value) for name, value in zip(names, found.symbols["value"], strict=True)}
    rows = [row.split() for row in said("nm", obj).splitlines()]

    assert rows
    assert {fields[-1]: int(fields[0], 16) if len(fields) == 3 else 0 for fields in rows}.items() <= ours.items()


def test_relocations_belong_to_the_section_they_apply_to(obj, found):
    """The relocations of .text.main are as many as readelf tells, at the same offsets."""
    index = next(i for i, name in enumerate(found.section_names) if name.endswith(".main") and name.startswith(".text"))
    block = said("readelf", "-rW", obj).split(f"'.rela{found.section_names[index]}'")[1].split("\n\n")[0]
    offsets = re.findall(r"^([0-9a-f]{16}) ", block, re.MULTILINE)

    assert offsets
    assert found.relocations(index)["offset"].tolist() == [int(offset, 16) for offset in offsets]


def test_a_section_without_relocations_has_none(found):
    """The null section has no relocation."""
    assert len(found.relocations(0)) == 0


def test_a_template_instance_has_its_symbol_as_signature(found):
    """The members of a COMDAT group go by the group's signature."""
    signatures = {found.section_names[index]: name for index, name in found.group_signatures().items()}

    assert signatures[".text._Z5twiceIiET_S0_"] == "_Z5twiceIiET_S0_"


def test_a_group_that_is_not_comdat_has_no_signature(tmp_path):
    """Sections tied together without COMDAT stay distinct between objects, so the group's name says nothing of them."""
    text = '.section .text.a,"axG",@progbits,tied\nnop\n.section .text.b,"axG",@progbits,once,comdat\nnop\n'
    source = elf.read(compiled(tmp_path, "groups.s", text).read_bytes(), name="groups.o")
    signatures = {source.section_names[index]: name for index, name in source.group_signatures().items()}

    assert signatures == {".text.b": "once"}


def test_a_section_symbol_as_signature_goes_by_its_section(tmp_path):
    """A signature without a name of its own is called by the section that the symbol stands for."""
    text = '.section .text.only,"axG",@progbits,.text.only,comdat\nnop\n'
    path = compiled(tmp_path, "same.s", text)
    source = elf.read(_with_section_symbols_for_signatures(path.read_bytes()), name="same.o")

    assert set(source.group_signatures().values()) == {".text.only"}


def _with_section_symbols_for_signatures(data):
    """The object with each group's signature symbol made a nameless section symbol of the group's first member."""
    source = elf.read(data, name="x")
    changed = bytearray(data)
    table = source.sections[source.symbol_table]
    for index in np.flatnonzero(source.sections["type"] == elf.SHT_GROUP).tolist():
        member = int(np.frombuffer(source.content(index), "<u4")[1])
        at = int(table["offset"]) + elf.SYMBOL.itemsize * int(source.sections[index]["info"])
        struct.pack_into("<IBBH", changed, at, 0, elf.STT_SECTION, 0, member)
    return bytes(changed)


def test_the_source_name_is_that_of_the_compiler(found):
    """The first file symbol is what the compiler was given."""
    assert found.source_name() == "file.cc"


def test_an_object_without_file_symbol_has_no_source_name(tmp_path):
    """Assembler sources name no file."""
    assert elf.read(compiled(tmp_path, "none.s", "nop\n").read_bytes(), name="none.o").source_name() == ""


def test_a_stripped_file_has_no_symbols(tmp_path, obj):
    """Without a symbol table there are no symbols, no names and no table's index."""
    run("objcopy", "--strip-all", obj, tmp_path / "bare.o")
    bare = elf.read((tmp_path / "bare.o").read_bytes(), name="bare.o")

    assert (bare.symbol_table, len(bare.symbols), bare.symbol_names(np.arange(0)), bare.source_name()) == (
        None,
        0,
        [],
        "",
    )


def test_nobits_sections_have_no_content(found):
    """A .bss section has a size but no bytes in the file."""
    index = (
        found.section_names.index(".bss._ZZL6helperiE5calls")
        if ".bss._ZZL6helperiE5calls" in found.section_names
        else found.section_names.index(".bss")
    )

    assert found.content(index) == b""


@pytest.mark.parametrize("flags", [["-m32"], ["-mx32"]], ids=["i386", "x32"])
def test_32_bit_files_are_refused(tmp_path, flags):
    """Files of another word size are named as unsupported."""
    run("as", "--32" if flags == ["-m32"] else "--x32", "-o", tmp_path / "a.o", "/dev/null")

    with pytest.raises(FeatureUnsupported, match=r"^a\.o: only 64-bit little-endian"):
        elf.read((tmp_path / "a.o").read_bytes(), name="a.o")


def test_big_endian_files_are_refused(obj):
    """A big-endian header is named as unsupported."""
    data = bytearray(obj.read_bytes())
    data[5] = 2

    with pytest.raises(FeatureUnsupported, match=r"^file\.o: "):
        elf.read(bytes(data), name="file.o")


@pytest.mark.parametrize("keep", [0, 4, 15, 40, 63, 64, 200])
def test_truncated_files_are_refused(obj, keep):
    """A file cut off anywhere in front is an error that names it."""
    with pytest.raises(FeatureUnsupported, match=r"^file\.o: "):
        elf.read(obj.read_bytes()[:keep], name="file.o")


def test_a_file_with_its_last_section_cut_off_is_refused(tmp_path, obj):
    """A section that reaches beyond the end of the file is an error, not an empty section."""
    source = elf.read(obj.read_bytes(), name="x")
    data = bytearray(obj.read_bytes())
    header = source.section_offset + elf.SECTION.itemsize * source.section_names.index(".comment")
    struct.pack_into("<Q", data, header + 24, len(data) - 1)

    with pytest.raises(FeatureUnsupported, match=r"a section lies outside the file"):
        elf.read(bytes(data), name="file.o")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_header_is_read_or_refused_and_nothing_else(obj, data):
    """Any change of the headers gives either tables or `FeatureUnsupported`."""
    damaged = bytearray(obj.read_bytes())
    offset = int.from_bytes(damaged[40:48], "little")
    at = data.draw(st.one_of(st.integers(4, 63), st.integers(offset, len(damaged) - 1)))
    damaged[at] = data.draw(st.integers(0, 255))
    try:
        source = elf.read(bytes(damaged), name="damaged.o")
        assert len(source.section_names) == source.section_count
    except FeatureUnsupported:
        pass


def test_more_sections_than_a_header_field_holds(tmp_path):
    """Beyond 65,280 sections, counts and indices come from the extended fields."""
    lines = [f'.section .text.f{n},"ax",@progbits\nf{n}: ret\n' for n in range(65_400)]
    source = elf.read(compiled(tmp_path, "many.s", "".join(lines)).read_bytes(), name="many.o")
    names = source.symbol_names(np.arange(len(source.symbols)))
    last = names.index("f65399")

    assert source.section_count > 65_400
    assert source.section_names[source.symbol_sections[last]] == ".text.f65399"


def test_a_file_without_section_headers_has_none(tmp_path):
    """A stripped-down executable without section headers is read as having no sections."""
    compiled(tmp_path, "tiny.s", ".globl _start\n_start: ret\n")
    run(linker("bfd"), tmp_path / "tiny.o", "-o", tmp_path / "tiny")
    data = bytearray((tmp_path / "tiny").read_bytes())
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<HHH", data, 58, 0, 0, 0)
    source = elf.read(bytes(data), name="tiny")

    assert (source.section_count, source.section_names, elf.loaded_content(source, skip=frozenset())) == (0, [], [])


def test_loaded_content_ignores_what_is_not_loaded(tmp_path):
    """Stripping symbols changes the file but nothing that is loaded."""
    compiled(tmp_path, "a.c", "int x = 3; int _start(void) { return x; }", "-g")
    run(linker("bfd"), tmp_path / "a.o", "-o", tmp_path / "full")
    run(linker("bfd"), "-s", tmp_path / "a.o", "-o", tmp_path / "bare")
    contents = [
        elf.loaded_content(elf.read((tmp_path / n).read_bytes(), name=n), skip=frozenset()) for n in ("full", "bare")
    ]

    assert contents[0] == contents[1]
    assert ".data" in [name for name, *_ in contents[0]]


def test_loaded_content_tells_a_changed_byte_an_address_and_a_missing_section(tmp_path):
    """A different initial value, a different base address and a skipped section each make a difference."""
    contents = []
    for number, flags in ((3, []), (4, []), (3, ["-Ttext-segment=0x800000"])):
        compiled(tmp_path, "a.c", f"int x = {number}; int _start(void) {{ return x; }}")
        run(linker("bfd"), *flags, tmp_path / "a.o", "-o", tmp_path / "out")
        contents.append(elf.loaded_content(elf.read((tmp_path / "out").read_bytes(), name="out"), skip=frozenset()))
    skipped = elf.loaded_content(elf.read((tmp_path / "out").read_bytes(), name="out"), skip=frozenset({".data"}))

    assert contents[0] != contents[1]
    assert contents[0] != contents[2]
    assert len(skipped) == len(contents[2]) - 1


def with_field(data, section, field, value):
    """The file with another value in the header of a section."""
    offset = struct.unpack_from("<Q", data, 40)[0] + section * elf.SECTION.itemsize
    kind, place = elf.SECTION.fields[field]
    return data[: offset + place] + np.array([value], kind).tobytes() + data[offset + place + kind.itemsize :]


def with_bytes(data, found, section, at, value):
    """The file with other bytes at a place of a section."""
    begin = int(found.sections[section]["offset"]) + at
    return data[:begin] + value + data[begin + len(value) :]


def everything(source):
    """All that can be asked of a file."""
    source.symbol_names(np.arange(len(source.symbols)))
    source.group_signatures()
    assert len(source.symbol_sections) == len(source.symbols)
    for section in range(source.section_count):
        source.content(section)
        source.references(section)


SYMTAB, RELA, GROUP = elf.SHT_SYMTAB, elf.SHT_RELA, elf.SHT_GROUP
DAMAGED_HEADERS = {
    "a table of symbols with half an entry": (SYMTAB, "size", 25, "no table of entries of 24 bytes"),
    "names of symbols in no section": (SYMTAB, "link", 2**32 - 1, "it refers to section 4294967295"),
    "names of symbols in a section without any": (SYMTAB, "link", 0, "a name lies outside|the name of a symbol"),
    "half a relocation": (RELA, "size", 23, "no table of entries of 24 bytes"),
    "half a group": (GROUP, "size", 7, "no table of entries of 4 bytes"),
    "a group without a name": (GROUP, "info", 2**32 - 1, "named after a symbol that the file does not have"),
    "an alignment that is none": (1, "align", 3, "aligned to what is no power of two"),
}


@pytest.mark.parametrize(("kind", "field", "value", "problem"), DAMAGED_HEADERS.values(), ids=DAMAGED_HEADERS.keys())
def test_a_damaged_header_is_told_with_the_name_of_the_file(obj, found, kind, field, value, problem):
    loaded = (found.sections["type"] == kind) & ((found.sections["flags"] & elf.SHF_ALLOC != 0) | (kind != 1))
    data = with_field(obj.read_bytes(), int(np.flatnonzero(loaded)[0]), field, value)

    with pytest.raises(FeatureUnsupported, match=f"^dir/file.o: a damaged ELF file: .*({problem})"):
        everything(elf.read(data, name="dir/file.o"))


def test_a_section_larger_than_the_address_space_is_refused(tmp_path):
    """What takes no room in the file may be said to have any size."""
    data = compiled(tmp_path, "b.c", "int many[100];").read_bytes()
    bss = elf.read(data, name="b.o").section_names.index(".bss")

    with pytest.raises(FeatureUnsupported, match="^b.o: .* larger than the address space"):
        elf.read(with_field(data, bss, "size", 2**63), name="b.o")


@pytest.mark.parametrize(
    ("at", "value", "problem"),
    [
        (0, b"\xff\xff\xff\xff", "the name of a symbol lies outside its string table"),
        (6, b"\xf0\xfe", "a symbol lies in a section that the file does not have"),
        (6, b"\xff\xff", None),
    ],
)
def test_a_damaged_symbol_is_told(obj, found, at, value, problem):
    """A reserved number of a section is none that is damaged."""
    data = with_bytes(obj.read_bytes(), found, found.symbol_table, 3 * elf.SYMBOL.itemsize + at, value)

    if problem is None:
        everything(elf.read(data, name="file.o"))
        return
    with pytest.raises(FeatureUnsupported, match=f"^file.o: a damaged ELF file: {problem}"):
        everything(elf.read(data, name="file.o"))


def test_a_relocation_to_no_symbol_is_told(obj, found):
    first = int(np.flatnonzero(found.sections["type"] == elf.SHT_RELA)[0])
    data = with_bytes(obj.read_bytes(), found, first, 12, b"\xff\xff\xff\xff")

    with pytest.raises(FeatureUnsupported, match="^file.o: .* to a symbol that the file does not have"):
        everything(elf.read(data, name="file.o"))


def test_is_elf():
    """ELF files are known by their first four bytes."""
    assert [elf.is_elf(data) for data in (b"\x7fELF\2", b"\x7fEL", b"", b"!<arch>\n")] == [True, False, False, False]
