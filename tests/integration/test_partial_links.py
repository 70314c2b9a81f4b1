"""Objects joined by `ld -r` before the final link: their function sections survive, and are placed one by one."""

from __future__ import annotations

import pytest

from speeds import first_fast
from warningkit import said
from workshop import Workshop, in_order, main_calling, many_functions, require, symbols

NAMES = [f"u{unit}_{k}" for unit in range(2) for k in range(5)]
COMPILE = "$CC -c main.c u0.c u1.c"
HELPER = "static __attribute__((noinline)) int helper(int x) {{ return x * {0} + 1; }}\nint call{0}(int x) {{ return helper(x) ^ {0}; }}\n"


@pytest.fixture
def units(shop: Workshop) -> Workshop:
    """Two units with a static function of one name, and a main that calls them."""
    for k in range(2):
        text = many_functions(5, prefix=f"u{k}_") + HELPER.format(k + 3)
        shop.write_named({f"u{k}.c": text})
    shop.write(main__c=main_calling("u0_4", "u1_4", "call3", "call4"))
    return shop


@pytest.mark.parametrize(
    "join",
    first_fast(
        3,
        [
            "$LD -r -o all.o u0.o u1.o",
            "$LD -r --unique -o all.o u0.o u1.o",
            "$CC -r -nostdlib -o all.o u0.o u1.o",
            "$LD -r -o a.o u0.o && $LD -r -o b.o u1.o a.o && $LD -r -o all.o b.o",
            "$AR rcs libu.a u0.o u1.o && $LD -r -o all.o --whole-archive libu.a",
            "$LD -r -o all.o u0.o u1.o && strip --strip-unneeded all.o",
            "$LD -r -o all.o u0.o u1.o && objcopy --prefix-symbols=p_ all.o && objcopy --prefix-symbols=p_ main.o && "
            "objcopy --redefine-sym p_main=main --redefine-sym p_printf=printf main.o",
            "$LD -r -o a.o u0.o && objcopy --localize-symbol=u0_0 a.o && $LD -r -o all.o a.o u1.o",
        ],
    ),
)
def test_joined_objects(units: Workshop, join: str) -> None:
    """Whatever joins the objects, every function moves by itself and every layout prints the same."""
    built = units.built(f"{COMPILE} && {join} && $CC -o prog main.o all.o", seeds=[1, 2])
    built.assert_all_print_as_stock()
    prefix = "p_" if "p_u0_0" in symbols(built.path(1)) else ""
    names = [prefix + name for name in NAMES]
    before = in_order(built.path("identity"), names)
    assert in_order(built.path(1), names) != before
    moved = {name.removeprefix(prefix).split("_")[0] for name in in_order(built.path(1), names)[:5]}
    assert moved == {"u0", "u1"}  # functions of both units side by side: not lumps of one object each


@pytest.mark.parametrize("option", ["", "--unique"])
def test_templates_in_joined_objects(shop: Workshop, option: str) -> None:
    """COMDAT groups are kept by the first link; one copy of each instance is placed in the end."""
    join_templates(shop, option)


def test_templates_whose_groups_the_first_link_resolves(gnu: Workshop) -> None:
    """The same where an option makes GNU ld choose the copies in the first link."""
    join_templates(gnu, "--force-group-allocation")


def join_templates(shop: Workshop, option: str) -> None:
    """Two units with instances in common, joined and then linked."""
    require("g++", "g++")
    shop.write_named(
        {
            "twice.h": "template <int N> __attribute__((noinline)) int times(int x) { return x * N + (x >> N); }\n",
            "a.cc": '#include "twice.h"\nextern "C" int a(int x) { return times<3>(x) + times<5>(x); }\n' + _cc("a"),
            "b.cc": '#include "twice.h"\nextern "C" int b(int x) { return times<5>(x) - times<7>(x); }\n' + _cc("b"),
        }
    )
    shop.write(main__c=main_calling("a", "b"))
    built = shop.built(
        f"$CC -c main.c && $CXX -c a.cc b.cc && $LD -r {option} -o all.o a.o b.o && $CXX -o prog main.o all.o",
        seeds=[1, 2],
    )
    built.assert_all_print_as_stock()
    names = [f"_Z5timesILi{n}EEii" for n in (3, 5, 7)]
    assert set(names) <= set(symbols(built.path(1)))


def _cc(name: str) -> str:
    return 'extern "C" {\n' + many_functions(4, prefix=f"{name}_") + "}\n"


def test_functions_merged_by_a_script_of_the_first_link(gnu: Workshop) -> None:
    """A partial link whose script throws all functions together leaves one lump, which is named."""
    gnu.write_named(
        {"u0.c": many_functions(5, prefix="u0_"), "merge.ld": "SECTIONS { .text : { *(.text .text.*) } }\n"}
    )
    gnu.write(main__c=main_calling("u0_4"), f__c=many_functions(5, prefix="f"))
    built = gnu.built(
        "$CC -c main.c u0.c f.c && $LD -r -T merge.ld -o all.o u0.o && $CC -o prog main.o all.o f.o", seeds=[1, 2]
    )
    built.assert_all_print_as_stock()
    assert any("all.o" in note and "moves as one piece" in note for note in said(built.result.notes))
