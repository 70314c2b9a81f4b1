"""What is recorded of the git work tree that a source directory lies in."""

import os
import shutil

import pytest

from gitkit import commit, git, head, make
from layoutrand.capture.worktree import MOST_NAMED, changed_submodules, empty_submodules, git_state


@pytest.fixture
def repository(tmp_path):
    return make(tmp_path / "repo", {"a.c": "a", "sub/b.c": "b", ".gitignore": "*.o\n", os.fsdecode(b"caf\xe9.h"): "y"})


def test_a_clean_tree(repository):
    """Its commit, and that nothing differs; ignored files are counted, since the build sees them."""
    (repository / "x.o").write_text("x")

    found = git_state(repository)

    assert found is not None
    assert found == {
        "commit": head(repository),
        "tree": git("rev-parse", "HEAD^{tree}", cwd=repository).strip(),
        "committed_at": int(git("log", "-1", "--format=%ct", cwd=repository)),
        "subject": git("log", "-1", "--format=%s", cwd=repository).strip(),
        "dirty": False,
        "n_changed": 0,
        "changed": [],
        "diff_sha256": None,
        "ignored": 1,
    }


CHANGES = {
    "content": (lambda root: (root / "a.c").write_text("A"), ["a.c"]),
    "staged": (lambda root: ((root / "a.c").write_text("A"), git("add", "a.c", cwd=root)), ["a.c"]),
    "new": (lambda root: (root / "new dir").mkdir() or (root / "new dir" / "n\n.c").write_text("n"), ["new dir/n\n.c"]),
    "removed": (lambda root: (root / "sub" / "b.c").unlink(), ["sub/b.c"]),
    "renamed": (lambda root: git("mv", "a.c", "c.c", cwd=root), ["a.c", "c.c"]),
    "mode": (lambda root: (root / "a.c").chmod(0o755), ["a.c"]),
    "link": (lambda root: ((root / "a.c").unlink(), (root / "a.c").symlink_to("sub/b.c")), ["a.c"]),
    "no UTF-8": (lambda root: (root / os.fsdecode(b"caf\xe9.h")).write_text("Y"), ["caf\\xe9.h"]),
}


@pytest.mark.parametrize(("change", "names"), CHANGES.values(), ids=CHANGES.keys())
def test_a_change_is_recorded(repository, change, names):
    """Each kind of change makes the tree dirty and is named; undone, it is clean again."""
    copy = repository.with_name("copy")
    shutil.copytree(repository, copy, symlinks=True)
    change(repository)
    state = git_state(repository)

    assert (state["dirty"], state["changed"], state["n_changed"]) == (True, names, len(names))
    assert git_state(copy)["dirty"] is False


def test_the_digest_is_of_the_differences(repository):
    """Equal differences from equal commits have equal digests, others have others."""
    digests = []
    for text in ("one", "two", "one"):
        (repository / "a.c").write_text(text)
        digests.append(git_state(repository)["diff_sha256"])

    assert digests[0] == digests[2] != digests[1]


def test_only_what_is_built_counts(repository):
    """A source below the top of the work tree, what build.exclude matches and our own files make nothing dirty."""
    (repository / "a.c").write_text("A")
    (repository / "sub" / "layoutrand.toml").write_text("x")
    (repository / "sub" / ".layoutrand").mkdir()
    (repository / "sub" / ".layoutrand" / "results.sqlite").write_text("x")
    (repository / "sub" / "notes.txt").write_text("x")

    assert git_state(repository / "sub", ["*.txt"])["dirty"] is False
    assert git_state(repository / "sub")["changed"] == ["notes.txt"]


def test_results_of_a_project_below_the_source_make_nothing_dirty(repository):
    (repository / "sub" / ".layoutrand").mkdir()
    (repository / "sub" / ".layoutrand" / "results.sqlite").write_text("x")

    assert git_state(repository)["dirty"] is False


