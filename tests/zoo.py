"""A small program that holds one of everything that moving code and data could break; it prints no address."""

from __future__ import annotations

HEADER = """
    #pragma once
    #include <stdint.h>
    #ifdef __cplusplus
    #include <string>
    #include <vector>
    struct Shape {
        virtual ~Shape() {}
        virtual int area() const = 0;
        virtual const char *name() const { return "shape"; }
    };
    template <class T> [[gnu::noinline]] T total(const T *values, int count) {
        static int calls;  // a COMDAT variable
        T sum = T();
        for (int i = 0; i < count; i++) sum += values[i];
        return sum + T(calls++ * 0);
    }
    template <class T> struct Registry { static int count; };
    template <class T> int Registry<T>::count = 40;
    inline int &shared_counter() { static int counter = 100; return counter; }
    struct Announce {
        explicit Announce(const char *who) { trace().push_back(who); }
        static std::vector<std::string> &trace() { static std::vector<std::string> all; return all; }
    };
    extern "C" {
    #endif
    int tables(int);
    int threads(int);
    int jumps(int);
    int machine(const char *);
    int alpha(int);
    int beta(int);
    int linker_set(void);
    int aligned(void);
    #ifdef __cplusplus
    }
    #endif
"""

TABLES = """
    #include "zoo.h"
    const int primes[] = {2, 3, 5, 7, 11, 13, 17, 19};
    static const double weights[] = {0.5, 0.25, 0.125, 2.0};
    const char *const names[] = {"one", "two", "three", "four"};  /* data.rel.ro where the code is PIC */
    static const char *const hidden_names[] = {"eins", "zwei", "drei"};
    int counters[6] = {10, 20, 30, 40, 50, 60};
    int scalar = 7;
    static int private_scalar = 9;
    int *pointer = &scalar;
    int *middle = &counters[3];
    char text[] = "changeable";
    __attribute__((aligned(64))) char buffer[192];
    __attribute__((aligned(64))) static char own_buffer[64];
    int zeroed[33];
    static long sums[17];
    __thread int tls_set = 5;
    static __thread int tls_zero;
    int aligned(void) { return (int)(((uintptr_t)buffer | (uintptr_t)own_buffer) % 64); }
    int threads(int x) { tls_zero += x; return tls_set++ + tls_zero; }
    int tables(int x) {
        int k, sum = 0;
        for (k = 0; k < 8; k++) { sum += primes[k] * x; zeroed[k] += sum; sums[k] += zeroed[k]; }
        for (k = 0; k < 4; k++) sum += (int)(weights[k] * 8) + names[k][1];
        for (k = 0; k < 3; k++) sum += hidden_names[k][k];
        buffer[x & 63] += x; own_buffer[x & 63] += 1; private_scalar += own_buffer[x & 63];
        text[0] = (char)('a' + (x & 7));
        *pointer += 1; *middle += 2;
        return sum + scalar + counters[3] + private_scalar + text[0] + buffer[x & 63] + (int)sums[3];
    }
"""

JUMPS = """
    #include "zoo.h"
    static __attribute__((noinline)) int helper(int x) { return x * 3 + 1; }
    __attribute__((cold, noinline)) int rarely(int x) { return helper(x) - 77; }
    __attribute__((hot, noinline)) int often(int x) { return helper(x) + 5; }
    int jumps(int x) {
        switch (x) {
        case 0: return helper(4);
        case 1: return 17;
        case 2: return helper(x) * 2;
        case 3: return rarely(x);
        case 4: return 4 - helper(9);
        case 5: return often(x);
        case 6: return x ^ 1234;
        case 7: return helper(often(x));
        default: return -1;
        }
    }
    int machine(const char *program) {
        static const void *const ops[] = {&&push, &&add, &&twice, &&halt};
        int stack = 1;
        #define NEXT goto *ops[*program++ - '0']
        NEXT;
        push: stack += 10; NEXT;
        add: stack += helper(stack); NEXT;
        twice: stack *= 2; NEXT;
        halt: return stack;
    }
"""

