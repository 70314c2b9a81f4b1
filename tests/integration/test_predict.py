"""`layoutrand predict`: layouts that nobody has built, from where code lies in those that were measured."""

from __future__ import annotations

import json
import re

import pytest

from placekit import project_of, slower_by_place
from workshop import require


@pytest.fixture
def planted(tmp_path):
    """A project whose program is slower where its function begins in the second half of a line; what calls it."""
    require("gcc", "gcc")
    require("valgrind", "valgrind")
    return lambda slower, more="", toolchain="gcc": project_of(tmp_path, slower_by_place(32, slower), more, toolchain)


def predicted(call, *arguments, status=0):
    done = call("predict", "--profiler", "callgrind", *arguments, "--json", status=status)
    (found,) = json.loads(done.stdout)["predictions"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("toolchain", [pytest.param("gcc", marks=pytest.mark.hour), "gcc-lld"])
def test_a_planted_effect_is_predicted_and_the_best_layout_is_better(planted, toolchain):
    require("gcc" if toolchain == "gcc" else "ld.lld-14", "lld-14")
    call = planted(slower=0.3, toolchain=toolchain)
    call("run", "--seeds", "30", "-q")
    found = predicted(call, "--layouts", "300")
    assert found["problem"] is None
    assert found["holds"]
    assert found["predicted_share"]["estimate"] > 0.8
    assert found["variance_ratio"] < 0.5
    low, high = found["corrected_mean"]["interval"]
    assert low < 1.155 < high or abs(found["corrected_mean"]["estimate"] - 1.155) < 0.05
    assert found["best_seed"] > 30

    said = " ".join(call("predict", "--profiler", "callgrind", "--layouts", "300").stdout.split())
    assert re.search(r"of 300 layouts that of seed \d+ is predicted best; how good it is, only measuring tells", said)
    begin, end = "Next: layoutrand predict --system O1 --benchmark b --layouts 300 -C ", " --measure 20"
    assert re.search(rf"{begin}\S+{end}$", said)  # of the project that was asked about, from wherever one is
    said = call("predict", "--profiler", "callgrind", "--layouts", "300", "--measure", "8").stdout
    assert " ".join(said.split()).startswith("O1, b, place: 30 layouts measured, 300 drawn and not linked seed ")
    assert "only measuring tells" not in said
    measured = predicted(call, "--layouts", "300", "--measure", "8")["measured"]
    assert measured["seed"] == found["best_seed"]
    assert measured["rounds"] == 8
    assert measured["means"][str(found["best_seed"])] < 1.05  # in the better half, as half of all layouts are
    assert max(map(len, said.splitlines())) <= 80
    # No other command sees these executions.
    (analysis,) = json.loads(call("analyse", "--metric", "place", "--json").stdout)["benchmarks"]
    assert analysis["n_binaries"] == 30


@pytest.mark.slow
def test_where_nothing_is_planted_nothing_is_predicted(planted):
    call = planted(slower=0)
    call("run", "--seeds", "20", "-q")
    found = predicted(call, "--layouts", "200", "--measure", "5")
    assert found["measured"] is None or found["holds"]
    if not found["holds"]:
        assert found["best_seed"] is None
        said = call("predict", "--profiler", "callgrind", "--layouts", "200").stdout
        assert " ".join(said.split()).count("no prediction: of layouts it was not fitted to") == 1


@pytest.mark.slow
def test_too_few_layouts_are_told_before_anything_is_drawn(planted):
    call = planted(slower=0.3)
    call("run", "--seeds", "8", "-q")
    found = predicted(call, status=1)
    assert found["problem"].startswith("8 measured layouts; at least 15 are needed")


@pytest.mark.slow
@pytest.mark.parametrize(
    "factors", ['"function-order", "padding"', '"function-order", "text-offset"', '"module-order"']
)
def test_layouts_with_gaps_are_placed_as_they_are_linked(planted, factors):
    """Else the command would say that they are not where sizes and alignments put them."""
    call = planted(slower=0.3, more=f"[layout]\nfactors = [{factors}]\n")
    if factors == '"module-order"':  # of one object there is one order
        assert "only one layout" in call("run", "--seeds", "16", "-q", status=1).stderr
        return
    call("run", "--seeds", "16", "-q")
    assert predicted(call, "--layouts", "100")["problem"] is None
