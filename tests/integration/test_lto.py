"""Link-time optimisation: code is generated once, and every layout is linked of that."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

from layoutrand.core import elf
from layoutrand.model import IDENTITY, STOCK
from workshop import FILLER, Workshop, loaded, only_error, output, require

TOOLCHAINS = {
    "gcc": ("gcc-lto", "gcc", "g++", "gcc-ar"), "gold": ("gcc-gold", "gcc -fuse-ld=gold", "g++ -fuse-ld=gold", "gcc-ar"),
    "clang-full": ("clang-lto", "clang-19 -fuse-ld=lld", "clang++-19 -fuse-ld=lld", "llvm-ar-19"),
    "clang-thin": ("clang-thinlto", "clang-19 -fuse-ld=lld", "clang++-19 -fuse-ld=lld", "llvm-ar-19"),
}  # fmt: skip
PACKAGES = {"gcc": "gcc", "ld.gold": "binutils", "clang-19": "clang-19", "ld.lld-19": "lld-19", "llvm-nm-19": "llvm-19"}
NEEDED = {"gcc": ["gcc"], "gold": ["ld.gold"], "clang-full": ["clang-19", "ld.lld-19", "llvm-nm-19"]}
NEEDED["clang-thin"] = NEEDED["clang-full"]
LTO = {"gcc": "-flto", "gold": "-flto", "clang-full": "-flto=full", "clang-thin": "-flto=thin"}

PROGRAM = {
    "main.c": """
        #include <stdio.h>
        #include <stdlib.h>
        extern const int never;
        int first(int), second(int), plain(int), packed(int), run(const int *), only_seen_before(int), pad7(int);
        __attribute__((noinline)) static int helper(int x) { return x * 3 + 1; }
        int main(int argc, char **argv) {
            static const int code[] = {0, 1, 2, 0, 1, 3};
            if (never) return only_seen_before(argc);
            int n = argc > 1 ? atoi(argv[1]) : 4;
            printf("%d %d %d %d %d %d %d\\n", helper(n), first(n), second(n), plain(n), packed(n), run(code), pad7(n));
            return 0;
        }
    """,
    "never.c": "const int never = 0;\n",
    "first.c": "__attribute__((noinline)) static int helper(int x) { return x * 5 + 1; }\n"
    "__attribute__((noinline)) int first(int x) { return helper(x) ^ 9; }\n",
    "second.c": "__attribute__((noinline)) static int helper(int x) { return x * 7 + 1; }\n"
    "__attribute__((noinline)) int second(int x) { return helper(x) ^ 5; }\n",
    "run.c": """
        __attribute__((noinline)) int run(const int *code) {
            static void *const targets[] = {&&add, &&shift, &&flip, &&stop};
            int value = 1;
        #define NEXT goto *targets[*code++]
            NEXT;
        add: value += 7; NEXT;
        shift: value <<= 2; NEXT;
        flip: value ^= 0x55; NEXT;
        stop: return value;
        }
    """,
    "plain.c": "__attribute__((noinline)) int plain(int x) { return x - 7; }\nint used_by_lib(int x) { return x + 2; }\n",
    "packed.c": "int used_by_lib(int);\n__attribute__((noinline)) int packed(int x) { return used_by_lib(x) * 2; }\n",
    "idle.c": "int used_by_lib(int);\nint idle(int x) { return used_by_lib(x) * 4; }\n",
    "only.c": "int only_seen_before(int x) { return x * 11; }\n",
    "filler.c": FILLER,
}  # fmt: skip
BUILD = """
    set -e
    for name in main never first second run packed idle filler; do $CC $LTO $OPT -c $name.c; done
    for name in plain only; do $CC $OPT -fno-lto -c $name.c; done
    rm -f libpacked.a
    $AR rcs libpacked.a idle.o packed.o only.o
    $CC $LTO $OPT $HOW main.o never.o plain.o first.o second.o run.o filler.o ${LIBS:-libpacked.a} -o prog