ALPHA = """
    #include "zoo.h"
    struct Square : Shape {
        int side;
        explicit Square(int s) : side(s) {}
        int area() const override { return side * side; }
        const char *name() const override { return "square"; }
    };
    static Announce first("alpha 1");
    static Announce second("alpha 2");
    static int helper(const Shape &shape) { return shape.area() + shape.name()[0]; }
    int alpha(int x) {
        static const int values[] = {1, 2, 3, 4};
        shared_counter() += x;
        Registry<int>::count += 1;
        try { if (x > 2) throw x; } catch (int thrown) { x = thrown + 1; }
        return helper(Square(x)) + total(values, 4);
    }
"""

BETA = """
    #include "zoo.h"
    struct Disc : Shape {
        int area() const override { return 3; }
    };
    static Announce first("beta 1");
    struct Base { virtual int tag() const { return 11; } virtual ~Base() {} };
    struct Both : Base, Disc { int tag() const override { return 12; } };
    static int helper(const Shape &shape) { return shape.area() * 2 + shape.name()[1]; }
    int beta(int x) {
        static const int values[] = {5, 6, 7};
        static const long longs[] = {50, 60, 70};
        Both both;
        Base *base = &both;
        shared_counter() += 1;
        return helper(Disc()) + both.tag() + (dynamic_cast<Disc *>(base) != nullptr) + total(values, 3)
            + (int)total(longs, 3) + Registry<int>::count + shared_counter() + x;
    }
"""

MAIN = """
    #include "zoo.h"
    #include <stdio.h>
    static Announce only("main");
    #ifdef LIBRARY
    extern "C" int run(void)
    #else
    int main()
    #endif
    {
        for (const std::string &who : Announce::trace()) printf("%s; ", who.c_str());
        for (int x = 0; x < 8; x++)
            printf("%d %d %d %d %d\\n", tables(x), threads(x), jumps(x), alpha(x), beta(x));
        printf("%d %d %d\\n", machine("0120213"), aligned(), linker_set());
        return 0;
    }
"""

SET_ONE = """
    #define MEMBER(name, value) int name##_value = value; \\
        int *const name __attribute__((section("zoo_set"), used)) = &name##_value
    MEMBER(one, 1); MEMBER(two, 2);
"""
SET_TWO = """
    int three_value = 3;
    int *const three __attribute__((section("zoo_set"), used)) = &three_value;
    extern int *const __start_zoo_set[], *const __stop_zoo_set[];
    int linker_set(void) {
        int all = 0;
        for (int *const *member = __start_zoo_set; member < __stop_zoo_set; member++) all = all * 10 + **member;
        return all;
    }
"""
NO_SET = "int three_value = 123;\nint linker_set(void) { return three_value; }\n"

DATA = {
    "rodata": ("primes",),
    "data": ("counters", "scalar", "text", "middle", "pointer"),
    "bss": ("buffer", "zeroed"),
}
"""Variables of the program by where they end up."""
FUNCTIONS = ("tables", "threads", "jumps", "machine", "alpha", "beta", "linker_set", "aligned")

OBJECTS = "main.o alpha.o beta.o tables.o jumps.o one.o two.o"
COMPILE = "for f in *.c; do $CC {flags} -c $f; done; for f in *.cc; do $CXX {flags} -c $f; done"


def sources(*, linker_set: bool = True) -> dict[str, str]:
    """The program's files by name; without a linker set for linkers that would permute it."""
    return {
        "zoo.h": HEADER,
        "tables.c": TABLES,
        "jumps.c": JUMPS,
        "alpha.cc": ALPHA,
        "beta.cc": BETA,
        "main.cc": MAIN,
        "one.c": SET_ONE if linker_set else "int one_value = 1;\n",
        "two.c": SET_TWO if linker_set else NO_SET,
    }


def commands(flags: str = "", link: str = "", output: str = "prog") -> str:
    """What builds it: ``flags`` for all compilations, ``link`` for the link."""
    return f"{COMPILE.format(flags=flags)}; $CXX {flags} {link} -o {output} {OBJECTS} -lm"
