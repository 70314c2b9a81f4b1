"""Programs that write profiles where they were built: executions that are not each for themselves, and the cure."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import startkit
from workshop import FILLER, Workshop

BENCHMARK = '[[benchmarks]]\nname = "once"\ncommand = ["{artefact}"]\n'


@pytest.fixture
def project(tmp_path: Path) -> Workshop:
    """A program of two files."""
    made = Workshop(tmp_path / "project", tmp_path / "cache")
    made.write(main__c="int main(void) { return 0; }\n", filler__c=FILLER)
    return made


def run(project: Workshop, flags: str, benchmark: str = BENCHMARK) -> subprocess.CompletedProcess[str]:
    """Execute one layout of the program that is compiled with these flags."""
    text = project.toml([f"$CC {flags} -c main.c filler.c && $CC {flags} -o prog main.o filler.o"])
    (project.project / "layoutrand.toml").write_text(text + benchmark)
    env = {**os.environ, "LAYOUTRAND_CACHE": str(project.cache)}
    done = startkit.layoutrand("run", "--seeds", "1", "--json", cwd=project.project, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["executions"] == 3
    return done


@pytest.mark.parametrize("flags", ["--coverage", "-fprofile-generate"])
def test_shared_profiles_are_told_and_the_advice_ends_that(project: Workshop, flags: str) -> None:
    """What an execution leaves for the next one lies outside its directories, until it is given a prefix."""
    told = " ".join(run(project, flags).stderr.split())
    left = list(project.cache.rglob("main.gcda"))
    assert left, "or there is nothing to tell"
    assert f"sys: prog was built to write profiles (--coverage, -fprofile-generate), to {project.cache}" in told
    assert "env = { GCOV_PREFIX = \"{tmp}\" } of benchmark 'once' gives each execution its own" in told
    for each in left:
        each.unlink()

    followed = run(project, flags, BENCHMARK + 'env = { GCOV_PREFIX = "{tmp}" }\n')
    assert "write profiles" not in followed.stderr
    assert not list(project.cache.rglob("main.gcda"))


def test_other_programs_are_not_accused(project: Workshop) -> None:
    """Neither a plain program, nor one that only speaks of such files."""
    project.write(main__c='#include <stdio.h>\nint main(void) { puts("a file.gcda"); puts("x.gcda"); return 0; }\n')
    assert "write profiles" not in run(project, "-O2").stderr
