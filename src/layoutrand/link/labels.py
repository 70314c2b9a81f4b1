"""Whether two binaries have the same symbols in their sections, but for those of empty sections.

A symbol without a size at the beginning of a section may be the section's own, as assemblers give functions no size, or
that of an empty section before it: gcc leaves ``f.cold`` in an empty one where nothing of f's cold part is left. A
binary does not tell which, and an empty section, which nobody places, lies elsewhere in another layout. So objects are
asked which sections have symbols of that kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from layoutrand.objects import elf


def own_labels(inputs: Sequence[tuple[elf.Elf, int, str]], kind: int) -> NDArray[np.int64]:
    """How many symbols of the kind without a size begin each section ``(object, header index, name)``; shape (n,)."""
    counts: dict[int, NDArray[np.int64]] = {}
    for source, _, _ in inputs:
        if id(source) not in counts:
            symbols = source.symbols
            chosen = ((symbols["info"] & 0xF) == kind) & (symbols["size"] == 0) & (symbols["value"] == 0)
            homes = source.symbol_sections[chosen].astype(np.int64)
            homes = homes[(homes > 0) & (homes < source.section_count)]
            counts[id(source)] = np.bincount(homes, minlength=source.section_count)
    return np.array([counts[id(source)][header] for source, header, _ in inputs], np.int64)


def without_strangers(rows: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of `codecheck.symbol_rows` without those of empty sections; ``own`` is what `own_labels` found."""
    label = _is_label(rows)
    section = rows[label, 0]
    nth = np.arange(len(section)) - np.searchsorted(section, section)  # rows are sorted by section
    kept = ~label
    kept[label] = nth < own[section]
    return rows[kept]


def same_symbols(before: NDArray[np.int64], after: NDArray[np.int64]) -> bool:
    """Whether a binary's rows are identity's, `without_strangers` of these: it may have such rows beside them."""
    if np.array_equal(before, after):
        return True
    labels, others = zip(*((rows[_is_label(rows), 0], rows[~_is_label(rows)]) for rows in (before, after)), strict=True)
    if not np.array_equal(*others):
        return False
    last = max((int(each.max()) for each in labels if len(each)), default=0)
    known, found = (np.bincount(each, minlength=last + 1) for each in labels)
    return bool((known <= found).all())


def _is_label(rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows are of a symbol without a size that begins its section; shape (m,)."""
    label: NDArray[np.bool_] = (rows[:, 1] == 0) & (rows[:, 2] == 0)
    return label
