"""What a program means does not depend on its layout: order, choice and extraction by the linker stay as they were."""

from __future__ import annotations

import pytest

from speeds import only_fast
from warningkit import said
from workshop import FILLER, LOADER, Workshop, output, plain_program, symbols


@pytest.mark.slow
def test_constructors_and_destructors_keep_their_order(shop: Workshop) -> None:
    """Static constructors run in link order and by priority in every layout, destructors in reverse."""
    unit = """
        #include <cstdio>
        namespace {{ struct Note {{ const char *name; Note(const char *n) : name(n) {{ std::printf("+%s ", n); }}
                                   ~Note() {{ std::printf("-%s ", name); }} }}; }}
        static Note first("{0}1"), second("{0}2");
        __attribute__((constructor(150))) static void early() {{ std::printf("early-{0} "); }}
        __attribute__((destructor)) static void late() {{ std::printf("late-{0} "); }}
    """
    shop.write(
        a__cc=unit.format("a"), b__cc=unit.format("b"), c__cc=unit.format("c"), main__cc="int main() { return 0; }\n"
    )
    built = shop.built("$CXX -c a.cc b.cc c.cc main.cc && $CXX -o prog a.o b.o c.o main.o")
    built.assert_prints("early-a early-b early-c +a1 +a2 +b1 +b2 +c1 +c2 -c2 -c1 -b2 -b1 -a2 -a1 late-c late-b late-a ")


def test_init_and_fini_sections_stay_in_place(shop: Workshop) -> None:
    """Code put into .init and .fini by hand is executed around main, between the start files' own parts."""
    shop.write(
        filler__c=FILLER,
        main__c="""
            #include <stdio.h>
            #include <unistd.h>
            void at_start(void) { (void)!write(1, "start ", 6); }
            void at_end(void) { (void)!write(1, "end", 3); }
            int main(void) { (void)!write(1, "main ", 5); return 0; }
        """,
        hooks__S="""
            .section .init, "ax", @progbits
            call at_start
            .section .fini, "ax", @progbits
            call at_end
            .section .note.GNU-stack, "", @progbits
        """,
    )
    shop.built("$CC -c main.c hooks.S filler.c && $CC -o prog main.o hooks.o filler.o").assert_prints("start main end")


def test_linker_sets_keep_their_order(shop: Workshop) -> None:
    """The entries between __start_X and __stop_X are those of the link line, in its order."""
    unit = """
        static const char *entry(void) {{ return "{0}"; }}
        typedef const char *(*Entry)(void);
        __attribute__((section("registry"), used)) static const Entry slot = entry;
    """
    shop.write(
        filler__c=FILLER,
        one__c=unit.format("one "),
        two__c=unit.format("two "),
        three__c=unit.format("three "),
        main__c="""
            #include <stdio.h>
            typedef const char *(*Entry)(void);
            extern const Entry __start_registry[], __stop_registry[];
            int main(void) {
                for (const Entry *e = __start_registry; e < __stop_registry; e++) fputs((*e)(), stdout);
                return 0;
            }
        """,
    )
    built = shop.built("$CC -c *.c && $CC -o prog main.o two.o filler.o one.o three.o")
    built.assert_prints("two one three ")


def test_the_same_comdat_copy_is_chosen(shop: Workshop) -> None:
    """Two files instantiate one template with other flags: every layout holds the copy that the link line chooses."""
    unit = """
        #include "sum.h"
        int {0}(int n) {{ return sum<int>(n); }}
    """
    shop.write_named(
        {
            "sum.h": """
            template <class T> __attribute__((noinline)) T sum(int n) {
                T total = 0;
                for (int i = 0; i < n; i++) total += i * i ^ n;
                return VARIANT + total;
            }
        """,
            "a.cc": "#define VARIANT 1000\n" + unit.format("a"),
            "b.cc": "#define VARIANT 2000\n" + unit.format("b"),
            "filler.c": FILLER,
            "main.cc": '#include <cstdio>\nint a(int), b(int);\nint main() { std::printf("%d %d\\n", a(5), b(5)); }\n',
        }
    )
    built = shop.built(
        "$CXX -c -O3 b.cc && $CXX -c -O1 a.cc main.cc && $CC -c filler.c && $CXX -o prog main.o b.o a.o filler.o"
    )
    printed = built.assert_all_print_as_stock()
    first, second = printed.split()
    assert first == second
    assert int(first) > 2000


def test_the_same_weak_definition_is_chosen(shop: Workshop) -> None:
    """Of two weak definitions the first on the link line is used, and a strong one beats both."""
    shop.write(
        a__c='__attribute__((weak)) const char *who(void) { return "a"; }\n__attribute__((weak)) const char *boss(void) { return "a"; }\n',
        b__c='__attribute__((weak)) const char *who(void) { return "b"; }\n__attribute__((weak)) const char *boss(void) { return "b"; }\n',
        c__c='const char *boss(void) { return "c"; }\n',
        filler__c=FILLER,
        main__c="#include <stdio.h>\nconst char *who(void), *boss(void);\n__attribute__((weak)) int absent(void);\n"
        'int main(void) { printf("%s %s %d", who(), boss(), absent ? 1 : 0); return 0; }\n',
    )
    built = shop.built("$CC -c a.c b.c c.c main.c filler.c && $CC -o prog main.o b.o a.o c.o filler.o")
    built.assert_prints("b c 0")


