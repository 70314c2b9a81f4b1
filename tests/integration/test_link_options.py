"""What builds put between themselves and the linker: compiler caches, linkers chosen by flags, odd ways and many links."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from layoutrand.model import IDENTITY, STOCK
from speeds import first_fast
from workshop import (
    Built,
    Workshop,
    in_order,
    main_calling,
    many_functions,
    of_one_version,
    programs_of,
    require,
    symbols,
)

UNITS = {f"u{k}.c": many_functions(4, prefix=f"u{k}_") for k in range(3)} | {
    "main.c": main_calling("u0_3", "u1_3", "u2_3")
}
NAMES = [f"u{unit}_{k}" for unit in range(3) for k in range(4)]
OBJECTS = "main.o u0.o u1.o u2.o"
PLAIN = f"$CC -c *.c && $CC -o prog {OBJECTS}"


@pytest.fixture
def units(tmp_path: Path) -> Workshop:
    """Three units of four functions each, and a main that calls one of each."""
    made = Workshop(tmp_path / "project", tmp_path / "cache")
    made.write_named(UNITS)
    return made


def build(shop: Workshop, commands: str, **changes: object) -> Built:
    """Two verified, distinct layouts and the controls, all of which print the same."""
    built = shop.built(commands, seeds=[1, 2], **changes)  # type: ignore[arg-type]
    built.assert_all_print_as_stock()
    assert len({tuple(in_order(binary.path, NAMES)) for binary in built.seeded.values()}) == 2
    return built


def toolchain(name: str) -> dict[str, str]:
    """The system option for it; skips where its programs are not there."""
    programs_of(name)
    return {"toolchain": name}


@pytest.fixture
def cached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A ccache with an empty cache of its own; its log."""
    require("ccache", "ccache")
    for name in [name for name in os.environ if name.startswith("CCACHE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    monkeypatch.setenv("CCACHE_LOGFILE", str(tmp_path / "ccache.log"))
    return tmp_path / "ccache.log"


CCACHE_IN_FRONT = {
    "in the commands": (PLAIN.replace("$CC", "ccache gcc"), {}),
    "of our wrapper": (PLAIN.replace("$CC", "ccache $CC"), {}),
    "in a makefile": ("make CC='ccache gcc' prog", {}),
    "in build.env": (PLAIN, {"env": {"CC": "ccache gcc"}}),
}


@pytest.mark.parametrize("way", first_fast(1, CCACHE_IN_FRONT))
def test_ccache_in_front(units: Workshop, cached: Path, way: str) -> None:
    """ccache calls our wrapper as its compiler, and what it keeps for one build is not served to another."""
    commands, options = CCACHE_IN_FRONT[way]
    units.write(Makefile=f"prog: {OBJECTS}\n\t$(CC) -o $@ $^\n")
    for flags in ("-O1", "-O2"):
        built = build(units, commands, build=options, system={"cflags": flags})
        assert {s.name for s in built.result.capture.links[0].sections} >= {".text.u0_3"}  # type: ignore[union-attr]
    assert "Executing" in cached.read_text()


def masquerade(folder: Path, monkeypatch: pytest.MonkeyPatch, toolchain: str = "gcc") -> None:
    """Names of compilers that are ccache, first on PATH."""
    compilers = {path.name for role, path in programs_of(toolchain).items() if role in ("cc", "cxx")}
    folder.mkdir()
    for name in {"gcc", "g++", "cc", "c++"} | compilers:
        (folder / name).symlink_to(str(shutil.which("ccache")))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize("name", ["gcc", pytest.param("clang-lld", marks=pytest.mark.slow)])
def test_ccache_in_the_compilers_place(
    units: Workshop, cached: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """Where gcc on PATH is ccache, our wrapper calls it and it finds the real compiler, not our wrapper again."""
    chosen = toolchain(name)
    masquerade(tmp_path / "masquerade", monkeypatch, name)
    build(units, PLAIN, system=chosen)
    assert "Executing" in cached.read_text()


def test_both_at_once(units: Workshop, cached: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """ "ccache gcc" where gcc is ccache too ends, and gives the right sections."""
    masquerade(tmp_path / "masquerade", monkeypatch)
    build(units, PLAIN.replace("$CC", "ccache gcc"))


def test_ccache_as_cmakes_launcher(units: Workshop, cached: Path) -> None:
    """CMAKE_C_COMPILER_LAUNCHER puts ccache before the wrapper's absolute path."""
    require("cmake", "cmake")
    units.write(
        CMakeLists__txt="cmake_minimum_required(VERSION 3.13)\nproject(p C)\nadd_executable(prog main.c u0.c u1.c u2.c)\n"
    )
    build(units, "cmake . -DCMAKE_C_COMPILER_LAUNCHER=ccache && make")
    assert "Executing" in cached.read_text()


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("gcc", "-fuse-ld=bfd"),
        ("gcc-lld", "-fuse-ld=lld"),
        ("gcc-lld", "-fuse-ld=bfd"),  # the toolchain's flag comes last
        pytest.param("clang", "-fuse-ld=bfd", marks=pytest.mark.slow),
        pytest.param("clang", "-fuse-ld=ld", marks=pytest.mark.slow),
        ("clang-lld", "-fuse-ld=lld"),
        pytest.param("clang-lld", "--ld-path=ld.lld", marks=pytest.mark.slow),
        pytest.param("clang-lld", "--ld-path=/usr/bin/ld.bfd", marks=pytest.mark.slow),
        ("clang", "--ld-path=/usr/bin/ld.bfd"),
        pytest.param("clang", "--ld-path=/usr/bin/ld", marks=pytest.mark.slow),
        ("gcc", "-B/usr/bin"),
        pytest.param("gcc", "-B /usr/bin/", marks=pytest.mark.slow),
        ("gcc", "-B."),
        pytest.param("gcc", "-B crt -Bnowhere", marks=pytest.mark.slow),
        pytest.param("clang", "-B/usr/bin", marks=pytest.mark.slow),
    ],
)
def test_the_build_names_the_toolchains_linker(units: Workshop, name: str, flags: str) -> None:
    """Flags by which a build chooses what is chosen already, or that the toolchain's own flag replaces."""
    build(units, f"mkdir crt; $CC -c *.c && $CC {flags} -o prog {OBJECTS}", system=toolchain(name))


@pytest.mark.parametrize(
    ("name", "flags", "words"),
    [
        ("gcc", "-fuse-ld=gold", "was linked by "),
        ("gcc", "-fuse-ld=lld", "no link of this build went through layoutrand's wrappers"),
        pytest.param("clang", "-fuse-ld=lld", "", marks=pytest.mark.slow),
        ("clang", "--ld-path=ld.lld", ""),
    ],
)
def test_the_build_chooses_another_linker_by_name(units: Workshop, name: str, flags: str, words: str) -> None:
    """The link was seen, and by whom it was made is said, with what to do; clang finds what lies beside it first."""
    if not words:
        is_beside = (programs_of(name)["cc"].resolve().parent / "ld.lld").exists()
        words = "was linked by " if is_beside else "no link of this build went through layoutrand's wrappers"
    other = programs_of("gcc-gold" if "gold" in flags else "gcc-lld")["ld"]
    lld = f"mkdir -p tools; ln -sf {other} tools/ld.lld; export PATH=$PATH:$PWD/tools; "
    result = units.build(f"{lld}$CC -c *.c && $CC {flags} -o prog {OBJECTS}", seeds=[1], system=toolchain(name))
    messages = {failure.error for failure in result.failures if failure.layout != STOCK}
    assert len(messages) == 1, messages
    [message] = messages
    assert words in message, message


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("gcc", "-B$PWD/own"),
        pytest.param("gcc", "-B own/", marks=pytest.mark.slow),
        ("gcc", "-Bown/my-"),
        pytest.param("clang", "-Bown", marks=pytest.mark.slow),
        pytest.param("clang", "--ld-path=$PWD/own/ld", marks=pytest.mark.slow),
    ],
)
def test_the_build_chooses_another_linker_by_path(units: Workshop, name: str, flags: str) -> None:
    """A linker that would never be seen, or be masked by ours, ends the build with a message that names it."""
    gold = require("ld.gold", "binutils")
    own = f"mkdir own; ln -s {gold} own/ld; ln -s {gold} own/my-ld"
    message = next(
        failure.error
        for failure in units.build(
            f"{own}; $CC {flags} -c *.c && $CC {flags} -o prog {OBJECTS}", seeds=[1], system=toolchain(name)
        ).failures
        if failure.layout == IDENTITY
    )
    assert "the build names a linker of its own, " in message
    assert "choose the toolchain of that linker" in message


