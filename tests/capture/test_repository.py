"""Revisions of repositories: what commit a name means, and the tree that is built from it."""

import os
import re
import shlex
import shutil
import stat
import time
from contextlib import contextmanager

import pytest

from gitkit import COMMITTED, commit, git, head, make
from layoutrand.cache.linked_check import verify
from layoutrand.cache.store import Cache
from layoutrand.cache.upkeep import collect, entries
from layoutrand.capture.repository import Mirrors
from layoutrand.capture.submodules import is_local, joined
from layoutrand.errors import BuildFailed, ToolNotFound
from workshop import require


@contextmanager
def no_lock(_name):
    yield


@pytest.fixture
def said():
    return []


@pytest.fixture
def mirrors(tmp_path, said):
    return Mirrors(tmp_path / "mirrors", no_lock, said.append)


@pytest.fixture
def fresh(tmp_path):
    """Each call acts as the next command would: it knows nothing of what was fetched, but finds the mirrors."""
    return lambda: Mirrors(tmp_path / "mirrors", no_lock, lambda _line: None)


@pytest.fixture
def repository(tmp_path):
    """A repository with two commits, a tag on the first, and a branch."""
    root = make(tmp_path / "repo", {"file": "1\n"})
    git("tag", "-a", "v1", "-m", "annotated", cwd=root)
    commit(root, {"file": "2\n"})
    git("branch", "side", "v1", cwd=root)
    return root


def checked_out(mirrors, url, rev, target, exclude=()):
    """The tree of a revision."""
    mirrors.check_out(str(url), mirrors.resolve(str(url), rev), target, list(exclude))
    return target


def lose(root, revision):
    """Have a repository lose an object."""
    name = git("rev-parse", revision, cwd=root)
    (root / ".git/objects" / name[:2] / name[2:]).unlink()
    return name


def test_damaged_branches_and_tags_are_left_out_and_told_and_the_others_are_fetched(repository, mirrors, fresh, said):
    """One of an old branch does not keep two sound commits from being compared."""
    wanted, default = head(repository), git("rev-parse", "--abbrev-ref", "HEAD", cwd=repository)
    git("checkout", "-q", "--orphan", "old", cwd=repository)
    commit(repository, {"file": "lost\n"})
    git("tag", "bad", cwd=repository)
    git("checkout", "-q", default, cwd=repository)
    lost = lose(repository, "bad:file")

    assert mirrors.resolve(str(repository), "HEAD") == wanted
    fetched = git("for-each-ref", "--format=%(refname)", cwd=mirrors.path(str(repository))).splitlines()
    assert fetched == [f"refs/heads/{default}", "refs/heads/side", "refs/tags/v1"]
    assert said[1:] == [
        f"{repository}: left out, as the repository cannot read what they lead to (remote: fatal: unable to read "
        f"{lost}): refs/heads/old, refs/tags/bad. `git fsck` there says what is lost"
    ]
    git("branch", "-D", "side", cwd=repository)
    newer = commit(repository, {"file": "3\n"})
    assert fresh().resolve(str(repository), "HEAD") == newer, "nor is it taken for a damaged mirror"
    fetched = git("for-each-ref", "--format=%(refname)", cwd=mirrors.path(str(repository))).splitlines()
    assert fetched == [f"refs/heads/{default}", "refs/tags/v1"]
    with pytest.raises(BuildFailed, match=f"unable to read {lost}"):
        fresh().resolve(str(repository), git("rev-parse", "bad", cwd=repository))


def test_a_repository_that_is_damaged_at_its_root_is_an_error(tmp_path, mirrors):
    root = make(tmp_path / "repo", {"file": "1\n"})
    lost = lose(root, "HEAD:file")
    with pytest.raises(BuildFailed, match=f"cannot get HEAD of .*unable to read {lost}"):
        mirrors.resolve(str(root), "HEAD")


def test_revisions_are_resolved_to_commits(repository, mirrors):
    """A branch, a tag, an abbreviated hash, HEAD and nothing at all name the commits that git says they do."""
    first, second = git("rev-parse", "v1^{commit}", cwd=repository), head(repository)
    wanted = {
        "v1": first,
        "side": first,
        first[:9]: first,
        None: second,
        "main": second,
        "HEAD~1": first,
        "HEAD": second,
        "@": second,
        "@~1": first,
        "refs/heads/side": first,
        first: first,
        "v1^{commit}": first,
        "main^": first,
    }

    assert {rev: mirrors.resolve(str(repository), rev) for rev in wanted} == wanted


