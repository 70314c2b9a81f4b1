"""Which file a function is compiled from: by what objects say, and by where the files of that name lie."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.config.config import System
from layoutrand.errors import FeatureUnsupported
from layoutrand.explain.remedies import Remedy, remedies_for
from layoutrand.explain.remedy_words import how_to_use
from layoutrand.explain.source_files import SourceFile, source_file
from layoutrand.explain.treated import Treatment, Tried, TriedSystem
from layoutrand.model import Section
from workshop import require


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captured files: objects of src/a.c, an archive that has two members of one name, and a linked object."""
    require("gcc", "gcc")
    folder = tmp_path_factory.mktemp("root")
    for name in ("a", "b"):
        (folder / f"{name}.c").write_text(f"int {name}(void) {{ return 1; }}\n")
    for place in ("_build/src", "_build/obj"):
        (folder / place).mkdir(parents=True)
    for words in (
        "gcc -c a.c -o _build/src/a.o",
        "gcc -c a.c -o _build/obj/a.o",
        "gcc -c b.c -o _build/obj/b.o",
        "cp _build/obj/a.o one.o",
        "ar rc _build/obj/lib.a _build/obj/a.o _build/obj/b.o",
        "cp _build/obj/b.o a.o",
        "ar q _build/obj/lib.a a.o",
        "ld -r -o _build/both.o _build/obj/a.o _build/obj/b.o",
    ):
        subprocess.run(words.split(), cwd=folder, check=True)
    (folder / "_build/obj/stripped.o").write_bytes((folder / "one.o").read_bytes())
    subprocess.run(["strip", "-x", "--strip-debug", "-N", "a.c", "_build/obj/stripped.o"], cwd=folder, check=True)
    return folder


def found(
    root: Path, called: str, names: list[str], *, lto: str = "", pinned: bool = False, beside: str = ""
) -> SourceFile:
    """The file of a function in the object that is called so; another file of the link lies ``beside`` it."""
    files = {str(path.relative_to(root)): "" for path in root.rglob("*") if path.is_file()} | {f"_build/{beside}": ""}
    section = Section(0, called, ".text.f", 0, "", "text", 9, 16, pinned)
    link = cast("CapturedLink", type("", (), {"files": files, "sections": [section], "lto": lto})())
    return source_file(link, root, 0, "f", names)


@pytest.mark.parametrize(
    ("called", "names", "path", "own"),
    [
        ("src/a.o", ["src/a.c", "src/b.c"], "src/a.c", "src/a.o"),
        ("src/a.o", ["other/a.c"], "other/a.c", "src/a.o"),  # the only one of that name
        ("src/a.o", ["other/a.c", "src/a.c", "deep/src/a.c"], "src/a.c", "src/a.o"),
        ("src/a.o", ["other/a.c", "deep/src/a.c"], "deep/src/a.c", "src/a.o"),
        ("src/a.o", ["src/one/a.c", "two/a.c"], "src/one/a.c", "src/a.o"),  # below it
        ("src/a.o", ["a.h"], "src/a.c", "src/a.o"),  # the build made it
        ("obj/lib.a(a.o)", ["obj/a.c", "obj/b.c"], "obj/a.c", "a.o"),
        ("obj/lib.a(a.o):1", ["obj/a.c", "obj/b.c"], "obj/b.c", "a.o"),  # the second of that name
        ("temp(a.c)", ["src/a.c"], "src/a.c", ""),
        ("temp(a.c):1", ["src/a.c"], "src/a.c", ""),
        ("temp(a.c)", [], "a.c", ""),
    ],
)
def test_the_file_of_a_function(root: Path, called: str, names: list[str], path: str, own: str) -> None:
    assert found(root, called, names) == SourceFile(path, own, ("f",))


