"""What is executed no further: where nothing ever succeeded and the first executions all failed alike, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from executekit import Project
from fakes import make_config, shell_binaries
from layoutrand.analysis.documents import run_document
from layoutrand.execute.fruitless import ENOUGH
from layoutrand.execute.measure import measure

WALL = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
SEEDS = tuple(range(1, 21))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_the_rest_is_left_out_and_told(project: Project) -> None:
    config = make_config(WALL, systems=("a", "b"))
    binaries = shell_binaries(project.root / "c", "echo no file >&2; exit 2", systems=("a",), layouts=SEEDS)
    binaries += shell_binaries(project.root / "c", "exit 0", systems=("b",), layouts=SEEDS)
    summary = project.run(config, binaries, measure, give_up=True)
    assert (summary.total, summary.executed, len(summary.failures)) == (40, 20 + ENOUGH, ENOUGH)
    assert {e.status for e in project.executions(config) if e.system == "b"} == {"ok"}
    (left,) = summary.not_executed
    assert str(left) == (
        "a, b: 12 more were not executed: 8 failed alike, and none has ever succeeded; "
        "`layoutrand run --keep-going` executes all"
    )
    assert run_document(summary)["not_executed"] == [
        {
            "system": "a",
            "benchmark": "b",
            "instrument": "native",
            "executions": 12,
            "failed": 8,
            "reason": "exit status 2",
        }
    ]
    assert project.progress[-1].live.remaining_s() == 0


def test_what_was_left_out_is_executed_by_the_next_call_once_the_cause_is_mended(project: Project) -> None:
    config = make_config(WALL, systems=("a",))
    flag = project.root / "flag"
    binaries = shell_binaries(project.root / "c", f"test -e {flag}", systems=("a",), layouts=SEEDS)
    assert project.run(config, binaries, measure, give_up=True).executed == ENOUGH
    again = project.run(config, binaries, measure, give_up=True)  # as it is: eight more say that it still is so
    assert (again.already, again.executed, [each.count for each in again.not_executed]) == (8, 8, [4])
    flag.touch()
    last = project.run(config, binaries, measure, give_up=True, retry_failed=True)
    assert (last.executed, last.failures, last.not_executed) == (20, (), ())


def test_all_are_executed_where_that_is_asked_for(project: Project) -> None:
    config = make_config(WALL, systems=("a",))
    binaries = shell_binaries(project.root / "c", "exit 2", systems=("a",), layouts=SEEDS)
    summary = project.run(config, binaries, measure, give_up=False)
    assert (summary.executed, len(summary.failures), summary.not_executed) == (20, 20, ())


def test_failures_of_a_sample_are_part_of_it(project: Project) -> None:
    """One that succeeded, now or in an earlier call, or another cause: then nothing is left out."""
    config = make_config(WALL, systems=("a",))
    good = shell_binaries(project.root / "c", "exit 0", systems=("a",), layouts=SEEDS[:1])
    bad = shell_binaries(project.root / "c", "exit 2", systems=("a",), layouts=SEEDS[1:])
    summary = project.run(config, good, measure, give_up=True)
    assert summary.executed == 1
    summary = project.run(config, [*good, *bad], measure, give_up=True)
    assert (summary.executed, len(summary.failures), summary.not_executed) == (19, 19, ())


def test_failures_of_several_causes_are_all_told(project: Project) -> None:
    config = make_config(WALL, systems=("a",))
    binaries = shell_binaries(project.root / "c", "exit 2", systems=("a",), layouts=SEEDS[::2])
    binaries += shell_binaries(project.root / "c", "exit 3", systems=("a",), layouts=SEEDS[1::2])
    summary = project.run(config, binaries, measure, give_up=True)
    assert (summary.executed, summary.not_executed) == (20, ())
