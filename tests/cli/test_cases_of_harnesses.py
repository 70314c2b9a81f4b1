"""What commands say that need a benchmark known before it is executed, where a harness names its cases only then."""

from __future__ import annotations

import pytest

from layoutrand.cli import run
from workshop import require

CONFIG = """\
[project]
name = "p"
[build]
commands = ["make"]
artefacts = ["b"]
[systems.base]
toolchain = "gcc"
[[benchmarks]]
name = "all"
harness = "google-benchmark"
command = ["{artefact}"]
"""
ALONE = """\
[[benchmarks]]
name = "copy"
command = ["{artefact}", "--benchmark_filter=^BM_Copy$", "--benchmark_format=json"]
metric = { json = "/benchmarks/0/real_time", name = "real_time", unit = "ns" }
"""
ENTRY = "give the case a [[benchmarks]] of its own without harness"


@pytest.fixture
def said(tmp_path, capsys):
    """Writes a project, runs a command that must be refused, and gives what it said in one line."""

    def refused(config, *words):
        (tmp_path / "layoutrand.toml").write_text(config)
        assert run([*words, "-C", str(tmp_path)]) == 2
        return " ".join(capsys.readouterr().err.split())

    return refused


@pytest.mark.parametrize("name", ["all", "all/BM_Copy"])
def test_bisect_says_which_entry_a_case_needs(said, name):
    line = said(CONFIG, "bisect", "HEAD", "--benchmark", name)
    assert line.startswith("layoutrand: bisect follows one benchmark, and ")
    assert ENTRY in line


@pytest.mark.parametrize("words", [[], ["--benchmark", "all"], ["--benchmark", "all/BM_Copy"]])
def test_check_says_which_entry_a_case_needs(said, words):
    line = said(CONFIG, "check", *words)
    assert line.startswith("layoutrand: check judges benchmarks that are known before they are executed, and ")
    assert ENTRY in line
    assert "--benchmark copy" not in line
    assert "without it: --benchmark copy" in said(CONFIG + ALONE, "check", *words)


def test_check_takes_what_stands_beside_an_entry_with_a_harness(said):
    """It gets as far as looking for the commits, of which this directory has none."""
    require("git", "git")
    assert "harness" not in said(CONFIG + ALONE, "check", "--benchmark", "copy")


def test_a_name_that_is_none_is_told_as_ever(said):
    """It begins like the entry's, and is no case of it."""
    assert "no benchmark called 'allowed'" in said(CONFIG + ALONE, "bisect", "HEAD", "--benchmark", "allowed")
