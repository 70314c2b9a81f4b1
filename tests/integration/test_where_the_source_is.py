"""Where a system's source comes from: a directory, a revision of a repository, or a tree built in place."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import startkit
from gitkit import commit, git, make
from workshop import ended, require

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
    return startkit.layoutrand(*arguments, cwd=cwd, env={**os.environ, "LAYOUTRAND_CACHE": str(cache)})


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.c").write_text(PART.format(n=name, k=3))
    (folder / "main.c").write_text("int a1(int), b2(int);\nint main(void) { return a1(1) + b2(2) == 10 ? 0 : 1; }\n")
    return folder


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_work_tree_is_recorded_with_its_commit_and_whether_it_is_dirty(source, tmp_path):
    """A source directory inside a git work tree is recorded with commit and dirtiness."""
    git("init", "-q", "-b", "main", cwd=source)
    git("add", ".", cwd=source)
    git("commit", "-qm", "only", cwd=source)
    (source / "a.c").write_text(PART.format(n="a", k=9))
    project = tmp_path / "project"
    project.mkdir()
    (project / "layoutrand.toml").write_text(
        CONFIG.format(source=f'source = "{source}"', clean="") + '[systems.A]\ncflags = "-O2"\n'
    )

    done = layoutrand("build", "--seeds", "2", "--json", cwd=project, cache=tmp_path / "cache")

    assert done.returncode == 0, done.stderr
    recorded = json.loads(done.stdout)["capture"]["source"]["git"]
    assert (recorded["commit"], recorded["dirty"]) == (git("rev-parse", "HEAD", cwd=source), True)
    assert (recorded["changed"], recorded["n_changed"], len(recorded["diff_sha256"])) == (["a.c"], 1, 64)
    note = (
        f"source: {source} differs from commit {recorded['commit'][:12]}: 1 file changed (a.c); "
        "that is recorded with the capture"
    )
    assert json.loads(done.stdout)["warnings"] == [note]
    assert f"warning: {note}" in " ".join(done.stderr.split())
    git("commit", "-qam", "done", cwd=source)
    again = json.loads(layoutrand("build", "--seeds", "2", "--json", cwd=project, cache=tmp_path / "cache").stdout)
    assert (again["capture"]["cached"], again["warnings"]) == (True, [])
    assert again["capture"]["source"]["git"] == {
        "commit": git("rev-parse", "HEAD", cwd=source),
        "tree": git("rev-parse", "HEAD^{tree}", cwd=source),
        "committed_at": int(git("show", "-s", "--format=%ct", cwd=source)),
        "subject": "done",
        "dirty": False,
        "n_changed": 0,
        "changed": [],
        "diff_sha256": None,
        "ignored": 0,
    }


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_objects_that_were_there_before_a_build_in_place_are_told(source, tmp_path):
    """Nothing else shows that stock was linked from what the instrumented build compiled, or the other way round."""
    compiled = "for f in *.c; do [ -e ${f%.c}.o ] || $CC -c $f; done; rm -f toy; $CC -o toy *.o"
    text = f'[project]\nname = "toy"\n[build]\nsource = "{source}"\nin_place = true\nartefacts = ["toy"]\n'
    project = tmp_path / "project"
    project.mkdir()

    def told(*commands, options=()):
        (project / "layoutrand.toml").write_text(f"{text}commands = {json.dumps(commands)}\n[systems.A]\n")
        done = layoutrand("build", "--seeds", "1", *options, cwd=project, cache=tmp_path / "cache")
        assert done.returncode == 0, done.stderr
        return done.stderr

    # Which of the two builds is first is not said: those of stock would have no sections to lay out.
    assert "there before this build began" not in told(compiled, options=["--without-stock"])
    assert "there before this build began (a.o, " in told(compiled)
    assert "there before this build began" not in told("rm -f *.o", compiled)


def test_a_copy_is_not_taken_for_part_of_the_repository_around_the_cache(source, tmp_path):
    """The copy has no .git; a build that asks git for a version is not told another repository's."""
    make(tmp_path / "around", {"x": "x"})
    project = tmp_path / "around" / "project"
    project.mkdir()
    text = CONFIG.format(source=f'source = "{source}"', clean="! git rev-parse HEAD; ")
    (project / "layoutrand.toml").write_text(text + "[systems.A]\n")
    done = layoutrand(
        "build", "--seeds", "2", "--no-controls", "--json", cwd=project, cache=tmp_path / "around" / "cache"
    )

    assert done.returncode == 0, done.stderr


