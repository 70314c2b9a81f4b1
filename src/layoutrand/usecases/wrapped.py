"""`layoutrand exec`: any command with the wrappers in force, so that what it links comes out in a layout."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutrand.core.config import Config
from layoutrand.core.recipe import Recipe
from layoutrand.errors import LayoutNotApplied, UsageError
from layoutrand.model import STOCK, LayoutName
from layoutrand.usecases import apply
from layoutrand.usecases.apply import Outcome
from layoutrand.usecases.collect import Place
from layoutrand.world import toolbox as toolboxes
from layoutrand.world.cache import Cache
from layoutrand.world.disk import canonical_json, sha256_bytes
from layoutrand.world.process import Runner
from layoutrand.world.workspace import build_environment, workspace, write_wrappers


@dataclass(frozen=True)
class Wrapped:
    """What a wrapped command did: its exit status, and one line for each program laid out, left alone or failed."""

    status: int
    applied: tuple[str, ...]
    immovable: tuple[str, ...]
    failed: tuple[str, ...]


def execute_wrapped(  # noqa: PLR0913 - one argument for each choice of the user
    config: Config, system: str, project: Path, command: Sequence[str], *, layout: LayoutName, only: Sequence[str],
    cache: Cache, runner: Runner,
) -> Wrapped:  # fmt: skip
    """Execute the command in the project with the wrappers in force and the layout applied to what it links.

    ``only`` names output files to lay out, empty for all. Raises `LayoutNotApplied` if the command succeeded but
    linked nothing to lay out (or nothing of a name in ``only``), since that would silently be the default layout.
    """
    if layout == STOCK:
        raise UsageError("stock is your own build without layoutrand: execute the command as it is")
    factors = tuple(config.layout.factors)
    toolbox = toolboxes.prepare(config.systems[system].toolchain, project, factors, runner)
    recipe = Recipe(system, "capture", config.build, config.systems[system], toolbox.toolchain, factors)
    tree = (project / config.build.source).resolve()  # the wrappers see physical paths
    key = sha256_bytes(canonical_json([str(tree), system, layout]))
    with workspace(cache, key) as space:
        place = Place(str(tree), str(space.temporary), str(space.wrappers))
        order = apply.Order(layout, config.layout, tuple(only), place, toolbox)
        write_wrappers(space, recipe, toolbox, tree=tree, relink=order.write(space.base / "order.json"))
        environment = build_environment(os.environ, space, recipe, toolbox)
        status = runner.run_attached(command, cwd=project, env=environment)
        outcomes = apply.read_outcomes(space)
    if status == 0:
        _refuse_nothing(outcomes, layout, only)
    return Wrapped(
        status,
        tuple(_line(outcome, layout) for outcome in outcomes if outcome.proof),
        tuple(f"{o.output}: left as it was linked: {o.reason}" for o in outcomes if o.status == "immovable"),
        tuple(
            f"{o.output}: layout {layout} was not applied, it is as it was linked: {o.reason} "
            "(--only NAME leaves other programs alone)"
            for o in outcomes
            if o.status == "failed"
        ),
    )


def _refuse_nothing(outcomes: Sequence[Outcome], layout: LayoutName, only: Sequence[str]) -> None:
    missing = [name for name in only if not any(apply.named(outcome.output, name) for outcome in outcomes)]
    if missing:
        raise LayoutNotApplied(
            f"the command succeeded, but linked no {' and no '.join(missing)} through the wrappers, so layout {layout} "
            "was not applied to it. Is it up to date already (make clean), or linked under another name?"
        )
    if not outcomes:
        raise LayoutNotApplied(
            f"the command succeeded, but linked no program through the wrappers, so layout {layout} was applied to "
            "nothing. Is everything up to date already (make clean)? Does it call its compiler by an absolute path?"
        )
    if all(outcome.status == "immovable" for outcome in outcomes):
        raise LayoutNotApplied(
            f"the command succeeded, but layout {layout} was applied to nothing: "
            + "; ".join(f"{outcome.output}: {outcome.reason}" for outcome in outcomes)
        )


def _line(outcome: Outcome, layout: LayoutName) -> str:
    assert outcome.proof is not None
    proof = outcome.proof.verification
    return (
        f"{outcome.output}: layout {layout}, {proof.n_sections} sections placed as asked "
        f"(Kendall tau to identity {proof.tau_identity:+.3f}), verified"
    )
