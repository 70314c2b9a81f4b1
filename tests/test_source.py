"""The user's source: its digest, its private copy, and revisions of repositories."""

import os
import socket
import subprocess

import pytest

from layoutrand.errors import BuildFailed, UsageError
from layoutrand.world.disk import CACHE_TAG
from layoutrand.world.source import check_out, copy, digest, git_state, resolve_revision


@pytest.fixture
def tree(tmp_path):
    """A small source tree with a bit of everything."""
    root = tmp_path / "source"
    (root / "lib" / "empty").mkdir(parents=True)
    (root / "main.c").write_text("int main(void) { return 0; }\n")
    (root / "lib" / "a b$'\n.c").write_text("int a;\n")
    (root / os.fsdecode(b"caf\xe9.h")).write_text("int e;\n")
    (root / "configure").write_text("#!/bin/sh\n")
    (root / "configure").chmod(0o755)
    (root / "link.c").symlink_to("main.c")
    (root / "dangling").symlink_to("nowhere")
    os.utime(root / "main.c", (1_000_000, 2_000_000))
    return root


def listing(root):
    """Every name below, with what it is."""
    return sorted(
        (
            os.fsencode(path.relative_to(root)),
            path.is_symlink(),
            path.is_dir(),
            None if path.is_dir() or path.is_symlink() else path.read_bytes(),
        )
        for path in root.rglob("*")
    )


def test_a_copy_is_equal(tree, tmp_path):
    """Names of any kind, contents, links, empty directories, modes and times are copied."""
    copy(tree, tmp_path / "copy", [])
    copied = tmp_path / "copy"

    assert listing(copied) == listing(tree)
    assert os.readlink(copied / "link.c") == "main.c"
    assert (copied / "configure").stat().st_mode & 0o777 == 0o755
    assert (copied / "main.c").stat().st_mtime == 2_000_000
    assert (copied / "lib").stat().st_mtime == (tree / "lib").stat().st_mtime
    assert digest(copied, []) == digest(tree, [])


CHANGES = {
    "content": lambda root: (root / "main.c").write_text("int main(void) { return 1; }\n"),
    "name": lambda root: (root / "main.c").rename(root / "main2.c"),
    "executable bit": lambda root: (root / "configure").chmod(0o644),
    "new file": lambda root: (root / "new.c").write_text(""),
    "new directory": lambda root: (root / "new").mkdir(),
    "file gone": lambda root: (root / "main.c").unlink(),
    "link to another file": lambda root: ((root / "link.c").unlink(), (root / "link.c").symlink_to("other.c")),
    "link in place of a file": lambda root: ((root / "configure").unlink(), (root / "configure").symlink_to("main.c")),
    "file in place of a directory": lambda root: (
        (root / "lib" / "empty").rmdir(),
        (root / "lib" / "empty").write_text(""),
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_every_change_of_the_source_changes_its_digest(tree, change):
    """Whatever a build could notice gives another digest."""
    before = digest(tree, [])
    change(tree)

    assert digest(tree, []) != before


def test_what_does_not_matter_does_not_change_the_digest(tree):
    """Times, permissions of others, git's own files, results and the configuration are no part of the source."""
    before = digest(tree, [])
    os.utime(tree / "main.c", (5, 5))
    (tree / "main.c").chmod(0o600)
    for name in (".git", ".layoutrand"):
        (tree / name).mkdir()
        (tree / name / "x").write_text("x")
    (tree / "layoutrand.toml").write_text("x")

    assert digest(tree, []) == before


def test_only_at_the_top_are_these_left_out(tree, tmp_path):
    """A submodule's .git file or a vendored layoutrand.toml deeper in the tree is source like any other."""
    (tree / "lib" / "layoutrand.toml").write_text("x")
    copy(tree, tmp_path / "copy", [])

    assert (tmp_path / "copy" / "lib" / "layoutrand.toml").exists()


@pytest.mark.parametrize("pattern", ["lib", "lib/", "l*", "li[b]"])
def test_an_excluded_directory_is_left_out_whole(tree, tmp_path, pattern):
    """A pattern names a directory with or without a slash behind it."""
    copy(tree, tmp_path / "copy", [pattern])

    assert not (tmp_path / "copy" / "lib").exists()
    assert (tmp_path / "copy" / "main.c").exists()


def test_patterns_match_at_any_depth(tree, tmp_path):
    """*.c leaves out every C file, and a change of one no longer changes the digest."""
    copy(tree, tmp_path / "copy", ["*.c"])
    before = digest(tree, ["*.c"])
    (tree / "main.c").write_text("changed")

    assert not list((tmp_path / "copy").rglob("*.c"))
    assert digest(tree, ["*.c"]) == before


def test_a_cache_inside_the_source_is_left_out(tree, tmp_path):
    """A cache of ours in the tree is neither copied into itself nor part of the digest."""
    before = digest(tree, [])
    (tree / "cache" / "work").mkdir(parents=True)
    (tree / "cache" / "CACHEDIR.TAG").write_bytes(CACHE_TAG)
    copy(tree, tree / "cache" / "work" / "copy", [])

    assert digest(tree, []) == before
    assert not (tree / "cache" / "work" / "copy" / "cache").exists()


def test_sockets_and_pipes_are_left_out(tree, tmp_path, monkeypatch):
    """What cannot be copied is no part of the source."""
    before = digest(tree, [])
    os.mkfifo(tree / "pipe")
    monkeypatch.chdir(tree)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        copy(tree, tmp_path / "copy", [])

        assert digest(tree, []) == before
    assert not {"pipe", "socket"} & {path.name for path in (tmp_path / "copy").iterdir()}


def test_an_unwritable_directory_can_be_built_in(tree, tmp_path):
    """The copy's directories belong to the build, whatever the original's mode."""
    (tree / "lib").chmod(0o555)
    copy(tree, tmp_path / "copy", [])
    (tree / "lib").chmod(0o755)

    assert (tmp_path / "copy" / "lib").stat().st_mode & 0o700 == 0o700


def test_a_missing_source_is_a_usage_error(tmp_path):
    """The message names the key and the path."""
    with pytest.raises(UsageError, match=r"^build\.source: .*missing is not a directory$"):
        digest(tmp_path / "missing", [])


def git(*arguments, cwd):
    identity = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t.invalid",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "init.defaultBranch=main",
    ]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path):
    """A repository with two commits, a tag on the first, and a branch."""
    root = tmp_path / "repo"
    root.mkdir()
    git("init", "-q", cwd=root)
    for number in (1, 2):
        (root / "file").write_text(f"{number}\n")
        git("add", ".", cwd=root)
        git("commit", "-qm", f"commit {number}", cwd=root)
        if number == 1:
            git("tag", "-a", "v1", "-m", "annotated", cwd=root)
    git("branch", "side", "v1", cwd=root)
    return root


