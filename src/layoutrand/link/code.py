"""The code of a capture, against which every layout is compared."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from tokenize import TokenError
from typing import Any, BinaryIO, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import CacheError
from layoutrand.link import code_blocks as blocks
from layoutrand.link.code_blocks import Blocks
from layoutrand.link.leads import Leads, array_in

DAMAGED: Final = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    RuntimeError,
    MemoryError,
    SyntaxError,
    TokenError,
    BadZipFile,
)
"""What numpy raises for files that are not what it wrote; a size beyond all memory may be said there, too."""


_WHOLE: Final = 0xFF
_PARTS: Final = ("part", "part_fixed")
_NONE: Final = np.empty(0, np.int64)
_KINDS: Final[dict[str, type]] = {
    **dict.fromkeys(("size", "stored"), np.int64),
    **dict.fromkeys(("content", "fixed"), np.uint8),
    **dict.fromkeys(("functions", "variables"), np.int64),
}
"""What the arrays of a file hold."""


@dataclass(frozen=True)
class Code:
    """Identity's code (or, where objects move on the link line, the objects' own).

    ``size`` in memory and ``stored`` bytes in the file, per section; ``content`` and ``fixed`` (the bits
    that no link may change) concatenated in capture order; ``functions`` and ``variables`` rows of
    `codecheck.symbol_rows`.  ``leads`` are the references, where they are known: not in captures of versions that did
    not look at them, nor where objects move.
    """

    size: NDArray[np.int64]
    stored: NDArray[np.int64]
    content: NDArray[np.uint8]
    fixed: NDArray[np.uint8]
    functions: NDArray[np.int64]
    variables: NDArray[np.int64]
    leads: Leads | None = field(default=None, kw_only=True)

    @cached_property
    def blocks(self) -> Blocks:
        """The content in the form in which binaries are compared with it."""
        return blocks.cut(self.stored, self.content, self.fixed)

    def compact(self) -> Code:
        """The same with the content as `blocks` alone, half the memory: for comparing many binaries."""
        small = replace(self, content=np.empty(0, np.uint8), fixed=np.empty(0, np.uint8))
        vars(small)["blocks"] = self.blocks  # where `cached_property` looks first
        return small

    def arrays(self) -> dict[str, Any]:
        """The arrays by their names, without references."""
        return {each.name: getattr(self, each.name) for each in fields(Code) if each.name != "leads"}

    def save(self, file: BinaryIO) -> None:
        """Write it as an .npz file, the mask with a bit for each byte, and apart what is fixed in part."""
        np.savez(file, **self.stored_arrays())

    def whole_bytes(self) -> bool:
        """Whether each byte may change as a whole or not at all, as on x86-64."""
        return bool(((self.fixed == 0) | (self.fixed == _WHOLE)).all())

    def stored_arrays(self) -> dict[str, Any]:
        """The arrays as they are kept."""
        part = np.flatnonzero((self.fixed != 0) & (self.fixed != _WHOLE))
        parts = {"part": part, "part_fixed": self.fixed[part]} if len(part) else {}
        return {**self.arrays(), "fixed": np.packbits(self.fixed == _WHOLE), **parts} | (
            self.leads.arrays() if self.leads else {}
        )

    @staticmethod
    def load(file: BinaryIO) -> Code:
        """From an .npz file; raises `CacheError` for one that is damaged."""
        try:
            with np.load(file, allow_pickle=False) as arrays:
                values = {name: array_in(arrays, name) for name in _KINDS}
                leads = Leads.of_arrays(arrays)
                part, bits = (array_in(arrays, name) for name in _PARTS) if _PARTS[0] in arrays else (_NONE, _NONE)
            if any(values[name].dtype != kind for name, kind in _KINDS.items()):
                raise ValueError("other arrays than were written")
            values["fixed"] = np.negative(np.unpackbits(values["fixed"], count=len(values["content"])))  # 1 -> 255
            if part.dtype != np.int64 or part.shape != bits.shape or (bits.dtype != np.uint8 and len(bits)):
                raise ValueError("other arrays than were written")
            values["fixed"][part] = bits
            return Code(**values, leads=leads)
        except DAMAGED as error:
            raise damaged(file, error) from error


def damaged(file: BinaryIO, error: BaseException) -> CacheError:
    """The error for a file in which numpy found something else than it wrote."""
    what = f"the code that a capture keeps ({getattr(file, 'name', 'code.npz')}) is damaged: {error}"
    return CacheError(f"{what}; `layoutrand cache verify --mend` removes it, and a build makes it again")
