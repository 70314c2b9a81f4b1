"""Every factor with every toolchain that has it: the same program, really in another order, verified by other means."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path

import pytest

import zoo
from layoutrand.layout.groups import identity_bytes
from layoutrand.layout.keyed import keyed_uniform
from layoutrand.layout.order import draw
from layoutrand.model import IDENTITY, STOCK
from workshop import (
    LOADER,
    Built,
    Workshop,
    absent,
    in_order,
    only_error,
    output,
    plain_program,
    programs_of,
    require,
    symbols,
)

NEW = {"gnu-new": ("gcc", "LAYOUTRAND_TEST_LD_NEW"), "lld-new": ("gcc-lld", "LAYOUTRAND_TEST_LLD_NEW")}
ORDERS = [
    ["function-order"],
    ["module-order"],
    ["function-order-in-module"],
    ["module-order", "function-order-in-module"],
]
DATA = [["data-order"], ["function-order", "data-order"]]
PADDING = [["padding"], ["function-order", "data-order", "padding"]]
OFFSET = [["text-offset"], ["function-order", "padding", "text-offset"]]
FACTORS = {
    "gcc": ORDERS + DATA + PADDING + OFFSET,
    "clang": ORDERS + DATA + PADDING + OFFSET,
    "gcc-lld": ORDERS + DATA + PADDING + OFFSET,
    "clang-lld": ORDERS + DATA + PADDING + OFFSET,
    "gcc-gold": ORDERS + DATA + PADDING + OFFSET,
    "gcc-mold": [["linker-shuffle"]],
    "gnu-new": ORDERS + DATA + PADDING + OFFSET,
    "lld-new": ORDERS + DATA + PADDING + OFFSET,
}
MODES = {"pie": ("", ""), "no-pie": ("-fno-pie", "-no-pie"), "static": ("-fno-pie", "-static")}
FAST = {("gcc", "pie"), ("gcc-lld", "no-pie")}
TOGETHER = [ORDERS[0], DATA[0], PADDING[1], OFFSET[1]]
"""Functions alone, data alone, and what can be drawn together."""
FUNCTIONS = ("tables", "threads", "jumps", "machine", "alpha", "beta", "linker_set", "aligned", "main")


def cells() -> list[object]:
    """Toolchain x mode x factors; a few of two toolchains wherever programs are built, one in eight of the rest in CI."""
    return [
        pytest.param(
            toolchain,
            mode,
            factors,
            id=f"{toolchain}-{mode}-{'+'.join(factors)}",
            marks=() if (toolchain, mode) in FAST and factors in TOGETHER else (pytest.mark.slow,),
        )
        for toolchain, choices in FACTORS.items()
        for mode in MODES
        for factors in choices
    ]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One directory for all tests of this file, so that a capture serves all factors that can share it."""
    return tmp_path_factory.mktemp("factors")


def project(places: Path, toolchain: str, name: str = "", *, cache: str = "cache") -> tuple[Workshop, str]:
    """The zoo as a project for the toolchain, and what systems.*.toolchain must say."""
    shop = Workshop(places / f"{toolchain}{name}", places / cache)
    shop.write_named(zoo.sources(linker_set=toolchain != "gcc-mold"))
    require("g++", "g++")
    if toolchain not in NEW:
        programs_of(toolchain)
        return shop, toolchain
    base, variable = NEW[toolchain]
    path = os.environ.get(variable, "")
    if not path:
        absent(f"{variable} names no newer linker (tests/tools/fetch_new_linkers.sh)")
    file = shop.project / "new.toml"
    file.write_text(f'name = "{toolchain}"\ndescription = "newer"\nextends = "{base}"\n[tools]\nld = ["{path}"]\n')
    return shop, file.name


def zoo_built(shop: Workshop, toolchain: str, mode: str, factors: list[str], **options: object) -> Built:
    """The zoo in three layouts and both controls, without a failure."""
    flags, link = MODES[mode]
    layout = {"factors": factors, **options}
    result = shop.build(zoo.commands(flags, link), seeds=range(1, 4), layout=layout, system={"toolchain": toolchain})
    assert not result.failures, [f"{failure.layout}: {failure.error}" for failure in result.failures]
    return Built(result, {binary.layout: binary for binary in result.binaries})


def drawn(
    built: Built, layout: int, factors: list[str], names: tuple[str, ...], kind: str = "", classes: str = "keep"
) -> list[str]:
    """The named functions, or variables of that kind, in the order that the layout asks for."""
    assert built.result.capture is not None
    link = built.result.capture.links[0]
    order = draw(link.sections, link.identity, name=layout, factors=tuple(factors), classes=classes, padding=64).order
    prefix = f".{kind}." if kind else ".text."
    found = [link.sections[index].name.removeprefix(prefix).removeprefix("startup.") for index in order]
    return [name for name in found if name in names]


