"""Large programs and many seeds: what layouts cost beside the bare linker, in time, memory and disk; all in one run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bigprogram import write_program
from debian_sources import source_tree
from layoutrand.cache.capture_record import ROOT
from layoutrand.cache.store import Cache
from layoutrand.layout.order import draw
from layoutrand.linkers.known import linker
from perfkit import report

pytestmark = pytest.mark.perf

JOBS = len(os.sched_getaffinity(0))
_RUN = """
import json, resource, sys, time
from layoutrand.cli import run
begin = time.perf_counter()
status = run(sys.argv[1:])
seconds = time.perf_counter() - begin
print(json.dumps({"status": status, "s": seconds, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10}))
"""


def project(folder: Path, source: Path, commands: list[str], artefact: str, toolchain: str) -> Path:
    folder.mkdir()
    (folder / "layoutrand.toml").write_text(
        f'[project]\nname = "perf"\n[build]\nsource = "{source}"\ncommands = {json.dumps(commands)}\n'
        f'artefacts = ["{artefact}"]\n[systems.A]\ntoolchain = "{toolchain}"\n'
    )
    return folder


def build(folder: Path, cache: Path, seeds: str) -> dict[str, float]:
    """Seconds and the peak memory of the Python process itself."""
    env = {**os.environ, "LAYOUTRAND_CACHE": str(cache)}
    command = [sys.executable, "-c", _RUN, "build", "--quiet", "--no-controls", "--seeds", seeds]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["status"] == 0, done.stderr
    return dict(said)


def bare(root: Path, output: Path, count: int, *, ordered: bool) -> float:
    """Seconds that xargs needs for as many executions of the captured link, as many at once as there are cores.

    ``ordered`` gives the linker one seed's order file, the same for all; otherwise it is the user's own link.
    """
    cache = Cache(root)
    (folder,) = (root / "captures").iterdir()
    capture = cache.load_capture(folder.name)
    assert capture is not None
    link = capture.links[0]
    output.mkdir()
    tree = folder / "0" / ("edited" if ordered else "root")
    arguments = [word.replace(ROOT, str(tree)) for word in (link.argv if ordered else link.replay_argv)]
    if ordered:
        layout = draw(link.sections, link.identity, name=1, factors=("function-order",), classes="keep")
        wanted = linker(link.linker).request(
            capture.tools["ld"]["version"],
            link.script,
            link.sections,
            layout,
            users_script=link.users_script,
        )
        (output / "order").write_text(wanted.text)
        arguments += wanted.argv(str(output / "order"))
    # From a file, because xargs limits the length of a line; none of the words needs quoting.
    (output / "words").write_text("\n".join(arguments))
    command = [
        "xargs",
        "-P",
        str(JOBS),
        "-I{}",
        capture.tools["ld"]["path"],
        f"@{output}/words",
        "-o",
        f"{output}/{{}}",
    ]
    begin = time.perf_counter()
    subprocess.run(command, input="\n".join(map(str, range(count))), text=True, check=True, capture_output=True)
    return time.perf_counter() - begin


@pytest.mark.parametrize("toolchain", ["gcc-lld", "gcc"])
def test_forty_thousand_sections(tmp_path: Path, toolchain: str) -> None:
    """Draw, link, verify and store, beside the bare link of the same objects."""
    count = 16
    functions = write_program(tmp_path / "source")
    folder = project(tmp_path / "project", tmp_path / "source", ["make -j{jobs}"], "big", toolchain)
    cache = tmp_path / "cache"
    first = build(folder, cache, "1")
    seconds = build(folder, cache, f"2..{count + 1}")
    again = build(folder, cache, f"2..{count + 1}")
    plain = bare(cache, tmp_path / "plain", count, ordered=False)
    ordered = bare(cache, tmp_path / "ordered", count, ordered=True)
    work = seconds["s"] - again["s"]  # without Python's start and reading the capture, which one call pays once
    report(
        {
            "perf": "40,000 sections",
            "toolchain": toolchain,
            "functions": functions,
            "seeds": count,
            "s per seed": round(work / count, 3),
            "bare link s": round(plain / count, 3),
            "bare ordered link s": round(ordered / count, 3),
            "seed / bare link": round(work / plain, 2),
            "seed / bare ordered link": round(work / ordered, 2),
            "start s": round(again["s"], 2),
            "python MB capturing": round(first["rss"] / 1e6),
            "python MB linking": round(seconds["rss"] / 1e6),
        }
    )
    assert seconds["s"] > 0


@pytest.mark.parametrize("toolchain", ["gcc-lld", "gcc"])
def test_a_thousand_seeds(tmp_path: Path, toolchain: str) -> None:
    """A small program a thousand times, beside the bare linker; and the disk that the binaries take."""
    count = 1000
    tree = source_tree("lua5.4", tmp_path / "source")
    folder = project(tmp_path / "project", tree, ["make -C src -j{jobs} linux"], "src/lua", toolchain)
    cache = tmp_path / "cache"
    build(folder, cache, "1")
    seconds = build(folder, cache, f"2..{count + 1}")
    again = build(folder, cache, f"2..{count + 1}")
    plain = bare(cache, tmp_path / "plain", count, ordered=False)
    ordered = bare(cache, tmp_path / "ordered", count, ordered=True)
    binaries = [path for path in (cache / "binaries").rglob("*") if path.is_file()]
    programs = [path for path in binaries if path.name == "lua"]
    bytes_of_programs = sum(path.stat().st_size for path in programs)
    on_disk = sum(path.stat().st_blocks * 512 for path in [*binaries, *(cache / "binaries").rglob("*/")])
    report(
        {
            "perf": "1,000 seeds",
            "toolchain": toolchain,
            "seeds": count,
            "ms per seed": round(seconds["s"] / count * 1000, 2),
            "bare / seeds": round(plain / seconds["s"], 3),
            "bare ordered / seeds": round(ordered / seconds["s"], 3),
            "cached s": round(again["s"], 2),
            "python MB": round(seconds["rss"] / 1e6),
            "binary bytes": bytes_of_programs // len(programs),
            "disk / bytes": round(on_disk / bytes_of_programs, 3),
        }
    )
    assert len(programs) == count + 1
