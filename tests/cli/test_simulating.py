"""`layoutrand simulate`: what the studies found, in a table and as JSON."""

from __future__ import annotations

import json
import os

import pytest

from startkit import layoutrand

STUDIES = {
    "coverage": (
        ["--binaries", "3,5", "--executions", "2", "--iterations", "2", "--datasets", "40"],
        {("fieller", 3), ("fieller", 5), ("fieller-normal", 3), ("fieller-normal", 5), ("log-t", 3), ("log-t", 5)},
        lambda row: (row["method"], row["n_binaries"]),
    ),
    "false-alarms": (
        ["--designs", "2x3x1,6x1x1", "--datasets", "40"],
        {(analysis, counts) for analysis in ("flat-t", "per-binary") for counts in ((2, 3, 1), (6, 1, 1))},
        lambda row: (row["analysis"], tuple(row["counts"])),
    ),
    "power": (["--benchmarks", "3", "--datasets", "20"], {0, 1, 2, 3}, lambda row: row["n_different"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_a_study_is_told_and_the_same_again(tmp_path, study):
    words, wanted, place = STUDIES[study]
    done = layoutrand("simulate", study, *words, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["schema"], document["study"]) == ("layoutrand/simulate/1", study)
    assert {place(row) for row in document["rows"]} >= wanted
    rates = [value for row in document["rows"] for value in row.values() if isinstance(value, dict) and "rate" in value]
    assert rates
    assert all(0 <= each["low"] <= each["rate"] <= each["high"] <= 1 for each in rates)
    otherwise = {**os.environ, "PYTHONHASHSEED": "7"}  # sets in another order
    assert layoutrand("simulate", study, *words, "--json", cwd=tmp_path, env=otherwise).stdout == done.stdout
    other = layoutrand("simulate", study, *words, "--seed", "2", "--json", cwd=tmp_path).stdout
    assert json.loads(other)["rows"] != document["rows"]
    shown = layoutrand("simulate", study, *words, cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.count(" %") >= len(document["rows"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["coverage", "--binaries", "3,x"], "'3,x': write whole numbers separated by ','"),
        (["false-alarms", "--designs", "1x-3"], "'1x-3': write whole numbers separated by 'x'"),
        (["false-alarms", "--thresholds", "one"], "'one': write numbers separated by commas"),
    ],
)
def test_what_is_no_number_is_said(tmp_path, words, said):
    done = layoutrand("simulate", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
