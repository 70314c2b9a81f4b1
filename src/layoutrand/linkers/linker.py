"""What layoutrand needs of a linker: how it is told an order, what it can do, and what it prints.

Each linker is a module of `layoutrand.linkers.known`.  All of them are given sections or symbols with unique names
(`layoutrand.objects.edit`), so the order asked for is exact, and the binary shows which order was achieved.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from layoutrand.errors import FeatureUnsupported
from layoutrand.layout.factors import LINK_ORDER, LINKER_SHUFFLE
from layoutrand.model import Layout, Section

Called = Callable[[str], str | None]
"""The name to use for a file that a map names; None for one that is not known."""


@dataclass(frozen=True)
class OrderedFunction:
    """A function as a compiler names it: its section in an object, and its symbol."""

    section: str
    symbol: str


@dataclass(frozen=True)
class LayoutRequest:
    """What asks a linker for a layout: ``text`` goes into a file, ``arguments`` take its path for ``{}``."""

    text: str
    arguments: tuple[str, ...]

    def argv(self, path: str) -> list[str]:
        """The arguments with the path of the file."""
        return [argument.replace("{}", path) for argument in self.arguments]


class MapReader(Protocol):
    """What the map of a link tells: which input sections the linker placed, and in which order."""

    def sections(self, text: str, called: Called) -> list[tuple[str, str]]:
        """The owner (``file`` or ``archive(member)``) and name of each section that has content, as placed.

        Sections of files that are not known are left out.
        """

    def members(self, text: str, called: Called) -> frozenset[str] | None:
        """Every ``archive(member)`` that has a section in the map, discarded ones and those without content included.

        None if there is a section of a file that is not known, such as a member of a thin archive.
        """

    def mentioned(self, text: str, called: Called) -> set[tuple[str, str]] | None:
        """Owner and name of every section, those that were discarded or have no content included.

        None for a linker whose map does not mention these.
        """


class Linker(ABC):
    """One linker.  What is not overridden is said of a linker that orders by symbol and has nothing special."""

    name: ClassVar[str]
    """``linker`` in a toolchain file."""

    program: ClassVar[str]
    """What compiler drivers call it."""

    renames: ClassVar[bool] = False
    """Whether it orders sections by name, so that each section to be placed needs a name of its own."""

    by_script: ClassVar[bool] = False
    """Whether an order goes into its script: its own, or one of the build's."""

    generates_code: ClassVar[bool] = False
    """Whether it does link-time optimisation by itself, and not through gcc's plugin."""

    strips: ClassVar[frozenset[str]] = frozenset()
    """Options that make it leave out symbols of functions, and that do not with other linkers."""

    needs_needed: ClassVar[bool] = False
    """Whether it must find the libraries that shared libraries need."""

    reports: ClassVar[bool] = True
    """Whether it writes into a file what it reads, and does not just say it."""

    orders_symbols: ClassVar[bool] = False
    """Whether a build may have it order functions by their symbols, in a file that a layout's own then replaces."""

    own_objects: ClassVar[bool] = False
    """Whether it reads objects of its own compiler, in which no section can be marked: functions go by symbols."""

    numbered: ClassVar[re.Pattern[bytes] | None] = None
    """Numbers in names of its own symbols that count what it has read, such as sections, a plugin's among them."""

    map: ClassVar[MapReader | None] = None
    """How its maps are read, where they can be."""

    def request(
        self, version: str, script: str, sections: Sequence[Section], layout: Layout, *, users_script: bool
    ) -> LayoutRequest:
        """What asks for ``layout``; ``script`` is the linker's own or, with ``users_script``, the build's.

        ``version`` is what the linker says of itself.  Raises `FeatureUnsupported` for what it cannot do.
        """
        if LINK_ORDER in layout.factors:
            return LayoutRequest("", ())  # the link line itself is in another order
        if LINKER_SHUFFLE in layout.factors:
            return self.shuffled(layout)
        return self.ordered(version, script, sections, layout, users_script=users_script)

    def order_for_a_build(self, functions: Sequence[OrderedFunction]) -> LayoutRequest | None:
        """What tells it, in any build, to put these functions ahead of all others, in this order.

        None where it cannot be told, or where others would still move them.
        """
        del functions
        return None

    @abstractmethod
    def ordered(
        self, version: str, script: str, sections: Sequence[Section], layout: Layout, *, users_script: bool
    ) -> LayoutRequest:
        """What asks for the layout's order and gaps, as `request` does."""

    def shuffled(self, layout: Layout) -> LayoutRequest:
        """What has the linker shuffle by itself, where it cannot be told an order; raises `FeatureUnsupported`."""
        del layout
        raise FeatureUnsupported(f"{LINKER_SHUFFLE!r} is for linkers that cannot be told an order; {self.name} can")

    def thread_limit(self, argv: Sequence[str], threads: int) -> list[str]:
        """What keeps it to so many threads; its output does not depend on it. [] where ``argv`` has a say in it."""
        del argv, threads
        return []

    def line(self, arguments: Sequence[str], extra: Sequence[str], output: str) -> list[str]:
        """The words of a link that writes ``output``: the captured ``arguments``, and what a layout adds to them."""
        return [*arguments, *extra, "-o", output]

    def refusal(self, version: tuple[int, ...], said: str) -> str:
        """Why one of that ``version``, which ``said`` so, cannot be used at all; "" if it can."""
        del version, said
        return ""

    def pads(self, version: str, layout: Layout) -> bool:
        """Whether the layout's gaps are the linker's own choice, and not asked for one by one."""
        del version, layout
        return False

    def fills(self, version: str, layout: Layout) -> bool:
        """Whether gaps are sections of ours, which take part in the order (`layoutrand.objects.fillers`)."""
        return any(layout.gaps) and not self.pads(version, layout)

    def talkative(self, reports: str) -> list[str]:
        """What makes it tell of the files that it reads, or write them to the file ``reports``."""
        return ["--trace", f"--dependency-file={reports}"]

    @abstractmethod
    def opened(self, said: str, reports: bytes) -> list[str]:
        """Every file that it opened when it was `talkative`; ``reports`` is what the file holds, if it writes one."""
