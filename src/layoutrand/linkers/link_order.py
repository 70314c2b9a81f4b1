"""The factor ``link-order``: the object files themselves change places on the link line.

This is what studies did before sections could be ordered, and it changes more than places: which copy of a COMDAT
function is kept, the order of static constructors, and the order of data.  So it is a factor of its own, never a
default.  Objects move only inside an unbroken run of objects: nothing crosses an archive, a library or an option.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.errors import CodeChanged, FeatureUnsupported, LayoutNotApplied
from layoutrand.layout.factors import LINK_ORDER
from layoutrand.layout.keyed import keyed_order
from layoutrand.linkers import linkline
from layoutrand.model import Section
from layoutrand.objects.kinds import PLAIN, is_code

NONE_SIDE_BY_SIDE: Final = (
    "no two object files stand side by side on the link line (they come in archives), so none can be moved; "
    "module-order moves the members of archives too"
)


@dataclass(frozen=True)
class Moved:
    """A link line with its objects in another order; ``objects`` names all that may move, in their new order."""

    argv: tuple[str, ...]
    objects: tuple[str, ...]


def move(argv: Sequence[str], movable: Sequence[str], seed: int) -> Moved:
    """The link line with each run of ``movable`` inputs in the order of the seed.

    Raises `FeatureUnsupported` where no two of them stand side by side.
    """
    line = linkline.words(argv)
    may = set(movable)
    found = runs(argv, may)
    if all(len(run) < 2 for run in found):
        raise FeatureUnsupported(f"{LINK_ORDER}: {NONE_SIDE_BY_SIDE}")
    moved = list(line)
    for run in found:
        names = [line[place].text.encode("utf-8", "surrogateescape") for place in run]
        for place, which in zip(run, keyed_order(seed, LINK_ORDER, names), strict=True):
            moved[place] = line[run[which]]
    return Moved(
        tuple(text for word in moved for text in word.argv()),
        tuple(word.text for word in moved if word.kind == "input" and word.text in may),
    )


def runs(argv: Sequence[str], movable: Iterable[str]) -> list[list[int]]:
    """The runs of ``movable`` inputs that stand side by side: their places among the words of the line."""
    may = set(movable)
    found: list[list[int]] = [[]]
    for place, word in enumerate(linkline.words(argv)):
        if word.kind == "input" and word.text in may:
            found[-1].append(place)
        elif found[-1]:
            found.append([])
    return found


def check_presence(sections: Sequence[Section], identity: Sequence[int], found: Sequence[int]) -> None:
    """The same sections as in identity, except that another object may contribute a COMDAT one.

    Raises `CodeChanged` naming the first that is missing or new.
    """
    before, after = (Counter(_what(sections[i]) for i in which) for which in (identity, found))
    for word, lost in (("lacks", before - after), ("has", after - before)):
        if lost:
            name, owner = next(iter(lost))
            other = "identity has" if word == "lacks" else "identity has not"
            raise CodeChanged(f"the binary {word} {name} of {owner}, which {other}")


def _what(section: Section) -> tuple[str, str]:
    return section.name, f"group {section.group}" if section.group else f"{section.object} #{section.occurrence}"


def check_order(
    sections: Sequence[Section], owners: Sequence[str], achieved: Sequence[int], moved: Moved, *, by_class: bool
) -> None:
    """Sections stand in the order of their objects on the line; those of one object as that object has them.

    ``owners`` names each section's input as `Moved.objects` does. Raises `LayoutNotApplied` naming the first pair
    that is the wrong way round.
    """
    rank = {name: place for place, name in enumerate(moved.objects)}
    last: dict[str, int] = {}
    for index in achieved:
        section = sections[index]
        place = rank.get(owners[index])
        if place is None:
            continue
        region = section.kind if by_class or not is_code(section.kind) else PLAIN
        before = last.get(region)
        if before is not None and (rank[owners[before]], before) > (place, index):
            first = sections[before]
            raise LayoutNotApplied(
                f"{first.name} of {first.object} stands before {section.name} of {section.object}, but their objects "
                "stand the other way round on the link line"
            )
        last[region] = index
