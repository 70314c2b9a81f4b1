"""What a layout costs that is written without the linker, beside one that is linked; all in one run."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from debian_sources import source_tree
from perfkit import cpu_of_children

pytestmark = pytest.mark.perf

SEEDS = 100
CORES = len(os.sched_getaffinity(0))
PROGRAMS = {
    "lua5.4": (["make -C src -j2 linux"], "src/lua"),
    "gnugo": (
        ["./configure --without-curses --without-readline CFLAGS='-g -O2 -fcommon'", "make -j2"],
        "interface/gnugo",
    ),
}


@pytest.mark.parametrize("toolchain", ["gcc", "gcc-lld"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_layout_written_and_linked(tmp_path: Path, program: str, toolchain: str) -> None:
    """The same seeds by both engines from captures that are there, on one core."""
    commands, artefact = PROGRAMS[program]
    tree = source_tree(program, tmp_path / "source")
    seconds: dict[str, list[float]] = {}
    files: dict[str, list[str]] = {}
    for engine in ("link", "permute"):
        project = tmp_path / engine
        project.mkdir()
        (project / "layoutrand.toml").write_text(
            f'[project]\nname = "perf"\n[build]\nsource = "{tree}"\ncommands = {json.dumps(commands)}\n'
            f'artefacts = ["{artefact}"]\n[layout]\nengine = "{engine}"\n[systems.A]\ntoolchain = "{toolchain}"\n'
            'ldflags = "-Wl,--build-id=none"\n'
        )
        made = _built(project, tmp_path / f"cache-{engine}")
        seconds[engine] = [row["link_s"] for row in made if row["engine"] == engine]
        files[engine] = [row["sha256"] for row in made]
    assert files["link"] == files["permute"]
    assert len(seconds["permute"]) == SEEDS
    linked, written = (1000 * statistics.median(seconds[engine]) for engine in ("link", "permute"))
    print(f"{program} {toolchain}: {linked:.1f} ms a link, {written:.1f} ms written, 1 : {linked / written:.1f}")


@pytest.mark.parametrize("toolchain", ["gcc", "gcc-lld"])
@pytest.mark.parametrize("storage", ["whole", "order"])
def test_a_thousand_verified_layouts(tmp_path: Path, toolchain: str, storage: str) -> None:
    """Of GNU Go on all cores: drawn, written, proved and stored; what is stored, 5 GB, is evicted after half of them."""
    commands, artefact = PROGRAMS["gnugo"]
    tree = source_tree("gnugo", tmp_path / "source")
    (tmp_path / "layoutrand.toml").write_text(
        f'[project]\nname = "perf"\n[build]\nsource = "{tree}"\ncommands = {json.dumps(commands)}\n'
        f'artefacts = ["{artefact}"]\n[layout]\nstorage = "{storage}"\n[systems.A]\ntoolchain = "{toolchain}"\n'
        'ldflags = "-Wl,--build-id=none"\n'
    )
    cache = tmp_path / "cache"
    _built(tmp_path, cache, "1..16", jobs=CORES)  # captured, and learned
    seconds = cpu = 0.0
    for first in range(1001, 2001, 500):
        begin, used = time.perf_counter(), cpu_of_children()
        made = _built(tmp_path, cache, f"{first}..{first + 499}", jobs=CORES)
        seconds, cpu = seconds + time.perf_counter() - begin, cpu + cpu_of_children() - used
        assert all(row["verified"] and row["engine"] == "permute" for row in made)
        subprocess.run(
            [sys.executable, "-m", "layoutrand", "cache", "gc", "--layouts"],
            env={**os.environ, "LAYOUTRAND_CACHE": str(cache)},
            check=True,
            capture_output=True,
        )
    print(
        f"1,000 layouts of gnugo, {toolchain}, {storage}, two commands: {seconds:.1f} s on {CORES} cores, {cpu:.1f} s of "
        "processor time"
    )


def _built(project: Path, cache: Path, seeds: str = str(SEEDS), jobs: int = 1) -> list[dict[str, object]]:
    command = [
        sys.executable,
        "-m",
        "layoutrand",
        "build",
        "--seeds",
        seeds,
        "--no-controls",
        "--json",
        "-j",
        str(jobs),
    ]
    env = {**os.environ, "LAYOUTRAND_CACHE": str(cache)}
    done = subprocess.run(command, cwd=project, env=env, check=True, capture_output=True)
    found: list[dict[str, object]] = json.loads(done.stdout)["binaries"]
    return found
