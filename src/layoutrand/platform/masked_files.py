"""Files of which some bytes are replaced, however long they are."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

_CHUNK: Final = 1 << 20


def mask_file(path: Path, patterns: Sequence[tuple[bytes, bytes]]) -> None:
    """Replace in a regular file what is to be masked; ``patterns`` are pairs of that and what stands for it.

    Of those that begin at one place the first counts.  The file keeps name, place and permissions.  Raises `OSError`.
    """
    if not patterns or path.is_symlink() or not path.is_file():
        return
    masked = path.with_name(f".tmp-{path.name[:200]}-masked")
    try:
        with path.open("rb") as source, masked.open("xb") as target:
            os.fchmod(target.fileno(), os.fstat(source.fileno()).st_mode & 0o777)
            changed = _copy_masked(source, target, patterns)
        if changed:
            os.replace(masked, path)
    finally:
        masked.unlink(missing_ok=True)


def mask_files(folder: Path, patterns: Sequence[tuple[bytes, bytes]]) -> None:
    """As `mask_file`, of every regular file below the directory."""
    if patterns:
        for path in sorted(folder.rglob("*")):
            mask_file(path, patterns)


def _copy_masked(source: IO[bytes], target: IO[bytes], patterns: Sequence[tuple[bytes, bytes]]) -> bool:
    labels = dict(reversed(patterns))
    wanted = re.compile(b"|".join(re.escape(found) for found, _ in patterns))
    longest = max(len(found) for found, _ in patterns)
    held, changed, ended = b"", False, False
    while not ended:
        chunk = source.read(_CHUNK)
        ended = not chunk
        held += chunk
        certain = len(held) if ended else len(held) - longest  # what begins after it may go on in the next chunk
        place = 0
        for match in wanted.finditer(held):
            if match.start() > certain:
                break
            target.write(held[place : match.start()])
            target.write(labels[match[0]])
            place, changed = match.end(), True
        rest = max(place, certain)
        target.write(held[place:rest])
        held = held[rest:]
    return changed
