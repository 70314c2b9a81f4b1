"""Fields: words of a file that hold an address, or the distance to one, and what that leads to.

A field is changed by how far its target is moved, less how far it is moved itself where it holds a distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import NotPermuted
from layoutrand.permute.anchors import FIXED, NOBODY, Geometry, Probed
from layoutrand.permute.skeleton import Numbers

WORD: Final = 8
HALF: Final = 4


@dataclass(frozen=True)
class Fields:
    """All of a file by ascending place in identity; shape (n,).

    Each is ``wide`` (64 bits) or not (32), holds a distance from where it stands itself or (``home`` `FIXED`) an
    address, and leads to the anchor ``target``.
    """

    place: Numbers
    wide: NDArray[np.bool_]
    home: NDArray[np.int32]
    target: NDArray[np.int32]


@dataclass(frozen=True)
class Candidates:
    """Words of identity that may be fields; all shape (m,).

    ``place`` in the file, ``address`` where it is loaded, ``home`` the anchor that it is moved with, whether it is
    ``wide`` and ``relative``, the address that it leads to is ``behind`` so many bytes of what it says; ``hint`` is the
    anchor of what it is known to lead to, or of the section of that, or `NOBODY`.  What is ``loose`` may as well hold a
    constant.
    """

    place: Numbers
    address: Numbers
    home: Numbers
    wide: NDArray[np.bool_]
    relative: NDArray[np.bool_]
    behind: Numbers
    hint: Numbers
    loose: NDArray[np.bool_]


def together(parts: Sequence[Candidates]) -> Candidates:
    """All of them."""
    return Candidates(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Candidates)))


@dataclass(frozen=True)
class Form:
    """What some candidates have in common, as `Candidates` has it."""

    wide: bool
    relative: bool
    behind: int = 0
    loose: bool = False


ADDRESS: Final = Form(wide=True, relative=False)
DISTANCE: Final = Form(wide=False, relative=True)


def candidates(probed: Probed, section: int, offset: Numbers, form: Form, hint: Numbers | None = None) -> Candidates:
    """Words of one section of identity, at these offsets."""
    identity = probed.identity
    skeleton = identity.skeleton
    begin = int(skeleton.sections["addr"][section])
    address = begin + offset
    count = len(offset)
    placed = section in skeleton.homes
    home = probed.home(address, section) if placed else np.full(count, identity.section(section), np.int64)
    return Candidates(
        place=int(skeleton.sections["offset"][section]) + offset,
        address=address,
        home=home,
        wide=np.full(count, form.wide),
        relative=np.full(count, form.relative),
        behind=np.full(count, form.behind, np.int64),
        hint=np.full(count, NOBODY, np.int64) if hint is None else hint,
        loose=np.full(count, form.loose),
    )


def words(data: bytes | bytearray, place: Numbers, *, wide: bool) -> Numbers:
    """Numbers with a sign that stand at these places of a file."""
    size, kind = (WORD, "<i8") if wide else (HALF, "<i4")
    if not len(place):
        return np.empty(0, np.int64)
    if int(place.min()) < 0 or int(place.max()) + size > len(data):
        raise NotPermuted("a word of it lies outside its file")
    all_ = np.ndarray((len(data) - size + 1,), kind, data, strides=(1,))
    return np.asarray(all_[place], np.int64)


def settle(probed: Probed, found: Candidates, images: Sequence[bytes], names: Sequence[str]) -> Fields:
    """Which words are fields, and what each leads to; ``images`` are identity and the probes.

    ``names`` are the names of the sections.  Raises `NotPermuted` for a word that does not move as anything does.
    """
    relative = np.where(found.relative, found.address, 0)
    homes = np.where(found.relative, found.home, FIXED)
    raw = np.empty((len(found.place), len(images)), np.int64)
    layouts = (probed.identity, *probed.probes)
    at_first = probed.identity.places(probed.pieces.section)
    for column, (image, geometry) in enumerate(zip(images, layouts, strict=True)):
        place = found.place + (geometry.places(probed.pieces.section) - at_first)[found.home]
        for wide in (False, True):
            which = found.wide == wide
            raw[which, column] = words(image, place[which], wide=wide)
    said = raw[:, 0] + relative
    moved = raw[:, 1:] - raw[:, :1] + probed.shifts[homes]
    narrow = ~found.wide & ~found.relative  # an address of 32 bits has no sign
    said = np.where(narrow, said & 0xFFFFFFFF, said)
    target = probed.settle(said + found.behind, moved, found.hint)
    same = (raw == raw[:, :1]).all(axis=1)
    wrong = (target == NOBODY) & ~(found.loose & same)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        where = place_words(probed.identity, int(found.place[row]), names)
        raise NotPermuted(f"where the word at {where} leads cannot be told")
    moving = (target != NOBODY) & ~((target == FIXED) & (homes == FIXED)) & ~(found.loose & same & (target == FIXED))
    order = np.flatnonzero(moving)[np.argsort(found.place[moving], kind="stable")]
    place = found.place[order]
    if (np.diff(place) < np.where(found.wide[order][:-1], WORD, HALF)).any():
        row = int(np.flatnonzero(np.diff(place) < np.where(found.wide[order][:-1], WORD, HALF))[0])
        raise NotPermuted(f"two words at {place_words(probed.identity, int(place[row]), names)} overlap")
    return Fields(place, found.wide[order], homes[order].astype(np.int32), target[order].astype(np.int32))


def place_words(identity: Geometry, place: int, names: Sequence[str]) -> str:
    """Where in the file that is, in words."""
    sections, stored = identity.skeleton.sections, identity.skeleton.stored
    begin = sections["offset"].astype(np.int64)
    inside = np.flatnonzero((begin <= place) & (place < begin + stored))
    if not len(inside):
        return f"byte {place}"
    return f"byte {place - int(begin[inside[0]])} of {names[int(inside[0])]}"


@dataclass(frozen=True)
class Ready:
    """The fields of one width: what identity has there is ``old``, and ``within`` what each one's place moves with."""

    place: Numbers
    within: NDArray[np.int32]
    home: NDArray[np.int32]
    target: NDArray[np.int32]
    old: Numbers
    wide: bool


def ready(found: Fields, image: bytes, within: NDArray[np.int32]) -> tuple[Ready, ...]:
    """The fields of identity's ``image``, by width; ``within`` is the anchor that each one's place moves with."""
    parts = []
    for wide in (True, False):
        which = found.wide == wide
        place = found.place[which]
        if len(place):
            old = words(image, place, wide=wide)
            parts.append(Ready(place, within[which], found.home[which], found.target[which], old, wide))
    return tuple(parts)


def apply(out: bytearray, found: Sequence[Ready], shift: Numbers, moved: Numbers) -> None:
    """Write the fields of a layout that moves the address of each anchor so far, and its place by what is ``moved``.

    Raises `NotPermuted` where a distance does not fit.
    """
    for each in found:
        kind, size = ("<i8", WORD) if each.wide else ("<i4", HALF)
        new = each.old + (shift[each.target] - shift[each.home])
        written = new.astype(kind)
        if not each.wide and (new != written).any():
            address = each.home == FIXED
            unsigned = address & (new == (written.astype(np.int64) & 0xFFFFFFFF))
            if not ((new == written) | unsigned).all():
                raise NotPermuted("a distance in it does not fit its field any more")
        np.ndarray((len(out) - size + 1,), kind, out, strides=(1,))[each.place + moved[each.within]] = written
