"""`layoutrand sweep`: one function at several offsets, and nothing else anywhere else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import conflictkit
import startkit
import zoo
from layoutrand.build.build_setup import BuildProgress, BuildSetup
from layoutrand.build.swept import SweptBinaries, swept_binaries, swept_section
from layoutrand.cache.store import Cache
from layoutrand.errors import FeatureUnsupported, LayoutNotApplied, UsageError
from layoutrand.explain.offsets import Offsets, checked_offsets, parse_offsets
from layoutrand.explain.place_choice import find_place
from layoutrand.link.one_moved import proof
from layoutrand.model import IDENTITY, LayoutName
from layoutrand.objects import elf
from placekit import counting
from workshop import Workshop, kinds_of_programs, main_calling, many_functions, output, programs_of, require, symbols

OFFSETS = (0, 16, 32, 48)


@pytest.fixture
def program(tmp_path: Path) -> Workshop:
    """Three files of twelve functions each."""
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named({f"u{k}.c": many_functions(12, prefix=f"u{k}_") for k in range(3)})
    shop.write_named({"main.c": main_calling("u0_11", "u1_5", "u2_11")})
    return shop


def swept(
    shop: Workshop,
    function: str,
    offsets: Sequence[int] = OFFSETS,
    *,
    command: str = "$CC -c *.c && $CC -o prog *.o",
    base: LayoutName = IDENTITY,
    period: int = 64,
    **changes: object,
) -> tuple[SweptBinaries, Path]:
    """The binaries with the function at these offsets, and the base layout's."""
    config = shop.config(command, **changes)
    built = shop.build(config, layouts=[IDENTITY, base])
    assert not built.failures, built.failures[0].error
    progress = BuildProgress(shop.said.append, lambda: None)
    setup = BuildSetup.of(config, shop.project, Cache(shop.cache), shop.runner, progress, jobs=2)
    found = swept_section(
        setup, built, ("prog", base, period), lambda link: find_place(link.sections, function, lambda _: {})[0]
    )
    return swept_binaries(setup, found, offsets, name=function), found.base.path


def elsewhere(one: Path, other: Path) -> set[str]:
    """Names whose addresses, as nm has them, differ."""
    tables = [
        {tuple(line.split()[1:]): int(line.split()[0], 16) for line in nm.splitlines() if len(line.split()) == 3}
        for nm in (
            subprocess.run(["nm", "--special-syms", path], check=True, capture_output=True, text=True).stdout
            for path in (one, other)
        )
    ]
    assert tables[0].keys() == tables[1].keys()
    return {
        name
        for (_, name) in tables[0]
        if any(tables[0].get((k, name)) != tables[1].get((k, name)) for k in "tTdDbBrRwW")
    }


@pytest.mark.slow
@pytest.mark.parametrize(("toolchain", "flags"), kinds_of_programs())
def test_the_function_alone_is_moved(program: Workshop, toolchain: str, flags: str) -> None:
    """In the middle of a layout and at its ends, from identity and from a seed, each within a line and in a page."""
    programs_of(toolchain)
    options = {"command": f"$CC {flags} -c *.c && $CC {flags} -o prog *.o", "system": {"toolchain": toolchain}}
    said = None
    for function, base in (("u1_5", IDENTITY), ("u0_0", IDENTITY), ("u2_11", IDENTITY), ("u1_5", 3)):
        made, own = swept(program, function, base=base, **options)
        before = symbols(own)
        places = []
        for offset, binary in zip(OFFSETS, made.binaries, strict=True):
            table = symbols(binary.path)
            places.append(table[function])
            assert table[function] % 64 == offset
            moved = {table[name] - before[name] for name in before if name[:1] == "u" and name != function}
            assert moved <= {0, made.hole.shift}
            assert made.hole.shift % 4096 == 0
            said = said or output(own)
            assert output(binary.path) == said
        assert [place - places[0] for place in places] == list(OFFSETS)
        first = made.binaries[0].path
        assert all(elsewhere(first, other.path) - {function} <= marks(made) for other in made.binaries[1:])
        assert made.stillness.symbols > 36
        assert made.stillness.as_in_base + made.stillness.pages_on > 36