VERSIONED = """\
[project]
name = "toy"
[build]
repo = "../up/main dir"
commands = ['$CC "-DVERSION=\\"$(git describe --dirty)\\"" -o toy *.c */lib/*.c']
artefacts = ["toy"]
[matrix]
rev = ["v1", "main"]
flags = { O1 = "-O1", O2 = "-O2" }
exclude = [{ rev = "v1", flags = "O2" }]
[[benchmarks]]
name = "toy"
command = ["{artefact}"]
"""
VERSIONED_MAIN = """\
#include <stdio.h>
int a1(int), l1(int);
int main(void) { printf("%s %d\\n", VERSION, a1(1) + l1(1)); return 0; }
"""


@pytest.fixture
def versioned(tmp_path):
    """A project beside a repository with two revisions, whose submodule moved and changed between them."""
    make(tmp_path / "up" / "lib", {"l.c": PART.format(n="l", k=1)})
    main = make(tmp_path / "up" / "main dir", {"main.c": VERSIONED_MAIN, "a.c": PART.format(n="a", k=3)})
    git("submodule", "add", "-q", "../lib", "deps/lib", cwd=main)
    commit(main)
    git("tag", "-a", "v1", "-m", "one", cwd=main)
    commit(tmp_path / "up" / "lib", {"l.c": PART.format(n="l", k=50)})
    (main / "third").mkdir()
    git("mv", "deps/lib", "third/lib", cwd=main)
    git("pull", "-q", "origin", "main", cwd=main / "third" / "lib")
    commit(main)
    project = tmp_path / "project"
    project.mkdir()
    (project / "layoutrand.toml").write_text(VERSIONED)
    return project


@pytest.mark.slow
def test_a_matrix_of_revisions_and_flags(versioned, tmp_path):
    """Each revision is built with its own submodules at their own places; patterns choose among the systems."""
    done = layoutrand("build", "--seeds", "2", "--json", cwd=versioned, cache=tmp_path / "cache")
    document = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert [capture["system"] for capture in document["captures"]] == ["v1-O1", "main-O1", "main-O2"]

    commits = {rev: git("rev-parse", f"{rev}^{{commit}}", cwd=tmp_path / "up" / "main dir") for rev in ("v1", "main")}
    assert [capture["source"]["commit"] for capture in document["captures"]] == [
        commits[rev] for rev in ("v1", "main", "main")
    ]
    said = {
        b["system"]: subprocess.run([b["path"]], capture_output=True, text=True).stdout for b in document["binaries"]
    }
    described = f"v1-1-g{commits['main'][:7]}"
    assert said == {"v1-O1": "v1 6\n", "main-O1": f"{described} 55\n", "main-O2": f"{described} 55\n"}

    listed = layoutrand(
        "build", "--list-systems", "--system", "main-*", "--json", cwd=versioned, cache=tmp_path / "cache"
    )
    assert [(row["name"], row["rev"], row["cflags"]) for row in json.loads(listed.stdout)["systems"]] == [
        ("main-O1", "main", "-O1"),
        ("main-O2", "main", "-O2"),
    ]
    commit(tmp_path / "up" / "main dir", {"a.c": PART.format(n="a", k=4)})
    told = layoutrand("build", "--explain", "--seeds", "2", "--json", cwd=versioned, cache=tmp_path / "cache")
    assert {
        row["system"]: (row["capture"]["state"], row["capture"]["files"]) for row in json.loads(told.stdout)["systems"]
    } == {
        "v1-O1": ("reused", None),
        "main-O1": ("to build", {"added": [], "removed": [], "changed": ["a.c"]}),
        "main-O2": ("to build", {"added": [], "removed": [], "changed": ["a.c"]}),
    }
    text = layoutrand(
        "build", "--explain", "--seeds", "2", "--system", "*-O1", cwd=versioned, cache=tmp_path / "cache"
    ).stdout
    lines = text.splitlines()
    assert lines[0].startswith("v1-O1: capture: reused: nothing it depends on changed")
    assert [
        line for line in lines if "changed: a.c" in line
    ] and f"    source.commit: was {commits['main'][:12]}, now" in text
    assert (
        "main-O1: toy: 0 of 3 layouts are cached, 3 missing (the capture must be made first, and may come out as an earlier one)"
        in lines
    )


