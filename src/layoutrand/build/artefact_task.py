"""One captured artefact whose layouts a build asks for: their keys, and which of them the cache has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layoutrand.build.binaries import binary_key, cached_binary
from layoutrand.build.build_setup import BuildSetup, threads
from layoutrand.cache.capture_record import Capture, CapturedLink
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import Binary, LayoutName

if TYPE_CHECKING:  # what links takes longer to import than a build in which everything is found
    from layoutrand.build.coupling import CoupledArtefact


@dataclass(frozen=True)
class ArtefactTask:
    """The layouts of one artefact of a capture, the ``number``-th, for this build; ``ld`` links what is missing.

    ``coupled`` is given where they are reconciled with those of other systems.
    """

    setup: BuildSetup
    ld: Tool
    capture: Capture
    number: int
    coupled: CoupledArtefact | None = None

    @property
    def link(self) -> CapturedLink:
        """The captured link."""
        return self.capture.links[self.number]

    def key(self, layout: LayoutName) -> str:
        """The key of one binary in the cache."""
        coupled = self.coupled.key if self.coupled else ""
        return binary_key(self.capture.id, self.link.artefact, self.setup.config.layout, layout, coupled)

    def cached(self, layouts: Sequence[LayoutName]) -> tuple[dict[LayoutName, Binary], list[LayoutName]]:
        """Those layouts that are in the cache, whole; and those that are there damaged."""
        # Before they are read: another process may be making them at this moment.
        cache, keys = self.setup.cache, {layout: self.key(layout) for layout in layouts}
        there = [layout for layout in layouts if cache.has_entry(keys[layout])]
        names = (self.capture.system, self.link.artefact)
        # Most of it is hashing, which needs no lock of the interpreter.
        with threads(self.setup, self.setup.jobs) as pool:
            found = pool.map(lambda layout: cached_binary(cache, *names, layout, keys[layout]), layouts)
            whole = {layout: binary for layout, binary in zip(layouts, found, strict=True) if binary is not None}
        return whole, [layout for layout in there if layout not in whole]
