"""Every language that compiler drivers take, by gcc and by clang: objects of each kind captured, placed and verified."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from layoutrand.objects import elf
from layoutrand.objects.kinds import classify
from warningkit import said
from workshop import FILLER, Built, Workshop, in_order, main_calling, many_functions, require

VERSIONS = {"gcc": "gcc", "clang-19": "clang-19", "clang-14": "clang-14"}
LINKED_BY = {"gnu": ("gnu", "ld.bfd"), "lld-19": ("lld", "ld.lld-19"), "lld-14": ("lld", "ld.lld-14")}
FAST = {("gcc", "gnu")}
OF_CLANG_TOO = {("clang-19", "lld-19"): ("test_assembler", "test_other_sources_that_clang_takes")}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every compiler with every linker; most pairs are slow tests."""
    if "pair" in metafunc.fixturenames:
        pairs = [(compiler, linker) for compiler in VERSIONS for linker in LINKED_BY]
        metafunc.parametrize(
            "pair",
            [
                pytest.param(
                    pair,
                    id="+".join(pair),
                    marks=()
                    if pair in FAST or metafunc.function.__name__ in OF_CLANG_TOO.get(pair, ())
                    else (pytest.mark.slow,),
                )
                for pair in pairs
            ],
        )


@pytest.fixture
def shop(tmp_path: Path, pair: tuple[str, str]) -> Workshop:
    """A project whose toolchain is one compiler and one linker."""
    compiler, linker = pair
    kind, program = LINKED_BY[linker]
    for needed in (VERSIONS[compiler], "g++", program):
        require(needed, "binutils" if needed == "ld.bfd" else needed.removeprefix("ld."))
    made = Workshop(tmp_path / "project", tmp_path / "cache")
    base = ("gcc" if compiler == "gcc" else "clang") + ("-lld" if kind == "lld" else "")
    made.chosen = f"toolchains/{compiler}-{linker}.toml"
    path = made.project / made.chosen
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f'name = "pair"\ndescription = "one compiler and one linker"\nextends = "{base}"\n'
        f'[tools]\ncc = ["{compiler}"]\nld = ["{program}"]\n'
    )
    return made


@pytest.fixture
def gnu(tmp_path: Path) -> Workshop:
    """A project for gcc and GNU ld."""
    return Workshop(tmp_path / "project", tmp_path / "cache")


def build(shop: Workshop, commands: str, **changes: object) -> Built:
    """Three verified, distinct layouts and the controls, all of which print the same."""
    built = shop.built(commands, seeds=[1, 2, 3], **changes)  # type: ignore[arg-type]
    built.assert_all_print_as_stock()
    return built


CLASSES = """
    #include <stdio.h>
    #include <stdlib.h>
    __attribute__((cold, noinline)) void complain{0}(int x) {{ if (x > 1000) {{ puts("too large"); exit(3); }} }}
    __attribute__((hot, noinline)) int busy{0}(int x) {{ int s = 0; for (int k = 0; k < x; k++) s += k * x ^ {1}; return s; }}
    static __attribute__((noinline)) int helper(int x) {{ return x * {1} + 1; }}
    int plain{0}(int x) {{ if (x > 900) complain{0}(x); return busy{0}(x) + helper(x); }}
"""


@pytest.mark.parametrize(
    "flags", ["-O2", "-O2 -no-integrated-as", "-O0 -g", "-Os -fno-pic -no-pie", "-O2 -fcommon -g -gz"]
)
def test_c(shop: Workshop, flags: str, pair: tuple[str, str]) -> None:
    """C with cold, hot and static functions; address-significance tables, and clang with another assembler."""
    if "integrated-as" in flags and pair[0] == "gcc":
        pytest.skip("gcc has no assembler of its own")
    shop.write_named({f"{unit}.c": CLASSES.format(f"_{unit}", number) for number, unit in enumerate("abc", 3)})
    shop.write(main__c=main_calling("plain_a", "plain_b", "plain_c"))
    built = build(shop, f"$CC {flags} -c *.c && $CC {flags} -o prog main.o a.o b.o c.o", system={"cflags": ""})
    assert built.result.capture is not None
    [link] = built.result.capture.links
    assert {section.kind for section in link.sections if "complain" in section.name or "busy" in section.name} == (
        {"text"} if "-O0" in flags else {"unlikely", "hot"}
    )


