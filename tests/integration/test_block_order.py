"""Factor `block-order`: basic blocks move within their function, functions stay whole, and programs do what they did."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest

from conflictkit import CONFIG, caller
from workshop import require

# Exceptions, a jump table, inline functions and a constructor: what blocks of their own could take apart.
PROGRAM = """\
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
struct Noted { std::string name; explicit Noted(const char *n) : name(n) {} ~Noted() { std::printf("~%s\\n", name.c_str()); } };
static Noted at_start("static");
int chosen(int k) {
  switch (k % 11) {
    case 0: return k * 3; case 1: return k - 7; case 2: return k ^ 5; case 3: return k << 2; case 4: return -k;
    case 5: return k / 3; case 6: return k % 5; case 7: return k + 100; case 8: return k | 64; default: return 1;
  }
}
int deep(int n) {
  Noted here("deep");
  if (n == 0) throw std::runtime_error("bottom");
  return deep(n - 1) + 1;
}
int main() {
  long sum = 0;
  std::map<std::string, std::vector<int>> table;
  for (int k = 0; k < 2000; k++) { sum += chosen(k); table[std::to_string(k % 17)].push_back(k); }
  for (auto &row : table) for (int value : row.second) sum = sum * 31 + value;
  try { deep(3); } catch (const std::exception &error) { std::printf("caught %s\\n", error.what()); }
  try { table.at("missing"); } catch (const std::out_of_range &) { std::puts("out of range"); }
  std::printf("%ld\\n", sum);
  return 0;
}
"""
FUNCTIONS = ("_Z6choseni", "_Z4deepi", "main")
LAYOUT = '[layout]\nfactors = ["function-order", "block-order"]\n'


def project(tmp_path: Path, toolchain: str, layout: str = LAYOUT):
    """The program, and what calls the command line on it."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "Makefile").write_text("prog: prog.cc\n\t$(CXX) $(CXXFLAGS) -o $@ prog.cc\n")
    (folder / "src" / "prog.cc").write_text(PROGRAM)
    text = CONFIG.replace('"gcc"', f'"{toolchain}"').replace('"-O1"', '"-O2"') % "{ wall = true }"
    (folder / "layoutrand.toml").write_text(text + layout)
    return caller(folder, tmp_path / "cache")


def blocks(path: Path) -> list[tuple[str, str]]:
    """(Function, block) in the order of addresses; empty ones, which share an address, have no place."""
    rows = subprocess.run(["nm", "-n", path], capture_output=True, text=True, check=True).stdout.splitlines()
    words = [each for row in rows if len(each := row.split()) == 3 and each[1] in "tTwW"]
    named = [(address, name.partition(".__part.")[0].removesuffix(".eh"), name) for address, _, name in words]
    wanted = [each for each in named if each[1] in FUNCTIONS]
    at = Counter(address for address, _, _ in wanted)
    return [(function, name) for address, function, name in wanted if at[address] == 1]


@pytest.mark.slow
@pytest.mark.parametrize("toolchain", ["clang-14", "clang-19", "clang-lld-14", "clang-lld-19"])
def test_blocks_move_within_their_function(tmp_path, toolchain):
    require(f"clang++-{toolchain.rpartition('-')[2]}", "clang")
    call = project(tmp_path, toolchain)
    made = json.loads(call("build", "--seeds", "6", "--json", "-q").stdout)
    assert made["failures"] == []
    paths = {row["seed"]: Path(row["path"]) for row in made["binaries"]}
    printed = {seed: subprocess.run([path], capture_output=True, check=True).stdout for seed, path in paths.items()}
    assert len(set(printed.values())) == 1
    assert b"caught bottom\nout of range\n" in printed["stock"]
    orders = {}
    for seed in (1, 2, 3, 4, 5, 6, "identity"):
        found = blocks(paths[seed])
        assert len(found) > 20
        assert len([name for name, _ in groupby(function for function, _ in found)]) == 3  # functions are whole
        orders[seed] = [block for function, block in found if function == "_Z6choseni"]
    assert len({tuple(order) for order in orders.values()}) == 7


@pytest.mark.slow
def test_functions_alone_keep_their_blocks_in_order(tmp_path):
    require("clang++-19", "clang")
    call = project(tmp_path, "clang-lld-19", LAYOUT + 'held = ["block-order"]\n')
    made = json.loads(call("build", "--seeds", "3", "--json", "-q").stdout)
    paths = {row["seed"]: Path(row["path"]) for row in made["binaries"]}
    for function in FUNCTIONS:
        orders = {
            seed: [b for f, b in blocks(path) if f == function] for seed, path in paths.items() if seed != "stock"
        }
        assert len({tuple(order) for order in orders.values()}) == 1
    assert len({tuple(name for name, _ in groupby(f for f, _ in blocks(paths[seed]))) for seed in (1, 2, 3)}) > 1


@pytest.mark.parametrize("toolchain", ["gcc", "gcc-lld", "clang-lto"])
def test_who_cannot_says_who_can(tmp_path, toolchain):
    require("gcc" if toolchain.startswith("gcc") else "clang-19", "clang")
    done = project(tmp_path, toolchain)("build", "--seeds", "2", status=2)
    assert "block-order" in done.stderr
    assert "clang, clang-lld" in done.stderr


def test_addresses_that_systems_share_cannot_be_taken_apart(tmp_path):
    call = project(tmp_path, "clang", '[layout]\nfactors = ["function-order", "block-order"]\ncouple = "address"\n')
    assert "block-order takes functions apart" in call("build", "--seeds", "2", status=2).stderr