def test_new_commits_are_fetched(repository, mirrors, fresh):
    """A mirror made earlier knows what was committed since, also after the branch was rewritten or the tag moved."""
    mirrors.resolve(str(repository), "main")
    (repository / "file").write_text("3\n")
    git("commit", "-qa", "--amend", "-m", "rewritten", cwd=repository)
    git("tag", "-f", "v1", cwd=repository)

    assert fresh().resolve(str(repository), "main") == fresh().resolve(str(repository), "v1") == head(repository)


def test_head_follows_the_repository(repository, mirrors, fresh):
    """Where the repository goes to another branch, or to none, HEAD means what it is there now."""
    before = mirrors.resolve(str(repository), None)
    git("checkout", "-q", "side", cwd=repository)
    side = fresh().resolve(str(repository), None)
    git("checkout", "-q", "--detach", "main", cwd=repository)

    assert (before, side) == (git("rev-parse", "main", cwd=repository), git("rev-parse", "side", cwd=repository))
    assert fresh().resolve(str(repository), "HEAD") == before


def test_a_deleted_branch_is_gone(repository, mirrors, fresh):
    """A branch that was deleted is not found in an older mirror."""
    mirrors.resolve(str(repository), "side")
    git("branch", "-D", "side", cwd=repository)

    with pytest.raises(BuildFailed, match="it has no such revision"):
        fresh().resolve(str(repository), "side")


def test_a_full_hash_needs_no_repository_once_it_was_fetched(repository, mirrors, fresh):
    """What a hash means does not change, so neither network nor repository are asked."""
    known = mirrors.resolve(str(repository), "main")
    shutil.rmtree(repository)

    assert fresh().resolve(str(repository), known) == known


def test_a_commit_that_no_branch_leads_to(repository, mirrors):
    """A full hash is asked for by itself where the repository allows that."""
    lost = commit(repository, {"file": "lost\n"})
    git("reset", "-q", "--hard", "HEAD~1", cwd=repository)
    git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=repository)

    assert mirrors.resolve(str(repository), lost) == lost


def test_a_repository_is_fetched_once_per_command(repository, mirrors, said):
    """Many systems of one repository cost one fetch, which is told."""
    for rev in ("main", "v1", None, "side"):
        mirrors.resolve(str(repository), rev)
    commit(repository, {"file": "later\n"})

    assert mirrors.resolve(str(repository), "main") != head(repository)
    assert said == [f"fetching {repository}"]


@pytest.mark.parametrize(
    ("rev", "reason"),
    [
        ("no-such-branch", "it has no such revision$"),
        ("sid", "it has no such revision; did you mean 'side'\\?$"),
        ("0" * 40, ".*not our ref"),
        ("v1:file", "it has no such revision"),
        ("^side", "it names no single commit$"),
    ],
)
def test_an_unknown_revision_is_a_clear_error(repository, mirrors, rev, reason):
    """The message names the revision and the repository, and the reason once."""
    expected = rf"(?s)^build\.repo: cannot get {re.escape(rev)} of {repository}: {reason}"
    with pytest.raises(BuildFailed, match=expected) as caught:
        mirrors.resolve(str(repository), rev)
    assert "stderr" not in str(caught.value)


def test_a_name_of_two_things_is_refused(repository, mirrors):
    """Git would quietly take the tag of a name that a branch has, too."""
    git("branch", "v1", "main", cwd=repository)

    with pytest.raises(BuildFailed, match="v1 of .* is ambiguous; write refs/heads/v1 .* or refs/tags/v1"):
        mirrors.resolve(str(repository), "v1")
    assert mirrors.resolve(str(repository), "refs/heads/v1") == head(repository)


def test_a_mirror_not_used_for_long_is_evicted_and_fetched_again(repository, tmp_path):
    cache = Cache(tmp_path / "cache")

    def resolved():
        return Mirrors(cache.root / "repos", cache.lock, lambda _: None).resolve(str(repository), "HEAD")

    commit = resolved()
    (entry,) = entries(cache)
    assert (entry.kind, entry.path.parent, verify(cache)) == ("repository", cache.root / "repos", [])
    assert entry.label == f"mirror of {repository}"
    os.utime(entry.path / "HEAD", (1e9, 1e9))
    resolved()
    assert entries(cache)[0].used_at > 1e9
    (entry.path / "description").unlink()  # as earlier versions made it
    assert entries(cache)[0].label == "mirror of a repository"

    with cache.lock(entry.name):
        assert collect(cache, 0).evicted == ()  # another process is using it
    assert [gone.name for gone in collect(cache, 0).evicted] == [entry.name]
    assert not entry.path.exists()
    assert resolved() == commit


def test_an_unknown_repository_is_a_clear_error(mirrors):
    """So is a repository that is not there, and nothing is left in its place."""
    require("git", "git")
    with pytest.raises(BuildFailed, match=r"(?s)^build\.repo: cannot get HEAD of /nonexistent/repo: .*does not appear"):
        mirrors.resolve("/nonexistent/repo", None)
    assert not mirrors.path("/nonexistent/repo").exists()


