"""Packed relocations of the dynamic linker (.relr.dyn): the places of all words that only need the base added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.permute.anchors import NOBODY, Probed
from layoutrand.permute.skeleton import Numbers

_WORD: Final = 8
_BITS: Final = 63
"""Words that one word of bits is for, which the lowest bit says that it is."""

_LAST: Final = 1 << 48


@dataclass(frozen=True)
class Packed:
    """The ``section``, and of each place the anchor that it is moved with and its address in identity."""

    section: int
    home: NDArray[np.int32]
    address: Numbers

    def written(self, shift: Numbers, size: int) -> bytes:
        """The section, of that size, where each anchor is moved so far; raises `NotPermuted` where it has no room."""
        table = packed(np.sort(self.address + shift[self.home]))
        if len(table) > size:
            raise NotPermuted("its packed relocations (.relr.dyn) take more room in this order")
        return table + (1).to_bytes(_WORD, "little") * ((size - len(table)) // _WORD)


def of_file(binary: elf.Elf, section: int, probed: Probed) -> Packed:
    """What the section of identity says; raises `NotPermuted` for places that nothing known has."""
    address = unpacked(binary.content(section))
    home = probed.holder(address)
    if (home == NOBODY).any():
        raise NotPermuted(f"{binary.section_names[section]} has places outside all sections")
    return Packed(section, home.astype(np.int32), address)


def unpacked(content: bytes) -> Numbers:
    """The places that a section of such words stands for; raises `NotPermuted` for what no program can have."""
    if len(content) % _WORD:
        raise NotPermuted("its packed relocations are damaged")
    words = np.frombuffer(content, "<u8")
    found: list[int] = []
    base = 0
    for word in words.tolist():
        if word & 1:
            found += [base + _WORD * bit for bit in range(_BITS) if word >> (bit + 1) & 1]
            base += _BITS * _WORD
        else:
            found.append(word)
            base = word + _WORD
        if base > _LAST:
            raise NotPermuted("its packed relocations are damaged")
    return np.array(found, np.int64)


def packed(places: Numbers) -> bytes:
    """The words for ascending places: one, and as many with bits for those that follow as there are."""
    words: list[int] = []
    rest = places.tolist()
    at = 0
    while at < len(rest):
        words.append(rest[at])
        base = rest[at] + _WORD
        at += 1
        while True:
            bits = 0
            while at < len(rest) and 0 <= rest[at] - base < _BITS * _WORD and (rest[at] - base) % _WORD == 0:
                bits |= 1 << (rest[at] - base) // _WORD
                at += 1
            if not bits:
                break
            words.append(bits << 1 | 1)
            base += _BITS * _WORD
    return np.array(words, "<u8").tobytes()
