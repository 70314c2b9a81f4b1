"""Start a program without address-space randomisation, by the personality that it inherits from us."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

from layoutrand.errors import FeatureUnsupported

ADDR_NO_RANDOMIZE = 0x0040000
_READ = 0xFFFFFFFF


@contextmanager
def without_aslr(*, wanted: bool) -> Iterator[None]:
    """While open, programs started by this thread have no ASLR if that is ``wanted``; else nothing is done.

    Linux keeps the personality by thread, and ours is put back. Raises `FeatureUnsupported` where the kernel refuses.
    """
    if not wanted:
        yield
        return
    before = _personality(_READ)
    if _personality(before | ADDR_NO_RANDOMIZE) < 0 or not _personality(_READ) & ADDR_NO_RANDOMIZE:
        raise FeatureUnsupported(
            f"this system does not let a program switch ASLR off ({os.strerror(ctypes.get_errno())}); containers often "
            'forbid it. Allow the system call personality, or leave run.aslr = "on"'
        )
    try:
        yield
    finally:
        _personality(before)


def _personality(value: int) -> int:
    return int(ctypes.CDLL(None, use_errno=True).personality(ctypes.c_ulong(value)))
