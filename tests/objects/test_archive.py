"""Unix archives: read, written with longer members, and still what ar, nm and the linkers expect."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildkit import LINKERS, compiled, link_with, marks, run, said
from layoutrand.errors import FeatureUnsupported
from layoutrand.objects import archive, edit, elf
from workshop import require

MAIN = "int one(void), two(void), three(void); int main(void) { return one() + two() + three() == 6 ? 0 : 1; }\n"
LONG = "a_member_whose_name_does_not_fit_into_the_sixteen_bytes_of_a_header.o"


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """Three objects with a function each; the names are short, long and with blanks."""
    folder = tmp_path_factory.mktemp("objects")
    made = {}
    for name, target in (("one", "one.o"), ("two", LONG), ("three", "with two blanks.o")):
        source = compiled(folder, f"{name}.c", f"int {name}(void) {{ return {len(made) + 1}; }}\n")
        made[target] = folder / "named" / target
        made[target].parent.mkdir(exist_ok=True)
        source.rename(made[target])
    made["main"] = compiled(folder, "main.c", MAIN)
    return made


def made_archive(folder, objects, *flags, program="ar"):
    """An archive of the three objects."""
    path = folder / "lib.a"
    members = [objects["one.o"], objects[LONG], objects["with two blanks.o"]]
    run(program, *flags, path, *[member.name for member in members], cwd=members[0].parent)
    return path


def edited(data):
    """The archive with a symbol and a name added to each member that is an object, as a capture does."""
    parsed = archive.read(data, name="lib.a")
    contents = {}
    for number, member in enumerate(parsed.members):
        if elf.is_elf(member.content):
            names = elf.read(member.content, name=member.name).section_names
            places = {index: number for index, name in enumerate(names) if name.startswith(".text.")}
            contents[number] = edit.edit(member.content, marks(places), name=member.name)
    return archive.write(parsed, contents)


@pytest.mark.parametrize("flags", ["rc", "rcs", "rcD", "rcS"])
def test_writing_what_was_read_gives_the_same_bytes(tmp_path, objects, flags):
    """An archive made by GNU ar, with or without index, survives reading and writing byte for byte."""
    data = made_archive(tmp_path, objects, flags).read_bytes()

    assert archive.write(archive.read(data, name="lib.a"), {}) == data


def test_writing_what_llvm_ar_made_gives_the_same_bytes(tmp_path, objects):
    """So does one made by llvm-ar."""
    require("llvm-ar", "llvm")
    data = made_archive(tmp_path, objects, "rc", program="llvm-ar").read_bytes()

    assert archive.write(archive.read(data, name="lib.a"), {}) == data


def test_names_are_read_as_ar_tells_them(tmp_path, objects):
    """Short names, names from the table of long names and names with blanks come out whole, in order."""
    path = made_archive(tmp_path, objects, "rc")

    assert [member.name for member in archive.read(path.read_bytes(), name="lib.a").members] == said(
        "ar", "t", path
    ).split("\n")[:-1]


@pytest.mark.parametrize("kind", LINKERS)
def test_an_archive_with_longer_members_links_and_runs(tmp_path, objects, kind):
    """Each linker finds every member through the rewritten index, and the program works."""
    path = made_archive(tmp_path, objects, "rcs")
    path.write_bytes(edited(path.read_bytes()))

    prog = link_with(kind, tmp_path, [objects["main"], path])

    assert run(prog).returncode == 0


def test_the_index_of_an_archive_with_longer_members_is_right(tmp_path, objects):
    """ar and nm -s see the same members and symbols as before."""
    path = made_archive(tmp_path, objects, "rcs")
    before = (said("ar", "t", path), said("nm", "-s", path).split("\n\n")[0])
    path.write_bytes(edited(path.read_bytes()))

    assert (said("ar", "t", path), said("nm", "-s", path).split("\n\n")[0]) == before


def test_members_of_the_same_name_are_told_apart(tmp_path):
    """Two members called x.o are occurrences 0 and 1, and the linker takes the symbol of each."""
    first = compiled(tmp_path / "1", "x.c", "int one(void) { return 1; }\n")
    second = compiled(tmp_path / "2", "x.c", "int two(void) { return 2; } int three(void) { return 3; }\n")
    path = tmp_path / "lib.a"
    run("ar", "qcs", path, first, second)
    members = archive.read(path.read_bytes(), name="lib.a").members
    path.write_bytes(edited(path.read_bytes()))

    assert [(member.name, member.occurrence) for member in members] == [("x.o", 0), ("x.o", 1)]
    assert run(link_with("bfd", tmp_path, [compiled(tmp_path, "main.c", MAIN), path])).returncode == 0


@pytest.mark.parametrize("program", ["ar", "llvm-ar"])
@pytest.mark.parametrize("kind", ["bfd", "lld"])
def test_a_thin_archive_becomes_an_ordinary_one(tmp_path, objects, kind, program):
    """A thin archive is written with its members inside, and links after the members' files are gone."""
    require(program, "llvm")
    for name in ("one.o", LONG, "with two blanks.o"):
        (tmp_path / "sub").mkdir(exist_ok=True)
        (tmp_path / "sub" / name).write_bytes(objects[name].read_bytes())
    run(program, "rcsT", "lib.a", "sub/one.o", f"sub/{LONG}", "sub/with two blanks.o", cwd=tmp_path)
    path = tmp_path / "lib.a"
    thin = archive.read(path.read_bytes(), name="lib.a", fetch=lambda name: (tmp_path / name).read_bytes())
    for file in (tmp_path / "sub").iterdir():
        file.unlink()

    path.write_bytes(archive.write(thin, {}))

    assert thin.thin
    assert path.read_bytes()[:8] == archive.MAGIC
    assert said("ar", "t", path).split("\n")[:-1] == ["sub/one.o", f"sub/{LONG}", "sub/with two blanks.o"]
    assert run(link_with(kind, tmp_path, [objects["main"], path])).returncode == 0