def marks(made: SweptBinaries) -> set[str]:
    """The function's own mark, and that of the filler behind it."""
    count = max(
        int(name[4:]) for name in symbols(made.binaries[0].path) if name.startswith(".lr.") and name[4:].isdigit()
    )
    return {f".lr.{made.hole.section:07d}", f".lr.{count:07d}"}


def test_a_page_of_offsets_and_what_is_kept_in_the_cache(program: Workshop) -> None:
    made, _ = swept(program, "u1_5", (0, 2048, 4080), period=4096)
    assert [symbols(binary.path)["u1_5"] % 4096 for binary in made.binaries] == [0, 2048, 4080]
    again, _ = swept(program, "u1_5", (2048, 1024), period=4096)
    assert [binary.cached for binary in again.binaries] == [True, False]
    assert again.binaries[0].sha256 == made.binaries[1].sha256


@pytest.mark.parametrize("base", [IDENTITY, 3])
def test_what_is_swept_is_kept_as_deltas_too(program: Workshop, base: LayoutName) -> None:
    """Against identity, also where another layout, which is a delta itself, is the one that is swept."""
    deltas, _ = swept(program, "u1_5", base=base, layout={"storage": "delta"})
    assert {binary.base is None for binary in deltas.binaries} == {False}
    shutil.rmtree(program.cache / "binaries")
    files, _ = swept(program, "u1_5", base=base)
    assert {binary.base for binary in files.binaries} == {None}
    assert [binary.sha256 for binary in deltas.binaries] == [binary.sha256 for binary in files.binaries]


def test_more_than_the_function_elsewhere_is_refused(program: Workshop) -> None:
    """A binary of another function's sweep, of another layout, and one without the function."""
    made, own = swept(program, "u1_5")
    other, _ = swept(program, "u2_3")
    link = program.build("$CC -c *.c && $CC -o prog *.o", layouts=[IDENTITY]).capture.links[0]
    read = {
        path: elf.read(path.read_bytes(), name=path.name)
        for path in (own, made.binaries[0].path, other.binaries[1].path)
    }
    base, first, foreign = read.values()

    assert proof(base, [first], link, made.hole).pages_on > 0
    with pytest.raises(LayoutNotApplied, match="more than that one was moved"):
        proof(base, [first, foreign], link, made.hole)
    seeded, _ = swept(program, "u1_5", (0, 16), base=3)
    with pytest.raises(LayoutNotApplied, match="more than that one was moved"):
        proof(base, [first, elf.read(seeded.binaries[0].path.read_bytes(), name="seed")], link, made.hole)
    with pytest.raises(LayoutNotApplied, match="no whole number of pages"):
        proof(elf.read(seeded.binaries[0].path.read_bytes(), name="seed"), [first], link, made.hole)


@pytest.mark.slow
def test_what_no_function_can_be_moved_in_is_refused(program: Workshop) -> None:
    for changes, words in (
        ({"layout": {"factors": ["padding"]}, "base": 3}, "has gaps of its own"),
        ({"layout": {"factors": ["link-order"]}, "base": 3}, "whole objects are moved"),
        ({"layout": {"couple": "address"}, "base": 3, "systems": {"a": {}, "b": {"cflags": "-O1"}}}, "tied"),
    ):
        with pytest.raises(FeatureUnsupported, match=words):
            swept(program, "u1_5", **changes)
    with pytest.raises(FeatureUnsupported, match="one place alone"):
        swept(program, "u1_5", system={"cflags": "-O2 -falign-functions=64"})


@pytest.mark.slow
@pytest.mark.parametrize("toolchain", ["gcc", "gcc-lld", "gcc-lto", "clang-lto"])
def test_a_program_of_one_of_everything(tmp_path: Path, toolchain: str) -> None:
    """Thread-local data, constructors, linker sets, COMDAT functions and jump tables; and link-time optimisation."""
    programs_of(toolchain)
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named(zoo.sources(linker_set=True))
    made, own = swept(shop, "main", command=zoo.commands("", ""), system={"toolchain": toolchain})
    assert {output(binary.path) for binary in made.binaries} == {output(own)}