def test_a_partial_clone_that_lacks_files_says_how_to_get_them(repository, mirrors, tmp_path):
    """As a CI service makes it with a filter: git's own words there are of a corruption.  What is said to do does it."""
    git("config", "uploadpack.allowFilter", "true", cwd=repository)
    git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=repository)
    partial = tmp_path / "par tial"
    git("clone", "-q", "--filter=blob:none", "-o", "up", f"file://{repository}", partial, cwd=tmp_path)
    pattern = rf"(?s)^build\.repo: cannot get HEAD of {partial}: it is a partial clone, .*: `(git -C .*)` fetches them"
    # Whether git itself gets what is missing meanwhile depends on its version; without its source none can.
    repository.rename(tmp_path / "away")
    with pytest.raises(BuildFailed, match=pattern) as caught:
        mirrors.resolve(str(partial), None)
    assert "\0" not in str(caught.value)
    (tmp_path / "away").rename(repository)

    _git, *told = shlex.split(re.search(pattern, str(caught.value))[1])
    git(*told, cwd=tmp_path)
    assert mirrors.resolve(str(partial), None) == head(repository)


def test_what_a_partial_clone_has_not_for_another_reason_is_told_without_a_filter(tmp_path, mirrors):
    """Of an empty one there are no files to fetch."""
    (tmp_path / "empty").mkdir()
    git("init", "-q", ".", cwd=tmp_path / "empty")
    git("config", "uploadpack.allowFilter", "true", cwd=tmp_path / "empty")
    git("clone", "-q", "--filter=blob:none", f"file://{tmp_path}/empty", tmp_path / "partial", cwd=tmp_path)
    with pytest.raises(BuildFailed, match=r"HEAD") as caught:
        mirrors.resolve(str(tmp_path / "partial"), None)
    assert "partial clone" not in str(caught.value)


def test_an_empty_repository_is_a_clear_error(tmp_path, mirrors):
    """A repository without a commit has nothing to build."""
    with pytest.raises(BuildFailed, match=r"(?s)^build\.repo: cannot get HEAD of .*HEAD"):
        mirrors.resolve(str(make(tmp_path / "empty")), None)


def test_no_git_is_a_clear_error(repository, mirrors, monkeypatch):
    """Without git on PATH nothing is imported that would fail with a traceback."""
    monkeypatch.setenv("PATH", "/nonexistent")

    with pytest.raises(ToolNotFound, match="git not found on PATH"):
        mirrors.resolve(str(repository), None)


@pytest.mark.parametrize("damage", ["empty directory", "half a repository", "left from a killed fetch"])
def test_a_damaged_mirror_is_made_anew(repository, mirrors, damage):
    """What a killed git left behind does not stop the next run."""
    mirror = mirrors.path(str(repository))
    if damage == "left from a killed fetch":
        (mirror.with_name(f"{mirror.name}.new") / "objects").mkdir(parents=True)
    else:
        mirror.mkdir(parents=True)
        if damage == "half a repository":
            (mirror / "objects").mkdir()
            (mirror / "config.lock").write_text("")

    assert mirrors.resolve(str(repository), "main") == head(repository)


def overwrite(folder):
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        path.chmod(0o644)
        path.write_bytes(b"x" * path.stat().st_size)


DAMAGES = {
    "objects overwritten": lambda mirror: overwrite(mirror / "objects"),
    "branches empty": lambda mirror: [p.write_text("") for p in (mirror / "refs").rglob("*") if p.is_file()],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_mirror_that_a_failing_disk_damaged_is_made_anew(repository, mirrors, said, tmp_path, damage):
    """Where the repository answers and the mirror cannot take it, all is fetched again, and that is told."""
    mirrors.resolve(str(repository), "main")
    damage(mirrors.path(str(repository)))
    mended = Mirrors(tmp_path / "mirrors", no_lock, said.append)

    assert (checked_out(mended, repository, "main", tmp_path / "tree") / "file").read_text() == "2\n"
    assert said[1:] == [f"the mirror of {repository} is damaged", f"fetching {repository}"]


def test_a_repository_that_is_gone_is_no_reason_to_doubt_the_mirror(repository, mirrors, fresh):
    """The mirror stays as it is, and the error is the repository's."""
    known = mirrors.resolve(str(repository), "main")
    repository.rename(repository.with_name("away"))

    with pytest.raises(BuildFailed, match="does not appear to be a git repository"):
        fresh().resolve(str(repository), "main")
    assert fresh().resolve(str(repository), known) == known


ADDRESSES = {
    "path": str,
    "file": lambda root: f"file://{root}",
    "git directory": lambda root: str(root / ".git"),
    "slash": lambda root: f"{root}/",
}


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES.keys())
def test_ways_to_name_a_repository(repository, mirrors, tmp_path, address):
    """Paths and file addresses are all fetched from."""
    assert (checked_out(mirrors, address(repository), "v1", tmp_path / "tree") / "file").read_text() == "1\n"


