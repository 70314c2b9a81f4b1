"""What each execution was started with is recorded beside it, and analysed; that starting it is most of it is told."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess

import pytest

from executekit import Project
from experiments import selected
from fakes import make_binary, make_config
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.documents import run_document
from layoutrand.analysis.start_warnings import OtherStartFiles
from layoutrand.config.execution_warnings import TOO_SHORT_S
from layoutrand.execute.measure import measure
from layoutrand.host.start_files import CACHE
from layoutrand.host.watch import HostWatch

WALL = '[[benchmarks]]\nname = "b"\ncommand = [COMMAND]\nmetric = { wall = true }\n'


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    (folder / "p.c").write_text("int main(void) { return 0; }\n")
    for name, flags in (("dynamic", []), ("static", ["-static"])):
        subprocess.run(["gcc", *flags, "-o", folder / name, folder / "p.c"], check=True)
    return {name: (folder / name).read_bytes() for name in ("dynamic", "static")}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def binary(project, layout, content):
    """A program of this machine as the binary of a layout; what is behind an ELF file's end is nothing to it."""
    made = make_binary(project.root / "cache", "a", layout, "")
    content += f"layout {layout}".encode()
    made.path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    return dataclasses.replace(made, sha256=digest, text_sha256=digest)


def machine(root, libc):
    """A machine that has a loader and a libc of this content."""
    for path, content in (("lib64/ld-linux-x86-64.so.2", "loader"), ("lib64/libc.so.6", libc), (CACHE[1:], "cache")):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    return HostWatch(root)


def states(project, config):
    return [each.host_state.get("start_files") for each in project.executions(config)]


@pytest.mark.parametrize("command", ['"{artefact}"', '"sh", "-c", "{artefact}"'])
def test_executions_with_another_libc_are_left_out_of_what_is_analysed(project, programs, command):
    config = make_config(WALL.replace("COMMAND", command), systems=("a",))
    root = project.root / "machine"
    binaries = [binary(project, seed, programs["dynamic"]) for seed in range(1, 6)]
    project.run(config, binaries[:1], executor=measure, watch=machine(root, "libc 1"))
    project.run(config, binaries, executor=measure, watch=machine(root, "libc 2"))
    found = states(project, config)
    assert [each.status for each in project.executions(config)] == ["ok"] * 5
    assert {path for path in found[0] if found[0][path] != found[1][path]} == {"/lib64/libc.so.6"}
    assert found[1:] == found[1:2] * 4
    selection = selected(config, project.path)
    told = [each for each in selection.warnings if isinstance(each, OtherStartFiles)]
    assert told == [OtherStartFiles(1, "b", ("/lib64/libc.so.6",))]
    assert selection.samples[0].n_binaries == 4


def test_a_static_program_is_started_with_nothing_and_a_foreign_loader_is_unknown(project, programs):
    config = make_config(WALL.replace("COMMAND", '"{artefact}"'), systems=("a",))
    project.run(config, [binary(project, 1, programs["static"])], executor=measure)
    nowhere = HostWatch(project.root / "a machine that tells nothing")
    project.run(config, [binary(project, 2, programs["dynamic"])], executor=measure, watch=nowhere)
    assert states(project, config) == [{}, None]


def test_a_real_program_of_two_milliseconds_is_said_to_be_too_short(project, programs):
    config = make_config(WALL.replace("COMMAND", '"{artefact}"'), systems=("a",))
    binaries = [binary(project, seed, programs["dynamic"]) for seed in range(1, 21)]
    summary = project.run(config, binaries, executor=measure)
    (told,) = summary.too_short
    assert told.benchmark == "b"
    assert 0.0003 < told.seconds < TOO_SHORT_S
    assert run_document(summary)["too_short"] == [{"benchmark": "b", "seconds": told.seconds}]
    report = analyse(selected(config, project.path), confidence=0.95, metrics=["wall_s"])
    assert told in report.analyses[0].warnings


def test_a_real_program_that_works_for_longer_is_not(project, programs):
    config = make_config(WALL.replace("COMMAND", '"sleep", "0.05"'), systems=("a",))
    binaries = [binary(project, seed, programs["dynamic"]) for seed in range(1, 4)]
    assert project.run(config, binaries, executor=measure).too_short == ()