@pytest.mark.slow
def test_exceptions_cross_reordered_functions(shop: Workshop) -> None:
    """Unwinding finds handlers and destructors however the functions it passes through are ordered."""
    shop.write(
        deep__cc="""
            #include <stdexcept>
            #include <string>
            struct Guard { int &n; ~Guard() { n++; } };
            int released;
            __attribute__((noinline)) void level3(int x) { Guard g{released}; if (x > 2) throw std::runtime_error("deep " + std::to_string(x)); }
            __attribute__((noinline)) void level2(int x) { Guard g{released}; level3(x + 1); }
            __attribute__((noinline)) void level1(int x) { Guard g{released}; try { level2(x + 1); } catch (int) { released = -1; } }
        """,
        main__cc="""
            #include <cstdio>
            #include <exception>
            extern int released;
            void level1(int);
            int main() {
                try { level1(1); } catch (const std::exception &e) { std::printf("%s, released %d", e.what(), released); }
            }
        """,
    )
    shop.built("$CXX -c deep.cc main.cc && $CXX -o prog main.o deep.o").assert_prints("deep 3, released 3")


TLS_UNIT = """
    #include <pthread.h>
    #include <stdio.h>
    extern __thread int counter;
    static __thread int hidden;
    __attribute__((noinline)) int bump(int by) { hidden += by; return counter += by; }
    __attribute__((noinline)) int peek(void) { return hidden * 100 + counter; }
    static void *work(void *seen) { bump(3); *(int *)seen = peek(); return 0; }
    int run(void) {
        int seen; pthread_t t;
        bump(1);
        pthread_create(&t, 0, work, &seen); pthread_join(t, 0);
        printf("%d %d", seen, peek());
        return 0;
    }
"""


@pytest.mark.parametrize("flags", only_fast([""], ["", "-static", "-no-pie"]))
def test_thread_local_storage_in_programs(shop: Workshop, flags: str) -> None:
    """Thread-local variables are found by code that the linker relaxes to the local models."""
    shop.write(
        store__c="__thread int counter = 5;\n" + FILLER,
        use__c=TLS_UNIT,
        main__c="int run(void);\nint main(void) { return run(); }\n",
    )
    built = shop.built(f"$CC -c -fPIC store.c use.c main.c && $CC {flags} -o prog main.o use.o store.o -pthread")
    built.assert_prints("308 106")


def test_thread_local_storage_in_a_library(shop: Workshop) -> None:
    """A library loaded at run time finds its thread-local variables by __tls_get_addr."""
    shop.write(store__c="__thread int counter = 5;\n" + FILLER, use__c=TLS_UNIT)
    loader = plain_program(shop.project, LOADER)
    built = shop.built(
        "$CC -c -fPIC store.c use.c && $CC -shared -o libstore.so use.o store.o -pthread", artefacts=["libstore.so"]
    )
    for library in built.by_layout.values():
        assert output(loader, str(library.path)) == b"308 106"


@pytest.mark.parametrize("flags", only_fast([""], ["", "-static", "-static-pie", "-no-pie"]))
def test_ifuncs_are_resolved(shop: Workshop, flags: str) -> None:
    """A function chosen at load time by a resolver is the one that the resolver names."""
    shop.write(
        pick__c="""
            static int slow(int x) { return x + 1; }
            static int fast(int x) { return x + 2; }
            static int (*resolve(void))(int) { __builtin_cpu_init(); return __builtin_cpu_supports("sse2") ? fast : slow; }
            int chosen(int) __attribute__((ifunc("resolve")));
        """
        + FILLER,
        main__c='#include <stdio.h>\nint chosen(int);\nint main(void) { printf("%d %d", chosen(1), (&chosen)(2)); return 0; }\n',
    )
    compile_flag = "-fPIE" if "static-pie" in flags else ""
    built = shop.built(f"$CC -c {compile_flag} pick.c main.c && $CC {flags} -o prog main.o pick.o", seeds=[1, 2])
    built.assert_prints("3 4")


@pytest.mark.slow
def test_jump_tables_and_computed_gotos(shop: Workshop) -> None:
    """Tables of code addresses in read-only data follow the functions that they point into."""
    cases = "".join(f"case {k}: return x * {k * k + 1} + other(x, {k});\n" for k in range(24))
    shop.write(
        tables__c="""
            __attribute__((noinline)) static int other(int x, int y) { return x ^ y * 77; }
            int switched(int x, int which) { switch (which) { CASES default: return -1; } }
            int interpreted(const char *code) {
                static const void *const labels[] = { &&add, &&twice, &&minus, &&stop };
                int value = 1;
                goto *labels[*code++ - '0'];
                add: value += 5; goto *labels[*code++ - '0'];
                twice: value *= 2; goto *labels[*code++ - '0'];
                minus: value -= 3; goto *labels[*code++ - '0'];
                stop: return value;
            }
        """.replace("CASES", cases)
        + FILLER,
        main__c="""
            #include <stdio.h>
            int switched(int, int), interpreted(const char *);
            int main(void) {
                for (int k = -1; k < 26; k++) printf("%d ", switched(3, k));
                printf("%d", interpreted("0012103"));
                return 0;
            }
        """,
    )
    for flags in ("", "-no-pie -fno-pie"):
        built = shop.built(f"$CC -c {flags} tables.c main.c && $CC {flags} -o prog main.o tables.o")
        assert built.assert_all_print_as_stock().endswith(b" 43")


