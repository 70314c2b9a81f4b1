"""Hot functions: which placed sections a profile of the identity binary spends its time in, and who calls whom."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.explain.caches import USUAL, CodeCaches
from layoutrand.explain.data_use import StoreLoads, aliased
from layoutrand.explain.explain_warnings import CostOutside, NothingHot
from layoutrand.instruments.profile import Profile, Segment
from layoutrand.model import Section
from layoutrand.objects import elf
from layoutrand.objects.branches import Branch
from layoutrand.text.mangled import mangled
from layoutrand.warning import AnyWarning

SHARE: Final = 0.99
"""Of the artefact's own cost: the functions that make it up together are hot.

So much, because a function of a few instructions in a hot loop is as much in the way of others as a long one.
"""

WORTH: Final = 0.001
"""Of all cost, in other files as well: a function with less is not hot, however much that is of the artefact's own.

An instruction that misses the first-level cache, or a branch that is foreseen wrongly, costs some twenty times what it
costs else.  So where one in ten does, because of where it lies, such a function changes the whole by 0.2 % at most.
"""

OFTEN: Final = 0.01
"""An instruction belongs to the hot part of its function if it is executed this often, by the most frequent one."""

MOST_OFTEN: Final = 0.5
"""It belongs to the hottest part, as a rule an inner loop, if it is executed this often."""

_CLASSES = re.compile(r"\.text(\.(unlikely|hot|startup|exit|split))?\.(.+)")
_VARIABLES = re.compile(r"\.(?:rodata|data\.rel\.ro\.local|data\.rel\.ro|data\.rel\.local|data\.rel|data|bss)\.(.+)")
_LONGEST: Final = 60


@dataclass(frozen=True)
class HotFunction:
    """One placed section that is hot.

    ``section`` is its index in the capture, ``share`` its part of all that was executed, ``size`` in bytes, and
    ``hot`` the offsets of those of its instructions that are executed often, ``hottest`` of those that are most often,
    both ascending.  ``executed`` has what its instructions cost by offset, ascending; ``branches`` are all of its own.
    """

    section: int
    name: str
    share: float
    size: int
    hot: tuple[int, ...]
    hottest: tuple[int, ...]
    executed: tuple[tuple[int, float], ...] = ()
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True)
class HotPair:
    """Two variables of which one is loaded often shortly after a store to the other.

    ``stored`` and ``loaded`` are their names, ``sections`` their indices in the capture; the distances of ``pairs`` are
    those that they would have if both began at one address.
    """

    stored: str
    loaded: str
    sections: tuple[int, int]
    pairs: StoreLoads

    def met(self, stored: NDArray[np.int64], loaded: NDArray[np.int64]) -> NDArray[np.float64]:
        """Percent of them that are `aliased` where the variables begin at these addresses, shape (layouts,)."""
        often = aliased(self.pairs, (loaded - stored)[:, None]) * self.pairs.count
        return np.asarray(np.round(100 * often.sum(axis=1) / self.pairs.count.sum()), np.float64)


@dataclass(frozen=True)
class Hotness:
    """The hot functions, hottest first; ``calls`` maps pairs of their positions to how often one calls the other.

    ``in_artefact`` is the share of the cost inside the artefact, ``covered`` that inside the hot functions; the rest
    lies in shared libraries and in functions that were left out.  ``caches`` are those of the machine where it is hot.
    ``pairs`` are of variables, where these are placed, too.
    """

    functions: tuple[HotFunction, ...]
    calls: Mapping[tuple[int, int], int] = field(default_factory=dict)
    in_artefact: float = 1.0
    covered: float = 1.0
    caches: CodeCaches = USUAL
    pairs: tuple[HotPair, ...] = ()

    @property
    def sections(self) -> list[int]:
        """Those of the functions, and then of each pair of variables both."""
        return [function.section for function in self.functions] + [n for pair in self.pairs for n in pair.sections]

    def called(self, section: int) -> str:
        """What the function or variable of one of its `sections` is called."""
        names = {function.section: function.name for function in self.functions}
        for pair in self.pairs:
            names |= dict(zip(pair.sections, (pair.stored, pair.loaded), strict=True))
        return names[section]


def segments(file: elf.Elf) -> tuple[Segment, ...]:
    """The sections of the file that hold code."""
    wanted = file.sections[(file.sections["flags"] & elf.SHF_EXECINSTR) != 0]
    return tuple(Segment(int(row["offset"]), int(row["addr"]), int(row["size"])) for row in wanted)


def hot_functions(
    profile: Profile, sections: Sequence[Section], address: NDArray[np.int64], *, most: int, share: float = SHARE
) -> Hotness:
    """The functions that make up ``share`` of the cost in the artefact, but at most ``most``, and none below `WORTH`.

    ``address`` has where each of the ``sections`` lies in the binary that was profiled, shape (n,).
    """
    size = np.array([section.size for section in sections], np.int64)
    place = _Places(address, size)
    cost: dict[int, float] = {}
    inside: dict[int, dict[int, float]] = {}
    for at, value in profile.cost.items():
        owner = place.owner(at)
        if owner is not None:
            cost[owner] = cost.get(owner, 0.0) + value
            inside.setdefault(owner, {})[at - int(address[owner])] = value
    ranked = sorted(cost, key=lambda owner: (-cost[owner], owner))
    in_artefact = sum(profile.cost.values())
    chosen: list[int] = []
    covered = 0.0
    for owner in ranked[:most]:
        if covered >= share * in_artefact or cost[owner] < WORTH * profile.total:
            break
        chosen.append(owner)
        covered += cost[owner]
    names = function_names([sections[owner] for owner in chosen])
    functions = tuple(
        HotFunction(
            section=owner,
            name=name,
            share=cost[owner] / profile.total,
            size=int(size[owner]),
            hot=_often(inside[owner], OFTEN),
            hottest=_often(inside[owner], MOST_OFTEN),
            executed=tuple(sorted(inside[owner].items())),
        )
        for owner, name in zip(chosen, names, strict=True)
    )
    return Hotness(
        functions,
        _calls(profile, place, chosen),
        in_artefact / profile.total if profile.total else 0.0,
        covered / profile.total if profile.total else 0.0,
    )


def cost_elsewhere(hotness: Hotness, artefact: str, others: Sequence[str], program: str = "") -> tuple[AnyWarning, ...]:
    """That no function of the artefact is hot, and that most of the cost lies in other files, where that is so.

    ``others`` and ``program`` are as in `CostOutside`.
    """
    found: list[AnyWarning] = [] if hotness.functions else [NothingHot(artefact, WORTH)]
    if hotness.in_artefact < 0.5:
        found.append(CostOutside(1 - hotness.in_artefact, artefact, tuple(others), program))
    return tuple(found)


def function_names(sections: Sequence[Section], readable: Mapping[str, str] | None = None) -> list[str]:
    """A name for people for each section, no two alike: its function's or variable's, where need be with its object.

    ``readable`` maps symbols (`mangled_of`) to what their programming language calls them.
    """
    plain = [_plain(section, readable or {}) for section in sections]
    counts = Counter(plain)
    named = [
        f"{name} ({section.object})" if counts[name] > 1 else name
        for name, section in zip(plain, sections, strict=True)
    ]
    seen: Counter[str] = Counter()
    for place, name in enumerate(named):
        seen[name] += 1
        if seen[name] > 1:
            named[place] = f"{name} #{seen[name]}"
    return named


def renamed(hotness: Hotness, names: Sequence[str]) -> Hotness:
    """The same with these names for its functions."""
    functions = tuple(replace(f, name=name) for f, name in zip(hotness.functions, names, strict=True))
    return replace(hotness, functions=functions)


def mangled_of(sections: Sequence[Section]) -> list[str]:
    """The symbols of these sections that are `mangled`."""
    return mangled(map(symbol_of, sections))


def symbol_of(section: Section) -> str:
    """The function or variable that a section of its own is named for; "" for another section."""
    function, variable = _CLASSES.fullmatch(section.name), _VARIABLES.fullmatch(section.name)
    if function is not None:
        return function[3]
    return "" if variable is None else variable[1]


class _Places:
    """Which section an address lies in."""

    def __init__(self, address: NDArray[np.int64], size: NDArray[np.int64]) -> None:
        self._size, self._address = size, address
        self._order = np.lexsort((size, address))  # an empty section may have the address of the next one
        self._begin = address[self._order]

    def owner(self, at: int) -> int | None:
        slot = int(np.searchsorted(self._begin, at, side="right")) - 1
        if slot < 0:
            return None
        owner = int(self._order[slot])
        return owner if at - int(self._address[owner]) < int(self._size[owner]) else None


def _often(cost: Mapping[int, float], part: float) -> tuple[int, ...]:
    limit = part * max(cost.values())
    return tuple(sorted(offset for offset, value in cost.items() if value >= limit))


def _calls(profile: Profile, place: _Places, chosen: Sequence[int]) -> dict[tuple[int, int], int]:
    position = {owner: number for number, owner in enumerate(chosen)}
    calls: dict[tuple[int, int], int] = {}
    for (caller, callee), count in profile.calls.items():
        pair = tuple(
            position.get(owner, -1) for owner in (place.owner(caller), place.owner(callee)) if owner is not None
        )
        if len(pair) == 2 and -1 not in pair and pair[0] != pair[1]:
            calls[pair[0], pair[1]] = calls.get((pair[0], pair[1]), 0) + count
    return calls


def _plain(section: Section, readable: Mapping[str, str]) -> str:
    symbol = symbol_of(section)
    if not symbol:
        return f"{section.name} of {section.object}"
    name = readable.get(symbol, symbol)
    if len(name) > _LONGEST:
        name = f"{name[: _LONGEST // 2]}…{name[-_LONGEST // 2 + 1 :]}"
    return f"{name} (cold part)" if section.name.startswith(".text.unlikely.") else name
