"""Layouts that are written without the linker (``layout.engine``), of one captured artefact.

The program is learned once per capture, from four links.  The first layout of a build and one in fifty are linked all
the same, and both files compared; after a difference, and where something is not understood, the linker links.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, cast

import numpy as np

from layoutrand.build.section_alignments import SectionAlignments
from layoutrand.cache import keys
from layoutrand.cache.capture_record import Capture, CapturedLink
from layoutrand.cache.learned_program import image_path, keep_learned, read_learned
from layoutrand.cache.store import Cache
from layoutrand.cache.written_order import WrittenOrder
from layoutrand.config.layout_policy import LayoutPolicy
from layoutrand.config.toolchain import version_number
from layoutrand.errors import LayoutNotApplied, LayoutrandError, NotPermuted, ToolNotFound
from layoutrand.layout.factors import DATA_ORDER, PADDING, TEXT_OFFSET
from layoutrand.layout.keyed import keyed_uniform
from layoutrand.link.codecheck import marked, placed_addresses
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import IDENTITY, Layout
from layoutrand.objects import elf
from layoutrand.objects.kinds import is_code
from layoutrand.permute import build_id, skeleton
from layoutrand.permute.learn import LearnedLink, LearnedProgram, first_difference, learn
from layoutrand.permute.learned import FORMAT, LearnedTable
from layoutrand.permute.probes import PROBES, separating, telling
from layoutrand.permute.rest import of_map
from layoutrand.permute.write import written
from layoutrand.platform.disk import cache_errors, remove_tree

_LINKERS: Final = ("gnu", "lld")
_ORDERS: Final = frozenset({"function-order", "module-order", "function-order-in-module", "block-order", DATA_ORDER})
_GAPS: Final = frozenset({PADDING, TEXT_OFFSET})
_PROBES: Final = range(2**64 - 32, 2**64 - 1)
"""Seeds of the orders that a program may be learned from."""

PAYS_FROM: Final = 16
"""With engine "auto", a program is learned where so many of its layouts are to be made: that takes five links."""

_PAYS_LEARNED_FROM: Final = 3
"""And so many, where it is: the first one that is written is linked, too."""

_ONE_IN: Final = 50
_STREAM: Final = "linked-again"

LinkIt = Callable[[CapturedLink, Layout, Path], tuple[elf.Elf, float, Path]]
"""Link a layout in a directory: the file, the seconds, and where it is."""


@dataclass(frozen=True)
class Made:
    """One file that was written, and how long that took; ``again`` where the linker has to repeat it.

    The thread's next one is written over the ``data``.
    """

    data: bytes
    seconds: float
    again: bool


class Permuting:
    """What is known of how one artefact's layouts are written; shared by threads."""

    def __init__(
        self, cache: Cache, capture: Capture, number: int, policy: LayoutPolicy, ld: Tool, layouts: int
    ) -> None:
        """Of the ``number``-th link of the capture; nothing is read or learned yet.

        It depends on how many ``layouts`` are to be made whether any is written, unless that is asked for.
        """
        self._cache, self._capture, self._number, self._policy, self._ld = cache, capture, number, policy, ld
        self._lock = threading.Lock()
        self._own = threading.local()
        self._table: LearnedTable | None = None
        self._digest = ""
        self.image = image_path(cache.capture_path(capture.id), number, FORMAT)
        """Where the image is that layouts are written from, as soon as one is."""
        self._known = False
        self.is_compared = False
        """Whether the linker has repeated a layout of this build."""
        self._wanted = PAYS_FROM if policy.engine == "permute" or policy.storage == "order" else layouts
        self.refused = self._refusal()
        """Why layouts are linked; "" where they are written."""
        self.lost = False
        """Whether what was learned earlier was damaged in the cache."""

    @property
    def link(self) -> CapturedLink:
        """The captured link."""
        return self._capture.links[self._number]

    def write(self, layout: Layout, link_it: LinkIt, scratch: Path) -> Made | None:
        """The file of a layout; None where the linker has to make it.  The program is learned first."""
        with self._lock:
            if not self._known and not self.refused:
                self._know(link_it, scratch)
            if self.refused or self._table is None:
                return None
            again, self.is_compared = not self.is_compared, True
        begin = time.perf_counter()
        try:
            self._own.data = written(self._table, layout.numbers, layout.gaps, into=getattr(self._own, "data", None))
        except (NotPermuted, ToolNotFound) as error:
            self._refuse(error)
            return None
        assert isinstance(layout.name, int)
        again |= is_linked_again(layout.name, self.link.artefact)
        data = cast(bytes, self._own.data)  # which is read as bytes are
        return Made(data, time.perf_counter() - begin, again)

    def order(self, layout: Layout) -> bytes:
        """What stands in the cache for a layout that was written."""
        return WrittenOrder(self._digest, layout.order, layout.gaps).stored()

    def compare(self, made: Made, linked: elf.Elf) -> None:
        """Raise `LayoutNotApplied` where the linker's file is another; later layouts are linked then."""
        if made.data == linked.data:
            return
        where = first_difference(made.data, linked)
        self._refuse(NotPermuted(f"a file that was written so differed from the linker's {where}"))
        raise LayoutNotApplied(
            f'what layout.engine = "permute" wrote differs from the linker\'s file {where}. That is a fault of '
            'layoutrand. The next call links this layout; with layout.engine = "link" and another LAYOUTRAND_CACHE all '
            "are linked that were written before, too"
        )

    def _refuse(self, error: LayoutrandError) -> None:
        """From now on layouts are linked: of this capture for good, if the reason lies in the program."""
        with self._lock:
            self.refused = str(error)
        self._remember_refusal(error)

    def _remember_refusal(self, error: LayoutrandError) -> None:
        if isinstance(error, NotPermuted):  # a link that failed may succeed another time, and a package be installed
            self._cache.remember(self._key(), {"refused": str(error)})

    def _refusal(self) -> str:
        """What can be told before anything is linked."""
        link, policy = self.link, self._policy
        allowed = _ORDERS | (_GAPS if link.linker == "gnu" else frozenset())
        if link.linker not in _LINKERS:
            return f"how {link.linker} places what follows the code is not known"
        if link.machine != "EM_X86_64":
            return "it is not for x86-64"
        if policy.by_address:
            return 'layouts are reconciled (layout.couple = "address")'
        if others := sorted(set(policy.drawn) - allowed):
            return f"of layout.factors, {', '.join(others)} cannot be written where {self._ld.path.name} links"
        if link.users_script:
            return "the build has a linker script of its own"
        return ""

    def _key(self) -> str:
        return keys.permute_key(self._capture.id, self.link.artefact, FORMAT)

    def _know(self, link_it: LinkIt, scratch: Path) -> None:
        """Read what was learned of the program, or learn it, if that pays."""
        self._known = True
        if self._wanted < _PAYS_LEARNED_FROM:
            return
        record, state = self._cache.look_up(self._key())
        if reason := (record or {}).get("refused"):
            self.refused = str(reason)
            return
        self._digest = str((record or {}).get("learned", ""))
        try:
            self._table = read_learned(self.image, self._digest) if self._digest else None
        except NotPermuted:
            self.lost = True
        self.lost |= state not in ("whole", "none")
        if self._table is not None or self._wanted < PAYS_FROM:
            return
        try:
            self._table = self._learn(link_it, scratch)
        except LayoutrandError as error:  # whatever it is, the linker does without
            self.refused = str(error)
            self._remember_refusal(error)
            return
        self._digest = keep_learned(self._table, self.image)
        self._cache.remember(self._key(), {"learned": self._digest})

    def _learn(self, link_it: LinkIt, scratch: Path) -> LearnedTable:
        link = self.link
        data = any(not is_code(section.kind) for section in link.sections)
        factors = ["function-order", DATA_ORDER] if data else ["function-order"]
        plain = self._policy.model_copy(update={"factors": factors, "held": [], "classes": "mix"})
        identity = self._policy.draw(link.sections, link.identity, IDENTITY)
        emitting = replace(link, argv=(*link.argv, "--emit-relocs"))
        draws = (plain.draw(link.sections, link.identity, seed).numbers for seed in _PROBES)
        with ThreadPoolExecutor(1) as pool:
            drawing = pool.submit(list, draws) if data else None
            first, with_relocations = self._side_by_side(
                link_it, [(link, identity, data), (emitting, identity, False)], scratch
            )
            every = drawing.result() if drawing else None
        size, align = (np.array([getattr(one, name) for one in link.sections], np.int64) for name in ("size", "align"))
        movable = [is_code(section.kind) and not section.pinned for section in link.sections]
        number, _address, home = placed_addresses(first.binary)
        section = home[np.argsort(number)]
        code = int(section[next(each.index for each in link.sections if is_code(each.kind))])
        version = version_number(self._ld.version)
        homes = tuple(sorted({code, *section.tolist()}))
        tables = skeleton.of_file(first.binary, code, homes, link.linker)
        build_id.kind_of(tables, version, first.binary, with_relocations.binary)  # before more is linked
        if len(homes) > 1 and every is None:
            every = list(draws)
        start = link.identity_numbers
        orders = [start.copy() for _ in range(PROBES)]
        for where in homes:
            slots = np.flatnonzero(section[start] == where)
            own = start[slots].tolist()
            drawn = (order[slots].tolist() for order in every or draws)  # of code, the first few are enough as a rule
            begin = int(first.binary.sections["addr"][where])
            chosen = (
                telling(size, align, movable, own, drawn, begin)
                if where == code
                else separating(size, align, own, list(drawn), begin)
            )
            for order, part in zip(orders, chosen, strict=True):
                order[slots] = part
        drawn_links = [(link, replace(identity, order=tuple(order.tolist())), data) for order in orders]
        probes = self._side_by_side(link_it, drawn_links, scratch)
        free = np.array(movable)  # what some order moves
        if every is not None:
            free = np.zeros(len(link.sections), bool)
            for each in every:
                free[each[each != start]] = True
        program = LearnedProgram(
            section=section,
            size=size,
            align=align,
            free=free,
            owners=tuple(section.object for section in link.sections),
            linker=link.linker,
            version=version,
            code=code,
        )
        return learn(program, first, with_relocations.binary, probes)

    def _side_by_side(
        self, link_it: LinkIt, wanted: Sequence[tuple[CapturedLink, Layout, bool]], scratch: Path
    ) -> list[LearnedLink]:
        """Links, each ``mapped`` or not; at once, as far as ``link_it`` does that: others wait for what is learned."""

        def one(number: int) -> LearnedLink:
            link, layout, mapped = wanted[number]
            own = scratch / f"learning-{number}"
            with cache_errors("make", own):
                own.mkdir()
            try:
                return self._linked(link_it, link, layout, own, mapped=mapped)
            finally:
                remove_tree(own)

        with ThreadPoolExecutor(len(wanted)) as pool:
            return list(pool.map(one, range(len(wanted))))

    def _linked(
        self, link_it: LinkIt, link: CapturedLink, layout: Layout, scratch: Path, *, mapped: bool
    ) -> LearnedLink:
        """One link; ``mapped`` with what else its sections of data have, by the linker's map."""
        path = scratch / "map"
        wanted = replace(link, argv=(*link.argv, f"-Map={path}")) if mapped else link
        binary = link_it(wanted, layout, scratch)[0]
        number, address, home, row = marked(binary)
        if not np.array_equal(np.sort(number), np.arange(len(link.sections))):
            raise NotPermuted("not all pieces of its code are marked in the file")
        back = np.argsort(number)
        if not mapped:
            return LearnedLink(binary, layout.order, address[back], row[back])
        size = np.array([section.size for section in link.sections], np.int64)
        text = path.read_text("utf-8", "surrogateescape")
        code = {int(where) for where, piece in zip(home, number, strict=True) if is_code(link.sections[piece].kind)}
        homes = sorted(set(home.tolist()) - code)
        rest = of_map(text, link.linker, binary, homes, (address[back], size), SectionAlignments())
        return LearnedLink(binary, layout.order, address[back], row[back], rest)


def is_linked_again(seed: int, artefact: str) -> bool:
    """Whether the linker repeats what is written for that seed: one in fifty."""
    return keyed_uniform(seed, _STREAM, artefact.encode("utf-8", "surrogateescape"), _ONE_IN) == 0
