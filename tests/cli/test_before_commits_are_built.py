"""What commands that build commits find out before they build any."""

from __future__ import annotations

import pytest

import gitkit
from layoutrand.cli import commit_runs, run
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


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of two commits, the second with a submodule, on a machine that has git and no other program."""
    found = require("git", "git")
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(tmp_path / "cache"))
    lib = gitkit.make(tmp_path / "lib", {"lib.c": "int lib;\n"})
    root = gitkit.make(tmp_path / "p", {"layoutrand.toml": CONFIG})
    gitkit.git("submodule", "add", "-q", lib, "lib", cwd=root)
    gitkit.commit(root, {"a.c": "int a;\n"})
    own = tmp_path / "bin"
    own.mkdir()
    (own / "git").symlink_to(found)
    monkeypatch.setenv("PATH", str(own))
    return root


@pytest.mark.parametrize("command", [["bisect", "HEAD~1", "HEAD"], ["check"], ["history", "--run", "HEAD~1..HEAD"]])
def test_that_there_is_no_valgrind_is_told_at_once(project, capsys, command):
    """It was told after two builds, which a job of a CI system makes for nothing."""
    assert run([*command, "-C", str(project)]) == 1
    said = capsys.readouterr().err
    assert "there is no valgrind in PATH" in said
    assert "build" not in said


def test_a_metric_that_there_is_none_of_is_told_before_anything_is_built(project, monkeypatch, capsys):
    (project / "layoutrand.toml").write_text(CONFIG.replace("metric = { cachegrind = true }\n", ""))
    monkeypatch.setattr(commit_runs.ProjectCommits, "build", lambda *_, **__: pytest.fail("it was built"))
    assert run(["bisect", "HEAD~1", "HEAD", "--metric", "i1_misses", "-C", str(project)]) == 2
    assert "no metric called 'i1_misses'; there are wall_s" in capsys.readouterr().err


def test_what_was_changed_within_a_submodule_is_said_not_to_be_checked(project, capsys):
    """The work tree is what git would add, which of a submodule is its commit: both ends were the same program."""
    assert run(["check", "HEAD", "-C", str(project)]) == 1
    assert "submodule" not in capsys.readouterr().err
    (project / "lib" / "lib.c").write_text("int lib = 1;\n")
    for words, is_told in ([["HEAD"], True], [["HEAD~1", "HEAD"], False], [["HEAD~1..HEAD"], False]):
        assert run(["check", *words, "-C", str(project)]) == 1
        said = " ".join(capsys.readouterr().err.split())
        assert ("warning: changes within submodule lib are not in what is checked" in said) == is_told


@pytest.mark.parametrize("command", [["bisect", "HEAD~1", "HEAD"], ["check"], ["history", "--run", "HEAD~1..HEAD"]])
def test_a_misspelt_benchmark_is_told_at_once(project, monkeypatch, capsys, command):
    """`history --run` built all commits of the range first, stock included."""
    (project / "layoutrand.toml").write_text(CONFIG.replace("metric = { cachegrind = true }\n", ""))
    monkeypatch.setattr(commit_runs.ProjectCommits, "execute", lambda *_, **__: pytest.fail("it was executed"))
    monkeypatch.setattr(commit_runs.ProjectCommits, "build", lambda *_, **__: pytest.fail("it was built"))
    assert run([*command, "--benchmark", "bb", "-C", str(project)]) == 2
    assert "no benchmark called 'bb'; there are b" in capsys.readouterr().err