def test_a_clone_with_little_history_is_good_enough(repository, tmp_path, mirrors):
    """What continuous-integration services check out can be built from, and updated."""
    shallow = tmp_path / "shallow"
    git("clone", "-q", "--depth", "1", f"file://{repository}", shallow, cwd=tmp_path)

    assert (checked_out(mirrors, shallow, None, tmp_path / "tree") / "file").read_text() == "2\n"


def test_what_no_branch_of_a_clone_with_little_history_leads_to(repository, tmp_path, mirrors):
    """As a service has a merge to be tested: under a name that git does not clone, and not what is checked out."""
    shallow = tmp_path / "shallow"
    git("clone", "-q", "--depth", "1", f"file://{repository}", shallow, cwd=tmp_path)
    here = git("rev-parse", "HEAD", cwd=shallow)
    commit(shallow, {"file": "merged\n"})
    merged = git("rev-parse", "HEAD", cwd=shallow)
    git("update-ref", "refs/remotes/pull/1/merge", merged, cwd=shallow)
    git("reset", "-q", "--hard", here, cwd=shallow)

    assert (checked_out(mirrors, shallow, merged, tmp_path / "tree") / "file").read_text() == "merged\n"


def test_a_linked_work_tree_has_a_head_of_its_own(repository, tmp_path, mirrors):
    """HEAD of a work tree is what is checked out there, not in the repository it belongs to."""
    git("worktree", "add", "-q", tmp_path / "linked", "side", cwd=repository)

    assert mirrors.resolve(str(tmp_path / "linked"), None) == git("rev-parse", "side", cwd=repository)


@pytest.mark.parametrize("name", ["a b", "a$HOME", "a'b", "a\nb", "-a", "a;b", "ä", "a%20b", os.fsdecode(b"caf\xe9")])
def test_hostile_names_of_repositories(tmp_path, mirrors, name):
    """No character of a path means anything to anybody."""
    root = make(tmp_path / name, {"file": "x\n"})

    assert (checked_out(mirrors, root, "main", tmp_path / "tree") / "file").read_text() == "x\n"


