"""The place where a build happens: its directories, its wrappers and its environment."""

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from buildkit import run
from layoutrand.cache.store import Cache
from layoutrand.cache.upkeep import collect
from layoutrand.capture.build_environment import build_environment
from layoutrand.capture.records import read_records
from layoutrand.capture.workspace import Workspace, workspace
from layoutrand.capture.wrappers import write_wrappers
from layoutrand.config.build_recipe import NOT_INHERITED, Recipe
from layoutrand.config.config import Build, System
from layoutrand.errors import CacheError, ToolNotFound
from layoutrand.linkers import toolbox as toolboxes
from layoutrand.linkers.toolbox import Tool, Toolbox
from layoutrand.platform.process import SubprocessRunner
from workshop import require
from wrapkit import dumped, write_script


def recipe(*, variant="capture", build_env=None, **options):
    """How one system is built."""
    build = Build(commands=["make"], artefacts=["prog"], env=build_env or {})
    return Recipe("sys", variant, build, System(**options), toolboxes.load("gcc", Path()))


@pytest.fixture(scope="module")
def toolbox():
    """The real gcc and GNU ld."""
    require("g++", "g++")
    return toolboxes.find(toolboxes.load("gcc", Path()), SubprocessRunner())


@pytest.fixture
def space(tmp_path):
    """A workspace with empty directories."""
    made = Workspace(tmp_path / "space")
    for path in (made.wrappers, made.temporary, made.records, made.tree):
        path.mkdir(parents=True)
    return made


def wrapped(space, toolbox, **changes):
    """The wrappers' directory, filled."""
    write_wrappers(space, changes.pop("recipe", recipe()), toolbox, tree=changes.pop("tree", space.tree), **changes)
    return space.wrappers


def test_every_usual_name_has_a_wrapper(space, toolbox):
    """Compilers, linkers and the archiver are wrapped under the names that builds call them by."""
    names = {path.name for path in wrapped(space, toolbox).iterdir()}

    assert {"cc", "gcc", "c++", "g++", "ld", "ld.bfd", "ar", "gcc-12", "x86_64-linux-gnu-gcc"} <= names | {
        name for name in ("gcc-12", "x86_64-linux-gnu-gcc") if not shutil.which(name)
    }
    assert all(path.stat().st_mode & stat.S_IXUSR for path in wrapped(space, toolbox).iterdir())


def programs_on_path(tmp_path, monkeypatch, **programs):
    """A PATH with these programs (name to text, or to the name that it is a link to) before the real one."""
    folder = tmp_path / "path"
    folder.mkdir()
    for name, text in programs.items():
        if text.startswith("-> "):
            (folder / name).symlink_to(text[3:])
        else:
            write_script(folder / name, text)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_another_compiler_of_a_similar_name_is_left_alone(space, toolbox, tmp_path, monkeypatch):
    """A cross compiler and another version are not replaced by the toolchain's compiler."""
    programs_on_path(
        tmp_path,
        monkeypatch,
        **{"arm-none-eabi-gcc": "#!/bin/sh\n", "gcc-99": "#!/bin/sh\n", "gcc-dangling": "-> nowhere"},
    )
    names = {path.name for path in wrapped(space, toolbox).iterdir()}

    assert not names & {"arm-none-eabi-gcc", "gcc-99", "gcc-dangling"}


def test_another_name_of_the_same_compiler_is_wrapped(space, toolbox, tmp_path, monkeypatch):
    """A link to the toolchain's compiler is the same compiler, and runs under its own name."""
    folder = programs_on_path(tmp_path, monkeypatch, **{"my-special-gcc-7": f"-> {toolbox.tools['cc'].path}"})

    assert f"real={folder}/my-special-gcc-7" in (wrapped(space, toolbox) / "my-special-gcc-7").read_text()


