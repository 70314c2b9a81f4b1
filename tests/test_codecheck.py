"""The check of a linked binary against its objects: what it must catch, and what it must let pass."""

import random
import struct

import numpy as np
import pytest

from buildkit import Relinker, compiled
from layoutrand.core import codecheck, elf
from layoutrand.errors import LayoutNotApplied

SOURCE = """
extern int data[4];
static int helper(int x) { return data[x & 3] + x; }
int first(int x) { return helper(x) * 3 + data[1]; }
int second(int x) { return x > 2 ? first(x - 1) : data[2]; }
__attribute__((noinline, cold)) int third(int x) { return second(x) ^ 0x1234; }
int fourth(int x) { return third(x) + first(x); }
int _start(void) { return fourth(4) + second(3); }
"""
SECOND = "int data[4] = {1, 2, 3, 4}; static int helper(int x) { return x * 7; } int fifth(int x) { return helper(x) - data[0]; }\n"


@pytest.fixture(scope="module", params=["bfd", "lld", "gold"])
def program(request, tmp_path_factory):
    """A program of two objects, ready to be linked in any order."""
    folder = tmp_path_factory.mktemp("codecheck")
    objects = [compiled(folder, "a.c", SOURCE, "-fno-inline"), compiled(folder, "b.c", SECOND, "-fno-inline")]
    return Relinker(request.param, folder / "link", objects, "-e", "_start")


@pytest.fixture(scope="module")
def identity(program):
    """The program in the order of its objects."""
    return program.link(range(len(program.chosen)), "identity")


def shuffled(program, seed):
    order = list(range(len(program.chosen)))
    random.Random(seed).shuffle(order)
    return order


def located(binary, sizes):
    return codecheck.placed(binary, codecheck.placed_addresses(binary), sizes)


def patched(binary, changes):
    """A copy of the binary with bytes changed: file offset to value."""
    data = bytearray(binary.data)
    for offset, value in changes.items():
        data[offset] = value
    return elf.read(bytes(data), name="patched")


def place_of(program, binary, section, byte):
    """File offset of a byte of a placed section."""
    number, address, where = codecheck.placed_addresses(binary)
    header = binary.sections[int(where[0])]
    start = int(address[np.flatnonzero(number == section)[0]])
    return start - int(header["addr"]) + int(header["offset"]) + byte


def difference(program, identity, binary):
    """(section, byte) of the first difference from identity that is not a field, or None."""
    masks = program.masks()
    at = codecheck.changed(program.code(identity), program.code(binary), masks.fixed)
    if at is None:
        return None
    section = int(np.searchsorted(masks.start, at, side="right")) - 1
    return section, at - int(masks.start[section])


@pytest.mark.parametrize("seed", range(5))
def test_the_order_is_read_off_the_binary(program, seed):
    """The addresses of the unique symbols tell exactly the order asked for."""
    order = shuffled(program, seed)
    number, address, _where = codecheck.placed_addresses(program.link(order))

    assert codecheck.placed_order(number, address).tolist() == order


def test_the_identity_equals_its_objects(program, identity):
    """Outside relocations and relaxed opcodes the linked code is the objects' code."""
    masks = program.masks()

    assert codecheck.changed(masks.content, program.code(identity), masks.input_fixed) is None


@pytest.mark.parametrize("seed", range(5))
def test_another_order_is_the_same_code(program, identity, seed):
    """A faithful layout differs from identity in addresses only."""
    assert difference(program, identity, program.link(shuffled(program, seed))) is None


