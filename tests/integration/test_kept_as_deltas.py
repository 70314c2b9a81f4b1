"""Layouts that are kept as deltas (``layout.storage``): the same layouts, at the command line, and whoever reads them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from layoutrand.cache.contents import content_of
from layoutrand.config.config import Config
from layoutrand.errors import ConfigError, ToolNotFound
from layoutrand.model import IDENTITY, STOCK
from layoutrand.platform.disk import sha256_bytes
from speeds import first_fast
from storagekit import BUILD, at_the_command_line, binaries, command, sources
from workshop import SEEDS, Workshop, kinds_of_programs

DELTA = {"storage": "delta"}


@pytest.fixture
def program(gnu: Workshop) -> Workshop:
    """A program of some dozens of functions."""
    sources(gnu)
    return gnu


@pytest.mark.parametrize("engine", ["link", "permute"])
@pytest.mark.parametrize(("toolchain", "flags"), kinds_of_programs())
def test_they_are_the_layouts_that_are_kept_whole(gnu: Workshop, toolchain: str, flags: str, engine: str) -> None:
    """By linker and engine, to the byte; stock and identity are files, and what others are deltas against."""
    sources(gnu)
    gnu.chosen = toolchain
    build = BUILD if not flags else f"$CC -g {flags} -c *.c && $CC {flags} -o prog main.o u.o"
    made = gnu.built(build, layout={**DELTA, "engine": engine})
    assert {name: binary.base is None for name, binary in made.by_layout.items()} == {
        STOCK: True,
        IDENTITY: True,
        **dict.fromkeys(SEEDS, False),
    }
    for binary in made.seeded.values():
        assert binary.base == made.path(IDENTITY)
        assert sha256_bytes(content_of(binary.stored)) == binary.sha256
    entries = sorted(gnu.cache.glob("binaries/*"))
    for entry in entries:
        subprocess.run(["rm", "-r", entry], check=True)
    whole = gnu.built(build, layout={"engine": engine})
    assert sorted(gnu.cache.glob("binaries/*")) == entries
    assert {name: each.sha256 for name, each in made.by_layout.items()} == {
        name: each.sha256 for name, each in whole.by_layout.items()
    }
    whole.assert_all_print_as_stock()


def test_a_setting_that_changes_makes_nothing_anew(program: Workshop) -> None:
    """Both kinds lie side by side, and are found by either setting."""
    whole = program.built(BUILD, seeds=[1, 2])
    both = program.built(BUILD, seeds=[1, 2, 3, 4], layout=DELTA)
    assert {name: binary.cached for name, binary in both.by_layout.items()} == {
        **dict.fromkeys(whole.by_layout, True),
        3: False,
        4: False,
    }
    kept = {name: binary.base is not None for name, binary in both.by_layout.items()}
    assert kept == {STOCK: False, IDENTITY: False, 1: False, 2: False, 3: True, 4: True}
    again = program.built(BUILD, seeds=[1, 2, 3, 4])
    assert all(binary.cached for binary in again.by_layout.values())
    assert {name: binary.base is not None for name, binary in again.by_layout.items()} == kept


@pytest.mark.parametrize("jobs", [1, 3])
def test_without_identity_the_first_layout_is_what_the_others_are_against(program: Workshop, jobs: int) -> None:
    made = program.built(BUILD, seeds=[5, 6, 7], controls=False, layout=DELTA, jobs=jobs)
    assert {name: binary.base for name, binary in made.by_layout.items()} == {
        5: None,
        6: made.path(5),
        7: made.path(5),
    }
    more = program.built(BUILD, seeds=[8, 5, 9], controls=False, layout=DELTA, jobs=jobs)
    assert {name: binary.base for name, binary in more.by_layout.items()} == {
        8: made.path(5),
        5: None,
        9: made.path(5),
    }
    identity = program.built(BUILD, seeds=[10], layout=DELTA, jobs=jobs)
    assert identity.by_layout[10].base == identity.path(IDENTITY)
    last = program.built(BUILD, seeds=[11], controls=False, layout=DELTA, jobs=jobs)
    assert last.by_layout[11].base == identity.path(IDENTITY)


def test_they_are_executed_and_shown(program: Workshop) -> None:
    """`run` decodes each into its place, `inspect` reads the order and writes the file, `cache` knows of them."""
    at_the_command_line(program, DELTA)
    made = binaries(program)
    assert {name: each["storage"] for name, each in made.items()} == {
        STOCK: "whole",
        IDENTITY: "whole",
        **dict.fromkeys(SEEDS, "delta"),
    }
    assert {each["base"] for name, each in made.items() if name in SEEDS} == {made[IDENTITY]["path"]}
    assert made[2]["path"].endswith("/prog.zst")

    assert "12 executions now" in command(program, "run", "--seeds", "1..4")

    shown = command(program, "inspect", "sys", "2", "-o", "sub/two")
    assert "in exactly the order asked for" in " ".join(shown.split())
    assert "It is a delta: sub/two is the binary itself" in shown
    assert "It is a delta: -o FILE writes the binary itself" in command(program, "inspect", "sys", "2")
    document = json.loads(command(program, "inspect", "sys", "2", "--json"))
    assert (document["storage"], document["base"]) == ("delta", made[IDENTITY]["path"])
    written = program.project / "sub/two"
    assert sha256_bytes(written.read_bytes()) == made[2]["sha256"]
    assert subprocess.run([written], capture_output=True).stdout == (program.project / "said").read_bytes()
    nowhere = program.project / "nowhere"
    nowhere.symlink_to("/dev/null")
    command(program, "inspect", "sys", "2", "-o", "nowhere")
    assert nowhere.is_symlink() and nowhere.is_char_device()  # written to, and not replaced
    assert command(program, "cache", "ls").count("(delta)") == len(SEEDS)
    assert "0 damaged" in command(program, "cache", "verify")


@pytest.mark.parametrize("lost", first_fast(1, ["delta", "base"]))
def test_what_is_damaged_is_made_again_and_told(program: Workshop, lost: str) -> None:
    """As a damaged file is: `cache verify` names it, and `build` mends it."""
    at_the_command_line(program, DELTA)
    made = binaries(program)
    path = Path(made[2]["path"] if lost == "delta" else made[IDENTITY]["path"])
    data = path.read_bytes()
    path.chmod(0o755)
    path.write_bytes(data[: len(data) // 2])
    anew = {2} if lost == "delta" else {IDENTITY, *SEEDS}
    assert f"{len(anew)} damaged" in command(program, "cache", "verify", status=1)
    document = json.loads(command(program, "build", "--explain", "--seeds", "1..4", "--json"))
    assert set(document["systems"][0]["binaries"][0]["damaged"]) == anew
    mended = binaries(program)
    assert {name for name, each in mended.items() if not each["cached"]} == anew
    assert {name: each["sha256"] for name, each in mended.items()} == {n: e["sha256"] for n, e in made.items()}
    assert "0 damaged" in command(program, "cache", "verify")


@pytest.mark.slow
def test_what_is_there_is_packed_and_unpacked(program: Workshop) -> None:
    at_the_command_line(program)
    before = binaries(program)
    packed = json.loads(command(program, "cache", "pack", "--json"))
    assert (packed["changed"], packed["in_use"]) == (len(SEEDS), 0)
    assert packed["after"] < packed["before"]
    after = binaries(program)
    assert all(each["cached"] for each in after.values())
    assert [name for name, each in after.items() if each["storage"] == "delta"] == list(SEEDS)
    assert {n: e["sha256"] for n, e in after.items()} == {n: e["sha256"] for n, e in before.items()}
    assert "12 executions now" in command(program, "run", "--seeds", "1..4")
    again = json.loads(command(program, "cache", "pack", "--json"))
    assert (again["changed"], again["others"]) == (0, 0)  # identity's file, against which they are, is not told of
    at_the_command_line(program, DELTA)
    assert "0 executions now, 12 were there already" in command(program, "run", "--seeds", "1..4")
    assert command(program, "cache", "pack", "--whole").startswith("4 layouts were made whole files")
    assert {each["storage"] for each in binaries(program).values()} == {"whole"}


def test_rebuilds_keep_files(program: Workshop) -> None:
    with pytest.raises(ConfigError, match="layout.storage: .*`layoutrand cache pack` makes deltas"):
        program.config(BUILD, layout=DELTA, build={"mode": "rebuild"})
    config: Config = program.config(BUILD, build={"mode": "rebuild"})
    assert {each.base for each in program.built(config, seeds=[1]).by_layout.values()} == {None}


def test_without_the_library_nothing_is_built(program: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr("layoutrand.cache.delta.import_module", missing)
    with pytest.raises(ToolNotFound, match="layouts that are kept as deltas need"):
        program.build(BUILD, layout=DELTA)
    assert not list((program.cache / "captures").iterdir())
    assert program.built(BUILD).by_layout
