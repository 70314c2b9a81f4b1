"""The build systems that people use, each with a small project of several files, libraries and languages."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from layoutrand.build.build import SystemBuild
from layoutrand.model import LayoutName
from speeds import first_fast
from warningkit import said
from workshop import Built, Workshop, in_order, many_functions, only_error, output, programs_of, require

SEEDS = (1, 2, 3)
TOOLCHAINS = ("gcc", "clang-lld")
"""Toolchains by name, and the programs that each cannot do without, with their packages."""

LIBRARY = many_functions(6, prefix="lib")
HELPERS = many_functions(5, prefix="help")
MAIN = """
    #include <stdio.h>
    int lib5(int); int help4(int); int twice(int); const char *who(int);
    int main(int argc, char **argv) { printf("%d %d %d %s\\n", lib5(argc), help4(argc), twice(argc), who(argc)); return 0; }
"""
WHO = """
    #include <stdexcept>
    #include <string>
    #include <vector>
    template <class T> T sum(const std::vector<T> &all) { T s{}; for (const T &x : all) s += x; return s; }
    struct Noted { std::string text; explicit Noted(const char *t) : text(t) {} };
    static Noted first("first "), second("second ");
    extern "C" const char *who(int x) {
        static std::string all;
        try { if (x > 0) throw std::runtime_error("caught "); } catch (const std::exception &e) { all = e.what(); }
        all += sum(std::vector<std::string>{first.text, second.text}) + std::to_string(sum(std::vector<int>{x, 2, 3}));
        return all.c_str();
    }
"""
TWICE = """
    .text
    .globl twice
    .type twice, @function
    twice:
        leal (%rdi,%rdi), %eax
        ret
    .size twice, . - twice
    .section .note.GNU-stack,"",@progbits
"""
SOURCES = {"lib.c": LIBRARY, "help.c": HELPERS, "main.c": MAIN, "who.cc": WHO, "twice.S": TWICE}
NAMES = [f"help{k}" for k in range(5)] + [f"lib{k}" for k in range(6)]


MAKEFILE = """
    OBJECTS = main.o who.o twice.o
    LDLIBS = -lm
    CFLAGS = -O1 -g -MMD -MP

    all: install
    prog: $(OBJECTS) libboth.a
    \t$(CXX) $(LDFLAGS) -o $@ $(OBJECTS) -L. -lboth $(LDLIBS)
    libboth.a: lib.o help.o
    \t$(AR) rcs $@ $?
    twice.o: twice.S
    install: prog
    \tmkdir -p dest/bin
    \tinstall -m 755 prog dest/bin/prog-1.0
    \tln -sf prog-1.0 dest/bin/prog
    .PHONY: all install
    -include *.d
"""
SCRIPT = """
    set -eu
    for source in *.c; do cc -O1 -c "$source"; done
    c++ -O1 -c who.cc
    as=$(cc -print-prog-name=as)
    "$as" twice.S -o twice.o
    mkdir out
    c++ -o out/prog main.o lib.o help.o who.o twice.o
    cp out/prog prog
"""
CMAKE = """
    cmake_minimum_required(VERSION 3.13)
    project(whole LANGUAGES C CXX ASM)
    find_package(Threads REQUIRED)
    include(CheckCCompilerFlag)
    include(CheckFunctionExists)
    check_c_compiler_flag(-Wall HAVE_WALL)
    check_function_exists(printf HAVE_PRINTF)
    if(NOT HAVE_WALL OR NOT HAVE_PRINTF)
      message(FATAL_ERROR "configure checks fail under the wrappers")
    endif()
    message(STATUS "compilers ${CMAKE_C_COMPILER_ID} ${CMAKE_CXX_COMPILER_ID}, archivers ${CMAKE_C_COMPILER_AR} ${CMAKE_CXX_COMPILER_AR}")
    if(NOT CMAKE_CXX_COMPILER_AR OR NOT CMAKE_C_COMPILER_RANLIB)
      message(FATAL_ERROR "no archiver beside the compiler")
    endif()
    add_library(both STATIC lib.c help.c)
    add_library(asm OBJECT twice.S)
    add_executable(prog main.c who.cc $<TARGET_OBJECTS:asm>)
    target_link_libraries(prog PRIVATE both Threads::Threads)
    install(TARGETS prog DESTINATION bin)
