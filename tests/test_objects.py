"""Objects of a captured link: which there are, what they are called, and their editable copies."""

import pytest

from buildkit import compiled, link_with, run, said
from layoutrand.core import archive, elf, objects, objedit
from layoutrand.core.order import identity_bytes
from layoutrand.errors import FeatureUnsupported
from workshop import require

TWO = "int {0}_one(void) {{ return 1; }} int {0}_two(void) {{ return 2; }}\n"


def obj(folder, name, text=None, *flags, **changes):
    """Bytes of a compiled object."""
    return compiled(folder, name, text or TWO.format(name.split(".")[0]), *flags, **changes).read_bytes()


def packed(folder, name, **members):
    """Bytes of an archive with these members (name without .o to bytes)."""
    (folder / "in").mkdir(exist_ok=True)
    for member, data in members.items():
        (folder / "in" / f"{member}.o").write_bytes(data)
    run("ar", "rcs", folder / name, *[f"{member}.o" for member in members], cwd=folder / "in")
    return (folder / name).read_bytes()


def names(files, pulled=()):
    return [found.name for found in objects.objects(files, pulled)]


def test_objects_are_named_relative_to_the_build(tmp_path):
    """An object is called by its path in the build, a member by its archive's, whatever directory the build had."""
    a = obj(tmp_path, "a.c")
    files = {"_build/src/a.o": a, "_build/lib/libx.a": packed(tmp_path, "x.a", b=a, c=a)}

    assert names(files) == ["src/a.o", "lib/libx.a(b.o)", "lib/libx.a(c.o)"]


def test_temporary_objects_are_named_after_their_source(tmp_path):
    """What the driver compiled on the fly has a random name, so it is called by its source file."""
    files = {
        "_temp/00000.o": obj(tmp_path, "a.c"),
        "_temp/00001.o": obj(tmp_path, "b.c"),
        "_temp/00002.o": obj(tmp_path, "none.s", "nop\n"),
    }

    assert names(files) == ["temp(a.c)", "temp(b.c)", "temp(?)"]


def test_equal_names_are_numbered(tmp_path):
    """Two members of one name, or two sources of one name, are told apart by a number."""
    a = obj(tmp_path, "a.c")
    (tmp_path / "x.o").write_bytes(a)
    run("ar", "qcs", tmp_path / "twice.a", tmp_path / "x.o", tmp_path / "x.o")
    files = {"_temp/00000.o": a, "_temp/00001.o": a, "_build/twice.a": (tmp_path / "twice.a").read_bytes()}

    assert names(files) == ["temp(a.c)", "temp(a.c):1", "twice.a(x.o)", "twice.a(x.o):1"]


def test_of_the_systems_archives_only_what_is_pulled_in_counts(tmp_path):
    """Members of libc that the link does not use are no objects of it."""
    data = packed(tmp_path, "libc.a", used=obj(tmp_path, "u.c"), unused=obj(tmp_path, "n.c"))
    found = objects.objects(
        {"usr/lib/libc.a": data, "usr/lib/crt1.o": obj(tmp_path, "crt.c")}, ["usr/lib/libc.a(used.o)"]
    )

    assert [(item.name, item.ours, item.member) for item in found] == [
        ("usr/lib/libc.a(used.o)", False, 0),
        ("usr/lib/crt1.o", False, None),
    ]


def test_what_is_no_relocatable_object_is_passed_over(tmp_path):
    """Shared libraries, scripts and version maps hold nothing to place."""
    run("gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", tmp_path / "x.so")
    files = {
        "_build/x.so": (tmp_path / "x.so").read_bytes(),
        "_build/v.map": b"{ local: *; };",
        "_build/libm.so": b"GROUP ( x )",
        "_build/empty": b"",
    }

    assert names(files) == []


