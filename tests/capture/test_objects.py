"""Objects of a captured link: which there are, what they are called, and their editable copies."""

import pytest

from buildkit import compiled, link_with, run, said
from layoutrand.capture import objects
from layoutrand.capture.capture_warnings import CodeThatStays
from layoutrand.errors import FeatureUnsupported
from layoutrand.layout.groups import identity_bytes
from layoutrand.linkers import user_script
from layoutrand.objects import archive, elf
from layoutrand.objects.unique_names import symbol_name
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


def test_intermediate_code_that_nothing_was_made_of_is_refused(tmp_path):
    """GCC's and LLVM's intermediate code is named, in an object and in an archive, with what to do."""
    gcc = obj(tmp_path, "a.c", None, "-flto", "-fno-fat-lto-objects")
    bitcode = b"BC\xc0\xde" + bytes(60)
    for files, name, advice in (
        ({"_build/d/a.o": gcc}, r"d/a\.o", "gcc-gold"),
        ({"_build/x.a": packed(tmp_path, "x.a", m=gcc)}, r"x\.a\(m\.o\)", "gcc-lto"),
        ({"_build/b.o": bitcode}, r"b\.o", "lld"),
        ({"_build/y.a": packed(tmp_path, "y.a", m=bitcode)}, r"y\.a\(m\.o\)", "lld"),
    ):
        with pytest.raises(FeatureUnsupported, match=rf"^{name} holds .*link-time optimisation code.*{advice}"):
            objects.objects(files, ["_build/x.a(m.o)", "_build/y.a(m.o)"])


def test_machine_code_beside_intermediate_code_is_used_unless_the_linker_claims_it(tmp_path):
    """A fat object is an ordinary one without a plugin; with one, what the plugin made of it must be known."""
    fat = obj(tmp_path, "a.c", None, "-flto", "-ffat-lto-objects", "-ffunction-sections")
    files = {"_build/a.o": fat}

    assert [item.name for item in objects.objects(files, [])] == ["a.o"]
    with pytest.raises(FeatureUnsupported, match=r"^a\.o holds link-time optimisation code, but what the link made"):
        objects.objects(files, [], claims=True)


def test_native_objects_stand_for_what_they_were_made_of(tmp_path):
    """Intermediate code is left out, and all units of one name count as one object."""
    native = obj(tmp_path, "n.c", "int f(int x) { return x + 1; }", "-ffunction-sections")
    files = {
        "_build/a.o": obj(tmp_path, "a.c", None, "-flto"),
        "_temp/lto/00000.o": native,
        "_temp/lto/00001.o": native,
    }
    found = objects.objects(files, [], {"_temp/lto/00000.o": "lto", "_temp/lto/00001.o": "lto"})
    sections = [candidate.section for candidate in objects.candidates(found)]

    assert [item.name for item in found] == ["lto", "lto"]
    assert [(each.object, each.name, each.occurrence, each.pinned) for each in sections] == [
        ("lto", ".text.f", 0, False),
        ("lto", ".text.f", 1, False),
    ]


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
    assert marked == {symbol_name(c.section.index) for c in chosen}


def test_lumped_objects_hold_several_functions_in_one_section(tmp_path):
    """An object compiled without function sections is found; a single function, or the system's object, is none."""
    lump = obj(tmp_path, "a.c", None, "-fno-function-sections")
    files = {
        "_build/lump.o": lump,
        "_build/split.o": obj(tmp_path, "b.c"),
        "usr/lib/crt.o": lump,
        "_build/single.o": obj(tmp_path, "c.c", "int f(void) { return 1; }", "-fno-function-sections"),
    }
    found = objects.objects(files, [])

    assert objects.lumped(found, objects.candidates(found)) == ["lump.o"]


def test_functions_of_assembler_that_have_no_type(tmp_path):
    """They are counted by where they begin: several names of one are one, and labels in it or at its end none."""
    texts = {
        "_build/two.o": ".globl f, g; f: ret; g: ret",
        "_temp/two.o": ".globl f, g; f: ret; g: ret",
        "_build/one.o": ".globl f, _f; f: _f: nop; again: jmp again",
        "_build/ended.o": ".globl f, f_end; f: nop; ret; f_end:",
    }
    files = {}
    for number, (name, text) in enumerate(texts.items()):
        (tmp_path / f"{number}.s").write_text(f"{text}\n")
        run("gcc", "-c", tmp_path / f"{number}.s", "-o", tmp_path / f"{number}.o")
        files[name] = (tmp_path / f"{number}.o").read_bytes()
    found = objects.objects(files, [])

    assert sorted(objects.lumped(found, objects.candidates(found))) == ["temp(?) with f", "two.o"]


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


DATA = """
.section .rodata.table,"a",@progbits
.long 1
.section .rodata.str1.1,"aMS",@progbits,1
.string "text"
.section .rodata.cst4,"aM",@progbits,4
.long 1
.section .data.counter,"aw",@progbits
.long 1
.section .data.rel.ro.local.names,"aw",@progbits
.quad 1
.section .data.rel.ro._ZTV1A,"awG",@progbits,_ZTV1A,comdat
.quad 1
.section .bss.buffer,"aw",@nobits
.p2align 6
.zero 100
.section .tdata.t,"awT",@progbits
.long 1
.section .tbss.t,"awT",@nobits
.zero 4
.section .init_array,"aw",@init_array
.quad 0
.section my_set,"aw",@progbits
.quad 0
.section .text.f,"ax",@progbits
nop
.section .rodata.ordered,"ao",@progbits,.text.f
.long 1
.section .data.empty,"aw",@progbits
.section .gcc_except_table.f,"a",@progbits
.long 1
.data
.long 1
"""


