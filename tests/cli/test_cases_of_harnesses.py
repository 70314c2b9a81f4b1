"""Names of benchmarks and of cases of harnesses, as commands take them before anything is executed."""

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


@pytest.fixture
def said(tmp_path, capsys):
    """Writes a project, runs a command that must be refused, and gives what it said in one line."""

    def refused(config, *words):
        (tmp_path / "layoutrand.toml").write_text(config)
        assert run([*words, "-C", str(tmp_path)]) == 2
        return " ".join(capsys.readouterr().err.split())

    return refused


@pytest.mark.parametrize("command", [["bisect", "HEAD"], ["check"]])
@pytest.mark.parametrize("name", ["all", "all/BM_Copy"])
def test_an_entry_and_a_case_are_taken(said, command, name):
    """They get as far as looking for the commits, of which this directory has none."""
    require("git", "git")
    assert "repository" in said(CONFIG, *command, "--benchmark", name)


@pytest.mark.parametrize("command", [["bisect", "HEAD"], ["check"]])
def test_a_name_that_is_none_is_told_as_ever(said, command):
    """It begins like the entry's, and is no case of it."""
    assert "no benchmark called 'allowed'" in said(CONFIG, *command, "--benchmark", "allowed")
