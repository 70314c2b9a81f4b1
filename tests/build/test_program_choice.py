"""Which linked file is the program."""

import pytest

from layoutrand.build.program_choice import Likeliest, NamedByWords
from layoutrand.capture.linked_files import LinkedFile
from layoutrand.capture.recognise import project_names
from layoutrand.cli.learning import beside
from layoutrand.errors import CaptureFailed

LD = "/usr/bin/ld"


def program(path, size=10, needs=()):
    return LinkedFile(path, True, LD, size, needs)


def library(path, size=10):
    return LinkedFile(path, False, LD, size)


def first(chooser, tree, linked):
    return next(chooser.choices(tree, linked))


def test_the_likeliest_goes_by_name_then_place_then_size(tmp_path):
    linked = [program("tests/large", 99), program("b", 5), program("bin/a", 4), library("libx.so", 100)]

    assert first(Likeliest(("a",)), tmp_path, linked).artefacts == ("bin/a",)
    assert first(Likeliest(()), tmp_path, linked).artefacts == ("b",)
    assert first(Likeliest(()), tmp_path, linked).others == ("tests/large", "bin/a")
    assert not first(Likeliest(()), tmp_path, linked[3:]).is_program


@pytest.mark.parametrize("name", ["marisa-test", "test-x", "x_tests", "unittest", "Fuzz.x"])
def test_a_name_of_a_test_comes_after_others_however_large(tmp_path, name):
    linked = [program(f"build/{name}", 99), program("build/latest", 5), program("build/x", 4)]

    assert first(Likeliest(()), tmp_path, linked).artefacts == ("build/latest",)
    assert first(Likeliest((name,)), tmp_path, linked).artefacts == (f"build/{name}",)  # a project that is one
    assert first(Likeliest(()), tmp_path, linked[:1]).artefacts == (f"build/{name}",)


def test_what_decided_among_several_is_told(tmp_path):
    large, small = program("tests/large", 99), program("b", 5)
    cases = {
        (): (small, program("a", 4)),
        ("a",): (small, program("bin/a", 4)),
    }
    why = {hints: first(Likeliest(hints), tmp_path, linked).why for hints, linked in cases.items()}
    assert why[()] == "as the largest"
    assert why["a",] == "by its name (the directory's or one in the build's files)"
    assert first(Likeliest(()), tmp_path, [large, small]).why == "as it is not among tests, examples and the like"
    among = first(Likeliest(()), tmp_path, [large, small, program("a", 4)])
    assert among.why == "as the largest that is not among tests, examples and the like"
    example = LinkedFile("target/release/examples/x", True, LD, 99, (), "example")
    tool = LinkedFile("target/release/tool", True, LD, 5, (), "bin")
    assert first(Likeliest(()), tmp_path, [example, tool]).why == "as a bin of cargo's"
    later = list(Likeliest(()).choices(tmp_path, [small, program("a", 4)]))[1]
    assert later.why == "as the likeliest whose link can be captured"
    alone = first(Likeliest(()), tmp_path, [small, library("libx.so", 100)])
    assert (alone.why, beside(alone)) == ("", [])
    assert beside(among) == [f"b was chosen {among.why}; linked besides, and not laid out: tests/large, a"]
    assert beside(first(NamedByWords(("a",)), tmp_path, cases[()])) == ["linked besides, and not laid out: b"]


