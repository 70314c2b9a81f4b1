"""Link several systems so that what they share lies at the same address, and measure in each binary that it does.

Offsets inside a stretch of sections are known before a link (`layoutrand.layout.reconciled`).  Where it begins is not:
what stands before it (headers, the tables of the dynamic linker, the PLT, strings) has another size in each
system, and linkers round to pages in their own ways.  So identity order is linked on all sides, it is measured where
the stretches begin, and fillers are put before or behind one until it begins at the same address.  How long a
stretch is does not depend on the seed, so what was settled once holds for all seeds; that it does is read off every
binary, and what lies elsewhere is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.errors import FeatureUnsupported
from layoutrand.layout.reconciled import (
    Adjustment,
    Pairs,
    Room,
    Rules,
    Side,
    Stretch,
    arrange,
    pair,
    requested,
    rooms,
)
from layoutrand.link import codecheck
from layoutrand.link.code import Code
from layoutrand.link.likeness import contents
from layoutrand.link.linked import Linked
from layoutrand.link.relink import link_layout, verify, with_fillers
from layoutrand.linkers import linkline
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import IDENTITY, Coincidence, Layout, LayoutName
from layoutrand.objects import elf
from layoutrand.objects.fillers import fits
from layoutrand.platform.disk import cache_errors
from layoutrand.platform.process import Runner

_ROUNDS: Final = 24
"""How often all sides are linked at most to settle where stretches begin; two or three are what it takes."""
_ATTEMPTS: Final = 3
"""How often a stretch is moved by what stands before it: rounding to pages may make another step necessary."""
_FARTHEST: Final = 1 << 20
"""Bytes that a stretch is moved at the most: programs at other addresses altogether (-no-pie in one) stay apart."""


@dataclass(frozen=True)
class LinkedSide:
    """What it takes to link one side: its captured link, the link's directory in the capture, and the linker."""

    system: str
    link: CapturedLink
    base: Path
    ld: Tool


@dataclass(frozen=True)
class Reconciliation:
    """What all seeds have in common: ``begins`` has the address at which each stretch begins on all sides.

    A stretch of which no such address was found is in ``apart``, and has the first side's.
    """

    sides: tuple[Side, ...]
    pairs: Pairs
    room: Mapping[str, Room]
    rules: Rules
    adjustments: tuple[Mapping[str, Adjustment], ...]
    begins: Mapping[str, int]
    apart: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReconciledLink:
    """One side's link in one layout: the binary, the seconds it took, where it is, and what was asked for."""

    binary: elf.Elf
    seconds: float
    output: Path
    layout: Layout
    stretches: Mapping[str, Stretch]


def settle(
    linked: Sequence[LinkedSide],
    rules: Rules,
    runner: Runner,
    scratch: Path,
    known: Callable[[LinkedSide], tuple[bytes, ...]] | None = None,
) -> Reconciliation:
    """Pair the sides' sections, and find by linking what makes each stretch begin at one address.

    ``scratch`` is an empty directory; ``known`` gives the contents of a side where they need not be read. Raises
    `FeatureUnsupported` for a link whose addresses are its own linker script's, and what `link_layout` raises.
    """
    for each in linked:
        _refuse_scripts(each)
    sides = tuple(
        Side(each.link.sections, each.link.identity, known(each) if known else contents(each.link, each.base))
        for each in linked
    )
    pairs = pair(sides)
    room = rooms(sides, pairs, rules.padding)
    none = [dict.fromkeys(room, Adjustment()) for _ in sides]
    found = Reconciliation(sides, pairs, room, rules, tuple(none), {})
    return _settled(linked, found, runner, scratch)


