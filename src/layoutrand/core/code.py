"""The code of a capture, against which every layout is compared."""

from __future__ import annotations

import io
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Code:
    """Identity's code (or, where objects move on the link line, the objects' own).

    ``size`` in memory and ``stored`` bytes in the file, per section; ``content`` and ``fixed`` (bytes no link may
    change) concatenated in capture order; ``functions`` and ``variables`` rows of `codecheck.symbol_rows`.
    """

    size: NDArray[np.int64]
    stored: NDArray[np.int64]
    content: NDArray[np.uint8]
    fixed: NDArray[np.bool_]
    functions: NDArray[np.int64]
    variables: NDArray[np.int64]

    def dump(self) -> memoryview:
        """As the bytes of an .npz file, the mask as bits."""
        buffer = io.BytesIO()
        np.savez(buffer, **{**vars(self), "fixed": np.packbits(self.fixed)})
        return buffer.getbuffer()

    @staticmethod
    def load(data: bytes) -> Code:
        """From the bytes of an .npz file."""
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            values = {field.name: arrays[field.name] for field in fields(Code)}
        values["fixed"] = np.unpackbits(values["fixed"], count=len(values["content"])).astype(bool)
        return Code(**values)
