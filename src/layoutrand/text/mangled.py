"""Names of symbols that a programming language has made of its own names, and by which style c++filt reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

STYLES: Final[Mapping[str, re.Pattern[str]]] = {
    "auto": re.compile(r"_[ZR]"),  # C++ and Rust
    "dlang": re.compile(r"_D(?:\d+[A-Za-z_]|main$)"),  # which "auto" leaves as it is
}
"""Beginnings of symbols by c++filt's name of the style."""


_CRATE_HASH: Final = re.compile(r"(?<=\w)\[[0-9a-f]{9,16}\]")


def without_hashes(symbol: str, name: str) -> str:
    """The name that c++filt gave a symbol, without what tells two crates of one name apart: nobody calls them so.

    >>> without_hashes("_RNvCs2p7LZQzqTHh_8smallvec4push", "smallvec[273d7611820c9051]::push")
    'smallvec::push'
    """
    return _CRATE_HASH.sub("", name) if symbol.startswith("_R") else name


def mangled(symbols: Iterable[str]) -> list[str]:
    """Those of them that are C++'s, Rust's or D's, as they come.

    >>> mangled(["main", "_ZN1A1bEv", "_D1a4bestFiZi", "_Debug"])
    ['_ZN1A1bEv', '_D1a4bestFiZi']
    """
    return [symbol for symbol in symbols if any(pattern.match(symbol) for pattern in STYLES.values())]
