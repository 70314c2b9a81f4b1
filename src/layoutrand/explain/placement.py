"""Where code would lie in layouts that nobody has linked: placed as a linker places it, held against those linked.

Within an output section a linker puts one section behind the other, each where its alignment next allows.  So the order
of a seed, the sizes and the alignments say where everything begins, as long as nothing else lies between.  Whether that
is so is not assumed: identity and every layout that was measured must lie exactly where this says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.config.layout_policy import LayoutPolicy
from layoutrand.errors import FeatureUnsupported
from layoutrand.layout.factors import LINK_ORDER, LINKER_SHUFFLE
from layoutrand.linkers.known import linker
from layoutrand.model import LayoutName
from layoutrand.objects.kinds import family, is_code

_AT_ONCE: Final = 200
"""Layouts, so that what is in memory stays small where a program has hundreds of thousands of sections."""

Addresses = NDArray[np.int64]


class CodePlacement:
    """Places the code of one captured link by one layout policy.

    ``identity`` has the address of each section in identity's layout, shape (sections,), -1 for one that is not in it.
    Raises `FeatureUnsupported` where orders are not layoutrand's own.
    """

    def __init__(self, link: CapturedLink, policy: LayoutPolicy, identity: Addresses) -> None:
        """Of this link and policy."""
        foreign = sorted({LINK_ORDER, LINKER_SHUFFLE} & set(policy.drawn))
        if foreign or linker(link.linker).own_objects:
            why = (
                f"layout.factors has {foreign[0]}, which leaves" if foreign else f"{link.linker} is a linker that keeps"
            )
            raise FeatureUnsupported(f"{why} the order to itself: where code would lie is not known before a link")
        if policy.by_address:
            raise FeatureUnsupported('layout.couple = "address" has all systems agree on addresses: they are no draw')
        self._link, self._policy = link, policy
        self._size = np.array([section.size for section in link.sections], np.int64)
        self._align = np.maximum(np.array([section.align for section in link.sections], np.int64), 1)
        self._slots = np.array(
            [slot for slot, i in enumerate(link.identity) if is_code(link.sections[i].kind)], np.int64
        )
        families = [family(link.sections[link.identity[slot]].kind) for slot in self._slots.tolist()]
        names = {name: number for number, name in enumerate(dict.fromkeys(families))}
        self._family = np.array([names[name] for name in families], np.int64)
        first = [self._slots[int(np.argmax(self._family == number))] for number in range(len(names))]
        self._begin = identity[[link.identity[slot] for slot in first]]

    def starts(self, layouts: Sequence[LayoutName], wanted: Sequence[int]) -> Addresses:
        """The address of each of the ``wanted`` sections in each layout, shape (layouts, wanted)."""
        parts = [self._placed(layouts[k : k + _AT_ONCE], wanted) for k in range(0, len(layouts), _AT_ONCE)]
        return np.concatenate(parts) if parts else np.empty((0, len(wanted)), np.int64)

    def check(self, layouts: Sequence[LayoutName], linked: Addresses, wanted: Sequence[int]) -> None:
        """Raise `FeatureUnsupported` unless what was ``linked``, shape (layouts, wanted), lies as `starts` has it."""
        differs = np.flatnonzero((self.starts(layouts, wanted) != linked).any(axis=1))
        if differs.size:
            raise FeatureUnsupported(
                f"{differs.size} of {len(layouts)} linked layouts of {self._link.artefact} (the first is "
                f"{layouts[int(differs[0])]}) do not lie where sizes and alignments put them: where code would lie "
                "in others is not known"
            )

    def _placed(self, layouts: Sequence[LayoutName], wanted: Sequence[int]) -> Addresses:
        drawn = [self._policy.draw(self._link.sections, self._link.identity, name) for name in layouts]
        order = np.array([each.order for each in drawn], np.int64)[:, self._slots]
        gaps = np.array([each.gaps or (0,) * len(each.order) for each in drawn], np.int64)[:, self._slots]
        size, align = self._size[order], self._align[order]
        at = np.empty_like(order)
        for number, begin in enumerate(self._begin.tolist()):
            cursor = np.full(len(layouts), begin, np.int64)
            for column in np.flatnonzero(self._family == number).tolist():
                cursor = -(-(cursor + gaps[:, column]) // align[:, column]) * align[:, column]
                at[:, column] = cursor
                cursor = cursor + size[:, column]
        result = np.full((len(layouts), len(self._size)), -1, np.int64)
        np.put_along_axis(result, order, at, axis=1)
        return result[:, list(wanted)]
