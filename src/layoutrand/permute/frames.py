"""The tables for unwinding: fields of .eh_frame, and its sorted header."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.permute.anchors import Probed
from layoutrand.permute.fields import Candidates, Form, candidates, words
from layoutrand.permute.skeleton import Numbers

_ABSENT: Final = 0xFF
_FIELD: Final = 0x1B
"""A distance from the field itself, of 32 bits with a sign."""

_ADDRESS: Final = 0x03
"""An address of 32 bits, as where programs lie at a fixed one."""

_INDIRECT: Final = 0x80
_LONG: Final = 0xFFFFFFFF
_HEADER: Final = b"\x01\x1b\x03\x3b"
_ENTRY: Final = np.dtype([("code", "<i4"), ("frame", "<i4")])
_TABLE: Final = 12
"""Where the sorted table begins in the header."""


@dataclass(frozen=True)
class _Common:
    """What a CIE says: the form of its frames' second field, and of its own, and where that is (0: none)."""

    data: int
    form: int
    routine: int


class _Reader:
    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    def take(self, size: int) -> int:
        if self.at + size > self.end:
            raise NotPermuted("an entry of .eh_frame is cut short")
        value = int.from_bytes(self.data[self.at : self.at + size], "little")
        self.at += size
        return value

    def leb(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def text(self) -> bytes:
        found = self.data.find(b"\0", self.at, self.end)
        if found < 0:
            raise NotPermuted("an entry of .eh_frame is cut short")
        text, self.at = self.data[self.at : found], found + 1
        return text


def _common(reader: _Reader) -> _Common:
    version = reader.take(1)
    text = reader.text()
    if version not in (1, 3) or not text.startswith(b"z") or text.strip(b"zPLRS"):
        raise NotPermuted("an entry of .eh_frame is of a form that is not known")
    reader.leb()
    reader.leb()
    if version == 1:
        reader.take(1)
    else:
        reader.leb()
    reader.leb()
    routine, form, data, pointers = 0, _FIELD, _ABSENT, None
    for letter in text[1:].decode():
        if letter == "P":
            form = reader.take(1) & ~_INDIRECT
            routine = reader.at
            reader.take(4)
        elif letter == "L":
            data = reader.take(1)
        elif letter == "R":
            pointers = reader.take(1)
    if pointers != _FIELD or data not in (_ABSENT, _FIELD, _ADDRESS) or form not in (_FIELD, _ADDRESS):
        raise NotPermuted("pointers in .eh_frame are of a form that is not known")
    return _Common(data, form, routine)


def fields_of(binary: elf.Elf, section: int, probed: Probed) -> tuple[list[Candidates], Numbers, Numbers]:
    """Fields of .eh_frame, and of each frame its offset and that of the field with the code that it is of."""
    data = binary.content(section)
    known: dict[int, _Common] = {}
    frames, begins = [], []
    pointers: dict[int, list[int]] = {_FIELD: [], _ADDRESS: []}
    at = 0
    while at + 4 <= len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        if size == 0:
            at += 4
            continue
        if size == _LONG or at + 4 + size > len(data):
            raise NotPermuted("an entry of .eh_frame is too long")
        reader = _Reader(data, at + 4, at + 4 + size)
        of = reader.take(4)
        if of == 0:
            known[at] = _common(reader)
            if known[at].routine:
                pointers[known[at].form].append(known[at].routine)
        else:
            common = known.get(at + 4 - of)
            if common is None:
                raise NotPermuted("an entry of .eh_frame is of none that is known")
            frames.append(at)
            begins.append(reader.at)
            reader.take(8)
            if common.data != _ABSENT and reader.leb() and reader.take(4):
                pointers[common.data].append(reader.at - 4)
        at += 4 + size
    parts = [
        candidates(probed, section, np.array(sorted(offsets), np.int64), Form(wide=False, relative=form == _FIELD))
        for form, offsets in ((_FIELD, begins + pointers[_FIELD]), (_ADDRESS, pointers[_ADDRESS]))
        if offsets
    ]
    return parts, np.array(frames, np.int64), np.array(begins, np.int64)


@dataclass(frozen=True)
class SortedHeader:
    """The ``header`` of .eh_frame and that itself, ``frames``, by the numbers of their sections.

    Of each entry the place of the frame's field with its code, and the frame's offset.
    """

    header: int
    frames: int
    field: Numbers
    offset: Numbers

    def written(self, begin: Numbers, address: int, frames: int) -> bytes:
        """The table for frames whose code begins there; header and .eh_frame have these addresses."""
        order = np.argsort(begin, kind="stable")
        table = np.empty(len(order), _ENTRY)
        table["code"] = begin[order] - address
        table["frame"] = self.offset[order] + frames - address
        return table.tobytes()


def sorted_header(binary: elf.Elf, header: int, section: int, frames: Numbers, begins: Numbers) -> SortedHeader:
    """What the header of identity is made of; raises `NotPermuted` for one of another form."""
    content = binary.content(header)
    if content[:4] != _HEADER or (len(content) - _TABLE) % _ENTRY.itemsize:
        raise NotPermuted(".eh_frame_hdr is of a form that is not known")
    table = np.frombuffer(content, _ENTRY, offset=_TABLE)
    address = int(binary.sections["addr"][section])
    offset = table["frame"].astype(np.int64) + int(binary.sections["addr"][header]) - address
    which = np.searchsorted(frames, offset)
    if len(frames) == 0 or (which >= len(frames)).any() or (frames[which] != offset).any():
        raise NotPermuted(".eh_frame_hdr has entries of other frames than .eh_frame")
    begin = int(binary.sections["offset"][section])
    field = begin + begins[which]
    code = words(binary.data, field, wide=False) + address + begins[which]
    if len(np.unique(code)) != len(code):
        raise NotPermuted("two frames are of one place")
    return SortedHeader(header, section, field, offset)
