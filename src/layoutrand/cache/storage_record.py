"""Binaries of the cache that are no whole files: the file in the entry, and what its record says of it.

The entry ``binaries/<key>`` of a binary ``prog`` holds ``prog.zst`` then, a delta, and its ``meta.json`` has beside the
rest

    "delta": {"base": "<key of the entry whose whole file it is a delta against>"}

or it holds ``prog.order``, the order that it is written in, and

    "order": {"capture": "<id of the capture that it was learned from>", "image": "<number>/learned-<format>.image"}

The SHA-256 in the record is that of the whole content, as for all others; so it does not matter what is at the place
of the base, if only the content comes out.  The base of a delta is a whole file, always: what is not whole is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from layoutrand.cache.contents import base_at
from layoutrand.cache.learned_program import is_name_of_image, name_of_image
from layoutrand.cache.sealed_records import unsealed
from layoutrand.model import DELTA_EXTENSION, ORDER_EXTENSION, Storage, Stored
from layoutrand.platform.own_file import write_own
from layoutrand.platform.regular_file import PROGRAM, RECORD, content_of_regular

RECORD_OF_BINARY: Final = "meta.json"
CAPTURES: Final = "captures"
CAPTURE_RECORD: Final = "capture.json"
_DELTA: Final = "delta"
_ORDER: Final = "order"
_EXTENSIONS: Final[Mapping[Storage, str]] = {"whole": "", "delta": DELTA_EXTENSION, "order": ORDER_EXTENSION}


class KeptAs(NamedTuple):
    """How a binary is put into the cache; ``base`` is the whole file that a delta or an order is made with."""

    storage: Storage = "whole"
    base: Path | None = None


WHOLE_FILE: Final = KeptAs()


class MadeWith(NamedTuple):
    """The entry with what a binary is made of, by name, and the path of the base in it ("" for the binary's own)."""

    storage: Storage
    entry: str
    path: str = ""


def with_storage(record: Mapping[str, Any], kept: KeptAs) -> dict[str, Any]:
    """The record with how the binary is kept here, instead of what it says of that."""
    storage, base = kept
    known = {name: value for name, value in record.items() if name not in (_DELTA, _ORDER)}
    if storage == "whole" or base is None:
        return known
    if storage == "delta":
        return {**known, _DELTA: {"base": base.parent.name}}
    capture, image = name_of_image(base)
    return {**known, _ORDER: {"capture": capture, "image": image}}


def made_with(record: Mapping[str, Any]) -> MadeWith | None:
    """What the binary with this record is made of; None for a whole file.

    Raises `KeyError`, `TypeError` or `ValueError` where the record is damaged.
    """
    if _DELTA in record:
        return MadeWith("delta", _name_of_entry(record[_DELTA]["base"]))
    if _ORDER not in record:
        return None
    image = record[_ORDER]["image"]
    if not isinstance(image, str) or not is_name_of_image(image):
        raise ValueError(f"{image!r} is no path of what was learned")
    return MadeWith("order", _name_of_entry(record[_ORDER]["capture"]), image)


def _name_of_entry(name: object) -> str:
    if not isinstance(name, str) or name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} is no name of an entry")
    return name


def stored_as(folder: Path, name: str, record: Mapping[str, Any]) -> Stored:
    """Where the content of the binary called ``name`` is, by the record of its entry; raises as `made_with`."""
    made = made_with(record)
    if made is None:
        return Stored(folder / name)
    path = folder / file_name(name, made.storage)
    if made.storage == "delta":
        return Stored(path, folder.parent / made.entry / name)
    return Stored(path, folder.parent.parent / CAPTURES / made.entry / made.path)


def file_name(name: str, storage: Storage) -> str:
    """What the file of the binary called ``name`` is called where it is kept so."""
    return name + _EXTENSIONS[storage]


def file_names(name: str) -> list[str]:
    """All that the file of the binary called ``name`` may be called."""
    return [file_name(name, storage) for storage in _EXTENSIONS]


def record_of_base(stored: Stored) -> Path | None:
    """The record of the entry that has the base; None for a whole file."""
    if stored.base is None:
        return None
    if stored.storage == "delta":
        return stored.base.with_name(RECORD_OF_BINARY)
    return stored.base.parent.parent / CAPTURE_RECORD


def name_in(folder: Path) -> str | None:
    """What the binary in the entry is called; None where it has other files than one binary, however it is kept.

    It has two for a moment, and for longer where who made one of the other was killed then.
    """
    names = sorted(path.name for path in folder.iterdir() if path.name != RECORD_OF_BINARY)
    if len(names) > 1 and set(names) <= set(file_names(names[0])):
        return names[0]
    return names[0].removesuffix(_EXTENSIONS[_storage_in(folder)]) if len(names) == 1 else None


def _storage_in(folder: Path) -> Storage:
    try:
        made = made_with(unsealed(content_of_regular(folder / RECORD_OF_BINARY, largest=RECORD)))
    except (OSError, ValueError, KeyError, TypeError):
        return "whole"
    return "whole" if made is None else made.storage


def write_delta(path: Path, base: Path) -> Path | None:
    """Write what is at the path as a delta against the file ``base``, beside it; None where that gains nothing.

    The delta has the permissions and the times of the file that it stands for, without those to write.  Raises
    `OSError`, and `ToolNotFound` without the library.
    """
    delta = base_at(base).encode(content_of_regular(path, largest=PROGRAM))
    if delta is None:
        return None
    place = path.with_name(file_name(path.name, "delta"))
    write_own([delta], path, place)
    return place
