"""mold: it cannot be told an order, but shuffles everything that is loaded by a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from layoutrand.errors import FeatureUnsupported
from layoutrand.layout.factors import LINKER_SHUFFLE, linker_seed
from layoutrand.linkers.linker import LayoutRequest, Linker
from layoutrand.linkers.linkmap import phony_targets
from layoutrand.model import Layout, Section


class _Mold(Linker):
    name = "mold"
    program = "ld.mold"
    strips = frozenset({"S", "strip-debug"})

    def ordered(
        self, version: str, script: str, sections: Sequence[Section], layout: Layout, *, users_script: bool
    ) -> LayoutRequest:
        """See `Linker`; the order of the link line is mold's own."""
        del version, script, sections, users_script
        if isinstance(layout.name, int):
            raise FeatureUnsupported(f"mold cannot be told an order, only shuffle by itself ({LINKER_SHUFFLE!r})")
        return LayoutRequest("", ())

    def shuffled(self, layout: Layout) -> LayoutRequest:
        """See `Linker`; identity is mold's order without."""
        if not isinstance(layout.name, int):
            return LayoutRequest("", ())
        return LayoutRequest("", (f"--shuffle-sections={linker_seed(layout.name, LINKER_SHUFFLE)}",))

    def opened(self, said: str, reports: bytes) -> list[str]:
        """See `Linker`."""
        del said
        return phony_targets(reports)


LINKER: Final = _Mold()