def link_side(
    each: LinkedSide,
    number: int,
    of: Reconciliation,
    name: LayoutName,
    *,
    runner: Runner,
    scratch: Path,
    threads: int = 0,
) -> ReconciledLink:
    """Link the ``number``-th side in ``scratch``; raises as `link_layout` does."""
    stretches = arrange(of.sides, of.pairs, name, of.rules)[number]
    layout, fillers = requested(of.sides[number], stretches, of.room, of.adjustments[number], (name, of.rules))
    if not fits(len(fillers)):
        raise FeatureUnsupported(
            f"{each.link.artefact}: too many functions differ between the systems ({len(fillers):,} gaps) for layouts "
            'in which they have the same addresses; use layout.couple = "order"'
        )
    link = with_fillers(each.link, fillers, scratch)
    binary, seconds, output = link_layout(runner, each.ld, link, each.base, layout, scratch=scratch, threads=threads)
    own = tuple(index for index in layout.order if index < len(each.link.sections))
    return ReconciledLink(binary, seconds, output, replace(layout, order=own), stretches)


def verify_side(each: LinkedSide, number: int, of: Reconciliation, made: ReconciledLink, code: Code) -> Linked:
    """Check the binary as any other, and count what lies at the addresses agreed on; raises as `verify` does."""
    linked = verify(made.binary, each.link, made.layout, code, made.seconds, ld_version=each.ld.version)
    found = coincidence(number, of, made, code)
    return replace(linked, verification=replace(linked.verification, coincidence=found))


def coincidence(number: int, of: Reconciliation, made: ReconciledLink, code: Code) -> Coincidence:
    """How much of the ``number``-th side's binary lies where all sides are to have it."""
    address = codecheck.placed(
        made.binary, codecheck.of_capture(codecheck.placed_addresses(made.binary), len(code.size)), code.size
    ).address
    agreed = _agreed(of, number, made.stretches)
    shift = address - agreed
    unchanged, changed = ([row[number] for row in rows] for rows in (of.pairs.unchanged, of.pairs.changed))
    begins = code.functions[code.functions[:, 1] == 0]  # of a changed section no other function's address is agreed on
    functions = _places(code.functions, unchanged, agreed, shift)
    variables = _places(code.variables, unchanged, agreed, shift)
    beginnings = _places(begins, changed, agreed, shift)
    return Coincidence(
        functions=len(functions),
        variables=len(variables),
        changed=len(beginnings),
        functions_elsewhere=tuple(at for at, there in functions.items() if not there),
        variables_elsewhere=tuple(at for at, there in variables.items() if not there),
        changed_elsewhere=tuple(at for at, there in beginnings.items() if not there),
    )


def _places(
    rows: NDArray[np.int64], sections: Sequence[int], agreed: NDArray[np.int64], shift: NDArray[np.int64]
) -> dict[int, bool]:
    """The addresses agreed on of the symbols (`codecheck.symbol_rows`) of these sections, and whether each is there."""
    chosen = np.zeros(len(agreed), bool)
    chosen[sections] = True
    own = rows[chosen[rows[:, 0]]]
    at = agreed[own[:, 0]] + own[:, 1]
    there = shift[own[:, 0]] == 0
    return dict(sorted(zip(at.tolist(), there.tolist(), strict=True)))


def _agreed(of: Reconciliation, number: int, stretches: Mapping[str, Stretch]) -> NDArray[np.int64]:
    """The address that was agreed on for each section of a side, shape (sections,)."""
    agreed = np.zeros(len(of.sides[number].sections), np.int64)
    for name, stretch in stretches.items():
        for section, offset in stretch:
            agreed[section] = of.begins[name] + offset
    return agreed


def _refuse_scripts(each: LinkedSide) -> None:
    if each.link.users_script or linkline.user_scripts(linkline.words(each.link.argv)):
        raise FeatureUnsupported(
            f"{each.link.artefact} of {each.system} is linked with a linker script of its own, which decides where its "
            'parts begin, so systems cannot have the same addresses: use layout.couple = "order"'
        )


