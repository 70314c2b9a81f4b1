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
from layoutrand.objects import elf
from placekit import Call, apart, project_of, slower_by_place
from workshop import programs_of, require, symbols


@pytest.fixture
def planted(tmp_path: Path) -> Callable[..., Call]:
    """A project whose program is slower where the address of its function has a bit of the mask; what calls it."""
    require("gcc", "gcc")
    require("valgrind", "valgrind")

    def make(mask: int, slower: float = 0.3, more: str = "", *, files: int = 1, toolchain: str = "gcc") -> Call:
        program = slower_by_place(mask, slower)
        call = project_of(tmp_path, program, '[run]\ncontrols = ["identity"]\n' + more, toolchain)
        if files > 1:
            apart(tmp_path)
        call("run", "--seeds", "20", "-q")
        return call

    return make


def remedies(call: Call, *arguments: object, status: int = 0) -> dict:
    done = call("explain", "--profiler", "callgrind", "--remedy", *arguments, "--json", status=status)
    return json.loads(done.stdout)["benchmarks"][0]["remedies"]


@pytest.mark.slow
def test_a_planted_offset_is_cured_by_alignment(planted, tmp_path: Path) -> None:
    call = planted(32, files=2)  # in the second half of a line
    found = remedies(call, "--remedy-layouts", "24")
    assert found["recommended"] == "O1+file-aligned"
    assert found["seeds"] == list(range(21, 45))
    rows = {row["system"]: row for row in found["tried"]}
    assert list(rows) == [
        "O1+file-aligned",
        "O1+file-aligned-loops",
        "O1+aligned",
        "O1+aligned-loops",
        "O1+branches-32B",
        "O1+ordered",
    ]
    assert [row["files"] for row in rows.values()] == [["lib/work.c"], ["lib/work.c"], [], [], [], []]
    assert [row["key"] for row in rows.values()] == ["file_flags"] * 2 + ["cflags"] * 3 + ["ldflags"]
    assert [row["order"] for row in rows.values()][:5] == [None] * 5
    assert rows["O1+ordered"]["order"]["functions"] == ["work"]
    assert rows["O1+ordered"]["verdict"] != "failed"
    everywhere = rows["O1+aligned"]
    cured = rows["O1+file-aligned"]
    assert cured["flags"] == everywhere["flags"] == "-falign-functions=64"
    assert everywhere["verdict"] == "helps"
    assert cured["verdict"] == "helps"
    assert cured["layout_p_value"] < 0.05
    assert found["layout_sd"]["interval"][0] > 0.05
    assert cured["layout_sd"]["upper"] < 0.02
    assert cured["interval"][1] < 1
    assert cured["text_size"]["before"] < cured["text_size"]["after"] < everywhere["text_size"]["after"]
    assert rows["O1+branches-32B"]["verdict"] in {"no help shown", "same code"}

    brief = call("explain", "--profiler", "callgrind", "--remedy", "--remedy-layouts", "24").stdout
    said = call("explain", "--profiler", "callgrind", "--remedy", "--remedy-layouts", "24", "--full")
    assert " 0 executions now" in f" {said.stderr}".replace("\n", " ")  # all are known
    # The answer is the first line, in 80 columns; what it rests on follows.
    first = said.stdout.partition("\n\n")[0]
    assert " ".join(first.split()).startswith(
        "b, O1, place: cured by -falign-functions=64 for lib/work.c: layout adds "
    )
    (rule,) = (line.strip() for line in first.splitlines() if "override" in line)
    assert rule == "lib/work.o: override CFLAGS += -falign-functions=64"
    assert " __attribute__((aligned(64))) before its definition aligns work alone, which was not measured" in (
        " ".join(first.split())
    )
    assert first.splitlines()[-2:] == [
        '    [systems."O1+file-aligned"]',
        '    file_flags = { "lib/work.c" = "-falign-functions=64" }',
    ]
    of_what_is_said_to_the_user(tmp_path / "project" / "src", rule)
    assert max(map(len, said.stdout.partition("b, O1, place: suspected")[0].splitlines())) <= 80
    assert said.stdout.index("Suspects:") > said.stdout.index("aligned-loops:")
    table = said.stdout[: said.stdout.index("aligned-loops:")].rstrip().rpartition("\n\n")[0]
    assert brief.startswith(table)
    assert "aligned-loops:" not in brief
    assert "suspected, not proved\n" in brief
    # No other command sees these executions, nor the systems.
    (analysis,) = json.loads(call("analyse", "--metric", "place", "--json").stdout)["benchmarks"]
    assert (analysis["system"], analysis["n_binaries"]) == ("O1", 20)

    # What the sentence says to add to layoutrand.toml does what it says.
    path = tmp_path / "project" / "layoutrand.toml"
    added = "\n".join(line.strip() for line in first.splitlines()[-2:])
    path.write_text(f'{path.read_text()}{added}\ntoolchain = "gcc"\ncflags = "-O1"\n')
    again = call("build", "--seeds", "21..44", "--system", "O1+file-aligned", "--no-controls")
    assert re.search(r"O1\+file-aligned +\d+ +24 +0 +24 ", again.stdout)  # 24 binaries: none made now, all in the cache
    # The name is taken now, so what is tried is called otherwise; executed later than what it is compared with, it
    # would be compared with another time.
    again = remedies(call, "--system", "O1", "--remedy-layouts", "24", status=1)
    (row,) = (row for row in again["tried"] if row["system"] == "O1+file-aligned+")
    assert (row["verdict"], row["layout_p_value"], row["mean_p_value"]) == ("cannot tell", None, None)
    assert row["reason"].startswith("it was not executed in the rounds of the system as it is; --first-seed")
    assert again["recommended"] == "O1+file-aligned-loops"
    new = remedies(call, "--system", "O1", "--remedy-layouts", "24", "--first-seed", "100")
    assert new["recommended"] == "O1+file-aligned+"


