"""What three judges say of a change.

A gate that compares one build of each (more than 2 % is a change), a t test on ten executions of that one build of
each, and `layoutrand check`.  The first two see the builds that the program's own commands make, without layoutrand;
everything that the third sees, it builds.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inert import work
from inert.programs import Program
from inert.study import FLAGS, layoutrand, true_effect

GATE = 0.02
REPEATS = 10
FIXED_ROUNDS = 30


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

    def values(rounds: int) -> list[list[float]]:
        found: list[list[float]] = [[], []]
        for place in range(rounds):
            for side in (0, 1) if place % 2 == 0 else (1, 0):
                one = builds[side]
                found[side].append(
                    work.counts(one, workload).cycles if metric == "cycles" else work.seconds(one, workload)
                )
        return found

    if metric == "time":
        first = values(1)
        return [first[0][0], first[1][0]], values(REPEATS), 2 * REPEATS
    three = values(3)
    if all(len(set(side)) == 1 for side in three):
        return [side[0] for side in three], [side[:1] * REPEATS for side in three], 6
    rest = values(REPEATS - 3)
    return [side[0] for side in three], [one + more for one, more in zip(three, rest, strict=True)], 2 * REPEATS


def welch(one: Sequence[float], other: Sequence[float]) -> float:
    """The p value of Welch's t test; for values without any scatter 0 where they differ and 1 where they do not."""
    if len({*one}) == 1 and len({*other}) == 1:
        return float(one[0] == other[0])
    from scipy import stats

    return float(stats.ttest_ind(one, other, equal_var=False).pvalue)


def checked(program: Program, made: dict[str, Any], metric: str) -> dict[str, Any]:
    """What `layoutrand check` says."""
    # a check that was stopped would go on, and count only what it executes now
    shutil.rmtree(program.project(metric) / ".layoutrand" / "check", ignore_errors=True)
    words = ["check", "base", made["commit"], "-C", str(program.project(metric)), "--json", "--jobs", "1"]
    words += ["--fail-if", "none"]
    words += ["--budget", "24h", "--share-machine"] if metric == "cycles" else ["--budget", "10m"]
    document = layoutrand(program, *words)
    system = document["systems"][0]
    row = system["benchmarks"][0]
    return {
        "verdict": row["conclusion"],
        "ratio": row["ratio"],
        "interval": row["interval"],
        "rounds": row["n_layouts"],
        "executions": system["executed"],
        "ending": system["ending"],
        "threshold": document["threshold"],
        "changes": [
            {**each, **{key: len(each[key]) for key in ("differ", "added", "removed", "data", "system_files")}}
            for each in system["changes"] or []
        ],
        "warnings": system["warnings"][:4],
    }