def test_posix_names_keep_their_standard(space, toolbox, tmp_path, monkeypatch):
    """c99 is wrapped around the system's c99, which adds -std=c99, and not around gcc."""
    folder = programs_on_path(tmp_path, monkeypatch, c99='#!/bin/sh\nexec gcc -std=c99 "$@"\n')

    assert f"real={folder}/c99" in (wrapped(space, toolbox) / "c99").read_text()


def test_a_posix_name_that_is_not_there_is_not_made_up(space, toolbox, tmp_path, monkeypatch):
    """Without c99 on the machine there is none in the build."""
    needed = {"mkdir", "tar", "cat", "cp", "rm"}
    (tmp_path / "few").mkdir()
    for name in needed:
        (tmp_path / "few" / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tmp_path / "few"))

    tools = {role: toolbox.tools[role] for role in ("cc", "cxx", "ld", "ar")}
    assert {path.name for path in wrapped(space, Toolbox(toolbox.toolchain, tools)).iterdir()} == {
        "cc",
        "gcc",
        "c++",
        "g++",
        "ld",
        "ld.bfd",
        "ar",
    }


def test_a_missing_tar_is_named(space, toolbox, tmp_path, monkeypatch):
    """The wrappers need tar; without it the build does not begin."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ToolNotFound, match="needed as a tool of the linker wrapper"):
        wrapped(space, toolbox)


def test_the_linkers_of_other_toolchains_are_wrapped_as_themselves(space, toolbox):
    """Only ld and ld.bfd are the toolchain's; ld.gold stays gold, so that a link by it is seen for what it is."""
    gold = require("ld.gold", "binutils")
    folder = wrapped(space, toolbox)

    assert f"real={gold}\n" in (folder / "ld.gold").read_text()
    assert f"real={toolbox.tools['ld'].path}\n" in (folder / "ld").read_text()


def test_linkers_are_wrapped_under_the_machines_name_too(space, toolbox, tmp_path, monkeypatch):
    """configure --host asks for the linker by a name with the machine in it; another machine's is not ours."""
    folder = tmp_path / "names"
    folder.mkdir()
    real = Path(shutil.which("ld.bfd")).resolve()
    for name in ("ld.bfd", "x86_64-linux-gnu-ld.bfd", "ld", "x86_64-linux-gnu-ld"):
        (folder / name).symlink_to(real)
    (folder / "riscv64-linux-gnu-ld").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    names = {path.name for path in wrapped(space, toolbox).iterdir()}

    assert {"x86_64-linux-gnu-ld", "x86_64-linux-gnu-ld.bfd"} <= names
    assert "riscv64-linux-gnu-ld" not in names


def test_flags_of_both_variants(space, toolbox):
    """The instrumented build adds sections, the stock build only the user's flags; the user's come last."""
    words = {}
    for variant in ("capture", "stock"):
        folder = wrapped(space, toolbox, recipe=recipe(variant=variant, cflags="-O3 '-DX=a b'", cxxflags="-O1"))
        words[variant] = [dumped(folder / name, "-c", "a.c")[2:] for name in ("gcc", "g++")]
    prefix = os.fsencode(f"-ffile-prefix-map={space.tree}=/layoutrand")

    assert words["capture"] == [
        [b"-ffunction-sections", prefix, b"-O3", b"-DX=a b"],
        [b"-ffunction-sections", prefix, b"-O1"],
    ]
    assert words["stock"] == [[prefix, b"-O3", b"-DX=a b"], [prefix, b"-O1"]]


def test_link_flags_and_the_way_to_the_linker(space, toolbox):
    """Links get -B in front and the system's link flags behind."""
    folder = wrapped(space, toolbox, recipe=recipe(ldflags="-Wl,-O1 -Wl,-z,now"))

    assert dumped(folder / "gcc", "a.o", "-o", "prog") == [
        os.fsencode(f"-B{folder}/"),
        b"a.o",
        b"-o",
        b"prog",
        b"-ffunction-sections",
        b"-Wl,-O1",
        b"-Wl,-z,now",
    ]


