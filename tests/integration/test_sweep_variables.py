"""`layoutrand sweep VARIABLE`: a variable at several offsets, why it matters, and nothing else anywhere else."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import startkit
from layoutrand.build.build_setup import BuildProgress, BuildSetup
from layoutrand.build.swept import SweptBinaries, swept_binaries, swept_section
from layoutrand.cache.store import Cache
from layoutrand.explain.place_choice import find_place
from layoutrand.model import IDENTITY, LayoutName
from placekit import Call, project_of
from workshop import Workshop, kinds_of_programs, output, programs_of, require, symbols

OFFSETS = (0, 64, 2048, 4032)
DATA = """\
int zeros[40], more_zeros[3]; int ones[40] = {1, 2}, more_ones[3] = {1};
const int fixed[40] = {1, 2}, more_fixed[3] = {3};
static int hidden = 4; int other = 5; int *pointer = &other, *more_pointers[] = {&other};
const char *const names[] = {"a", "b"}, *const more_names[] = {"c"};
int sum(int k) { return zeros[k] + ones[k] + fixed[k] + more_zeros[k] + more_ones[k] + more_fixed[k] + hidden++ + other
                        + *pointer + *more_pointers[0]
                        + names[k][0] + more_names[k - 1][0]; }
"""
MAIN = '#include <stdio.h>\nint sum(int); int main(int n, char **a) { printf("%d %d\\n", sum(n), sum(n)); return 0; }'


@pytest.fixture
def program(tmp_path: Path) -> Workshop:
    """A variable of each kind, and others behind it."""
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named({"data.c": DATA, "main.c": MAIN})
    return shop


def swept(
    shop: Workshop,
    variable: str,
    *,
    command: str = "$CC -c *.c && $CC -o prog *.o",
    base: LayoutName = IDENTITY,
    **changes: object,
) -> tuple[SweptBinaries, Path]:
    """The binaries with the variable at these offsets, and the base layout's."""
    config = shop.config(command, layout={"factors": ["function-order", "data-order"]}, **changes)
    built = shop.build(config, layouts=[IDENTITY, base])
    assert not built.failures, built.failures[0].error
    setup = BuildSetup.of(
        config, shop.project, Cache(shop.cache), shop.runner, BuildProgress(shop.said.append, lambda: None), jobs=2
    )
    found = swept_section(
        setup, built, ("prog", base, 4096), lambda link: find_place(link.sections, variable, lambda _: {})[0]
    )
    return swept_binaries(setup, found, OFFSETS, name=variable), found.base.path


@pytest.mark.slow
@pytest.mark.parametrize(("toolchain", "flags"), kinds_of_programs())
def test_the_variable_alone_is_moved(program: Workshop, toolchain: str, flags: str) -> None:
    """Of each kind, in identity and in a seed's layout."""
    programs_of(toolchain)
    options = {"command": f"$CC {flags} -c *.c && $CC {flags} -o prog *.o", "system": {"toolchain": toolchain}}
    variables = ("zeros", "ones", "fixed", "hidden", "names", "pointer")
    for variable, base in (*((name, IDENTITY) for name in variables), ("more_ones", 3)):
        made, own = swept(program, variable, base=base, **options)
        before = symbols(own)
        for offset, binary in zip(OFFSETS, made.binaries, strict=True):
            table = symbols(binary.path)
            assert table[variable] % 4096 == offset
            others = set(before) & {*variables, "more_zeros", "more_ones", "more_fixed", "sum", "main"} - {variable}
            assert {(table[name] - before[name]) % 4096 for name in others} == {0}
            assert output(binary.path) == output(own)
        assert made.stillness.as_in_base + made.stillness.pages_on > 20


# Its time is that of a load that comes after a store to another variable, at the same address modulo 4 KiB.
ALIASING = """\
#include <stdint.h>
#define HALF_PAGE(name) volatile long name[256] __attribute__((aligned(ALIGNED))) = {1}
HALF_PAGE(stored); HALF_PAGE(loaded); HALF_PAGE(a); HALF_PAGE(b); HALF_PAGE(c); HALF_PAGE(d); HALF_PAGE(e); HALF_PAGE(f); HALF_PAGE(g);
__thread long of_each_thread = 1;
int main(void) {
  long sum = of_each_thread + a[0] + b[0] + c[0] + d[0] + e[0] + f[0] + g[0];
  for (int turn = 0; turn < 20000; turn++)
    for (int k = 0; k < 16; k++) { stored[k] = turn; sum += loaded[k]; }
  long distance = ((uintptr_t) loaded - (uintptr_t) stored) % 4096;
  printf("place %%.6f %%ld\\n", 1 + 0.01 * drawn() + (distance < 128 || distance > 4096 - 128 ? 0.3 : 0), sum & 1);
  return 0;
}
"""