"""
MESON = """
    project('whole', 'c', 'cpp', default_options: ['buildtype=release'])
    compiler = meson.get_compiler('c')
    if not compiler.has_function('printf') or not compiler.has_argument('-Wall')
      error('configure checks fail under the wrappers')
    endif
    both = static_library('both', 'lib.c', 'help.c')
    executable('prog', 'main.c', 'who.cc', 'twice.S', link_with: both, dependencies: dependency('threads'), install: true)
"""
CONFIGURE = """
    AC_INIT([whole], [1.0])
    AM_INIT_AUTOMAKE([foreign subdir-objects -Wall])
    AM_PROG_AR
    AC_PROG_CC
    AC_PROG_CXX
    AM_PROG_AS
    LT_INIT
    AC_CHECK_FUNC([printf], [], [AC_MSG_ERROR([configure checks fail under the wrappers])])
    AC_CHECK_HEADERS([stdio.h])
    AC_CONFIG_FILES([Makefile])
    AC_OUTPUT
"""
AUTOMAKE = """
    lib_LTLIBRARIES = libboth.la
    libboth_la_SOURCES = lib.c help.c
    libboth_la_LDFLAGS = -version-info 3:1:2 -export-symbols-regex '^(lib|help)'
    bin_PROGRAMS = prog
    prog_SOURCES = main.c who.cc twice.S
    prog_LDADD = libboth.la
"""
WITHOUT_AUTOTOOLS = {"autoreconf": "autoconf", "automake": "automake", "libtoolize": "libtool"}


@pytest.fixture(params=["gcc", pytest.param("clang-lld", marks=(pytest.mark.slow, pytest.mark.hour))])
def toolchain(request: pytest.FixtureRequest) -> str:
    """Each toolchain in turn, where its programs are."""
    name: str = request.param
    require("g++", "g++")
    programs_of(name)
    return name


@pytest.fixture
def project(tmp_path: Path) -> Workshop:
    """A project with the sources."""
    made = Workshop(tmp_path / "project", tmp_path / "cache")
    made.write_named(SOURCES)
    return made


def build(shop: Workshop, toolchain: str, commands: list[str], artefact: str = "prog", **changes: Any) -> Built:
    """Three verified, distinct layouts and the controls, which all print what stock prints."""
    built = shop.built(commands, seeds=SEEDS, artefacts=[artefact], system={"toolchain": toolchain}, **changes)
    assert built.assert_all_print_as_stock().endswith(b" caught first second 6\n")
    assert len({tuple(in_order(binary.path, NAMES)) for binary in built.seeded.values()}) == len(SEEDS)
    return built


@pytest.mark.slow
def test_make(project: Workshop, toolchain: str) -> None:
    """A makefile with its own flags, archive members, dependency files and an install step, in parallel."""
    project.write(Makefile=MAKEFILE)
    build(project, toolchain, ["make -j8"], artefact="dest/bin/prog")


@pytest.mark.slow
def test_a_shell_script(project: Workshop, toolchain: str) -> None:
    """A script that calls cc and c++ from PATH, and the assembler by itself."""
    project.write(build__sh=SCRIPT)
    build(project, toolchain, ["sh build.sh"])


@pytest.mark.slow
@pytest.mark.parametrize("generator", first_fast(1, ["Unix Makefiles", "Ninja"]))
def test_cmake(project: Workshop, toolchain: str, generator: str) -> None:
    """CMake knows the compiler, its archiver and what it can do; static and object libraries; out of the tree."""
    require("cmake", "cmake")
    if generator == "Ninja":
        require("ninja", "ninja-build")
    project.write(CMakeLists__txt=CMAKE)
    commands = [f"cmake -G '{generator}' -S . -B _out -DCMAKE_BUILD_TYPE=Release", "cmake --build _out -j {jobs}"]
    built = build(project, toolchain, commands, artefact="_out/prog")
    assert built.result.capture is not None
    assert built.result.capture.n_links < 8  # the trials of configure are not among them
    said = (project.cache / "captures" / built.result.capture.id / "build.log").read_text()
    compiler, tool = ("GNU", "gcc-ar") if toolchain == "gcc" else ("Clang", "llvm-ar")
    assert re.search(
        rf"compilers {compiler} {compiler}, archivers (\S+/bin/{tool}(?:-[0-9]+)?) \1$", said, re.MULTILINE
    )


def test_a_build_of_the_users_own_by_cmake_is_to_be_excluded(project: Workshop) -> None:
    """CMake refuses what was copied from elsewhere; the failure says what leaves it out, and that does."""
    require("cmake", "cmake")
    project.write(
        CMakeLists__txt="cmake_minimum_required(VERSION 3.13)\nproject(own C)\nadd_executable(prog one.c lib.c)\n",
        one__c="int lib5(int);\nint main(void) { return lib5(1) < 0; }\n",
    )
    subprocess.run(["cmake", "-S", ".", "-B", "own"], cwd=project.source, check=True, capture_output=True)
    commands = ["cmake -S . -B own", "cmake --build own"]
    failed = project.build(commands, artefacts=["own/prog"], seeds=[1])
    project.built(commands, artefacts=["own/prog"], seeds=[1], build={"exclude": ["own"]})

    assert {failure.cause.splitlines()[-1] for failure in failed.failures} == {
        'The source has a build of your own in it, which was copied, too: build.exclude = ["own"] leaves it out'
    }


@pytest.mark.slow
def test_meson(project: Workshop, toolchain: str) -> None:
    """Meson's sanity checks pass, and its links with --start-group and -Wl,--as-needed are captured."""
    require("meson", "meson")
    require("ninja", "ninja-build")
    project.write(meson__build=MESON)
    build(project, toolchain, ["meson setup _out", "ninja -C _out"], artefact="_out/prog")