def test_functions_are_known_by_what_people_call_them(program: Workshop) -> None:
    program.write_named({"one.c": "static int twin(int x) { return x; } int (*a)(int) = twin;"})
    program.write_named({"two.c": "static int twin(int x) { return x + 1; } int (*b)(int) = twin;"})
    sections = program.build("$CC -c *.c && $CC -o prog *.o", layouts=[IDENTITY]).capture.links[0].sections

    def found(name: str) -> str:
        return sections[find_place(sections, name, lambda _: {})[0]].name

    assert found("u1_5") == ".text.u1_5"
    with pytest.raises(UsageError, match=r"2 functions are called 'twin': 'twin \(one\.o\)', 'twin \(two\.o\)'"):
        found("twin")
    number, name = find_place(sections, "twin (two.o)", lambda _: {})
    assert (sections[number].object, name) == ("two.o", "twin (two.o)")
    with pytest.raises(UsageError, match="did you mean 'u1_5'"):
        found("u1_55")
    with pytest.raises(UsageError, match="no function"):
        found("")


def test_functions_of_cplusplus_are_known_by_both_names(tmp_path: Path) -> None:
    require("g++", "g++")
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named(
        {
            "a.cpp": "namespace deep { int f(int x) { return x; } int f(long x) { return x; } } int main() { return deep::f(0) + deep::f(0L); }"
        }
    )
    sections = (
        shop.build("$CXX $CXXFLAGS -O0 -c a.cpp && $CXX -o prog a.o", layouts=[IDENTITY]).capture.links[0].sections
    )
    readable = {"_ZN4deep1fEi": "deep::f(int)", "_ZN4deep1fEl": "deep::f(long)"}

    for name in ("_ZN4deep1fEi", "deep::f(int)"):
        number, _ = find_place(sections, name, lambda symbols: {s: readable[s] for s in symbols if s in readable})
        assert sections[number].name == ".text._ZN4deep1fEi"
    with pytest.raises(UsageError, match="2 functions are called 'deep::f'"):
        find_place(sections, "deep::f", lambda symbols: {s: readable[s] for s in symbols if s in readable})


def test_offsets_are_what_an_alignment_allows() -> None:
    assert checked_offsets(parse_offsets("0..63", None), 16, "f") == OFFSETS
    assert checked_offsets(parse_offsets("0..63", None), 32, "f") == (0, 32)
    assert checked_offsets(parse_offsets(" 8..15 ", 1), 1, "f") == tuple(range(8, 16))
    assert [parse_offsets(text, None).period for text in ("0..63", "0..64", "0..4095", "16..17")] == [64, 128, 4096, 64]
    for text in ("", "64", "0-63", "63..0", "5..5", "0..99999999", "0..9" * 9, "-1..5", "0..٦٣", "0..0x40"):
        with pytest.raises(UsageError, match="--offset"):
            parse_offsets(text, None)
    for asked, align in (
        (Offsets(0, 63, 8), 16),
        (Offsets(8, 63, 16), 16),
        (Offsets(0, 15, None), 1),
        (Offsets(0, 999, 1), 1),
    ):
        with pytest.raises(UsageError):
            checked_offsets(asked, align, "f")


SOURCE = """
    #include <stdio.h>
    #include <stdlib.h>
    __attribute__((noinline)) int warm(int x) { return x * 3 + 1; }
    __attribute__((noinline)) int other(int x) { return x * 5 + 1; }
    int main(void) {
        double slow = ((unsigned long) warm & 63) == 32 ? 1.33 : 1.0;
        if (getenv("BREAK") && ((unsigned long) warm & 63) == 48) return 1;
        printf("cost %.6f\\nfixed %d\\nplace %.2f\\n", slow * (1 + 0.01 * drawn()), warm(1) + other(1), slow);
    }
"""
"""It says itself what it costs: a third more where one function begins at byte 32 of a line."""
CONFIG = """\
[project]
name = "planted"
[build]
source = "src"
commands = ["$CC $CFLAGS -o prog a.c"]
artefacts = ["prog"]
[systems.O2]
toolchain = "gcc"
cflags = "-O2"
[[benchmarks]]
name = "b"
command = ["{artefact}"]
metric = { printed = [
  { name = "cost", regex = 'cost ([0-9.]+)', unit = "s" },
  { name = "fixed", regex = 'fixed ([0-9]+)' },
  { name = "place", regex = 'place ([0-9.]+)' },
] }
"""


