"""The order achieved is the order asked for, down to the single section: read off the binaries by their symbols."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutrand.layout.order import draw
from layoutrand.model import IDENTITY
from layoutrand.objects import elf
from workshop import FILLER, Built, Workshop, in_order, loaded, main_calling, many_functions, only_error, symbols

COMPILE = "$CC -c *.c && $CC -o prog main.o a.o b.o c.o"


def static_helpers(unit: str) -> str:
    """Three functions of the same names in every unit, and one that calls them."""
    return (
        "".join(
            f"static __attribute__((noinline)) int helper{k}(int x) {{ return x * {k + 2} + {ord(unit)}; }}\n"
            for k in range(3)
        )
        + f"int {unit}(int x) {{ return helper0(x) + helper1(x) + helper2(x); }}\n"
    )


def names_by_address(path: Path) -> list[tuple[int, str]]:
    """All function symbols, duplicates included, by address."""
    done = subprocess.run(["nm", "--numeric-sort", str(path)], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return [
        (int(row[0], 16), row[2]) for row in rows if len(row) == 3 and row[1] in "tT" and not row[2].startswith(".lr.")
    ]


def expected_names(built: Built, layout: int) -> list[str]:
    """The function names of the movable sections in the order that the layout asks for."""
    assert built.result.capture is not None
    link = built.result.capture.links[0]
    order = draw(link.sections, link.identity, name=layout, factors=("function-order",), classes="keep").order
    movable = [link.sections[index] for index in order if not link.sections[index].pinned]
    return [f"{section.object}:{section.name.removeprefix('.text.')}" for section in movable]


def test_same_named_static_functions_are_placed_exactly(shop: Workshop) -> None:
    """Three files have a static helper0 each: every one stands where the layout puts that very one."""
    shop.write_named({f"{unit}.c": static_helpers(unit) for unit in "abc"} | {"main.c": main_calling("a", "b", "c")})
    built = shop.built(COMPILE)
    built.assert_all_print_as_stock()
    for seed, binary in built.seeded.items():
        assert isinstance(seed, int)
        listed = [name for _, name in names_by_address(binary.path)]
        wanted = [row.rsplit(":", 1)[1] for row in expected_names(built, seed)]
        plain = [name for name in wanted if name != "startup.main"]
        assert [name for name in listed if name in set(plain)] == plain
        # The unit is told apart by the constant in its code: helper0 of unit u adds ord(u).
        content = elf.read(binary.path.read_bytes(), name="prog")
        text = content.section_names.index(".text")
        base = int(content.sections[text]["addr"])
        code = content.content(text)
        units = [row.split(".o:")[0] for row in expected_names(built, seed) if row.endswith(":helper1")]
        starts = [address for address, name in names_by_address(binary.path) if name == "helper1"]
        found = [next(u for u in "abc" if bytes([ord(u)]) in code[start - base : start - base + 8]) for start in starts]
        assert found == units


def test_functions_named_like_classes(shop: Workshop) -> None:
    """Functions called hot, unlikely, startup and exit-like names are placed like any others."""
    shop.write(
        a__c="".join(
            f"__attribute__((noinline)) int {name}(int x) {{ return x * {k + 3}; }}\n"
            for k, name in enumerate(
                ("hot", "unlikely", "startup", "sorted", "split", "unknown", "eh", "very_unlikely", "hot_x")
            )
        ),
        b__c=FILLER,
        c__c="static int exit_(int x) { return x; }\nint c(int x) { return exit_(x); }\n",
        main__c=main_calling("hot", "unlikely", "startup", "very_unlikely"),
    )
    built = shop.built(COMPILE)
    built.assert_all_print_as_stock()
    names = ["hot", "unlikely", "startup", "sorted", "split", "unknown", "eh", "very_unlikely", "hot_x"]
    orders = {tuple(in_order(binary.path, names)) for binary in built.seeded.values()}
    assert len(orders) > 1


COLD = """
    #include <stdio.h>
    #include <stdlib.h>
    __attribute__((cold, noinline)) void complain{0}(int x) {{ if (x > 1000) {{ puts("too large"); exit(3); }} }}
    __attribute__((hot, noinline)) int busy{0}(int x) {{ int s = 0; for (int k = 0; k < x; k++) s += k * x ^ {1}; return s; }}
    __attribute__((noinline)) int plain{0}(int x) {{
        if (__builtin_expect(x > 900, 0)) {{ complain{0}(x * 3); printf("large %d", x); abort(); }}
        return busy{0}(x) + {1};
    }}
    __attribute__((noinline)) int steady{0}(int x) {{ return x * {1}; }}
    __attribute__((constructor)) static void begin{0}(void) {{ if (getenv("NOPE")) complain{0}(5); }}
