"""Link-time optimisation: code is generated once, and every layout is linked of that."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

from layoutrand.model import IDENTITY, STOCK
from layoutrand.objects import elf
from speeds import first_fast
from workshop import FILLER, Workshop, loaded, only_error, output, programs_of, require

TOOLCHAINS = {"gcc": "gcc-lto", "gold": "gcc-gold", "clang-full": "clang-lto", "clang-thin": "clang-thinlto"}
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
}
BUILD = """
    set -e
    for name in main never first second run packed idle filler; do $CC $LTO $OPT -c $name.c; done
    for name in plain only; do $CC $OPT -fno-lto -c $name.c; done
    rm -f libpacked.a
    $AR rcs libpacked.a idle.o packed.o only.o
    $CC $LTO $OPT $HOW main.o never.o plain.o first.o second.o run.o filler.o ${LIBS:-libpacked.a} -o prog
"""

SMALL = {
    "main.c": """
        #include <stdio.h>
        int one(int), two(int), three(int), four(int), five(int), six(int);
        int main(void) { return printf("%d\\n", one(2) + two(3) + three(4) + four(5) + five(6) + six(7)) < 0; }
    """,
    "part.c": """
        __attribute__((noinline)) int one(int x) { return x * 7; }
        __attribute__((noinline)) int two(int x) { return one(x) - 5; }
        __attribute__((noinline)) int three(int x) { return two(x) + one(x); }
        __attribute__((noinline)) int four(int x) { return three(x) * one(x); }
        __attribute__((noinline)) int five(int x) { return four(x) - two(x); }
        __attribute__((noinline)) int six(int x) { return five(x) ^ three(x); }
    """,
}
SMALL_BUILD = (
    "set -e; for name in main part; do $CC $LTO $OPT -c $name.c; done; $CC $LTO $OPT $HOW main.o part.o -o prog"
)

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
}
CXX_BUILD = """
    set -e
    $CC $LTO $OPT -c filler.c
    for name in main square note; do $CXX $LTO $OPT -c $name.cc; done
    $CXX $OPT -fno-lto -c plain.cc
    $CXX $LTO $OPT $HOW main.o $ORDER note.o filler.o -o prog
"""


OF_GCC = ["gcc", *(pytest.param(name, marks=pytest.mark.slow) for name in TOOLCHAINS if name != "gcc")]


@pytest.fixture(params=OF_GCC)
def kind(request: pytest.FixtureRequest) -> str:
    """Each toolchain that can do link-time optimisation."""
    programs_of(TOOLCHAINS[request.param])
    return str(request.param)


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """A project of its own."""
    return Workshop(tmp_path / "project", tmp_path / "cache")


def lto_system(kind: str, **changes: str) -> dict[str, object]:
    """The system's table: what the build script is told through its environment."""
    flags = {"LTO": LTO[kind], "OPT": "-O2", **changes}
    return {"toolchain": TOOLCHAINS[kind], "cflags": "", "env": flags}