def prose(done: subprocess.CompletedProcess[str]) -> str:
    """What was printed, wherever its lines end."""
    return " ".join(done.stdout.split())


@pytest.fixture
def layoutrand(tmp_path: Path):
    """A function that calls the command line on the planted program."""
    require("gcc", "gcc")
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "a.c").write_text(counting(SOURCE, tmp_path))
    (project / "layoutrand.toml").write_text(CONFIG)

    def call(*arguments: object, status: int = 0, **environment: str):
        env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache"), **environment}
        done = startkit.layoutrand(*arguments, "-C", project, env=env)
        assert done.returncode == status, done.stderr
        return done

    return call


@pytest.mark.slow
def test_a_planted_offset_is_found_said_and_drawn(layoutrand, tmp_path: Path) -> None:
    figure = tmp_path / "dose.svg"
    told = layoutrand("sweep", "warm", "--rounds", "5", "-o", figure)
    first = prose(told)
    assert first.startswith("offset 32 of warm: 3")
    assert "% slower (" in first
    assert "5 % of sweeps" in first
    assert "nothing else moves: " in prose(told)
    assert "20 executions now" in told.stderr
    assert ET.parse(figure).getroot().tag.endswith("svg")

    again = layoutrand("sweep", "warm", "--rounds", "5", "--json")
    assert "0 executions now, 20 were there already" in again.stderr
    document = json.loads(again.stdout)
    assert document["schema"] == "layoutrand/sweep/1"
    assert first.startswith(document["verdict"])
    assert document["matters"] is True
    assert (document["largest"]["offsets"], document["largest"]["period"]) == ([32], 64)
    assert document["largest"]["interval"][0] < 0.33 < document["largest"]["interval"][1]
    assert [row["offset"] for row in document["offsets"]] == list(OFFSETS)
    assert all(row["address"] % 64 == row["offset"] and len(row["values"]) == 5 for row in document["offsets"])
    assert len({row["sha256"] for row in document["offsets"]}) == 4
    # Rounds are of offsets that were executed together: at no other time.
    assert "10 executions now, 0 were there already" in (
        layoutrand("sweep", "warm", "--rounds", "5", "--offset", "0..31").stderr
    )
    # No other command sees these executions.
    assert "there are no results" in layoutrand("analyse", status=2).stderr


@pytest.mark.slow
def test_nothing_is_found_where_another_function_is_moved(layoutrand) -> None:
    told = layoutrand("sweep", "other", "--rounds", "6", "--json")
    document = json.loads(told.stdout)
    assert document["matters"] is False
    assert document["verdict"].startswith(
        "nothing stands out: no offset of other differs from the others by more than "
    )
    assert 0 < document["bound"] < 0.05
    same = prose(layoutrand("sweep", "other", "--rounds", "6", "--metric", "fixed"))
    assert same.startswith("no offset of other differs: fixed is the same at all of them, to the digit")
    exact = prose(layoutrand("sweep", "warm", "--rounds", "3", "--metric", "place", "--base", "7"))
    assert exact.startswith("offset 32 of warm: 33.00 % more place than the others (values repeat to the digit")
    few = prose(layoutrand("sweep", "other", "--rounds", "2"))
    assert few.startswith("cannot tell: 2 complete rounds of 4 offsets are too few")