@pytest.mark.parametrize("kind", ["bfd", "lld"])
def test_a_thin_archive_of_an_archive_becomes_an_ordinary_one(tmp_path, objects, kind):
    """GNU ar refers from a thin archive into another archive; the member there is found, and the result links."""
    made_archive(tmp_path, objects, "rcs")
    run("ar", "rcsT", "outer.a", "lib.a", cwd=tmp_path)
    outer = tmp_path / "outer.a"
    thin = archive.read(outer.read_bytes(), name="outer.a", fetch=lambda name: (tmp_path / name).read_bytes())
    (tmp_path / "lib.a").unlink()

    outer.write_bytes(archive.write(thin, {}))

    assert [member.name for member in thin.members] == ["lib.a:one.o", f"lib.a:{LONG}", "lib.a:with two blanks.o"]
    assert [member.header[:16].rstrip() for member in archive.read(outer.read_bytes(), name="outer.a").members] == [
        b"/0"
    ] * 3
    assert run(link_with(kind, tmp_path, [objects["main"], outer])).returncode == 0


@pytest.mark.parametrize("length", [13, 14, 15, 16, 17])
def test_a_member_of_a_thin_archive_has_a_name_of_any_length(tmp_path, length):
    """GNU ar leaves the slash behind a name of 15 characters, beside the place of the name that it writes over it."""
    (tmp_path / "sub").mkdir()
    name = f"sub/{'m' * (length - 2)}.o"
    (tmp_path / name).write_bytes(compiled(tmp_path, "x.c", "int one(void) { return 1; }\n").read_bytes())
    run("ar", "rcsT", "lib.a", name, cwd=tmp_path)
    path = tmp_path / "lib.a"
    thin = archive.read(path.read_bytes(), name="lib.a", fetch=lambda member: (tmp_path / member).read_bytes())
    path.write_bytes(archive.write(thin, {}))

    assert [member.name for member in thin.members] == [name]
    assert path.read_bytes()[68 + int(path.read_bytes()[56:66]) :].count(b"/0              0") == 1
    assert said("ar", "t", path).split("\n")[:-1] == [name]


def test_a_thin_archive_needs_its_members():
    """Without a way to fetch the members the reason is said."""
    data = archive.THIN_MAGIC + _header(b"a.o/", 4)

    with pytest.raises(FeatureUnsupported, match="thin archive needs its members"):
        archive.read(data, name="lib.a")


@pytest.mark.parametrize("kind", LINKERS)
def test_a_64_bit_index_is_rewritten(tmp_path, objects, kind):
    """An index of the /SYM64/ kind, as archives beyond 4 GiB have, stays right when members grow."""
    path = made_archive(tmp_path, objects, "rcs")
    path.write_bytes(edited(_with_wide_index(path.read_bytes())))

    assert b"/SYM64/" in path.read_bytes()[:80]
    assert said("nm", "-s", path).count(" in ") == 3
    assert run(link_with(kind, tmp_path, [objects["main"], path])).returncode == 0


def _header(name, size):
    return name.ljust(16) + b"0           0     0     644     " + str(size).ljust(10).encode() + b"`\n"


def _with_wide_index(data):
    """The archive with its 32-bit index turned into a 64-bit one; all members move by the difference."""
    parsed = archive.read(data, name="lib.a")
    count = int.from_bytes(parsed.index[:4], "big")
    names = parsed.index[4 * (count + 1) :]
    grown = 8 * (count + 1) + len(names)
    shift = grown + grown % 2 - len(parsed.index) - len(parsed.index) % 2
    offsets = [int.from_bytes(parsed.index[4 * (k + 1) : 4 * (k + 2)], "big") for k in range(count)]
    index = b"".join(value.to_bytes(8, "big") for value in [count, *(offset + shift for offset in offsets)]) + names
    moved = tuple(replace(member, header_at=member.header_at + shift) for member in parsed.members)
    return archive.write(replace(parsed, index_name="/SYM64/", index=index, members=moved), {})


