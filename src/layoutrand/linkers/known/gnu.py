"""GNU ld (bfd): an order goes into its default script or the build's; from 2.43 on, a section ordering file does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from layoutrand.config.toolchain import version_number
from layoutrand.linkers import ldscript, user_script
from layoutrand.linkers.linker import Called, LayoutRequest, Linker, MapReader, OrderedFunction
from layoutrand.linkers.linkmap import members_of, owner_of, placed
from layoutrand.model import Layout, Section
from layoutrand.objects.kinds import family
from layoutrand.objects.unique_names import section_name

_ORDERING_FILE_SINCE: Final = (2, 43)
"""The first GNU ld with --section-ordering-file."""

# What --verbose says of a file that it reads, in every version; --dependency-file came with 2.35.
_OPENED: Final = re.compile(
    r"^(?:attempt to open (.+) succeeded|opened script file (.+)|found .+? at (.+))$", re.MULTILINE
)
# " .text.f  0x1139  0x2c file.o"; a long name has a line of its own.
_PLACED: Final = re.compile(r"^ (\S+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+) (.+)$", re.MULTILINE)
_BEGIN: Final = "\nLinker script and memory map\n"
_OWNER: Final = re.compile(r"^ (\S+)\s+0x[0-9a-f]+\s+0x[0-9a-f]+ (.+)$", re.MULTILINE)
_FILL: Final = "*fill*"
_OWN: Final = "linker stubs"  # as of binutils 2.46; before, of the first file


class _Map:
    """Maps of GNU ld."""

    def sections(self, text: str, called: Called) -> list[tuple[str, str]]:
        """See `MapReader`."""
        found = _PLACED.findall(text.partition(_BEGIN)[2])
        return placed([(owner, name, size) for name, size, owner in found], called)

    def members(self, text: str, called: Called) -> frozenset[str] | None:
        """See `MapReader`."""
        found = [owner for section, owner in _OWNER.findall(text) if section != _FILL and owner != _OWN]
        return members_of(found, called)

    def mentioned(self, text: str, called: Called) -> set[tuple[str, str]]:
        """See `MapReader`."""
        rows = dict.fromkeys((owner, name) for name, owner in _OWNER.findall(text))
        return {(known, name) for owner, name in rows if (known := owner_of(owner, called)) is not None}


class _Gnu(Linker):
    name = "gnu"
    program = "ld.bfd"
    renames = True
    by_script = True
    needs_needed = True
    reports = False
    # Copies for erratum 843419 of Cortex-A53: file and section by their numbers, then the offset.
    numbered: ClassVar[re.Pattern[bytes]] = re.compile(rb"(?<=\0e843419@)[0-9a-f]{4}_[0-9a-f]{8}(?=_[0-9a-f]+\0)")
    map: ClassVar[MapReader] = _Map()

    def ordered(
        self, version: str, script: str, sections: Sequence[Section], layout: Layout, *, users_script: bool
    ) -> LayoutRequest:
        """See `Linker`."""
        lines = _lines(sections, layout)
        if users_script:
            return LayoutRequest(user_script.ordered_user_script(script, lines), ("-T", "{}"))
        if version_number(version) >= _ORDERING_FILE_SINCE and not layout.gaps:  # it may place, not assign
            return LayoutRequest(ldscript.ordering_file(lines), ("--section-ordering-file={}",))
        # In the default script's stead (-dT): a script of the build's that only adds to it (INSERT) still does.
        return LayoutRequest(ldscript.ordered_script(script, lines), ("-dT", "{}"))

    def order_for_a_build(self, functions: Sequence[OrderedFunction]) -> LayoutRequest:
        """See `Linker`; a script that adds to the default one is taken by every version."""
        return LayoutRequest(ldscript.ahead_of_code([each.section for each in functions]), ("-T", "{}"))

    def fills(self, version: str, layout: Layout) -> bool:
        """See `Linker`; a script says how much is left free."""
        del version, layout
        return False

    def talkative(self, reports: str) -> list[str]:
        """See `Linker`; everything is said."""
        del reports
        return ["-t", "-t", "--verbose"]

    def opened(self, said: str, reports: bytes) -> list[str]:
        """See `Linker`."""
        del reports
        return list(dict.fromkeys("".join(match) for match in _OPENED.findall(said)))


def _lines(sections: Sequence[Section], layout: Layout) -> list[ldscript.Line]:
    """Statements for a linker script, in order: gaps and exact section names."""
    statements = _statements(sections)
    if not layout.gaps:
        return [statements[index] for index in layout.order]
    lines: list[ldscript.Line] = []
    for index, gap in zip(layout.order, layout.gaps, strict=True):
        if gap:
            lines.append((statements[index][0], f". += {gap};"))
        lines.append(statements[index])
    return lines


_latest: tuple[Sequence[Section], list[ldscript.Line]] = ((), [])


def _statements(sections: Sequence[Section]) -> list[ldscript.Line]:
    """What places each section, remembered for the sections asked for last: a capture is linked many times."""
    global _latest  # noqa: PLW0603 - replaced as a whole, so threads see one pair or the other
    known, found = _latest
    if known is not sections:
        found = [(family(s.kind), f"*({section_name(i, s.kind)})") for i, s in enumerate(sections)]
        _latest = (sections, found)
    return found


LINKER: Final = _Gnu()
