"""`layoutrand explain` on a program with a planted conflict, and on one in which nothing is to be found."""

from __future__ import annotations

import json
import shutil
import sqlite3

import pytest

from conflictkit import CONFIG, PRINTED, caller, source, write_source
from layoutrand.results.seals import seal_rows
from workshop import require

SEEDS = 24


@pytest.fixture
def layoutrand(tmp_path):
    """A function that makes the program and calls the command line on it."""
    require("gcc", "gcc")
    require("valgrind", "valgrind")
    project = tmp_path / "project"
    write_source(project)

    call = caller(project, tmp_path / "cache")

    def make(metric, seeds=SEEDS):
        (project / "layoutrand.toml").write_text(CONFIG % metric)
        call("run", "--seeds", str(seeds), "--no-controls", "-q")
        return call

    return make


def explained(call, *arguments):
    document = json.loads(call("explain", "--profiler", "callgrind", *arguments, "--json").stdout)
    assert document["schema"] == "layoutrand/explain/1"
    (found,) = document["benchmarks"]
    return found


@pytest.mark.slow
def test_a_planted_conflict_is_found_and_confirmed_in_layouts_that_took_no_part(layoutrand, tmp_path):
    call = layoutrand("{ cachegrind = true }")
    found = explained(call, "--metric", "i1_misses", "--confirm", "5")

    assert found["functions"][0]["name"] == "bulk"
    assert {function["name"] for function in found["functions"]} >= {"bulk", "ping", "pong"}
    first = found["suspects"][0]
    assert (first["kind"], set(first["functions"])) == ("sets", {"ping", "pong"})
    assert first["worse"]["above"] is True
    assert first["p_value"] <= 0.01
    assert first["ratio"] > 2
    assert found["cross_validated_share"] > 0.5
    assert len(found["binaries"]) == SEEDS
    assert all(len(binary["starts"]) == len(found["functions"]) for binary in found["binaries"])

    # Of sets alone a simulated cache has anything: the one that is wrong here.
    assert first["cause"]["mechanism"] == "sets"
    assert set(first["cause"]["not_seen"]) == {"line", "window", "fetch", "page", "aliasing"}
    assert first["cause"]["next"][:3] == ["layoutrand", "sweep", first["functions"][0]]

    confirmation = first["confirmation"]
    assert confirmation["verdict"] == "confirmed"
    assert confirmation["interval"][0] > 1
    chosen = [*confirmation["seeds_worse"], *confirmation["seeds_better"]]
    assert len(set(chosen)) == 10
    assert min(chosen) > SEEDS

    # What was executed to confirm is a biased sample of layouts: no other command sees it.
    (analysis,) = json.loads(call("analyse", "--metric", "i1_misses", "--json").stdout)["benchmarks"]
    assert analysis["n_binaries"] == SEEDS
    own = sqlite3.connect(tmp_path / "project" / ".layoutrand" / "explain.sqlite")
    (recorded,) = own.execute("SELECT count(DISTINCT layout) FROM executions").fetchone()
    assert recorded >= 10

    again = call("explain", "--profiler", "callgrind", "--metric", "i1_misses", "--confirm", "5")
    assert "L1I sets shared by ping and pong: confirmed" in " ".join(again.stdout.split())
    assert "  ● b  ping and pong: i1_misses +" in again.stdout
    assert "why: instruction cache set conflict (" in again.stdout
    assert "profiling" not in again.stderr  # neither profiled
    assert own.execute("SELECT count(*) FROM executions").fetchone() == (recorded,)  # nor executed anew
    own.close()
    refused = call(
        "explain", "--profiler", "callgrind", "--metric", "i1_misses", "--confirm", "5", "--first-seed", "9", status=2
    )
    assert "only others can confirm" in refused.stderr


