"""`run --attribute` and `analyse --attribute`: the factor that a planted effect hangs on is the one that is named."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from placekit import Call, functions, project_of
from workshop import require

# What it prints depends on the line of a function and, for a part, on that of a variable.
PROGRAM = """\
#include <stdint.h>
volatile unsigned sink;
%(others)s
__attribute__((noinline)) void work(void) { sink++; }
int main(void) {
  work();
  printf("place %%.6f\\n", 1 + 0.01 * drawn() + %(code)s * ((uintptr_t) work / 64 %% 16) + %(data)s * ((uintptr_t) v7 / 64 %% 16));
  return 0;
}
"""
LAYOUT = '[layout]\nfactors = ["function-order", "data-order"]\n'


@pytest.fixture
def planted(tmp_path: Path) -> Callable[..., Call]:
    """A project whose program is slower by so much a line; what calls it."""
    require("gcc", "gcc")
    others = (
        functions(24) + "\n" + "\n".join(f"__attribute__((used)) char v{k}[{64 + 40 * k}] = {{1}};" for k in range(24))
    )

    def make(code: float, data: float, layout: str = LAYOUT) -> Call:
        return project_of(tmp_path, PROGRAM % {"others": others, "code": code, "data": data}, layout)

    return make


def attributed(call: Call) -> dict:
    (found,) = json.loads(call("analyse", "--attribute", "--json").stdout)["attributions"]
    return found


@pytest.mark.slow
def test_the_factor_that_the_effect_hangs_on_is_named(planted) -> None:
    call = planted(code=0.02, data=0.002)
    done = call("run", "--seeds", "24", "--attribute", "-q")
    assert "failed" not in done.stderr
    found = attributed(call)
    code, data = found["factors"]
    assert (code["factor"], code["verdict"], code["n_seeds_of_both"]) == ("function-order", "most of it", 24)
    assert code["share_bounds"][0] > 0.5
    assert data["share_bounds"][1] < 0.5
    assert found["layout_sd"][0] > 0.02

    said = call("analyse", "--attribute").stdout
    assert said.startswith("O1, b: function-order makes at least ")
    assert "Next:" not in said
    assert max(map(len, said.splitlines())) <= 80
    # Each factor is an experiment of its own, of the same capture: others see the one with all factors alone.
    (analysis,) = json.loads(call("analyse", "--metric", "place", "--json").stdout)["benchmarks"]
    assert analysis["n_binaries"] == 24
    again = call("run", "--seeds", "24", "--attribute", "--json")
    document = json.loads(again.stdout)
    assert {factor: each["executed"] for factor, each in document["alone"].items()} == {
        "function-order": 0,
        "data-order": 0,
    }
    assert again.stderr.endswith("Next: layoutrand analyse --attribute\n")


@pytest.mark.slow
def test_before_each_factor_was_executed_alone_it_says_what_to_do(planted) -> None:
    call = planted(code=0.01, data=0.0)
    call("run", "--seeds", "8", "-q")
    said = call("analyse", "--attribute").stdout
    assert said.startswith("O1, b: cannot tell: function-order and data-order were not executed alone")
    assert "Next: layoutrand run --attribute" in said
    assert {row["verdict"] for row in attributed(call)["factors"]} == {"not executed"}


def test_of_one_factor_there_is_nothing_to_attribute(planted) -> None:
    call = planted(code=0.01, data=0.0, layout="")
    for command in (("run", "--seeds", "2", "--attribute"), ("analyse", "--attribute")):
        done = call(*command, status=2)
        assert "function-order is all that layout.factors draws" in done.stderr


@pytest.mark.slow
def test_what_is_held_is_as_in_identity(planted, tmp_path: Path) -> None:
    """Of one seed, the functions lie in the same order with data held or drawn; and the data as in identity."""
    call = planted(code=0.02, data=0.002)
    call("build", "--seeds", "3", "-q")
    whole = {row["seed"]: row for row in json.loads(call("build", "--seeds", "3", "--json", "-q").stdout)["binaries"]}
    path = tmp_path / "project" / "layoutrand.toml"
    plain = path.read_text()
    path.write_text(plain.replace("factors =", 'held = ["data-order"]\nfactors ='))
    held = {row["seed"]: row for row in json.loads(call("build", "--seeds", "3", "--json", "-q").stdout)["binaries"]}
    assert all(row["sha256"] != whole[seed]["sha256"] for seed, row in held.items() if isinstance(seed, int))
    symbols = {name: _symbols(Path(rows[2]["path"])) for name, rows in (("whole", whole), ("held", held))}
    identity = _symbols(Path(held["identity"]["path"]))
    code = [f"f{k}" for k in range(24)]
    data = [f"v{k}" for k in range(24)]
    assert _order(symbols["held"], code) == _order(symbols["whole"], code) != _order(identity, code)
    assert _order(symbols["held"], data) == _order(identity, data) != _order(symbols["whole"], data)


def _symbols(path: Path) -> dict[str, int]:
    rows = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.split("\n")
    return {words[2]: int(words[0], 16) for row in rows if len(words := row.split()) == 3}


def _order(symbols: dict[str, int], names: list[str]) -> list[str]:
    return sorted(names, key=symbols.__getitem__)


def test_holding_everything_or_what_is_no_factor_is_an_error(planted) -> None:
    call = planted(code=0.01, data=0.0, layout='[layout]\nfactors = ["function-order"]\nheld = ["function-order"]\n')
    assert "of all factors nothing would be drawn" in call("build", "--seeds", "2", status=2).stderr
    call = planted(code=0.01, data=0.0, layout='[layout]\nfactors = ["function-order"]\nheld = ["data-order"]\n')
    assert "data-order is not among the factors" in call("build", "--seeds", "2", status=2).stderr


def test_what_cannot_be_built_is_told_once(planted, tmp_path: Path) -> None:
    call = planted(code=0.01, data=0.0)
    (tmp_path / "project" / "src" / "prog.c").write_text("int main(void) { return missing(); }\n")
    done = call("run", "--seeds", "2", "--attribute", status=1)
    assert "alone:" not in done.stderr