def test_revisions_are_resolved_to_commits(repository, tmp_path):
    """A branch, a tag, an abbreviated hash and nothing at all name the commits that git says they do."""
    mirror = tmp_path / "mirror"
    first, second = git("rev-parse", "v1^{commit}", cwd=repository), git("rev-parse", "HEAD", cwd=repository)

    assert [resolve_revision(str(repository), rev, mirror) for rev in ("v1", "side", first[:9], None, "main", "HEAD~1")] == [
        first, first, first, second, second, first,
    ]  # fmt: skip


def test_new_commits_are_fetched(repository, tmp_path):
    """A mirror made earlier knows what was committed since, also after the branch was rewritten."""
    mirror = tmp_path / "mirror"
    resolve_revision(str(repository), "main", mirror)
    (repository / "file").write_text("3\n")
    git("commit", "-qa", "--amend", "-m", "rewritten", cwd=repository)

    assert resolve_revision(str(repository), "main", mirror) == git("rev-parse", "main", cwd=repository)


def test_a_revision_is_checked_out_with_its_history(repository, tmp_path):
    """The work tree has the commit's files and a .git that git describe can use."""
    mirror = tmp_path / "mirror"
    commit = resolve_revision(str(repository), "side", mirror)
    check_out(mirror, commit, tmp_path / "tree")

    assert (tmp_path / "tree" / "file").read_text() == "1\n"
    assert git("describe", cwd=tmp_path / "tree") == "v1"


@pytest.mark.parametrize("rev", ["no-such-branch", "0" * 40, "v1:file"])
def test_an_unknown_revision_is_a_clear_error(repository, tmp_path, rev):
    """The message names the revision and the repository, and git's reason once."""
    with pytest.raises(BuildFailed, match=rf"^build\.repo: cannot get {rev} of {repository}: .+") as caught:
        resolve_revision(str(repository), rev, tmp_path / "mirror")
    assert "stderr" not in str(caught.value)


def test_an_unknown_repository_is_a_clear_error(tmp_path):
    """So is a repository that is not there, and nothing is left behind."""
    with pytest.raises(BuildFailed, match=r"^build\.repo: cannot get HEAD of /nonexistent/repo: .*does not exist"):
        resolve_revision("/nonexistent/repo", None, tmp_path / "mirror")
    assert not (tmp_path / "mirror").exists()


@pytest.mark.parametrize("damage", ["empty directory", "half a repository", "left from a killed clone"])
def test_a_damaged_mirror_is_made_anew(repository, tmp_path, damage):
    """What a killed git left behind does not stop the next run."""
    mirror = tmp_path / "mirror"
    if damage == "left from a killed clone":
        (tmp_path / "mirror.new" / "objects").mkdir(parents=True)
    else:
        mirror.mkdir()
        if damage == "half a repository":
            (mirror / "objects").mkdir()
            (mirror / "config.lock").write_text("")

    assert resolve_revision(str(repository), "main", mirror) == git("rev-parse", "main", cwd=repository)


def test_a_commit_that_is_gone_is_a_clear_error(repository, tmp_path):
    """A commit that the mirror does not have cannot be checked out, and that is said."""
    mirror = tmp_path / "mirror"
    resolve_revision(str(repository), None, mirror)

    with pytest.raises(BuildFailed, match=r"^build\.repo: cannot check out 1234567"):
        check_out(mirror, "1234567" * 5 + "12345", tmp_path / "tree")


def test_state_of_a_work_tree(repository, tmp_path):
    """A clean tree has its commit; a changed or new file makes it dirty; outside a repository there is none."""
    clean = git_state(repository)
    (repository / "new").write_text("x")
    dirty = git_state(repository)
    (tmp_path / "elsewhere").mkdir()

    assert clean == {"commit": git("rev-parse", "HEAD", cwd=repository), "dirty": False}
    assert dirty == {**clean, "dirty": True}
    assert git_state(tmp_path / "elsewhere") is None
