"""What each linker is told for a layout: files and arguments, exactly."""

import pytest

from buildkit import section
from layoutrand.config.toolchain import version_number
from layoutrand.errors import FeatureUnsupported
from layoutrand.linkers.known import linker as known
from layoutrand.linkers.linker import LayoutRequest
from layoutrand.model import IDENTITY, Layout

SECTIONS = [
    section(0),
    section(1, kind="hot"),
    section(2, name=".rodata.t", kind="rodata"),
    section(3, name=".data.rel.ro.local.p", kind="data.rel.ro.local"),
    section(4, name=".data.v", kind="data"),
    section(5, name=".bss.z", kind="bss"),
]
SCRIPT = "\n".join(
    f"  .{family} :\n  {{\n    *(.{family} .{family}.*)\n  }}"
    for family in ("text", "rodata", "data.rel.ro", "data", "bss")
)
OLD, NEW = "GNU ld (GNU Binutils for Debian) 2.40", "GNU ld (GNU Binutils) 2.43"


def layout(order=(1, 0, 2, 3, 4, 5), gaps=(), name=7, factors=("function-order",)):
    return Layout(name, factors, "keep", tuple(order), tuple(gaps))


def asked(linker, version=OLD, script=SCRIPT, users_script=False, **changes):
    return known(linker).request(version, script, SECTIONS, layout(**changes), users_script=users_script)


def test_gnu_ld_gets_its_script_with_exact_lines():
    """In the default script's stead, each family in its own output section, in the layout's order."""
    found = asked("gnu")

    assert found.argv("/x/layout") == ["-dT", "/x/layout"]
    assert (
        found.text
        == """\
  .text :
  {
    *(.text.lr.0000001)
    *(.text.lr.0000000)
    *(.text .text.*)
  }
  .rodata :
  {
    *(.rodata.lr.0000002)
    *(.rodata .rodata.*)
  }
  .data.rel.ro :
  {
    *(.data.rel.ro.local.lr.0000003)
    *(.data.rel.ro .data.rel.ro.*)
  }
  .data :
  {
    *(.data.lr.0000004)
    *(.data .data.*)
  }
  .bss :
  {
    *(.bss.lr.0000005)
    *(.bss .bss.*)
  }"""
    )


def test_gaps_are_statements_before_their_section():
    """A gap of nothing has no statement, also with a linker that has an ordering file."""
    for version in (OLD, NEW):
        found = asked("gnu", version, gaps=(5, 0, 0, 0, 0, 0))
        assert (
            "  {\n    . += 5;\n    *(.text.lr.0000001)\n    *(.text.lr.0000000)\n    *(.text .text.*)\n" in found.text
        )
        assert found.text.count(". +=") == 1
        assert found.arguments == ("-dT", "{}")


@pytest.mark.parametrize(
    "version",
    [NEW, "GNU ld (GNU Binutils for Debian) 2.44", "GNU ld version 2.43.1-5.fc42", "GNU ld (GNU Binutils) 3.0"],
)
def test_newer_gnu_ld_gets_an_ordering_file(version):
    """From 2.43 on a fragment suffices: the lines alone, by output section."""
    found = asked("gnu", version)

    assert found.argv("/x/layout") == ["--section-ordering-file=/x/layout"]
    assert found.text.startswith(
        ".text :\n{\n  *(.text.lr.0000001)\n  *(.text.lr.0000000)\n}\n.rodata :\n{\n  *(.rodata.lr.0000002)\n}\n"
    )
    assert found.text.count("*(") == 6


@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_users_script_is_used_in_its_own_place(version):
    """Whatever the version: an ordering file would put the lines before what the script wants first."""
    found = asked(
        "gnu",
        version,
        script="SECTIONS { .all : { KEEP(*(.text.boot)) *(.text*) *(.rodata*) *(.data*) *(.bss*) } }",
        users_script=True,
    )

    assert found.arguments == ("-T", "{}")
    assert " ".join(found.text.split()) == (
        "SECTIONS { .all : { KEEP(*(.text.boot)) *(.text.lr.0000001) *(.text.lr.0000000) *(.text*) *(.rodata.lr.0000002) *(.rodata*) "
        "*(.data.rel.ro.local.lr.0000003) *(.data.lr.0000004) *(.data*) *(.bss.lr.0000005) *(.bss*) } }"
    )


def test_lld_gets_symbols_and_its_own_padding():
    """One symbol a line; padding by a seed of lld's own that follows from ours, not for identity."""
    symbols = ".lr.0000001\n.lr.0000000\n.lr.0000002\n.lr.0000003\n.lr.0000004\n.lr.0000005\n"

    assert asked("lld") == LayoutRequest(symbols, ("--symbol-ordering-file={}",))
    padded = asked("lld", "LLD 20.1.2", gaps=(1, 2, 0, 0, 0, 0), factors=("padding",))
    assert padded == LayoutRequest(symbols, ("--symbol-ordering-file={}", "--randomize-section-padding=278062242"))


