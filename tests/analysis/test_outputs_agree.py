"""Outputs of the same results that once said different things, or said what the numbers beside it contradict."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest

from layoutrand.cli import run


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table of rows, imported where the command is executed."""
    monkeypatch.chdir(tmp_path)

    def make(rows):
        names = list(dict.fromkeys(name for row in rows for name in row))
        with Path("r.csv").open("w", newline="") as file:
            out = csv.DictWriter(file, names)
            out.writeheader()
            out.writerows(rows)

    return make


def times(systems, benchmarks=("x",), n=6, seconds=2.0, **fields):
    """Layouts of each, executed in turn: system -> factor."""
    chance = random.Random(3)
    return [
        {
            "system": system,
            "benchmark": name,
            "seed": seed,
            "value": seconds * factor * chance.gauss(1, 0.001),
            **fields,
        }
        for seed in range(1, n + 1)
        for name in benchmarks
        for system, factor in systems.items()
    ]


def test_conditions_of_a_gate_may_be_repeated(table):
    table(times({"A": 1.0, "B": 2.0}, n=6))
    compared = ["compare", "A", "B", "--import", "r.csv", "-q"]
    assert run([*compared, "--fail-if", "slower", "--fail-if", "cannot-tell"]) == 3
    assert run([*compared, "--fail-if", "faster", "--fail-if", "cannot-tell"]) == 0
    assert run([*compared, "--fail-if", "none", "--fail-if", "slower"]) == 2, "none is none"
