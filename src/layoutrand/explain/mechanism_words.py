"""What mechanisms are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from layoutrand.explain.caches import HUGE, CodeCaches

_MECHANISMS: Final = {
    "line": "instruction line straddle ({line}-byte lines under its hottest instructions)",
    "window": "32-byte window (as caches of decoded instructions hold them, under its hottest instructions)",
    "jcc": "JCC erratum (its hottest branches that cross or end at a multiple of 32 bytes)",
    "fetch": "loop alignment (16-byte blocks that its hottest instructions are fetched in)",
    "page": "instruction page straddle ({kib} KiB pages under its hottest instructions)",
    "sets": "instruction cache set conflict (its hot lines in sets that hold more than {ways} hot ones)",
    "itlb": "instruction TLB set conflict (its hot pages in sets that hold more than {tlb} hot ones)",
    "aliasing": "branch aliasing (its hot branches in 16-byte blocks modulo 16 KiB that hold hot ones of others)",
    "data-split": "line split (accesses to it that cross the end of a {line}-byte line)",
    "data-line": "data lines ({line}-byte lines under what is accessed most of it)",
    "data-page": "data pages ({kib} KiB pages under what is accessed most of it)",
    "data-sets": "data cache set conflict (its hot lines in sets that hold more than {data_ways} hot ones)",
    "store-load": "4 KiB aliasing (loads shortly after stores to another variable, at the same address modulo 4 KiB)",
}


def mechanism(name: str, caches: CodeCaches) -> str:
    """``instruction line straddle (64-byte lines under its hottest instructions)``."""
    tlb = caches.itlb[1] if caches.itlb else 0
    return _MECHANISMS[name].format(
        line=caches.line, kib=caches.page >> 10, ways=caches.ways, tlb=tlb, data_ways=caches.data_ways
    )


def unseen(metric: str, names: Sequence[str]) -> str:
    """What a simulated metric shows nothing of."""
    return f"{metric} is simulated, and has nothing of {short(names)}: only times can show these"


def short(names: Sequence[str]) -> str:
    """Their names alone."""
    return ", ".join(_MECHANISMS[name].partition(" (")[0] for name in names)


def not_known(caches: CodeCaches) -> str:
    """What was not looked at, because the machine does not tell what it takes; "" where all was."""
    if caches.itlb is not None:
        return ""
    huge = "text lies on huge pages, for which it has other entries"
    why = huge if caches.page == HUGE else "its sizes are not known of what executes the program"
    return f"instruction TLB set conflicts are not looked at: {why}"