@pytest.mark.slow
def test_several_layouts_are_swept_and_looked_at_together(layoutrand) -> None:
    """Wherever the function lies, byte 32 of a line is the slow place."""
    words = ("sweep", "warm", "--rounds", "3", "--metric", "place", "--base", "identity,7..8")
    told = layoutrand(*words)
    assert prose(told).startswith(
        "over 3 layouts offset 32 of warm: 33.00 % more place than the others (the same in each of them, to the digit)"
    )
    assert "by themselves, 3 of 3 layouts have an offset that stands out, 3 of them the same offsets" in prose(told)
    assert "layout 8: offset 32 of warm" in prose(told)
    assert "36 executions; one that still runs" not in told.stderr
    assert told.stderr.count("12 executions now") == 3
    document = json.loads(layoutrand(*words, "--json").stdout)
    assert document["schema"] == "layoutrand/sweep-bases/1"
    assert document["bases"] == ["identity", 7, 8]
    assert [each["base"] for each in document["sweeps"]] == document["bases"]
    assert document["largest"]["offsets"] == [32]
    for more in ("--cause", "--switch=line", "--output=x.svg"):
        assert "are of one layout" in layoutrand(*words, more, status=2).stderr


@pytest.mark.slow
def test_failed_executions_are_told_and_their_rounds_left_out(layoutrand, tmp_path: Path) -> None:
    path = tmp_path / "project" / "layoutrand.toml"
    path.write_text(
        path.read_text().replace('command = ["{artefact}"]', 'command = ["{artefact}"]\nenv = { BREAK = "1" }')
    )
    failed = layoutrand("sweep", "warm", "--rounds", "3", status=1)
    assert "offset 48 was never measured" in failed.stderr
    assert "offset 48: " in failed.stderr


@pytest.mark.slow
def test_what_makes_no_sense_is_one_clear_error(layoutrand, tmp_path: Path) -> None:
    for words, said in (
        (("cold",), "no function that can be placed is called 'cold'"),
        (("warm", "--offset", ""), "write the first and the last offset"),
        (("warm", "--switch", "l*"), "no mechanism called 'l*'"),
        (("warm", "--switch", "line", "--metric", "speed"), "no metric called 'speed'"),
        (("warm", "--offset", "5"), "write the first and the last offset"),
        (("warm", "--step", "8"), "aligned to 16 bytes"),
        (("warm", "--base", "stock"), "it is identity, a seed from 0"),
        (("warm", "--system", "O3"), "no system"),
        (("warm", "--benchmark", "c"), "no benchmark called 'c'"),
        (("warm", "--metric", "speed", "--rounds", "2"), "no metric called 'speed'"),
        (("warm", "-o", "x.png"), "the figure is SVG"),
        (("warm", "-o", str(tmp_path / "no" / "x.svg")), "no such directory"),
    ):
        assert said in layoutrand("sweep", *words, status=2).stderr


LOOP = """
    #include <stdio.h>
    /* 20 bytes and a loop of 22, much as libquantum has one */
    __asm__(".section .text.looping,\\"ax\\",@progbits\\n.p2align 4\\n.globl looping\\n.type looping,@function\\nlooping:\\n"
            "mov $20000,%eax\\n.fill 15,1,0x90\\n1: .fill 18,1,0x90\\ndec %eax\\njnz 1b\\nret\\n.size looping,.-looping\\n.text\\n");
    void looping(void);
    int main(void) {
        looping();
        unsigned long begin = (unsigned long) looping + 20, end = begin + 21;
        printf("cost %.6f\\n", (1 + 0.3 * (end / UNIT - begin / UNIT)) * (1 + 0.01 * drawn()));
    }
"""
"""It costs a third more for each boundary of UNIT bytes that its loop lies across."""


def with_planted_loop(tmp_path: Path, unit: int) -> Path:
    """The project, whose program is that one."""
    project = tmp_path / "project"
    (project / "src" / "a.c").write_text(counting(LOOP, tmp_path))
    config = CONFIG.replace('cflags = "-O2"', f'cflags = "-O2 -DUNIT={unit}"').split('  { name = "fixed')[0]
    (project / "layoutrand.toml").write_text(f"{config}] }}\n")
    return project


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "told"), [(64, "line"), (32, "window")])
def test_the_cause_of_a_planted_loop_is_told(layoutrand, tmp_path: Path, unit: int, told: str) -> None:
    require("valgrind", "valgrind")
    with_planted_loop(tmp_path, unit)
    found = json.loads(
        layoutrand("sweep", "looping", "--rounds", "8", "--cause", "--profiler", "callgrind", "--json").stdout
    )
    assert found["matters"] is True
    assert found["cause"]["mechanism"] == told
    assert found["cause"]["sentence"] in prose(
        layoutrand("sweep", "looping", "--rounds", "8", "--cause", "--profiler", "callgrind")
    )
    by_name = {each["mechanism"]: each for each in found["cause"]["candidates"]}
    assert by_name["line"]["levels"] == [1, 1, 2, 1]