def test_link_time_optimisation_is_refused(tmp_path):
    """GCC's and LLVM's intermediate code is named, in an object and in an archive, with what to do."""
    gcc = obj(tmp_path, "a.c", None, "-flto")
    bitcode = b"BC\xc0\xde" + bytes(60)
    for files, name in (
        ({"_build/d/a.o": gcc}, r"d/a\.o"), ({"_build/x.a": packed(tmp_path, "x.a", m=gcc)}, r"x\.a\(m\.o\)"),
        ({"_build/b.o": bitcode}, r"b\.o"), ({"_build/y.a": packed(tmp_path, "y.a", m=bitcode)}, r"y\.a\(m\.o\)"),
    ):  # fmt: skip
        with pytest.raises(
            FeatureUnsupported, match=rf"^{name} holds link-time optimisation code: .* Build without -flto$"
        ):
            objects.objects(files, [])


def test_intermediate_code_that_is_not_pulled_in_does_not_matter(tmp_path):
    """A system archive may hold bitcode in members that the link does not use."""
    data = packed(tmp_path, "x.a", m=b"BC\xc0\xde" + bytes(60), n=obj(tmp_path, "a.c"))

    assert names({"usr/lib/x.a": data}, ["usr/lib/x.a(n.o)"]) == ["usr/lib/x.a(n.o)"]


SECTIONS = """
.section .text.plain,"ax",@progbits
nop
.section .text.hot.spin,"ax",@progbits
nop
.section .text.twice,"ax",@progbits,unique,1
nop
.section .text.twice,"ax",@progbits,unique,2
nop
.section .text.twice,"axG",@progbits,sig,comdat,unique,3
nop
.text
.p2align 5
nop
.section .text.empty,"ax",@progbits
.section .text.data,"aw",@progbits
.long 1
.section .text.zeros,"awx",@nobits
.zero 8
.section .init,"ax",@progbits
nop
.section .textual,"ax",@progbits
nop
.section .rodata.r,"a",@progbits
.long 1
"""


def test_candidates_are_the_code_sections_that_linkers_gather_in_text(tmp_path):
    """.text and .text.* with code count; empty, writable, other executable and data sections do not."""
    found = objects.objects(
        {"_build/s.o": obj(tmp_path, "s.s", SECTIONS), "usr/lib/crt1.o": obj(tmp_path, "c.s", "nop\n")}, []
    )
    described = [candidate.section for candidate in objects.candidates(found)]

    assert [(s.index, s.object, s.name, s.occurrence, s.group, s.kind, s.pinned) for s in described] == [
        (0, "s.o", ".text", 0, "", "text", False),
        (1, "s.o", ".text.plain", 0, "", "text", False),
        (2, "s.o", ".text.hot.spin", 0, "", "hot", False),
        (3, "s.o", ".text.twice", 0, "", "text", False),
        (4, "s.o", ".text.twice", 1, "", "text", False),
        (5, "s.o", ".text.twice", 0, "sig", "text", False),
        (6, "usr/lib/crt1.o", ".text", 0, "", "text", True),
    ]
    assert (described[0].size, described[0].align, described[1].size) == (1, 32, 1)


def test_a_comdat_section_is_the_same_in_every_object(tmp_path):
    """What else an object holds, other groups' sections of the same name included, does not change its identity."""
    text = '.section .text,"axG",@progbits,{0},comdat,unique,1\nnop\n.section .text,"axG",@progbits,wanted,comdat,unique,2\nnop\n'
    found = objects.objects(
        {
            "_build/a.o": obj(tmp_path, "a.s", text.format("other")),
            "_build/b.o": obj(tmp_path, "b.s", text.format("wanted2")),
        },
        [],
    )
    same = {identity_bytes(c.section) for c in objects.candidates(found) if c.section.group == "wanted"}

    assert len(same) == 1