"""


def class_of(path: Path, name: str) -> str:
    """The class of a function by its name in this file's program."""
    return {"compl": "unlikely", "busy_": "hot", "begin": "startup", "main": "startup"}.get(name[:5], "text")


@pytest.fixture
def classes(shop: Workshop) -> Workshop:
    """A program with code of every class."""
    shop.write_named({f"{unit}.c": COLD.format(f"_{unit}", number) for number, unit in enumerate("abc", 3)})
    shop.write(main__c=main_calling("plain_a", "plain_b", "plain_c", "steady_a"))
    return shop


def test_classes_are_kept_apart(classes: Workshop) -> None:
    """Cold, start-up, hot and plain code each stay in the places of their class."""
    built = classes.built(COMPILE)
    built.assert_all_print_as_stock()
    assert built.result.capture is not None
    link = built.result.capture.links[0]
    kinds = {section.kind for section in link.sections if not section.pinned}
    assert kinds == {"unlikely", "startup", "hot", "text"}
    wanted = [link.sections[index].kind for index in link.identity]
    for seed in (1, 2):
        order = draw(link.sections, link.identity, name=seed, factors=("function-order",), classes="keep").order
        assert [link.sections[index].kind for index in order] == wanted
    if classes.linker == "gnu":
        for binary in built.by_layout.values():
            listed = [name for _, name in names_by_address(binary.path) if name[-2:] in ("_a", "_b", "_c")]
            whole = [class_of(binary.path, name) for name in listed if ".cold" not in name]
            assert whole == sorted(whole, key=("unlikely", "startup", "hot", "text").index)


def test_classes_are_mixed_on_request(classes: Workshop) -> None:
    """classes = "mix" places cold code among hot code."""
    built = classes.built(COMPILE, layout={"classes": "mix"})
    built.assert_all_print_as_stock()
    kept = classes.built(COMPILE, layout={"classes": "keep"})
    assert {b.text_sha256 for b in built.seeded.values()}.isdisjoint(b.text_sha256 for b in kept.seeded.values())
    whole = [
        [
            class_of(binary.path, name)
            for _, name in names_by_address(binary.path)
            if name[-2:] in ("_a", "_b", "_c") and "." not in name
        ]
        for binary in built.seeded.values()
    ]
    assert any(kinds != sorted(kinds, key=("unlikely", "startup", "hot", "text").index) for kinds in whole)


def test_module_order_keeps_modules_together(shop: Workshop) -> None:
    """module-order moves whole objects: the functions of one stay side by side and in order."""
    units = "abcdef"
    shop.write_named(
        {f"{unit}.c": many_functions(4, prefix=unit) for unit in units} | {"main.c": main_calling("a3", "f3")}
    )
    built = shop.built("$CC -c *.c && $CC -o prog main.o a.o b.o c.o d.o e.o f.o", layout={"factors": ["module-order"]})
    built.assert_all_print_as_stock()
    names = [f"{unit}{k}" for unit in units for k in range(4)]
    orders = set()
    for binary in built.seeded.values():
        listed = in_order(binary.path, names)
        modules = [name[0] for name in listed[::4]]
        assert listed == [f"{unit}{k}" for unit in modules for k in range(4)]
        orders.add(tuple(modules))
    assert len(orders) == len(built.seeded)


def test_function_order_in_module_keeps_modules_in_place(shop: Workshop) -> None:
    """function-order-in-module moves functions inside their object only; together with module-order both move."""
    shop.write_named(
        {f"{unit}.c": many_functions(4, prefix=unit) for unit in "abc"} | {"main.c": main_calling("a3", "b3", "c3")}
    )
    names = [f"{unit}{k}" for unit in "abc" for k in range(4)]
    built = shop.built(COMPILE, layout={"factors": ["function-order-in-module"]})
    for binary in built.seeded.values():
        assert [name[0] for name in in_order(binary.path, names)] == list("aaaabbbbcccc")
    assert len({tuple(in_order(binary.path, names)) for binary in built.seeded.values()}) == len(built.seeded)
    both = shop.built(COMPILE, layout={"factors": ["module-order", "function-order-in-module"]})
    both.assert_all_print_as_stock()
    moved = [in_order(binary.path, names) for binary in both.seeded.values()]
    assert any([name[0] for name in listed] != list("aaaabbbbcccc") for listed in moved)
    assert all(sorted(listed[k][0] for k in range(i, i + 4))[0] == listed[i][0] for listed in moved for i in (0, 4, 8))


