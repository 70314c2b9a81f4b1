"""What thirty layouts cost beside one plain build, thirty bare links, and thirty rebuilds; all in one run.

Lua and GNU Go, which take seconds; ``LAYOUTRAND_PERF_PROGRAMS=CPython,generated-42000,generated-400000`` has larger ones
measured.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from layoutrand.cache.store import Cache
from layoutrand.link.relink import link_captured
from layoutrand.platform.process import SubprocessRunner
from perfkit import JOBS, NAMES, cpu_of_children, plain_build, report, subject

pytestmark = pytest.mark.perf

SEEDS = 30


@pytest.mark.parametrize("toolchain", ["gcc", "gcc-lld"])
@pytest.mark.parametrize("name", NAMES)
def test_thirty_layouts(tmp_path: Path, name: str, toolchain: str) -> None:
    """Thirty layouts from nothing, without and with controls; once more from the cache."""
    program = subject(name, tmp_path / "source")
    project = program.project(tmp_path / "project", toolchain)
    times: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}

    def timed(name: str, action: object, *arguments: object) -> None:
        begin, used = time.perf_counter(), cpu_of_children()
        action(*arguments)  # type: ignore[operator]
        times.setdefault(name, []).append(time.perf_counter() - begin)
        cpu.setdefault(name, []).append(cpu_of_children() - used)

    for number in range(program.repetitions):
        work, cache = tmp_path / f"plain{number}", tmp_path / f"cache{number}"
        timed("plain build", plain_build, program, work)
        timed("30 seeds", _layoutrand, project, cache, "--no-controls")
        timed("30 seeds again", _layoutrand, project, cache, "--no-controls")
        timed("30 bare links", _bare_links, cache, tmp_path / f"links{number}")
        timed("30 seeds and controls", _layoutrand, project, tmp_path / f"full{number}")
        timed("30 seeds and controls again", _layoutrand, project, tmp_path / f"full{number}")
        shutil.rmtree(work)
    seconds, cpu_seconds = ({name: statistics.median(each) for name, each in own.items()} for own in (times, cpu))
    _report(name, toolchain, seconds, cpu_seconds, program.repetitions)
    assert len(times["30 seeds"]) == program.repetitions


def _layoutrand(project: Path, cache: Path, *options: str) -> None:
    env = {**os.environ, "LAYOUTRAND_CACHE": str(cache)}
    command = [sys.executable, "-m", "layoutrand", "build", "--seeds", str(SEEDS), "-q", *options]
    subprocess.run(command, cwd=project, env=env, check=True, capture_output=True)


def _bare_links(root: Path, output: Path) -> None:
    """The recorded linker command of each artefact as it was, thirty times, as many at once as there are cores."""
    cache = Cache(root)
    (folder,) = (root / "captures").iterdir()
    capture = cache.load_capture(folder.name)
    assert capture is not None
    links = list(enumerate(capture.links))
    output.mkdir()

    def once(number: int) -> int:
        which, link = links[number % len(links)]
        done, _ = link_captured(
            SubprocessRunner(),
            Path(capture.tools["ld"]["path"]),
            link,
            root=folder / str(which) / "root",
            folder=output / str(number),
            replay=True,
        )
        return done.returncode

    with ThreadPoolExecutor(JOBS) as pool:
        assert set(pool.map(once, range(SEEDS * len(links)))) == {0}


def _report(
    program: str, toolchain: str, seconds: dict[str, float], cpu_seconds: dict[str, float], repetitions: int
) -> None:
    floor = seconds["plain build"] + seconds["30 bare links"]
    figure = {
        "perf": "30 layouts from nothing",
        "program": program,
        "toolchain": toolchain,
        "repetitions": repetitions,
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "cpu_seconds": {name: round(value, 2) for name, value in cpu_seconds.items()},
        "seeds / (plain build + bare links)": round(seconds["30 seeds"] / floor, 3),
        "with controls / (plain build + bare links)": round(seconds["30 seeds and controls"] / floor, 3),
        "with controls / (two plain builds + bare links)": round(
            seconds["30 seeds and controls"] / (floor + seconds["plain build"]), 3
        ),
        # 30 rebuilds are not carried out: they are 30 of the plain build measured in this run.
        "30 rebuilds / seeds": round(30 * seconds["plain build"] / seconds["30 seeds"], 1),
        "30 rebuilds / with controls": round(30 * seconds["plain build"] / seconds["30 seeds and controls"], 1),
    }
    report(figure)
