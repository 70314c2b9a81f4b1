"""lld: a file with symbols, in order; from 20 on it pads by a seed of its own; it optimises at link time by itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from layoutrand.config.toolchain import version_number
from layoutrand.layout.factors import PADDING, TEXT_OFFSET, linker_seed
from layoutrand.linkers import ldscript
from layoutrand.linkers.linker import Called, LayoutRequest, Linker, MapReader, OrderedFunction
from layoutrand.linkers.linkmap import dependencies, members_of, placed
from layoutrand.model import Layout, Section

# "1139  1139  2c  16  file.o:(.text.f)", in hexadecimal but for the alignment
_PLACED: Final = re.compile(r"^ *[0-9a-f]+ +[0-9a-f]+ +([0-9a-f]+) +[0-9]+ +(.+):\((\S+)\)$", re.MULTILINE)
_OWN: Final = "<internal>"
_PADS_SINCE: Final = (20,)
"""The first lld with --randomize-section-padding; before, gaps are sections of ours."""


class _Map:
    """Maps of lld, which say nothing of what is left out."""

    def sections(self, text: str, called: Called) -> list[tuple[str, str]]:
        """See `MapReader`."""
        return placed([(owner, name, size) for size, owner, name in _PLACED.findall(text)], called)

    def members(self, text: str, called: Called) -> frozenset[str] | None:
        """See `MapReader`."""
        return members_of([owner for _size, owner, _name in _PLACED.findall(text) if owner != _OWN], called)

    def mentioned(self, text: str, called: Called) -> None:
        """See `MapReader`."""
        del text, called


class _Lld(Linker):
    name = "lld"
    program = "ld.lld"
    generates_code = True
    orders_symbols = True
    map: ClassVar[MapReader] = _Map()

    def ordered(
        self, version: str, script: str, sections: Sequence[Section], layout: Layout, *, users_script: bool
    ) -> LayoutRequest:
        """See `Linker`."""
        del script, sections, users_script
        padding: tuple[str, ...] = ()
        if self.pads(version, layout):
            assert isinstance(layout.name, int)
            padding = (f"--randomize-section-padding={linker_seed(layout.name, PADDING)}",)
        return LayoutRequest(ldscript.symbol_order(layout.order), ("--symbol-ordering-file={}", *padding))

    def order_for_a_build(self, functions: Sequence[OrderedFunction]) -> LayoutRequest:
        """See `Linker`."""
        lines = ["# functions that lie together at the start of the code", *(each.symbol for each in functions)]
        return LayoutRequest("".join(f"{line}\n" for line in lines), ("--symbol-ordering-file={}",))

    def thread_limit(self, argv: Sequence[str], threads: int) -> list[str]:
        """See `Linker`.

        lld takes a thread for each CPU, which costs a tenth of the link where as many links go on side by side.
        """
        said = any(word.lstrip("-").startswith(("threads", "no-threads")) for word in argv)
        return [] if said else [f"--threads={threads}"]

    def pads(self, version: str, layout: Layout) -> bool:
        """See `Linker`; beside an offset, which is ours, all gaps are."""
        return bool(layout.gaps) and TEXT_OFFSET not in layout.factors and version_number(version) >= _PADS_SINCE

    def opened(self, said: str, reports: bytes) -> list[str]:
        """See `Linker`."""
        del said
        return dependencies(reports)


LINKER: Final = _Lld()