def _settled(linked: Sequence[LinkedSide], start: Reconciliation, runner: Runner, scratch: Path) -> Reconciliation:
    """Moved until all stretches begin at one address, or nothing that can be done moves them there."""
    adjusting = _Adjusting(list(map(dict, start.adjustments)))
    begins: list[dict[str, int]] = []
    for _round in range(_ROUNDS):
        current = replace(start, adjustments=tuple(map(dict, adjusting.adjustments)))
        begins = [_measured(each, number, current, runner, scratch) for number, each in enumerate(linked)]
        if not adjusting.step(begins):
            break
    first = {name: at for own in reversed(begins) for name, at in own.items()}
    apart = tuple(name for name in first if len({own[name] for own in begins if name in own}) > 1)
    return replace(current, begins=first, apart=apart)


def _measured(each: LinkedSide, number: int, of: Reconciliation, runner: Runner, scratch: Path) -> dict[str, int]:
    """Where each stretch of a side begins in identity order, by the first of its sections."""
    folder = scratch / str(number)
    with cache_errors("make", folder):
        folder.mkdir(exist_ok=True)
    made = link_side(each, number, of, IDENTITY, runner=runner, scratch=folder)
    marks, address, _ = codecheck.placed_addresses(made.binary)
    where = dict(zip(marks.tolist(), address.tolist(), strict=True))
    lost = [n for stretch in made.stretches.values() for n, _ in stretch if n not in where]
    if lost:
        raise FeatureUnsupported(
            f"{each.link.artefact} of {each.system}: {len(lost)} of its sections are not in the link"
        )
    return {name: where[stretch[0][0]] - stretch[0][1] for name, stretch in made.stretches.items() if stretch}


@dataclass
class _Adjusting:
    """What has been tried to have each stretch begin at the same address on all sides.

    Fillers before a stretch move it to where it begins on the side on which it begins last.  Where that moves nothing,
    as for data that ends at a page's end (GNU ld's relro), fillers behind it move it to where it begins first.
    """

    adjustments: list[dict[str, Adjustment]]

    def __post_init__(self) -> None:
        self.tried: dict[str, int] = {}
        self.before: dict[str, tuple[tuple[int, ...], list[dict[str, Adjustment]]]] = {}
        self.given_up: set[str] = set()

    def step(self, begins: Sequence[Mapping[str, int]]) -> bool:
        """Change the adjustments of the first stretch that is not settled; False where there is none to try."""
        common = [name for name in begins[0] if all(name in own for own in begins)]
        in_turn = sorted(common, key=begins[0].__getitem__)
        for number, name in enumerate(in_turn):
            at = [own[name] for own in begins]
            if len(set(at)) > 1 and name not in self.given_up:
                if self._move(name, at):
                    self._forget(in_turn[:number])
                return True
        return False

    def _forget(self, names: Sequence[str]) -> None:
        """What had been put behind these, which the same page's end moves."""
        for name in names:
            if any(own[name].tail for own in self.adjustments):
                for own in self.adjustments:
                    own[name] = replace(own[name], tail=0)
                self.tried.pop(name, None)
                self.before.pop(name, None)

    def _move(self, name: str, at: Sequence[int]) -> bool:
        """Whether it was moved by what is behind it."""
        last, first = max(at), min(at)
        short = tuple(last - each for each in at)
        if last - first > _FARTHEST:
            self.given_up.add(name)
            return False
        tried = self.tried.get(name, 0)
        self.tried[name] = tried + 1
        if tried < _ATTEMPTS and self.before.get(name, ((), []))[0] != short:
            self.before[name] = (short, [dict(own) for own in self.adjustments])
            for own, missing in zip(self.adjustments, short, strict=True):
                own[name] = replace(own[name], head=own[name].head + missing)
        elif tried <= _ATTEMPTS:
            self.tried[name] = _ATTEMPTS + 1
            for own, earlier, where in zip(self.adjustments, self.before[name][1], at, strict=True):
                own[name] = replace(earlier[name], tail=earlier[name].tail + where - first)
            return True
        else:
            self.given_up.add(name)
        return False