def of_what_is_said_to_the_user(source: Path, rule: str) -> None:
    """The line in the user's own makefile, and the attribute, align the function, and the line no other object."""

    def aligned(*arguments: str) -> dict[str, int]:
        subprocess.run(["make", "-s", "-B", *arguments], cwd=source, check=True)
        return {name: alignment_of_text(source / name) for name in ("prog.o", "lib/work.o")}

    flags = "CFLAGS=-O1 -ffunction-sections"
    plain = aligned(flags)
    assert max(plain.values()) < 64
    makefile, work = source / "Makefile", source / "lib" / "work.c"
    own = makefile.read_text(), work.read_text()
    makefile.write_text(f"{own[0]}\n{rule}\n")
    assert aligned(flags) == {**plain, "lib/work.o": 64}
    makefile.write_text(own[0])
    work.write_text(own[1].replace("__attribute__((noinline))", "__attribute__((noinline, aligned(64)))"))
    assert aligned(flags) == {**plain, "lib/work.o": 64}
    work.write_text(own[1])
    for name in ("prog", "prog.o", "lib/work.o"):
        (source / name).unlink()


def alignment_of_text(path: Path) -> int:
    """The largest alignment of a section of code."""
    file = elf.read(path.read_bytes(), name=str(path))
    return int(file.sections["align"][(file.sections["flags"] & elf.SHF_EXECINSTR) != 0].max())


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang-14", "clang-19"])
def test_compilers_take_the_flags(tmp_path: Path, compiler: str) -> None:
    require(compiler, compiler)
    toolchain = "clang" if compiler.startswith("clang") else "gcc"
    (tmp_path / "a.c").write_text("int f(int n) { int s = 0; for (int k = 0; k < n; k++) s += k * k; return s; }\n")
    for remedy in remedies_of(declared(toolchain, Path()), "EM_X86_64"):
        words = [compiler, "-O2", "-Werror", *shlex.split(remedy.flags), "-c", "a.c", "-o", "a.o"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.hour
@pytest.mark.parametrize("toolchain", ["gcc", "gcc-lld"])
def test_where_no_flag_helps_an_order_does_if_its_place_is_a_good_one(planted, tmp_path: Path, toolchain: str) -> None:
    """Which of two lines it is, whatever it begins at: whether the first line is good is as the program has it."""
    call = planted(64, files=2, toolchain=toolchain)
    found = remedies(call, "--remedy-layouts", "24")
    rows = {row["system"]: row for row in found["tried"]}
    *flags, last = rows.values()
    assert last["system"] == "O1+ordered"
    assert {row["verdict"] for row in flags} == {"no help shown"}
    assert last["layout_sd"]["upper"] < 0.02
    assert last["layout_p_value"] < 0.05
    order = Path(last["order"]["file"])
    project = tmp_path / "project"
    assert order.parent == project / ".layoutrand"
    if last["verdict"] == "is slower":  # that it is so always, and never else, is checked below
        assert found["recommended"] is None
    else:
        assert found["recommended"] == "O1+ordered"
        assert last["interval"][1] < 1
    # As the user would, in a build of his own.
    linked = "-T" if toolchain == "gcc" else "--symbol-ordering-file="
    (project / "src" / "order").write_bytes(order.read_bytes())
    flag = f"-Wl,{linked}{',' if toolchain == 'gcc' else ''}order"
    programs = {
        "gcc": ["CC=gcc"],
        "gcc-lld": [f"CC=gcc -B{lld_folder(tmp_path)}"],
    }[toolchain]
    subprocess.run(
        ["make", "-s", "-B", *programs, f"CFLAGS=-O1 -ffunction-sections {flag}"], cwd=project / "src", check=True
    )
    own = symbols(project / "src" / "prog")
    assert own["work"] < min(own[f"f{k}"] for k in range(24))
    assert bool(own["work"] & 64) == (last["verdict"] == "is slower")


def lld_folder(tmp_path: Path) -> Path:
    """Where gcc finds an lld as its linker."""
    folder = tmp_path / "lld"
    folder.mkdir()
    (folder / "ld").symlink_to(programs_of("gcc-lld")["ld"])
    return folder


@pytest.mark.slow
def test_nothing_is_tried_where_there_is_nothing_to_cure(planted) -> None:
    call = planted(0)
    done = call("explain", "--profiler", "callgrind", "--remedy")
    assert "no remedy is tried: there is no suspect, and no sign that layout matters" in done.stdout
    assert "executions now" not in done.stderr
    assert remedies(call) is None


@pytest.mark.hour
@pytest.mark.slow
def test_a_flag_that_the_compiler_refuses_is_told_and_the_others_are_tried(
    planted, tmp_path: Path, monkeypatch
) -> None:
    call = planted(32, files=2)
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
    assert [row["verdict"] for row in found["tried"]][:5] == ["helps", "helps", "helps", "helps", "failed"]
    assert "what is that flag" in found["tried"][4]["reason"]
    assert "-Wa,-mbranches-within-32B-boundaries: " in done.stderr


@pytest.mark.slow
def test_nothing_is_executed_where_no_flag_can_be_tried(planted, tmp_path: Path, monkeypatch) -> None:
    call = planted(32)
    own = tmp_path / "bin" / "gcc"
    own.parent.mkdir()
    own.write_text(
        '#!/bin/sh\ncase " $* " in *branches-within*|*-falign*|*order-*) echo "error: what is that flag" >&2; exit 1;; esac\n'
        'exec /usr/bin/gcc "$@"\n'
    )
    own.chmod(0o755)
    monkeypatch.setenv("PATH", f"{own.parent}:{os.environ['PATH']}")
    call("run", "--seeds", "20", "-q")
    done = call("explain", "--profiler", "callgrind", "--remedy")
    assert "no remedy is tried: none of the remedies makes another program: " in done.stdout
    assert "what is that flag" in done.stdout
    assert "executions now" not in done.stderr


def test_flags_are_added_where_a_language_has_its_own() -> None:
    (aligned, _, branches) = remedies_of(declared("gcc", Path()), "EM_X86_64")
    plain = aligned.applied(System(cflags="-O2"))
    assert (plain.cflags, plain.cxxflags, plain.fflags) == ("-O2 -falign-functions=64", None, "")
    own = aligned.applied(System(cflags="-O2", cxxflags="", fflags="-O3"))
    assert (own.cxxflags, own.fflags) == ("-falign-functions=64", "-O3 -falign-functions=64")
    assert branches.applied(System()).cflags == "-Wa,-mbranches-within-32B-boundaries"
    rust = remedies_of(declared("rust", Path()), "EM_X86_64")
    assert rust[0].applied(System(cflags="-O2", rustflags="-g")).rustflags == "-g -Cllvm-args=-align-all-functions=6"
    assert remedies_of(declared("go", Path()), "EM_X86_64") == ()
    clang = remedies_of(declared("clang-lld-19", Path()), "EM_X86_64")
    assert [each.flags for each in clang] == [
        aligned.flags,
        "-falign-functions=64 -falign-loops=64",
        branches.flags[4:],
    ]


@pytest.mark.parametrize("toolchain", ["gcc", "clang", "rust", "gcc-aarch64"])
def test_the_erratum_of_one_processor_is_of_no_other(toolchain: str) -> None:
    here, elsewhere = (remedies_of(declared(toolchain, Path()), machine) for machine in ("EM_X86_64", "EM_AARCH64"))
    assert [each.name for each in here] == ["aligned", "aligned-loops", "branches-32B"]
    assert elsewhere == here[:2]


@pytest.mark.slow
def test_what_makes_no_sense_is_one_clear_error(planted) -> None:
    call = planted(32, more='[systems.O2]\ntoolchain = "gcc"\ncflags = "-O2"\n[layout]\ncouple = "address"\n')
    coupled = call("explain", "--profiler", "callgrind", "--remedy").stdout
    assert 'no remedy is tried: layout.couple = "address" ties layouts of all systems to each other' in coupled
    few = call("explain", "--remedy", "--remedy-layouts", "3", status=2)
    assert "--remedy-layouts" in few.stderr
    old = call("explain", "--remedy", "--any-source", status=2)
    assert "--remedy builds the present source" in old.stderr