def test_libraries_that_nothing_is_linked_with_are_told(tmp_path):
    plugin = LinkedFile("apps/plugin.so", False, LD, 99, is_unasked=True)
    of_cmake = LinkedFile("build/CMakeFiles/trial.so", False, LD, 9, is_unasked=True)
    linked = [program("main/a", needs=("lib/liba.so",)), library("lib/liba.so"), plugin, of_cmake]
    for chooser in (Likeliest(()), NamedByWords(("main/a",))):
        chosen = first(chooser, tmp_path, linked)
        assert (chosen.artefacts, chosen.libraries) == (("main/a", "lib/liba.so"), ("apps/plugin.so",))
        assert beside(chosen) == [
            "shared libraries that nothing is linked with, not laid out: apps/plugin.so; what main/a opens by itself "
            "(dlopen) moves once build.artefacts lists it, if it is opened relative to {artefact_dir} and not where it "
            "is installed"
        ]
    alone = first(Likeliest(()), tmp_path, [plugin])
    assert (alone.artefacts, alone.libraries) == (("apps/plugin.so",), ()), "it is what is laid out"
    tool = LinkedFile("target/release/tool", True, LD, 5, (), "bin")
    macros = LinkedFile("target/release/deps/libm.so", False, LD, 5, is_unasked=True)
    assert first(Likeliest(()), tmp_path, [tool, macros]).libraries == (), "a procedural macro is the compiler's"


def test_a_library_that_a_project_is_named_for_is_told_apart_from_plugins(tmp_path):
    """gmp's build links programs that make tables, and libgmp, which none of them calls."""
    own = LinkedFile(".libs/libgmp.so.10.4.1", False, LD, 99, is_unasked=True)
    plugin = LinkedFile("plugin.so", False, LD, 9, is_unasked=True)
    chosen = first(Likeliest(()), tmp_path, [program("gen-fac"), own, plugin])
    opened = (
        "not laid out: plugin.so; what gen-fac opens by itself (dlopen) moves once build.artefacts lists it, if it is "
        "opened relative to {artefact_dir} and not where it is installed"
    )
    for name in ("gmp-6.2.1+dfsg1", "gmp", "libgmp-6.2"):
        told = beside(chosen, project_names(tmp_path / name))
        assert told == [
            ".libs/libgmp.so.10.4.1, by its name what this project is for, is not laid out: gen-fac is not linked with "
            "that file. To measure its code, name a program that the build links with it, or with the static library: "
            "layoutrand init --force -- BUILD -- PROGRAM; or list it in build.artefacts, if gen-fac opens it (dlopen) "
            "relative to {artefact_dir}",
            f"shared libraries that nothing is linked with, {opened}",
        ]
    both = f"not laid out: .libs/libgmp.so.10.4.1, {opened.removeprefix('not laid out: ')}"
    for name in ("mpfr-4.2", "g"):
        assert beside(chosen, project_names(tmp_path / name)) == [
            f"shared libraries that nothing is linked with, {both}"
        ]
    named = first(Likeliest(("gmp",)), tmp_path, [program("bin/gmp"), own])
    assert "by its name" not in beside(named, project_names(tmp_path / "gmp-6"))[0], (
        "it is the program, linked statically"
    )


def test_a_directory_goes_by_its_name_without_the_version_too(tmp_path):
    linked = [program("build/mujs-pp", 9), program("build/mujs", 5)]
    for name in ("mujs-1.3.2", "mujs_1.3.2+dfsg", "mujs-v1", "mujs"):
        assert first(Likeliest(project_names(tmp_path / name)), tmp_path, linked).artefacts == ("build/mujs",), name
    assert project_names(tmp_path / "x264") == ("x264",)
    assert project_names(tmp_path / "7zip-23.01") == ("7zip-23.01", "7zip")
    assert project_names(tmp_path / "mujs-pp") == ("mujs-pp",)


def test_what_cmake_links_to_try_a_compiler_is_told_to_nobody(tmp_path):
    linked = [program("build/CMakeFiles/_CMakeLTOTest-CXX/bin/boo", 9), program("build/a", 5), program("build/b", 4)]
    assert first(Likeliest(("a",)), tmp_path, linked).others == ("build/b",)


def test_scripts_of_a_cargo_build_are_no_programs(tmp_path):
    linked = [program("target/release/build/x/build-script-build", 99), program("target/release/x", 5)]

    assert first(Likeliest(()), tmp_path, linked).artefacts == ("target/release/x",)
    assert first(NamedByWords(("x",)), tmp_path, linked).others == ()


