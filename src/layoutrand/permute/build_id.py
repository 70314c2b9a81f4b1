"""Build ids: the hash that a linker puts into a file, of that file.

GNU ld hashes the tables without places in the file, and each section's content but those of symbols and names; lld the
file in pieces of 1 MiB, and then the hashes of these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from layoutrand.errors import NotPermuted, ToolNotFound
from layoutrand.objects import elf
from layoutrand.permute.skeleton import SEGMENT, Skeleton

NOTE: Final = ".note.gnu.build-id"
_BEFORE: Final = 16
"""Bytes of the note ahead of the hash."""

_SIZES: Final = {"gnu": {20: "sha1", 16: "md5"}, "lld": {20: "blake3", 16: "blake3", 8: "xxh64"}}
_PIECE: Final = 1 << 20
_PLACES: Final = slice(32, 48)
"""In the header, where the tables are in the file."""


def kind_of(skeleton: Skeleton, version: tuple[int, ...], binary: elf.Elf, emitted: elf.Elf) -> str:
    """How the build id is made; "" where there is none, and where it is not made of the file but given.

    That shows where the ``binary`` with these tables has it, and with --emit-relocs the same: a hash would be of other
    sections. Raises `NotPermuted` for one that is made otherwise, and `ToolNotFound` where a Python package is not
    there.
    """
    if NOTE not in skeleton.names:
        return ""
    number = skeleton.names.index(NOTE)
    if NOTE in emitted.section_names and binary.section_names != emitted.section_names:
        other = emitted.content(emitted.section_names.index(NOTE))
        if binary.content(number) == other:  # --build-id=0x...
            return ""
    size = int(skeleton.sections["size"][number]) - _BEFORE
    known = dict(_SIZES.get(skeleton.linker, {}))
    if skeleton.linker == "lld" and version < _BLAKE3_SINCE:
        known |= {20: "lld-sha1", 16: "lld-md5"}
    if skeleton.linker == "lld" and version >= _XXH3_SINCE:
        known[8] = "xxh3_64"
    if size not in known:
        raise NotPermuted(f"its build id has {size} bytes, and how the linker makes one of these is not known")
    kind = known[size]
    if kind in _PACKAGES:
        _package(kind)
    return kind


_BLAKE3_SINCE: Final = (16,)
_XXH3_SINCE: Final = (17,)
_OLD: Final = {"lld-sha1": "sha1", "lld-md5": "md5"}
_PACKAGES: Final = {"blake3": "blake3", "xxh64": "xxhash", "xxh3_64": "xxhash"}


def put(kind: str, data: bytearray, skeleton: Skeleton) -> None:
    """Write the build id of the whole file into it."""
    if not kind:
        return
    row = skeleton.sections[skeleton.names.index(NOTE)]
    begin, end = int(row["offset"]), int(row["offset"]) + int(row["size"])
    if skeleton.linker == "gnu":
        data[begin + _BEFORE : end] = _of_gnu(kind, data, skeleton)
        return
    data[begin + _BEFORE : end] = bytes(end - begin - _BEFORE)
    data[begin + _BEFORE : end] = _of_lld(kind, data, end - begin - _BEFORE)


def _of_gnu(kind: str, data: bytearray, skeleton: Skeleton) -> bytes:
    made = hashlib.new(kind, usedforsecurity=False)
    header = bytearray(skeleton.header)
    header[24:32] = data[24:32]
    header[_PLACES] = bytes(_PLACES.stop - _PLACES.start)
    made.update(header)
    made.update(skeleton.segments.tobytes())
    sections = skeleton.sections.copy()
    sections["offset"] = 0
    rows, view = sections.tobytes(), memoryview(data)
    size = elf.SECTION.itemsize
    tables = (elf.SHT_SYMTAB, elf.SHT_SYMTAB_SHNDX)
    last = {int(row["link"]) for row in skeleton.sections if int(row["type"]) == elf.SHT_SYMTAB}
    names = int.from_bytes(data[62:64], "little")
    for number, row in enumerate(skeleton.sections):
        made.update(rows[number * size : (number + 1) * size])
        if int(row["type"]) in tables or number in last or number == names:
            continue
        begin = int(row["offset"])
        content = view[begin : begin + int(skeleton.stored[number])]
        made.update(bytes(len(content)) if skeleton.names[number] == NOTE else content)
    return made.digest()


def _of_lld(kind: str, data: bytearray, size: int) -> bytes:
    one = _hash(kind, size)
    view = memoryview(data)
    return one(b"".join([one(view[at : at + _PIECE]) for at in range(0, len(data), _PIECE)]))


def _hash(kind: str, size: int) -> Callable[[Any], bytes]:
    if kind in _OLD:
        return lambda part: hashlib.new(_OLD[kind], part, usedforsecurity=False).digest()
    package = _package(kind)
    if kind == "blake3":
        return lambda part: bytes(package.blake3(part).digest(size))
    number = getattr(package, f"{kind}_intdigest")
    return lambda part: int(number(part)).to_bytes(8, "little")


def _package(kind: str) -> Any:
    name = _PACKAGES[kind]
    try:
        return import_module(name)
    except ImportError as error:
        raise ToolNotFound(
            f"its build id is a hash of kind {kind}, and the Python package {name} is not installed "
            "(pip install 'layoutrand[permute]'; or link with --build-id=none)"
        ) from error


assert SEGMENT.itemsize == 56  # what is hashed of it is what stands in the file
