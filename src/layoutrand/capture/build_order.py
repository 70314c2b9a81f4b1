"""One build to do, and one that has been done."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from layoutrand.cache.keys import build_key, kept_build_key
from layoutrand.capture.cargo_configuration import configuration_digest
from layoutrand.capture.named_profiles import profiles_digest
from layoutrand.capture.origin import Origin
from layoutrand.capture.workspace import Workspace
from layoutrand.config.build_recipe import Recipe, built_facts
from layoutrand.linkers.toolbox import Toolbox


class SuiteTools(Protocol):
    """What is known of a build that a suite's own tools do."""

    def check(self, system: str, tree: Path, log: Path, status: int) -> None:
        """Raise `BuildFailed` or `CaptureFailed` unless the tools, which ended with ``status``, made what was asked."""

    def exehash(self, tree: Path) -> str:
        """What the suite's hash of an executable is: "sha256" of its file, "other", or "" where unknown."""


@dataclass(frozen=True)
class BuildOrder:
    """One build to do: its recipe, its source, the tools, and the key under which the result is remembered.

    ``facts`` is what the key is the digest of; ``tools`` are a suite's, where these do the build.
    """

    recipe: Recipe
    origin: Origin
    toolbox: Toolbox
    key: str
    facts: Mapping[str, Any]
    tools: SuiteTools | None = None

    @property
    def called(self) -> str:
        """What people are told that it is."""
        return "stock build" if self.recipe.variant == "stock" else "build"

    @property
    def kept_key(self) -> str:
        """Under which the build is kept when it has ended; "" for one that is not.

        In the user's own tree it cannot be put back; and of a suite each choice of benchmarks is another command.
        """
        if self.origin.in_place is not None or self.tools is not None:
            return ""
        return kept_build_key(built_facts(self.facts))


@dataclass(frozen=True)
class InstrumentedBuild:
    """A workspace in which the build has succeeded, its tree, its log, and the seconds that it took."""

    space: Workspace
    tree: Path
    log: Path
    build_s: float


def make_order(recipe: Recipe, origin: Origin, toolbox: Toolbox, tools: SuiteTools | None = None) -> BuildOrder:
    """The order with its key."""
    facts = recipe.key_facts(origin.facts, toolbox.facts(), os.environ)
    if toolbox.toolchain.tools.rustc and origin.home is not None:
        environment = {**os.environ, **recipe.build.env, **recipe.options.env}
        configured = configuration_digest(origin.home, environment)
        facts |= {"cargo_configuration": configured} if configured else {}
    options = recipe.options
    own = (options.cflags, options.cxxflags or "", options.fflags, options.ldflags, options.rustflags)
    flags = [*own, *options.file_flags.values(), *recipe.build.env.values(), *options.env.values()]
    profiles = profiles_digest(flags, recipe.build.commands)
    facts |= {"profiles": profiles} if profiles else {}
    return BuildOrder(recipe, origin, toolbox, build_key(facts), facts, tools)
