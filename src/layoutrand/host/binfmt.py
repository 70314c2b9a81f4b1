"""What the kernel starts in place of a program: the handlers of binfmt_misc.

Linux documentation, admin-guide/binfmt-misc.rst: each file in ``/proc/sys/fs/binfmt_misc`` but ``register`` and
``status`` is a handler, with the bytes that it is for, under a mask, at an offset from the beginning of a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from layoutrand.host.processors import HEADER
from layoutrand.platform import proc_files
from layoutrand.text.digits import whole_number

_PLACE: Final = "proc/sys/fs/binfmt_misc"
_ENABLED: Final = "enabled"


def handler(header: bytes, root: Path = Path("/")) -> str | None:
    """The program that the kernel starts for a file that begins so, None where it has none.

    ``root`` is /, or a directory that stands for it in a test.
    """
    place = root / _PLACE
    if proc_files.text(place / "status") != _ENABLED:
        return None
    for path in sorted(place.glob("*")):
        if path.name not in {"register", "status"} and (found := _interpreter(proc_files.text(path) or "", header)):
            return found
    return None


def _interpreter(text: str, header: bytes) -> str | None:
    """The handler's program where it is in force and for such a file."""
    lines = text.splitlines()
    if not lines or lines[0] != _ENABLED:
        return None
    values = dict(line.split(" ", 1) for line in lines[1:] if " " in line)
    offset = whole_number(values.get("offset", ""), HEADER)
    magic = _bytes(values.get("magic", ""))
    mask = _bytes(values["mask"]) if "mask" in values else b"\xff" * len(magic)
    if offset is None or not magic or len(mask) != len(magic) or len(header) < offset + len(magic):
        return None
    there = header[offset : offset + len(magic)]
    if any((a ^ b) & m for a, b, m in zip(there, magic, mask, strict=True)):
        return None
    return values.get("interpreter")


def _bytes(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return b""