def direct_link(folder: Path, kind: str, files: dict[str, str], script: str, **changes: str) -> Path:
    """The program built by the compiler alone, with sections as an instrumented build has them."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(dedent(text))
    programs = programs_of(TOOLCHAINS[kind])
    flags = f"-ffunction-sections -ffile-prefix-map={folder}=/layoutrand"
    if "clang" in kind:  # the driver by itself would choose another lld
        flags += f" -fuse-ld=lld --ld-path={programs['ld']}"
    elif kind == "gold":
        flags += " -fuse-ld=gold"
    env = {
        **os.environ,
        "CC": f"{programs['cc']} {flags}",
        "CXX": f"{programs.get('cxx', 'no-cxx-compiler')} {flags}",
        "AR": "gcc-ar" if kind == "gold" else str(programs["ar"]),
        "LTO": LTO[kind],
        "OPT": "-O2",
        **changes,
    }
    subprocess.run(["sh", "-c", dedent(script)], cwd=folder, env=env, check=True)
    return folder / "prog"


def functions(path: Path) -> list[tuple[str, int, bytes]]:
    """Name, address and code of every function, by address."""
    binary = elf.read(path.read_bytes(), name=str(path))
    rows = []
    names = binary.symbol_names(range(len(binary.symbols)))  # type: ignore[arg-type]
    for name, symbol, section in zip(names, binary.symbols, binary.symbol_sections.tolist(), strict=True):
        size = int(symbol["size"])
        if int(symbol["info"]) & 0xF == elf.STT_FUNC and size and 0 < section < elf.SHN_LORESERVE:
            at = int(symbol["value"]) - int(binary.sections["addr"][section])
            rows.append((name, int(symbol["value"]), binary.content(section)[at : at + size]))
    return sorted(rows, key=lambda row: (row[1], row[0]))


def assert_loads_the_same(identity: Path, direct: Path, kind: str, *, stripped: bool = False) -> None:
    """Order, addresses, code and data are those of the direct link."""
    first, second = functions(identity), functions(direct)
    if kind == "gold":  # told an order, it aligns and fills otherwise: places and fields that hold addresses move
        assert [(name, len(code)) for name, _, code in first] == [
            (name, len(code)) for name, _, code in second
        ] or stripped
        return
    assert first == second or stripped
    # lld fills gaps between functions otherwise when it is told an order.
    skip = set() if kind == "gcc" else {".text"}
    assert [row for row in loaded(identity) if row[0] not in skip] == [
        row for row in loaded(direct) if row[0] not in skip
    ]


@pytest.mark.parametrize(
    "how",
    [
        "",
        "-static-pie",
        "-no-pie",
        "-Wl,--gc-sections",
        *(pytest.param(flag, marks=pytest.mark.slow) for flag in ("-static", "-g", "-s", "-Wl,--as-needed")),
    ],
)
def test_a_c_program(workshop: Workshop, kind: str, how: str, tmp_path: Path) -> None:
    """Mixed objects and archives: identity loads what the direct link loads, every seed is verified and works."""
    if (kind, how) == ("gold", "-static-pie"):
        pytest.skip("gold cannot make static-pie programs, with link-time optimisation or without")
    workshop.write_named(PROGRAM)
    built = workshop.built(BUILD, system=lto_system(kind, HOW=how))
    direct = direct_link(tmp_path / "direct", kind, PROGRAM, BUILD, HOW=how)

    assert built.assert_all_print_as_stock("6") == output(direct, "6")
    assert_loads_the_same(built.path(IDENTITY), direct, kind, stripped=how == "-s")
    if how not in ("-s", "-Wl,--gc-sections"):  # pulled in by what the optimisation did away with
        assert "only_seen_before" in {name for name, *_ in functions(built.path(IDENTITY))}


@pytest.mark.slow
@pytest.mark.parametrize("order", first_fast(1, ["square.o plain.o", "plain.o square.o"]))
def test_a_cxx_program(workshop: Workshop, kind: str, order: str, tmp_path: Path) -> None:
    """Exceptions, virtual functions, static constructors, and inline functions that a plain object has as well."""
    require("g++", "g++")
    workshop.write_named(CXX_PROGRAM)
    built = workshop.built(CXX_BUILD, system=lto_system(kind, ORDER=order))
    direct = direct_link(tmp_path / "direct", kind, CXX_PROGRAM, CXX_BUILD, ORDER=order)

    printed = built.assert_all_print_as_stock()
    assert printed == output(direct)
    assert b"negative 25" in printed
    assert_loads_the_same(built.path(IDENTITY), direct, kind)


@pytest.mark.slow
@pytest.mark.parametrize("flags", first_fast(1, ["balanced", "none", "one", "1to1"]))
def test_partitionings_and_ways_to_work(workshop: Workshop, flags: str, tmp_path: Path) -> None:
    """Every partitioning, with temporary files kept, pipes, and parallel generation."""
    require("gcc", "gcc")
    workshop.write_named(PROGRAM)
    how = f"-flto-partition={flags} -flto=2 -pipe" + (" -save-temps" if flags != "none" else "")
    built = workshop.built(BUILD, system=lto_system("gcc", HOW=how))
    direct = direct_link(tmp_path / "direct", "gcc", PROGRAM, BUILD, HOW=how)

    assert_loads_the_same(built.path(IDENTITY), direct, "gcc")
    assert built.result.capture is not None
    assert built.result.capture.links[0].lto == flags


def test_a_partition_to_every_function(workshop: Workshop, tmp_path: Path) -> None:
    """gcc's finest partitioning, of a program without computed jumps: with these its own link fails."""
    require("gcc", "gcc")
    workshop.write_named(SMALL)
    built = workshop.built(SMALL_BUILD, system=lto_system("gcc", HOW="-flto-partition=max"))
    direct = direct_link(tmp_path / "direct", "gcc", SMALL, SMALL_BUILD, HOW="-flto-partition=max")

    assert built.assert_all_print_as_stock() == output(direct)
    assert_loads_the_same(built.path(IDENTITY), direct, "gcc")
    assert built.result.capture is not None
    assert built.result.capture.links[0].lto == "max"


def test_clangs_optimisation_with_gnu_ld_is_refused(workshop: Workshop) -> None:
    """Its plugin hands the linker native code that no wrapper sees: the user's own build works, layouts do not."""
    programs_of("clang")
    workshop.write_named(SMALL)
    result = workshop.build(
        SMALL_BUILD,
        system={"toolchain": "clang", "cflags": "-O2 -flto", "env": {"LTO": "-flto", "OPT": ""}},
        layouts=[STOCK, 1],
    )

    assert [binary.layout for binary in result.binaries] == [STOCK]
    assert "and with lld if that is clang" in only_error(result)