@pytest.mark.parametrize("name", ["a b", "it's", "$HOME", "new\nline", "caf\udce9", "a=b", "a:b", "*"])
def test_a_tree_with_any_name_is_built_in_place(tmp_path, toolbox, name):
    """Built where it is, the source may lie in a directory of any name, bytes that are not UTF-8 included."""
    space = Workspace(tmp_path / "space")
    tree = tmp_path / name
    for path in (space.wrappers, space.temporary, space.records, tree):
        path.mkdir(parents=True)
    (tree / "a.c").write_text("int main(void) { return 0; }\n")
    wrapped(space, toolbox, tree=tree)
    environment = build_environment(os.environ, space, recipe(), toolbox)
    subprocess.run(["bash", "-ec", "$CC -c a.c; gcc a.o -o prog; ./prog"], cwd=tree, env=environment, check=True)
    [record] = read_records(space.records)

    assert record.output() == str(tree / "prog")
    assert str(tree / "a.o") in record.inputs()


@pytest.mark.slow
def test_a_build_by_every_name_is_recorded(space, toolbox):
    """Through CC, cc, gcc, c99, CXX, g++ and LD, each link leaves a record, and a partial link none."""
    wrapped(space, toolbox)
    (space.tree / "a.c").write_text("int main(void) { return 0; }\n")
    (space.tree / "b.cc").write_text('#include <string>\nint main() { return std::string("x").size() - 1; }\n')
    (space.tree / "s.s").write_text(".globl _start\n_start: ret\n")
    commands = """
        $CC a.c -o 1; cc a.c -o 2; gcc a.c -o 3; "$CXX" b.cc -o 4; c++ b.cc -o 5
        gcc -c s.s; $LD s.o -o 6; ld -r s.o -o r.o; ld.bfd r.o -o 7; gcc -nostdlib -r s.o -o r2.o; $AR rcs l.a s.o; ld --whole-archive l.a -o 8
        gcc -shared -fPIC a.c -o 9.so; ./1 && ./4
    """
    environment = build_environment(os.environ, space, recipe(), toolbox)
    subprocess.run(["bash", "-ec", commands], cwd=space.tree, env=environment, check=True, capture_output=True)
    records = read_records(space.records)

    assert [Path(record.output()).name for record in records] == ["1", "2", "3", "4", "5", "6", "7", "8", "9.so"]
    assert {record.linker for record in records} == {str(toolbox.tools["ld"].path)}


def test_the_environment_of_a_build(space, toolbox):
    """CC, CXX, LD and AR are the wrappers, PATH begins with them, and temporary files go to the workspace."""
    environment = build_environment({"PATH": "/usr/bin", "HOME": "/h", "CC": "other"}, space, recipe(), toolbox)

    assert {name: environment[name] for name in ("CC", "CXX", "LD", "AR", "PATH", "TMPDIR", "HOME")} == {
        "CC": f"{space.wrappers}/gcc",
        "CXX": f"{space.wrappers}/g++",
        "LD": f"{space.wrappers}/ld",
        "AR": f"{space.wrappers}/ar",
        "PATH": f"{space.wrappers}:/usr/bin",
        "TMPDIR": str(space.temporary),
        "HOME": "/h",
    }


def test_what_a_calling_make_left_behind_is_not_inherited(space, toolbox):
    """A job server of a make around layoutrand, and the hook for tests, do not reach the build."""
    environment = build_environment(dict.fromkeys(NOT_INHERITED, "x"), space, recipe(), toolbox)

    assert {"MAKEFLAGS", "LAYOUTRAND_WRAPPER_DUMP"} <= set(NOT_INHERITED)
    assert not set(NOT_INHERITED) & set(environment)