@pytest.mark.slow
def test_a_matrix_is_run_and_compared(versioned, tmp_path):
    """The systems of a matrix are executed, analysed and compared by their names like any others."""
    done = layoutrand("run", "--seeds", "2", "--system", "*-O1", "--json", cwd=versioned, cache=tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    compared = layoutrand("compare", "v1-O1", "main-O1", "--json", cwd=versioned, cache=tmp_path / "cache")
    analysed = layoutrand("analyse", "--system", "main*", "--json", cwd=versioned, cache=tmp_path / "cache")

    assert compared.returncode == 0, compared.stderr
    assert json.loads(compared.stdout)["benchmarks"][0]["benchmark"] == "toy"
    assert {row["system"] for row in json.loads(analysed.stdout)["benchmarks"]} == {"main-O1"}


def test_choosing_no_system_is_an_error(versioned, tmp_path):
    """A pattern without a match is told with the names there are, and a name with the nearest one."""
    wrong = {
        pattern: layoutrand("build", "--list-systems", "--system", pattern, cwd=versioned, cache=tmp_path / "cache")
        for pattern in ("gcc-*", "main-O3")
    }

    assert [done.returncode for done in wrong.values()] == [2, 2]
    assert "no system matches 'gcc-*'; there are v1-O1, main-O1, main-O2" in wrong["gcc-*"].stderr
    assert "no system called 'main-O3'" in wrong["main-O3"].stderr and "did you mean 'main-O" in wrong["main-O3"].stderr


@pytest.mark.slow
def test_uncommitted_changes_of_a_repository_are_told(versioned, tmp_path):
    """What is built of build.repo is the commit; a tree that differs from it is said not to be."""
    (tmp_path / "up" / "main dir" / "a.c").write_text("int broken")
    (versioned / "layoutrand.toml").write_text(
        VERSIONED.replace('rev = ["v1", "main"]', 'rev = ["HEAD"]').replace(', O2 = "-O2"', "").split("exclude")[0]
    )
    done = layoutrand("build", "--seeds", "2", "--no-controls", "--json", cwd=versioned, cache=tmp_path / "cache")

    assert done.returncode == 0, done.stderr
    [warning] = json.loads(done.stdout)["warnings"]
    assert "the 1 file not committed there are no part of it" in warning


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_fetch_ends_at_once(source, tmp_path, number):
    """A server that does not answer is not waited for once layoutrand is asked to end."""
    begun = tmp_path / "begun"
    tools = tmp_path / "tools"
    tools.mkdir()
    real = require("git", "git")
    fake = f'#!/bin/sh\ncase " $* " in *" fetch "*) echo $$ > {begun}; exec sleep 600 ;; esac\nexec {real} "$@"\n'
    (tools / "git").write_text(fake)
    (tools / "git").chmod(0o755)
    project = tmp_path / "project"
    project.mkdir()
    (project / "layoutrand.toml").write_text(
        CONFIG.format(source='repo = "https://server.invalid/x"', clean="") + '[systems.A]\n[systems.B]\nrev = "x"\n'
    )
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache"), "PATH": f"{tools}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "layoutrand", "build", "--seeds", "2"]
    process = subprocess.Popen(command, cwd=project, env=env, stderr=subprocess.PIPE, text=True)
    try:
        while not (begun.exists() and begun.read_text().strip()):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        _out, said = process.communicate(timeout=60)
    finally:
        process.kill()

    assert process.returncode == 130
    assert "interrupted" in said
    assert ended(int(begun.read_text()))
