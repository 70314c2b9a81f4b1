"""Where a system's source comes from: a directory, a revision of a repository, or a tree built in place."""

import json
import os
import subprocess
import sys

import pytest

CONFIG = """\
[project]
name = "toy"
[build]
{source}
commands = ["{clean}$CC -o toy *.c"]
artefacts = ["toy"]
"""
PART = "int {n}1(int x) {{ return x + {k}; }}\nint {n}2(int x) {{ return x * {k}; }}\nint {n}3(int x) {{ return x - {k}; }}\n"


def layoutrand(*arguments, cwd, cache):
    env = {**os.environ, "LAYOUTRAND_CACHE": str(cache)}
    command = [sys.executable, "-m", "layoutrand", *arguments]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)


def git(*arguments, cwd):
    identity = ["-c", "user.name=t", "-c", "user.email=t@t.invalid", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.c").write_text(PART.format(n=name, k=3))
    (folder / "main.c").write_text("int a1(int), b2(int);\nint main(void) { return a1(1) + b2(2) == 10 ? 0 : 1; }\n")
    return folder


def test_two_revisions_of_a_repository_are_two_systems(source, tmp_path):
    """`repo` with a `rev` per system builds each at its own commit, which is recorded."""
    git("init", "-q", "-b", "main", cwd=source)
    git("add", ".", cwd=source)
    git("commit", "-qm", "old", cwd=source)
    old = git("rev-parse", "HEAD", cwd=source)
    (source / "b.c").write_text(PART.format(n="b", k=4))
    git("commit", "-qam", "new", cwd=source)
    new = git("rev-parse", "HEAD", cwd=source)
    project = tmp_path / "project"
    project.mkdir()
    systems = f'[systems.old]\nrev = "{old}"\n[systems.new]\nrev = "main"\n'
    (project / "layoutrand.toml").write_text(CONFIG.format(source=f'repo = "{source}"', clean="") + systems)

    done = layoutrand("build", "--seeds", "3", "--json", cwd=project, cache=tmp_path / "cache")

    document = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert {c["system"]: c["source"]["commit"] for c in document["captures"]} == {"old": old, "new": new}
    hashes = {(b["system"], b["seed"]): b["text_sha256"] for b in document["binaries"]}
    assert hashes["old", "identity"] != hashes["new", "identity"]


def test_a_work_tree_is_recorded_with_its_commit_and_whether_it_is_dirty(source, tmp_path):
    """A source directory inside a git work tree is recorded with commit and dirtiness."""
    git("init", "-q", "-b", "main", cwd=source)
    git("add", ".", cwd=source)
    git("commit", "-qm", "only", cwd=source)
    (source / "a.c").write_text(PART.format(n="a", k=9))
    project = tmp_path / "project"
    project.mkdir()
    (project / "layoutrand.toml").write_text(CONFIG.format(source=f'source = "{source}"', clean="") + "[systems.A]\n")

    done = layoutrand("build", "--seeds", "2", "--json", cwd=project, cache=tmp_path / "cache")

    assert done.returncode == 0, done.stderr
    recorded = json.loads(done.stdout)["capture"]["source"]["git"]
    assert recorded == {"commit": git("rev-parse", "HEAD", cwd=source), "dirty": True}


def test_an_unknown_revision_is_an_error_that_names_it(source, tmp_path):
    """A revision that does not exist fails the build and says which."""
    git("init", "-q", "-b", "main", cwd=source)
    git("add", ".", cwd=source)
    git("commit", "-qm", "only", cwd=source)
    project = tmp_path / "project"
    project.mkdir()
    text = CONFIG.format(source=f'repo = "{source}"\nrev = "no-such"', clean="") + "[systems.A]\n"
    (project / "layoutrand.toml").write_text(text)

    done = layoutrand("build", "--seeds", "2", cwd=project, cache=tmp_path / "cache")

    assert done.returncode == 1
    assert "no-such" in done.stderr


def test_in_place_builds_in_the_tree_itself(source, tmp_path):
    """`in_place` leaves the artefact in the user's tree and gives the binaries a copy would give."""
    outcomes = {}
    for name, line in (("copy", f'source = "{source}"'), ("place", f'source = "{source}"\nin_place = true')):
        project = tmp_path / name
        project.mkdir()
        (project / "layoutrand.toml").write_text(CONFIG.format(source=line, clean="rm -f toy; ") + "[systems.A]\n")
        done = layoutrand("build", "--seeds", "2", "--json", cwd=project, cache=tmp_path / f"cache-{name}")
        assert done.returncode == 0, done.stderr
        outcomes[name] = {b["seed"]: b["text_sha256"] for b in json.loads(done.stdout)["binaries"]}

    assert outcomes["copy"] == outcomes["place"]
    assert (source / "toy").exists()


def test_a_changed_source_makes_a_new_capture_and_an_excluded_file_does_not(source, tmp_path):
    """The capture follows the content of the source, except for what build.exclude leaves out."""
    (source / "notes.txt").write_text("one")
    project = tmp_path / "project"
    project.mkdir()
    text = CONFIG.format(source=f'source = "{source}"\nexclude = ["*.txt"]', clean="") + "[systems.A]\n"
    (project / "layoutrand.toml").write_text(text)

    def build():
        done = layoutrand("build", "--seeds", "2", "--json", cwd=project, cache=tmp_path / "cache")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["capture"]

    first = build()
    (source / "notes.txt").write_text("two")
    second = build()
    (source / "a.c").write_text(PART.format(n="a", k=7))
    third = build()

    assert (first["cached"], second["cached"], third["cached"]) == (False, True, False)
    assert first["id"] == second["id"] != third["id"]


def test_in_place_builds_do_not_disturb_each_other(source, tmp_path):
    """Stock and instrumented builds of one tree wait for each other; with their products excluded they are found again."""
    busy = source / "busy"
    line = f"[ ! -e {busy} ] || exit 9; touch {busy}; rm -f toy; sleep 0.2; $CC -o toy *.c; rm {busy}"
    text = f'[project]\nname = "toy"\n[build]\nsource = "{source}"\nin_place = true\nartefacts = ["toy"]\n'
    project = tmp_path / "project"
    project.mkdir()

    def build(exclude):
        config = (
            text + f'commands = ["{line}"]\nexclude = {json.dumps(exclude)}\n[systems.A]\n[systems.B]\ncflags = "-O1"\n'
        )
        (project / "layoutrand.toml").write_text(config)
        done = layoutrand("build", "--seeds", "2", "--json", cwd=project, cache=tmp_path / "cache")
        assert done.returncode == 0, done.stderr
        return [capture["cached"] for capture in json.loads(done.stdout)["captures"]], done.stderr

    assert "name in build.exclude what the build makes" in build([])[1]
    build(["toy", "busy"])
    assert build(["toy", "busy"])[0] == [True, True]
