"""Instruction sets, as far as a link changes instructions: which bits of a section a linker may write.

Each processor is a module of `layoutrand.objects.known`.  What is not in its table is an error and never a guess: a
field taken too wide would hide changed code.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import FeatureUnsupported
from layoutrand.objects.branches import Branch
from layoutrand.objects.elf import PROCESSORS, RELA, Table, relocation_types
from layoutrand.objects.reading import Numbers, Read, Readings, Relocations, Windows, Words

_LONGEST: Final = 32
"""Bytes; no field or rewritten instruction reaches so far past a section's end."""


class Processor(ABC):
    """One instruction set."""

    machine: ClassVar[str]
    """As `layoutrand.objects.elf.Elf.machine` has it."""

    number: ClassVar[int]
    """``e_machine`` in the header of an ELF file."""

    fields: ClassVar[Mapping[int, bytes]]
    """Relocation type -> the bits that it writes, from its offset on, as a mask of bytes.

    Only what may stand in an object; the dynamic linker's own types do not.
    """

    from_behind: ClassVar[frozenset[int]] = frozenset()
    """Relocations that count from behind a field of four bytes, so that 4 is taken from what they mean."""

    filling: ClassVar[bytes]
    """An instruction that nobody comes to, as fillers have it."""

    loose: ClassVar[frozenset[int]] = frozenset()
    """Relocation types of which `fields` has bits that tell two forms of one meaning apart.

    `read` knows both; where it reads nothing, only what the relocation writes by itself may differ.
    """

    of_itself: ClassVar[Mapping[int, bytes]] = {}
    """Those bits of the `loose` types."""

    absolute: ClassVar[frozenset[int]] = frozenset()
    """Kinds of `readings` of an address itself, which the dynamic linker writes where it is not known before."""

    adds_code: ClassVar[bool] = False
    """Whether linkers put code of their own between sections: what `through`, `beside` and `detour` know."""

    features: ClassVar[bytes] = b""
    """A note that promises every feature which a program has only if each of its objects promises it."""

    @property
    def words(self) -> str:
        """What people call it."""
        return PROCESSORS[self.number]

    @abstractmethod
    def relax(self, relocations: Table, content: NDArray[np.uint8], masks: WrittenBits) -> None:
        """Add what else a linker may write at the relocations.

        The masks are longer than the ``content`` by what an instruction at its end reaches beyond it.
        """

    def is_cut(self, relocations: Table) -> bool:
        """Whether a linker makes a section with these relocations shorter than it is in its object."""
        del relocations
        return False

    def group(self, type_: int) -> int:
        """Relocations of one group, to one symbol with one addend, say parts of the same address."""
        del type_
        return 0

    def through(self, code: bytes, address: int) -> int | None:
        """Where the ``code`` at that address leads, if it is what linkers put where a branch does not reach."""
        del code, address
        return None

    def beside(self, code: bytes, address: int) -> int | None:
        """Where what a linker puts between sections by itself ends, if it is what the ``code`` at that address is."""
        del code, address
        return None

    def detour(self, word: bytes, address: int) -> int | None:
        """Where an instruction was put that a linker has replaced by the ``word``; None if that is no such word."""
        del word, address
        return None

    @abstractmethod
    def branches(self, code: bytes) -> tuple[Branch, ...]:
        """All branches of a function's code, up to an instruction whose length is not known."""

    @abstractmethod
    def readings(self, relocations: Relocations, image: Windows, place: Numbers) -> Readings:
        """How each relocation that says where something is can be read, at its ``place`` in a linked file.

        Relocations that linkers have written in a form that says nothing are left out.
        """

    @abstractmethod
    def read(self, kind: int, first: Words, second: Words, address: Numbers, second_address: Numbers) -> Read:
        """Addresses, or parts of them, that instructions of one ``kind`` of `readings` lead to; all shape (n,).

        ``second`` are the eight bytes of the second of two.
        """

    def written(
        self, relocations: Table, content: NDArray[np.uint8], *, where: str
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Two masks of a section's bits, shape (size,): relocation fields, and fields with all that may be relaxed.

        ``relocations`` has dtype RELA, ``content`` is the section's bytes in its object. Raises `FeatureUnsupported`
        for a relocation type it does not know and for a relocation outside the section.
        """
        assert relocations.dtype == RELA
        size = len(content)
        masks = WrittenBits(size + _LONGEST)
        types = relocation_types(relocations)
        offsets = relocations["offset"].astype(np.int64)
        if len(offsets) and not 0 <= int(offsets.min()) <= int(offsets.max()) <= size:
            raise FeatureUnsupported(f"{where}: a relocation lies outside the section; the object is damaged")
        for kind in sorted(set(types.tolist())):
            if kind not in self.fields:
                raise FeatureUnsupported(f"{where}: relocation type {kind} is unknown, so its code cannot be verified")
            for step, bits in enumerate(self.fields[kind]):
                masks.add_field(offsets[types == kind] + step, bits)
        self.relax(relocations, content, masks)
        return masks.fields[:size], (masks.fields | masks.relaxed)[:size]


def feature_note(property_: int) -> bytes:
    """The note that has every bit of this property, which is the conjunction over all objects of a program."""
    # type NT_GNU_PROPERTY_TYPE_0, of it the property, padded to 8 bytes
    return struct.pack("<3I4s2I2I", 4, 16, 5, b"GNU\0", property_, 4, 0xFFFFFFFF, 0)


class WrittenBits:
    """Bits that a linker may write: ``fields`` in every link anew, ``relaxed`` once for all links of an object."""

    def __init__(self, size: int) -> None:
        self.fields = np.zeros(size, np.uint8)
        self.relaxed = np.zeros(size, np.uint8)

    def add_field(self, at: NDArray[np.int64], bits: int = 0xFF) -> None:
        """Bits of the bytes at these places, all different."""
        self.fields[at] |= np.uint8(bits)

    def add_relaxed(self, at: NDArray[np.int64]) -> None:
        """Whole bytes; what would lie before the section is left out."""
        self.relaxed[at[at >= 0]] = 0xFF