@pytest.mark.parametrize(
    ("called", "names", "said", "more"),
    [
        ("src/a.o", ["one/a.c", "two/a.c"], "one/a.c, two/a.c may each be the a.c that has f", {}),
        ("both.o", ["a.c", "b.c"], "both.o is linked of several files, a.c, b.c among them", {}),
        ("none.o", ["a.c"], "none.o is no object that the build left", {}),
        ("obj/lib.a(a.o):2", ["a.c"], r"obj/lib.a\(a.o\):2 is no object that the build left", {}),
        ("obj/stripped.o", ["a.c"], "obj/stripped.o does not say what it is compiled from", {}),
        ("temp(?)", ["a.c"], r"temp\(\?\) does not say what it is compiled from", {}),
        ("src/a.o", ["src/a.c"], "link-time optimisation makes objects of several files", {"lto": "balanced"}),
        ("src/a.o", ["src/a.c"], "f is of src/a.o, which is not built from this source", {"pinned": True}),
    ],
)
def test_what_cannot_be_told_is_said(root: Path, called: str, names: list[str], said: str, more: dict[str, Any]):
    with pytest.raises(FeatureUnsupported, match=said):
        found(root, called, names, **more)


def test_flags_of_a_file_join_those_that_it_has():
    (aligned, loops) = remedies_for(
        [SourceFile("a.c", "a.o", ("f",)), SourceFile("a.c", "a.o", ("g", "f")), SourceFile("b.c", "b.o", ("h",))]
    )
    system = aligned.applied(System(file_flags={"a.c": "-O3", "c.c": "-g"}, label="mine"))
    assert system.label is None
    assert system.file_flags == {
        "a.c": "-O3 -falign-functions=64",
        "c.c": "-g",
        "b.c": "-falign-functions=64",
    }
    assert aligned.aligned == ("f", "g", "h")
    assert aligned.words == "-falign-functions=64 for a.c and b.c"
    assert loops.words == "-falign-functions=64 -falign-loops=64 for a.c and b.c"
    assert remedies_for([]) == ()


def use(remedy: Remedy) -> list[str]:
    """What the user is told to do with it."""
    tried = Tried(TriedSystem(remedy, f"O2+{remedy.name}", remedy.applied(System(cflags="-O2"))), "helps")
    return [
        line
        for part in how_to_use(cast("Treatment", type("", (), {"recommended": tried, "system": "O2"})()))
        for line in part
    ]


@pytest.mark.parametrize(
    ("path", "own", "lines"),
    [
        ("src/a.c", "src/a.o", ["src/a.o: override CFLAGS += -falign-functions=64"]),
        ("a.cc", "a.o", ["a.o: override CXXFLAGS += -falign-functions=64"]),
        ("a.F90", "a.o", ["a.o: override FFLAGS += -falign-functions=64"]),
        ("lib/a.c", "lib/.libs/libx_la-a.o", ["lib/libx_la-a.lo: override CFLAGS += -falign-functions=64"]),
        ("a.c", "", [""]),
        ("a.c", "$(x) a.o", [""]),  # nothing that a makefile can call so
    ],
)
def test_what_a_build_is_told(path: str, own: str, lines: list[str]) -> None:
    aligned, loops = remedies_for([SourceFile(path, own, ("f",))])
    where, what, keep, settings = use(aligned)
    assert where.startswith(f"give it to the compilation of {path} alone")
    assert what.splitlines() == [line for line in lines if line]
    assert keep.startswith(
        "__attribute__((aligned(64))) before its definition aligns f alone, which was not measured; "
    )
    assert settings == f'[systems."O2+file-aligned"]\nfile_flags = {{ "{path}" = "-falign-functions=64" }}'
    assert use(loops)[2].startswith("to keep measuring both")