def test_one_flipped_opcode_byte_is_found_anywhere(program, identity):
    """Whichever byte outside the fields is changed in whichever section, it is found, and where."""
    masks = program.masks()
    binary = program.link(shuffled(program, 1))
    fixed = np.flatnonzero(masks.fixed)

    for at in fixed[:: max(1, len(fixed) // 60)].tolist():
        section = int(np.searchsorted(masks.start, at, side="right")) - 1
        byte = at - int(masks.start[section])
        offset = place_of(program, binary, section, byte)
        assert difference(program, identity, patched(binary, {offset: binary.data[offset] ^ 0x40})) == (section, byte)


def test_field_bytes_are_not_compared(program, identity):
    """The bytes of every relocation field may be anything."""
    masks = program.masks()
    binary = program.link(shuffled(program, 2))
    changes = {}
    for at in np.flatnonzero(~masks.fixed).tolist():
        section = int(np.searchsorted(masks.start, at, side="right")) - 1
        offset = place_of(program, binary, section, at - int(masks.start[section]))
        changes[offset] = binary.data[offset] ^ 0xFF

    assert len(changes) > 20
    assert difference(program, identity, patched(binary, changes)) is None


def test_swapped_functions_are_found(program, identity):
    """Two symbols that name each other's code are a changed program, even where the order looks right."""
    binary = program.link(range(len(program.chosen)))
    data = bytearray(binary.data)
    table = binary.sections[binary.symbol_table]
    names = binary.symbol_names(np.arange(len(binary.symbols)))
    places = [
        int(table["offset"]) + elf.SYMBOL.itemsize * names.index(name) + 8 for name in (".lr.0000001", ".lr.0000002")
    ]
    values = [data[place : place + 8] for place in places]
    for place, value in zip(places, reversed(values), strict=True):
        data[place : place + 8] = value
    swapped = elf.read(bytes(data), name="swapped")
    number, address, _where = codecheck.placed_addresses(swapped)

    assert codecheck.placed_order(number, address).tolist()[:3] == [0, 2, 1]
    assert difference(program, identity, swapped) is not None


def test_a_changed_function_size_is_found(program, identity):
    """The rows of function sizes differ when one symbol's size does."""
    binary = program.link(shuffled(program, 3))
    sizes = program.masks().size
    names = binary.symbol_names(np.arange(len(binary.symbols)))
    at = int(binary.sections[binary.symbol_table]["offset"]) + elf.SYMBOL.itemsize * names.index("third") + 16
    changed = patched(binary, {at: binary.data[at] + 1})
    before, after = (codecheck.symbol_rows(b, located(b, sizes), sizes) for b in (binary, changed))

    assert before.shape == after.shape
    assert (before != after).sum() == 1


@pytest.mark.parametrize("seed", range(3))
def test_functions_are_the_same_in_every_order(program, identity, seed):
    """Each function's section, offset and size do not depend on the layout."""
    sizes = program.masks().size
    tables = []
    for binary in (identity, program.link(shuffled(program, seed))):
        tables.append(codecheck.symbol_rows(binary, located(binary, sizes), sizes))

    assert len(tables[0]) == 8  # six in the first object, two in the second; both helpers are there
    assert tables[0].tolist() == tables[1].tolist()


def test_functions_are_known_by_section_and_offset(tmp_path):
    """Two functions of one section have different offsets; what is no function, or in no placed section, has no row."""
    text = (
        ".globl _start\n.type _start,@function\n_start: nop\n.size _start,1\n.type second,@function\nsecond: ret\n.size second,1\n"
        '.section .text.third,"ax",@progbits\n.type third,@function\nthird: ret\n.size third,1\nlabel: nop\n'
        '.section .init,"ax",@progbits\n.type elsewhere,@function\nelsewhere: ret\n'
    )
    program = Relinker("bfd", tmp_path / "link", [compiled(tmp_path, "a.s", text)])
    binary, sizes = program.link([1, 0]), program.masks().size

    assert codecheck.symbol_rows(binary, located(binary, sizes), sizes).tolist() == [
        [0, 0, 1],
        [0, 1, 1],
        [1, 0, 1],
    ]


def test_a_missing_section_is_reported(program, identity):
    """A binary that lacks a section has not the layout asked for."""
    number, address, where = codecheck.placed_addresses(identity)
    size = program.masks().size

    with pytest.raises(
        LayoutNotApplied, match=f"{len(size)} sections were to be placed, the binary has {len(size) - 1} of them"
    ):
        codecheck.placed(identity, (number[:-1], address[:-1], where[:-1]), size)


def test_a_section_that_is_there_twice_is_reported(program, identity):
    """A section copied in place of another is not the layout asked for."""
    number, address, where = codecheck.placed_addresses(identity)
    doubled = np.where(number == 0, 1, number)

    with pytest.raises(LayoutNotApplied, match="the binary has"):
        codecheck.placed(identity, (doubled, address, where), program.masks().size)


def test_a_section_outside_the_code_is_reported(program, identity):
    """An address outside the output section is not read from somewhere else in the file."""
    number, address, where = codecheck.placed_addresses(identity)

    with pytest.raises(LayoutNotApplied, match=r"1 sections lie outside .*outside \.text$"):
        codecheck.placed(identity, (number, np.where(number == 0, 8, address), where), program.masks().size)


def test_symbols_of_the_program_that_look_like_ours_are_ignored(tmp_path):
    """Symbols called .lr.x, .lr.12 or .lr.00000012 in the user's own code do not count as marks."""
    text = ".globl _start\n_start: ret\n.lr.x: nop\n.lr.12: nop\n.lr.00000012: nop\n.lr.000000a: nop\n"
    program = Relinker("bfd", tmp_path / "link", [compiled(tmp_path, "a.s", text)])
    number, _address, _where = codecheck.placed_addresses(program.link([0]))

    assert number.tolist() == [0]


def test_a_stripped_binary_has_no_marks(program, tmp_path):
    """Without a symbol table nothing is found, rather than something wrong."""
    bare = Relinker(
        program.kind, tmp_path / "link", [compiled(tmp_path, "a.c", "int _start(void) { return 1; }")], "-s"
    )

    assert [len(part) for part in codecheck.placed_addresses(bare.link([0]))] == [0, 0, 0]


def test_other_sections_sizes(program, identity):
    """Every loaded section but the code is listed with its size, in each layout the same."""
    _number, _address, where = codecheck.placed_addresses(identity)
    binary = program.link(shuffled(program, 4))
    sizes = [codecheck.other_sizes(each, [int(where[0])]) for each in (identity, binary)]

    assert sizes[0] == sizes[1]
    assert sizes[0][".data"] == 16
    assert ".text" not in sizes[0]


def test_masks_of_nothing():
    """No sections have empty masks."""
    masks = codecheck.masks([])

    assert [len(part) for part in (masks.start, masks.size, masks.content, masks.fixed, masks.input_fixed)] == [0] * 5


def test_masks_are_in_capture_order(program):
    """Starts and sizes follow the sections, and the content is that of the object."""
    masks = program.masks()
    sizes = [candidate.section.size for candidate in program.chosen]

    assert masks.size.tolist() == sizes
    assert masks.start.tolist() == [sum(sizes[:k]) for k in range(len(sizes))]
    assert struct.pack(f"{len(masks.content)}B", *masks.content) == b"".join(
        program.found[c.object].elf.content(c.header) for c in program.chosen
    )
