"""The check of a linked binary against its objects: what it must catch, and what it must let pass."""

import random
import struct

import numpy as np
import pytest

from buildkit import Relinker, compiled, run, said
from layoutrand.errors import LayoutNotApplied
from layoutrand.link import codecheck
from layoutrand.objects import elf
from workshop import require

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
    for at in np.flatnonzero(masks.fixed == 0).tolist():
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


DATA = """
static int hidden = 3;
int counter = 5, step = 7;
int *const pointers[3] = {&counter, &step, &hidden};
int *moving = &step;
const int table[4] = {4, 3, 2, 1};
int zero[8]; char buffer[64] __attribute__((aligned(64)));
int use(int x) { zero[x & 7] += table[x & 3] + *pointers[x % 3] + *moving; return buffer[x & 63] + hidden++; }
int _start(void) { return use(3); }
"""


@pytest.fixture(scope="module", params=["bfd", "lld", "gold"])
def variables(request, tmp_path_factory):
    """A position-independent program with data of every kind, each variable in a section of its own."""
    folder = tmp_path_factory.mktemp("data")
    obj = compiled(folder, "d.c", DATA, "-fdata-sections", "-fPIE")
    return Relinker(request.param, folder / "link", [obj], "-e", "_start", "-pie", data=True)


def by_name(program, name):
    return next(c.section.index for c in program.chosen if c.section.name == name)


def data_shuffled(program, seed):
    """An order in which only sections of one kind change places."""
    order = [c.section.index for c in program.chosen]
    for kind in {c.section.kind for c in program.chosen}:
        slots = [slot for slot, index in enumerate(order) if program.chosen[index].section.kind == kind]
        members = [order[slot] for slot in slots]
        random.Random(seed).shuffle(members)
        for slot, member in zip(slots, members, strict=True):
            order[slot] = member
    return order


@pytest.mark.parametrize("seed", range(4))
def test_data_in_another_order_is_the_same_data(variables, seed):
    """Pointers (R_X86_64_64, filled in at link or load time) may differ, nothing else does; zeroes take no room in the file."""
    masks = variables.masks()
    identity = variables.link(range(len(variables.chosen)), "identity")
    binary = variables.link(data_shuffled(variables, seed))
    zero, moving, table = (
        by_name(variables, name) for name in (".bss.zero", ".data.rel.local.moving", ".rodata.table")
    )

    assert (masks.size[zero], masks.stored[zero]) == (32, 0)
    assert masks.fixed[masks.start[moving] : masks.start[moving] + 8].tolist() == [0] * 8
    assert masks.fixed[masks.start[table] : masks.start[table] + 16].all()
    assert difference(variables, identity, binary) is None
    for kind in (elf.STT_OBJECT, elf.STT_FUNC):
        rows = [codecheck.symbol_rows(b, located(b, masks.size), masks.size, kind).tolist() for b in (identity, binary)]
        assert rows[0] == rows[1]
        assert len(rows[0]) == (8 if kind == elf.STT_OBJECT else 2)


def test_one_flipped_byte_of_data_is_found(variables):
    """Whichever byte of whichever constant or variable, pointers excepted."""
    masks = variables.masks()
    identity = variables.link(range(len(variables.chosen)), "identity")
    binary = variables.link(data_shuffled(variables, 1))
    checked = 0
    for name in (".rodata.table", ".data.counter", ".data.step", ".data.hidden"):
        index = by_name(variables, name)
        for byte in range(int(masks.stored[index])):
            offset = place_of_data(binary, index, byte)
            assert difference(variables, identity, patched(binary, {offset: binary.data[offset] ^ 1})) == (index, byte)
            checked += 1
    assert checked == 28


def place_of_data(binary, index, byte):
    """File offset of a byte of a placed section of whatever output section."""
    number, address, where = codecheck.placed_addresses(binary)
    at = int(np.flatnonzero(number == index)[0])
    header = binary.sections[int(where[at])]
    return int(address[at]) - int(header["addr"]) + int(header["offset"]) + byte


@pytest.mark.parametrize("name", ["counter", "zero", "table"])
def test_a_changed_variable_size_is_found(variables, name):
    """The rows of variables differ when one symbol's size does, be it of data, bss or constants."""
    sizes = variables.masks().size
    binary = variables.link(data_shuffled(variables, 2))
    names = binary.symbol_names(np.arange(len(binary.symbols)))
    at = int(binary.sections[binary.symbol_table]["offset"]) + elf.SYMBOL.itemsize * names.index(name) + 16
    rows = [
        codecheck.symbol_rows(b, located(b, sizes), sizes, elf.STT_OBJECT)
        for b in (binary, patched(binary, {at: binary.data[at] + 1}))
    ]

    assert (rows[0] != rows[1]).sum() == 1


