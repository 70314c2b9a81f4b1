"""What a system's binaries are made from: recorded beside executions, and what it would be now, without building.

The parts are those of the key of its build (`config/build_recipe.py`), with what else tells its results from others.
Results whose parts are other ones are not those of the present configuration and source.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeVar

from layoutrand.build.build import SystemBuild
from layoutrand.build.build_setup import BuildSetup
from layoutrand.build.coupling import coupled_facts, coupled_names
from layoutrand.build.prebuilt import origin_of, present_id, recorded_under, release_of
from layoutrand.cache.capture_record import Capture, source_words
from layoutrand.cache.difference import compare, compare_files
from layoutrand.capture.build_order import make_order
from layoutrand.capture.origin import Origin, Origins
from layoutrand.capture.repository import LocalRevisions
from layoutrand.config.build_recipe import Recipe
from layoutrand.config.config import Config
from layoutrand.config.redaction import redaction_of, without_digests
from layoutrand.errors import LayoutrandError
from layoutrand.linkers import toolbox as toolboxes
from layoutrand.linkers.toolbox import Surroundings, Toolbox
from layoutrand.model import BuiltFrom, Context
from layoutrand.platform.disk import canonical_json, readable, sha256_bytes
from layoutrand.suites.expand import build_tools
from layoutrand.text.jdk_release import told_words

_RECORD: Final = "made_from"
"""Under which contexts kept it before they had it by system, among what a capture was made with."""

_LONGEST: Final = 400
"""Characters of a part that is kept whole, so that it can be told what was changed in it."""

_NO_PART: Final = frozenset({"variant", "inherited", "mode"})
"""Parts that may be others at any time, as variables of a shell are, or `--mode`: they decide only between results."""

_OF_THIS_MACHINE: Final = frozenset({"toolchain", "tools", "section_flags"})
"""Parts that results of another machine need not share with what would be built here."""

_PAPERS: Final = frozenset(
    {".csv", ".html", ".json", ".log", ".md", ".pdf", ".png", ".rst", ".svg", ".tex", ".txt"}
)  # what layoutrand writes where it is told to, and what people write about a program
_MOST_NAMED: Final = 4

Found = TypeVar("Found")
_SHORT: Final = 240
_NAMED_COMMIT: Final = re.compile("commit ([0-9a-f]{7,})")
_DIGEST: Final = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Difference:
    """How what was recorded differs from the present: ``parts`` in words, and ``papers``, files that no build reads.

    Of these it is only thought: they are of kinds such as ``.md`` or ``.json``.  ``is_of_mode`` where build.mode is the
    same.
    """

    parts: tuple[str, ...]
    papers: tuple[str, ...]
    is_of_mode: bool = True


@dataclass(frozen=True)
class PresentSystem:
    """What a system would be made from now.

    ``parts`` are canonical JSON or its SHA-256, without those that cannot be told, of which ``unknown`` says why.
    ``capture`` is what results of it are recorded under, where that is known without building, and ``source`` the
    commit or the digest of the files, in words.
    """

    parts: Mapping[str, str]
    source: str
    unknown: tuple[str, ...] = ()
    capture: str | None = None
    contents: Mapping[str, str] | None = field(default=None, repr=False)
    earlier: Callable[[str], Mapping[str, str] | None] = field(default=lambda _: None, repr=False)

    def difference(self, recorded: Mapping[str, str], *, is_of_here: bool) -> Difference:
        """What differs, of the parts that both have; of another machine but those that machines share."""
        left_out = _NO_PART if is_of_here else _NO_PART | _OF_THIS_MACHINE
        parts: list[str] = []
        papers: tuple[str, ...] = ()
        for name, value in self.parts.items():
            if name in left_out or recorded.get(name, value) == value:
                continue
            if name == "source":
                words, papers = self._of_source(recorded[name], value)
                parts += words
            else:
                parts += _in_words(name, recorded[name], value)
        mode = self.parts.get("mode")
        return Difference(tuple(parts), papers, recorded.get("mode", mode) == mode)

    def _of_source(self, was: str, now: str) -> tuple[list[str], tuple[str, ...]]:
        before, after = _parsed(was), _parsed(now)
        if "commit" in before and "commit" in after and before["commit"] != after["commit"]:
            return [f"the commit was {before['commit'][:12]}, is {after['commit'][:12]}"], ()
        earlier = self.earlier(str(before.get("digest")))
        if earlier is None or self.contents is None:
            return ["the source was another"], ()
        found = compare_files(earlier, self.contents)
        names = [*found.changed, *found.added, *found.removed]
        if names and all(PurePosixPath(name).suffix.lower() in _PAPERS for name in names):
            return [], tuple(map(readable, names))
        kinds = (("changed", found.changed), ("new", found.added), ("removed", found.removed))
        said = "; ".join(f"{what}: {_listed(files)}" for what, files in kinds if files)
        return [f"files of the source are others ({said})" if said else "the source was another"], ()


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


def built_in(context: Context) -> list[BuiltFrom]:
    """What a context says its captures were built from, however old it is."""
    if context.built:
        return list(context.built)
    return [
        _as_recorded_before(system, capture, context.tools[capture])
        for system, capture in context.captures.items()
        if capture in context.tools
    ]


def _as_recorded_before(system: str, capture: str, made: Mapping[str, str]) -> BuiltFrom:
    """As a layoutrand recorded it that kept it by capture; of a directory with the beginning of its commit."""
    words, parts = made.get("source", ""), dict(_parsed(made.get(_RECORD, "{}")))
    source = _parsed(parts.get("source", "{}"))
    named = _NAMED_COMMIT.search(words)
    return BuiltFrom(
        system=system,
        capture=capture,
        commit=source.get("commit") or (named[1] if named else ""),
        dirty=words.endswith("with changes") if named else None,
        digest=source.get("digest") or "",
        words=words,
        made_from=parts,
    )


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


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:  # a digest
        return {}
    return found if isinstance(found, dict) else {}


def _in_words(name: str, was: str, now: str) -> list[str]:
    """What changed in one part; the values where these are short."""
    before, after = _parsed(was), _parsed(now)
    if not (before and after):
        short = len(was) + len(now) < _SHORT and not (_DIGEST.fullmatch(was) or _DIGEST.fullmatch(now))
        return [f"{name} was {was}, is {now}" if short else f"{name} was another"]
    changed = [part for part in compare(before, after) if part.change != "same"]
    said = [f"{name}.{part.name} was {part.was!r}, is {part.now!r}" for part in changed]
    return said if sum(map(len, said)) < _SHORT else [f"{name}.{part.name} was another" for part in changed]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(readable, names[:_MOST_NAMED]))
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"


def _first_line(error: LayoutrandError) -> str:
    return str(error).splitlines()[0]