def test_identity_loads_what_the_instrumented_build_made(shop: Workshop) -> None:
    """Identity has every loaded byte of a build by plain gcc with the same flags, and only those."""
    shop.write_named({f"{unit}.c": static_helpers(unit) for unit in "abc"} | {"main.c": main_calling("a", "b", "c")})
    built = shop.built(COMPILE, seeds=[1])
    assert built.result.capture is not None
    folder = shop.cache / "captures" / built.result.capture.id / "0" / "root" / "_build"
    driver = ["gcc", *plain_linker(shop), "-o", "plain", "main.o", "a.o", "b.o", "c.o"]
    subprocess.run(driver, cwd=folder, check=True)
    assert loaded(folder / "plain") == loaded(built.path(IDENTITY))


def test_stock_is_the_plain_build(shop: Workshop) -> None:
    """Stock has the bytes that the same commands give without layoutrand, flags being equal."""
    shop.write_named({f"{unit}.c": static_helpers(unit) for unit in "abc"} | {"main.c": main_calling("a", "b", "c")})
    built = shop.built(COMPILE, seeds=[1])
    subprocess.run("gcc -O2 -c *.c", shell=True, cwd=shop.source, check=True)
    subprocess.run(
        ["gcc", *plain_linker(shop), "-o", "prog", "main.o", "a.o", "b.o", "c.o"], cwd=shop.source, check=True
    )
    assert (shop.source / "prog").read_bytes() == built.path("stock").read_bytes()


def plain_linker(shop: Workshop) -> list[str]:
    """Flags that make the driver use the workshop's linker without layoutrand."""
    if shop.linker == "gnu":
        return []
    folder = shop.project / "plain-tools"
    folder.mkdir(exist_ok=True)
    if not (folder / "ld.lld").exists():
        (folder / "ld.lld").symlink_to(f"/usr/bin/ld.{shop.linker}")
    return [f"-B{folder}", "-fuse-ld=lld"]


def test_two_seeds_of_one_order_are_one_binary(gnu: Workshop) -> None:
    """Two functions have two orders: further seeds are failures that say so, and never counted twice."""
    gnu.write(
        main__c=main_calling("one", "two"), a__c="int one(int x) { return x + 1; }\nint two(int x) { return x * 9; }\n"
    )
    result = gnu.build("$CC -c *.c && $CC -o prog main.o a.o", seeds=range(1, 9))
    seeded = [binary for binary in result.binaries if isinstance(binary.layout, int)]
    assert len({binary.text_sha256 for binary in seeded}) == len(seeded) == 2
    assert len(result.failures) == 6
    for failure in result.failures:
        assert "the same code in the same order as seed" in failure.error
        assert "too few placeable sections" in failure.error


def test_one_function_has_one_layout(gnu: Workshop) -> None:
    """A program of one function has identity and stock, and no seed."""
    gnu.write(main__c="int main(void) { return 0; }\n")
    result = gnu.build("$CC -c *.c && $CC -o prog main.o", seeds=[1, 2])
    assert {binary.layout for binary in result.binaries} == {"stock", "identity"}
    assert [failure.layout for failure in result.failures] == [1, 2]
    assert "1 placeable section" in only_error(result)


def test_every_section_of_the_order_is_in_the_symbol_table(shop: Workshop) -> None:
    """The added symbols name each placed section once, in ascending order of address."""
    shop.write_named({f"{unit}.c": static_helpers(unit) for unit in "abc"} | {"main.c": main_calling("a", "b", "c")})
    built = shop.built(COMPILE, seeds=[7])
    assert built.result.capture is not None
    link = built.result.capture.links[0]
    placed = {name: address for name, address in symbols(built.path(7)).items() if name.startswith(".lr.")}
    order = draw(link.sections, link.identity, name=7, factors=("function-order",), classes="keep").order
    assert sorted(placed, key=placed.__getitem__) == [f".lr.{index:07d}" for index in order]
