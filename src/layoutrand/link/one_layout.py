"""Whether a captured link has any layout but identity's."""

from __future__ import annotations

from collections.abc import Sequence

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.config.layout_policy import LayoutPolicy
from layoutrand.errors import FeatureUnsupported
from layoutrand.layout.factors import LINK_ORDER
from layoutrand.layout.groups import MANY, count_layouts, may_differ
from layoutrand.link.lto_division import require_factors
from layoutrand.linkers import link_order


def nothing_to_move(link: CapturedLink, policy: LayoutPolicy) -> str:
    """Why there is nothing in the artefact that a seed could move, or ""."""
    reason = only_one_layout(link, factors=policy.drawn, classes=policy.classes, whole=policy.in_blocks)
    return (
        reason and f"{link.artefact} has {reason}; factors such as text-offset and padding in layout.factors make more"
    )


def layouts_of(links: Sequence[CapturedLink], policy: LayoutPolicy) -> int | None:
    """How many layouts these links can have together at most; None where they are many, or cannot be counted."""
    if policy.couple != "order":  # what lies at the same addresses has gaps, too
        return None
    found = 1
    for link in links:
        if meaningless(link, policy.drawn):
            continue
        own = count_layouts(
            link.sections, link.identity, factors=policy.drawn, classes=policy.classes, whole=policy.in_blocks
        )
        found *= own or MANY + 1
        if found > MANY:
            return None
    return found


def meaningless(link: CapturedLink, factors: Sequence[str]) -> str:
    """Why one of the factors has no meaning for the link, or ""."""
    try:
        require_factors(link.lto, factors, link.artefact)
    except FeatureUnsupported as error:
        return str(error)
    return ""


def only_one_layout(link: CapturedLink, *, factors: Sequence[str], classes: str, whole: bool = False) -> str:
    """Why every seed would give the link the same layout, or "" where some seed would not.

    ``whole`` is as in `draw`.  Also where the factors have no meaning for the link at all: it is refused then, and that
    has a reason of its own.
    """
    if meaningless(link, factors):
        return ""
    if LINK_ORDER in factors and any(len(run) > 1 for run in link_order.runs(link.argv, link.moves.values())):
        return ""
    if may_differ(link.sections, link.identity, factors=factors, classes=classes, whole=whole):
        return ""
    movable = link.movable()
    held = f"{movable} placeable section{'s' if movable > 1 else ''}"
    if LINK_ORDER in factors:
        return f"{held}, and {link_order.NONE_SIDE_BY_SIDE}: there is only one layout"
    if movable > 1:
        apart = ", each class by itself" if classes == "keep" else ""
        held += f", of which no two may change places ({', '.join(factors)}{apart})"
    return f"{held}: there is only one layout"