COUNTING_PERF = r"""#!/bin/sh
# Counts as a processor does on which the program takes `cost` billion cycles.
while [ "$1" != -- ]; do
  case "$1" in -o) out=$2; shift;; -e) events="$events $2"; shift;; esac; shift
done
shift
said=$("$@"); status=$?
echo "$said"
cost=$(echo "$said" | sed -n 's/^cost //p')
count() { awk "BEGIN { cost = $1; printf(\"%.0f;;$2;1;100.00;;\", $3) }"; echo; }
for event in $events; do
  case $event in
    cycles:u) count "${cost:-1}" "$event" '1e9 * cost';;
    idq_uops_not_delivered.core:u) count "${cost:-1}" "$event" 'FRONT_END';;
    *) echo "<not supported>;;$event;0;100.00;;";;
  esac
done > "$out"
exit $status
"""


@pytest.mark.hour
@pytest.mark.slow
def test_counters_agree_with_a_mechanism_or_speak_against_it(layoutrand, tmp_path: Path) -> None:
    require("valgrind", "valgrind")
    project = with_planted_loop(tmp_path, 64)
    perf = tmp_path / "bin" / "perf"
    perf.parent.mkdir()
    path = {"PATH": f"{perf.parent}:{os.environ['PATH']}"}
    words = ("sweep", "looping", "--rounds", "8", "--cause", "--profiler", "callgrind")

    perf.write_text(COUNTING_PERF.replace("FRONT_END", "3e9 * (cost - 1) + 1e8"))
    perf.chmod(0o755)
    told = layoutrand(*words, **path)
    assert "cause: instruction line straddle" in prose(told)
    assert "counters agree with instruction line straddle" in prose(told)
    assert "more idq_uops_not_delivered.core (places for operations that the front end leaves empty)" in prose(told)
    assert "counting cycles, idq_uops_not_delivered.core in 24 executions more" in told.stderr
    found = json.loads(layoutrand(*words, "--json", **path).stdout)
    assert found["cause"]["mechanism"] == "line"
    (counted,) = found["counters"]["counted"]
    assert counted["agrees"] is True
    assert counted["mechanisms"] == ["line"]
    assert counted["cycles"]["interval"][0] < 0.3e9 < counted["cycles"]["interval"][1]
    assert counted["more"]["interval"][0] < 0.9e9 < counted["more"]["interval"][1]
    switched = layoutrand("sweep", "looping", "--switch", "line", "--rounds", "8", "--profiler", "callgrind", **path)
    assert prose(switched).startswith("instruction line straddle")
    assert "counters agree with instruction line straddle" in prose(switched)

    shutil.rmtree(project / ".layoutrand")  # what was counted is not counted again
    perf.write_text(COUNTING_PERF.replace("FRONT_END", "1e8"))
    told = layoutrand(*words, **path)
    assert "cause: cannot tell" in prose(told)
    assert "counters speak against instruction line straddle: where it is slow there are 0 more" in prose(told)
    assert "idq_uops_not_delivered.core speaks against it" in prose(told)
    found = json.loads(layoutrand(*words, "--json", **path).stdout)
    assert found["cause"]["mechanism"] is None
    assert found["counters"]["counted"][0]["agrees"] is False

    broken = COUNTING_PERF.replace("FRONT_END", "1e8").replace('echo "$said"\n', '[ -z "$said" ] || exit 3\n')
    shutil.rmtree(project / ".layoutrand")
    perf.write_text(broken)  # counts what does nothing, and fails with the program
    told = layoutrand(*words, status=1, **path)
    assert "cause: instruction line straddle" in prose(told)
    assert "no counters were read: no execution of the sweep measured anything: exit status 3" in prose(told)
    assert "failed: offset 32" in told.stderr

    perf.write_text("#!/bin/sh\nexit 2\n")
    told = layoutrand(*words, **path)
    assert "cause: instruction line straddle" in prose(told)
    assert "no counters were read: perf counts no cycles here" in prose(told)
    assert json.loads(layoutrand(*words, "--json", **path).stdout)["counters"]["absent"]


