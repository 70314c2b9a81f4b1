"""`layoutrand run` with control groups and without: what is recorded, what is told, what is refused."""

from __future__ import annotations

import contextlib
import json
import sqlite3

import pytest

from startkit import layoutrand
from workshop import require_control_groups


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Execute the seeds with this ``run.isolation``, and further keys of the benchmark."""
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path.with_name(f"{tmp_path.name}-cache")))
    (tmp_path / "main.c").write_text("int one(int x) { return x; } int main(void) { return one(0); }\n")

    def with_isolation(isolation, seeds, keys=""):
        (tmp_path / "layoutrand.toml").write_text(
            f'[project]\nname = "p"\n[build]\ncommands = ["$CC -o p main.c"]\nartefacts = ["p"]\n[systems.a]\n'
            f'[layout]\nfactors = ["function-order", "padding"]\n[run]\nisolation = "{isolation}"\n'
            f'[[benchmarks]]\nname = "b"\ncommand = ["{{artefact}}"]\n{keys}\n'
        )
        return layoutrand("run", "--seeds", seeds, cwd=tmp_path)

    return with_isolation


@pytest.mark.slow
def test_which_isolation_there_was_is_recorded_and_both_in_one_sample_are_told(tmp_path, run):
    place = require_control_groups()
    for isolation, seeds in (("control-group", "1..2"), ("process-group", "3..4")):
        done = run(isolation, seeds)
        assert done.returncode == 0, done.stderr
    with contextlib.closing(sqlite3.connect(tmp_path / ".layoutrand/results.sqlite")) as results:
        rows = results.execute("SELECT layout, conditions FROM executions WHERE layout IN ('1', '2', '3', '4')")
        found = {int(layout): json.loads(conditions) for layout, conditions in rows}
    assert {seed: each.get("isolation") for seed, each in found.items()} == {
        1: "control-group",
        2: "control-group",
        3: None,
        4: None,
    }
    assert found[1]["tree_limits"] == list(place.limits)
    assert found[1]["tree_cpu_s"] > 0
    assert "isolated in different ways" in layoutrand("analyse", "--full", cwd=tmp_path).stderr


def test_a_limit_of_processes_is_refused_where_nothing_can_hold_to_it(run):
    done = run("process-group", "1", "process_limit = 3")
    assert done.returncode == 1
    assert "process_limit takes a control group that can limit processes; `layoutrand doctor` says how" in done.stderr