def test_identical_code_folding_by_gold(units: Workshop) -> None:
    """gold folds the same functions in every layout."""
    twin = "__attribute__((noinline)) int twin{0}(int x) {{ return x * 31 ^ 5; }}\n"
    units.write(
        a__c=twin.format("1") + twin.format("2"), main__c=main_calling("u0_3", "u1_3", "u2_3", "twin1", "twin2")
    )
    built = build(
        units, f"$CC -c *.c && $CC -Wl,--icf=all,--gc-sections -o prog {OBJECTS} a.o", system=toolchain("gcc-gold")
    )
    for binary in built.by_layout.values():
        if binary.layout != STOCK:
            known = symbols(binary.path)
            assert known["twin1"] == known["twin2"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gcc", "clang-lld"])
@pytest.mark.parametrize(
    "flags",
    [
        "-pipe -save-temps",
        "-pg",
        "--coverage",
        "-fsanitize=address,undefined",
        "-O3 -funroll-loops -march=native",
        "-g -gsplit-dwarf",
        "-fno-plt -Wl,-z,now",
        "-fno-asynchronous-unwind-tables",
        "-fcf-protection=full",
        "-fstack-protector-all -D_FORTIFY_SOURCE=2",
        "-falign-functions=64",
        "-mcmodel=medium",
        "-fpatchable-function-entry=4",
        "-fno-function-sections",
    ],
)
def test_flags_of_the_compilation(units: Workshop, name: str, flags: str) -> None:
    """Instrumented, profiled, hardened and split code is laid out like any other; ours come after the build's flags."""
    if name == "clang-lld":  # one version, of which the compiler's own libraries are there
        name = of_one_version(name, units.project)
    built = units.built(
        f"$CC {flags} -c *.c && $CC {flags} -o prog {OBJECTS}",
        seeds=[1, 2],
        system={"toolchain": name, "cflags": "-O1"},
    )
    folder = units.project / "run"
    folder.mkdir()
    printed = {
        layout: subprocess.run(
            [binary.path], cwd=folder, check=True, capture_output=True, env={**os.environ, "GCOV_PREFIX": str(folder)}
        ).stdout
        for layout, binary in built.by_layout.items()
    }
    assert printed[STOCK]
    assert printed == dict.fromkeys(printed, printed[STOCK])


def test_cmake_with_response_files(units: Workshop) -> None:
    """Objects and libraries named in response files only, as CMake does for long command lines."""
    require("cmake", "cmake")
    require("ninja", "ninja-build")
    units.write(
        CMakeLists__txt="""
            cmake_minimum_required(VERSION 3.13)
            project(p C)
            set(CMAKE_C_USE_RESPONSE_FILE_FOR_OBJECTS 1)
            set(CMAKE_C_USE_RESPONSE_FILE_FOR_LIBRARIES 1)
            set(CMAKE_C_RESPONSE_FILE_LINK_FLAG "@")
            add_library(some OBJECT u0.c u1.c)
            add_library(rest STATIC u2.c)
            add_executable(prog main.c $<TARGET_OBJECTS:some>)
            target_link_libraries(prog rest m)
        """
    )
    build(units, "cmake -G Ninja -DCMAKE_NINJA_FORCE_RESPONSE_FILE=1 . && ninja && rm -f CMakeFiles/prog.rsp")


@pytest.mark.slow
def test_many_links_in_parallel(units: Workshop) -> None:
    """Sixty links at once, of which three are artefacts: each record is of its own link."""
    units.write(
        Makefile="""
        ALL := $(shell seq 60)
        all: $(ALL:%=out/prog%)
        out/prog%: main.c u0.o u1.o u2.o
        \t$(CC) -o $@ -DNUMBER=$* main.c u0.o u1.o u2.o -Wl,--defsym=number=$*
        main.c u0.o u1.o u2.o: | out
        out:
        \tmkdir out
    """
    )
    artefacts = [f"out/prog{k}" for k in (1, 30, 60)]
    result = units.build("make -j8", seeds=[1, 2], artefacts=artefacts)
    assert not result.failures
    assert result.capture is not None
    assert result.capture.n_links == 60
    for binary in result.binaries:
        assert f"out/prog{symbols(binary.path)['number']}" == binary.artefact


def test_the_last_of_several_links_wins(units: Workshop) -> None:
    """A program linked again and again is what the last link made of it."""
    again = " && ".join(f"$CC -o prog {OBJECTS} -Wl,--defsym=round={k}" for k in (1, 2, 3))
    built = build(units, f"$CC -c *.c && {again}")
    assert {symbols(binary.path)["round"] for binary in built.by_layout.values()} == {3}


def test_a_tree_of_symbolic_links(units: Workshop) -> None:
    """The build happens through linked directories, names inputs through them, and leaves the artefact behind one."""
    commands = (
        "mkdir -p real/obj real/bin a/b/c && ln -s real/obj obj && ln -s real/bin bin && ln -s .. real/up && ln -s a/b/c deep && "
        "cd real/up && $CC -c *.c && mv *.o obj/ && $AR rcs deep/../libu.a obj/u0.o obj/u1.o && test -f a/b/libu.a && "
        "$CC -o bin/prog real/up/obj/main.o $PWD/obj/../obj/u2.o -Ldeep/.. -lu"
    )
    built = units.built(commands, seeds=[1, 2], artefacts=["bin/prog"])
    built.assert_all_print_as_stock()
    assert len({tuple(in_order(binary.path, NAMES)) for binary in built.seeded.values()}) == 2


def test_a_linker_script_of_the_builds_own_is_seen(units: Workshop) -> None:
    """-Wl,-T reaches the record: nothing is laid out as if the script were not there."""
    done = subprocess.run(["ld.bfd", "--verbose"], capture_output=True, text=True, check=True).stdout
    (units.source / "own.ld").write_text(
        done.split("=" * 50)[1].replace("PROVIDE (etext = .);", "PROVIDE (etext = .); own_mark = .;")
    )
    built = units.built(f"$CC -c *.c && $CC -no-pie -Wl,-T,own.ld -o prog {OBJECTS}", seeds=[1])
    assert all("own_mark" in symbols(binary.path) for binary in built.by_layout.values())
    built.assert_all_print_as_stock()


@pytest.mark.parametrize("command", first_fast(1, ["rcs --thin", "qcS"]))
def test_archives_by_llvms_archiver(units: Workshop, command: str) -> None:
    """llvm-ar is the one of the compiler's version, and its archives, thin or without an index, are taken apart."""
    compiler = programs_of("clang-lto")["cc"]  # the toolchain has the archiver beside it
    archive = f"mkdir lib && llvm-ar {command} lib/libu.a u0.o u1.o u2.o && llvm-ranlib lib/libu.a && llvm-ar --version"
    built = build(units, f"$CC -c *.c && {archive} && $CC -o prog main.o lib/libu.a", system=toolchain("clang-lld"))
    assert built.result.capture is not None
    said = (units.cache / "captures" / built.result.capture.id / "build.log").read_text()
    version = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=True).stdout.strip()
    assert f"LLVM version {version}" in said