def test_class_names_of_clang(tmp_path: Path) -> None:
    """clang ends its class prefixes with a dot, so that functions called hot are none of the hot class."""
    require("clang-19", "clang-19")
    text = 'int hot(int x) { return x; } __attribute__((section(".text.hot."))) int b(int x) { return x; }\n'
    (tmp_path / "a.c").write_text(text + "__attribute__((cold)) int c(int x) { return x; }\n")
    subprocess.run(["clang-19", "-O1", "-ffunction-sections", "-c", "a.c"], cwd=tmp_path, check=True)
    names = elf.read((tmp_path / "a.o").read_bytes(), name="a.o").section_names
    found = {name: classify(name) for name in names if name.startswith(".text.")}
    assert found == {".text.hot": "hot", ".text.hot.": "hot", ".text.unlikely.c": "unlikely"}


UNIT = """
    #include "shared.h"
    {0}
    static Traced one("{1}1"), two("{1}2");
    struct {1} : Shape {{
        int area(int x) const override {{ return guarded<int>(x, {2}) + small(std::string("{1}")); }}
        ~{1}() override {{ note("~{1}"); }}
    }};
    std::unique_ptr<Shape> make_{1}() {{ return std::unique_ptr<Shape>(new {1}); }}
"""
SHARED = """
    #pragma once
    #include <cstdio>
    #include <map>
    #include <memory>
    #include <stdexcept>
    #include <string>
    #include <vector>
    inline std::vector<std::string> &order() { static std::vector<std::string> all; return all; }
    inline void note(const std::string &text) { std::printf("%s ", text.c_str()); }
    struct Traced { std::string name; explicit Traced(const char *n) : name(n) { order().push_back(name); } ~Traced() { note("-" + name); } };
    struct Shape { virtual int area(int) const = 0; virtual ~Shape() = default; };
    struct Odd : std::runtime_error { using std::runtime_error::runtime_error; };
    template <class T> __attribute__((noinline)) T thrower(T x) { if (x & 1) throw Odd("odd " + std::to_string(x)); return x * 3; }
    template <class T> T guarded(T x, T other) {
        std::map<std::string, T> seen;
        try { seen["even"] = thrower(x); seen["odd"] = thrower(other); } catch (const Odd &e) { seen[e.what()] = x + other; }
        T total{};
        for (const auto &[name, value] : seen) total += value + static_cast<T>(name.size());
        return total;
    }
    inline int small(const std::string &s) { return static_cast<int>(s.size()); }
"""
CXX_MAIN = """
    #include "shared.h"
    std::unique_ptr<Shape> make_A(), make_B(), make_C();
    thread_local std::string each = "thread";
    int main() {
        for (const std::string &name : order()) note(name);
        for (auto make : {make_A, make_B, make_C}) std::printf("%d ", make()->area(4));
        try { make_B()->area(5); throw 7; } catch (int x) { std::printf("%d %s\\n", x, each.c_str()); }
    }
"""


def write_cxx(shop: Workshop) -> None:
    """A program of four files with everything that C++ puts into objects."""
    priority = '__attribute__((constructor(200))) static void early() { order().push_back("early"); }'
    shop.write_named(
        {
            "shared.h": SHARED,
            "main.cc": CXX_MAIN,
            **{f"{name}.cc": UNIT.format(priority if name == "B" else "", name, k) for k, name in enumerate("ABC", 5)},
        }
    )


