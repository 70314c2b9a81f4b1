"""Which build system a directory has, and what is said of those that have none."""

import json
import shutil

import pytest

from layoutrand.capture import recognise as module
from layoutrand.capture.recognise import build_trees, given, has_objects, is_configured, recognise
from layoutrand.errors import ToolNotFound, UsageError
from layoutrand.platform.process import Completed

ELF = b"\x7fELF" + bytes(60)


class Rustc:
    """A runner that only ever asks cargo for the targets of one package."""

    def __init__(self, *targets, root=None, built_in=None, beside=()):
        self.targets, self.root, self.built_in, self.beside = targets, root, built_in, beside

    def run(self, argv, *, cwd, env):
        assert argv[:3] == ["cargo", "metadata", "--no-deps"]
        targets = [
            {"kind": [kind], "name": name, "src_path": f"{cwd}/{name}.rs"}
            for kind, name in self.targets or [("bin", "yes")]
        ]
        package = {"id": "a", "name": "a", "manifest_path": f"{cwd}/Cargo.toml", "targets": targets}
        package["dependencies"] = [{"name": path.name, "path": str(path)} for path in self.beside] + [{"name": "libc"}]
        root = str(self.root or cwd)
        said = {
            "packages": [package],
            "workspace_default_members": ["a"],
            "workspace_root": root,
            "target_directory": self.built_in or f"{root}/target",
        }
        return Completed(0, json.dumps(said).encode(), b"")


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
@pytest.mark.parametrize(
    "files",
    [
        {"meson__build": "project('frob', 'c')\nexecutable('frob-boot', 'a.c')\nx = executable('frob', 'b.c')\n"},
        {"CMakeLists__txt": "project(Frob C)\nadd_executable(frob-boot a.c)\nadd_executable(frob b.c)\n"},
        {"CMakeLists__txt": 'project("frob")\nadd_executable(frob-boot a.c)\nadd_executable(${PROJECT_NAME} b.c)\n'},
    ],
)
def test_the_program_called_as_its_project_is_likelier_than_what_helps_to_build_it(tmp_path, files):
    put(tmp_path, **files)
    assert recognise(tmp_path, Rustc()).hints == ("frob", "frob-boot")


@pytest.mark.usefixtures("all_installed")
def test_what_else_would_build_it_is_known(tmp_path):
    put(tmp_path, configure="", configure__ac="", Makefile__am="", meson__build="executable('yes', 'a.c')\n")
    meson = "meson setup build --buildtype=release && ninja -C build -j {jobs}"
    again = "autoreconf --install && ./configure && make -j{jobs}"
    assert recognise(tmp_path, Rustc()).others == (meson, again)


class Presets(Rustc):
    """Answers as `cmake --list-presets` does, or fails as with a file that it cannot read."""

    def run(self, argv, *, cwd, env):
        assert argv == ["cmake", "--list-presets"]
        said = b'Available configure presets:\n\n  "debug"     - Debug build\n  "my release"\n  "x"\n  "y"\n'
        return Completed(int(self.targets == ("broken",)), said, b"")


@pytest.mark.usefixtures("all_installed")
def test_presets_of_cmake_are_other_ways_to_build_releases_first(tmp_path):
    put(tmp_path, CMakeLists__txt="add_executable(yes a.c)\n", CMakePresets__json="{}")
    found = recognise(tmp_path, Presets())
    assert lines(found) == [["cmake -S . -B build -DCMAKE_BUILD_TYPE=Release", "cmake --build build -j {jobs}"]]
    assert found.others == found.presets
    assert found.presets == tuple(
        f"cmake --preset {name} -B build && cmake --build build -j {{jobs}}" for name in ("'my release'", "debug", "x")
    )
    assert recognise(tmp_path, Presets("broken")).presets == ()


@pytest.mark.usefixtures("all_installed")
def test_presets_are_asked_for_only_where_a_file_has_some(tmp_path):
    put(tmp_path, CMakeLists__txt="add_executable(yes a.c)\n")
    assert recognise(tmp_path, Rustc()).presets == ()


def test_what_else_would_build_it_is_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name, **_: None if name == "ninja" else f"/usr/bin/{name}")
    put(tmp_path, CMakeLists__txt="add_executable(yes a.c)\n", meson__build="executable('yes', 'a.c')\n")
    assert recognise(tmp_path, Rustc()).others == ()


@pytest.mark.usefixtures("all_installed")
@pytest.mark.parametrize(
    ("targets", "command", "first"),
    [
        ([("lib", "a"), ("bin", "other"), ("bin", "a")], "cargo build --release -j {jobs}", "a"),
        (
            [("lib", "a"), ("example", "shown"), ("bench", "fast")],
            "cargo build --release --examples -j {jobs}",
            "shown",
        ),
        ([("lib", "a"), ("bench", "fast")], "cargo bench --no-run -j {jobs}", "fast"),
    ],
)
def test_cargo_builds_what_there_is(tmp_path, targets, command, first):
    put(tmp_path, Cargo__toml="")
    found = recognise(tmp_path, Rustc(*targets))

    assert (lines(found), found.hints[0], found.exclude) == ([[command]], first, ("target",))
    assert found.is_rust