@pytest.mark.parametrize(
    ("words", "folder", "artefact", "place"),
    [
        (["./bin/a", "x"], "", "bin/a", 0),
        (["./a"], "bin", "bin/a", 0),
        (["../bin/a"], "doc", "bin/a", 0),
        (["a"], "", "bin/a", 0),
        (["python3", "run.py", "bin/a"], "", "bin/a", 2),
        (["./tool"], "", ".libs/tool", 0),
    ],
)
def test_a_command_names_its_program(tmp_path, words, folder, artefact, place):
    linked = [program("bin/a", needs=("lib/libx.so.1",)), program(".libs/tool"), library("lib/libx.so.1")]

    chosen = first(NamedByWords(tuple(words), folder), tmp_path, linked)

    assert (chosen.artefacts[0], chosen.place) == (artefact, place)
    assert chosen.artefacts[1:] == (("lib/libx.so.1",) if artefact == "bin/a" else ())


def test_a_copy_of_a_program_is_one(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "renamed").write_bytes(b"\x7fELF" + bytes(60))

    assert first(NamedByWords(("out/renamed",)), tmp_path, [program("a")]).artefacts == ("out/renamed",)


def test_what_was_not_linked_is_told_with_what_was(tmp_path):
    (tmp_path / "run").write_text("#!/bin/sh\n")

    with pytest.raises(CaptureFailed, match=r"linked no \./run, which is a script; it linked: a, libx\.so\."):
        first(NamedByWords(("./run",)), tmp_path, [program("a"), library("libx.so")])
    with pytest.raises(CaptureFailed, match=r"several programs called a: x/a, y/a\."):
        first(NamedByWords(("a",)), tmp_path, [program("x/a"), program("y/a")])


def test_a_path_is_not_a_program_of_the_same_name_elsewhere(tmp_path):
    linked = [program("build/debug/tool")]

    with pytest.raises(CaptureFailed, match=r"linked no build/release/tool; it linked: build/debug/tool\."):
        first(NamedByWords(("build/release/tool",)), tmp_path, linked)
    with pytest.raises(CaptureFailed, match="linked no"):
        first(NamedByWords(("../build/release/tool",), "sub"), tmp_path, linked)
    for word in ("tool", "./tool", "/usr/bin/tool", "../build/tool"):
        assert first(NamedByWords((word,)), tmp_path, linked).artefacts == ("build/debug/tool",)
    assert first(NamedByWords(("./tool",), "sub"), tmp_path, linked).artefacts == ("build/debug/tool",)


def test_benchmarks_of_cargo_are_chosen_without_their_hash(tmp_path):
    path = "target/release/deps/parse-e9f51753b3da3195"
    linked = [LinkedFile(path, True, LD, 10, kind="bench")]
    ways = [(path,), ("parse",), ("target/release/deps/parse",), ("env", "./target/release/deps/parse")]
    for chooser in (Likeliest(("parse",)), *map(NamedByWords, ways)):
        assert first(chooser, tmp_path, linked).artefacts == ("target/release/deps/parse",)

    other = LinkedFile("target/release/deps/parse-0123456789abcdef", True, LD, 10, kind="test")
    assert first(NamedByWords((path,)), tmp_path, [*linked, other]).artefacts == (path,)
    with pytest.raises(CaptureFailed, match=f"several programs called target/release/deps/parse: {path}, {other.path}"):
        first(NamedByWords(("target/release/deps/parse",)), tmp_path, [*linked, other])


def test_scripts_of_a_cargo_build_are_not_offered_as_programs(tmp_path):
    """Each crate that has one would stand before what was meant."""
    scripts = [program(f"target/release/build/c{k}-00/build_script_build-00") for k in range(20)]
    meant = program("target/release/parse")

    with pytest.raises(CaptureFailed, match=r"linked no ./pars; it linked: target/release/parse\. Name"):
        first(NamedByWords(("./pars",)), tmp_path, [*scripts, meant])
    with pytest.raises(CaptureFailed, match=r"it linked: target/release/build/c0-00/.* and 8 more"):
        first(NamedByWords(("./pars",)), tmp_path, scripts)