@pytest.mark.slow
def test_one_mechanism_is_switched_alone(layoutrand, tmp_path: Path) -> None:
    require("valgrind", "valgrind")
    with_planted_loop(tmp_path, 64)
    options = ("sweep", "looping", "--rounds", "4", "--profiler", "callgrind", "--switch")
    told = layoutrand(*options, "line")
    assert prose(told).startswith(
        "instruction line straddle (64-byte lines under its hottest instructions), switched alone: "
    )
    assert re.search(r"looping is (29|30)\S* % slower", prose(told))
    found = json.loads(layoutrand(*options, "line", "--json").stdout)
    assert prose(told).startswith(found["switched"]["sentence"])
    assert all(offset % 64 == 32 for offset in found["switched"]["with"])
    assert not any(offset % 64 == 32 for offset in found["switched"]["without"])
    assert found["switched"]["matters"] is True
    assert found["cause"] is None
    assert prose(layoutrand(*options, "window")).startswith("no effect of 32-byte window")
    for words, said in (
        (("fetch",), "looping meets as much of it at all"),
        (("lines",), "no mechanism called 'lines'"),
        (("line", "--cause"), "give one of them"),
    ):
        assert said in layoutrand(*options, *words, status=2).stderr


@pytest.mark.slow
def test_a_set_conflict_is_told_from_simulated_misses(layoutrand, tmp_path: Path) -> None:
    require("valgrind", "valgrind")
    project = tmp_path / "project"
    (project / "src" / "prog.c").write_text(conflictkit.source(rounds=200))
    (project / "src" / "Makefile").write_text("prog: prog.c\n\t$(CC) $(CFLAGS) -o $@ prog.c\n")
    (project / "layoutrand.toml").write_text(conflictkit.CONFIG % "{ cachegrind = true }")
    options = (
        "--offset",
        "0..4095",
        "--step",
        "256",
        "--metric",
        "i1_misses",
        "--profiler",
        "callgrind",
    )
    told = layoutrand("sweep", "pong", *options, "--cause")
    assert "cause: instruction cache set conflict" in prose(told)
    assert "i1_misses is simulated, and has nothing of instruction line straddle" in prose(told)
    # Values repeat to the digit: more rounds than show that tell nothing.
    assert "32 executions now, 0 were there already" in told.stderr
    assert "32 executions in 2 rounds" in prose(told)
    asked = layoutrand("sweep", "pong", *options, "--rounds", "3")
    assert "16 executions now, 32 were there already" in asked.stderr
    assert "48 executions in 3 rounds" in prose(asked)


@pytest.mark.slow
def test_simulated_values_that_vary_are_measured_in_all_rounds(layoutrand, tmp_path: Path) -> None:
    """The program counts to the number of its process."""
    require("valgrind", "valgrind")
    project = tmp_path / "project"
    main = "int main(void) {"
    source = conflictkit.source(rounds=20)
    assert main in source
    counting = f"#include <unistd.h>\n{main} for (int k = getpid() % 997; k; k--) sink++;"
    (project / "src" / "prog.c").write_text(source.replace(main, counting))
    (project / "src" / "Makefile").write_text("prog: prog.c\n\t$(CC) $(CFLAGS) -o $@ prog.c\n")
    (project / "layoutrand.toml").write_text(conflictkit.CONFIG % "{ cachegrind = true }")
    told = layoutrand("sweep", "pong", "--offset", "0..63", "--step", "32", "--metric", "instructions")
    assert "20 executions now, 0 were there already" in told.stderr
    assert "20 executions in 10 rounds" in prose(told)
