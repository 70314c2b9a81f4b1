"""Two systems whose layouts are reconciled: what they share lies at the same addresses, read off their symbol tables."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import zoo
from layoutrand.build.coincidence import coinciding_systems
from layoutrand.model import IDENTITY, STOCK, Coincidence
from workshop import Workshop, kinds_of_programs, main_calling, many_functions, only_error, output, programs_of, symbols

COMMAND = "$CC -c *.c && $CC -o prog *.o"
SYSTEMS = {"base": {"cflags": "-O2"}, "head": {"cflags": "-O2 -DHEAD"}}
BY_ADDRESS = {"couple": "address"}
LIB = """
    #include <stdio.h>
    #include <stdlib.h>
    static int calls;
    int limits[4] = {1, 2, 3, 4};
    const char *const words[] = {"one", "two", "three"};
    #ifdef HEAD
    int news[40] = {5};
    static long more[9];
    __attribute__((noinline)) int added(int x) { more[x & 7]++; return (int)(labs(x) + more[1] + news[x & 31]); }
    #endif
    __attribute__((noinline)) int edited(int x) {
    #ifdef HEAD
        if (getenv("NOBODY_SETS_THIS")) puts("a longer string that the other one does not have");
        x += added(x) * 0;
    #endif
        return x * 3 + limits[x & 3] + calls++ * 0;
    }
    __attribute__((noinline)) int says(int x) { return words[x % 3][0] + puts("said"); }
"""
"""A library of which HEAD changes one function, adds one that needs another library function, and adds data."""
SHARED = ("limits", "words", "calls", "says", *(f"u{k}_{n}" for k in range(3) for n in range(12)))


@pytest.fixture
def changed(tmp_path: Path) -> Workshop:
    """A project of which one system defines HEAD."""
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named({f"u{k}.c": many_functions(12, prefix=f"u{k}_") for k in range(3)})
    shop.write_named({"lib.c": LIB, "main.c": main_calling("edited", "says", "u0_11", "u1_11", "u2_11")})
    return shop


def reconciled(shop: Workshop, seeds=range(1, 4), *, command=COMMAND, systems=SYSTEMS, layout=BY_ADDRESS, **options):
    """What was built of each system, by layout: path, and how much coincides."""
    results = shop.build_all(command, layouts=[STOCK, IDENTITY, *seeds], systems=systems, layout=layout, **options)
    assert not [failure for result in results for failure in result.failures]
    found = {r.system: {binary.layout: binary for binary in r.binaries} for r in results}
    for own in found.values():
        assert own[IDENTITY].verification.coincidence is None
    return found


def elsewhere(found, seed, names):
    """Those of the names that do not have one address in all systems."""
    tables = [symbols(own[seed].path) for own in found.values()]
    return [name for name in names if len({table[name] for table in tables}) > 1]


def all_together(found, seed) -> Coincidence:
    """The proof, in which everything is where it is to be."""
    proofs = [own[seed].verification.coincidence for own in found.values()]
    assert len(set(proofs)) == 1
    assert not (proofs[0].functions_elsewhere or proofs[0].variables_elsewhere or proofs[0].changed_elsewhere)
    return proofs[0]


@pytest.mark.slow
@pytest.mark.parametrize(("toolchain", "flags"), kinds_of_programs(now="-Wl,-z,now -Wl,-E"))
def test_what_two_systems_share_has_one_address(changed: Workshop, toolchain: str, flags: str) -> None:
    """Also where one of them needs more of the C library, so that its PLT, its dynamic tables and its GOT are larger."""
    programs_of(toolchain)
    systems = {name: {**own, "toolchain": toolchain} for name, own in SYSTEMS.items()}
    found = reconciled(changed, command=f"$CC {flags} -c *.c && $CC {flags} -o prog *.o", systems=systems)
    said = output(found["base"][STOCK].path)
    places = {}
    for seed in (1, 2, 3):
        assert elsewhere(found, seed, SHARED) == []
        assert elsewhere(found, seed, ("edited",)) == []
        proof = all_together(found, seed)
        assert proof.functions >= len(SHARED) - 3
        assert proof.changed == 1
        places[seed] = [symbols(found["base"][seed].path)[name] for name in SHARED]
        for own in found.values():
            assert output(own[seed].path) == said
    assert places[1] != places[2] != places[3]
    ordinary = symbols(found["head"][IDENTITY].path)
    assert [ordinary[name] for name in SHARED] != [symbols(found["base"][IDENTITY].path)[name] for name in SHARED]


@pytest.mark.slow
def test_the_same_seed_is_the_same_bytes_and_the_other_coupling_is_as_ever(changed: Workshop, tmp_path: Path) -> None:
    """In a cache of its own, from the other system's side alone, and after layouts of the ordinary kind."""
    found = reconciled(changed, seeds=(1, 2))
    ordinary = reconciled(changed, seeds=(1, 2), layout={"factors": ["function-order", "data-order"]})
    assert ordinary["base"][1].verification.coincidence is None
    assert ordinary["base"][1].sha256 != found["base"][1].sha256
    changed.cache = tmp_path / "another"
    again = reconciled(changed, seeds=(2, 1))
    for name in SYSTEMS:
        assert {seed: own.sha256 for seed, own in again[name].items()} == {
            seed: own.sha256 for seed, own in found[name].items()
        }


@pytest.mark.slow
def test_every_factor_goes_with_it(changed: Workshop) -> None:
    for factors in (["padding", "function-order"], ["module-order", "data-order"]):
        found = reconciled(changed, seeds=(1, 2), layout={**BY_ADDRESS, "factors": factors})
        for seed in (1, 2):
            assert elsewhere(found, seed, SHARED) == []
            all_together(found, seed)