@pytest.mark.parametrize("library", ["", pytest.param("-static", marks=pytest.mark.hour)])
def test_cxx(shop: Workshop, library: str) -> None:
    """Templates in COMDAT groups, exceptions, virtual functions; constructors and destructors run in link order."""
    write_cxx(shop)
    built = build(shop, f"$CXX -std=c++17 {library} -c *.cc && $CXX {library} -o prog C.o main.o A.o B.o")
    printed = built.outputs()["stock"].decode()
    assert printed.startswith("early C1 C2 A1 A2 B1 B2 "), printed
    assert re.search(r"~A .*~B .*~C .*7 thread\n-B2 -B1 -A2 -A1 -C2 -C1 $", printed), printed


TABLES = """
    static const int table[4] = {1, 2, 3, 4};
    const char *names[] = {"a", "b"};
    int counters[100];
    static int kept[7] = {1};
    int *into = &kept[2];
    const double half = 0.5;
    __thread int each = 4;
    int tables(int x) { int a[] = {5, 6, 7, 8, 9, 1, 2, 3}; return a[x] + table[x & 3] + *into + each + counters[x] + (int)(half * x); }
"""


@pytest.mark.slow
def test_data_moves_too(shop: Workshop) -> None:
    """Variables and constants as each compiler lays them out: local arrays' initial values, tables, thread-local data."""
    write_cxx(shop)
    shop.write(tables__c=TABLES)
    commands = "$CC -c tables.c && $CXX -std=c++17 -c *.cc && $CXX -o prog C.o main.o A.o tables.o B.o"
    built = build(shop, commands, layout={"factors": ["function-order", "data-order"]})
    variables = ["names", "kept", "into"]
    assert len({tuple(in_order(binary.path, variables)) for binary in built.seeded.values()}) > 1


ASSEMBLER = """
    .text
    .p2align 4
    .globl plain
    .type plain, @function
    plain: leal 3(%rdi), %eax
        ret
    .size plain, . - plain
    .section .text.own,"ax",@progbits
    .globl own
    .type own, @function
    own: .cfi_startproc
        pushq %rbx
        .cfi_def_cfa_offset 16
        movl %edi, %ebx
        call plain
        addl %ebx, %eax
        popq %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
    .size own, . - own
    .section .note.GNU-stack,"",@progbits
"""
PREPROCESSED = """
    #define NAME third
    #include "size.h"
    .section .text.third,"ax",@progbits
    .globl NAME
    .type NAME, @function
    NAME: leal SIZE(%rdi), %eax
        ret
    .size NAME, . - NAME
    .section .note.GNU-stack,"",@progbits
"""


@pytest.mark.parametrize("how", ["$CC -c -g", "$CC -c -no-integrated-as", "$CC -c -Werror"])
def test_assembler(shop: Workshop, how: str, pair: tuple[str, str]) -> None:
    """.s and .S files, with sections of their own or one .text, through the driver and without a warning of ours."""
    if "integrated-as" in how and pair[0] == "gcc":
        pytest.skip("gcc has no assembler of its own")
    shop.write_named({"a.s": ASSEMBLER, "b.S": PREPROCESSED, "size.h": "#define SIZE 40\n", "pad.c": FILLER})
    shop.write(main__c=main_calling("plain", "own", "third"))
    built = build(shop, f"{how} a.s b.S 2> said; cat said; test ! -s said && $CC -c main.c pad.c && $CC -o prog *.o")
    built.assert_prints("plain 8\nown 13\nthird 45\n")
    orders = {tuple(in_order(binary.path, ["plain", "own", "third", "pad3"])) for binary in built.seeded.values()}
    assert len(orders) > 1


