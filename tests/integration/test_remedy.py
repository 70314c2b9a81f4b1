"""`layoutrand explain --remedy`: flags that cure a planted effect are found, and where none does none is recommended."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutrand.config.config import System
from layoutrand.explain.remedies import remedies_of
from layoutrand.linkers.toolbox import declared
from placekit import Call, project_of, slower_by_place
from workshop import require


@pytest.fixture
def planted(tmp_path: Path) -> Callable[..., Call]:
    """A project whose program is slower where the address of its function has a bit of the mask; what calls it."""
    require("gcc", "gcc")
    require("valgrind", "valgrind")

    def make(mask: int, slower: float = 0.3, more: str = "") -> Call:
        call = project_of(tmp_path, slower_by_place(mask, slower), '[run]\ncontrols = ["identity"]\n' + more)
        call("run", "--seeds", "20", "-q")
        return call

    return make


def remedies(call: Call, *arguments: object, status: int = 0) -> dict:
    done = call("explain", "--profiler", "callgrind", "--remedy", *arguments, "--json", status=status)
    return json.loads(done.stdout)["benchmarks"][0]["remedies"]


@pytest.mark.slow
def test_a_planted_offset_is_cured_by_alignment(planted, tmp_path: Path) -> None:
    call = planted(32)  # in the second half of a line
    found = remedies(call, "--remedy-layouts", "24")
    assert found["recommended"] == "O1+aligned"
    assert found["seeds"] == list(range(21, 45))
    rows = {row["system"]: row for row in found["tried"]}
    assert rows.keys() == {"O1+aligned", "O1+aligned-loops", "O1+branches-32B"}
    cured = rows["O1+aligned"]
    assert cured["flags"] == "-falign-functions=64"
    assert cured["verdict"] == "helps"
    assert cured["layout_p_value"] < 0.05
    assert found["layout_sd"]["interval"][0] > 0.05
    assert cured["layout_sd"]["upper"] < 0.02
    assert cured["interval"][1] < 1
    assert cured["text_size"]["after"] > cured["text_size"]["before"]
    assert rows["O1+branches-32B"]["verdict"] in {"no help shown", "same code"}

    said = call("explain", "--profiler", "callgrind", "--remedy", "--remedy-layouts", "24")
    assert " 0 executions now" in f" {said.stderr}".replace("\n", " ")  # all are known
    # The answer is the first line, in 80 columns; what it rests on follows.
    first = said.stdout.partition("\n\n")[0]
    assert " ".join(first.split()).startswith("b, O1, place: cured by -falign-functions=64: layout adds ")
    assert first.splitlines()[-2:] == ['    [systems."O1+aligned"]', '    cflags = "-O1 -falign-functions=64"']
    assert max(map(len, said.stdout.partition("b, O1, place: 20 layouts")[0].splitlines())) <= 80
    assert said.stdout.index("Suspects:") > said.stdout.index("aligned-loops:")
    # No other command sees these executions, nor the systems.
    (analysis,) = json.loads(call("analyse", "--metric", "place", "--json").stdout)["benchmarks"]
    assert (analysis["system"], analysis["n_binaries"]) == ("O1", 20)

    # What the sentence says to add to layoutrand.toml does what it says.
    path = tmp_path / "project" / "layoutrand.toml"
    more = '[systems."O1+aligned"]\ntoolchain = "gcc"\ncflags = "-O1 -falign-functions=64"\n'
    path.write_text(path.read_text() + more)
    again = call("build", "--seeds", "21..44", "--system", "O1+aligned", "--no-controls")
    assert re.search(r"O1\+aligned +\d+ +24 +0 +24 ", again.stdout)  # 24 binaries: none made now, all in the cache
    # The name is taken now, so what is tried is called otherwise; executed later than what it is compared with, it
    # would be compared with another time.
    again = remedies(call, "--system", "O1", "--remedy-layouts", "24", status=1)
    (row,) = (row for row in again["tried"] if row["system"] == "O1+aligned+")
    assert (row["verdict"], row["layout_p_value"], row["mean_p_value"]) == ("cannot tell", None, None)
    assert row["reason"].startswith("it was not executed in the rounds of the system as it is; --first-seed")
    assert again["recommended"] == "O1+aligned-loops"
    new = remedies(call, "--system", "O1", "--remedy-layouts", "24", "--first-seed", "100")
    assert new["recommended"] == "O1+aligned+"


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang-14", "clang-19"])
def test_compilers_take_the_flags(tmp_path: Path, compiler: str) -> None:
    require(compiler, compiler)
    toolchain = "clang" if compiler.startswith("clang") else "gcc"
    (tmp_path / "a.c").write_text("int f(int n) { int s = 0; for (int k = 0; k < n; k++) s += k * k; return s; }\n")
    for remedy in remedies_of(declared(toolchain, Path())):
        words = [compiler, "-O2", "-Werror", *shlex.split(remedy.flags), "-c", "a.c", "-o", "a.o"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_nothing_is_recommended_where_no_flag_helps(planted) -> None:
    call = planted(64)  # which of two lines it is, whatever it begins at
    said = call("explain", "--profiler", "callgrind", "--remedy", "--remedy-layouts", "24").stdout
    assert " ".join(said.split()).startswith(
        "b, O1, place: nothing is recommended: with none of 3 remedies do layouts differ by less, or is the mean better"
    )
    assert not re.search(r" helps$", said, re.MULTILINE)


@pytest.mark.slow
def test_nothing_is_tried_where_there_is_nothing_to_cure(planted) -> None:
    call = planted(0)
    done = call("explain", "--profiler", "callgrind", "--remedy")
    assert "no remedy is tried: there is no suspect, and no sign that layout matters" in done.stdout
    assert "executions now" not in done.stderr
    assert remedies(call) is None


@pytest.mark.slow
def test_a_flag_that_the_compiler_refuses_is_told_and_the_others_are_tried(
    planted, tmp_path: Path, monkeypatch
) -> None:
    call = planted(32)
    own = tmp_path / "bin" / "gcc"
    own.parent.mkdir()
    own.write_text(
        '#!/bin/sh\ncase " $* " in *branches-within*) echo "error: what is that flag" >&2; exit 1;; esac\n'
        'exec /usr/bin/gcc "$@"\n'
    )
    own.chmod(0o755)
    monkeypatch.setenv("PATH", f"{own.parent}:{os.environ['PATH']}")
    call("run", "--seeds", "20", "-q")
    done = call("explain", "--profiler", "callgrind", "--remedy", "--remedy-layouts", "24", "--json", status=1)
    found = json.loads(done.stdout)["benchmarks"][0]["remedies"]
    assert [row["verdict"] for row in found["tried"]] == ["helps", "helps", "failed"]
    assert "what is that flag" in found["tried"][2]["reason"]
    assert "-Wa,-mbranches-within-32B-boundaries: " in done.stderr


@pytest.mark.slow
def test_nothing_is_executed_where_no_flag_can_be_tried(planted, tmp_path: Path, monkeypatch) -> None:
    call = planted(32)
    own = tmp_path / "bin" / "gcc"
    own.parent.mkdir()
    own.write_text(
        '#!/bin/sh\ncase " $* " in *branches-within*|*-falign*) echo "error: what is that flag" >&2; exit 1;; esac\n'
        'exec /usr/bin/gcc "$@"\n'
    )
    own.chmod(0o755)
    monkeypatch.setenv("PATH", f"{own.parent}:{os.environ['PATH']}")
    call("run", "--seeds", "20", "-q")
    done = call("explain", "--profiler", "callgrind", "--remedy")
    assert "no remedy is tried: none of the flags makes another program: " in done.stdout
    assert "what is that flag" in done.stdout
    assert "executions now" not in done.stderr


def test_flags_are_added_where_a_language_has_its_own() -> None:
    (aligned, _, branches) = remedies_of(declared("gcc", Path()))
    plain = aligned.applied(System(cflags="-O2"))
    assert (plain.cflags, plain.cxxflags, plain.fflags) == ("-O2 -falign-functions=64", None, "")
    own = aligned.applied(System(cflags="-O2", cxxflags="", fflags="-O3"))
    assert (own.cxxflags, own.fflags) == ("-falign-functions=64", "-O3 -falign-functions=64")
    assert branches.applied(System()).cflags == "-Wa,-mbranches-within-32B-boundaries"
    rust = remedies_of(declared("rust", Path()))
    assert rust[0].applied(System(cflags="-O2", rustflags="-g")).rustflags == "-g -Cllvm-args=-align-all-functions=6"
    assert remedies_of(declared("go", Path())) == ()
    clang = remedies_of(declared("clang-lld-19", Path()))
    assert [each.flags for each in clang] == [
        aligned.flags,
        "-falign-functions=64 -falign-loops=64",
        branches.flags[4:],
    ]


def test_what_makes_no_sense_is_one_clear_error(planted) -> None:
    call = planted(32, more='[systems.O2]\ntoolchain = "gcc"\ncflags = "-O2"\n[layout]\ncouple = "address"\n')
    coupled = call("explain", "--profiler", "callgrind", "--remedy").stdout
    assert 'no remedy is tried: layout.couple = "address" ties layouts of all systems to each other' in coupled
    few = call("explain", "--remedy", "--remedy-layouts", "3", status=2)
    assert "--remedy-layouts" in few.stderr
    old = call("explain", "--remedy", "--any-source", status=2)
    assert "--remedy builds the present source" in old.stderr