def test_all_identities_of_a_program_differ(tmp_path):
    """No two sections of real C++ objects are confused, but for the copies of one COMDAT section."""
    text = "template <class T> [[gnu::noinline]] T f(T x) { return x + 1; }\nstatic int h() { return 2; }\nint %s() { return f(1) + f('a') + h(); }\n"
    found = objects.objects(
        {f"_build/{n}.o": obj(tmp_path, f"{n}.cc", text % n, "-fno-inline", driver="g++") for n in ("a", "b")}, []
    )
    sections = [candidate.section for candidate in objects.candidates(found)]
    plain = [identity_bytes(section) for section in sections if not section.group]
    comdat = [identity_bytes(section) for section in sections if section.group]

    assert len(set(plain)) == len(plain) == 4
    assert len(set(comdat)) == 2
    assert len(comdat) == 4


def test_renumbering_keeps_the_live_sections_in_order(tmp_path):
    """Sections that the linker dropped leave no gap."""
    found = objects.candidates(objects.objects({"_build/s.o": obj(tmp_path, "s.s", SECTIONS)}, []))
    kept = objects.renumber(found, {1, 3, 5})

    assert [(c.section.index, c.section.name, c.header) for c in kept] == [
        (n, found[i].section.name, found[i].header) for n, i in enumerate((1, 3, 5))
    ]


def test_edited_files_are_those_with_chosen_sections(tmp_path):
    """Objects and archive members get their names and symbols, the rest of the capture is not touched."""
    a, b, main = (
        obj(tmp_path, f"{n}.c", t)
        for n, t in (
            ("a", None),
            ("b", None),
            ("m", "int a_one(void), b_two(void); int main(void) { return a_one() + b_two() - 3; }"),
        )
    )
    files = {
        "_build/m.o": main,
        "_build/x.a": packed(tmp_path, "x.a", a=a, b=b),
        "_build/alone.o": obj(tmp_path, "z.c"),
        "_build/note": b"text",
    }
    found = objects.objects(files, [])
    chosen = [c for c in objects.candidates(found) if c.section.object != "alone.o"]
    changed = dict(objects.edited_files(files, found, chosen, rename=True))
    for name, data in changed.items():
        (tmp_path / name.replace("_build/", "new-")).write_bytes(data)

    assert set(changed) == {"_build/m.o", "_build/x.a"}
    assert [m.name for m in archive.read(changed["_build/x.a"], name="x").members] == ["a.o", "b.o"]
    prog = link_with("bfd", tmp_path, [tmp_path / "new-m.o", tmp_path / "new-x.a"])
    assert run(prog).returncode == 0
    marked = {row.split()[2] for row in said("nm", prog).splitlines() if " .lr." in row}
    assert marked == {objedit.symbol_name(c.section.index) for c in chosen}


def test_lumped_objects_hold_several_functions_in_one_section(tmp_path):
    """An object compiled without function sections is found; a single function, or the system's object, is none."""
    lump = obj(tmp_path, "a.c", None, "-fno-function-sections")
    files = {
        "_build/lump.o": lump, "_build/split.o": obj(tmp_path, "b.c"), "usr/lib/crt.o": lump,
        "_build/single.o": obj(tmp_path, "c.c", "int f(void) { return 1; }", "-fno-function-sections"),
    }  # fmt: skip
    found = objects.objects(files, [])

    assert objects.lumped(found, objects.candidates(found)) == ["lump.o"]


def test_an_object_of_an_unknown_kind_is_named(tmp_path):
    """A 32-bit object is refused with its name in the capture."""
    require("as", "binutils")
    run("as", "--32", "-o", tmp_path / "a.o", "/dev/null")

    with pytest.raises(FeatureUnsupported, match=r"^_build/a\.o: only 64-bit"):
        objects.objects({"_build/a.o": (tmp_path / "a.o").read_bytes()}, [])


def test_the_elf_of_an_object_is_that_of_its_file(tmp_path):
    """The tables handed on are those of the captured bytes."""
    data = obj(tmp_path, "a.c")
    [found] = objects.objects({"_build/a.o": data}, [])

    assert found.elf.data == data
    assert found.elf.section_names == elf.read(data, name="a").section_names
