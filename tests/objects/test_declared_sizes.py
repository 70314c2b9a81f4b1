"""Small object files that say they are large."""

from __future__ import annotations

import struct
import zlib

import pytest

from buildkit import compiled, run
from layoutrand.errors import FeatureUnsupported
from layoutrand.objects import elf

THREE_GIB = 3 << 30


@pytest.fixture
def made(tmp_path):
    return compiled(tmp_path, "a.c", "int f(void) { return 1; }\n")


def with_section(made, name, content, *, flags=0):
    """The object with one more section that no loader sees, and these flags in its header."""
    added = made.with_name("added")
    added.write_bytes(content)
    run("objcopy", "--add-section", f"{name}={added}", "--set-section-flags", f"{name}=readonly,debug", made)
    data = bytearray(made.read_bytes())
    file = elf.read(bytes(data), name="a.o")
    header = file.section_offset + elf.SECTION.itemsize * file.section_names.index(name)
    data[header + 8 : header + 16] = flags.to_bytes(8, "little")
    return bytes(data)


def packed(size):
    """A section as gcc -gz writes it that says it is of that size."""
    return struct.pack("<IIQQ", 1, 0, size, 1) + zlib.compress(bytes(100_000))


def test_packed_debug_sections_are_no_larger_than_a_compiler_makes_them(made):
    assert elf.read(with_section(made, ".debug_x", packed(100_000), flags=0x800), name="a.o")
    with pytest.raises(
        FeatureUnsupported, match=rf"a\.o: its packed debug sections say that they are {THREE_GIB} bytes"
    ):
        elf.read(with_section(made, ".debug_y", packed(THREE_GIB), flags=0x800), name="a.o")


def test_the_older_way_to_pack_them_is_looked_at_too(made):
    content = b"ZLIB" + THREE_GIB.to_bytes(8, "big") + zlib.compress(bytes(100_000))
    with pytest.raises(FeatureUnsupported, match="packed debug sections"):
        elf.read(with_section(made, ".zdebug_x", content), name="a.o")


def test_sections_that_all_name_the_same_bytes_are_refused(made):
    """A table of 20,000 headers, each of which is of the whole file."""
    data = made.read_bytes()
    old = elf.read(data, name="a.o")
    header = bytearray(data[old.section_offset : old.section_offset + elf.SECTION.itemsize])
    size = len(data) + 20_000 * elf.SECTION.itemsize
    header[4:8] = (1).to_bytes(4, "little")
    header[24:40] = (0).to_bytes(8, "little") + size.to_bytes(8, "little")
    table = bytes(elf.SECTION.itemsize) + bytes(header) * 19_999
    changed = bytearray(data)
    changed[0x28:0x30] = len(data).to_bytes(8, "little")  # e_shoff
    changed[0x3C:0x40] = (20_000).to_bytes(2, "little") + (1).to_bytes(2, "little")  # e_shnum, e_shstrndx
    with pytest.raises(FeatureUnsupported, match=r"a\.o: its sections have \d+ bytes together .* they overlap"):
        elf.read(bytes(changed) + table, name="a.o")
