"""Which build system a directory has, and what is said of those that have none."""

import shutil

import pytest

from layoutrand.capture import recognise as module
from layoutrand.capture.recognise import build_trees, given, has_objects, recognise
from layoutrand.errors import ToolNotFound, UsageError
from layoutrand.platform.process import Completed

ELF = b"\x7fELF" + bytes(60)


class Rustc:
    """A runner that only ever asks rustc for its version."""

    def __init__(self, version="1.95.0"):
        self.version = version

    def run(self, argv, *, cwd, env):
        assert argv == ["rustc", "--version"]
        return Completed(0, f"rustc {self.version} (59807616e 2026-04-14)\n".encode(), b"")


@pytest.fixture
def all_installed(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name, **_: f"/usr/bin/{name}")


def put(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def lines(found):
    return [list(way.commands) for way in found.ways]


@pytest.mark.usefixtures("all_installed")
@pytest.mark.parametrize(
    ("files", "what", "ways", "hints"),
    [
        ({"Makefile": "PROG = frob\nall:\n"}, "a makefile", [["make -j{jobs}"], ["make -B -j{jobs}"]], ("frob",)),
        (
            {"GNUmakefile": "x:\nclean:\n"},
            "a makefile",
            [["make -j{jobs}"], ["make clean", "make -j{jobs}"]],
            (),
        ),
        (
            {"configure": "", "Makefile__in": ""},
            "a configure script",
            [["sh ./configure", "make -j{jobs}"], ["sh ./configure", "make clean", "make -j{jobs}"]],
            (),
        ),
        (
            {"configure__ac": "", "Makefile__am": "bin_PROGRAMS = frob\n"},
            "autotools",
            [
                ["autoreconf --install", "./configure", "make -j{jobs}"],
                ["autoreconf --install", "./configure", "make clean", "make -j{jobs}"],
            ],
            ("frob",),
        ),
        (
            {"CMakeLists__txt": "# add_executable(no)\nadd_executable(yes a.c)\n", "Makefile": ""},
            "CMake",
            [["cmake -S . -B build -DCMAKE_BUILD_TYPE=Release", "cmake --build build -j {jobs}"]],
            ("yes",),
        ),
        (
            {"meson__build": "executable('yes', 'a.c')\n"},
            "Meson",
            [["meson setup build --buildtype=release", "ninja -C build -j {jobs}"]],
            ("yes",),
        ),
        (
            {"go__mod": "module example.com/x/yes/v2\n", "Makefile": ""},
            "Go",
            [["go build -o layoutrand-bin/ ./..."]],
            ("yes",),
        ),
        ({"Cargo__toml": 'name = "yes"\n', "Makefile": ""}, "Cargo", [["cargo build --release -j {jobs}"]], ("yes",)),
    ],
)
def test_a_build_system_is_known_by_its_files(tmp_path, files, what, ways, hints):
    put(tmp_path, **files)

    found = recognise(tmp_path, Rustc())

    assert (found.what, lines(found), found.hints) == (what, ways, hints)


@pytest.mark.usefixtures("all_installed")
def test_rustc_is_told_of_the_system_linker_since_it_has_its_own(tmp_path):
    put(tmp_path, Cargo__toml="")

    assert recognise(tmp_path, Rustc("1.95.0")).ways[0].env == {"RUSTFLAGS": "-Clinker-features=-lld"}
    assert recognise(tmp_path, Rustc("1.85.0")).ways[0].env == {}


def test_sources_without_a_makefile_are_one_program(tmp_path):
    folder = tmp_path / "two words"
    put(folder, main__c="int main(void) { return 0; }")

    assert lines(recognise(folder, Rustc())) == [["gcc -o two-words *.c -lm"]]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "is empty: there is nothing to build"),
        ({"package__json": ""}, "is a JavaScript project"),
        ({"pyproject__toml": ""}, "is a Python project"),
        ({"README": ""}, "has no build that layoutrand knows: no configure, CMakeLists.txt"),
    ],
)
def test_what_is_not_known_is_refused_with_what_to_do(tmp_path, files, words):
    put(tmp_path, **files)

    with pytest.raises(UsageError) as refused:
        recognise(tmp_path, Rustc())

    assert words in str(refused.value)
    assert ("layoutrand init -- COMMAND" if files else "-C") in str(refused.value)


def test_a_missing_build_program_is_named(tmp_path, monkeypatch):
    put(tmp_path, CMakeLists__txt="")
    monkeypatch.setattr(shutil, "which", lambda _name, **_: None)

    with pytest.raises(ToolNotFound, match=r"there is CMakeLists\.txt here, and no cmake to build it with: .*cmake"):
        recognise(tmp_path, Rustc())


@pytest.mark.usefixtures("all_installed")
def test_what_an_earlier_build_left_is_made_anew(tmp_path):
    put(tmp_path, Makefile="clean:\n", CMakeLists__txt="")
    (tmp_path / "a.o").write_bytes(ELF)
    put(tmp_path / "build", CMakeCache__txt="")
    (tmp_path / "build" / "b.o").write_bytes(ELF)

    assert list(build_trees(tmp_path)) == ["build"]
    assert has_objects(tmp_path)
    assert recognise(tmp_path, Rustc()).exclude == ("build",)
    (tmp_path / "CMakeLists.txt").unlink()
    assert lines(recognise(tmp_path, Rustc())) == [["make clean", "make -j{jobs}"]]
    (tmp_path / "a.o").unlink()
    assert not has_objects(tmp_path)


def test_a_source_directory_called_build_stays(tmp_path, monkeypatch):
    put(tmp_path, CMakeLists__txt="")
    put(tmp_path / "build", helpers__cmake="")
    monkeypatch.setattr(module, "_require", lambda *_: None)

    assert "layoutrand-build" in lines(recognise(tmp_path, Rustc()))[0][0]


def test_a_command_is_taken_as_it_is(tmp_path):
    assert lines(given(["make", "-C", "a b"], tmp_path, Rustc())) == [["make -C 'a b'"], ["make -B -C 'a b'"]]
    assert lines(given(["./configure && make"], tmp_path, Rustc())) == [["./configure && make"]]
    assert lines(given(["sh", "b.sh"], tmp_path, Rustc())) == [["sh b.sh"]]
