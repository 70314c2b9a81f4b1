"""Binaries of the cache that are kept as deltas: the file in the entry, and what its record says of it.

The entry ``binaries/<key>`` of a binary ``prog`` holds ``prog.zst`` then, and its ``meta.json`` has beside the rest

    "delta": {"base": "<key of the entry whose whole file it is a delta against>"}

The SHA-256 in the record is that of the whole content, as for all others; so it does not matter what is at the place
of the base, if only the content comes out.  A base is a whole file, always: an entry that is a delta is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from layoutrand.cache.contents import base_at
from layoutrand.cache.delta import EXTENSION
from layoutrand.cache.sealed_records import unsealed
from layoutrand.model import Stored
from layoutrand.platform.own_file import write_own
from layoutrand.platform.regular_file import PROGRAM, RECORD, content_of_regular

RECORD_OF_BINARY: Final = "meta.json"
DELTA: Final = "delta"
_BASE: Final = "base"


def about_delta(base: Path) -> dict[str, str]:
    """What the record of a delta has under `DELTA`; ``base`` is the whole file in its entry of the cache."""
    return {_BASE: base.parent.name}


def base_key(record: Mapping[str, Any]) -> str | None:
    """The key of the entry that the binary with this record is a delta against; None for a whole file.

    Raises `KeyError`, `TypeError` or `ValueError` where the record is damaged.
    """
    if DELTA not in record:
        return None
    key = record[DELTA][_BASE]
    if not isinstance(key, str) or key in {"", ".", ".."} or "/" in key or "\0" in key:
        raise ValueError(f"{key!r} is no key of an entry")
    return key


def stored_as(folder: Path, name: str, record: Mapping[str, Any]) -> Stored:
    """Where the content of the binary called ``name`` is, by the record of its entry; raises as `base_key`."""
    key = base_key(record)
    if key is None:
        return Stored(folder / name)
    return Stored(folder / (name + EXTENSION), folder.parent / key / name)


def name_in(folder: Path) -> str | None:
    """What the binary in the entry is called; None where it has other files than one binary, whole or as a delta.

    It has both for a moment, and for longer where who made one of the other was killed then.
    """
    names = sorted(path.name for path in folder.iterdir() if path.name != RECORD_OF_BINARY)
    if len(names) == 2 and names[1] == names[0] + EXTENSION:
        return names[0]
    if len(names) != 1:
        return None
    return names[0].removesuffix(EXTENSION) if _is_delta(folder) else names[0]


def _is_delta(folder: Path) -> bool:
    try:
        return base_key(unsealed(content_of_regular(folder / RECORD_OF_BINARY, largest=RECORD))) is not None
    except (OSError, ValueError, KeyError, TypeError):
        return False


def write_delta(path: Path, base: Path) -> Path | None:
    """Write what is at the path as a delta against the file ``base``, beside it; None where that gains nothing.

    The delta has the permissions and the times of the file that it stands for, without those to write.  Raises
    `OSError`, and `ToolNotFound` without the library.
    """
    delta = base_at(base).encode(content_of_regular(path, largest=PROGRAM))
    if delta is None:
        return None
    place = path.with_name(path.name + EXTENSION)
    write_own([delta], path, place)
    return place
