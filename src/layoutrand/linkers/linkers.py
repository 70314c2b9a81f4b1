"""How each linker is told an order: the text of a file, and the arguments that point at it.

All of them are given sections or symbols with unique names (`layoutrand.objects.edit`), so the order asked for is
exact, and the binary shows which order was achieved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.config.toolchain import version_number
from layoutrand.errors import FeatureUnsupported
from layoutrand.layout.order import LINK_ORDER, LINKER_SHUFFLE, PADDING, linker_seed
from layoutrand.linkers import ldscript, user_script
from layoutrand.model import Layout, Section
from layoutrand.objects.edit import section_name
from layoutrand.objects.kinds import family

RENAMING: Final = frozenset({"gnu", "gold"})
"""Linkers that order sections by name; the others go by symbol, or cannot be told an order."""

_ORDERING_FILE_SINCE: Final = (2, 43)
"""The first GNU ld with --section-ordering-file."""


@dataclass(frozen=True)
class Request:
    """What asks a linker for a layout: ``text`` goes into a file, ``arguments`` take its path for ``{}``."""

    text: str
    arguments: tuple[str, ...]

    def argv(self, path: str) -> list[str]:
        """The arguments with the path of the file."""
        return [argument.replace("{}", path) for argument in self.arguments]


def request(  # noqa: PLR0913 - the parts of one request
    linker: str, version: str, script: str, sections: Sequence[Section], layout: Layout, *, users_script: bool
) -> Request:
    """The request for ``layout``; ``script`` is GNU ld's own or, with ``users_script``, the build's.

    ``version`` is what the linker says of itself. Raises `FeatureUnsupported` for what it cannot do.
    """
    if LINK_ORDER in layout.factors:
        return Request("", ())  # the link line itself is in another order
    if LINKER_SHUFFLE in layout.factors:
        return _shuffle(linker, layout)
    if linker == "gnu":
        if users_script:
            return Request(user_script.ordered_user_script(script, _lines(sections, layout)), ("-T", "{}"))
        if version_number(version) >= _ORDERING_FILE_SINCE and not layout.gaps:  # it may place, not assign
            return Request(ldscript.ordering_file(_lines(sections, layout)), ("--section-ordering-file={}",))
        # In the default script's stead (-dT): a script of the build's that only adds to it (INSERT) still does.
        return Request(ldscript.ordered_script(script, _lines(sections, layout)), ("-dT", "{}"))
    if linker == "gold":
        names = "".join(f"{section_name(i, sections[i].kind)}\n" for i in layout.order)
        return Request(names, ("--section-ordering-file={}",))
    if linker == "lld":
        padding = _lld_padding(layout) if layout.gaps else ()
        return Request(ldscript.symbol_order(layout.order), ("--symbol-ordering-file={}", *padding))
    if isinstance(layout.name, int):
        raise FeatureUnsupported(f"{linker} cannot be told an order, only shuffle by itself ({LINKER_SHUFFLE!r})")
    return Request("", ())  # the order of the link line is mold's own


def thread_limit(linker: str, argv: Sequence[str], threads: int) -> list[str]:
    """What keeps the linker to so many threads; its output does not depend on it. [] where ``argv`` has a say in it.

    lld takes a thread for each CPU, which costs a tenth of the link where as many links go on side by side.
    """
    said = any(word.lstrip("-").startswith(("threads", "no-threads")) for word in argv)
    return [f"--threads={threads}"] if linker == "lld" and not said else []


def linker_pads(linker: str, layout: Layout) -> bool:
    """Whether the layout's gaps are the linker's own choice (lld), and not asked for one by one."""
    return linker == "lld" and bool(layout.gaps)


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


def _shuffle(linker: str, layout: Layout) -> Request:
    """mold's own shuffle of everything that is loaded; identity is its order without."""
    if linker != "mold":
        raise FeatureUnsupported(f"{LINKER_SHUFFLE!r} is for linkers that cannot be told an order; {linker} can")
    if not isinstance(layout.name, int):
        return Request("", ())
    return Request("", (f"--shuffle-sections={linker_seed(layout.name, LINKER_SHUFFLE)}",))


def _lld_padding(layout: Layout) -> tuple[str, ...]:
    assert isinstance(layout.name, int)
    return (f"--randomize-section-padding={linker_seed(layout.name, PADDING)}",)
