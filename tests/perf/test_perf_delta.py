"""What thirty layouts take on the disk as files, as deltas and as orders, and what these cost; all in one run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from debian_sources import source_tree
from layoutrand.cache.contents import content_of
from layoutrand.cache.delta import DeltaBase
from layoutrand.cache.store import Cache
from layoutrand.model import Stored
from perfkit import PROGRAMS, cpu_of_children, report

pytestmark = pytest.mark.perf

SEEDS = 30
TIMES = 3
STORAGES = ("whole", "order", "delta")


@pytest.mark.parametrize("toolchain", ["gcc", "gcc-lld"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_thirty_layouts_on_the_disk(tmp_path: Path, program: str, toolchain: str) -> None:
    """Made in each way in turn, from a capture that is there; then each is decoded, and each delta encoded."""
    commands, artefact, _ = PROGRAMS[program]
    tree = source_tree(program, tmp_path / "source")
    cache = tmp_path / "cache"
    disk: dict[str, int] = {}
    cpu: dict[str, list[float]] = {}
    rows: dict[str, list[dict[str, str]]] = {}
    decode_ms: dict[str, float] = {}
    for number in range(TIMES + 1):
        for storage in STORAGES:
            project = tmp_path / storage
            project.mkdir(exist_ok=True)
            (project / "layoutrand.toml").write_text(
                f'[project]\nname = "perf"\n[build]\nsource = "{tree}"\ncommands = {json.dumps(commands)}\n'
                f'artefacts = ["{artefact}"]\n[layout]\nstorage = "{storage}"\n[systems.A]\ntoolchain = "{toolchain}"\n'
            )
            before = cpu_of_children()
            rows[storage] = _built(project, cache)
            if number:  # the first times build the program, and learn it
                cpu.setdefault(storage, []).append(cpu_of_children() - before)
            disk[storage] = _blocks(cache / "binaries")
            if number == TIMES and storage != "whole":
                kept = _kept(rows[storage])
                decode_ms[storage] = _ms(lambda kept=kept: [content_of(stored) for stored in kept])  # type: ignore[misc]
            if (number, storage) != (TIMES, "delta"):
                subprocess.run(
                    [sys.executable, "-m", "layoutrand", "cache", "gc", "--layouts"],
                    env=_env(cache),
                    check=True,
                    capture_output=True,
                )
    assert len({tuple(row["sha256"] for row in rows[storage]) for storage in STORAGES}) == 1

    kept = _kept(rows["delta"])
    contents = [content_of(stored) for stored in kept]
    base = DeltaBase(Path(kept[0].base or "").read_bytes())
    encode_ms = _ms(lambda: [base.encode(content) for content in contents])
    whole_bytes = sum(map(len, contents)) + Path(kept[0].base or "").stat().st_size
    figure = {
        "perf": "30 layouts kept as deltas and as orders",
        "program": program,
        "toolchain": toolchain,
        "bytes of the binaries": whole_bytes,
        "disk, whole / binaries": round(disk["whole"] / whole_bytes, 3),
        "disk, deltas / binaries": round(disk["delta"] / whole_bytes, 3),
        "disk, orders / binaries": round(disk["order"] / whole_bytes, 3),
        "a delta / a binary": round(sum(stored.path.stat().st_size for stored in kept) / sum(map(len, contents)), 4),
        "encode_ms": round(encode_ms, 1),
        "decode_ms": {storage: round(ms, 1) for storage, ms in decode_ms.items()},
        "cpu_s of the build": {storage: round(min(seconds), 2) for storage, seconds in cpu.items()},
    }
    report(figure)
    assert Cache(cache).has_entry(kept[0].path.parent.name)
    assert disk["order"] < disk["delta"] < disk["whole"]


def _kept(rows: list[dict[str, str]]) -> list[Stored]:
    kept = [Stored(Path(row["path"]), Path(row["base"])) for row in rows if row["base"]]
    assert len(kept) == SEEDS
    return kept


def _ms(action: Callable[[], list[bytes | None]] | Callable[[], list[bytes]]) -> float:
    """Milliseconds of CPU time of one of the layouts."""
    begin = time.process_time()
    action()
    return 1000 * (time.process_time() - begin) / SEEDS


def _env(cache: Path) -> dict[str, str]:
    return {**os.environ, "LAYOUTRAND_CACHE": str(cache)}


def _built(project: Path, cache: Path) -> list[dict[str, str]]:
    command = [sys.executable, "-m", "layoutrand", "build", "--seeds", str(SEEDS), "--without-stock", "-q", "--json"]
    done = subprocess.run(command, cwd=project, env=_env(cache), check=True, capture_output=True, text=True)
    rows: list[dict[str, str]] = json.loads(done.stdout)["binaries"]
    return rows


def _blocks(folder: Path) -> int:
    """Bytes on the disk of all files and directories below."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))
