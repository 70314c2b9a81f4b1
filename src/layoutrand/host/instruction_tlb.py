"""The first-level TLB for instructions of 4 KiB pages, as CPUID tells it.

AMD: "AMD64 Architecture Programmer's Manual" volume 3, appendix E, Fn8000_0005.  Intel: "Software Developer's Manual"
volume 2A, CPUID: leaf 18H, and where that has none, the descriptors of leaf 2 (table 3-12).  Processors of others say
it elsewhere, or not at all, and a hypervisor may leave it out: then it is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from layoutrand.platform.cpuid import Registers, cpuid

_Leaf = Callable[[int, int], Registers | None]

_DESCRIPTORS: Final = {0x01: (32, 4), 0x61: (48, 48), 0xB0: (128, 4), 0xB2: (64, 4), 0xB5: (64, 8), 0xB6: (128, 8)}
"""Of instruction TLBs of 4 KiB pages with a known number of ways: entries and ways."""

_MOST_SUBLEAVES: Final = 64
_INSTRUCTION: Final = 2
_AMD: Final = frozenset({"AuthenticAMD", "HygonGenuine"})
_ALL: Final = 0xFF


def instruction_tlb(root: Path = Path("/"), cpu: int = 0) -> dict[str, int] | None:
    """``entries`` and ``ways`` of this CPU's, or None where they are not known."""
    return told_by(lambda leaf, subleaf: cpuid(leaf, subleaf, cpu=cpu, root=root))


def told_by(leaf: _Leaf) -> dict[str, int] | None:
    """The same of a processor that answers so."""
    if (first := leaf(0, 0)) is None:
        return None
    vendor = b"".join(part.to_bytes(4, "little") for part in (first.ebx, first.edx, first.ecx)).decode("latin-1")
    found = None
    if vendor in _AMD:
        found = _of_amd(leaf)
    elif vendor == "GenuineIntel":
        found = _of_intel(leaf, first.eax)
    if found is None or found[0] <= 0 or found[1] <= 0 or found[0] % found[1]:
        return None
    return {"entries": found[0], "ways": found[1]}


def _of_amd(leaf: _Leaf) -> tuple[int, int] | None:
    if (most := leaf(0x80000000, 0)) is None or most.eax < 0x80000005:
        return None
    if (told := leaf(0x80000005, 0)) is None:
        return None
    entries, ways = told.ebx & 0xFF, told.ebx >> 8 & 0xFF
    return entries, entries if ways == _ALL else ways


def _of_intel(leaf: _Leaf, most: int) -> tuple[int, int] | None:
    number, last = 0, 0
    while most >= 0x18 and number <= min(last, _MOST_SUBLEAVES) and (told := leaf(0x18, number)) is not None:
        last = told.eax if number == 0 else last
        kind, level, four_kib = told.edx & 0x1F, told.edx >> 5 & 7, told.ebx & 1
        if kind == _INSTRUCTION and level == 1 and four_kib:
            ways = told.ebx >> 16
            return told.ecx * ways, ways
        number += 1
    if most < 2 or (told := leaf(2, 0)) is None:
        return None
    for register in told._replace(eax=told.eax & ~0xFF):  # the lowest byte there is how often to ask
        if register >> 31:
            continue  # holds no descriptors
        for byte in register.to_bytes(4, "little"):
            if byte in _DESCRIPTORS:
                return _DESCRIPTORS[byte]
    return None