def test_swapped_variables_are_found(variables):
    """Two variables of one size whose marks are swapped are not in each other's place: their bytes differ."""
    binary = variables.link(range(len(variables.chosen)), "identity")
    indices = [by_name(variables, name) for name in (".data.counter", ".data.step")]
    data = bytearray(binary.data)
    names = binary.symbol_names(np.arange(len(binary.symbols)))
    places = [
        int(binary.sections[binary.symbol_table]["offset"]) + elf.SYMBOL.itemsize * names.index(f".lr.{index:07d}") + 8
        for index in indices
    ]
    for place, other in zip(places, reversed(places), strict=True):
        data[place : place + 8] = binary.data[other : other + 8]

    assert difference(variables, binary, elf.read(bytes(data), name="swapped")) == (min(indices), 0)


def gaps_of(lowest, address, align):
    return codecheck.first_wrong_gap(*(np.array(values, np.int64) for values in (address, lowest, align)))


def test_gaps_off_by_one_are_found():
    """A section must lie at the lowest address that its gap and alignment allow, no higher and no lower."""
    lowest, align = [0x1000, 0x1013, 0x1020, 0x1031], [16, 1, 4, 16]
    right = [0x1000, 0x1013, 0x1020, 0x1040]

    assert gaps_of(lowest, right, align) is None
    for slot, step in ((1, 1), (1, -1), (2, 4), (3, 16), (3, -16), (0, 16)):
        wrong = [address + step * (place == slot) for place, address in enumerate(right)]
        assert gaps_of(lowest, wrong, align) == slot
    assert gaps_of([], [], []) is None
    assert gaps_of([7], [8], [0]) == 0  # no alignment is an alignment of one


def test_the_lowest_address_is_after_the_one_before_or_the_start_of_the_output_section(tmp_path):
    """With its gap: in the first slot of each output section counted from that section's start."""
    program = Relinker("bfd", tmp_path, [compiled(tmp_path, "d.c", DATA, "-fdata-sections")], "-e", "_start", data=True)
    binary = program.link(range(len(program.chosen)))
    sizes = program.masks().size
    where = located(binary, sizes)
    order = np.argsort(where.address)
    placed = codecheck.Placed(where.address[order], where.output[order])
    gaps = np.arange(len(order))
    lowest = codecheck.closest(binary, placed, sizes[order], gaps)

    for slot, index in enumerate(order.tolist()):
        first = slot == 0 or placed.output[slot] != placed.output[slot - 1]
        begin = (
            int(binary.sections["addr"][where.output[index]])
            if first
            else int(placed.address[slot - 1]) + int(sizes[order[slot - 1]])
        )
        assert lowest[slot] == begin + slot
    align = np.array([program.chosen[i].section.align for i in order.tolist()])
    assert codecheck.first_wrong_gap(placed.address, lowest - gaps, align) is None


SIZES = {".init_array": 16, ".rodata": 100, ".got": 8}


@pytest.mark.parametrize(
    ("sizes", "padded", "wrong"),
    [
        (SIZES, False, []),
        (SIZES, True, []),
        ({**SIZES, ".rodata": 104}, False, [(".rodata", 100), (".rodata", 104)]),
        ({**SIZES, ".rodata": 104}, True, []),
        ({**SIZES, ".init_array": 8}, True, [(".init_array", 8)]),
        ({".rodata": 100, ".got": 8}, True, [(".init_array", 16)]),
        ({**SIZES, ".new": 1}, True, [(".new", 1)]),
        ({**SIZES, ".new": 1}, False, [(".new", 1)]),
        ({**SIZES, ".fini_array": 8}, True, [(".fini_array", 8), (".fini_array", 8)]),
    ],
)
def test_sizes_of_other_output_sections(sizes, padded, wrong):
    """Equal to the byte; where the pieces of all sections move, none may be lost or new and constructors are as many."""
    assert codecheck.wrong_sizes(sizes, SIZES, padded=padded) == wrong


def test_marks_of_discarded_copies_do_not_count(tmp_path):
    """mold keeps the symbol of a section that it dropped, as undefined."""
    require("ld.mold", "mold")
    text = "template <class T> [[gnu::noinline]] T f(T x) { return x + 1; }\nint %s() { return f(1); }\n"
    paths = [compiled(tmp_path, f"{name}.cc", text % name, driver="g++") for name in ("one", "main")]
    program = Relinker("bfd", tmp_path / "link", paths)
    run("ld.mold", "-e", "main", *program.inputs, "-o", tmp_path / "out")
    binary = elf.read((tmp_path / "out").read_bytes(), name="out")

    assert len(program.chosen) == 4
    assert len(codecheck.placed_addresses(binary)[0]) == 3
    assert " UND .lr." in said("readelf", "-sW", tmp_path / "out")
