"""What imported results are advised: their harness knows no layoutrand.toml, and may be a JVM's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WORDS = ("metric.", "run.executions", "simulated counts")


def told(folder, *arguments):
    """What a call says, on both streams."""
    done = subprocess.run(
        [sys.executable, "-m", "layoutrand", *arguments, "--import", "t.csv"],
        cwd=folder,
        env={**os.environ, "CI": "true"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("size", [0.002, 0.2], ids=["short executions", "steps of a clock"])
def test_no_keys_of_a_configuration_and_no_counts_are_advised(tmp_path, size):
    step = size / 20 if size > 0.1 else size / 2000
    lines = ["system,benchmark,seed,metric,unit,value"]
    for system, more in (("a", 0), ("b", 1)):
        lines += [f"{system},x,{seed},wall_s,s,{size + step * (seed % 2 + more):.7f}" for seed in range(1, 13)]
    (tmp_path / "t.csv").write_text("\n".join([*lines, ""]))
    for option in ("--full", "--json"):
        said = told(tmp_path, "compare", "a", "b", option)
        assert not [words for words in WORDS if words in said], said
        assert "import that" in said


def test_no_keys_are_advised_where_nothing_shows_the_noise(tmp_path):
    rows = [f"{seed},{1 + seed % 5}" for seed in range(1, 13)]
    (tmp_path / "t.csv").write_text("\n".join(["seed,value", *rows, ""]))
    for option in ("--full", "--json"):
        said = " ".join(told(tmp_path, "analyse", option).split())
        assert not [words for words in WORDS if words in said], said
        assert "execute each twice, or stock beside them, and import that" in said