def test_flags_of_the_system_do_as_well(workshop: Workshop) -> None:
    """-flto in cflags with the plain toolchain: the same seeds, verified."""
    require("gcc", "gcc")
    workshop.write_named(PROGRAM)
    built = workshop.built(BUILD, system={"toolchain": "gcc", "cflags": "-O2 -flto"})

    built.assert_all_print_as_stock()
    assert built.result.capture is not None
    assert {section.object for section in built.result.capture.links[0].sections if not section.pinned} == {"lto"}


@pytest.mark.slow
def test_a_seed_has_the_same_bytes_again_and_couples_systems(tmp_path: Path) -> None:
    """Functions that two systems share keep their relative order, though partitions and flags differ."""
    require("gcc", "gcc")
    orders, digests = [], []
    for number, flags in enumerate(
        ["-flto-partition=balanced", "-flto-partition=balanced", "-flto-partition=one -falign-functions=4"]
    ):
        shop = Workshop(tmp_path / str(number), tmp_path / f"cache{number}")
        shop.write_named(PROGRAM)
        built = shop.built(BUILD, system=lto_system("gcc", HOW=flags), seeds=[1, 2])
        digests.append([built.by_layout[seed].sha256 for seed in (1, 2)])
        orders.append(
            [
                [name for name, *_ in functions(built.path(seed)) if name.startswith(("pad", "run", "packed"))]
                for seed in (1, 2)
            ]
        )

    assert digests[0] == digests[1]
    assert orders[0] == orders[2]
    assert orders[0][0] != orders[0][1]


@pytest.mark.slow
def test_module_factors_where_modules_are_kept_apart(workshop: Workshop) -> None:
    """One partition to a module: modules move whole; where they are mixed the message says what to do."""
    require("gcc", "gcc")
    workshop.write_named(PROGRAM)
    layout = {"factors": ["module-order"]}
    built = workshop.built(BUILD, system=lto_system("gcc", HOW="-flto-partition=1to1"), layout=layout, seeds=[1, 2])
    names = [name for name, *_ in functions(built.path(1)) if name.startswith("pad")]
    refused = Workshop(workshop.project.parent / "mixed", workshop.cache)
    refused.write_named(PROGRAM)
    result = refused.build(BUILD, system=lto_system("gcc"), layout=layout, layouts=[IDENTITY, 1])

    assert names == [f"pad{number}" for number in range(8)]
    assert built.result.capture is not None
    assert "lto/first.o" in {section.object for section in built.result.capture.links[0].sections}
    assert "'module-order' needs modules" in only_error(result)
    assert "-flto-partition=1to1" in only_error(result)


def test_modules_that_are_mixed_are_the_reason_also_where_the_capture_is_there(workshop: Workshop) -> None:
    """And not that too few sections can move, though with one partition that is so, too."""
    require("gcc", "gcc")
    workshop.write_named(SMALL)
    workshop.built(SMALL_BUILD, system=lto_system("gcc", HOW=""), seeds=[1])
    result = workshop.build(
        SMALL_BUILD, system=lto_system("gcc", HOW=""), layout={"factors": ["module-order"]}, layouts=[IDENTITY, 1]
    )

    assert result.cached
    assert "'module-order' needs modules" in only_error(result)


def test_modules_that_are_mixed_are_the_reason_also_without_the_linker(workshop: Workshop) -> None:
    """No seed is written where none could be linked."""
    require("gcc", "gcc")
    workshop.write_named(SMALL)
    system = lto_system("gcc", HOW="")
    workshop.built(SMALL_BUILD, system=system, seeds=[1], layout={"engine": "permute"})
    layout = {"factors": ["module-order"], "engine": "permute"}
    result = workshop.build(SMALL_BUILD, system=system, layout=layout, layouts=[IDENTITY, 1, 2, 3])

    assert {failure.layout for failure in result.failures} == {1, 2, 3}
    assert "'module-order' needs modules" in only_error(result)


