"""Warnings of a build that came to its end: the kinds, and the words of each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from layoutrand.build.claims import CODE, LOADED, NOT_COMPARABLE
from layoutrand.cache.sealed_records import RecordState
from layoutrand.model import LayoutName
from layoutrand.warning import AnyWarning

_PROVED: Final = {
    LOADED: "all that is loaded is as it was linked and verified",
    CODE: "its code is as it was linked and verified; of other contents nothing is proved",
    NOT_COMPARABLE: "it cannot be compared with what was linked and verified "
    "(packed, encrypted, or code written anew, as BOLT does?)",
}
_RECORDS: Final[Mapping[RecordState, str]] = {
    "damaged": "the record of what was built with this key was damaged",
    "of another key": "the record of what was built with this key was another build's",
    "without its key": "the record of its build is of an earlier layoutrand and does not say which build it is of",
}
_OF_BOLT: Final = "of BOLT, leave out --reorder-functions"
CHANGED_CLAIMS: Final = tuple(_PROVED)
"""The claims of `layoutrand.build.descent` about a file that is not as the linker left it."""


@dataclass(frozen=True)
class SharedCapture(AnyWarning):
    """Two systems that are one program."""

    system: str
    other: str

    def __str__(self) -> str:
        return f"{self.system}: the same program as {self.other}, so they share a capture and its binaries"


@dataclass(frozen=True)
class LinkedAllTheSame(AnyWarning):
    """An artefact whose layouts were to be written without the linker, and ``linked`` were linked."""

    system: str
    artefact: str
    reason: str
    linked: int

    def __str__(self) -> str:
        layouts = f"layout of {self.artefact} was" if self.linked == 1 else f"layouts of {self.artefact} were"
        return f"{self.system}: {self.linked} {layouts} linked, and not written without the linker: {self.reason}"


@dataclass(frozen=True)
class LearnedAgain(AnyWarning):
    """An artefact of which it was known how its layouts are written without the linker, damaged in the cache."""

    system: str
    artefact: str

    def __str__(self) -> str:
        return (
            f"{self.system}: what was learned of {self.artefact}, to write its layouts without the linker, was damaged "
            "in the cache; learned again"
        )


@dataclass(frozen=True)
class NotBuilt(AnyWarning):
    """Systems that were not built, as one that only flags tell from them failed for what they have in common."""

    systems: tuple[str, ...]
    first: str

    def __str__(self) -> str:
        names = ", ".join(self.systems[:4]) + (f" and {len(self.systems) - 4} more" if len(self.systems) > 4 else "")
        was, them = ("was", "it") if len(self.systems) == 1 else ("were", "them")
        return (
            f"{names} {was} not built: nothing but flags of compilers tells {them} from {self.first}, which failed; "
            "`layoutrand build --keep-going` builds all"
        )


@dataclass(frozen=True)
class CaptureBuiltAgain(AnyWarning):
    """A capture that was in the cache; ``damaged`` is a file of it, None where nothing of it could be read.

    ``record`` is what there was under the key of the build; ``is_built`` is false where an earlier build was kept.
    """

    system: str
    damaged: str | None = None
    record: RecordState = "whole"
    is_built: bool = True

    def __str__(self) -> str:
        what = "missing or damaged" if self.damaged is None else f"damaged on disk ({self.damaged})"
        why = _RECORDS.get(self.record, f"its capture was {what}")
        return f"{self.system}: {why}, so it is {'built' if self.is_built else 'captured'} again{_from(self.is_built)}"


def _from(is_built: bool) -> str:
    return "" if is_built else " from the build that is kept"


@dataclass(frozen=True)
class StockBuiltAgain(AnyWarning):
    """A stock binary that was in the cache; ``is_built`` is false where the build that made it was kept."""

    system: str
    is_built: bool = True

    def __str__(self) -> str:
        made = "built again" if self.is_built else "taken again"
        return f"{self.system}: its cached stock binary was damaged, so it is {made}{_from(self.is_built)}"


@dataclass(frozen=True)
class ReferenceBuiltAgain(AnyWarning):
    """The build of identity in rebuild mode; ``record`` is what there was under the key of the build."""

    system: str
    record: RecordState = "whole"

    def __str__(self) -> str:
        why = _RECORDS.get(self.record, "the record of identity's build was missing or damaged")
        return f"{self.system}: {why}; it is built again"


@dataclass(frozen=True)
class BinaryMadeAgain(AnyWarning):
    """A binary that was in the cache, ``made`` anew: by a link, without one, or by a build in rebuild mode."""

    system: str
    artefact: str
    layout: LayoutName
    made: Literal["linked", "written", "built"]

    def __str__(self) -> str:
        return (
            f"{self.system}: the cached binary of {self.artefact}, layout {self.layout}, was damaged; {self.made} again"
        )


@dataclass(frozen=True)
class RecordedWarning(AnyWarning):
    """What the record of a capture says of an artefact's link."""

    system: str
    artefact: str
    recorded: str

    def __str__(self) -> str:
        return f"{self.system}: {self.artefact}: {self.recorded}"

    @property
    def kind(self) -> Hashable:
        """What was recorded: its class alone has nothing in common."""
        return type(self), self.recorded


@dataclass(frozen=True)
class ChangedAfterLink(AnyWarning):
    """An artefact that is not the linker's own file, in so many layouts; ``claim`` (of `descent`) is what is proved."""

    system: str
    artefact: str
    n_layouts: int
    claim: str

    def __str__(self) -> str:
        proved = _PROVED[self.claim]
        return f"{self.system}: {self.artefact} is changed after its link ({self.n_layouts} layouts): {proved}"


@dataclass(frozen=True)
class OrderedAfterLink(AnyWarning):
    """An artefact in which a step behind the link gave some functions an order that no layout changes.

    Of ``total`` pairs of functions that follow each other, ``fixed`` do so in the files of all layouts, by no link.
    """

    system: str
    artefact: str
    n_layouts: int
    fixed: int
    total: int

    def __str__(self) -> str:
        return (
            f"{self.system}: a step after the link of {self.artefact} orders functions by itself: {self.fixed:,} "
            f"of {self.total:,} pairs that follow each other do so in all {self.n_layouts} layouts, though "
            f"their links parted them. What it orders no layout moves; {_OF_BOLT}"
        )


def undone_by_step(artefact: str, n_layouts: int) -> str:
    """Why layouts of which a step behind the link left nothing are none."""
    return (
        f"a step after the link of {artefact} orders all functions by itself: in the files of all {n_layouts} "
        f"layouts they follow each other alike, though their links parted them; {_OF_BOLT}"
    )
