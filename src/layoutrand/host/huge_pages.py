"""Whether this machine gives huge pages to a program that asks for them (transparent huge pages).

Linux documentation, admin-guide/mm/transhuge.rst.  ``enabled`` must be "always" or "madvise"; a process may still be
denied them (prctl(2), PR_SET_THP_DISABLE), and so it is tried, with one page.
"""

from __future__ import annotations

import mmap
import re
from pathlib import Path
from typing import Final

from layoutrand.platform.proc_files import number, text

_PLACE: Final = Path("sys/kernel/mm/transparent_hugepage")
_MAPPING: Final = re.compile(r"[0-9a-f]+-[0-9a-f]+ ")
_HUGE: Final = re.compile(r"AnonHugePages: *([0-9]{1,18}) kB")


def huge_page_bytes(root: Path = Path("/")) -> int | None:
    """The size of a huge page that transparent ones have; None where the kernel has none."""
    size = number(root / _PLACE / "hpage_pmd_size")
    return size if size and size & (size - 1) == 0 and size >= mmap.PAGESIZE else None


def no_huge_pages(root: Path = Path("/")) -> tuple[str, str]:
    """Why a program gets no huge pages here, and the step that mends it; two empty texts where it gets them.

    Below another ``root`` than / only what the kernel says is looked at, and nothing tried.
    """
    size, enabled = huge_page_bytes(root), text(root / _PLACE / "enabled")
    if size is None or enabled is None:
        return "this kernel has no transparent huge pages", "take a kernel with CONFIG_TRANSPARENT_HUGEPAGE"
    if "[never]" in enabled:
        return (
            "transparent huge pages are switched off",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )
    if root == Path("/") and not _given(size):
        return (
            "a huge page that was asked for was not given: memory is in pieces, or this process may have none "
            "(prctl PR_SET_THP_DISABLE)",
            "echo 1 | sudo tee /proc/sys/vm/compact_memory; or free some memory",
        )
    return "", ""


def _given(size: int) -> bool:
    """Whether the kernel made one of two huge pages' room huge, and lists it as such."""
    try:
        room = mmap.mmap(-1, 2 * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        return False
    with room:
        try:
            room.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            return False
        for at in range(0, 2 * size, mmap.PAGESIZE):
            room[at] = 1
        return listed_huge(text("/proc/self/smaps") or "", 2 * size) > 0


def listed_huge(smaps: str, size: int) -> int:
    """Bytes in huge pages of the mappings that have at least ``size`` bytes."""
    found, wanted = 0, False
    for line in smaps.splitlines():
        if _MAPPING.match(line):
            low, _, high = line.partition(" ")[0].partition("-")
            wanted = int(high, 16) - int(low, 16) >= size
        elif wanted and (huge := _HUGE.fullmatch(line)):
            found += int(huge[1]) << 10
    return found