def test_what_was_written_all_the_same_is_not_taken_from_the_cache(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it was refused without the linker, too, layouts of partitions were put into caches as those of modules."""
    require("gcc", "gcc")
    workshop.write_named(SMALL)
    system, layout = lto_system("gcc", HOW=""), {"factors": ["module-order"], "engine": "permute"}
    workshop.built(SMALL_BUILD, system=system, seeds=[1], layout={"engine": "permute"})
    with monkeypatch.context() as before:
        for where in (
            "build.linking.require_factors",
            "link.relink.require_factors",
            "link.one_layout.require_factors",
        ):
            before.setattr(f"layoutrand.{where}", lambda *_: None)
        before.setattr("layoutrand.link.one_layout.may_differ", lambda *_, **__: True)
        wrong = workshop.build(SMALL_BUILD, system=system, layout=layout, seeds=[1])
        assert [binary.layout for binary in wrong.binaries if isinstance(binary.layout, int)] == [1]
    result = workshop.build(SMALL_BUILD, system=system, layout=layout, seeds=[1])

    assert {failure.layout for failure in result.failures} == {1}
    assert "'module-order' needs modules" in only_error(result)


@pytest.mark.slow
def test_thinlto_keeps_modules_apart(workshop: Workshop) -> None:
    """Each native object is made of one module, so module factors have their meaning."""
    programs_of("clang-thinlto")
    workshop.write_named(PROGRAM)
    built = workshop.built(
        BUILD, system=lto_system("clang-thin"), layout={"factors": ["function-order-in-module"]}, seeds=[1, 2]
    )

    assert built.result.capture is not None
    assert "lto/filler.o" in {section.object for section in built.result.capture.links[0].sections}
    built.assert_all_print_as_stock()


@pytest.mark.slow
@pytest.mark.parametrize("kind", TOOLCHAINS, indirect=True)  # in `make test` too
def test_an_archive_found_by_its_name(workshop: Workshop, kind: str, tmp_path: Path) -> None:
    """-lpacked leads to intermediate code as its path does."""
    workshop.write_named(PROGRAM)
    built = workshop.built(BUILD, system=lto_system(kind, LIBS="-L. -lpacked"))
    direct = direct_link(tmp_path / "direct", kind, PROGRAM, BUILD, LIBS="-L. -lpacked")

    assert_loads_the_same(built.path(IDENTITY), direct, kind)


@pytest.mark.parametrize("how", ["-shared -fPIC", "-Wl,--whole-archive libpacked.a -Wl,--no-whole-archive"])
def test_shared_libraries_and_whole_archives(workshop: Workshop, kind: str, how: str, tmp_path: Path) -> None:
    """All members of an archive, and a library whose symbols stay visible."""
    changes = {"HOW": how, "OPT": "-O2 -fPIC"}
    if "whole" in how:
        changes["LIBS"] = " "
    script = BUILD.replace("${LIBS:-libpacked.a}", "${LIBS-libpacked.a}")
    workshop.write_named(PROGRAM)
    built = workshop.built(script, system=lto_system(kind, **changes))
    direct = direct_link(tmp_path / "direct", kind, PROGRAM, script, **changes)

    assert_loads_the_same(built.path(IDENTITY), direct, kind)


def test_fat_objects_need_no_plugin(tmp_path: Path) -> None:
    """lld takes their machine code, as the user's own link does."""
    require("ld.lld-19", "lld-19")
    shop = Workshop(tmp_path / "project", tmp_path / "cache", "lld-19")
    shop.write_named(PROGRAM)
    built = shop.built(BUILD, system={"env": {"LTO": "-flto -ffat-lto-objects", "OPT": "-O2", "AR": "gcc-ar"}})

    built.assert_all_print_as_stock()
    assert built.result.capture is not None
    assert built.result.capture.links[0].lto == ""


def test_stock_is_the_users_own_link(workshop: Workshop, kind: str) -> None:
    """Stock is link-time optimised as well, without our sections."""
    workshop.write_named(PROGRAM)
    built = workshop.built(BUILD, system=lto_system(kind), seeds=[1])

    assert b".gnu.lto_" not in built.path(STOCK).read_bytes()
    assert "helper" in " ".join(name for name, *_ in functions(built.path(STOCK)))


def test_code_of_gcc_that_lld_cannot_read_is_told(tmp_path: Path) -> None:
    """Its symbols are undefined to lld, which says no more; where there is machine code, another one is."""
    require("ld.lld-19", "lld-19")
    shop = Workshop(tmp_path / "project", tmp_path / "cache", "lld-19")
    shop.write_named({"main.c": "int elsewhere(void); int main(void) { return elsewhere(); }"})
    told = "main.o holds gcc's link-time optimisation code only"
    commands = "ln -s nowhere gone.o; echo text > text.o; $CC -c main.c && $CC -o prog main.o"
    slim = only_error(shop.build(commands, controls=False, system={"cflags": "-O2 -flto"}))
    fat = only_error(shop.build(commands, controls=False, system={"cflags": "-O2 -flto -ffat-lto-objects"}))
    assert "undefined symbol: main\n" in slim
    assert slim.count(told) == 1
    assert "compile with -ffat-lto-objects" in slim
    assert "undefined symbol: elsewhere" in fat
    assert told not in fat
