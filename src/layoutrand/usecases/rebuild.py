"""`layoutrand exec`: the seed applied inside the user's own build, link by link.

The linker wrapper lets each link happen as asked, then hands its record to `relink_recorded`, which captures that one
link, links it in the layout of the seed, verifies it like any other binary, and puts it where the first one was.
Same capture, same order, same checks as in `layoutrand build`: so the same seed gives the same layout.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layoutrand.core import elf
from layoutrand.core.config import Config
from layoutrand.core.order import draw
from layoutrand.core.recipe import Recipe
from layoutrand.core.toolchain import Toolchain, require_factors
from layoutrand.errors import CaptureFailed, LayoutNotApplied, UsageError
from layoutrand.model import STOCK, LayoutName
from layoutrand.usecases.collect import Bench, Place
from layoutrand.usecases.ingest import ingest
from layoutrand.usecases.relink import Code, link_layout, verify
from layoutrand.world import toolbox as toolboxes
from layoutrand.world.cache import Cache
from layoutrand.world.disk import canonical_json, sha256_bytes, write_atomically
from layoutrand.world.process import Runner
from layoutrand.world.records import read_record, read_records
from layoutrand.world.toolbox import Tool, Toolbox
from layoutrand.world.workspace import build_environment, workspace, write_wrappers

MIN_SECTIONS = 2


@dataclass(frozen=True)
class Wrapped:
    """What a wrapped command did: its exit status, and one line for each program laid out."""

    status: int
    applied: tuple[str, ...]


def execute_wrapped(  # noqa: PLR0913 - one argument for each choice of the user
    config: Config, system: str, project: Path, command: Sequence[str], *, layout: LayoutName, only: Sequence[str],
    cache: Cache, runner: Runner,
) -> Wrapped:  # fmt: skip
    """Execute the command in the project with the wrappers in force and the layout applied to what it links.

    ``only`` names output files to lay out, empty for all. Raises `LayoutNotApplied` if the command succeeded but
    linked nothing to lay out, since it would silently measure the default layout.
    """
    if layout == STOCK:
        raise UsageError("stock is your own build without layoutrand: execute the command as it is")
    toolchain = toolboxes.load(config.systems[system].toolchain, project)
    others = [toolboxes.load(name, project) for name in toolboxes.shipped()]
    require_factors(toolchain, list(config.layout.factors), others)
    toolbox = toolboxes.find(toolchain, runner)
    recipe = Recipe(system, "capture", config.build, config.systems[system], toolchain)
    tree = (project / config.build.source).resolve()  # the wrappers see physical paths
    key = sha256_bytes(canonical_json([str(tree), system, layout]))
    with workspace(cache, key) as space:
        place = Place(str(tree), str(space.temporary), str(space.wrappers))
        settings = space.base / "settings.json"
        write_atomically(settings, canonical_json(_settings(config, toolbox, place, layout, only)))
        write_wrappers(space, recipe, toolbox, tree=tree, relink=settings)
        environment = build_environment(os.environ, space, recipe)
        status = runner.run_attached(command, cwd=project, env=environment)
        applied = [
            (record.path / "applied").read_text("utf-8", "surrogateescape")
            for record in read_records(space.records)
            if (record.path / "applied").exists()
        ]
    if status == 0 and not applied:
        raise LayoutNotApplied(
            f"the command succeeded, but linked no program through the wrappers, so layout {layout} was applied to "
            "nothing. Is everything up to date already (make clean)? Does it call its compiler by an absolute path?"
        )
    return Wrapped(status, tuple(applied))


def _settings(
    config: Config, toolbox: Toolbox, place: Place, layout: LayoutName, only: Sequence[str]
) -> dict[str, Any]:
    return {
        "layout": layout,
        "factors": config.layout.factors,
        "classes": config.layout.classes,
        "only": list(only),
        "place": vars(place),
        "toolchain": toolbox.toolchain.model_dump(mode="json"),
        "tools": toolbox.facts(),
    }


def relink_recorded(record_path: Path, settings_path: Path, runner: Runner) -> None:
    """Lay out one recorded link in place. Raises what any capture or link raises; the build then fails with it."""
    settings = json.loads(settings_path.read_bytes())
    toolchain = Toolchain.model_validate(settings["toolchain"])
    tools = {
        role: Tool(Path(facts["path"]), facts["version"], facts["sha256"]) for role, facts in settings["tools"].items()
    }
    record = read_record(record_path)
    output = Path(record.output())
    if settings["only"] and output.name not in settings["only"]:
        return
    built = output.read_bytes()
    if not elf.is_elf(built):
        raise CaptureFailed(f"{output} is not an ELF file")
    toolbox = Toolbox(toolchain, tools)
    with tempfile.TemporaryDirectory(prefix="layoutrand-", dir=settings["place"]["temporary"]) as scratch:
        base = Path(scratch)
        link = ingest(record, Bench(output.name, built, Place(**settings["place"]), base, toolbox, runner))
        if link.movable() < MIN_SECTIONS:
            raise LayoutNotApplied(f"{output} has {link.movable()} placeable section: there is only one layout")
        layout = draw(
            link.sections, link.identity, name=settings["layout"], factors=tuple(settings["factors"]),
            classes=settings["classes"],
        )  # fmt: skip
        binary, seconds, _output = link_layout(runner, tools["ld"].path, link, base, layout, scratch=base)
        linked = verify(binary, link, layout, Code.load(base / "code.npz"), seconds)
    write_atomically(output, linked.data, executable=bool(output.stat().st_mode & 0o111))
    proof = linked.verification
    (record_path / "applied").write_text(
        f"{output}: layout {layout.name}, {proof.n_sections} sections placed as asked "
        f"(Kendall tau to identity {proof.tau_identity:+.3f}), verified",
        "utf-8", "surrogateescape",
    )  # fmt: skip
