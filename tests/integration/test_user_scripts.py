"""Programs linked with a linker script of their own (GNU ld): the order goes into it, all else stays as it says."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from layoutrand.model import IDENTITY, STOCK
from workshop import (
    FILLER,
    Built,
    Workshop,
    absent,
    in_order,
    loaded,
    many_functions,
    only_error,
    programs_of,
    require,
    symbols,
)

FIRMWARE = """
    ENTRY(_start)   /* *(.text.*) in a comment is no statement */
    SECTIONS {
      . = 0x400000 + SIZEOF_HEADERS;
      .text : {
        KEEP(*(.text.boot))
        *early.o(.text .text.*)
        *(.text.fast.*)
        @GENERAL@
        . = ALIGN(16);
        _etext = .;
      }
      .rodata : ALIGN(64) { *(SORT_BY_NAME(.rodata.first*)) *(.rodata .rodata.*) }
      . = ALIGN(0x1000);
      .data : AT(ADDR(.data)) { _data = .; *(.data .data.*); _edata = .; }
      .bss (NOLOAD) : { __bss_start = .; *(.bss .bss.*) *(COMMON) _end = .; }
      ASSERT(SIZEOF(.text) > 16, "no code")
      /DISCARD/ : { *(.comment) *(.note.*) *(.eh_frame) }
    }
"""
BOOT = """
    int run(int); int early1(int);
    extern char _data[], _edata[], __bss_start[], _end[];
    static long call(long number, long a, long b, long c) {
        long result;
        __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
        return result;
    }
    __attribute__((section(".text.boot"), noreturn, force_align_arg_pointer)) void _start(void) {
        char out[17] = "................\\n";
        unsigned long value = (unsigned)run(early1(3));
        value = value * 31 + (unsigned long)(_edata - _data) + (_end > __bss_start);
        for (int k = 15; k >= 0; k--, value >>= 4) out[k] = "0123456789abcdef"[value & 15];
        call(1, 1, (long)out, 17);
        call(60, 0, 0, 0);
        __builtin_unreachable();
    }
"""
RUN = """
    int early0(int); int pad7(int);
    const int table[5] = {5, 4, 3, 2, 1};
    static const int other_table[3] = {7, 8, 9};
    int counter = 3, step = 4, factor = 5;
    int zero[16]; static int hidden[32];
    __attribute__((section(".text.fast.one"), noinline)) int fast(int x) { return x * factor; }
    __attribute__((noinline)) int walk(int x) { return table[x & 3] + other_table[x % 3] + (zero[x & 7] += step); }
    __attribute__((noinline)) int count(int x) { return counter++ + (hidden[x & 31] -= x); }
    int run(int x) { return fast(x) + walk(x) + walk(x + 1) + count(x) + early0(x) + pad7(x); }
"""
COMPILE = "$CC -ffreestanding -fno-pie -fno-stack-protector -fno-asynchronous-unwind-tables -c *.c"
BUILD = f"{COMPILE} && $CC -nostdlib -static -no-pie -Wl,-z,max-page-size=4096 -Wl,--build-id=none -T link.ld -o prog boot.o run.o early.o pad.o"
FACTORS = [
    ["function-order"],
    ["module-order", "function-order-in-module"],
    ["data-order"],
    ["padding"],
    ["function-order", "data-order", "padding"],
]


def firmware(shop: Workshop, general: str = "*(.text .text.*)", **files: str) -> None:
    """A program without a C library, with a script for it."""
    script = FIRMWARE.replace("@GENERAL@", general)
    named = {
        "boot.c": BOOT,
        "run.c": RUN,
        "early.c": many_functions(3, prefix="early"),
        "pad.c": FILLER,
        "link.ld": script,
    }
    shop.write_named({**named, **files})


def newer_toolchain(shop: Workshop) -> str:
    """gcc with a GNU ld that has --section-ordering-file."""
    path = os.environ.get("LAYOUTRAND_TEST_LD_NEW", "")
    if not path:
        absent("LAYOUTRAND_TEST_LD_NEW names no newer linker (tests/tools/fetch_new_linkers.sh)")
    (shop.project / "new.toml").write_text(
        f'name = "new"\ndescription = "newer"\nextends = "gcc"\n[tools]\nld = ["{path}"]\n'
    )
    return "new.toml"


def built(shop: Workshop, factors: list[str], commands: str = BUILD, **changes: Any) -> Built:
    """Build with the factors; nothing fails."""
    result = shop.build(commands, layout={"factors": factors}, **changes)
    assert not result.failures, [f"{failure.layout}: {failure.error}" for failure in result.failures]
    return Built(result, {binary.layout: binary for binary in result.binaries})


@pytest.mark.parametrize("factors", FACTORS, ids="+".join)
def test_what_the_script_names_stays_and_the_rest_moves(gnu: Workshop, factors: list[str]) -> None:
    """Boot code, an object and sections that the script places by name keep their places; identity is the build's."""
    firmware(gnu)
    result = built(gnu, factors)
    result.assert_all_print_as_stock()
    named = ["_start", "early0", "early1", "early2", "fast"]
    rest = ["walk", "count", "run", *(f"pad{k}" for k in range(8))]
    variables = {"rodata": ["table"], "data": ["counter", "step", "factor"], "bss": ["zero"]}
    stock = symbols(result.path(IDENTITY))
    code, data = set(), set()
    for binary in result.seeded.values():
        assert in_order(binary.path, named + rest)[:5] == named
        found = symbols(binary.path)
        assert [found[name] for name in named] == [stock[name] for name in named]
        assert found["_etext"] % 16 == 0
        code.add(tuple(found[name] for name in rest))
        data.add(tuple(found[name] - found["_data"] for names in variables.values() for name in names))
    assert len(code) == (4 if factors != ["data-order"] else 1)
    assert len(data) > 1 if "data-order" in factors else len({tuple(d[1:4]) for d in data}) == 1