def test_candidates_of_data_are_what_has_a_place_of_its_own(tmp_path):
    """Constants, variables and zeroed memory; merged strings, TLS, constructors, linker sets and ordered sections are none."""
    found = objects.objects(
        {"_build/d.o": obj(tmp_path, "d.s", DATA), "usr/lib/crt1.o": obj(tmp_path, "e.s", ".data\n.long 1\n")}, []
    )
    described = [
        (c.section.name, c.section.kind, c.section.size, c.section.align, c.section.group, c.section.pinned)
        for c in objects.candidates(found, data=True)
    ]

    assert sorted(described) == [
        (".bss.buffer", "bss", 100, 64, "", False),
        (".data", "data", 4, 1, "", False),
        (".data", "data", 4, 1, "", True),
        (".data.counter", "data", 4, 1, "", False),
        (".data.rel.ro._ZTV1A", "data.rel.ro", 8, 1, "_ZTV1A", False),
        (".data.rel.ro.local.names", "data.rel.ro.local", 8, 1, "", False),
        (".rodata.table", "rodata", 4, 1, "", False),
        (".text.f", "text", 1, 1, "", False),
    ]
    assert [c.section.name for c in objects.candidates(found)] == [".text.f"]


def test_real_compilers_make_candidates_of_all_their_data(tmp_path):
    """What gcc makes of a C++ file: each variable and constant once, none of its strings and thread-local ones."""
    text = """
        struct A { virtual int f(); virtual ~A() {} int x; };
        int A::f() { return 1; }
        template <class T> struct S { static T value; }; template <class T> T S<T>::value = 3;
        const char *name = "string"; static const int table[] = {1, 2, 3}; thread_local int tls = 4; int zero[5];
        extern const double half = 0.5;
        int use(int x) { return table[x] + S<int>::value + tls + zero[x] + name[x]; }
    """
    found = objects.objects(
        {"_build/a.o": obj(tmp_path, "a.cc", text, "-fdata-sections", "-O0", "-fPIC", driver="g++")}, []
    )
    data = {
        (c.section.name, c.section.kind, c.section.group)
        for c in objects.candidates(found, data=True)
        if not c.section.name.startswith(".text")
    }

    assert data >= {
        (".data.rel.ro._ZTV1A", "data.rel.ro", "_ZTV1A"),
        (".data.rel.ro._ZTI1A", "data.rel.ro", "_ZTI1A"),
        (".rodata._ZTS1A", "rodata", "_ZTS1A"),
        (".data._ZN1SIiE5valueE", "data", "_ZN1SIiE5valueE"),
        (".data.rel.local.name", "data", ""),
        (".rodata._ZL5table", "rodata", ""),
        (".bss.zero", "bss", ""),
        (".rodata.half", "rodata", ""),
    }
    assert not [name for name, _kind, _group in data if "tls" in name or ".str" in name or ".cst" in name]


def test_linker_sets_are_loaded_sections_of_the_build_in_several_pieces(tmp_path):
    """Named as C names are; one piece has no order, and what the system brings is its own business."""
    one, two = (
        obj(tmp_path, f"{n}.s", text)
        for n, text in (
            (
                "a",
                '.section my_set,"aw",@progbits\n.quad 1\n.section alone,"a",@progbits\n.quad 1\n.section _x9,"a",@progbits\n.quad 1\n.section no.set,"a"\n.quad 1\n',
            ),
            (
                "b",
                '.section my_set,"aw",@progbits\n.quad 2\n.section _x9,"a",@progbits\n.quad 1\n.section no.set,"a"\n.quad 1\n.section notes,"",@progbits\n.quad 1\n',
            ),
        )
    )
    notes = obj(tmp_path, "c.s", '.section notes,"",@progbits\n.quad 1\n.section empty,"a"\n')

    assert objects.linker_sets(objects.objects({"_build/a.o": one, "_build/b.o": two, "_build/c.o": notes}, [])) == [
        "_x9",
        "my_set",
    ]
    assert objects.linker_sets(objects.objects({"_build/a.o": one, "usr/lib/b.o": two}, [])) == []


def test_members_know_their_archive_names(tmp_path):
    """So that linker scripts can name them; a file of its own has none."""
    a = obj(tmp_path, "a.c")
    found = objects.objects({"_build/x.a": packed(tmp_path, "x.a", a=a), "_build/b.o": a}, [])

    assert [(item.name, item.member_name) for item in found] == [("x.a(a.o)", "a.o"), ("b.o", "")]


def test_reserved_sections_are_no_candidates(tmp_path):
    """What a script of the user's names by section, object or member stays where the script puts it."""
    files = {"_build/b.o": obj(tmp_path, "b.c"), "_build/x.a": packed(tmp_path, "x.a", a=obj(tmp_path, "a.c"))}
    found = objects.objects(files, [])
    names = [(c.section.object, c.section.name) for c in objects.candidates(found)]

    def left(script):
        return [
            name
            for name in names
            if name
            not in [
                (c.section.object, c.section.name)
                for c in objects.candidates(found, reserved=user_script.reserved(script))
            ]
        ]

    assert left("*(.text*)") == []
    assert left("*(.text.b_one) *(.text*)") == [("b.o", ".text.b_one")]
    assert left("*a.o(.text.*) *(.text*)") == [name for name in names if name[0] == "x.a(a.o)"] != []


@pytest.mark.parametrize(("stays", "share"), [(996, "99 %"), (1000, "100 %"), (504, "50 %")])
def test_all_of_the_code_stays_only_where_it_is_all(stays, share):
    assert str(CodeThatStays(stays, 1000, ("libstd.rlib",))).startswith(
        f"{share} of the code ({stays:,} of 1,000 bytes)"
    )