def test_variables_of_the_configuration_win_over_inherited_ones(space, toolbox):
    """A system's variable replaces the build's, and that the caller's."""
    made = build_environment(
        {"A": "caller", "B": "caller", "C": "caller"},
        space,
        recipe(build_env={"A": "build", "B": "build"}, env={"A": "system"}),
        toolbox,
    )

    assert (made["A"], made["B"], made["C"]) == ("system", "build", "caller")


def test_the_date_is_fixed_unless_given(space, toolbox):
    """Builds see one date, so that they repeat; a date that the user set stays."""
    assert build_environment({}, space, recipe(), toolbox)["SOURCE_DATE_EPOCH"] == "315532800"
    assert build_environment({"SOURCE_DATE_EPOCH": "7"}, space, recipe(), toolbox)["SOURCE_DATE_EPOCH"] == "7"


def test_ccache_in_gccs_place_finds_the_real_compiler(space, tmp_path, monkeypatch):
    """Where gcc on PATH is a compiler cache that looks for the next gcc, it does not find the wrapper again."""
    cache = '#!/bin/sh\n[ "$CCACHE_DEPTH" ] && { echo recursion >&2; exit 9; }\nCCACHE_DEPTH=1 PATH=${CCACHE_PATH#*/path:} exec gcc "$@"\n'
    folder = programs_on_path(tmp_path, monkeypatch, gcc=cache)
    tools = toolboxes.find(toolboxes.load("gcc", Path()), SubprocessRunner())
    wrapped(space, tools)
    (space.tree / "a.c").write_text("int f(void) { return 0; }\n")
    environment = build_environment(os.environ, space, recipe(), tools)

    run("bash", "-ec", "$CC -c a.c", cwd=space.tree, env=environment)

    assert tools.tools["cc"].path == folder / "gcc"
    assert "CCACHE_PATH" not in environment  # or "ccache gcc" in a makefile would pass the wrappers by


def test_a_workspace_is_made_and_removed(tmp_path):
    """Inside the block there are directories for wrappers, temporary files and records; afterwards nothing."""
    cache = Cache(tmp_path / "cache")
    with workspace(cache, "0123456789abcdef") as made:
        present = [path.is_dir() for path in (made.wrappers, made.temporary, made.records)]
        there = made.base.exists()

    assert (present, there, made.base.exists()) == ([True] * 3, True, False)


def test_a_workspace_is_removed_after_a_failure_too(tmp_path):
    """An exception inside the block leaves nothing behind, not even what was made unwritable."""
    cache = Cache(tmp_path / "cache")

    def fail():
        with workspace(cache, "0" * 64) as made:
            (made.tree / "deep").mkdir(parents=True)
            (made.tree / "deep").chmod(0o500)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list((cache.root / "work").iterdir()) == []


def test_paths_of_workspaces_have_one_length(tmp_path):
    """Whatever the key, the path is as long, so that nothing that embeds it shifts."""
    cache = Cache(tmp_path / "cache")
    lengths = set()
    for key in ("0" * 64, "f" * 64, "12345678" * 8):
        with workspace(cache, key) as made:
            lengths.add(len(str(made.tree)))

    assert len(lengths) == 1


@pytest.mark.parametrize("name", ["with blank", "it's", "$x", "a%b", "a#b", "a:b", "é"])
def test_a_cache_path_that_makefiles_cannot_hold_is_avoided(tmp_path, name):
    """The build happens in the temporary directory when the cache's own path would have to be quoted."""
    cache = Cache(tmp_path / name / "cache")
    with workspace(cache, "0" * 64) as made:
        assert made.base.parent == Path(tempfile.gettempdir()).resolve()