def test_identity_loads_what_the_build_linked(gnu: Workshop) -> None:
    """With the script's own order asked for explicitly, every loaded byte is that of a link with the same objects."""
    firmware(gnu)
    result = gnu.built(f"{BUILD} && cp *.o $KEEP", layouts=[IDENTITY], build={"env": {"KEEP": str(gnu.project)}})
    direct = gnu.project / "direct"
    subprocess.run(
        [
            "ld.bfd",
            "-static",
            "-z",
            "max-page-size=4096",
            "-T",
            gnu.source / "link.ld",
            "-o",
            direct,
            *(f"{name}.o" for name in ("boot", "run", "early", "pad")),
        ],
        cwd=gnu.project,
        check=True,
    )
    assert loaded(result.path(IDENTITY)) == loaded(direct)


@pytest.mark.parametrize(
    "general",
    [
        "KEEP(*(.text .text.*))",
        "*(SORT_BY_NAME(.text*))",
        "*(.text) *(.text.*)",
        "EXCLUDE_FILE(*run.o) *(.text .text.*)\n*(.text .text.*)",
        "*(EXCLUDE_FILE(*run.o) .text EXCLUDE_FILE(*run.o) .text.*)\n*(.text .text.*)",
    ],
    ids=["keep", "sorted", "two statements", "excluding before", "excluding inside"],
)
def test_ways_to_take_all_other_code(gnu: Workshop, general: str) -> None:
    """Scripts say it in many ways; the order goes before it or is refused, and the program is the same."""
    firmware(gnu, general)
    result = gnu.build(BUILD.replace("-Wl,--build-id", "-Wl,--gc-sections -Wl,--build-id"))
    if "EXCLUDE" in general:  # pad.o and boot.o come first by the first statement, run.o by the second: no one order
        assert "takes .text sections with an exception" in only_error(result)
        assert [binary.layout for binary in result.binaries] == [STOCK]
    else:
        assert not result.failures, result.failures
        assert len({binary.text_sha256 for binary in result.binaries}) >= 4


def test_a_script_without_a_statement_for_all_code(gnu: Workshop) -> None:
    """Where nothing takes the code as a whole there is no place for an order, and the message says what is missing."""
    firmware(gnu, "*boot.o(.text .text.*) *run.o(.text .text.*) *pad.o(.text .text.*)")
    message = only_error(gnu.build(BUILD))
    assert "none of its code can be placed" in message or "no statement such as *(.text .text.*)" in message


def test_what_an_included_script_names_stays(gnu: Workshop) -> None:
    """Scripts may be in several files: names in an included one count too."""
    more = "*run.o(.text .text.*)\n"
    firmware(gnu, "INCLUDE more.ld\n*(.text .text.*)", **{"more.ld": more})
    result = built(gnu, ["function-order"])
    result.assert_all_print_as_stock()
    for binary in result.seeded.values():
        assert in_order(binary.path, ["walk", "count", "run", *(f"pad{k}" for k in range(8))])[:3] == [
            "walk",
            "count",
            "run",
        ]


@pytest.mark.parametrize("factors", [["function-order"], ["function-order", "data-order"]], ids="+".join)
def test_a_script_that_is_misread_is_refused(gnu: Workshop, factors: list[str]) -> None:
    """What is not understood of a script must not be broken: identity would load something else than the build does."""
    firmware(gnu)  # the linker reads [^a] as [!a]
    gnu.write_named(
        {"link.ld": FIRMWARE.replace(".text.boot", ".text.[^a]oot").replace("@GENERAL@", "*(.text .text.*)")}
    )
    message = only_error(gnu.build(BUILD, layout={"factors": factors}))
    assert "into which no order can be put" in message


def test_quoted_names_are_names(gnu: Workshop) -> None:
    """Quotes around names of files and sections change nothing."""
    firmware(gnu, '"*run.o"(".text" ".text.*") *(.text .text.*)')
    for binary in built(gnu, ["function-order"]).seeded.values():
        assert in_order(binary.path, ["walk", "count", "run", "pad0", "pad1", "pad2", "pad3"])[:3] == [
            "walk",
            "count",
            "run",
        ]


