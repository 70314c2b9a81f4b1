"""`layoutrand results verify`, and what other commands say of a damaged results file."""

from __future__ import annotations

import contextlib
import json
import sqlite3

import pytest

import startkit

PROJECT = """\
[project]
name = "p"
[build]
commands = ["$CC -o p p.c"]
artefacts = ["p"]
[systems.O1]
[[benchmarks]]
name = "b"
command = ["{artefact}"]
metric = { regex = "([0-9]+)", name = "n", unit = "1" }
"""
SOURCE = """\
#include <stdio.h>
int f1(int x) { return x; } int f2(int x) { return x + 1; } int f3(int x) { return x + 2; }
int main(void) { printf("%d\\n", f1(1) + f2(1) + f3(1)); return 0; }
"""


@pytest.fixture(scope="module")
def layoutrand(tmp_path_factory):
    """The command line in a project with results of four layouts."""
    project = tmp_path_factory.mktemp("project")
    (project / "layoutrand.toml").write_text(PROJECT)
    (project / "p.c").write_text(SOURCE)
    env = {**startkit.os.environ, "LAYOUTRAND_CACHE": str(tmp_path_factory.mktemp("cache"))}

    def call(*arguments):
        return startkit.layoutrand(*arguments, cwd=project, env=env)

    call.results = project / ".layoutrand" / "results.sqlite"
    assert call("run", "--seeds", "4").returncode == 0
    return call


def damage(layoutrand, statement):
    with contextlib.closing(sqlite3.connect(layoutrand.results, isolation_level=None)) as connection:
        connection.execute(statement)


@pytest.mark.slow
def test_damage_is_listed_told_and_mended_by_the_next_run(layoutrand):
    done = layoutrand("results", "verify")
    assert (done.returncode, "; 0 damaged" in done.stdout) == (0, True), done.stdout + done.stderr
    damage(
        layoutrand, "UPDATE executions SET wall_s = 7 WHERE id = (SELECT max(id) FROM executions WHERE layout = '2')"
    )

    done = layoutrand("results", "verify", "--json")
    document = json.loads(done.stdout)
    (row,) = document["damaged"]
    assert (done.returncode, row["table"], "O1, b, layout 2, round 2" in row["what"]) == (1, "executions", True)
    assert document["sealed"] and document["rows"]["executions"] > 4
    assert "its checksum does not fit" in done.stderr

    told = layoutrand("analyse", "--full")
    assert "1 row is damaged and left out: executions, id" in (told.stdout + told.stderr).replace("\n", " ")
    assert layoutrand("results", "verify").returncode == 1, "nothing is changed by looking"

    again = layoutrand("run", "--seeds", "4")
    assert again.returncode == 0 and "1 row is damaged" in again.stderr.replace("\n", " ")
    with contextlib.closing(sqlite3.connect(layoutrand.results)) as connection:
        attempts = "SELECT attempt, status FROM executions WHERE layout = '2' ORDER BY id"
        assert connection.execute(attempts).fetchall() == [(1, "ok"), (2, "ok")]
    told = layoutrand("analyse", "--full")
    assert "damaged" not in told.stdout + told.stderr


def test_no_results_are_nothing_to_verify(tmp_path):
    done = startkit.layoutrand("results", "verify", "-C", tmp_path, cwd=tmp_path)
    assert (done.returncode, "there are no results" in done.stderr) == (2, True)