def test_inline_assembly(shop: Workshop) -> None:
    """Inline assembler that switches sections, defines symbols and refers to data keeps working."""
    shop.write(
        asm__c="""
            int table[4] = {1, 20, 300, 4000};
            int pick(long k) { int r; __asm__("leaq table(%%rip), %%rax\\n\\tmovl (%%rax,%1,4), %0" : "=r"(r) : "r"(k) : "rax"); return r; }
            __asm__(".pushsection .text.fromasm,\\"ax\\",@progbits\\n.globl fromasm\\n.type fromasm,@function\\n"
                    "fromasm: leal 9(%rdi), %eax\\nret\\n.size fromasm, .-fromasm\\n.popsection");
            int patched(int x) {
                __asm__ goto("jmp %l0\\n.pushsection .sites,\\"a\\"\\n.quad %l0\\n.popsection" : : : : away);
                return x;
                away: return x + 40;
            }
        """
        + FILLER,
        main__c="""
            #include <stdio.h>
            int pick(long), fromasm(int), patched(int);
            int main(void) { printf("%d %d %d", pick(2), fromasm(3), patched(2)); return 0; }
        """,
    )
    shop.built("$CC -c -fno-pie asm.c main.c && $CC -no-pie -o prog main.o asm.o").assert_prints("300 12 42")


def test_assembler_objects_move_as_one_piece(shop: Workshop) -> None:
    """A hand-written object whose functions share one .text is moved whole, and the user is told."""
    shop.write(
        pieces__S="""
            .text
            .globl one
            .type one, @function
            one: movl $1, %eax
            jmp shared
            .size one, .-one
            .globl two
            .type two, @function
            two: movl $2, %eax
            shared: addl %edi, %eax
            ret
            .size two, .-two
            .section .note.GNU-stack, "", @progbits
        """,
        filler__c=FILLER,
        main__c='#include <stdio.h>\nint one(int), two(int);\nint main(void) { printf("%d %d", one(5), two(5)); return 0; }\n',
    )
    built = shop.built("$CC -c pieces.S filler.c main.c && $CC -o prog main.o filler.o pieces.o")
    built.assert_prints("6 7")
    distances = {symbols(binary.path)["two"] - symbols(binary.path)["one"] for binary in built.by_layout.values()}
    assert len(distances) == 1
    assert any("pieces.o" in note and "moves as one piece" in note for note in said(built.result.notes))


@pytest.mark.slow
def test_templates_and_virtual_functions(shop: Workshop) -> None:
    """A C++ program of templates, virtual calls and containers prints the same in every layout."""
    shop.write_named(
        {
            "shape.h": """
            #pragma once
            #include <memory>
            #include <string>
            struct Shape { virtual ~Shape() = default; virtual double area() const = 0; virtual std::string name() const { return "shape"; } };
            template <int Sides> struct Regular : Shape {
                double side; explicit Regular(double s) : side(s) {}
                double area() const override { return side * side * Sides / 4.0; }
                std::string name() const override { return "regular" + std::to_string(Sides); }
            };
            std::unique_ptr<Shape> make(int sides, double side);
        """,
            "make.cc": """
            #include "shape.h"
            std::unique_ptr<Shape> make(int sides, double side) {
                switch (sides) {
                    case 3: return std::make_unique<Regular<3>>(side);
                    case 4: return std::make_unique<Regular<4>>(side);
                    default: return std::make_unique<Regular<5>>(side);
                }
            }
        """,
            "main.cc": """
            #include <algorithm>
            #include <iostream>
            #include <map>
            #include <sstream>
            #include <vector>
            #include "shape.h"
            int main() {
                std::vector<std::unique_ptr<Shape>> shapes;
                for (int k = 0; k < 9; k++) shapes.push_back(make(3 + k % 3, 1.0 + k));
                std::sort(shapes.begin(), shapes.end(), [](auto &a, auto &b) { return a->area() < b->area(); });
                std::map<std::string, double> sums;
                for (auto &s : shapes) sums[s->name()] += s->area();
                std::ostringstream out;
                for (auto &[name, sum] : sums) out << name << "=" << sum << ";";
                std::cout << out.str();
            }
        """,
        }
    )
    built = shop.built("$CXX -c -std=c++17 -O1 make.cc main.cc && $CXX -o prog main.o make.o", seeds=[1, 2])
    assert built.assert_all_print_as_stock().startswith(b"regular3=")
    assert built.result.capture is not None
    assert sum(1 for section in built.result.capture.links[0].sections if section.group) > 10
