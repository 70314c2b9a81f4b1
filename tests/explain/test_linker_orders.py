"""Linker orders: what each linker is told puts functions first, and binaries in which they are not is told."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import cast

import pytest

from layoutrand.config.config import System
from layoutrand.explain.linker_orders import not_in_order
from layoutrand.explain.remedies import LinkerOrder, ordered_first
from layoutrand.explain.remedy_words import how_to_use
from layoutrand.explain.treated import Treatment, Tried, TriedSystem
from layoutrand.linkers.known import linker, names
from layoutrand.linkers.linker import OrderedFunction
from layoutrand.model import IDENTITY, Binary, LayoutName, Stored
from workshop import require, symbols

SOURCE = "\n".join(
    [
        *(f"__attribute__((noinline)) int f{k}(int x) {{ return x * {k + 3}; }}" for k in range(8)),
        "__attribute__((noinline)) static int hidden(int x) { return x - 5; }",
        f"int main(int n, char **v) {{ return {' + '.join(f'f{k}(n)' for k in range(8))} + hidden(n); }}",
    ]
)
WANTED = ("f5", "hidden", "f2")


def order(*wanted: str, **changes: object) -> LinkerOrder:
    """An order of these functions."""
    values = {
        "file": "/p/.layoutrand/order-1.txt",
        "shown": ".layoutrand/order-1.txt",
        "names": wanted,
        "symbols": wanted,
    }
    return LinkerOrder(**{**values, "told": ("-T", "{}"), "keep": False, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An object of nine functions."""
    require("gcc", "gcc")
    place = tmp_path_factory.mktemp("order")
    (place / "a.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-ffunction-sections", "-c", "a.c"], cwd=place, check=True)
    return place


def linked(folder: Path, text: str, told: list[str], name: str, *more: str) -> Path:
    """A program of it, linked with that file."""
    (folder / f"{name}.txt").write_text(text)
    path = f"{folder}/{name}.txt"
    words = ["gcc", "a.o", "-o", name, *more, *(f"-Wl,{word.replace('{}', path)}" for word in [",".join(told)] if told)]
    subprocess.run(words, cwd=folder, check=True)
    return folder / name


def binary(path: Path, layout: LayoutName = IDENTITY) -> Binary:
    """What a build says of it, as far as it matters here."""
    return cast("Binary", type("", (), {"path": path, "stored": Stored(path), "layout": layout})())


@pytest.mark.parametrize(
    ("name", "program", "more"),
    [
        ("gnu", "ld.bfd", ["-fuse-ld=bfd"]),
        ("lld", "ld.lld-19", []),
        pytest.param("lld", "ld.lld-14", [], marks=pytest.mark.slow),
    ],
)
def test_what_a_linker_is_told_puts_them_first(folder: Path, name: str, program: str, more: list[str]) -> None:
    found = require(program, program)
    if name == "lld":
        (folder / program).mkdir(exist_ok=True)
        if not (folder / program / "ld").exists():
            (folder / program / "ld").symlink_to(found)
        more = [f"-B{folder / program}"]
    asked = linker(name).order_for_a_build([OrderedFunction(f".text.{each}", each) for each in WANTED])
    assert asked is not None
    made = linked(folder, asked.text, list(asked.arguments), f"{program}-ordered", *more)
    where = symbols(made)
    functions = [*(f"f{k}" for k in range(8)), "hidden", "main"]
    assert tuple(sorted(functions, key=where.__getitem__)[:3]) == WANTED
    assert not_in_order(order(*WANTED), [binary(made)]) == ""
    plain = linked(folder, "", [], f"{program}-plain", *more)
    assert not_in_order(order(*WANTED), [binary(plain)]) == "the link does not put its functions in that order"


def test_linkers_that_take_none_say_so() -> None:
    """gold puts what its file names behind all else, where others displace it."""
    asked = {name: linker(name).order_for_a_build([OrderedFunction(".text.f", "f")]) for name in names()}
    assert {name for name, request in asked.items() if request is not None} == {"gnu", "lld"}


def test_what_is_wrong_with_an_order_is_said(folder: Path) -> None:
    plain = linked(folder, "", [], "plain")
    where = symbols(plain)
    by_place = sorted((f"f{k}" for k in range(8)), key=where.__getitem__)
    assert not_in_order(order(*by_place[:3]), [binary(plain)]) == ""
    assert not_in_order(order(by_place[0], by_place[2]), [binary(plain)]) == f"{by_place[1]} lies among its functions"
    assert not_in_order(order("f1", "nothing"), [binary(plain)]) == (
        "nothing, which it is to put in order, is not there with it"
    )
    text = "SECTIONS { .text.other : { . += 256; *(.text.f7) } } INSERT BEFORE .text;\n"
    moved = linked(folder, text, ["-T", "{}"], "moved", "-fuse-ld=bfd")
    assert not_in_order(order(*by_place[:3]), [binary(plain), binary(moved, 7)]) == (
        f"other functions displace those that it puts in order: {by_place[0]} lies elsewhere in layout 7"
    )


def test_a_system_with_it_says_all_that_it_takes() -> None:
    remedy = ordered_first(order("f", "g"))
    assert remedy.words == "a linker order of 2 functions (.layoutrand/order-1.txt)"
    system = remedy.applied(System(cflags="-O2", cxxflags="", ldflags="-s", label="mine"))
    assert remedy.settings(system).keys() == {"cflags", "cxxflags", "ldflags"}
    assert (system.cflags, system.cxxflags) == ("-O2 -ffunction-sections", "-ffunction-sections")
    assert (system.ldflags, system.ordered) == ("-s -Wl,-T,/p/.layoutrand/order-1.txt", "move")
    told = ("--symbol-ordering-file={}",)
    kept = ordered_first(order("f", told=told, keep=True, file="/a b/order-1.txt")).applied(System())
    assert (kept.ldflags, kept.ordered) == ("'-Wl,--symbol-ordering-file=/a b/order-1.txt'", "keep")
    lto = ordered_first(order("f", lto=True)).applied(System(ldflags="-flto"))
    assert lto.ldflags == "-flto -ffunction-sections -Wl,-T,/p/.layoutrand/order-1.txt"
    many = ordered_first(order(*(f"f{k}" for k in range(9)))).does
    assert many.startswith(
        "the hottest functions (f0, f1, f2, f3, ...) lie together at the start of the code, at the same"
    )


def test_what_the_user_does_with_it() -> None:
    remedy = ordered_first(order("f", told=("--symbol-ordering-file={}",), keep=True))
    tried = Tried(TriedSystem(remedy, "O2+ordered", remedy.applied(System(cflags="-O2"))), "helps")
    ((said, added),) = how_to_use(cast("Treatment", type("", (), {"recommended": tried, "system": "O2"})()))
    assert said.startswith(
        "compile with -ffunction-sections, and link with -Wl,--symbol-ordering-file=order-1.txt, for which copy "
        ".layoutrand/order-1.txt to your build; it holds as long as the code of these functions stays as it is"
    )
    assert added.splitlines() == [
        '[systems."O2+ordered"]',
        'cflags = "-O2 -ffunction-sections"',
        'ldflags = "-Wl,--symbol-ordering-file=/p/.layoutrand/order-1.txt"',
        'ordered = "keep"',
    ]
