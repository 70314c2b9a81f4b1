"""What a layout of a Rust program costs beside a rebuild with another ``-C metadata``, which draws symbols anew."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from cargo_programs import PROGRAMS, RUSTS, path_of, prepared
from perfkit import cpu_of_children, report

pytestmark = pytest.mark.perf

SEEDS = 30
REBUILDS = 2


class Seconds(NamedTuple):
    """What a command took."""

    wall: float
    cpu: float


@pytest.mark.parametrize("rust", RUSTS)
@pytest.mark.parametrize("name", ["ripgrep", "fd", "exa"])
def test_layouts_beside_rebuilds(tmp_path: Path, name: str, rust: str) -> None:
    """Thirty layouts of a capture that is there, one build of it, and rebuilds: of all crates, and of the last alone."""
    path = path_of(rust)
    tree = prepared(name, tmp_path, path)
    program = PROGRAMS[name]
    env = {**os.environ, "PATH": path, "LAYOUTRAND_CACHE": str(tmp_path / "cache")}
    mine = [sys.executable, "-m", "layoutrand"]

    def seconds(command: list[str], **changes: str) -> Seconds:
        begin, used = time.perf_counter(), cpu_of_children()
        subprocess.run(command, cwd=tree, env={**env, **changes}, check=True, capture_output=True)
        return Seconds(time.perf_counter() - begin, cpu_of_children() - used)

    subprocess.run([*mine, "init", "--", *program.command, "--", program.program], cwd=tree, env=env, check=True)
    layouts = seconds([*mine, "build", "--system", "O2", "--seeds", str(SEEDS), "--no-controls", "-q"])
    options = {"CARGO_PROFILE_RELEASE_OPT_LEVEL": "2"}
    whole = []
    for number in range(REBUILDS):
        shutil.rmtree(tree / "target", ignore_errors=True)
        whole.append(seconds(["cargo", "build", "--release"], RUSTFLAGS=f"-C metadata={number}", **options))
    binary = ["cargo", "rustc", "--release", "--bin", Path(program.program).name, "--", "-C"]
    options["RUSTFLAGS"] = f"-C metadata={REBUILDS - 1}"  # as before, so that cargo keeps all crates but the last
    seconds([*binary, "metadata=first"], **options)
    last = [seconds([*binary, f"metadata={number}"], **options) for number in range(REBUILDS)]
    layout = Seconds(layouts.wall / SEEDS, layouts.cpu / SEEDS)
    rebuild, rebuild_of_last = _median(whole), _median(last)
    figure = {
        "perf": "layouts of a Rust program",
        "program": name,
        "rust": rust,
        "seconds, wall and CPU": {
            "a layout": [round(each, 3) for each in layout],
            "a rebuild": [round(each, 2) for each in rebuild],
            "a rebuild of the last crate": [round(each, 2) for each in rebuild_of_last],
        },
        "rebuild / layout": _ratios(rebuild, layout),
        "rebuild of the last crate / layout": _ratios(rebuild_of_last, layout),
        "load": os.getloadavg(),
    }
    report(figure)
    assert figure["seconds, wall and CPU"]


def _median(all_of_them: list[Seconds]) -> Seconds:
    return Seconds(*(statistics.median(column) for column in zip(*all_of_them, strict=True)))


def _ratios(rebuild: Seconds, layout: Seconds) -> dict[str, float]:
    return {"wall": round(rebuild.wall / layout.wall, 1), "CPU": round(rebuild.cpu / layout.cpu, 1)}
