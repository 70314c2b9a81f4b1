"""Reading the small files under /proc and /sys: what cannot be read is None, never an error.

Every path is taken below a ``root``, so that tests describe a machine as a directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

CPUS: Final = Path("sys/devices/system/cpu")
_CHUNK: Final = 1 << 16


def text(path: Path | str) -> str | None:
    """The content without surrounding white space.

    Read without Python's buffers and decoders, which cost more than the kernel's answer.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        parts = []
        while part := os.read(descriptor, _CHUNK):
            parts.append(part)
    except OSError:  # some files of /sys can be opened, but say nothing
        return None
    finally:
        os.close(descriptor)
    return b"".join(parts).decode("utf-8", "replace").strip()


def number(path: Path) -> int | None:
    """The content as an integer."""
    content = text(path)
    try:
        return None if content is None else int(content)
    except ValueError:
        return None


def allowed_cpus() -> tuple[int, ...]:
    """The CPUs that this process may use."""
    return tuple(sorted(os.sched_getaffinity(0)))


def fields(path: Path, wanted: Iterable[str]) -> dict[str, int]:
    """The wanted ones of a file of lines ``name number``, such as /proc/vmstat and /proc/meminfo (there in KiB)."""
    found: dict[str, int] = {}
    names = set(wanted)
    for line in (text(path) or "").splitlines():
        name, _, rest = line.partition(" ")
        if name.rstrip(":") in names:
            value = rest.split()[:1]
            if value and value[0].isdigit():
                found[name.rstrip(":")] = int(value[0])
    return found