@pytest.mark.parametrize(
    ("called", "names", "beside", "described", "there"),
    [
        ("obj/lib.a(a.o)", ["CMakeLists.txt", "obj/a.c"], "o/CMakeFiles/p.dir/m.c.o", "CMakeLists.txt", "obj/a.c"),
        (
            "obj/lib.a(a.o)",
            ["CMakeLists.txt", "obj/CMakeLists.txt", "obj/a.c"],
            "o/CMakeFiles/p.dir/m.c.o",
            "obj/CMakeLists.txt",
            "a.c",
        ),
        ("obj/lib.a(a.o)", ["meson.build", "obj/a.c"], "o/prog.p/m.c.o", "meson.build", "obj/a.c"),
        ("obj/lib.a(a.o)", ["CMakeLists.txt", "obj/a.c"], "o/m.o", "", "obj/a.c"),  # which this build does not use
    ],
)
def test_what_describes_the_compilation(root: Path, called, names, beside, described, there) -> None:
    made = found(root, called, names, beside=beside)
    assert (made.described, made.called_there) == (described, there)


def test_an_object_of_cmakes_says_which_of_several_describes_it(tmp_path: Path) -> None:
    require("gcc", "gcc")
    own = "o/CMakeFiles/p.dir/lib/deep/a.c.o"
    (tmp_path / "_build" / own).parent.mkdir(parents=True)
    (tmp_path / "a.c").write_text("int a(void) { return 1; }\n")
    subprocess.run(["gcc", "-c", "a.c", "-o", f"_build/{own}"], cwd=tmp_path, check=True)
    names = ["CMakeLists.txt", "lib/CMakeLists.txt", "lib/deep/a.c"]
    assert found(tmp_path, own, names).described == "CMakeLists.txt"
    (tmp_path / "_build/o/lib/CMakeFiles/w.dir/deep").mkdir(parents=True)
    nested = "o/lib/CMakeFiles/w.dir/deep/a.c.o"
    (tmp_path / "_build" / own).rename(tmp_path / "_build" / nested)
    assert found(tmp_path, nested, names).described == "lib/CMakeLists.txt"


@pytest.mark.parametrize("name", ["w\udcff.c", "w\x7f.c"])
def test_a_name_that_cannot_be_written_is_said(root: Path, name: str) -> None:
    with pytest.raises(FeatureUnsupported, match="has a name that cannot be written as it is"):
        found(root, f"temp({name})", [])


@pytest.mark.slow
def test_what_cmake_is_told_reaches_that_file_alone(tmp_path: Path) -> None:
    require("cmake", "cmake")
    name = "lib/deep/o'ne (x) $y.c"
    (tmp_path / "lib" / "deep").mkdir(parents=True)
    for path in (name, "lib/deep/other.c"):
        (tmp_path / path).write_text(f"int f{len(path)}(void) {{ return 1; }}\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(p C)\nadd_subdirectory(lib)\n"
    )
    (aligned, loops) = remedies_for([SourceFile(name, "one.c.o", ("f",), "lib/CMakeLists.txt")])
    for remedy, flags in ((aligned, "-falign-functions=64"), (loops, "-falign-functions=64 -falign-loops=64")):
        where, what, *_ = use(remedy)
        assert (
            where == f"give it to the compilation of {name} alone, in lib/CMakeLists.txt if its target is made there:"
        )
        (tmp_path / "lib" / "CMakeLists.txt").write_text(f"file(GLOB all deep/*.c)\nadd_library(w ${{all}})\n{what}\n")
        words = ["cmake", "-S", ".", "-B", "out", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
        subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
        commands = json.loads((tmp_path / "out" / "compile_commands.json").read_text())
        given = {os.path.relpath(each["file"], tmp_path): flags in each["command"] for each in commands}
        assert given == {name: True, "lib/deep/other.c": False}


def test_a_target_of_mesons_is_told_by_words_alone() -> None:
    (aligned, _) = remedies_for([SourceFile("a.c", "out/p.p/a.c.o", ("f",), "meson.build")])
    where, what, *_ = use(aligned)
    assert where.endswith("make it a static_library of its own with them in c_args")
    assert what == ""