FORTRAN = {
    "kinds.f90": """
        module kinds
          implicit none
          integer, parameter :: wide = selected_real_kind(15)
          type :: pair
            real(wide) :: a, b
          contains
            procedure :: total => pair_total
          end type
        contains
          pure function pair_total(self) result(t)
            class(pair), intent(in) :: self
            real(wide) :: t
            t = self%a + self%b
          end function
          recursive integer function fact(n) result(r)
            integer, intent(in) :: n
            if (n < 2) then
              r = 1
            else
              r = n * fact(n - 1)
            end if
          end function
        end module
    """,
    "old.f": """
      INTEGER FUNCTION ISUM(N)
      INTEGER N, I
      COMMON /KEPT/ LAST
      ISUM = 0
      DO 10 I = 1, N
        ISUM = ISUM + I
   10 CONTINUE
      LAST = ISUM
      END
    """,
    "main.F90": """
        #ifndef FACTOR
        #error not preprocessed
        #endif
        program main
          use kinds
          use, intrinsic :: iso_c_binding
          implicit none
          interface
            integer(c_int) function from_c(x) bind(c)
              import :: c_int
              integer(c_int), value :: x
            end function
          end interface
          integer, external :: isum
          integer :: last
          common /kept/ last
          type(pair) :: p
          real(wide), allocatable :: field(:, :)
          p = pair(1.5_wide, 2.25_wide)
          allocate (field(20, 30))
          field = FACTOR
          print '(f6.2, 3i8, f10.1, i6)', p%total(), fact(6), isum(100), from_c(5), sum(matmul(field, transpose(field))), last
        end program
    """,
}


def test_fortran(shop: Workshop) -> None:
    """Modules, fixed form, COMMON blocks and calls to C, by $FC and by gfortran, linked by the Fortran driver."""
    require("gfortran", "gfortran")
    shop.write_named(
        {name: text if name == "old.f" else text.replace("\n        ", "\n") for name, text in FORTRAN.items()}
    )
    (shop.source / "old.f").write_text(FORTRAN["old.f"].lstrip("\n"))
    shop.write(c__c=many_functions(5) + "int from_c(int x) { return f4(x); }\n")
    commands = "$FC -c kinds.f90 && gfortran -c old.f && $F77 -DFACTOR=2 -c main.F90 && $CC -c c.c && $FC -o prog main.o kinds.o old.o c.o"
    built = build(shop, commands, system={"fflags": "-O2"})
    assert built.outputs()[1].split() == [b"3.75", b"720", b"5050", b"190", b"48000.0", b"5050"]
    assert built.result.capture is not None
    names = {section.name for section in built.result.capture.links[0].sections if not section.pinned}
    assert {".text.__kinds_MOD_fact", ".text.isum_", ".text.f4"} <= names
    assert not said(built.result.notes)


def test_fortran_flags_are_their_own(gnu: Workshop) -> None:
    """fflags reach Fortran, cflags do not."""
    require("gfortran", "gfortran")
    gnu.write_named({"m.f90": "program m\nprint *, X\nend program\n"})
    gnu.write(pad__c=FILLER)
    commands = "$CC -c pad.c && gfortran -cpp -c m.f90 && gfortran -o prog m.o pad.o"
    built = build(gnu, commands, system={"cflags": "-DX=1", "fflags": "-DX=42"})
    assert built.outputs()["stock"].split() == [b"42"]


def test_flags_of_c_for_fortran_alone_are_an_error(gnu: Workshop) -> None:
    """Systems that differ in them would be one program twice; the error has the key that Fortran's flags have."""
    require("gfortran", "gfortran")
    gnu.write_named({"m.f90": "program m\nprint *, 42\nend program\n"})
    result = gnu.build("gfortran -c m.f90 && gfortran -o prog m.o", seeds=[1], system={"cflags": "-O2"})
    assert not result.binaries
    cause = 'cflags = "-O2" reached no compilation: all was done by the Fortran compiler, whose flags are fflags'
    assert {failure.cause.startswith(cause) for failure in result.failures} == {True}


@pytest.mark.parametrize(("fflags", "expected"), [("", 1), ("-O1", 0)])
def test_fortran_beside_c_without_flags_of_its_own_is_told(gnu: Workshop, fflags: str, expected: int) -> None:
    """Where C is given flags that Fortran is not."""
    require("gfortran", "gfortran")
    gnu.write_named({"m.f90": "program m\nprint *, 42\nend program\n"})
    gnu.write(pad__c=FILLER)
    commands = "$CC -c pad.c && gfortran -c m.f90 && gfortran -o prog m.o pad.o"
    notes = build(gnu, commands, system={"cflags": "-O2", "fflags": fflags}).result.notes
    told = 'Fortran was compiled without cflags = "-O2": its flags are fflags'
    assert sum(told in sentence for sentence in said(notes)) == expected


