"""What imported results are advised: their harness knows no layoutrand.toml, and may be a JVM's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WORDS = ("metric.", "simulated counts")


@pytest.mark.parametrize("size", [0.002, 0.2], ids=["short executions", "steps of a clock"])
def test_no_keys_of_a_configuration_and_no_counts_are_advised(tmp_path, size):
    step = size / 20 if size > 0.1 else size / 2000
    lines = ["system,benchmark,seed,metric,unit,value"]
    for system, more in (("a", 0), ("b", 1)):
        lines += [f"{system},x,{seed},wall_s,s,{size + step * (seed % 2 + more):.7f}" for seed in range(1, 13)]
    (tmp_path / "t.csv").write_text("\n".join([*lines, ""]))
    call = [sys.executable, "-m", "layoutrand", "compare", "a", "b", "--import", "t.csv"]
    for option in ("--full", "--json"):
        done = subprocess.run(
            [*call, option], cwd=tmp_path, env={**os.environ, "CI": "true"}, capture_output=True, text=True, check=True
        )
        told = done.stdout + done.stderr
        assert not [words for words in WORDS if words in told], told
        assert "import that" in told