FACTORS = '[layout]\nfactors = ["function-order", "data-order"]\n'


def project(folder: Path, aligned: int) -> Call:
    """The command line, in a project of that program, whose variables are placed, too, and aligned so."""
    return project_of(folder, ALIASING.replace("ALIGNED", str(aligned)).replace("%%", "%"), more=FACTORS)


@pytest.mark.hour
def test_loads_that_alias_stores_are_the_cause(tmp_path: Path) -> None:
    require("valgrind", "valgrind")
    layoutrand = project(tmp_path, 64)
    words = ("sweep", "loaded", "--offset", "0..4095", "--step", "128", "--rounds", "6", "--cause")
    told = layoutrand(*words)
    assert "cause: 4 KiB aliasing (loads shortly after stores to another variable" in " ".join(told.stdout.split())
    found = json.loads(layoutrand(*words, "--json").stdout)
    assert (found["function"], found["variable"]) == (None, "loaded")
    assert found["cause"]["mechanism"] == "store-load"
    assert found["largest"]["change"] == pytest.approx(0.3, abs=0.02)

    switched = json.loads(layoutrand("sweep", "loaded", "--switch", "store-load", "--rounds", "4", "--json").stdout)
    assert switched["switched"]["matters"] is True
    assert switched["switched"]["change"] == pytest.approx(0.3, abs=0.02)
    assert (
        "is one of functions, and loaded is a variable"
        in layoutrand("sweep", "loaded", "--switch", "line", status=2).stderr
    )
    assert "no function or variable that can be placed is called" in layoutrand("sweep", "nothing", status=2).stderr
    said = " ".join(layoutrand("sweep", "of_each_thread", status=2).stderr.split())
    assert "'of_each_thread' is in prog, but in no section of its own that layouts place" in said


@pytest.mark.hour
@pytest.mark.slow
def test_a_pair_of_variables_is_a_suspect(tmp_path: Path) -> None:
    """Of variables of half a page each, half of all layouts put a load where a store shortly before it was, modulo 4 KiB."""
    require("valgrind", "valgrind")
    layoutrand = project(tmp_path, 2048)
    layoutrand("run", "--seeds", "24")
    found = json.loads(layoutrand("explain", "--json").stdout)["benchmarks"][0]
    assert [suspect["functions"] for suspect in found["suspects"]] == [["stored", "loaded"]]
    (suspect,) = found["suspects"]
    assert suspect["kind"] == "store-load"
    assert suspect["ratio"] == pytest.approx(1.3, abs=0.02)
    assert {"stored": "stored", "loaded": "loaded", "sections": found["variables"][0]["sections"]} in found["variables"]
    confirmed = layoutrand("explain", "--confirm", "6")
    said = " ".join(confirmed.stdout.split())
    assert "percent of loads of loaded that alias stores to stored (4 KiB)" in said
    assert "confirmed: with the worse placement" in said


@pytest.mark.hour
@pytest.mark.slow
def test_without_a_tracer_it_is_said_that_variables_are_not_looked_at(tmp_path: Path) -> None:
    require("valgrind", "valgrind")
    layoutrand = project(tmp_path, 2048)
    layoutrand("run", "--seeds", "12")
    broken = tmp_path / "bin" / "valgrind"
    broken.parent.mkdir()
    real = shutil.which("valgrind")
    broken.write_text(f'#!/bin/sh\ncase "$*" in *lackey*) echo no lackey here >&2; exit 1;; esac\nexec {real} "$@"\n')
    broken.chmod(0o755)
    env = {
        **os.environ,
        "LAYOUTRAND_CACHE": str(tmp_path / "cache"),
        "PATH": f"{broken.parent}:{os.environ['PATH']}",
    }
    told = startkit.layoutrand("explain", "--profiler", "callgrind", "-C", tmp_path / "project", env=env)
    assert "where variables lie is not looked at: loads and stores cannot be traced" in " ".join(
        (told.stdout + told.stderr).split()
    )