@pytest.mark.usefixtures("all_installed")
def test_benchmarks_of_a_known_harness_are_named_where_something_else_is_built(tmp_path):
    put(
        tmp_path,
        Cargo__toml="",
        Cargo__lock="",
        parse_it__rs="fn main() { divan::main(); }\n",
        other__rs="fn main() {}\n",
    )
    (tmp_path / "parse_it.rs").rename(tmp_path / "parse-it.rs")
    benches = [("bench", "other"), ("bench", "parse-it")]
    found = recognise(tmp_path, Rustc(("lib", "a"), ("example", "shown"), *benches))
    assert found.benches == ("cargo bench --no-run --locked -- target/release/deps/parse_it",)
    assert recognise(tmp_path, Rustc(("lib", "a"), *benches)).benches == ()  # they are what is built


@pytest.mark.usefixtures("all_installed")
def test_cargo_keeps_to_its_lock_and_builds_in_the_copy(tmp_path):
    put(tmp_path, Cargo__toml="", Cargo__lock="")
    found = recognise(tmp_path, Rustc(built_in="/somewhere/else"))

    assert lines(found) == [["cargo build --release --locked -j {jobs}"]]
    assert found.ways[0].env == {"CARGO_TARGET_DIR": "target"}
    assert recognise(tmp_path, Rustc()).ways[0].env == {}


@pytest.mark.usefixtures("all_installed")
def test_a_member_of_a_workspace_is_not_copied_alone(tmp_path):
    put(tmp_path, member__Cargo="")
    put(tmp_path / "member", Cargo__toml="")
    with pytest.raises(UsageError, match=r"go to .* --manifest-path member/Cargo.toml"):
        recognise(tmp_path / "member", Rustc(root=tmp_path))


@pytest.mark.usefixtures("all_installed")
@pytest.mark.parametrize("line", ["cargo build --release", "cargo +nightly build -p member"])
def test_a_command_of_cargo_in_a_member_is_refused_as_well(tmp_path, line):
    put(tmp_path / "member", Cargo__toml="")

    with pytest.raises(UsageError, match=r"go to .* --manifest-path member/Cargo.toml"):
        given([line], tmp_path / "member", Rustc(root=tmp_path))
    assert given([f"cd .. && {line}"], tmp_path / "member", Rustc(root=tmp_path)).is_rust


@pytest.mark.usefixtures("all_installed")
def test_packages_beside_are_told_with_what_to_do(tmp_path):
    put(tmp_path / "rust" / "app", Cargo__toml='path = "../core"')
    rustc = Rustc(beside=[tmp_path / "rust" / "core", tmp_path / "shared"])

    with pytest.raises(UsageError) as error:
        recognise(tmp_path / "rust" / "app", rustc)
    assert str(error.value) == (
        f"{tmp_path}/rust/app is built with the package core in {tmp_path}/rust/core, and cannot be copied without it: "
        f"go to {tmp_path}, and choose it with: layoutrand init -- cargo build --release --manifest-path "
        "rust/app/Cargo.toml"
    )
    put(tmp_path / "rust" / "app", Cargo__toml=f'path = "{tmp_path}/rust/core"\npath = "{tmp_path}/shared"')
    assert recognise(tmp_path / "rust" / "app", rustc).is_rust


@pytest.mark.usefixtures("all_installed")
def test_what_cargo_has_built_is_not_copied(tmp_path):
    put(tmp_path / "app" / "target", __rustc_info__json="{}")

    found = given(["cargo build --manifest-path app/Cargo.toml"], tmp_path, Rustc())
    assert found.exclude == ("target", "app/target")
    assert not is_configured(tmp_path / "app" / "target")


@pytest.mark.usefixtures("all_installed")
def test_a_command_of_cargo_is_one_of_rust(tmp_path):
    found = given(["cd a && cargo build"], tmp_path, Rustc())

    assert (found.is_rust, found.exclude) == (True, ("target",))
    assert not given(["make"], tmp_path, Rustc()).is_rust


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


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SConstruct", "has SConstruct, and layoutrand does not know by itself"),
        ("build__ninja", "layoutrand init -- ninja, or with the program to execute: layoutrand try -- ninja --"),
        ("setup__py", "is a Python project"),
    ],
)
def test_sources_that_a_file_says_how_to_build_are_not_compiled_by_guess(tmp_path, name, words):
    """A program built with other flags than its own would be measured, without a word."""
    put(tmp_path, main__c="int main(void) { return 0; }", **{name: ""})

    with pytest.raises(UsageError) as refused:
        recognise(tmp_path, Rustc())

    assert words in str(refused.value)


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
