"""What factors beyond the order of functions could do to a program, and do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutrand.layout.factors import linker_seed
from workshop import (
    FILLER,
    SEEDS,
    Workshop,
    in_order,
    main_calling,
    many_functions,
    only_error,
    output,
    require,
    symbols,
)

MOLD = {"toolchain": "gcc-mold"}
SHUFFLE = {"factors": ["linker-shuffle"]}


@pytest.fixture
def mold(gnu: Workshop) -> Workshop:
    """A project that is linked by mold."""
    require("mold", "mold")
    return gnu


def test_a_linker_that_shuffles_by_itself_refuses_linker_sets(mold: Workshop) -> None:
    """mold would permute what lies between __start_X and __stop_X: refused, with the section's name."""
    unit = """
        static const char *entry(void) {{ return "{0}"; }}
        typedef const char *(*Entry)(void);
        __attribute__((section("registry"), used)) static const Entry slot = entry;
    """
    mold.write(
        filler__c=FILLER,
        one__c=unit.format("one "),
        two__c=unit.format("two "),
        main__c="""
            #include <stdio.h>
            typedef const char *(*Entry)(void);
            extern const Entry __start_registry[], __stop_registry[];
            int main(void) { for (const Entry *e = __start_registry; e < __stop_registry; e++) fputs((*e)(), stdout); return 0; }
        """,
    )
    commands = "$CC -c *.c && $CC -o prog main.o two.o filler.o one.o"
    result = mold.build(commands, system=MOLD, layout=SHUFFLE)
    message = only_error(result)
    assert "linker-shuffle would change the order inside section registry, a linker set" in message
    assert {failure.layout for failure in result.failures} == {"identity", 1, 2, 3, 4}


def test_a_linker_that_shuffles_by_itself_keeps_constructors(mold: Workshop) -> None:
    """mold shuffles code and data of C++ units; constructors run in link order all the same."""
    unit = """
        #include <cstdio>
        namespace {{ struct Note {{ Note(const char *n) {{ std::printf("+%s ", n); }} }}; }}
        static Note first("{0}1"), second("{0}2");
        __attribute__((constructor(150))) static void early() {{ std::printf("early-{0} "); }}
    """
    mold.write(
        a__cc=unit.format("a"),
        b__cc=unit.format("b"),
        c__cc=unit.format("c"),
        filler__c=FILLER,
        main__cc="int main() { return 0; }\n",
    )
    commands = "$CXX -c a.cc b.cc c.cc main.cc && $CC -c filler.c && $CXX -o prog a.o b.o filler.o c.o main.o"
    built = mold.built(commands, system=MOLD, layout=SHUFFLE)
    built.assert_prints("early-a early-b early-c +a1 +a2 +b1 +b2 +c1 +c2 ")


DATA = "".join(f"int datum{k}[5] = {{{k}, 1, 2, {k}}};\n" for k in range(8))
DATUM = [f"datum{k}" for k in range(8)]
NAMES = [f"f{k}" for k in range(8)]


def orders(shop: Workshop, factors: list[str]) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Of each seed the order of the functions, and that of the data."""
    built = shop.built("$CC -c *.c && $CC -o prog main.o data.o f.o", layout={"factors": factors})
    built.assert_all_print_as_stock()
    seeded = {seed: binary.path for seed, binary in built.seeded.items() if isinstance(seed, int)}
    code = {seed: in_order(path, NAMES) for seed, path in seeded.items()}
    return code, {seed: in_order(path, DATUM) for seed, path in seeded.items()}


@pytest.mark.slow
def test_code_and_data_move_independently(shop: Workshop) -> None:
    """One factor leaves the other's sections alone, and together each does what it does by itself."""
    shop.write(data__c=DATA, f__c=many_functions(8), main__c=main_calling("f7"))
    code, still_data = orders(shop, ["function-order"])
    still_code, data = orders(shop, ["data-order"])
    both = orders(shop, ["function-order", "data-order"])
    assert set(map(tuple, still_code.values())) == {tuple(NAMES)}
    assert len(set(map(tuple, still_data.values()))) == 1
    assert both == (code, data)
    assert len(set(map(tuple, code.values()))) > 1
    assert len(set(map(tuple, data.values()))) > 1


def test_link_order_changes_constructors_with_the_objects(gnu: Workshop) -> None:
    """Moving objects on the link line is known to change the order of constructors: it is that of the objects."""
    unit = """
        #include <stdio.h>
        __attribute__((constructor)) static void begin_{0}(void) {{ printf("{0}"); }}
        int unit_{0}(int x) {{ return x + 1; }}
    """
    gnu.write_named({f"{name}.c": unit.format(name) for name in "abcd"} | {"main.c": main_calling("unit_a")})
    commands = "$CC -c *.c && $CC -o prog main.o a.o b.o c.o d.o"
    built = gnu.built(commands, layout={"factors": ["link-order"]})
    said = {seed: output(binary.path).decode() for seed, binary in built.seeded.items()}
    assert all(text.endswith("unit_a 6\n") and sorted(text[:4]) == list("abcd") for text in said.values())
    for seed, text in said.items():
        assert in_order(Path(built.path(seed)), [f"unit_{name}" for name in "abcd"]) == [f"unit_{c}" for c in text[:4]]
    assert len(set(said.values())) > 1


@pytest.mark.parametrize("stream", ["linker-shuffle", "padding"])
def test_a_linkers_own_seed_is_never_one_with_a_meaning(stream: str) -> None:
    """0 is "no seed" or "another each time" to some linkers and -1 is "reverse": neither is ever given."""
    drawn = [linker_seed(seed, stream) for seed in [*range(2000), 2**32 - 1, 2**32, 2**63, 2**64 - 1]]
    assert all(1 <= number < 2**31 for number in drawn)
    assert len(set(drawn)) == len(drawn)


def test_padding_moves_nothing(shop: Workshop) -> None:
    """Gaps change addresses, never the order."""
    shop.write(f__c=many_functions(8), main__c=main_calling("f7"))
    result = shop.build("$CC -c *.c && $CC -o prog main.o f.o", layout={"factors": ["padding"]})
    assert not result.failures
    paths = [binary.path for binary in result.binaries if isinstance(binary.layout, int)]
    assert len(paths) == len(SEEDS)
    assert len({output(path) for path in paths}) == 1
    assert {tuple(in_order(path, NAMES)) for path in paths} == {tuple(NAMES)}
    assert len({symbols(path)["f7"] - symbols(path)["f0"] for path in paths}) > 1
