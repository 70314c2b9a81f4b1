"""What a layout costs that is written without the linker, beside one that is linked; all in one run."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from debian_sources import source_tree

pytestmark = pytest.mark.perf

SEEDS = 100
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


def _built(project: Path, cache: Path) -> list[dict[str, object]]:
    command = [sys.executable, "-m", "layoutrand", "build", "--seeds", str(SEEDS), "--no-controls", "--json", "-j", "1"]
    env = {**os.environ, "LAYOUTRAND_CACHE": str(cache)}
    done = subprocess.run(command, cwd=project, env=env, check=True, capture_output=True)
    found: list[dict[str, object]] = json.loads(done.stdout)["binaries"]
    return found
