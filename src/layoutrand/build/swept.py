"""Binaries of one layout in which one section lies at several offsets: linked, proved, and kept in the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from layoutrand.build.binaries import cached_binary, store_linked
from layoutrand.build.build import SystemBuild
from layoutrand.build.build_setup import BuildSetup, threads
from layoutrand.build.linking import Linking
from layoutrand.cache import keys
from layoutrand.cache.capture_record import Capture, CapturedLink
from layoutrand.cache.contents import content_of
from layoutrand.cache.storage_record import WHOLE_FILE, KeptAs
from layoutrand.errors import FeatureUnsupported
from layoutrand.layout.groups import identity_bytes
from layoutrand.link.one_moved import (
    Hole,
    Move,
    Stillness,
    link_moved,
    make_hole,
    movable,
    proof,
    require_exact,
    verify_moved,
)
from layoutrand.linkers import toolbox as toolboxes
from layoutrand.model import IDENTITY, Binary, Layout, LayoutName
from layoutrand.objects import elf
from layoutrand.platform.disk import cache_errors


@dataclass(frozen=True)
class SweptSection:
    """What is swept: the ``section`` of an artefact (its number in the capture) in the layout ``base``, modulo period.

    ``base`` is the binary of that layout.
    """

    build: SystemBuild
    capture: Capture
    number: int
    section: int
    base: Binary
    period: int

    @property
    def link(self) -> CapturedLink:
        """The captured link."""
        return self.capture.links[self.number]

    @property
    def facts(self) -> dict[str, Any]:
        """What decides its binaries beside the capture and the offset."""
        name = identity_bytes(self.link.sections[self.section]).decode("utf-8", "surrogateescape")
        return {
            "artefact": self.link.artefact,
            "base": self.base.layout,
            "base_sha256": self.base.sha256,
            "function": name,
            "period": self.period,
        }


@dataclass(frozen=True)
class SweptBinaries:
    """The binaries, each with its offset for a layout's name; the hole they share, and the proof that nothing moved."""

    binaries: tuple[Binary, ...]
    hole: Hole
    stillness: Stillness


def swept_section(
    setup: BuildSetup, built: SystemBuild, wanted: tuple[str, LayoutName, int], find: Callable[[CapturedLink], int]
) -> SweptSection:
    """What is to be swept of the artefact, base layout and period ``wanted``; ``find`` tells the section's number.

    Raises `FeatureUnsupported` where nothing can be moved.
    """
    artefact, base, period = wanted
    if setup.config.layout.by_address and base != IDENTITY:
        raise FeatureUnsupported(
            'layout.couple = "address" ties layouts to those of other systems, so nothing can be moved alone; '
            "--base identity is not tied"
        )
    if setup.config.build.mode != "relink":
        raise FeatureUnsupported(
            'a section is moved by linking a capture again, and with build.mode = "rebuild" there is none'
        )
    capture = built.capture
    assert capture is not None
    number = next(n for n, link in enumerate(capture.links) if link.artefact == artefact)
    binary = next(b for b in built.binaries if (b.artefact, b.layout) == (artefact, base))
    link = capture.links[number]
    return SweptSection(built, capture, number, find(link), binary, period)


def swept_hole(setup: BuildSetup, swept: SweptSection, *, name: str) -> Hole:
    """The hole that the section is to lie in; ``name`` is for people.  Raises as `swept_binaries`."""
    linking, layout = _linking(setup, swept, name)
    require_exact(swept.link, layout)
    return make_hole(_read(swept.base), swept.link, linking.code(), swept.section, swept.period)


def swept_binaries(setup: BuildSetup, swept: SweptSection, offsets: Sequence[int], *, name: str) -> SweptBinaries:
    """Every offset's binary, from the cache or linked now; ``name`` is for people.

    Raises what `link_moved` and `verify_moved` raise, `UsageError` for an offset that its alignment forbids, and
    `LayoutNotApplied` where more than it lies elsewhere.
    """
    cache, link = setup.cache, swept.link
    linking, layout = _linking(setup, swept, name)
    require_exact(link, layout)
    code = linking.code()
    base = _read(swept.base)
    kept = _kept_as(swept.base) if setup.config.layout.storage == "delta" else WHOLE_FILE
    hole = make_hole(base, link, code, swept.section, swept.period)

    def facts(offset: int) -> dict[str, Any]:
        return {**linking.facts(swept.base.layout), "layout": offset, "swept": swept.facts}

    def make(offset: int, own_scratch: Callable[[], Path]) -> Binary:
        found = cached_binary(cache, swept.build.system, link.artefact, offset, keys.binary_key(facts(offset)))
        if found is not None:
            setup.progress.advance()
            return found
        scratch, move = own_scratch(), Move(layout, hole, offset)
        with cache_errors("use", scratch):
            binary, seconds, output = link_moved(
                setup.runner,
                linking.ld,
                link,
                linking.base,
                move,
                scratch=scratch,
                threads=1 if setup.jobs > 1 else 0,
            )
            linking.keep(output, scratch)
            linked = verify_moved(binary, link, move, code, seconds, ld_version=linking.ld.version)
            made = store_linked(
                cache,
                scratch / "entry",
                linked,
                system=swept.build.system,
                facts=facts(offset),
                kept=kept,
            )
        setup.progress.advance()
        return made

    with cache.thread_scratch("sweep") as own_scratch, threads(setup, setup.jobs) as pool:
        made = list(pool.map(lambda offset: make(offset, own_scratch), offsets))
    stillness = proof(base, [_read(binary) for binary in made], link, hole)
    return SweptBinaries(tuple(made), hole, stillness)


def _linking(setup: BuildSetup, swept: SweptSection, name: str) -> tuple[Linking, Layout]:
    """What links the base layout, and that layout."""
    config = setup.config
    if reason := movable(swept.link.sections[swept.section], swept.period):
        raise FeatureUnsupported(f"{name}: {reason}; a larger range of --offset has others")
    around = toolboxes.Surroundings.of(config, swept.build.system)
    toolchain = config.systems[swept.build.system].toolchain
    toolbox = toolboxes.prepare(toolchain, setup.project, config.layout.captured(), setup.runner, around)
    linking = Linking(
        setup.cache, setup.runner, setup.jobs, config.layout, toolbox.tools["ld"], swept.capture, swept.number
    )
    return linking, linking.drawn(swept.base.layout)


def with_others(swept: Sequence[Binary], built: SystemBuild, base: LayoutName) -> SystemBuild:
    """The build with the swept binaries alone, each beside the base layout's binaries of all other artefacts."""
    own = {binary.artefact for binary in swept}
    others = [binary for binary in built.binaries if binary.layout == base and binary.artefact not in own]
    copies = [replace(other, layout=binary.layout) for other in others for binary in swept]
    return replace(built, binaries=(*swept, *copies), failures=())


def _kept_as(binary: Binary) -> KeptAs:
    """How what is swept of the binary is kept: as deltas, but of one that is an order there is no file in an entry."""
    stored = binary.stored
    base = {"whole": stored.path, "delta": stored.base, "order": None}[stored.storage]
    return WHOLE_FILE if base is None else KeptAs("delta", base)


def _read(binary: Binary) -> elf.Elf:
    return elf.read(content_of(binary.stored), name=str(binary.path))
