"""Files of a cache changed by their owner: binaries in it are read-only, and root alone may write to those as they are."""

from __future__ import annotations

from pathlib import Path


def overwrite(path: Path, content: bytes) -> None:
    """Give a file this content, whether it may be written or not; the permissions of one that is there stay."""
    if not path.exists():
        path.write_bytes(content)
        return
    mode = path.stat().st_mode & 0o7777
    path.chmod(mode | 0o200)
    path.write_bytes(content)
    path.chmod(mode)