@pytest.mark.parametrize(
    ("linker", "version", "factors", "pads", "fills"),
    [
        ("gnu", OLD, ("padding",), False, False),
        ("gnu", NEW, ("padding", "text-offset"), False, False),
        ("gold", OLD, ("padding",), False, True),
        ("lld", "LLD 19.1.7", ("padding",), False, True),
        ("lld", "LLD 20.1.2", ("padding",), True, False),
        ("lld", "LLD 20.1.2", ("padding", "text-offset"), False, True),
        ("lld", "LLD 20.1.2", ("text-offset",), False, True),
    ],
)
def test_who_makes_gaps(linker, version, factors, pads, fills):
    """The linker by a seed of its own, or sections of ours; GNU ld's script says how much is left free."""
    some, none = layout(gaps=(1, 0, 0, 0, 0, 0), factors=factors), layout(gaps=(0,) * 6, factors=factors)

    assert (known(linker).pads(version, some), known(linker).fills(version, some)) == (pads, fills)
    assert not known(linker).fills(version, none)
    assert not known(linker).pads(version, layout())


def test_gold_gets_section_names():
    """One name a line."""
    assert asked("gold") == LayoutRequest(
        ".text.lr.0000001\n.text.lr.0000000\n.rodata.lr.0000002\n.data.rel.ro.local.lr.0000003\n.data.lr.0000004\n.bss.lr.0000005\n",
        ("--section-ordering-file={}",),
    )


def test_mold_shuffles_by_a_seed_that_follows_from_ours():
    """Never by 0 or -1; identity is its order without, and an order it cannot be told."""
    shuffled = asked("mold", factors=("linker-shuffle",))
    assert shuffled == LayoutRequest("", ("--shuffle-sections=2038875862",))
    assert asked("mold", factors=("linker-shuffle",), name=IDENTITY) == LayoutRequest("", ())
    assert asked("mold", name=IDENTITY) == LayoutRequest("", ())
    with pytest.raises(FeatureUnsupported, match="mold cannot be told an order"):
        asked("mold")


@pytest.mark.parametrize("linker", ["gnu", "lld", "gold"])
def test_other_linkers_do_not_shuffle_by_themselves(linker):
    """The factor that leaves the order to the linker is for linkers that take none."""
    with pytest.raises(FeatureUnsupported, match=f"{linker} can"):
        asked(linker, factors=("linker-shuffle",))


@pytest.mark.parametrize("linker", ["gnu", "lld", "gold", "mold"])
def test_where_objects_move_no_linker_is_told_anything(linker):
    """The link line says it all."""
    assert asked(linker, factors=("link-order",)) == LayoutRequest("", ())


def test_the_path_is_filled_in_whatever_it_holds():
    """Only the marker is replaced, and a path with a marker of its own is not filled in again."""
    assert LayoutRequest("", ("--x={}", "-dT", "{}")).argv("/a {}/b") == ["--x=/a {}/b", "-dT", "/a {}/b"]


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("GNU ld (GNU Binutils for Debian) 2.40", (2, 40)),
        ("GNU ld (GNU Binutils for Ubuntu) 2.42", (2, 42)),
        ("GNU ld version 2.40-41.fc39", (2, 40)),
        ("GNU ld (GNU Binutils; SUSE Linux Enterprise 15) 2.41.0.20230908-150100.7.46", (2, 41, 0, 20230908)),
        ("GNU ld (GNU Binutils) 2.43.1", (2, 43, 1)),
        ("Debian LLD 19.1.7 (compatible with GNU linkers)", (19, 1, 7)),
        ("Ubuntu LLD 14.0.0", (14, 0, 0)),
        ("LLD 20.1.2 (https://x/y 7ef74.1) (compatible with GNU linkers)", (20, 1, 2)),
        ("GNU gold (GNU Binutils for Debian 2.40) 1.16", (1, 16)),
        ("mold 1.10.1 (compatible with GNU ld)", (1, 10, 1)),
        ("mold 2.37.1 (abcdef; compatible with GNU ld)", (2, 37, 1)),
        ("", ()),
        ("some linker", ()),
        ("ld 7", ()),
    ],
)
def test_versions_in_the_words_of_linkers(said, number):
    """The linker's own, not that of the package in brackets; nothing if it says none."""
    assert version_number(said) == number


def test_threads_are_limited_where_the_linker_takes_several_and_the_build_did_not_say():
    """A limit of the build's own stays, whichever way it is written."""
    assert known("lld").thread_limit(["-o", "x", "a.o"], 1) == ["--threads=1"]
    for own in ("--threads=3", "-threads=3", "--no-threads", "--threads"):
        assert known("lld").thread_limit(["a.o", own], 1) == []
    assert {linker: known(linker).thread_limit(["a.o"], 1) for linker in ("gnu", "gold", "mold")} == {
        "gnu": [],
        "gold": [],
        "mold": [],
    }