def test_a_cache_behind_a_symbolic_link_is_used_by_its_physical_path(tmp_path):
    """The linker sees physical paths, so the workspace has one; what counts is whether that one is harmless."""
    (tmp_path / "real").mkdir()
    (tmp_path / "with blank").mkdir()
    for name in ("real", "with blank"):
        (tmp_path / f"link to {name}".replace(" ", "-")).symlink_to(tmp_path / name)
    with workspace(Cache(tmp_path / "link-to-real" / "c"), "0" * 64) as made:
        physical = made.base.parent
    with workspace(Cache(tmp_path / "link-to-with-blank" / "c"), "0" * 64) as made:
        elsewhere = made.base.parent

    assert physical == tmp_path / "real" / "c" / "work"
    assert elsewhere == Path(tempfile.gettempdir()).resolve()


def test_a_workspace_in_use_survives_the_collection_of_garbage(tmp_path):
    """A build that has run for hours is not taken for one that was abandoned."""
    cache = Cache(tmp_path / "cache")
    with workspace(cache, "0" * 64) as made:
        os.utime(made.base, (1, 1))
        collect(cache, 10**12)
        there = made.records.is_dir()
    abandoned = cache.root / "work" / "b00000000-4194304-abcdefgh"  # no process has so high a number
    abandoned.mkdir()
    os.utime(abandoned, (1, 1))
    collect(cache, 10**12)

    assert there
    assert not abandoned.exists()


def test_a_cache_that_cannot_be_written_is_a_clear_error(tmp_path):
    """Where no workspace can be made, the reason and the remedy are said."""
    cache = Cache(tmp_path / "cache")
    (cache.root / "work").rmdir()
    (cache.root / "work").write_text("in the way")

    with (
        pytest.raises(CacheError, match=r"cannot make a directory to build in below .*LAYOUTRAND_CACHE"),
        workspace(cache, "0" * 64),
    ):
        pass


def test_wrappers_that_cannot_be_written_are_a_clear_error(space, toolbox):
    """A full or read-only cache is said to be that."""
    space.wrappers.rmdir()
    space.wrappers.write_text("in the way")

    with pytest.raises(CacheError, match="cannot write wrappers in"):
        wrapped(space, toolbox)


def test_a_toolbox_without_a_cxx_compiler_has_no_cxx_wrapper(space, toolbox):
    """Pure C projects need no C++ compiler."""
    tools = {role: tool for role, tool in toolbox.tools.items() if role != "cxx"}

    assert "g++" not in {path.name for path in wrapped(space, Toolbox(toolbox.toolchain, tools)).iterdir()}


def test_an_unusual_compiler_name_gets_the_usual_names_too(space, toolbox, tmp_path):
    """A toolchain whose compiler is called clang is reached by cc and gcc as well as by its own name."""
    clang = write_script(tmp_path / "bin" / "my-clang", "#!/bin/sh\n")
    tools = {**toolbox.tools, "cc": Tool(clang, "clang 1", "0" * 64)}
    folder = wrapped(space, Toolbox(toolbox.toolchain, tools))

    assert all(f"real={clang}\n" in (folder / name).read_text() for name in ("cc", "gcc", "my-clang"))


def clang_tools(folder):
    """A toolbox of programs that do nothing, as LLVM's packages install them: by version, links into one directory."""
    for name in ("clang", "llvm-ar", "llvm-nm", "llvm-ranlib"):
        write_script(folder / "llvm-7" / "bin" / name, "#!/bin/sh\n")
    (folder / "usr").mkdir()
    (folder / "llvm-7" / "bin" / "clang++").symlink_to("clang")
    for name in ("clang", "clang++", "llvm-ar", "llvm-nm"):
        (folder / "usr" / f"{name}-7").symlink_to(folder / "llvm-7" / "bin" / name)
    (folder / "usr" / "my-clang-7").symlink_to(folder / "llvm-7" / "bin" / "clang")
    write_script(folder / "usr" / "llvm-ar", "#!/bin/sh\n# of another version\n")
    write_script(folder / "usr" / "clang-8", "#!/bin/sh\n")
    return {
        "cc": Tool(folder / "usr" / "clang-7", "", "0" * 64),
        "cxx": Tool(folder / "usr" / "clang++-7", "", "0" * 64),
    }


