"""How costs grow with sections, seeds and systems: measured, and drawn (LAYOUTRAND_FIGURES=write: docs/img/growth-*.svg).

Processor time of one process and its children, so that other work on the machine changes little.  How far from a straight line
a growth is, says its last row: the cost of one more, at the most, over the cost of one at the least.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bigprogram import write_program
from layoutrand.build.permuting import is_linked_again
from layoutrand.report.plot import Plot, Series, draw
from layoutrand.report.style import standalone
from perfkit import cpu_of_children, report
from workshop import Workshop, main_calling

pytestmark = pytest.mark.perf

IMAGES = Path(__file__).parents[2] / "docs/img"
SECTIONS = (4_100, 13_120, 41_820, 133_660, 401_800)
"""The third is HotSpot's size."""

SEEDS = (30, 100, 300, 1000)
SYSTEMS = (1, 25, 50, 100, 200)
FEW, MANY = 2, 12
_WIDTH_MM = 150.0

Growth = Mapping[str, Sequence[tuple[float, float]]]


def test_growth_with_sections(tmp_path: Path) -> None:
    """A layout that is written, and one that is linked by lld: all of it, from drawing to storing, on one core."""
    rows: dict[str, list[tuple[float, float]]] = {"linked": [], "written": []}
    for sections in SECTIONS:
        objects = 820 if sections > 10_000 else 82
        source, cache = tmp_path / f"source{sections}", tmp_path / f"cache{sections}"
        write_program(source, objects=objects, functions=sections // objects, steps=20)
        fresh = (seed for seed in itertools.count(1) if not is_linked_again(seed, "big"))
        for name, engine in (("linked", "link"), ("written", "permute")):
            project = _project(tmp_path / f"{name}{sections}", source, engine)
            _cost(project, cache, next(fresh))  # captured, and learned
            few, many = (_cost(project, cache, *itertools.islice(fresh, count)) for count in (FEW, MANY))
            rows[name].append((sections / 1000, 1000 * (many - few) / (MANY - FEW)))
    _tell("sections", "thousand sections", "ms of processor time for a layout", rows)


def test_growth_with_seeds(tmp_path: Path) -> None:
    """Seeds of a capture that is there, and the same seeds again."""
    write_program(tmp_path / "source", objects=10, functions=30, steps=20)
    rows: dict[str, list[tuple[float, float]]] = {"made": [], "found in the cache": []}
    project = _project(tmp_path / "project", tmp_path / "source", "auto")
    for count in SEEDS:
        cache, seeds = tmp_path / f"cache{count}", range(1, count + 1)
        _cost(project, cache, 1)
        rows["made"].append((count, _cost(project, cache, *seeds)))
        rows["found in the cache"].append((count, min(_cost(project, cache, *seeds) for _ in range(3))))
    _tell("seeds", "seeds", "s of processor time", rows)


def test_growth_with_systems(tmp_path: Path) -> None:
    """What a question about systems costs whose builds are not there."""
    found: list[tuple[float, float]] = []
    for count in SYSTEMS:
        shop = Workshop(tmp_path / f"project{count}", tmp_path / "cache")
        shop.write_named({"a.c": main_calling("x")})
        systems = {f"s{number}": {"cflags": f"-O2 -DN={number}"} for number in range(count)}
        (shop.project / "layoutrand.toml").write_text(shop.toml(["$CC $CFLAGS -o prog a.c"], systems=systems))
        found.append((count, min(_cost(shop.project, shop.cache, 30, "--explain") for _ in range(3))))
    _tell("systems", "systems", "s of processor time", {"build --explain": found})


def _project(folder: Path, source: Path, engine: str) -> Path:
    folder.mkdir()
    (folder / "layoutrand.toml").write_text(
        f'[project]\nname = "growth"\n[build]\nsource = "{source}"\ncommands = ["make -j{{jobs}}"]\n'
        f'artefacts = ["big"]\n[layout]\nengine = "{engine}"\n'
        '[systems.A]\ntoolchain = "gcc-lld"\nldflags = "-Wl,--build-id=none"\n'
    )
    return folder


def _cost(project: Path, cache: Path, *words: object) -> float:
    """Seconds of processor time of `build` for those seeds, or with an option behind them, with all that it starts."""
    options = [str(word) for word in words if isinstance(word, str)]
    seeds = ",".join(str(word) for word in words if not isinstance(word, str))
    command = [sys.executable, "-m", "layoutrand", "build", "--no-controls", "--seeds", seeds, "--json", *options]
    before = cpu_of_children()
    env = {**os.environ, "LAYOUTRAND_CACHE": str(cache)}
    done = subprocess.run([*command, "-j", "1"], cwd=project, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return cpu_of_children() - before


def _tell(what: str, x: str, y: str, rows: Growth) -> None:
    """The points, how the cost of one more changes from the first two to the last two, and the plot."""
    for name, points in rows.items():
        (a, b), (c, d) = ([later, earlier] for earlier, later in (points[:2], points[-2:]))
        slopes = [(later[1] - earlier[1]) / (later[0] - earlier[0]) for later, earlier in ((a, b), (c, d))]
        figure = {"perf": f"growth with {what}", "of": name, "points": [[x, round(y, 3)] for x, y in points]}
        report({**figure, "one more, last / first": round(slopes[1] / slopes[0], 2)})
        assert all(cost > 0 for _, cost in points)
    if os.environ.get("LAYOUTRAND_FIGURES") == "write":
        series = [Series(name, number, "line", points) for number, (name, points) in enumerate(rows.items())]
        title = f"Growth with {what}"
        drawn = draw(Plot(title, f"{title}: {y} against {x}", x, y, series, from_zero=True))
        (IMAGES / f"growth-{what}.svg").write_text(standalone(drawn, _WIDTH_MM) + "\n")
