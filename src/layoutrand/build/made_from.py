"""What a system's binaries are made from: recorded beside executions, and what it would be now, without building.

The parts are those of the key of its build (`config/build_recipe.py`), with what else tells its results from others.
Results whose parts are other ones are not those of the present configuration and source.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from layoutrand.build.build import SystemBuild
from layoutrand.build.build_setup import BuildSetup
from layoutrand.build.coupled import coupled_facts, coupled_names
from layoutrand.build.prebuilt import origin_of, present_id, recorded_under, release_of
from layoutrand.build.present_parts import PresentSystem
from layoutrand.cache.capture_record import Capture, source_words
from layoutrand.capture.build_order import make_order
from layoutrand.capture.origin import Origin, Origins
from layoutrand.capture.repository import LocalRevisions
from layoutrand.config.build_recipe import Recipe
from layoutrand.config.config import Config
from layoutrand.config.redaction import redaction_of, without_digests
from layoutrand.errors import LayoutrandError
from layoutrand.linkers import toolbox as toolboxes
from layoutrand.linkers.toolbox import Surroundings, Toolbox
from layoutrand.model import BuiltFrom
from layoutrand.platform.disk import canonical_json, sha256_bytes
from layoutrand.suites.expand import build_tools
from layoutrand.text.jdk_release import told_words

_LONGEST: Final = 400
"""Characters of a part that is kept whole, so that it can be told what was changed in it."""

Found = TypeVar("Found")


def parts_of(config: Config, system: str, facts: Mapping[str, Any], image: str) -> dict[str, str]:
    """The parts of one system's build by name; ``facts`` are those of its key, ``image`` the key of the image.

    What is redacted is told by its name alone.
    """
    whole = {**facts, "args": config.systems[system].args, "image": image, "mode": config.build.mode}
    shown = without_digests(redaction_of(config, os.environ).of_facts(whole))
    return {name: _part(value) for name, value in shown.items()}


def built_from(
    config: Config, system: str, capture: Capture, facts: Mapping[str, Any], name: str, image: str
) -> BuiltFrom:
    """What is recorded of a system's capture, which executions name ``name``, beside them.

    Without parts where the ``facts`` of the build are not known.
    """
    source = capture.source
    git = source.get("git") or {}
    return BuiltFrom(
        system=system,
        capture=name,
        commit=source.get("commit") or git.get("commit") or "",
        tree=git.get("tree") or "",
        committed_at=git.get("committed_at"),
        subject=git.get("subject") or "",
        dirty=git.get("dirty") if "dirty" in git else (False if source.get("commit") else None),
        digest=source.get("digest") or "",
        words=source_words(source),
        made_from=parts_of(config, system, facts, image) if facts else {},
    )


def jdk_as_it_is(
    config: Config, project: Path, result: SystemBuild, name: str, suite: Mapping[str, str]
) -> BuiltFrom | None:
    """What is recorded of a prebuilt system that is a JDK, which executions name ``name``.

    That is what its ``release`` and ``java -version`` say.  ``suite`` is what is recorded of the suite that it executes
    (`Suite.described`).  None where none of them says anything.
    """
    system = result.system
    identity = release_of(config, project, system)
    jdk = told_words(identity, result.java)
    if config.systems[system].prebuilt is None or not (jdk or suite):
        return None
    made_from = {"jdk": canonical_json(identity).decode()} if identity else {}
    made_from |= ({"java -version": result.java} if result.java else {}) | dict(suite)
    return BuiltFrom(system, name, words="; ".join(filter(None, [jdk, suite.get("harness")])), made_from=made_from)


def present_systems(setup: BuildSetup, names: Iterable[str], image: str | None) -> dict[str, PresentSystem]:
    """What the systems would be made from now: the source is read, git and compilers are asked, nothing is built.

    Of a repository that is not on this machine nothing is asked, so there the commit is known only where it is written
    out.  ``image`` is the key of the image, "" without one and None where it is not known.
    """
    looking = Origins(setup.project, setup.cache, setup.progress.say)
    looking.mirrors = LocalRevisions(setup.cache.root / "repos", setup.cache.lock, setup.progress.say)
    setup = replace(setup, origins=looking)
    find = cache(lambda name: _toolbox(setup, name))
    return {name: _present(setup, name, image, find) for name in names}


def _toolbox(setup: BuildSetup, name: str) -> Toolbox:
    factors, around = setup.config.layout.captured(), Surroundings.of(setup.config, name)
    return toolboxes.prepare(setup.config.systems[name].toolchain, setup.project, factors, setup.runner, around)


def _present(setup: BuildSetup, name: str, image: str | None, find: Callable[[str], Toolbox]) -> PresentSystem:
    config, options = setup.config, setup.config.systems[name]
    try:
        if options.prebuilt is not None:
            if image is None:
                return PresentSystem({}, "", ("the template of the image cannot be read",))
            return PresentSystem({}, "", capture=present_id(setup, name, image))
        toolchain = toolboxes.load(options.toolchain, setup.project, Surroundings.of(setup.config, name))
    except LayoutrandError as error:
        return PresentSystem({}, "", (_first_line(error),))
    unknown: list[str] = [] if image is not None else ["the template of the image cannot be read"]
    recipe = Recipe.of(config, name, "capture", toolchain, config.layout.captured(), os.environ)
    origin = _told(lambda: setup.origins.find(recipe), unknown)
    toolbox = _told(lambda: find(name), unknown)
    facts = recipe.key_facts(origin.facts if origin else {}, toolbox.facts() if toolbox else {}, os.environ)
    missing = {"source": origin, "tools": toolbox, "image": image}
    if others := [other for other in coupled_names(config) if other != name]:
        facts |= coupled_facts({other: _facts_of(setup, other, find, unknown) for other in others})
    parts = parts_of(config, name, facts, image or "")
    capture = _told(lambda: _capture(setup, recipe, origin, toolbox, image), unknown)
    return PresentSystem(
        parts={part: value for part, value in parts.items() if missing.get(part, "") is not None},
        source="" if origin is None else source_words(origin.record()),
        unknown=tuple(unknown),
        capture=capture,
        contents=origin.contents if origin else None,
        earlier=lambda digest: setup.cache.recall(f"source-{digest}"),
    )


def _facts_of(setup: BuildSetup, name: str, find: Callable[[str], Toolbox], unknown: list[str]) -> Mapping[str, Any]:
    """What another system would be built from now, as far as that is told."""

    def look() -> Mapping[str, Any]:
        options = setup.config.systems[name]
        toolchain = toolboxes.load(options.toolchain, setup.project, Surroundings.of(setup.config, name))
        recipe = Recipe.of(setup.config, name, "capture", toolchain, setup.config.layout.captured(), os.environ)
        return recipe.key_facts(setup.origins.find(recipe).facts, find(name).facts(), os.environ)

    return _told(look, unknown) or {}


def _told(look: Callable[[], Found], unknown: list[str]) -> Found | None:
    try:
        return look()
    except LayoutrandError as error:
        unknown.append(_first_line(error))
        return None


def _capture(
    setup: BuildSetup, recipe: Recipe, origin: Origin | None, toolbox: Toolbox | None, image: str | None
) -> str | None:
    """What results are recorded under, where a build from just this gave a capture."""
    if origin is None or toolbox is None or image is None or setup.config.build.mode != "relink":
        return None
    order = make_order(recipe, origin, toolbox, build_tools(setup.config, recipe.build))
    known = setup.cache.recall(order.key)
    if known is None or "capture" not in known:
        return None
    coupled = known_captures(setup)
    if coupled is None:
        return None
    made = origin_of(setup.config, setup.project, recipe.system, known["capture"], (), image, coupled)
    return recorded_under(setup.config, recipe.system, made)


def known_captures(setup: BuildSetup) -> list[str] | None:
    """The captures of all systems whose layouts are reconciled, [] where they are not; None where one is not built."""
    found = [_known_capture(setup, name) for name in coupled_names(setup.config)]
    return None if None in found else [capture for capture in found if capture]


def _known_capture(setup: BuildSetup, name: str) -> str | None:
    """The capture of a system as it is configured now, where that was built."""
    factors, toolbox = setup.config.layout.captured(), _toolbox(setup, name)
    recipe = Recipe.of(setup.config, name, "capture", toolbox.toolchain, factors, os.environ)
    order = make_order(recipe, setup.origins.find(recipe), toolbox, build_tools(setup.config, recipe.build))
    known = setup.cache.recall(order.key)
    return known.get("capture") if known else None


def _part(value: Any) -> str:
    text = canonical_json(value).decode()
    return text if len(text) <= _LONGEST else sha256_bytes(text.encode())


def _first_line(error: LayoutrandError) -> str:
    return str(error).splitlines()[0]