def autotools(project: Workshop) -> None:
    for program, package in WITHOUT_AUTOTOOLS.items():
        require(program, package)
    project.write(configure__ac=CONFIGURE, Makefile__am=AUTOMAKE)


@pytest.mark.slow
def test_autotools(project: Workshop, toolchain: str) -> None:
    """Configure and automake without shared libraries: the program is the one that libtool linked."""
    autotools(project)
    built = build(project, toolchain, ["autoreconf -i", "./configure --disable-shared CFLAGS=-O1", "make -j4"])
    assert built.result.capture is not None
    assert built.result.capture.n_links < 8


RELINKED = """
    lib_LTLIBRARIES = libboth.la libouter.la
    libboth_la_SOURCES = lib.c help.c
    libboth_la_LDFLAGS = -version-info 3:1:2 -export-symbols-regex '^(lib|help)'
    libouter_la_SOURCES = outer.c
    libouter_la_LIBADD = libboth.la
    bin_PROGRAMS = prog
    prog_SOURCES = main.c who.cc twice.S
    prog_LDADD = libouter.la libboth.la
"""
OUTER = many_functions(5, prefix="outer") + "int help4(int); int through(int x) { return help4(outer4(x)); }\n"


@pytest.mark.slow
def test_libtool(project: Workshop, toolchain: str) -> None:
    """Shared libraries by libtool, linked again by make install, and the program that needs them: each laid out."""
    autotools(project)
    project.write(Makefile__am=RELINKED, outer__c=OUTER)
    installed = "_dest/opt/whole"
    artefacts = [f"{installed}/bin/prog", f"{installed}/lib/libboth.so.1", f"{installed}/lib/libouter.so.0"]
    commands = [
        "autoreconf -i",
        "./configure --disable-static --prefix=/opt/whole CFLAGS=-O1",
        "make -j{jobs}",
        "make install DESTDIR=$PWD/_dest",
    ]
    result = project.build(commands, seeds=SEEDS, artefacts=artefacts, system={"toolchain": toolchain})
    assert not result.failures, result.failures
    assert not said(result.notes)
    printed = {layout: together(result, layout, project.project / "placed") for layout in ("stock", "identity", *SEEDS)}
    assert printed == dict.fromkeys(printed, b"221 122 2 caught first second 6\n")