@pytest.mark.parametrize(
    ("given", "unused"),
    [
        (
            {"cflags": "-O2", "cxxflags": "-O3"},
            'cxxflags = "-O3" reached no compilation: nothing was compiled by the C++ compiler',
        ),
        (
            {"cflags": "-O2", "fflags": "-O3"},
            'fflags = "-O3" reached no compilation: nothing was compiled by the Fortran compiler',
        ),
        ({"cflags": "-O2"}, ""),
    ],
)
def test_flags_of_a_language_of_which_nothing_is_compiled_are_told(
    gnu: Workshop, given: dict[str, str], unused: str
) -> None:
    """A configuration script's own tests of a C++ compiler are no compilation of C++."""
    require("g++", "g++")
    gnu.write(a__c=many_functions(8), main__c=main_calling("f1"))
    commands = (
        "echo 'int main() {}' > conftest.cpp && $CXX -c conftest.cpp && $CC -c a.c main.c && $CC -o prog a.o main.o"
    )
    notes = said(build(gnu, commands, system=given).result.notes)
    found = [sentence for sentence in notes if "reached no compilation" in sentence]
    assert found == ([f"sys: prog: {unused}"] if unused else [])


def test_what_a_build_warns_of_is_told_of_no_other_build_of_the_same_program(gnu: Workshop) -> None:
    """Systems whose flags give one program share its capture: what is told of each is of its own flags, each time."""
    gnu.write(a__c=many_functions(8), main__c=main_calling("f1"))
    systems = {"a": {"cflags": "-O2", "fflags": "-O3"}, "b": {"cflags": "-O2"}, "c": {"cflags": "-O2", "cxxflags": ""}}
    config = gnu.config("$CC -c a.c main.c && $CC -o prog a.o main.o", systems=systems)
    for _ in range(2):
        results = gnu.build_all(config, layouts=["identity", 1])
        assert len({result.capture.id for result in results if result.capture is not None}) == 1
        unused = [sum("reached no compilation" in sentence for sentence in said(each.notes)) for each in results]
        assert unused == [1, 0, 0]


def test_flags_of_cxx_for_c_alone_are_an_error(gnu: Workshop) -> None:
    """Systems that differ in them would be one program twice."""
    gnu.write(a__c=many_functions(8), main__c=main_calling("f1"))
    result = gnu.build(
        "$CC -c a.c main.c && $CC -o prog a.o main.o", seeds=[1], system={"cflags": "", "cxxflags": "-O2"}
    )
    assert not result.binaries
    cause = 'cxxflags = "-O2" reached no compilation: all was done by the C compiler, whose flags are cflags'
    assert {failure.cause.startswith(cause) for failure in result.failures} == {True}


def test_no_stock_is_built_of_flags_that_reached_nobody(gnu: Workshop) -> None:
    """The build for its layouts has said so before: stock was built all the same, to fail alike."""
    gnu.write(a__c=many_functions(8), main__c=main_calling("f1"))
    count = gnu.project / "count"
    commands = f"echo >> {count} && $CC -c a.c main.c && $CC -o prog a.o main.o"
    config = gnu.config(commands, system={"cflags": "", "cxxflags": "-O2"})
    (result,) = gnu.build_all(config, layouts=["stock", 1], jobs=1)
    assert {failure.layout for failure in result.failures} == {"stock", 1}
    assert len({failure.cause for failure in result.failures}) == 1
    assert count.read_text() == "\n"


def test_other_sources_that_clang_takes(shop: Workshop, pair: tuple[str, str]) -> None:
    """LLVM's own assembler text is compiled with function sections too."""
    if pair[0] == "gcc":
        pytest.skip("gcc takes no .ll files")
    shop.write(a__c=many_functions(5), main__c=main_calling("f4"))
    built = build(shop, "$CC -O1 -S -emit-llvm a.c && rm a.c && $CC -c a.ll main.c && $CC -o prog a.o main.o")
    assert not said(built.result.notes)
