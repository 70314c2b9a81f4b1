"""Where GitPython says that a repository is, and whose settings git's commands obey."""

from __future__ import annotations

import re
import subprocess

import pytest

import gitkit
from gitkit import git, make
from layoutrand.errors import BuildFailed
from layoutrand.platform import git_command
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


def test_what_a_user_has_set_stays_where_the_repository_sets_it_too(repository, tmp_path, monkeypatch):
    """Of filters and helpers those of the user count, of the repository none, whatever characters their names have."""
    (tmp_path / "config").write_text(
        '[filter "mine"]\nclean = tr a-z A-Z\n[credential]\nhelper = one\nhelper = two\n[url "x:"]\ninsteadOf = y:\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    for key in ("filter.mine.clean", "filter.a=b.clean", "credential.helper", "remote.origin.uploadpack", "user.name"):
        git("config", key, "strange", cwd=repository)

    def told(key):
        return git_command.git("config", "--get-all", key, cwd=repository).decode().splitlines()

    assert told("filter.mine.clean")[-1] == "tr a-z A-Z"
    assert told("filter.a=b.clean")[-1] == ""
    assert told("credential.helper")[-3:] == ["", "one", "two"]
    assert told("remote.origin.uploadpack")[-1] == "git-upload-pack"
    assert (told("user.name"), told("url.x:.insteadof")) == (["strange"], ["y:"])


def test_a_filter_of_the_user_is_used(repository, tmp_path, monkeypatch):
    """As that of Git LFS, without which its files would count as changed."""
    (tmp_path / "config").write_text('[filter "mine"]\nclean = tr a-z A-Z\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    gitkit.commit(repository, {".gitattributes": "f filter=mine\n", "f": "TEXT"})
    (repository / "f").write_text("text")
    assert git_command.git("status", "--porcelain", cwd=repository) == b""


def test_another_users_repository_that_the_user_trusts_is_read_as_plainly_as_any(repository, tmp_path, monkeypatch):
    """``safe.directory`` counts where nothing else of the user's does: git's own advice would be of no use else."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    config = tmp_path / "config"
    config.write_text("")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    git("config", "filter.a.clean", "strange", cwd=repository, env={"GIT_TEST_ASSUME_DIFFERENT_OWNER": "0"})
    advice = f"To add an exception for this directory, call: git config --global --add safe.directory {repository}"
    with pytest.raises(BuildFailed, match=re.escape(advice)):
        git_command.git("rev-parse", "HEAD", cwd=repository, plain=True)

    config.write_text(f'[safe]\n\tdirectory = /elsewhere\n\tdirectory = {repository}\n[user]\nname = "me"\n')
    told = git_command.git("config", "--list", cwd=repository, plain=True).decode().splitlines()
    assert "user.name=me" not in told
    assert told[-1] != "filter.a.clean=strange"  # what the repository's own configuration starts is taken back
    assert len(git_command.git("rev-parse", "HEAD", cwd=repository, plain=True)) > 40


def test_a_repository_cannot_say_of_itself_that_it_is_trusted(repository, tmp_path, monkeypatch):
    git("config", "safe.directory", "*", cwd=repository)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(BuildFailed, match="detected dubious ownership"):
        git_command.git("rev-parse", "HEAD", cwd=repository, plain=True)