@pytest.mark.slow
def test_nothing_is_found_where_no_place_matters(layoutrand, tmp_path):
    call = layoutrand(PRINTED)
    found = explained(call, "--confirm", "5")

    assert found["suspects"] == []
    assert found["closest"]["p_value"] > 0.05
    assert 0 < found["detectable"]["share"] < 1
    configured = tmp_path / "project" / "layoutrand.toml"
    configured.write_text(
        configured.read_text().replace("[[benchmarks]]\n", '[[benchmarks]]\nlabel = "a long sum"\n', 1)
    )
    screen = call("explain", "--profiler", "callgrind").stdout
    assert "  ? a long sum  nothing found; " in screen
    assert "Hot functions" not in screen
    text = " ".join(call("explain", "--profiler", "callgrind", "--full").stdout.split())
    assert text.startswith("a long sum, ")
    assert 0 < text.find("nothing found: none of the") < text.find("Hot functions")
    assert "is found with a chance of 80 %" in text
    (same,) = json.loads(call("explain", "--profiler", "callgrind", "--metric", "rounds", "--json").stdout)[
        "benchmarks"
    ]
    assert same["suspects"] == []
    assert same["warnings"][0] == "rounds is the same in all layouts"


@pytest.mark.slow
def test_too_few_layouts_are_said_to_be_so(layoutrand):
    call = layoutrand(PRINTED, seeds=5)
    found = call("explain", "--profiler", "callgrind", status=1)

    assert "5 measured binaries; to look for suspects takes at least 8" in found.stderr
    assert "--first-seed is about the new layouts of --confirm" in call("explain", "--first-seed", "9", status=2).stderr
    assert "no profiler called 'gprof'" in call("explain", "--profiler", "gprof", status=2).stderr


@pytest.mark.slow
def test_old_results_are_explained_from_their_own_binaries(layoutrand, tmp_path):
    """The source has changed since: nothing is explained unasked, and what is comes from the capture measured."""
    call = layoutrand(PRINTED, seeds=12)
    own = json.loads(call("analyse", "--json").stdout)["evidence"]["systems"][0]["capture"]
    path = tmp_path / "project" / "src" / "prog.c"
    path.write_text(source(rounds=200).replace("0x90", "0xcc", 1))

    refused = call("explain", "--profiler", "callgrind", status=1)
    assert "changed: prog.c" in refused.stderr
    assert "--any-source" in refused.stderr
    for which in (["--any-source"], ["--capture", own[:12]]):
        done = call("explain", "--profiler", "callgrind", *which)
        assert "nothing found" in done.stdout
        assert "are not of what is configured now" in done.stderr or which[0] == "--capture"
        assert own in json.dumps(json.loads(call("analyse", *which, "--json").stdout)["evidence"])

    shutil.rmtree(tmp_path / "cache")
    gone = call("explain", "--profiler", "callgrind", "--any-source", status=1)
    assert f"capture {own[:12]} of O1 is not in the cache any more" in gone.stderr


@pytest.mark.slow
def test_results_of_another_machine_are_explained_and_it_is_said_where_the_profile_is_from(layoutrand, tmp_path):
    call = layoutrand(PRINTED, seeds=12)
    file = sqlite3.connect(tmp_path / "project" / ".layoutrand" / "results.sqlite")
    file.execute("update experiments set host = 'elsewhere', hostname = 'elsewhere'")
    file.commit()
    damaged = call("explain", status=1)
    assert "holds no experiment that is as it was recorded; `layoutrand results verify`" in damaged.stderr
    seal_rows(file, "experiments")
    file.commit()
    file.close()

    assert "host elsewhere" in call("explain", status=1).stderr
    shown = call("explain", "--profiler", "callgrind", "--host", "elsewhere")
    assert "hot functions are looked for on this machine, not on elsewhere that executed the layouts" in shown.stderr
    assert "nothing found" in shown.stdout
    assert "--confirm" not in shown.stdout
    refused = call("explain", "--host", "elsewhere", "--confirm", "5", status=2)
    assert "the results are those of elsewhere" in refused.stderr
