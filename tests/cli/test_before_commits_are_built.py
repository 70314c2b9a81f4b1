"""What commands that build commits find out before they build any."""

from __future__ import annotations

import pytest

import gitkit
from layoutrand.cli import run
from workshop import require

CONFIG = """\
[project]
name = "p"
[build]
commands = ["make"]
artefacts = ["b"]
[systems.O2]
[[benchmarks]]
name = "b"
command = ["{artefact}"]
metric = { cachegrind = true }
"""


@pytest.mark.parametrize("command", [["bisect", "HEAD~1", "HEAD"], ["check"], ["history", "--run", "HEAD~1..HEAD"]])
def test_that_there_is_no_valgrind_is_told_at_once(tmp_path, monkeypatch, capsys, command):
    """It was told after two builds, which a job of a CI system makes for nothing."""
    root = gitkit.make(tmp_path / "p", {"layoutrand.toml": CONFIG})
    gitkit.commit(root, {"a.c": "int a;\n"})
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    own = tmp_path / "bin"
    own.mkdir()
    (own / "git").symlink_to(require("git", "git"))
    monkeypatch.setenv("PATH", str(own))

    assert run([*command, "-C", str(root)]) == 1

    said = capsys.readouterr().err
    assert "there is no valgrind in PATH" in said
    assert "build" not in said