def sysroot(folder: Path) -> Path:
    """A root with the C library of this machine, and an archive that only a script with a path in it leads to."""
    machine = Path("/usr/lib/x86_64-linux-gnu")
    inside = folder / "usr/lib/x86_64-linux-gnu"
    inside.mkdir(parents=True)
    for name in ("crt1.o", "Scrt1.o", "crti.o", "crtn.o", "libc.so", "libc_nonshared.a"):
        shutil.copy(machine / name, inside / name)
    of_libraries = (
        "lib/x86_64-linux-gnu/libc.so.6",
        "lib/x86_64-linux-gnu/libgcc_s.so.1",
        "lib64/ld-linux-x86-64.so.2",
    )
    for path in of_libraries:
        for place in (path, f"usr/{path}"):  # libc.so names either, by release: on the machine they are one directory
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(f"/{path}", folder / place)
    (folder / "only.c").write_text("int only(int x) { return x + 41; }\n")
    subprocess.run(["gcc", "-c", "only.c"], cwd=folder, check=True)
    subprocess.run(["ar", "rcs", inside / "libreal.a", "only.o"], cwd=folder, check=True)
    (inside / "libonly.so").write_text("GROUP ( /usr/lib/x86_64-linux-gnu/libreal.a )\n")
    return folder


@pytest.mark.parametrize("named", first_fast(1, ["gcc", "clang-lld", "gcc-gold"]))
def test_a_sysroot_is_captured_and_its_layouts_are_linked_without_it(tmp_path: Path, named: str) -> None:
    """As of compilers that are made for another root: scripts of libraries in it name paths below it."""
    root = sysroot(tmp_path / "root")
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    calls = "int only(int);\nint through(int x) { return only(x); }\n"
    shop.write_named({**UNITS, "o.c": calls, "main.c": main_calling("u0_3", "u1_3", "u2_3", "through")})
    commands = f"$CC -c *.c && $CC --sysroot={root} -o prog *.o -L=/usr/lib/x86_64-linux-gnu -lonly"
    made = build(shop, commands, system=toolchain(named))
    assert made.result.capture is not None
    (link,) = made.result.capture.links
    below = str(root).lstrip("/")
    assert {name for name in link.files if name.startswith(below)} >= {
        f"{below}/usr/lib/x86_64-linux-gnu/{name}" for name in ("libreal.a", "libonly.so", "libc.so")
    }
    shutil.rmtree(root)
    more = shop.built(commands, seeds=[3], system=toolchain(named))
    assert in_order(more.path(3), NAMES) != in_order(made.path(1), NAMES)
