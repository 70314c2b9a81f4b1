"""examples/cint: every program of the open suite is built from its Debian source, laid out and executed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from debian_sources import KEPT, unavailable
from workshop import programs_of, require

CINT = Path(__file__).resolve().parents[2] / "examples" / "cint"
SEEDS = 2
SOME = "bzip2,libquantum,lua,mawk,minisat"
TOOLCHAINS = {"lto": "gcc-lto", "clang": "clang"}


@pytest.fixture
def experiment(tmp_path):
    """Prepare, build and execute; the documents of `build` and `run`."""

    def made(*options):
        project = tmp_path / "project"
        KEPT.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, CINT / "prepare", *options, "--archives", KEPT, "--private-lists", project]
        with FileLock(KEPT / ".lock"):
            done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 1:
            unavailable(done.stderr)
        assert done.returncode == 0, done.stderr
        env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}
        documents = []
        for words in (["build"], ["run", "--share-machine"]):
            command = [
                sys.executable,
                "-m",
                "layoutrand",
                *words,
                "--seeds",
                str(SEEDS),
                "--no-controls",
                "--json",
                "-q",
            ]
            done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            documents.append(json.loads(done.stdout))
        return documents

    return made


def assert_all_verified_and_alike(documents, programs):
    """Every binary verified and different from the other layout's, every answer the reference output."""
    built, executed = documents
    assert built["failures"] == []
    assert len(built["binaries"]) == len(programs) * SEEDS
    assert all(binary["verified"]["tau_request"] == 1.0 for binary in built["binaries"])
    assert len({binary["text_sha256"] for binary in built["binaries"]}) == len(programs) * SEEDS
    assert executed["failures"] == []
    assert executed["executions"] == len(programs) * SEEDS


@pytest.mark.slow
def test_every_program_of_the_suite(experiment):
    require("tclsh", "tcl")
    documents = experiment("--size", "test", "--systems", "O2")
    assert_all_verified_and_alike(documents, [*(CINT / "reference" / "test").glob("*.out"), "bzip2"])


@pytest.mark.slow
@pytest.mark.parametrize("system", TOOLCHAINS)
def test_some_with_other_compilers(experiment, system):
    """The same answers from code that another compiler made, or the same one with link-time optimisation."""
    programs_of(TOOLCHAINS[system])
    documents = experiment("--size", "small", "--systems", system, "--programs", SOME)
    assert_all_verified_and_alike(documents, SOME.split(","))
