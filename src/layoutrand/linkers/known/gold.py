"""gold: a file with the names of sections, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from layoutrand.linkers.linker import LayoutRequest, Linker
from layoutrand.linkers.linkmap import dependencies
from layoutrand.model import Layout, Section
from layoutrand.objects.unique_names import section_name


class _Gold(Linker):
    name = "gold"
    program = "ld.gold"
    renames = True

    def ordered(
        self, version: str, script: str, sections: Sequence[Section], layout: Layout, *, users_script: bool
    ) -> LayoutRequest:
        """See `Linker`."""
        del version, script, users_script
        names = "".join(f"{section_name(i, sections[i].kind)}\n" for i in layout.order)
        return LayoutRequest(names, ("--section-ordering-file={}",))

    def opened(self, said: str, reports: bytes) -> list[str]:
        """See `Linker`."""
        del said
        return dependencies(reports)


LINKER: Final = _Gold()