def test_submodules_are_looked_into(repository, tmp_path):
    """Files that changed in a submodule are named, and so is a submodule at another commit."""
    make(tmp_path / "lib", {"l.c": "l"})
    git("submodule", "add", "-q", tmp_path / "lib", "lib", cwd=repository)
    commit(repository)
    clean = git_state(repository)["dirty"]
    (repository / "lib" / "l.c").write_text("L")
    changed = git_state(repository)["changed"]
    assert changed_submodules(repository) == ["lib"]
    assert changed_submodules(repository, ["*.c"]) == changed_submodules(repository, ["lib"]) == []
    commit(repository / "lib")
    moved = git_state(repository)
    assert changed_submodules(repository) == []  # another commit is what the repository itself has as a change
    (repository / "lib" / "new.c").write_text("n")

    assert (clean, changed, moved["changed"]) == (False, ["lib/l.c"], ["lib"])
    assert git_state(repository)["changed"] == ["lib", "lib/new.c"]
    assert git_state(repository)["diff_sha256"] != moved["diff_sha256"]


def test_submodules_that_were_never_checked_out_have_no_file(repository, tmp_path):
    make(tmp_path / "lib", {"a.h": "1"})
    git("submodule", "add", "-q", tmp_path / "lib", "deps/lib", cwd=repository)
    commit(repository)
    git("clone", "-q", repository, tmp_path / "clone", cwd=tmp_path)
    assert empty_submodules(repository) == []
    assert empty_submodules(tmp_path / "clone") == ["deps/lib"]
    assert empty_submodules(tmp_path / "clone" / "deps") == ["lib"]
    shutil.rmtree(tmp_path / "clone" / "deps")
    assert empty_submodules(tmp_path / "clone") == ["deps/lib"]
    (tmp_path / "none").mkdir()
    assert empty_submodules(tmp_path / "none") == []


def test_many_changes_are_counted_and_some_named(repository):
    """The record stays short."""
    for number in range(MOST_NAMED + 7):
        (repository / f"{number:03}.c").write_text("x")
    state = git_state(repository)

    assert (len(state["changed"]), state["n_changed"]) == (MOST_NAMED, MOST_NAMED + 7)


def test_outside_a_repository_there_is_nothing_to_say(tmp_path):
    """No record where there is no work tree."""
    assert git_state(tmp_path) is None


def test_where_git_does_not_tell(tmp_path, monkeypatch):
    """A repository without a commit, or no git at all, is recorded as unknown with the reason."""
    make(tmp_path / "empty")
    state = git_state(tmp_path / "empty")
    monkeypatch.setenv("PATH", "/nonexistent")

    assert (state["commit"], state["dirty"]) == (None, None)
    assert state["error"] == "no commit is made there yet"
    assert "git not found" in git_state(tmp_path / "empty")["error"]


def test_personal_settings_hide_nothing(repository, tmp_path, monkeypatch):
    """A user who does not want to see untracked files gets them recorded all the same, and the index is not touched."""
    (tmp_path / "config").write_text(
        "[status]\nshowUntrackedFiles = no\nrelativePaths = true\n[diff]\nignoreSubmodules = all\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    (repository / "sub" / "new.c").write_text("n")
    before = (repository / ".git" / "index").stat().st_mtime_ns

    assert git_state(repository / "sub")["changed"] == ["new.c"]
    assert (repository / ".git" / "index").stat().st_mtime_ns == before


@pytest.mark.parametrize("ignored", ["built/\n", ""])
def test_a_directory_that_the_commit_does_not_know_has_none(repository, ignored):
    """What stands in a repository by chance, as a demo does, is not of its commit."""
    (repository / ".gitignore").write_text(ignored)
    (repository / "built").mkdir()
    (repository / "built" / "a.c").write_text("a")
    assert git_state(repository / "built") is None
    assert git_state(repository / "sub") is not None