@pytest.mark.parametrize(("toolchain", "mode", "factors"), cells())
def test_the_program_is_the_same_and_its_order_the_one_drawn(
    places: Path, toolchain: str, mode: str, factors: list[str]
) -> None:
    """Output equals the direct build's; functions and variables stand as drawn, gaps are there, no two alike."""
    shop, name = project(places, toolchain)
    built = zoo_built(shop, name, mode, factors)
    built.assert_all_print_as_stock()
    assert len({binary.text_sha256 for binary in built.result.binaries if binary.layout != STOCK}) == 4
    if factors == ["linker-shuffle"]:
        return
    stands = {layout: in_order(binary.path, FUNCTIONS) for layout, binary in built.by_layout.items() if layout != STOCK}
    for layout, binary in built.seeded.items():
        assert isinstance(layout, int)
        assert stands[layout] == drawn(built, layout, factors, FUNCTIONS)
        found = symbols(binary.path)
        for kind, names in zoo.DATA.items():
            movable = drawn(built, layout, factors, names, kind)
            assert movable == [each for each in in_order(binary.path, names) if each in movable]
            assert ("data-order" in factors) == bool(movable)
        assert found["buffer"] % 64 == 0
    moves_code = bool({"function-order", "module-order", "function-order-in-module"} & set(factors))
    assert (len(set(map(tuple, stands.values()))) > 1) == moves_code
    if "data-order" in factors:
        assert (
            len({tuple(in_order(binary.path, ("counters", "scalar", "text"))) for binary in built.result.binaries}) > 1
        )


WHO_CAN_PAD = [
    "gcc",
    "gcc-lld",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("clang", "clang-lld", "gcc-gold", "gnu-new")),
]


@pytest.mark.slow
@pytest.mark.parametrize("toolchain", WHO_CAN_PAD)
def test_gaps_are_where_they_were_drawn(places: Path, toolchain: str) -> None:
    """Between neighbours the distance is the size, the gap of the second by its own identity, and its alignment."""
    shop, name = project(places, toolchain)
    built = zoo_built(shop, name, "no-pie", ["padding"], padding_bytes=200)
    assert built.result.capture is not None
    link = built.result.capture.links[0]
    seen = 0
    for layout, binary in built.seeded.items():
        found = symbols(binary.path)
        for before, after in pairwise(link.identity):
            first, second = link.sections[before], link.sections[after]
            if second.pinned:
                continue
            gap = keyed_uniform(layout, "padding", identity_bytes(second), 201)
            begin, end = (found[f".lr.{index:07d}"] for index in (before, after))
            assert end == -(-(begin + first.size + gap) // second.align) * second.align
            seen += 1
    assert seen > 30
    sizes = {layout: binary.verification.text_size for layout, binary in built.by_layout.items() if binary.verification}
    assert min(sizes[layout] for layout in built.seeded) > sizes[IDENTITY] + 500


@pytest.mark.parametrize("toolchain", [*WHO_CAN_PAD, pytest.param("lld-new", marks=pytest.mark.slow)])
def test_all_code_moves_by_the_offset_that_was_drawn(places: Path, toolchain: str) -> None:
    """A line within a page and a page within a huge page; the functions' distances are those of identity."""
    shop, name = project(places, toolchain)
    built = zoo_built(shop, name, "no-pie", ["text-offset"])
    before = symbols(built.by_layout[IDENTITY].path)
    for layout, binary in built.seeded.items():
        assert isinstance(layout, int)
        line, page = (
            keyed_uniform(layout, "text-offset", what, count) for what, count in ((b"line", 64), (b"page", 512))
        )
        after = symbols(binary.path)
        assert {after[function] - before[function] for function in FUNCTIONS} == {64 * line + 4096 * page}
    built.assert_all_print_as_stock()


@pytest.mark.slow
def test_lld_pads_by_itself(places: Path) -> None:
    """lld 20 and later choose the gaps from the seed: more room than identity, another for each seed."""
    shop, name = project(places, "lld-new")
    built = zoo_built(shop, name, "pie", ["padding"])
    offsets = {
        tuple(symbols(binary.path)[f] - symbols(binary.path)["tables"] for f in FUNCTIONS)
        for binary in built.seeded.values()
    }
    starts = {symbols(binary.path)["tables"] for binary in built.seeded.values()}
    assert len(starts | offsets) >= 4
    assert (
        len({tuple(in_order(binary.path, FUNCTIONS)) for layout, binary in built.by_layout.items() if layout != STOCK})
        == 1
    )


SAME = ["gcc", *(pytest.param(name, marks=pytest.mark.slow) for name in FACTORS if name != "gcc")]


@pytest.mark.slow
@pytest.mark.parametrize("toolchain", SAME)
def test_a_seed_gives_the_same_bytes_elsewhere(places: Path, toolchain: str) -> None:
    """Built from nothing in another directory, with another cache, each layout is the same file."""
    factors = FACTORS[toolchain][-1]
    digests = []
    for name, cache in (("", "cache"), (" elsewhere", "another cache")):
        shop, chosen = project(places, toolchain, name, cache=cache)
        if toolchain in NEW:  # the toolchain file lies in the project
            chosen = "new.toml"
        built = zoo_built(shop, chosen, "no-pie", factors)
        digests.append({layout: binary.sha256 for layout, binary in built.by_layout.items() if layout != STOCK})
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    "toolchain", ["gcc", *(pytest.param(name, marks=pytest.mark.slow) for name in ("gcc-lld", "gcc-gold", "clang-lld"))]
)
def test_data_order_leaves_the_order_of_code_alone(places: Path, toolchain: str) -> None:
    """Each factor draws from a stream of its own: with data-order the functions stand as they do without."""
    shop, name = project(places, toolchain)
    with_data, without = (
        zoo_built(shop, name, "no-pie", factors) for factors in (["function-order", "data-order"], ["function-order"])
    )
    for layout in (1, 2, 3, IDENTITY):
        assert in_order(with_data.path(layout), FUNCTIONS) == in_order(without.path(layout), FUNCTIONS)


