"""What three judges say of a change.

A gate that compares one build of each (more than 2 % is a change), a t test on ten executions of that one build of
each, and `layoutrand check`.  The first two see the builds that the program's own commands make, without layoutrand;
everything that the third sees, it builds.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inert import work
from inert.programs import Program
from inert.study import FLAGS, layoutrand, true_effect
from layoutrand.results.file import open_for_reading

GATE = 0.02
REPEATS = 10
FIXED_ROUNDS = 30
_BASELINE = "baseline.sqlite"
"""The results of a program's first check: `check` takes counts of the base from any file that lies there."""


def has_check() -> bool:
    """Whether this layoutrand has the command that the study is about."""
    done = subprocess.run([sys.executable, "-m", "layoutrand", "check", "--help"], capture_output=True)
    return done.returncode == 0


def judged(program: Program, made: dict[str, Any], metric: str) -> dict[str, Any]:
    """What the three judges say of a change, and what each of them executed."""
    base = program.directory / "built" / "base"
    if not base.exists():
        program.kept(program.build("base", FLAGS), "base")
    builds = [base, program.kept(program.build(made["commit"], FLAGS), "head")]
    first, repeats, executed = _repeats(program, builds, metric)
    ratio = first[1] / first[0]
    p_value = welch(*repeats)
    found: dict[str, Any] = {
        "gate": {"ratio": ratio, "verdict": _of_ratio(ratio, is_flagged=abs(ratio - 1) > GATE), "executions": 2},
        "ttest": {
            "p_value": p_value,
            "verdict": _of_ratio(sum(repeats[1]) / sum(repeats[0]), is_flagged=p_value < 0.05),
            "executions": 2 * REPEATS,
            "executed": executed,
        },
        "check": checked(program, made, metric),
    }
    if made["target"] and metric == "time":
        # What was recorded of the base for an earlier change was executed at another time, when the machine was another.
        shutil.rmtree(program.directory / "truth-time" / ".layoutrand", ignore_errors=True)
        found["truth"] = true_effect(program, metric, made["commit"], made["name"])
    return found


def _of_ratio(ratio: float, *, is_flagged: bool) -> str:
    if not is_flagged:
        return "same"
    return "slower" if ratio > 1 else "faster"


def _repeats(program: Program, builds: Sequence[Path], metric: str) -> tuple[list[float], list[list[float]], int]:
    """One value of each build for the gate, ten of each for the test, in turn, and how many were really executed.

    Simulated counts repeat to the digit: where three of each do, the other seven are known.
    """
    workload = program.workload(metric)
    if metric == "time":
        found: list[list[float]] = [[], []]
        for place in range(1 + REPEATS):
            for side in (0, 1) if place % 2 == 0 else (1, 0):
                found[side].append(work.seconds(builds[side], workload))
        return [side[0] for side in found], [side[1:] for side in found], 2 * REPEATS
    three = [_three(one.read_bytes(), one, workload) for one in builds]
    if all(len(set(side)) == 1 for side in three):
        return [side[0] for side in three], [[*side[:1]] * REPEATS for side in three], 6
    rest = [[work.counts(one, workload).cycles for _ in range(REPEATS - 3)] for one in builds]
    return [side[0] for side in three], [[*one, *more] for one, more in zip(three, rest, strict=True)], 2 * REPEATS


@functools.lru_cache(maxsize=2)
def _three(content: bytes, program: Path, workload: work.Workload) -> tuple[float, float, float]:
    """Three counts of a program.  The base of each change is the same one: what it counts is known by its content."""
    del content
    one, two, three = (work.counts(program, workload).cycles for _ in range(3))
    return one, two, three


def welch(one: Sequence[float], other: Sequence[float]) -> float:
    """The p value of Welch's t test; for values without any scatter 0 where they differ and 1 where they do not."""
    if len({*one}) == 1 and len({*other}) == 1:
        return float(one[0] == other[0])
    from scipy import stats

    return float(stats.ttest_ind(one, other, equal_var=False).pvalue)


def checked(program: Program, made: dict[str, Any], metric: str) -> dict[str, Any]:
    """What `layoutrand check` says, and how many executions that rests on.

    Counts of the base that the check of an earlier change has recorded are not made again, but they count as executions.
    """
    folder = program.project(metric) / ".layoutrand" / "check"
    for path in folder.glob("*"):  # a check that was stopped would go on
        if metric == "time" or path.name != _BASELINE:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    words = ["check", "base", made["commit"], "-C", str(program.project(metric)), "--json", "--jobs", "1"]
    words += ["--fail-if", "none"]
    words += ["--budget", "24h", "--share-machine"] if metric == "cycles" else ["--budget", "10m"]
    document = layoutrand(program, *words)
    system = document["systems"][0]
    row = system["benchmarks"][0]
    executions = 0
    if system["results"] is not None:
        results = Path(system["results"])
        executions = _within(results, row["n_layouts"]) if metric == "cycles" else system["executed"]
        if metric == "cycles" and not (folder / _BASELINE).exists():
            results.rename(folder / _BASELINE)
    return {
        "verdict": row["conclusion"],
        "ratio": row["ratio"],
        "interval": row["interval"],
        "rounds": row["n_layouts"],
        "executions": executions,
        "ending": system["ending"],
        "threshold": document["threshold"],
        "changes": [
            {**each, **{key: len(each[key]) for key in ("differ", "added", "removed", "data", "system_files")}}
            for each in system["changes"] or []
        ],
        "warnings": system["warnings"][:4],
    }


def build_first(program: Program, made: dict[str, Any], metric: str) -> None:
    """Have both commits built and the first layouts linked: what follows is nearly only executions."""
    words = ["check", "base", made["commit"], "-C", str(program.project(metric)), "--json", "--jobs", "1"]
    layoutrand(program, *words, "--fail-if", "none", "--budget", "1s")


def _within(results: Path, rounds: int) -> int:
    """Successful executions of the first rounds, those of stock included."""
    with open_for_reading(results) as store:
        [(experiment, _)] = store.experiments()
        return sum(each.status == "ok" and each.round <= rounds for each in store.executions(experiment))