def test_an_archive_without_index_stays_without(tmp_path, objects):
    """No index is invented where there was none."""
    path = made_archive(tmp_path, objects, "rcS")
    parsed = archive.read(path.read_bytes(), name="lib.a")

    assert parsed.index_name == ""
    assert archive.read(edited(path.read_bytes()), name="lib.a").index_name == ""


def test_an_empty_archive_stays_empty(tmp_path):
    """An archive without members, as some builds make for configurations without code."""
    path = tmp_path / "lib.a"
    run("ar", "rc", path)

    assert archive.write(archive.read(path.read_bytes(), name="lib.a"), {}) == path.read_bytes()


def test_members_that_are_no_objects_are_kept(tmp_path, objects):
    """A text file in an archive survives."""
    (tmp_path / "note.txt").write_text("odd")
    path = tmp_path / "lib.a"
    run("ar", "rcs", path, objects["one.o"], tmp_path / "note.txt")
    path.write_bytes(edited(path.read_bytes()))

    assert said("ar", "p", path, "note.txt") == "odd"


@given(st.lists(st.tuples(st.sampled_from(["a.o", "b c.o", "x" * 15]), st.binary(max_size=9)), max_size=6), st.data())
def test_any_contents_can_replace_any_others(members, data):
    """Whatever is written in place of a member is what is read back, and the others stay."""
    made = archive.MAGIC + b"".join(
        _header(name.encode() + b"/", len(content)) + content + b"\n" * (len(content) % 2) for name, content in members
    )
    chosen = data.draw(st.dictionaries(st.integers(0, max(0, len(members) - 1)), st.binary(max_size=9)))
    contents = {number: content for number, content in chosen.items() if number < len(members)}

    again = archive.read(archive.write(archive.read(made, name="m"), contents), name="m").members

    assert [member.content for member in again] == [
        contents.get(number, content) for number, (_name, content) in enumerate(members)
    ]


DAMAGED = {
    "header cut": (archive.MAGIC + b"abc", "damaged archive member header at byte 8"),
    "wrong end of header": (
        archive.MAGIC + _header(b"a.o/", 2)[:58] + b"??ab",
        "damaged archive member header at byte 8",
    ),
    "size no number": (archive.MAGIC + _header(b"a.o/", "x") + b"ab", "damaged archive member header at byte 8"),
    "size negative": (archive.MAGIC + _header(b"a.o/", -60) + b"ab", "damaged archive member header at byte 8"),
    "second header cut": (
        archive.MAGIC + _header(b"a.o/", 2) + b"ab" + b"b.o/",
        "damaged archive member header at byte 70",
    ),
    "content cut": (archive.MAGIC + _header(b"a.o/", 100) + b"ab", "ends inside the member at byte 8"),
    "no table of long names": (archive.MAGIC + _header(b"/12", 2) + b"ab", "table of long names"),
    "BSD names": (archive.MAGIC + _header(b"#1/20", 24) + b"a_long_name.o\0\0\0\0\0\0\0abcd", "BSD format"),
    "BSD index": (archive.MAGIC + _header(b"__.SYMDEF", 4) + b"\0\0\0\0", "BSD format"),
}


@pytest.mark.parametrize(("data", "message"), DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_archives_are_refused(data, message):
    """What cannot be read right is an error that names the archive and the place."""
    with pytest.raises(FeatureUnsupported, match=message) as caught:
        archive.read(data, name="lib/broken.a")
    assert str(caught.value).startswith("lib/broken.a: ")


@pytest.mark.parametrize(
    "index",
    [(5).to_bytes(4, "big") + bytes(4), (1).to_bytes(4, "big") + (9).to_bytes(4, "big") + b"f\0"],
    ids=["cut", "wrong"],
)
def test_a_damaged_index_is_refused(index):
    """An index that names places where no member begins cannot be rewritten; ranlib mends it."""
    data = archive.MAGIC + _header(b"/", len(index)) + index + _header(b"a.o/", 2) + b"ab"

    with pytest.raises(FeatureUnsupported, match="run ranlib"):
        archive.write(archive.read(data, name="lib.a"), {})


def test_magic():
    """Archives and thin archives are known by their first eight bytes."""
    assert [archive.is_archive(data) for data in (b"!<arch>\n", b"!<thin>\nx", b"!<arch>", b"\x7fELF", b"")] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("index", "problem"),
    [
        (b"\xff" * 8, "the archive's symbol index is damaged"),
        (b"\0\0\0\1\xff\xff\xff\xffx\0", "names an offset where no member begins"),
        (b"", "the archive's symbol index is damaged"),
    ],
)
def test_a_damaged_index_is_told_with_the_name_of_the_archive(tmp_path, objects, index, problem):
    parsed = archive.read(made_archive(tmp_path, objects, "rcs").read_bytes(), name="some/lib.a")

    with pytest.raises(FeatureUnsupported, match=f"some/lib.a: .*{problem}"):
        archive.write(replace(parsed, index=index), {})
