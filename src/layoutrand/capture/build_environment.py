"""The environment of the user's build commands, which leads them to the wrappers."""

from __future__ import annotations

import os
from collections.abc import Mapping

from layoutrand.capture.build_order import BuildOrder
from layoutrand.capture.cargo_configuration import configuration_above, toolchain_variables
from layoutrand.capture.workspace import Workspace
from layoutrand.capture.wrappers import RUSTC
from layoutrand.config.build_recipe import NOT_INHERITED, SOURCE_EPOCH, Recipe, rust_toolchain
from layoutrand.linkers.drivers import by_variable
from layoutrand.linkers.known import linker
from layoutrand.linkers.toolbox import Toolbox
from layoutrand.platform.disk import cache_errors


def build_environment(
    inherited: Mapping[str, str], space: Workspace, recipe: Recipe, toolbox: Toolbox
) -> dict[str, str]:
    """The environment of the user's build commands.

    A CC or the like of the configuration's own stays: its author may want "ccache gcc", which PATH leads here too.
    """
    environment = {name: value for name, value in inherited.items() if name not in NOT_INHERITED}
    environment |= {"SOURCE_DATE_EPOCH": inherited.get("SOURCE_DATE_EPOCH", SOURCE_EPOCH)}
    # A copy has no .git: a build that asks for its version must not be told that of a repository around the cache.
    environment["GIT_CEILING_DIRECTORIES"] = str(space.base)
    environment |= {**recipe.build.env, **recipe.options.env}
    environment["TMPDIR"] = str(space.temporary)
    if linker(toolbox.toolchain.link.linker).own_objects:
        return environment
    tools = by_variable(toolbox.tools, crosses=toolbox.toolchain.machine is not None)
    environment |= {name: str(space.wrappers / tool) for name, tool in tools.items()}
    environment |= {**recipe.build.env, **recipe.options.env, **recipe.cargo_variables()}
    if (space.wrappers / RUSTC).exists():
        environment["RUSTC_WRAPPER"] = str(space.wrappers / RUSTC)
    environment["PATH"] = f"{space.wrappers}:{environment.get('PATH', os.defpath)}"
    return environment


def as_at_home(order: BuildOrder, space: Workspace) -> dict[str, str]:
    """Have cargo and rustup find for a private copy what they find where the source is; the variables that it takes."""
    recipe, home = order.recipe, order.origin.home
    if order.origin.in_place is not None or not recipe.toolchain.tools.rustc or home is None:
        return {}
    environment = {**os.environ, **recipe.build.env, **recipe.options.env}
    if above := configuration_above(home, space.base, environment):
        path = space.base / ".cargo" / "config.toml"
        with cache_errors("write", path):
            path.parent.mkdir()
            path.write_text(above, "utf-8")
    if rust_toolchain(recipe.build.commands):
        return {}
    return toolchain_variables(space.tree, order.toolbox.tools["rustc"].path, environment)
