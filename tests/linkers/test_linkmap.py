"""Maps of real linkers, cut short: which sections were placed, in which order."""

import pytest

from layoutrand.linkers.known import linker as known

GNU = """Archive member included to satisfy reference by file (symbol)

/r/_build/liba.a(x.o)         /r/_build/main.o (f)

Discarded input sections

 .text.unused   0x0000000000000000       0x17 /r/_build/main.o

Memory Configuration

Linker script and memory map

LOAD /r/_build/main.o
 *(.text.unlikely .text.*_unlikely .text.unlikely.*)
 .text          0x0000000000001040       0x22 /r/usr/lib/Scrt1.o
                0x0000000000001040                _start
 .text          0x0000000000001062        0x0 /r/_build/main.o
 *fill*         0x0000000000001062        0xe
 .plt           0x0000000000001070       0x10 linker stubs
 .text.a_long_name
                0x0000000000001070       0x17 /r/_build/main.o
 .text.f        0x0000000000001087       0x10 /r/_build/liba.a(x.o)
                                         0x12 (size before relaxing)
 .text.g        0x0000000000001097       0x10 /elsewhere/y.o
"""
LLD = """             VMA              LMA     Size Align Out     In      Symbol
            1580             1580      154    16 .text
            1580             1580       22    16         /r/usr/lib/Scrt1.o:(.text)
            1580             1580        0     1                 _start
            15b0             15b0        0     4         /r/_build/main.o:(.text)
            15b0             15b0       17    16         /r/_build/main.o:(.text.a_long_name)
            15b0             15b0       17     1                 a_long_name
            15d0             15d0       10    16         /r/_build/liba.a(x.o):(.text.f)
            15e0             15e0       10    16         <internal>:(.iplt)
"""
PLACED = [
    ("usr/lib/Scrt1.o", ".text"),
    ("_build/main.o", ".text.a_long_name"),
    ("_build/liba.a(x.o)", ".text.f"),
]


def below(path: str) -> str | None:
    """Files below /r."""
    return path.removeprefix("/r/") if path.startswith("/r/") else None


def test_gnu():
    """Discarded and empty sections, symbols, fill and other files are left out."""
    assert known("gnu").map.sections(GNU, below) == PLACED


def test_lld():
    """Empty sections, symbols and what the linker makes are left out."""
    assert known("lld").map.sections(LLD, below) == PLACED


def words(path: str) -> str | None:
    """What is called what where the map is of the build's own link."""
    return {"/r/usr/lib/Scrt1.o": "crt", "/r/_build/main.o": "main", "/r/_build/liba.a": "a"}.get(path)


@pytest.mark.parametrize(("text", "linker"), [(GNU, "gnu"), (LLD, "lld")])
def test_members(text: str, linker: str):
    """Members of archives by the name that the archive has; none can be told where a file has no name."""
    assert known(linker).map.members(text.replace("/elsewhere/y.o", "/r/_build/main.o"), words) == {"a(x.o)"}
    assert known(linker).map.members(text, lambda path: None if path == "/r/_build/main.o" else "x") is None


def test_a_text_that_is_no_map():
    """Nothing is made up."""
    assert known("gnu").map.sections("", below) == known("lld").map.sections("x\n", below) == []
