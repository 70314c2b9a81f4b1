"""What of a processor decides where code and data lie well: lines, pages, first-level caches, a TLB, and an erratum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from layoutrand.host.errata import has_jcc_erratum
from layoutrand.instruments.known import simulated

_LARGEST: Final = 1 << 20
HUGE: Final = 2 << 20
"""Bytes of the pages that text lies on where that was asked for (`layoutrand.execute.text_pages`)."""


@dataclass(frozen=True)
class CodeCaches:
    """Bytes of a ``line`` and of a ``page``, ``sets`` and ``ways`` of the cache; ``jcc``: whether it has that erratum.

    What is not told is as simulators have it, and most processors for x86-64.  ``itlb`` has sets and ways of the
    first-level TLB for instructions, and is None where that is not known.  ``data_sets`` and ``data_ways`` are of the
    cache for data.
    """

    line: int = 64
    page: int = 4096
    sets: int = 64
    ways: int = 8
    jcc: bool = False
    itlb: tuple[int, int] | None = None
    data_sets: int = 64
    data_ways: int = 8


USUAL: Final = CodeCaches()


def caches_of(host_facts: Mapping[str, Any], instrument: str, machine: str, *, huge: bool = False) -> CodeCaches:
    """Those of the machine with these facts, or of the simulated processor; what is no such size counts as not told.

    ``machine`` is the program's (as `CapturedLink.machine`): an emulator executes no branch where the program has it.
    ``huge`` says that text lies on huge pages, of which the TLB holds others.
    """
    if instrument in simulated():
        return USUAL
    sizes, of_data = ({**told} if isinstance(told := host_facts.get(name), Mapping) else {} for name in ("l1i", "l1d"))
    return CodeCaches(
        line=_power(sizes.get("line_bytes"), USUAL.line),
        page=HUGE if huge else _power(host_facts.get("page_bytes"), USUAL.page),
        sets=_power(sizes.get("sets"), USUAL.sets),
        ways=_size(sizes.get("ways"), USUAL.ways),
        jcc=machine == "EM_X86_64" and has_jcc_erratum(host_facts),
        itlb=_itlb(host_facts.get("itlb")) if machine == "EM_X86_64" and not huge else None,
        data_sets=_power(of_data.get("sets"), USUAL.data_sets),
        data_ways=_size(of_data.get("ways"), USUAL.data_ways),
    )


def _itlb(told: Any) -> tuple[int, int] | None:
    sizes = dict(told) if isinstance(told, Mapping) else {}
    entries, ways = _size(sizes.get("entries"), 0), _size(sizes.get("ways"), 0)
    return (entries // ways, ways) if ways and entries % ways == 0 else None


def _size(value: Any, usual: int) -> int:
    return value if type(value) is int and 0 < value <= _LARGEST else usual


def _power(value: Any, usual: int) -> int:
    """As `_size`, a power of two."""
    size = _size(value, usual)
    return size if size & (size - 1) == 0 else usual
