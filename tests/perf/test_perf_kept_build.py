"""What keeping a build costs, and what another artefact of it costs then, beside one build; all in one run."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from debian_sources import source_tree
from layoutrand.cache.kept_builds import ROOM
from perfkit import report

pytestmark = pytest.mark.perf

REPETITIONS = 5
COMMANDS = ["make -C src -j{jobs} linux"]


def _cpu_s() -> float:
    """What processes that were waited for have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_another_artefact_beside_a_build(tmp_path: Path) -> None:
    """Lua's compiler once its interpreter was captured."""
    tree = source_tree("lua5.4", tmp_path / "source")
    times: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}
    for number in range(REPETITIONS):
        for name, artefact, cache, kept in (
            ("build", "lua", f"none{number}", "0"),
            ("build that is kept", "lua", f"kept{number}", "8G"),
            ("another artefact", "luac", f"kept{number}", "8G"),
            ("a wrong one", "lu", f"kept{number}", "8G"),
        ):
            project = tmp_path / artefact
            project.mkdir(exist_ok=True)
            (project / "layoutrand.toml").write_text(
                f'[project]\nname = "perf"\n[build]\nsource = "{tree}"\ncommands = {json.dumps(COMMANDS)}\n'
                f'artefacts = ["src/{artefact}"]\n[systems.A]\n'
            )
            env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / cache), ROOM: kept}
            begin, used = time.perf_counter(), _cpu_s()
            done = subprocess.run(
                [sys.executable, "-m", "layoutrand", "build", "--seeds", "1", "-q"],
                cwd=project,
                env=env,
                capture_output=True,
                text=True,
            )
            times.setdefault(name, []).append(time.perf_counter() - begin)
            cpu.setdefault(name, []).append(_cpu_s() - used)
            assert done.returncode == (1 if artefact == "lu" else 0), done.stderr
    seconds = {name: statistics.median(values) for name, values in times.items()}
    cpu_s = {name: statistics.median(values) for name, values in cpu.items()}
    figure = {
        "perf": "another artefact of a build",
        "program": "lua5.4",
        "repetitions": REPETITIONS,
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "cpu_s": {name: round(value, 2) for name, value in cpu_s.items()},
        "kept / not kept": round(seconds["build that is kept"] / seconds["build"], 3),
        "kept / not kept, CPU": round(cpu_s["build that is kept"] / cpu_s["build"], 3),
        "another artefact / build": round(seconds["another artefact"] / seconds["build"], 3),
        "a wrong one / build": round(seconds["a wrong one"] / seconds["build"], 3),
    }
    report(figure)
    assert figure["another artefact / build"] < 1
