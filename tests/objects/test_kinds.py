"""Which sections can be placed, and what may change places with what."""

import pytest

from layoutrand.objects import elf, kinds, placeable

PROGBITS, NOBITS, INIT_ARRAY, NOTE = 1, elf.SHT_NOBITS, 14, 7
A, W, X = elf.SHF_ALLOC, elf.SHF_WRITE, elf.SHF_EXECINSTR
MERGE, STRINGS, TLS, GROUP, LINK_ORDER, RETAIN = (
    elf.SHF_MERGE,
    0x20,
    elf.SHF_TLS,
    elf.SHF_GROUP,
    elf.SHF_LINK_ORDER,
    0x200000,
)

DATA = {
    (".rodata", PROGBITS, A): "rodata",
    (".rodata.table", PROGBITS, A): "rodata",
    (".rodata.table", PROGBITS, A | GROUP): "rodata",
    (".rodata.kept", PROGBITS, A | RETAIN): "rodata",
    (".data", PROGBITS, A | W): "data",
    (".data.counter", PROGBITS, A | W): "data",
    (".data.rel.ro", PROGBITS, A | W): "data.rel.ro",
    (".data.rel.ro.names", PROGBITS, A | W): "data.rel.ro",
    (".data.rel.ro.local", PROGBITS, A | W): "data.rel.ro.local",
    (".data.rel.ro.local.names", PROGBITS, A | W): "data.rel.ro.local",
    (".data.rel.pointer", PROGBITS, A | W): "data",
    (".data.rel.local.pointer", PROGBITS, A | W): "data",
    (".bss", NOBITS, A | W): "bss",
    (".bss.buffer", NOBITS, A | W | GROUP): "bss",
}
NO_DATA = {
    "mergeable strings": (".rodata.str1.1", PROGBITS, A | MERGE | STRINGS),
    "mergeable constants": (".rodata.cst16", PROGBITS, A | MERGE),
    "thread-local data": (".tdata.x", PROGBITS, A | W | TLS),
    "thread-local data under another name": (".data.x", PROGBITS, A | W | TLS),
    "thread-local zeroes": (".tbss.x", NOBITS, A | W | TLS),
    "constructors": (".init_array", INIT_ARRAY, A | W),
    "old constructors": (".ctors.65535", PROGBITS, A | W),
    "a linker set": ("my_set", PROGBITS, A | W),
    "a section of the user's": (".mydata", PROGBITS, A | W),
    "a name that only begins alike": (".dataset", PROGBITS, A | W),
    "a name that only begins alike, read-only": (".rodatax", PROGBITS, A),
    "ordered by another section": (".rodata.x", PROGBITS, A | LINK_ORDER),
    "code under a data name": (".data.code", PROGBITS, A | X),
    "writable constants": (".rodata.x", PROGBITS, A | W),
    "constants that are not writable": (".data.x", PROGBITS, A),
    "zeroes that are stored": (".bss.x", PROGBITS, A | W),
    "stored data that is not": (".data.x", NOBITS, A | W),
    "not loaded": (".rodata.x", PROGBITS, 0),
    "a note": (".note.gnu.property", NOTE, A),
    "exception tables": (".gcc_except_table.f", PROGBITS, A),
    "frames": (".eh_frame", PROGBITS, A),
    "large data": (".ldata.x", PROGBITS, A | W | 0x10000000),
}


@pytest.mark.parametrize(("section", "kind"), DATA.items())
def test_data_that_can_be_placed(section, kind):
    """Name, type and access together make the kind; it is no code."""
    assert placeable.data_kind(*section) == kind
    assert placeable.code_kind(*section) is None
    assert not kinds.is_code(kind)


@pytest.mark.parametrize("section", NO_DATA.values(), ids=NO_DATA.keys())
def test_data_that_stays_where_the_linker_puts_it(section):
    """Moving these would change more than a place."""
    assert placeable.data_kind(*section) is None


@pytest.mark.parametrize(
    ("section", "kind"),
    [
        ((".text", PROGBITS, A | X), "text"),
        ((".text.f", PROGBITS, A | X), "text"),
        ((".text.hot.f", PROGBITS, A | X | GROUP), "hot"),
        ((".text.unlikely", PROGBITS, A | X), "unlikely"),
        ((".text.f", PROGBITS, A), None),
        ((".text.f", NOBITS, A | X), None),
        ((".init", PROGBITS, A | X), None),
        ((".textual", PROGBITS, A | X), None),
        ((".plt", PROGBITS, A | X), None),
        ((".text.f", PROGBITS, X), None),
        ((".data.rel.ro.x", PROGBITS, A | W), None),
    ],
)
def test_code_that_can_be_placed(section, kind):
    """Loaded, executable, stored, and called .text."""
    assert placeable.code_kind(*section) == kind


def test_families_are_what_shares_an_output_section():
    """All code is one family, relocated constants are one, any other kind is its own."""
    assert {kind: kinds.family(kind) for kind in (*kinds.CODE_KINDS, *kinds.DATA_KINDS)} == {
        "unlikely": "text",
        "exit": "text",
        "startup": "text",
        "hot": "text",
        "text": "text",
        "rodata": "rodata",
        "data.rel.ro.local": "data.rel.ro",
        "data.rel.ro": "data.rel.ro",
        "data": "data",
        "bss": "bss",
    }
    assert {kinds.family(kind) for kind in (*kinds.CODE_KINDS, *kinds.DATA_KINDS)} == set(kinds.FAMILIES)


def test_data_kinds_are_tried_longest_name_first():
    """No kind's name is a prefix of a later one's, or the later one would never be found."""
    for place, kind in enumerate(kinds.DATA_KINDS):
        assert not any(later.startswith(f"{kind}.") for later in kinds.DATA_KINDS[place + 1 :])
