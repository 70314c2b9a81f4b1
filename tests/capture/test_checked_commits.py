"""Which commits `check` compares, and the work tree as a commit that the user's repository never sees."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import gitkit
from layoutrand.capture.checked_commits import chosen_commits, source_repository
from layoutrand.capture.own_files import remember_written
from layoutrand.capture.repository import Mirrors
from layoutrand.errors import UsageError

FILES = {"a.c": "int a;\n", ".gitignore": "*.o\n", "sub/b.c": "int b;\n"}


@pytest.fixture
def mirrors(tmp_path):
    return Mirrors(tmp_path / "repos", lambda _: nullcontext(), lambda _: None)


@pytest.fixture
def repository(tmp_path):
    """main with two commits, and a branch with one more, checked out."""
    root = gitkit.make(tmp_path / "project", FILES)
    gitkit.commit(root, {"a.c": "int a = 1;\n"})
    gitkit.git("checkout", "-q", "-b", "topic", cwd=root)
    gitkit.commit(root, {"a.c": "int a = 2;\n"})
    return root


def of(root, mirrors, base=None, head=None):
    return chosen_commits(source_repository(root, ".", None), mirrors, base, head)


def test_the_merge_base_and_the_commit_that_is_checked_out(repository, mirrors):
    base, head = of(repository, mirrors)
    assert base.commit == gitkit.git("rev-parse", "main", cwd=repository)
    assert head.commit == gitkit.head(repository)
    assert (base.label, head.label, head.changed) == (f"main {base.commit[:7]}", f"HEAD {head.commit[:7]}", 0)


def test_a_changed_work_tree_is_a_commit_of_what_git_would_add(repository, mirrors):
    before = gitkit.git("count-objects", "-v", cwd=repository), gitkit.git("status", "--porcelain", cwd=repository)
    (repository / "a.c").write_text("int a = 3;\n")
    (repository / "new.c").write_text("int n;\n")
    (repository / "junk.o").write_text("junk")
    (repository / ".layoutrand").mkdir()
    (repository / ".layoutrand" / "results.sqlite").write_text("x")
    (repository / "sub" / "b.c").unlink()
    (repository / "report.html").write_text("ours")
    remember_written(repository, [repository / "report.html"])
    status = gitkit.git("status", "--porcelain", cwd=repository)
    base, head = of(repository, mirrors)
    tree = tmp = mirrors.root.parent / "tree"
    mirrors.check_out(str(repository), head.commit, tree, [])
    assert head.changed == 3
    assert sorted(path.name for path in tmp.iterdir()) == [".git", ".gitignore", "a.c", "new.c"]
    assert (tree / "a.c").read_text() == "int a = 3;\n"
    assert of(repository, mirrors) == (base, head)
    assert gitkit.git("count-objects", "-v", cwd=repository) == before[0]
    assert gitkit.git("status", "--porcelain", cwd=repository) == status


def test_changes_in_a_clone_with_little_history_are_built_too(repository, mirrors, tmp_path):
    """No branch leads to the commit of the changes, and git clones nothing else of a mirror with little history."""
    shallow = tmp_path / "shallow"
    gitkit.git("clone", "-q", "--depth=1", f"file://{repository}", shallow, cwd=tmp_path)
    (shallow / "a.c").write_text("int a = 3;\n")
    _, head = of(shallow, mirrors)
    mirrors.check_out(str(shallow), head.commit, tmp_path / "tree", [])
    assert (tmp_path / "tree" / "a.c").read_text() == "int a = 3;\n"


def test_on_the_default_branch_it_is_the_commit_before_or_that_of_the_changes(repository, mirrors):
    gitkit.git("checkout", "-q", "main", cwd=repository)
    base, head = of(repository, mirrors)
    assert (base.commit, head.commit) == tuple(
        gitkit.git("rev-parse", rev, cwd=repository) for rev in ("main^", "main")
    )
    (repository / "a.c").write_text("int a = 9;\n")
    base, head = of(repository, mirrors)
    assert base.commit == gitkit.head(repository)
    assert head.changed == 1


def test_commits_are_taken_as_they_are_named(repository, mirrors):
    base, head = of(repository, mirrors, "main~1", "main")
    assert base.commit == gitkit.git("rev-parse", "main~1", cwd=repository)
    assert head.label == f"main {head.commit[:7]}"


def test_a_source_below_the_top_of_its_repository_is_known_by_its_place(repository):
    found = source_repository(repository, "sub", None)
    assert (found.root, found.inside) == (repository, "sub")


def test_what_is_not_there_is_an_error_that_says_so(repository, mirrors, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match=r"no commit \^HEAD in .*: it names no single commit"):
        of(repository, mirrors, "^HEAD")
    with pytest.raises(UsageError, match=r"no commit tpoic in [^:;]*; did you mean 'topic'\?$"):
        of(repository, mirrors, "tpoic")
    with pytest.raises(UsageError, match="no commit nowhere"):
        of(repository, mirrors, "nowhere")
    with pytest.raises(UsageError, match="in no git repository, so there are no commits to go by$"):
        source_repository(tmp_path, ".", None)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged/.git").write_text("gitdir: /nowhere\n")
    with pytest.raises(UsageError, match="no commits to go by: fatal: not a git repository: /nowhere$"):
        source_repository(tmp_path / "damaged", ".", None)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(
        UsageError, match="^git refuses the repository of .*, which belongs to another user: .*call: git"
    ):
        source_repository(repository, ".", None)
    monkeypatch.delenv("GIT_TEST_ASSUME_DIFFERENT_OWNER")
    shallow = tmp_path / "shallow"
    gitkit.git("clone", "-q", "--depth=1", f"file://{repository}", shallow, cwd=tmp_path)
    with pytest.raises(UsageError, match="shallow"):
        of(shallow, mirrors)
    gitkit.git("checkout", "-q", "--detach", cwd=shallow)
    for name in gitkit.git("for-each-ref", "--format=%(refname)", cwd=shallow).split():
        gitkit.git("update-ref", "--no-deref", "-d", name, cwd=shallow)
    with pytest.raises(UsageError, match="which commit is HEAD .*HEAD~1`; the clone is shallow: fetch its history"):
        of(shallow, mirrors)
