"""The branches of hot functions, read from the code of the binary that was profiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from layoutrand.explain.hotness import Hotness, segments
from layoutrand.objects import elf
from layoutrand.objects.branches import Branch
from layoutrand.objects.known import processors


def branches_at(file: elf.Elf, begin: int, size: int) -> tuple[Branch, ...]:
    """Those of the function with ``size`` bytes at that address; none where its instructions are not known."""
    processor = processors().get(file.machine)
    place = next((s for s in segments(file) if s.address <= begin and begin + size <= s.address + s.size), None)
    if processor is None or place is None:
        return ()
    offset = place.offset + begin - place.address
    return processor.branches(file.data[offset : offset + size])


def with_branches(hotness: Hotness, file: elf.Elf, address: NDArray[np.int64] | Sequence[int]) -> Hotness:
    """The hot functions with their branches; ``address`` has where each section lies in the file, shape (sections,)."""
    functions = tuple(
        replace(each, branches=branches_at(file, int(address[each.section]), each.size)) for each in hotness.functions
    )
    return replace(hotness, functions=functions)