def together(result: SystemBuild, layout: LayoutName, folder: Path) -> bytes:
    """What the first artefact prints beside the others of its layout."""
    found = {binary.artefact: binary.path for binary in result.binaries if binary.layout == layout}
    place = folder / str(layout)
    for artefact, path in found.items():
        (place / artefact).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place / artefact)
    libraries = {str((place / artefact).parent) for artefact in list(found)[1:]}
    return output(place / next(iter(found)), env={"LD_LIBRARY_PATH": ":".join(libraries)})


SUMS = """
subroutine sums(x, total) bind(c)
  use iso_c_binding
  integer(c_int), value :: x
  integer(c_int), intent(out) :: total
  integer :: k
  total = 0
  do k = 1, x
    total = total + cubed(k)
  end do
contains
  pure integer function cubed(n)
    integer, intent(in) :: n
    cubed = n**3
  end function
end subroutine
"""
CALLS_SUMS = """
    #include <stdio.h>
    int lib5(int); int help4(int); void sums(int, int *);
    int main(int argc, char **argv) { int total; sums(argc + 3, &total); printf("%d %d\\n", total, lib5(argc) + help4(argc)); return 0; }
"""
CMAKE_SHARED = """
    cmake_minimum_required(VERSION 3.13)
    project(mixed LANGUAGES C Fortran VERSION 2.4)
    add_library(both SHARED lib.c help.c sums.f90)
    set_target_properties(both PROPERTIES VERSION 2.4 SOVERSION 2)
    add_executable(prog main.c)
    target_link_libraries(prog PRIVATE both)
    install(TARGETS prog both RUNTIME DESTINATION bin LIBRARY DESTINATION lib)
"""
MESON_SHARED = """
    project('mixed', 'c', 'fortran', version: '2.4')
    both = shared_library('both', 'lib.c', 'help.c', 'sums.f90', version: '2.4', soversion: '2')
    executable('prog', 'main.c', link_with: both)
"""
MIXED = {
    "cmake": (["cmake -S . -B _out -DCMAKE_BUILD_TYPE=Release", "cmake --build _out -j {jobs}"], CMAKE_SHARED),
    "meson": (["meson setup _out", "ninja -C _out"], MESON_SHARED),
}


@pytest.mark.slow
@pytest.mark.parametrize("system", MIXED)
def test_fortran_and_a_shared_library(project: Workshop, toolchain: str, system: str) -> None:
    """Both find the Fortran compiler, and link by run paths into the build's tree, which is gone at execution."""
    for program in (system, "ninja", "gfortran"):
        require(program, {"ninja": "ninja-build"}.get(program, program))
    commands, text = MIXED[system]
    project.write_named({"sums.f90": SUMS, "main.c": CALLS_SUMS})
    project.write_named({"CMakeLists.txt" if system == "cmake" else "meson.build": text})
    options = {"toolchain": toolchain, "fflags": "-O2"}
    result = project.build(commands, seeds=SEEDS, artefacts=["_out/prog", "_out/libboth.so.2"], system=options)
    assert not result.failures, result.failures
    assert not said(result.notes)
    printed = {layout: together(result, layout, project.project / "placed") for layout in ("stock", "identity", *SEEDS)}
    assert printed == dict.fromkeys(printed, b"100 343\n")


@pytest.mark.slow
def test_cmake_install_changes_the_program(project: Workshop) -> None:
    """Installing replaces the run path inside the program: no link made that file, and the message says what to do."""
    require("cmake", "cmake")
    require("gfortran", "gfortran")
    project.write_named({"sums.f90": SUMS, "main.c": CALLS_SUMS, "CMakeLists.txt": CMAKE_SHARED})
    commands = [*MIXED["cmake"][0], "cmake --install _out --prefix $PWD/_to"]
    message = only_error(project.build(commands, seeds=[1], controls=False, artefacts=["_to/bin/prog"]))
    assert "Something changed the file after the link" in message
    assert "_to/lib/libboth.so.2" in message or "name the file as it was linked" in message
