"""What a layout of a Go program costs beside a `go build` for each, with everything compiled before."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import time
from pathlib import Path

import pytest

import gokit
from workshop import Workshop

pytestmark = pytest.mark.perf

SEEDS = 10


def test_a_layout_of_go_beside_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One link and its proof; `go build` in a fresh copy with Go's build cache filled; and with an empty one."""
    gokit.go()
    for name, value in gokit.offline(tmp_path).items():
        monkeypatch.setenv(name, value)
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    gokit.module(shop.source)
    made = shop.built(
        "go build -o prog .", system={"toolchain": "go", "cflags": ""}, layout={"factors": ["linker-shuffle"]}
    )
    again = {"system": {"toolchain": "go", "cflags": ""}, "layout": {"factors": ["linker-shuffle"]}, "jobs": 1}
    begin = time.perf_counter()
    shop.build("go build -o prog .", seeds=range(100, 100 + SEEDS), controls=False, **again)  # type: ignore[arg-type]
    layout_s = (time.perf_counter() - begin) / SEEDS
    figures = {
        "layout_s": layout_s,
        "link_alone_s": statistics.median(binary.link_s for binary in made.seeded.values()),
        "build_s": statistics.median(_build(tmp_path, seed, os.environ["GOCACHE"]) for seed in range(1, 6)),
        "build_with_empty_cache_s": _build(tmp_path, 6, str(tmp_path / "empty")),
    }
    figures["builds_per_layout"] = figures["build_s"] / layout_s
    figures["whole_builds_per_layout"] = figures["build_with_empty_cache_s"] / layout_s
    print(json.dumps({"machine": platform.processor() or platform.machine(), **figures}, indent=1))


def _build(folder: Path, seed: int, cache: str) -> float:
    """Seconds of a build in a fresh copy, as a build per layout would do it."""
    copy = gokit.module(folder / f"copy{seed}")
    begin = time.perf_counter()
    subprocess.run(
        ["go", "build", "-trimpath", f"-ldflags=-randlayout={seed}", "-o", "prog", "."],
        cwd=copy,
        env={**os.environ, "GOCACHE": cache},
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - begin
