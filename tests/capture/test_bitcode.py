"""Stubs for clang's bitcode: what they mention, in which order, and that linkers read them."""

import numpy as np
import pytest

from buildkit import run
from layoutrand.capture import bitcode
from layoutrand.capture.bitcode import BitcodeMember, Extraction, Module, Planner, Stub, Symbol
from layoutrand.objects import elf
from workshop import require

LISTING = """\
---------------- T main
                 U printf
                 w maybe
---------------- t helper
---------------- W inline_one
---------------- C common
---------------- d data

"""


def test_symbols_of_a_listing():
    """Definitions, weak and strong uses; nothing local."""
    assert bitcode.read_symbols(LISTING) == (
        Symbol("main", True, False),
        Symbol("printf", False, True),
        Symbol("maybe", False, False),
        Symbol("inline_one", True, False),
        Symbol("common", True, False),
    )


def compiled(folder, text, *flags):
    """An object that gcc makes of C or C++."""
    require("g++", "g++")
    run("g++", "-x", "c++", "-", "-c", "-o", folder / "x.o", *flags, stdin=text.encode())
    return elf.read((folder / "x.o").read_bytes(), name="x.o")


def module(name, *, defines=(), uses=()):
    """Defined symbols stand behind the used ones."""
    return Module(name, (*(Symbol(n, False, True) for n in uses), *(Symbol(n, True, False) for n in defines)))


def test_a_stub_mentions_what_is_left_and_pulls_in_what_no_module_defines(tmp_path):
    """Symbols that nobody knows any more are left out: nothing would define them."""
    native = compiled(tmp_path, 'extern "C" { int b(); int outside(); int a() { return b() + outside(); } }')
    modules = [module("a.o", defines=["a", "gone"], uses=["b", "outside", "away"]), module("b.o", defines=["b"])]

    first = Planner(modules, [native], {"plain"}, defined_first=True).stub(0)
    as_listed = Planner(modules, [native], {"plain"}, defined_first=False).stub(0)

    assert first.symbols == (("a", False), ("b", False), ("outside", True))
    assert as_listed.symbols == (("b", False), ("outside", True), ("a", False))


def test_the_first_module_claims_a_group(tmp_path):
    """A COMDAT group of the native object belongs to the first module that defines anything in it."""
    native = compiled(
        tmp_path, "inline __attribute__((noinline)) int twice(int x) { return 2 * x; } int f() { return twice(2); }"
    )
    modules = [
        module("a.o", defines=["_Z1fv"]),
        module("b.o", defines=["_Z5twicei"]),
        module("c.o", defines=["_Z5twicei"]),
    ]
    planner = Planner(modules, [native], (), defined_first=True)

    assert [planner.stub(number).groups for number in range(3)] == [(), ("_Z5twicei",), ()]
    assert elf.read(bitcode.without_comdats(native), name="x").group_signatures() == {}
    assert set(native.group_signatures().values()) == {"_Z5twicei"}


def test_who_pulled_whom_in():
    """lld reports a member after all that follows from it."""
    rows = [("m.o", "x(a)"), ("x(c)", "x(d)"), ("x(b)", "x(c)"), ("m.o", "x(b)"), ("x(b)", "x(e)")]

    assert bitcode.extractions(rows) == [
        Extraction("m.o", "x(a)", ()),
        Extraction("m.o", "x(b)", (Extraction("x(b)", "x(c)", (Extraction("x(c)", "x(d)", ()),)),)),
        Extraction("x(b)", "x(e)", ()),
    ]


def test_symbols_of_an_archive_come_as_lld_met_them(tmp_path):
    """A member is looked through when it is needed, in the middle of the one that needs it."""
    text = 'extern "C" { int u(); int v(); int a() { return u() + v(); } int b() { return 1; } int c() { return 2; } }'
    native = compiled(tmp_path, text)
    modules = [module("x(b)", defines=["b"], uses=["v"]), module("x(a)", defines=["a"], uses=["b", "u"])]
    members = [BitcodeMember("x(b)", ("b",), 0), BitcodeMember("x(a)", ("a",), 1), BitcodeMember("x(c)", ("c",), None)]
    pulled = [Extraction("m.o", "x(a)", (Extraction("x(a)", "x(b)", ()),))]
    planner = Planner(modules, [native], (), defined_first=True)

    assert planner.ahead(members, pulled).symbols == (
        ("b", False),
        ("a", False),
        ("v", True),
        ("u", True),
        ("c", False),
    )


def test_a_stub_is_an_object_that_linkers_read(tmp_path):
    """readelf has no complaint; symbols, bindings and groups are there, and nothing that is loaded."""
    like = compiled(tmp_path, "int f() { return 1; }")
    stub = elf.read(
        bitcode.write_stub(Stub((("strong", True), ("weak é", False)), ("group1", "group2")), like), name="stub"
    )
    (tmp_path / "stub.o").write_bytes(stub.data)
    names = stub.symbol_names(np.arange(len(stub.symbols)))

    assert (stub.kind, stub.machine) == ("ET_REL", like.machine)
    assert names == ["", "group1", "group2", "strong", "weak é"]
    assert [int(info) >> 4 for info in stub.symbols["info"]] == [0, 0, 0, 1, 2]
    assert stub.symbol_sections.tolist() == [0, 2, 3, 0, 0]
    assert run("readelf", "-aW", tmp_path / "stub.o").stderr == b""
    assert run("readelf", "-gW", tmp_path / "stub.o").stdout.count(b"COMDAT group section") == 2


@pytest.mark.parametrize(
    ("data", "expected"), [(b"BC\xc0\xde1", True), (b"\xde\xc0\x17\x0b", True), (b"\x7fELF", False), (b"", False)]
)
def test_bitcode_is_known_by_its_beginning(data, expected):
    """Plain and wrapped bitcode."""
    assert bitcode.is_bitcode(data) == expected