def test_members_of_archives_that_the_script_names_stay(gnu: Workshop) -> None:
    """``archive:member`` and plain member names are the script's business too."""
    firmware(gnu)
    gnu.write_named(
        {
            "link.ld": FIRMWARE.replace("*early.o(", "*libearly.a:early.o(").replace(
                "@GENERAL@", "*pad.o(.text.pad0) *(.text .text.*)"
            ),
            "more.c": many_functions(5, prefix="more"),
        }
    )
    commands = BUILD.replace("run.o early.o pad.o", "run.o more.o libearly.a").replace(
        "&& $CC -nostdlib", "&& ar rc libearly.a early.o pad.o && $CC -nostdlib"
    )
    result = built(gnu, ["function-order"], commands)
    result.assert_all_print_as_stock()
    named = ["_start", "early0", "early1", "early2", "fast", "pad0"]
    for binary in result.seeded.values():
        assert in_order(binary.path, [*named, "walk", "run", "pad5", "pad6"])[:6] == named


@pytest.mark.parametrize("factors", [["function-order"], ["function-order", "data-order", "padding"]], ids="+".join)
@pytest.mark.parametrize("where", ["AFTER .data", "BEFORE .text"])
@pytest.mark.parametrize("version", ["", pytest.param("newer", marks=pytest.mark.slow)])
def test_a_script_that_only_adds_to_the_default(gnu: Workshop, version: str, where: str, factors: list[str]) -> None:
    """INSERT scripts keep their output section where they put it, and what it takes by name."""
    toolchain = newer_toolchain(gnu) if version else "gcc"
    script = (
        f"SECTIONS {{ .mine : {{ mine_begin = .; *(.text.mine.*) *(mine_data) mine_end = .; }} }} INSERT {where};\n"
    )
    gnu.write(
        insert__ld=script,
        main__c="""
            #include <stdio.h>
            extern char mine_begin[], mine_end[];
            int pad7(int);
            int value __attribute__((section("mine_data"))) = 5;
            int plain = 6, another = 7;
            __attribute__((section(".text.mine.f"), noinline)) int mine(int x) { return x + value; }
            int main(void) {
                char *at = (char *)&value;
                printf("%d %d %d\\n", at >= mine_begin && at < mine_end, mine(plain++) + another++, pad7(3));
                return 0;
            }
        """,
        pad__c=FILLER,
    )
    data = "AFTER" in where
    link = "-Wl,-T,insert.ld" + ("" if data else " -Wl,-z,norelro")
    commands = f"$CC -c *.c && $CC {link} -Wl,--no-warn-rwx-segments -o prog main.o pad.o"
    result = built(gnu, factors, commands, system={"toolchain": toolchain})
    assert result.assert_all_print_as_stock().startswith(b"1 ")
    for binary in result.seeded.values():
        assert symbols(binary.path)["mine_begin"] <= symbols(binary.path)["mine"] < symbols(binary.path)["mine_end"]


def test_a_copy_of_the_default_script(gnu: Workshop) -> None:
    """Users begin with what ``ld --verbose`` prints: plain code moves, classes that it names stay."""
    printed = subprocess.run(
        [require("ld.bfd", "binutils"), "-pie", "--verbose"], capture_output=True, text=True, check=True
    )
    script = printed.stdout.split("=" * 50)[1].replace("*(.text.unlikely", "*(.text.boot)\n    *(.text.unlikely", 1)
    gnu.write_named(
        {
            "link.ld": script,
            "pad.c": FILLER,
            "main.c": """
        #include <stdio.h>
        int pad7(int);
        const int table[4] = {1, 2, 3, 4}; int number = 4; int zero[9];
        __attribute__((section(".text.boot"), noinline)) int boot(int x) { return x + table[x & 3]; }
        int main(void) { printf("%d %d\\n", boot(number++) + zero[number]++, pad7(3)); return 0; }
    """,
        }
    )
    result = built(gnu, ["function-order", "data-order"], "$CC -c *.c && $CC -pie -Wl,-T,link.ld -o prog main.o pad.o")
    result.assert_all_print_as_stock()
    for binary in result.seeded.values():
        assert in_order(binary.path, ["boot", "main", "pad0", "pad1", "pad2"])[0] == "boot"


@pytest.mark.parametrize("toolchain", ["gcc-lld", "gcc-gold"])
def test_other_linkers_are_refused(gnu: Workshop, toolchain: str) -> None:
    """An order can be put into a script with GNU ld only, and the message names the toolchains (mold reads none)."""
    programs_of(toolchain)
    firmware(gnu)
    result = gnu.build(BUILD, system={"toolchain": toolchain}, controls=False)
    message = only_error(result)
    assert "link.ld" in message
    assert "toolchain 'gcc' or 'clang'" in message
