"""The user's source: what it contains, its digest, and its private copy."""

import os
import socket
import subprocess
import sys

import pytest

from gitkit import make
from layoutrand.capture.source import copy, digest, digest_of, is_by_editors, left_out
from layoutrand.capture.source import listing as contents
from layoutrand.errors import UsageError
from layoutrand.platform.disk import CACHE_TAG


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


def test_results_of_a_project_below_the_source_are_no_part_of_it(tree):
    """Otherwise every run would make another source of it, to be captured anew."""
    before = digest(tree, [])
    (tree / "lib" / ".layoutrand").mkdir()
    (tree / "lib" / ".layoutrand" / "results.sqlite").write_text("x")

    assert digest(tree, []) == before


def test_repositories_inside_the_source_are_source_without_their_git_directories(tree):
    """What git notes down by itself, in a clone inside the tree, makes no difference; a submodule's .git file is kept."""
    before = digest(tree, [])
    (tree / "lib" / ".git").mkdir()
    (tree / "lib" / ".git" / "index").write_text("x")
    assert digest(tree, []) == before

    (tree / "lib" / "empty" / ".git").write_text("gitdir: ../x")
    assert "lib/empty/.git" in contents(tree, [])


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


PRINTING = """
import sys
from pathlib import Path
from layoutrand.capture.source import copy, digest
from layoutrand.capture.worktree import git_state
root, target = map(Path, sys.argv[1:])
state = git_state(root)
print(digest(root, ()), None if state is None else state["changed"], flush=True)
print(digest(root, ()))
copy(root, target, ())
"""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_what_the_command_prints_into_is_no_source(tree, tmp_path, stream):
    """`layoutrand compare > results`: the shell has made the file in the source before anything looks there."""
    before = digest(tree, ())
    with (tree / "lib" / "results").open("w") as printed:
        done = subprocess.run(
            [sys.executable, "-c", PRINTING, tree, tmp_path / "copy"], check=True, **{"stdout": -1, stream: printed}
        )
    said = done.stdout.decode() if done.stdout else (tree / "lib" / "results").read_text()

    assert said.split() == [before, "None", before]
    assert (tmp_path / "copy" / "main.c").exists()
    assert not (tmp_path / "copy" / "lib" / "results").exists()
    assert digest(tree, ()) != before


def test_in_a_repository_it_is_no_change(tmp_path):
    """But a file that the commit has is one, whoever writes into it."""
    tree = make(tmp_path / "repository", {"known": "k"})
    for name, changed in (("results", []), ("known", ["known"])):
        with (tree / name).open("w") as printed:
            subprocess.run([sys.executable, "-c", PRINTING, tree, tmp_path / name], check=True, stdout=printed)
        assert (tree / name).read_text().splitlines()[0].endswith(str(changed))
        (tree / "results").unlink(missing_ok=True)


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


def test_the_digest_is_that_of_the_listing(tree):
    """What is listed is what the digest is made of."""
    assert digest(tree, []) == digest_of(contents(tree, []))
    assert contents(tree, [])["link.c"] == "link main.c"
    assert contents(tree, [])["configure"].startswith("program ")
    assert contents(tree, [])["lib/empty"] == "directory"


@pytest.mark.parametrize(
    ("name", "patterns", "out"),
    [
        ("a/b/c", ["a"], True),
        ("a/b/c", ["a/b/"], True),
        ("a/b/c", ["b"], False),
        ("a/b/c.o", ["*.o"], True),
        ("a", [], False),
        ("docs/x", ["doc"], False),
        ("x/docs/y", ["*/docs"], True),
    ],
)
def test_names_below_what_is_left_out_are_left_out(name, patterns, out):
    """A pattern that matches a directory takes everything in it along."""
    assert left_out(name, patterns) is out


@pytest.mark.parametrize(
    "name", ["main.c~", "lib/.#a.c", "lib/.a.c.swp", "a.bak", ".vscode/settings.json", "layoutrand.toml.keep", "#a.c#"]
)
def test_what_editors_leave_is_no_part_of_a_directory(tree, tmp_path, name):
    """It is not copied, and makes no build necessary."""
    before = digest(tree, [])
    (tree / name).parent.mkdir(exist_ok=True)
    (tree / name).write_text("x")

    copy(tree, tmp_path / "copied", [])

    assert digest(tree, []) == before
    assert not (tmp_path / "copied" / name).exists()
    assert name not in contents(tree, [])
    assert is_by_editors(name)
    assert not is_by_editors("main.c")


class InterruptedBuild(Exception):
    pass


@pytest.mark.parametrize("work", [contents, lambda tree, none, go_on: copy(tree, tree.with_name("new"), none, go_on)])
def test_reading_or_copying_a_huge_file_is_ended_in_the_midst_of_it(tree, work):
    """Whoever interrupts a build waits for the thread that reads its source: 100 GiB take minutes."""
    with (tree / "huge").open("wb") as file:
        file.truncate(100 << 30)
    parts = []

    def go_on():
        parts.append(1)
        if len(parts) > 3:
            raise InterruptedBuild

    with pytest.raises(InterruptedBuild):
        work(tree, [], go_on)