def test_personal_settings_change_no_tree(repository, tmp_path, mirrors, monkeypatch):
    """Neither configuration, attributes, hooks nor filters of the user reach what is built."""
    commit(repository, {"unix.txt": "a\nb\n", "x.c": "int x;\n"})
    template = tmp_path / "template"
    (template / "hooks").mkdir(parents=True)
    (template / "hooks" / "post-checkout").write_text("#!/bin/sh\necho hooked > hooked\n")
    (template / "hooks" / "post-checkout").chmod(0o755)
    (template / "info").mkdir()
    (template / "info" / "attributes").write_text("* eol=crlf\n")
    (tmp_path / "attributes").write_text("*.c filter=shout\n")
    (tmp_path / "config").write_text(
        f"[core]\nautocrlf = true\nfileMode = false\nsymlinks = false\nattributesFile = {tmp_path}/attributes\n"
        f'[init]\ntemplateDir = {template}\n[filter "shout"]\nsmudge = tr a-z A-Z\nrequired = true\n'
        "[clone]\ndefaultRemoteName = upstream\n[submodule]\nrecurse = true\n[safe]\nbareRepository = explicit\n"
        '[protocol "file"]\nallow = never\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    tree = checked_out(mirrors, repository, "main", tmp_path / "tree")

    assert (tree / "unix.txt").read_bytes() == b"a\nb\n"
    assert (tree / "x.c").read_bytes() == b"int x;\n"
    assert sorted(path.name for path in tree.iterdir()) == [".git", "file", "unix.txt", "x.c"]


def test_git_started_by_a_hook_obeys_that_repository_and_ours_does_not(repository, tmp_path, mirrors, monkeypatch):
    """Variables that tie git to the repository of a hook are not passed on."""
    other = make(tmp_path / "other", {"other": "x"})
    for name, value in (
        ("GIT_DIR", other / ".git"),
        ("GIT_WORK_TREE", other),
        ("GIT_INDEX_FILE", other / ".git/index"),
    ):
        monkeypatch.setenv(name, str(value))

    assert (checked_out(mirrors, repository, "main", tmp_path / "tree") / "file").read_text() == "2\n"


def test_the_tree_is_the_commits(tmp_path, mirrors):
    """Modes, links, names of any bytes, line ends as .gitattributes has them; export-ignore leaves nothing out."""
    root = tmp_path / "repo"
    make(root)
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("run.sh")
    (root / "dangling").symlink_to("/nowhere")
    commit(
        root,
        {
            ".gitattributes": "dos.txt text eol=crlf\nunix.txt text eol=lf\nsecret export-ignore\nversion export-subst\n",
            "dos.txt": "a\n",
            "unix.txt": "a\n",
            "plain.txt": b"a\r\nb\n",
            "secret": "s",
            "version": "$Format:%H$",
            "a b$'\n.c": "x",
            os.fsdecode(b"caf\xe9.h"): "y",
            "deep/er/file": "z",
        },
    )
    tree = checked_out(mirrors, root, None, tmp_path / "tree")

    assert {name: (tree / name).read_bytes() for name in ("dos.txt", "unix.txt", "plain.txt", "secret", "version")} == {
        "dos.txt": b"a\r\n",
        "unix.txt": b"a\n",
        "plain.txt": b"a\r\nb\n",
        "secret": b"s",
        "version": b"$Format:%H$",
    }
    assert (os.readlink(tree / "link"), os.readlink(tree / "dangling")) == ("run.sh", "/nowhere")
    assert (stat.S_IMODE((tree / "run.sh").stat().st_mode) & 0o111, (tree / "dos.txt").stat().st_mode & 0o111) == (
        0o111,
        0,
    )
    assert (tree / "a b$'\n.c").read_text() + (tree / os.fsdecode(b"caf\xe9.h")).read_text() == "xy"
    assert (tree / "deep/er/file").read_text() == "z"


def times(tree):
    """Times of everything but git's own files."""
    return {path.lstat().st_mtime_ns for path in [tree, *tree.rglob("*")] if ".git" not in path.relative_to(tree).parts}


def test_everything_has_the_time_of_the_commit(repository, tmp_path, mirrors):
    """Make finds no file older than what it was made of, and git finds the tree unchanged without looking again."""
    commit(repository, {"configure.ac": "x", "configure": "x", "dir/file": "x"})
    (repository / "link").symlink_to("file")
    commit(repository)
    tree = checked_out(mirrors, repository, "main", tmp_path / "tree")

    assert times(tree) == {COMMITTED * 10**9}
    assert git("diff-index", "HEAD", cwd=tree) == ""  # it does not refresh git's notes, unlike git status


@pytest.mark.parametrize("date", ["@4000000000 +0000", "@100000 +0000"])
def test_dates_that_no_tool_can_live_with(repository, tmp_path, mirrors, date):
    """A commit of the future is as old as now, since make warns of clock skew; one of 1970 is of 1980, for zip."""
    (repository / "file").write_text(date)
    git("commit", "-qam", "odd", cwd=repository, env={"GIT_COMMITTER_DATE": date})
    [moment] = times(checked_out(mirrors, repository, "main", tmp_path / "tree"))

    assert 315532800 <= moment // 10**9 <= time.time()


def test_a_build_can_ask_git_for_its_version(repository, tmp_path, mirrors):
    """The tree is a work tree with history and tags, and its origin is the repository, not the mirror."""
    tree = checked_out(mirrors, repository, "side", tmp_path / "tree")

    assert git("describe", "--dirty", cwd=tree) == "v1"
    assert git("rev-list", "--count", "main", cwd=repository) == "2"
    assert git("config", "remote.origin.url", cwd=tree) == str(repository)
    assert git("status", "--porcelain", cwd=tree) == ""


def test_what_is_excluded_is_not_there_and_not_missed(repository, tmp_path, mirrors):
    """Patterns of build.exclude leave files and whole directories out, and the version stays clean."""
    commit(repository, {"docs/a/b.txt": "x", "keep/x.md": "x", "keep/x.c": "x", "odd é\n.md": "x"})
    git("tag", "v2", cwd=repository)
    tree = checked_out(mirrors, repository, "v2", tmp_path / "tree", ["docs/", "*.md"])

    assert sorted(str(p.relative_to(tree)) for p in tree.rglob("*") if ".git" not in p.relative_to(tree).parts) == [
        "file",
        "keep",
        "keep/x.c",
    ]
    assert git("describe", "--dirty", cwd=tree) == git("describe", cwd=repository)


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n".format("0" * 64)


def test_pointers_of_git_lfs_are_refused(repository, tmp_path, mirrors):
    """A file that is only a pointer would be built into the program; the error names it and what to do."""
    commit(repository, {".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "data/a b.bin": POINTER})

    with pytest.raises(
        BuildFailed, match=r"data/a b\.bin: kept in git LFS.*build\.exclude.*git lfs pull.*build\.source"
    ):
        checked_out(mirrors, repository, "main", tmp_path / "tree")
    assert (checked_out(mirrors, repository, "main", tmp_path / "other", ["data"]) / "file").exists()


def test_a_file_that_looks_like_a_pointer_is_a_file(repository, tmp_path, mirrors):
    """Without git LFS in .gitattributes it is content like any other, such as that of git LFS's own tests."""
    commit(repository, {"pointer.txt": POINTER})

    assert (checked_out(mirrors, repository, "main", tmp_path / "tree") / "pointer.txt").read_text() == POINTER


def test_a_commit_that_is_gone_is_a_clear_error(repository, tmp_path, mirrors):
    """A commit that the mirror does not have cannot be checked out, and that is said."""
    mirrors.resolve(str(repository), None)

    with pytest.raises(BuildFailed, match=r"^build\.repo: cannot check out 123456712345 of .*without its mirror, "):
        mirrors.check_out(str(repository), "1234567" * 5 + "12345", tmp_path / "tree", [])


def test_what_changed_between_two_commits(repository, mirrors):
    """Names and kinds of changes, as far as the mirror has both commits."""
    old = head(repository)
    (repository / "file").unlink()
    new = commit(repository, {"b é\n": "x", "c": "x"})
    newer = commit(repository, {"c": "y"})
    mirrors.resolve(str(repository), None)

    assert mirrors.changes(str(repository), old, new) == [("A", "b é\n"), ("A", "c"), ("D", "file")]
    assert mirrors.changes(str(repository), new, newer) == [("M", "c")]
    assert mirrors.changes(str(repository), old, "0" * 40) is None


@pytest.fixture
def family(tmp_path):
    """A repository with a submodule at a relative address, which has one itself; nothing is cloned into them yet."""
    for name in ("inner", "lib $x", "main"):
        make(tmp_path / "up" / name, {f"{name[0]}.c": f"int {name[0]};\n"})
    git("submodule", "add", "-q", "../inner", "in ner", cwd=tmp_path / "up" / "lib $x")
    commit(tmp_path / "up" / "lib $x")
    git("submodule", "add", "-q", "../lib $x", "deps/lib", cwd=tmp_path / "up" / "main")
    commit(tmp_path / "up" / "main")
    git("tag", "old", cwd=tmp_path / "up" / "main")
    return tmp_path / "up"


def tree_files(tree):
    """Names of all files but git's own."""
    return sorted(
        str(path.relative_to(tree))
        for path in tree.rglob("*")
        if ".git" not in path.relative_to(tree).parts and not path.is_dir()
    )


def test_submodules_are_checked_out_recursively(family, tmp_path, mirrors):
    """A submodule of a submodule is there, at its commit, as `git submodule update` would have left them."""
    tree = checked_out(mirrors, family / "main", None, tmp_path / "tree")

    assert tree_files(tree) == [".gitmodules", "deps/lib/.gitmodules", "deps/lib/in ner/i.c", "deps/lib/l.c", "m.c"]
    assert git("status", "--porcelain", cwd=tree) == ""
    assert [line[0] for line in git("submodule", "status", "--recursive", cwd=tree).splitlines()] == [
        head(family / "lib $x")[0],
        " ",
    ]
    assert (tree / "deps/lib/.git").is_file()
    assert times(tree) == {COMMITTED * 10**9}
    assert git("diff-index", "HEAD", cwd=tree / "deps/lib") == ""
    assert git("config", "remote.origin.url", cwd=tree / "deps/lib") == str(family / "lib $x")


def test_submodules_move_and_change_between_revisions(family, tmp_path, mirrors):
    """Each revision has its submodules where and what they were then, also when the address is another by now."""
    shutil.copytree(family / "lib $x", family / "lib2")
    new = commit(family / "lib2", {"l.c": "int l2;\n"})
    git("mv", "deps/lib", "third", cwd=family / "main")
    git("config", "--file", ".gitmodules", "submodule.deps/lib.url", "../lib2", cwd=family / "main")
    git("fetch", "-q", family / "lib2", "main", cwd=family / "main" / "third")
    git("checkout", "-q", new, cwd=family / "main" / "third")
    commit(family / "main")
    old = checked_out(mirrors, family / "main", "old", tmp_path / "old")
    now = checked_out(mirrors, family / "main", "main", tmp_path / "now")

    assert (old / "deps/lib/l.c").read_text() == "int l;\n" and not (old / "third").exists()
    assert (now / "third/l.c").read_text() == "int l2;\n" and not (now / "deps").exists()


@pytest.mark.slow
def test_a_clone_has_its_submodules_repositories_itself(family, tmp_path, mirrors):
    """A clone is enough where it has fetched its submodules, though relative addresses lead nowhere from it."""
    clone = tmp_path / "elsewhere" / "clone"
    clone.parent.mkdir()
    git("clone", "-q", "--recurse-submodules", family / "main", clone, cwd=tmp_path)
    shutil.rmtree(family)

    for form in ("{}", "file://{}"):
        tree = checked_out(mirrors, form.format(clone), None, tmp_path / f"tree {form[0]}")
        assert "deps/lib/in ner/i.c" in tree_files(tree)


def test_a_clone_without_its_submodules_leads_to_its_origins(family, tmp_path, mirrors):
    """Relative addresses of a clone are those of the repository it was cloned from."""
    clone = tmp_path / "elsewhere" / "clone"
    clone.parent.mkdir()
    git("clone", "-q", family / "main", clone, cwd=tmp_path)

    assert "deps/lib/in ner/i.c" in tree_files(checked_out(mirrors, clone, None, tmp_path / "tree"))


def test_the_next_build_needs_no_repository_of_a_submodule(family, tmp_path, mirrors, fresh):
    """Submodules are named by commits, so mirrors that have these are enough."""
    shutil.rmtree(family / "main" / ".git" / "modules")
    checked_out(mirrors, family / "main", None, tmp_path / "first")
    shutil.rmtree(family / "lib $x")
    shutil.rmtree(family / "inner")

    assert tree_files(checked_out(fresh(), family / "main", None, tmp_path / "tree")) == tree_files(tmp_path / "first")


def test_a_submodule_that_cannot_be_had(family, tmp_path, mirrors):
    """The error names it and all that was tried; a build that does not need it can leave it out."""
    shutil.rmtree(family / "lib $x")
    shutil.rmtree(family / "main" / ".git" / "modules")

    with pytest.raises(
        BuildFailed, match=r"(?s)submodule deps/lib: cannot get its commit .* from .*lib \$x: .*build\.exclude"
    ):
        checked_out(mirrors, family / "main", None, tmp_path / "tree")
    assert tree_files(checked_out(mirrors, family / "main", None, tmp_path / "other", ["deps"])) == [
        ".gitmodules",
        "m.c",
    ]


def test_a_commit_of_a_submodule_that_was_never_pushed(family, tmp_path, mirrors):
    """The usual mistake with submodules is told as what it is."""
    commit(family / "main" / "deps/lib", {"l.c": "int local;\n"})
    commit(family / "main")
    clone = tmp_path / "clone"
    git("clone", "-q", "--bare", family / "main", clone, cwd=tmp_path)

    with pytest.raises(BuildFailed, match=r"(?s)submodule deps/lib: cannot get its commit [0-9a-f]{12} from "):
        checked_out(mirrors, clone, None, tmp_path / "tree")


def test_a_link_to_a_commit_without_an_address(repository, tmp_path, mirrors):
    """A repository that was added by mistake has no address; it can be left out."""
    make(repository / "oops", {"x": "x"})
    commit(repository)

    with pytest.raises(BuildFailed, match=r"submodule oops: \.gitmodules has no address for it.*build\.exclude"):
        checked_out(mirrors, repository, "main", tmp_path / "tree")
    assert tree_files(checked_out(mirrors, repository, "main", tmp_path / "other", ["oops"])) == ["file"]


def test_a_submodule_that_is_not_to_be_updated(family, tmp_path, mirrors):
    """`update = none` in .gitmodules leaves a submodule out, as it does for git."""
    git("config", "--file", ".gitmodules", "submodule.deps/lib.update", "none", cwd=family / "main")
    commit(family / "main")

    assert tree_files(checked_out(mirrors, family / "main", None, tmp_path / "tree")) == [".gitmodules", "m.c"]


@pytest.fixture
def remote(family, tmp_path, monkeypatch):
    """The family as if it were on a server: git rewrites its addresses to paths, so no network is used."""
    (tmp_path / "config").write_text(f'[url "{family}/"]\ninsteadOf = https://server.invalid/\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    return "https://server.invalid/main"


def test_relative_submodules_of_a_repository_elsewhere(remote, tmp_path, mirrors):
    """Relative addresses lead to the same server, recursively."""
    tree = checked_out(mirrors, remote, None, tmp_path / "tree")

    assert "deps/lib/in ner/i.c" in tree_files(tree)
    assert git("config", "remote.origin.url", cwd=tree / "deps/lib") == "https://server.invalid/lib $x"


def test_credentials_of_an_address_stay_in_it(family, tmp_path, mirrors, said, monkeypatch):
    """They are used, and neither told nor written down; with another token it is the same mirror."""
    addresses = "".join(f"insteadOf = https://{user}h.invalid/\n" for user in ("", "me:s3cret@", "t0ken@"))
    (tmp_path / "config").write_text(f'[url "{family}/"]\n{addresses}')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    address = "https://me:s3cret@h.invalid/main"
    tree = checked_out(mirrors, address, None, tmp_path / "tree")
    assert "deps/lib/in ner/i.c" in tree_files(tree)
    assert git("config", "remote.origin.url", cwd=tree) == "https://h.invalid/main"
    assert (
        mirrors.path(address) == mirrors.path("https://t0ken@h.invalid/main") == mirrors.path("https://h.invalid/main")
    )
    with pytest.raises(BuildFailed, match="no such revision") as caught:
        mirrors.resolve(address, "nothing")
    told = [*said, str(caught.value)]
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    for url in ("https://me:s3cret@127.0.0.1:1/x", "http://t0ken@127.0.0.1:1/x", "https://me:s3cret@127.0.0.1:no/x"):
        with pytest.raises(BuildFailed, match=r"cannot get HEAD of https?://127.0.0.1") as caught:
            mirrors.resolve(url, None)
        told += [*said, str(caught.value)]
    assert not [line for line in told if "s3cret" in line or "t0ken" in line]
    files = [path for folder in (mirrors.root, tree) for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 50
    assert not [path for path in files if b"s3cret" in path.read_bytes()]


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_a_repository_from_elsewhere_may_name_no_path_here(remote, family, tmp_path, mirrors, form):
    """What is on this machine is not for a stranger's .gitmodules to build in."""
    address = form.format(family / "lib $x")
    git("config", "--file", ".gitmodules", "submodule.deps/lib.url", address, cwd=family / "main")
    commit(family / "main")

    with pytest.raises(BuildFailed, match="submodule deps/lib: its address .* is a path on this machine"):
        checked_out(mirrors, remote, None, tmp_path / "tree")


@pytest.mark.parametrize("address", ["ext::sh -c touch% {}/owned", "-u./owned", "evil::{}/owned", "evil://{}/owned"])
def test_an_address_starts_no_program(remote, family, tmp_path, mirrors, monkeypatch, address):
    """Neither git's helper for commands, nor one that is found on PATH, nor an option in disguise is obeyed."""
    helper = tmp_path / "bin" / "git-remote-evil"
    helper.parent.mkdir()
    helper.write_text(f"#!/bin/sh\ntouch {tmp_path}/owned\n")
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{helper.parent}:{os.environ['PATH']}")
    git("config", "--file", ".gitmodules", "submodule.deps/lib.url", address.format(tmp_path), cwd=family / "main")
    commit(family / "main")

    with pytest.raises(BuildFailed, match="submodule deps/lib: "):
        checked_out(mirrors, remote, None, tmp_path / "tree")
    assert not list(tmp_path.rglob("owned"))


@pytest.mark.parametrize(
    ("base", "url", "result"),
    [
        ("https://h/a/b.git", "../c.git", "https://h/a/c.git"),
        ("https://h/a/b.git/", "../../c", "https://h/c"),
        ("https://h/a", "./c", "https://h/a/c"),
        ("git@h:a/b", "../c", "git@h:a/c"),
        ("git@h:b", "../c", "git@h:c"),
        ("/x/y", "../c d", "/x/c d"),
        ("/x/y", "..", "/x"),
        ("/x/y", "../../z/./q", "/z/./q"),
        ("/x/y", "/abs", "/abs"),
        ("/x/y", "https://h/c", "https://h/c"),
        ("/x/y", ".hidden", ".hidden"),
    ],
)
def test_relative_addresses(base, url, result):
    """As git resolves them."""
    assert joined(base, url) == result


@pytest.mark.parametrize("base", ["https://h/a", "a"])
def test_a_relative_address_that_leads_out(base):
    """More steps up than there are is an error."""
    with pytest.raises(BuildFailed, match="leads out of"):
        joined(base, "../../../../c")


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("/a/b", True),
        ("a/b", True),
        ("../a", True),
        ("file:///a", True),
        ("/a:b", True),
        ("./a:b", True),
        ("h:a", False),
        ("git@h:a/b", False),
        ("https://h/a", False),
        ("ssh://h/a", False),
        ("ext::sh -c x", False),
    ],
)
def test_which_addresses_are_paths(url, local):
    """As git tells them apart."""
    assert is_local(url) is local


def test_the_files_of_a_commit(repository, mirrors):
    """Also of a directory in it, as they are called from there."""
    new = commit(repository, {"src/a é.c": "x", "src/deep/b.c": "x"})
    mirrors.resolve(str(repository), None)

    assert mirrors.files(str(repository), new) == ["file", "src/a é.c", "src/deep/b.c"]
    assert mirrors.files(str(repository), new, "src") == ["a é.c", "deep/b.c"]
    with pytest.raises(BuildFailed):
        mirrors.files(str(repository), "0" * 40)