"""

CXX_PROGRAM = {
    "shape.h": """
        #include <cstdio>
        #include <stdexcept>
        #include <vector>
        struct Shape { virtual ~Shape() {} virtual int area() const = 0; };
        template <class T> __attribute__((noinline)) T sum(const std::vector<T> &all) { T s{}; for (T x : all) s += x; return s; }
        struct Note { const char *name; Note(const char *n); ~Note(); };
        inline __attribute__((noinline)) int shared(int x) { static int count; return ++count * x; }
    """,
    "note.cc": '#include "shape.h"\nNote::Note(const char *n) : name(n) { std::printf("+%s ", n); }\n'
    'Note::~Note() { std::printf("-%s ", name); }\nstatic Note note("note");\n',
    "square.cc": """
        #include "shape.h"
        static Note note("square");
        struct Square : Shape { int side; Square(int s) : side(s) {} int area() const override { return side * side; } };
        Shape *make_square(int side) { if (side < 0) throw std::invalid_argument("negative"); return new Square(side); }
        int in_square(int x) { return shared(x) + sum<long>({1, 2, x}); }
    """,
    "plain.cc": '#include "shape.h"\nstatic Note note("plain");\nint in_plain(int x) { return shared(x) * 2 + sum<int>({x, x}); }\n',
    "main.cc": """
        #include "shape.h"
        static Note note("main");
        Shape *make_square(int);
        int in_square(int), in_plain(int);
        extern "C" int pad7(int);
        int main() {
            try { delete make_square(-1); } catch (const std::exception &e) { std::printf("%s ", e.what()); }
            Shape *s = make_square(5);
            std::printf("%d %d %d %ld %d ", s->area(), in_square(3), in_plain(4), sum<long>({4, 5}), sum<int>({1, 2}));
            delete s;
            std::printf("%d\\n", pad7(2));
            return 0;
        }
    """,
    "filler.c": FILLER,
}  # fmt: skip
CXX_BUILD = """
    set -e
    $CC $LTO $OPT -c filler.c
    for name in main square note; do $CXX $LTO $OPT -c $name.cc; done
    $CXX $OPT -fno-lto -c plain.cc
    $CXX $LTO $OPT $HOW main.o $ORDER note.o filler.o -o prog
"""


@pytest.fixture(params=TOOLCHAINS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each toolchain that can do link-time optimisation."""
    for program in NEEDED[request.param]:
        require(program, PACKAGES[program])
    return str(request.param)


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """A project of its own."""
    return Workshop(tmp_path / "project", tmp_path / "cache")


def lto_system(kind: str, **changes: str) -> dict[str, object]:
    """The system's table: what the build script is told through its environment."""
    toolchain, *_ = TOOLCHAINS[kind]
    flags = {"LTO": LTO[kind], "OPT": "-O2", **changes}
    return {"toolchain": toolchain, "cflags": "", "env": flags}


def direct_link(folder: Path, kind: str, files: dict[str, str], script: str, **changes: str) -> Path:
    """The program built by the compiler alone, with sections as an instrumented build has them."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(dedent(text))
    _, cc, cxx, ar = TOOLCHAINS[kind]
    sections = f" -ffunction-sections -ffile-prefix-map={folder}=/layoutrand"
    env = {**os.environ, "CC": cc + sections, "CXX": cxx + sections, "AR": ar, "LTO": LTO[kind], "OPT": "-O2", **changes}
    if "clang" in kind:  # the driver would choose another lld
        env["HOW"] = f"{changes.get('HOW', '')} --ld-path={require('ld.lld-19', 'lld-19')}"
    subprocess.run(["sh", "-c", dedent(script)], cwd=folder, env=env, check=True)
    return folder / "prog"


def code_in_order(path: Path) -> list[tuple[str, int]]:
    """Name and size of every function, by address."""
    binary = elf.read(path.read_bytes(), name=str(path))
    which = [k for k in range(len(binary.symbols)) if binary.symbols["info"][k] & 0xF == elf.STT_FUNC and binary.symbols["size"][k]]
    rows = zip(
        binary.symbols["value"][which].tolist(), binary.symbol_names(which), binary.symbols["size"][which].tolist(), strict=True  # type: ignore[arg-type]
    )
    return [(name, size) for _, name, size in sorted(rows)]


@pytest.mark.parametrize("how", ["", "-static", "-static-pie", "-g", "-no-pie", "-Wl,--gc-sections", "-s", "-Wl,--as-needed"])
def test_a_c_program(workshop: Workshop, kind: str, how: str, tmp_path: Path) -> None:
    """Mixed objects and archives: identity loads what the direct link loads, every seed is verified and works."""
    workshop.write_named(PROGRAM)
    built = workshop.built(BUILD, system=lto_system(kind, HOW=how))
    direct = direct_link(tmp_path / "direct", kind, PROGRAM, BUILD, HOW=how)

    assert built.assert_all_print_as_stock("6") == output(direct, "6")
    assert loaded(built.path(IDENTITY)) == loaded(direct)
    if how != "-s":
        names = [row for row in code_in_order(built.path(IDENTITY)) if not row[0].startswith(".lr.")]
        assert names == code_in_order(direct)
        assert ("only_seen_before", 6) not in names or how == "-Wl,--gc-sections" or any(n == "only_seen_before" for n, _ in names)


@pytest.mark.parametrize("order", ["square.o plain.o", "plain.o square.o"])
def test_a_cxx_program(workshop: Workshop, kind: str, order: str, tmp_path: Path) -> None:
    """Exceptions, virtual functions, static constructors, and inline functions that a plain object has as well."""
    workshop.write_named(CXX_PROGRAM)
    built = workshop.built(CXX_BUILD, system=lto_system(kind, ORDER=order))
    direct = direct_link(tmp_path / "direct", kind, CXX_PROGRAM, CXX_BUILD, ORDER=order)

    printed = built.assert_all_print_as_stock()
    assert printed == output(direct)
    assert b"negative 25" in printed
    assert loaded(built.path(IDENTITY)) == loaded(direct)
