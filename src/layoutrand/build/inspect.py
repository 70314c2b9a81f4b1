"""`layoutrand inspect`: the order asked for, the order achieved, and how far two layouts are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from layoutrand.build.claims import AS_LINKED
from layoutrand.cache.capture_record import CapturedLink
from layoutrand.cache.contents import content_of
from layoutrand.config.config import Config
from layoutrand.errors import FeatureUnsupported
from layoutrand.layout.distance import adjacent_kept, kendall_tau, relative_order
from layoutrand.layout.factors import LINK_ORDER, LINKER_SHUFFLE
from layoutrand.link import codecheck
from layoutrand.link.program_places import addresses_by_name
from layoutrand.linkers.known import linker
from layoutrand.model import IDENTITY, STOCK, Binary, Coincidence, LayoutName, Stored
from layoutrand.objects import elf


@dataclass(frozen=True)
class InspectedSection:
    """One section of a binary: its slot, where it lies, and what it is."""

    slot: int
    address: int
    size: int
    object: str
    section: str
    kind: str
    pinned: bool


@dataclass(frozen=True)
class Distance:
    """How far a binary's order is from another layout's: Kendall's tau and neighbours kept (of n - 1).

    ``movable_tau`` and ``movable_kept`` are the same over the sections that can move alone.
    """

    other: LayoutName
    kendall_tau: float
    adjacent_kept: int
    movable_tau: float
    movable_kept: int


@dataclass(frozen=True)
class Inspection:
    """One binary's layout.

    ``order`` has the numbers of the sections ``placed`` in the capture.  ``wrong_slots`` counts slots that hold another
    section than asked for (0 if verified); ``post_processed`` is how much of what was linked is in the file, and
    ``coincidence`` what lies where other systems have it, as in `Verification`; ``engine`` who made it, as in `Binary`,
    as ``path`` and ``base`` are.  Where something else than the seed decided the order, so that none was asked for,
    ``not_drawn`` says what.
    """

    system: str
    artefact: str
    layout: LayoutName
    path: Path
    sha256: str
    factors: tuple[str, ...]
    classes: str
    wrong_slots: int
    post_processed: str
    placed: tuple[InspectedSection, ...]
    order: tuple[int, ...]
    distances: tuple[Distance, ...]
    coincidence: Coincidence | None = None
    engine: str = "link"
    base: Path | None = None
    not_drawn: str = ""

    @property
    def n_movable(self) -> int:
        """How many sections a seed may move."""
        return sum(not section.pinned for section in self.placed)


def inspect(
    config: Config, link: CapturedLink, binary: Binary, others: list[LayoutName], kept: Sequence[int] | None = None
) -> Inspection:
    """Read the order off the binary itself and compare it with the one asked for and with other layouts.

    A file that its build changed after the link may carry no marks any more: then the order is that of the addresses
    ``kept`` when its link was verified inside the build, in capture order.
    """
    if binary.layout == STOCK:
        raise FeatureUnsupported("stock is your own build: its sections carry no marks to read an order from")
    proof = binary.verification
    post_processed = proof.post_processed if proof else AS_LINKED
    if linker(link.linker).own_objects:
        file = elf.read(content_of(binary.stored), name=str(binary.path))
        number = np.arange(len(link.sections))
        address = addresses_by_name(file, [section.name for section in link.sections])
    elif post_processed == AS_LINKED or kept is None:
        file = elf.read(content_of(binary.stored), name=str(binary.path))
        number, address, _section = codecheck.of_capture(codecheck.placed_addresses(file), len(link.sections))
    else:
        number, address = np.arange(len(kept)), np.array(kept, np.int64)
    achieved = codecheck.placed_order(number, address)
    policy = config.layout
    factors, classes = policy.drawn, policy.classes

    not_drawn = next(
        (f"with {factor} the linker decides" for factor in (LINK_ORDER, LINKER_SHUFFLE) if factor in factors), None
    )
    if policy.by_address:
        not_drawn = "what the systems share, and not the seed alone, decides"

    def order(name: LayoutName) -> tuple[int, ...]:
        if not_drawn and name == binary.layout:
            return tuple(achieved.tolist())  # section by section nothing was asked for; the binary was verified
        if not_drawn and name != IDENTITY:
            raise FeatureUnsupported(
                f"{not_drawn} the order of layout {name}: it is known from that layout's own "
                f"binary alone, so there is no distance from layout {binary.layout} to it"
            )
        return policy.draw(link.sections, link.identity, name).order

    asked = order(binary.layout)
    where = dict(zip(number.tolist(), address.tolist(), strict=True))
    return Inspection(
        system=binary.system,
        artefact=binary.artefact,
        layout=binary.layout,
        path=binary.path,
        base=binary.base,
        sha256=binary.sha256,
        factors=factors,
        classes=classes,
        wrong_slots=sum(a != b for a, b in zip(asked, achieved.tolist(), strict=True)),
        post_processed=post_processed,
        placed=tuple(_placed(link, slot, index, where[index]) for slot, index in enumerate(achieved.tolist())),
        order=tuple(achieved.tolist()),
        distances=tuple(_distance(link, other, order(other), achieved.tolist()) for other in others),
        coincidence=proof.coincidence if proof else None,
        engine=binary.engine,
        not_drawn=not_drawn if not_drawn and binary.layout != IDENTITY else "",
    )


def _distance(link: CapturedLink, other: LayoutName, order: Sequence[int], achieved: Sequence[int]) -> Distance:
    """Over the sections that both have: all of them, unless objects moved and other COMDAT copies were chosen."""
    both = relative_order(order, achieved)
    movable = [[number for number in side if not link.sections[number].pinned] for side in (order, achieved)]
    moved = relative_order(*movable)
    return Distance(other, kendall_tau(*both), adjacent_kept(*both), kendall_tau(*moved), adjacent_kept(*moved))


def _placed(link: CapturedLink, slot: int, index: int, address: int) -> InspectedSection:
    section = link.sections[index]
    return InspectedSection(slot, address, section.size, section.object, section.name, section.kind, section.pinned)


def inspect_document(result: Inspection) -> dict[str, Any]:
    """``layoutrand/inspect/1``."""
    return {
        "schema": "layoutrand/inspect/1",
        "system": result.system,
        "artefact": result.artefact,
        "seed": result.layout,
        "path": str(result.path),
        "storage": Stored(result.path, result.base).storage,
        "base": None if result.base is None else str(result.base),
        "sha256": result.sha256,
        "factors": list(result.factors),
        "classes": result.classes,
        "wrong_slots": result.wrong_slots,
        "post_processed": result.post_processed,
        "engine": result.engine,
        "sections": [vars(placed) for placed in result.placed],
        "distances": [
            {
                "seed": d.other,
                "kendall_tau": d.kendall_tau,
                "adjacent_kept": d.adjacent_kept,
                "movable": {
                    "sections": result.n_movable,
                    "kendall_tau": d.movable_tau,
                    "adjacent_kept": d.movable_kept,
                },
            }
            for d in result.distances
        ],
        "coincidence": None if result.coincidence is None else asdict(result.coincidence),
    }