@pytest.mark.parametrize(
    "toolchain", ["gcc", *(pytest.param(name, marks=pytest.mark.slow) for name in ("gcc-lld", "gcc-gold"))]
)
def test_classes_mix_but_kinds_of_data_do_not(places: Path, toolchain: str) -> None:
    """With classes mixed main leaves its class; constants, variables and zeroed memory stay what they are."""
    shop, name = project(places, toolchain)
    built = zoo_built(shop, name, "pie", ["function-order", "data-order"], classes="mix")
    built.assert_all_print_as_stock()
    assert built.result.capture is not None
    grouped = built.result.capture.separates_classes
    of_each_class = (
        "rarely",
        "main",
        "often",
        "tables",
    )  # unlikely, startup, hot, plain: so they stand where classes are kept
    assert (in_order(built.path(IDENTITY), of_each_class) == list(of_each_class)) == grouped
    assert any(in_order(binary.path, of_each_class) != list(of_each_class) for binary in built.seeded.values())
    for layout, binary in built.seeded.items():
        order = in_order(binary.path, FUNCTIONS)
        assert order == drawn(built, layout, ["function-order"], FUNCTIONS, classes="mix")
        found = symbols(binary.path)
        last = [max(found[each] for each in names) for names in zoo.DATA.values()]
        first = [min(found[each] for each in names) for names in zoo.DATA.values()]
        assert all(end < begin for end, begin in zip(last, first[1:], strict=False))


@pytest.mark.parametrize(
    "toolchain",
    ["gcc", *(pytest.param(name, marks=pytest.mark.slow) for name in ("gcc-lld", "gcc-gold", "gcc-mold", "clang-lld"))],
)
def test_shared_libraries(places: Path, toolchain: str) -> None:
    """Data and code of a shared library move; what it exports and does stays."""
    shop, name = project(places, toolchain)
    factors = FACTORS[toolchain][-1]
    result = shop.build(
        zoo.commands("-fPIC -DLIBRARY", "-shared", "libzoo.so"),
        artefacts=["libzoo.so"],
        seeds=range(1, 4),
        layout={"factors": factors},
        system={"toolchain": name},
    )
    assert not result.failures, [f"{failure.layout}: {failure.error}" for failure in result.failures]
    loader = plain_program(shop.project, LOADER, "-ldl")
    printed = {output(loader, str(binary.path)) for binary in result.binaries}
    assert len(printed) == 1
    assert len(printed.pop().splitlines()) == 9


REFUSED = {
    ("gcc", "linker-shuffle"): "these can: gcc-mold",
    ("gcc-lld", "linker-shuffle"): "these can: gcc-mold",
    ("gcc-mold", "function-order"): r"these can: .*\bgcc\b.*gcc-gold.*gcc-lld",
    ("gcc-mold", "data-order"): r"these can: .*\bgcc-lld\b",
    ("gcc-mold", "padding"): r"these can: .*\bgcc\b",
    ("gcc-mold", "text-offset"): r"these can: .*\bgcc-gold\b",
}


@pytest.mark.parametrize(("toolchain", "factor"), REFUSED)
def test_what_a_linker_cannot_do(places: Path, toolchain: str, factor: str) -> None:
    """An error before anything is built, naming the toolchains that can."""
    shop, name = project(places, toolchain, " refused")
    result = shop.build("exit 1", layout={"factors": [factor]}, system={"toolchain": name})
    message = only_error(result)
    assert re.search(REFUSED[toolchain, factor], message), message
    assert shop.said == []


@pytest.mark.slow
def test_mold_must_not_shuffle_a_linker_set(places: Path) -> None:
    """A set that a program walks through (``__start_X`` ... ``__stop_X``) has an order; the message names the section."""
    shop, name = project(places, "gcc-mold", " with a set")
    shop.write_named(zoo.sources(linker_set=True))
    result = shop.build(zoo.commands(), layout={"factors": ["linker-shuffle"]}, system={"toolchain": name})
    assert [binary.layout for binary in result.binaries] == [STOCK]
    message = only_error(result)
    assert "inside section zoo_set" in message
    assert "__start_zoo_set ... __stop_zoo_set" in message
    assert "gcc, gcc-lld and gcc-gold" in message
