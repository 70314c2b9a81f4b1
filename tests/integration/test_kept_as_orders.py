"""Layouts that are kept as the order that they are written in (``layout.storage``): the same ones, whoever reads them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from layoutrand.cache.contents import content_of
from layoutrand.errors import ConfigError
from layoutrand.model import IDENTITY, STOCK
from layoutrand.permute.learned import FORMAT
from layoutrand.platform.disk import sha256_bytes
from speeds import first_fast
from storagekit import BUILD, at_the_command_line, binaries, command, sources
from workshop import SEEDS, Workshop, kinds_of_programs

ORDER = {"storage": "order"}


@pytest.fixture
def program(gnu: Workshop) -> Workshop:
    """A program of some dozens of functions."""
    sources(gnu)
    return gnu


@pytest.mark.parametrize(("toolchain", "flags"), kinds_of_programs())
def test_they_are_the_layouts_that_are_kept_whole(gnu: Workshop, toolchain: str, flags: str) -> None:
    """To the byte; what a linker made, as all of gold, is kept whole, and that is told."""
    sources(gnu)
    gnu.chosen = toolchain
    build = BUILD if not flags else f"$CC -g {flags} -c *.c && $CC {flags} -o prog main.o u.o"
    made = gnu.built(build, layout=ORDER)
    is_written = "gold" not in toolchain
    assert {name: binary.stored.storage for name, binary in made.by_layout.items()} == {
        STOCK: "whole",
        IDENTITY: "whole",
        **dict.fromkeys(SEEDS, "order" if is_written else "whole"),
    }
    for binary in made.seeded.values():
        assert sha256_bytes(content_of(binary.stored)) == binary.sha256
    for entry in gnu.cache.glob("binaries/*"):
        subprocess.run(["rm", "-r", entry], check=True)
    whole = gnu.built(build, layout={"engine": "link"})
    assert {name: each.sha256 for name, each in made.by_layout.items()} == {
        name: each.sha256 for name, each in whole.by_layout.items()
    }


def test_what_has_to_be_linked_is_kept_whole_and_told(gnu: Workshop) -> None:
    sources(gnu)
    built = gnu.build(BUILD, layout={**ORDER, "factors": ["link-order"]})
    assert {binary.stored.storage for binary in built.binaries} == {"whole"}
    [said] = built.unwritten
    assert "link-order cannot be written" in str(said)
    assert str(said).endswith("; they are kept as files")


@pytest.mark.parametrize(
    "factors", first_fast(1, [["function-order", "padding", "text-offset"], ["function-order", "data-order"]])
)
def test_other_factors_are_kept_with_the_order(program: Workshop, factors: list[str]) -> None:
    made = program.built(BUILD, layout={**ORDER, "factors": factors})
    assert {binary.stored.storage for binary in made.seeded.values()} == {"order"}
    for binary in made.seeded.values():
        assert sha256_bytes(content_of(binary.stored)) == binary.sha256


def test_a_setting_that_changes_makes_nothing_anew(program: Workshop) -> None:
    """All kinds lie side by side, and are found by any setting."""
    program.built(BUILD, seeds=[1])
    program.built(BUILD, seeds=[1, 2], layout=ORDER)
    both = program.built(BUILD, seeds=[1, 2, 3], layout={"storage": "delta"})
    assert {name: binary.stored.storage for name, binary in both.seeded.items()} == {1: "whole", 2: "order", 3: "delta"}
    assert both.by_layout[3].base == both.path(IDENTITY)
    again = program.built(BUILD, seeds=[1, 2, 3])
    assert all(binary.cached for binary in again.by_layout.values())


def test_they_are_executed_and_shown(program: Workshop) -> None:
    """`run` writes each in its place, `inspect` reads the order and writes the file, `cache` knows of them."""
    at_the_command_line(program, ORDER)
    made = binaries(program)
    assert {name: made[name]["storage"] for name in SEEDS} == dict.fromkeys(SEEDS, "order")
    assert made[2]["path"].endswith("/prog.order")

    assert "12 executions now" in command(program, "run", "--seeds", "1..4")

    shown = command(program, "inspect", "sys", "2", "-o", "two")
    assert "in exactly the order asked for" in " ".join(shown.split())
    assert "It is the order that it is written in: two is the binary itself" in shown
    hint = "It is the order that it is written in: -o FILE writes the binary itself"
    assert hint in command(program, "inspect", "sys", "2")
    document = json.loads(command(program, "inspect", "sys", "2", "--json"))
    assert (document["storage"], document["base"]) == ("order", made[2]["base"])
    assert made[2]["base"].endswith(f"/0/learned-{FORMAT}.image")
    written = program.project / "two"
    assert sha256_bytes(written.read_bytes()) == made[2]["sha256"]
    assert subprocess.run([written], capture_output=True).stdout == (program.project / "said").read_bytes()
    assert command(program, "cache", "ls").count("(order)") == len(SEEDS)
    assert "0 damaged" in command(program, "cache", "verify")
    assert command(program, "cache", "pack", "--whole").startswith("4 layouts were made whole files")
    assert {each["storage"] for each in binaries(program).values()} == {"whole"}


@pytest.mark.parametrize("lost", first_fast(1, ["image", "order", "table"]))
def test_what_is_damaged_is_made_again_and_told(program: Workshop, lost: str) -> None:
    """As a damaged file is: `cache verify` names it, and `build` mends it."""
    at_the_command_line(program, ORDER)
    made = binaries(program)
    image = Path(made[2]["base"])
    path = {"order": Path(made[2]["path"]), "image": image, "table": image.with_suffix(".npz")}[lost]
    data = path.read_bytes()
    path.chmod(0o755)
    path.write_bytes(data[: len(data) // 2])
    anew = {2} if lost == "order" else set(SEEDS)
    assert f"{len(anew)} damaged" in command(program, "cache", "verify", status=1)
    mended = binaries(program)
    assert {name for name, each in mended.items() if not each["cached"]} == anew
    assert {name: each["sha256"] for name, each in mended.items()} == {n: e["sha256"] for n, e in made.items()}
    assert {mended[name]["storage"] for name in SEEDS} == {"order"}
    assert "0 damaged" in command(program, "cache", "verify")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"build": {"mode": "rebuild"}}, '"order" needs captures'),
        ({"layout": {**ORDER, "engine": "link"}}, '"order" is for layouts that are written without the linker'),
        ({"layout": {**ORDER, "factors": ["cds-order"]}}, '"order" writes what a linker would, and cds-order takes'),
    ],
)
def test_what_contradicts_it_is_an_error(program: Workshop, more: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=f"layout.storage: {why}"):
        program.config(BUILD, **{"layout": ORDER, **more})
