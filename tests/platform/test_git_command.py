"""Where GitPython says that a repository is."""

from __future__ import annotations

import subprocess

import pytest

from gitkit import git, make
from layoutrand.platform.git_command import git_directory
from workshop import require


@pytest.fixture
def repository(tmp_path):
    return make(tmp_path / "repo", {"f": "1"})


def test_all_work_trees_of_a_repository_have_one_place(repository, tmp_path):
    git("worktree", "add", "-q", str(tmp_path / "beside"), cwd=repository)
    place = git_directory(repository)
    assert place == repository / ".git"
    assert git_directory(tmp_path / "beside").samefile(place)
    assert git_directory(place) == place


def test_a_variable_that_names_another_repository_says_nothing(repository, tmp_path, monkeypatch):
    other = make(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert git_directory(repository) == repository / ".git"


def test_a_repository_of_longer_hashes_is_one(tmp_path):
    require("git", "git")
    made = subprocess.run(["git", "init", "-q", "--object-format=sha256", str(tmp_path / "long")], check=False)
    if made.returncode:
        pytest.skip("this git has no SHA-256 repositories")
    assert git_directory(tmp_path / "long") == tmp_path / "long" / ".git"


def test_what_is_no_repository_has_none(repository, tmp_path):
    git("bundle", "create", "-q", str(tmp_path / "it.bundle"), "HEAD", cwd=repository)
    assert [git_directory(tmp_path / name) for name in ("it.bundle", "absent", "$HOME")] == [None] * 3