@pytest.mark.slow
@pytest.mark.parametrize("toolchain", ["gcc", "gcc-lld"])
def test_a_program_of_one_of_everything(tmp_path: Path, toolchain: str) -> None:
    """Thread-local data, constructors, linker sets, COMDAT functions and jump tables, and two other flags."""
    programs_of(toolchain)
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named(zoo.sources(linker_set=True))
    systems = {name: {"toolchain": toolchain, "cflags": flags} for name, flags in (("a", "-O2"), ("b", "-O2 -fno-plt"))}
    found = reconciled(shop, seeds=(1, 2), command=zoo.commands("", ""), systems=systems)
    said = output(found["a"][STOCK].path)
    for seed in (1, 2):
        proof = all_together(found, seed)
        assert proof.functions
        assert proof.changed
        assert all(output(own[seed].path) == said for own in found.values())


def random_program(chance: random.Random, units: int, edits: int) -> dict[str, str]:
    """Units of functions and data of random sizes, of which HEAD changes, adds and removes some."""
    files = {}
    names = []
    for unit in range(units):
        lines = []
        for n in range(chance.randint(1, 9)):
            name = f"r{unit}_{n}"
            names.append(name)
            body = "".join(f"x ^= x * {chance.randint(3, 999)} + {k};" for k in range(chance.randint(1, 12)))
            data = f"static int d_{name}[{chance.randint(1, 40)}] __attribute__((used)) = {{{chance.choice('01')}}};\n"
            text = f"__attribute__((noinline)) int {name}(int x) {{ {body} d_{name}[0]++; return x; }}\n"
            if chance.randint(0, units * 4) < edits:
                extra = chance.choice(
                    (
                        f'#include <stdlib.h>\nint n_{name}(int x) {{ return abs(x) + atoi("{chance.random()}"); }}\n',
                        f"const int more_{name}[{chance.randint(1, 99)}] = {{1, 2}};\n",
                        f"int zero_{name}[{chance.randint(1, 99)}];\n",
                        f"__attribute__((aligned(64))) int a_{name}(int x) {{ return x + 1; }}\n",
                    )
                )
                other = text.replace("return x;", chance.choice(("return x + 0;", "return x ^ (x >> 31) ^ (x >> 31);")))
                text = f"#ifdef HEAD\n{extra}{other}#else\n{text}#endif\n"
            lines.append(data + text)
        files[f"unit{unit}.c"] = "".join(lines)
    return {**files, "main.c": main_calling(*names)}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("toolchain", ["gcc", "gcc-lld"])
def test_random_pairs_of_programs(tmp_path: Path, toolchain: str, number: int) -> None:
    """Whatever two programs differ in, all that is equal in both has one address, and both answer as they did."""
    programs_of(toolchain)
    chance = random.Random(number)
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named(random_program(chance, units=chance.randint(2, 12), edits=chance.randint(1, 8)))
    systems = {name: {**own, "toolchain": toolchain} for name, own in SYSTEMS.items()}
    found = reconciled(shop, seeds=(1, 2), systems=systems)
    said = {name: output(own[STOCK].path) for name, own in found.items()}
    for seed in (1, 2):
        proof = all_together(found, seed)
        both = [symbols(own[seed].path) for own in found.values()]
        apart = [name for name in both[0] if name in both[1] and name[:1] == "r" and both[0][name] != both[1][name]]
        assert proof.functions + proof.changed >= len([name for name in both[0] if name[:1] == "r"])
        assert apart == []
        assert {name: output(own[seed].path) for name, own in found.items()} == said


@pytest.mark.slow
def test_what_cannot_have_the_same_addresses_is_told_and_counted(changed: Workshop) -> None:
    """A program at fixed addresses and one that is not: each is built, and none of it is said to coincide."""
    systems = {"base": {"ldflags": "-no-pie"}, "head": {"cflags": "-O2 -DHEAD"}}
    found = reconciled(changed, seeds=(1,), systems=systems)
    (said,) = coinciding_systems(own[1] for own in found.values())
    assert (said.functions_together, said.variables_together) == (0, 0)
    assert said.functions > 30
    assert f"0 of {said.functions} unchanged functions" in str(said)


@pytest.mark.slow
def test_what_is_not_where_it_was_agreed_to_be_is_counted_in_both(changed: Workshop) -> None:
    found = reconciled(changed, seeds=(1, 2))
    binaries = [own[seed] for own in found.values() for seed in (1, 2)]
    (said,) = coinciding_systems(binaries)
    assert str(said).startswith(f"prog: {said.functions} of {said.functions} unchanged functions and ")
    assert str(said).endswith("; 1 of 1 changed functions begin at the same address")
    assert "lie at the same address in both, in each of 2 layouts;" in str(said)


def test_a_system_alone_is_refused(changed: Workshop) -> None:
    config = changed.config(COMMAND, systems=SYSTEMS, layout=BY_ADDRESS)
    alone = config.model_copy(update={"systems": {"base": config.systems["base"]}})
    assert "two systems" in only_error(changed.build_all(alone, layouts=[1])[0])


def test_a_linker_script_of_the_builds_own_is_refused(changed: Workshop) -> None:
    families = "".join(
        f".{name} : {{ *(.{name} .{name}.*) }} " for name in ("text", "rodata", "data.rel.ro", "data", "bss")
    )
    script = f"SECTIONS {{ . = SIZEOF_HEADERS; {families} }}"
    changed.write_named({"own.ld": script})
    command = "$CC -c *.c && $CC -o prog *.o -Wl,-T,own.ld -nostartfiles -nostdlib -static -Wl,--unresolved-symbols=ignore-all -Wl,-e,main"
    result = changed.build_all(command, layouts=[1], systems=SYSTEMS, layout=BY_ADDRESS)[0]
    assert "linker script of its own" in only_error(result)