def real_of(folder, name):
    """The program that a wrapper stands for."""
    line = next(line for line in (folder / name).read_text().splitlines() if line.startswith("real="))
    return Path(line.removeprefix("real="))


def test_a_versioned_clang_is_wrapped_under_all_its_names(space, toolbox, tmp_path, monkeypatch):
    """clang, clang-7 and cc are the toolchain's clang-7; llvm-ar is that version's; clang-8 is another program."""
    tools = {**toolbox.tools, **clang_tools(tmp_path)}
    monkeypatch.setenv("PATH", f"{tmp_path}/usr:{os.environ['PATH']}")
    made = Toolbox(toolboxes.load("clang", Path()), tools)
    folder = wrapped(space, made)
    environment = build_environment({}, space, recipe(), made)

    assert {name: real_of(folder, name).name for name in ("cc", "gcc", "clang", "clang-7", "my-clang-7")} == {
        "cc": "clang-7",
        "gcc": "clang-7",
        "clang": "clang-7",
        "clang-7": "clang-7",
        "my-clang-7": "my-clang-7",
    }
    assert {name: real_of(folder, name).name for name in ("c++", "g++", "clang++", "clang++-7")} == dict.fromkeys(
        ("c++", "g++", "clang++", "clang++-7"), "clang++-7"
    )
    assert {real_of(folder, name).resolve() for name in ("llvm-ar", "llvm-ar-7")} == {tmp_path / "llvm-7/bin/llvm-ar"}
    assert real_of(folder, "llvm-ranlib") == tmp_path / "llvm-7/bin/llvm-ranlib"  # there, though not on PATH
    assert not (folder / "clang-8").exists()
    assert (environment["CC"], environment["CXX"]) == (f"{space.wrappers}/clang", f"{space.wrappers}/clang++")


def test_the_archivers_of_gcc_are_those_of_its_version(space, toolbox, tmp_path, monkeypatch):
    """gcc-ar means gcc-ar-7 where the compiler is gcc-7, and nothing of ours where there is none."""
    for name in ("gcc-7", "gcc-ar-7", "gcc-nm"):
        write_script(tmp_path / "usr" / name, "#!/bin/sh\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/usr:{os.environ['PATH']}")
    tools = {**toolbox.tools, "cc": Tool(tmp_path / "usr" / "gcc-7", "", "0" * 64)}
    folder = wrapped(space, Toolbox(toolbox.toolchain, tools))

    assert {real_of(folder, name) for name in ("gcc-ar", "gcc-ar-7")} == {tmp_path / "usr/gcc-ar-7"}
    assert not (folder / "gcc-nm").exists()


def test_fortran_has_wrappers_flags_and_variables_of_its_own(space, toolbox):
    """Where there is a Fortran compiler FC and F77 are its wrapper, with section flags and fflags."""
    require("gfortran", "gfortran")
    folder = wrapped(space, toolbox, recipe=recipe(cflags="-O3", fflags="-O1 -fcheck=all"))
    environment = build_environment({}, space, recipe(), toolbox)

    prefix = os.fsencode(f"-ffile-prefix-map={space.tree}=/layoutrand")
    assert dumped(folder / "gfortran", "-c", "a.f90")[2:] == [b"-ffunction-sections", prefix, b"-O1", b"-fcheck=all"]
    assert environment["FC"] == environment["F77"] == f"{space.wrappers}/gfortran"


def test_a_compiler_of_the_configurations_own_stays(space, toolbox):
    """build.env may set CC, as to "ccache gcc"; what the caller's environment has in CC does not count."""
    made = build_environment({"CC": "caller"}, space, recipe(build_env={"CC": "ccache gcc"}), toolbox)

    assert (made["CC"], made["CXX"]) == ("ccache gcc", f"{space.wrappers}/g++")
