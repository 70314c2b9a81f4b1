"""The rule for readers: only our errors leave, within 10 s and 1 GB, and nothing is written outside a directory."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

LONGEST_S = 10
MOST_BYTES = 1 << 30
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGING = {
    "os.mkdir": ((0, 2),),
    "os.rmdir": ((0, 1),),
    "os.remove": ((0, 1),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.utime": ((0, 3),),
    "os.setxattr": ((0, None),),
    "sqlite3.connect": ((0, None),),
}
STARTING = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "socket.connect"}
)


class Broken(BaseException):
    """The rule is broken; no ``except Exception`` of a reader takes it for a problem of its data."""


class _Watch:
    """What the process is allowed to touch; an audit hook can be added and never taken away."""

    place: str | None = None
    """The directory of the reader at work, or None where none is."""

    may_start = False
    added = False
    strangers: list[str] = []  # noqa: RUF012 - there is one watch

    @classmethod
    def see(cls, event: str, details: tuple[Any, ...]) -> None:
        """Let nothing happen outside the place."""
        if cls.place is None:
            return
        if event == "open":
            path, mode, flags = details
            if flags & WRITING if isinstance(flags, int) else set(mode or "") & set("wxa+"):
                cls._touched(event, path, None)
        elif event in STARTING and not cls.may_start:
            cls._strange(f"{event} {details[:2]!r}")
        for path, directory in CHANGING.get(event, ()):
            cls._touched(event, details[path], None if directory is None else details[directory])

    @classmethod
    def _strange(cls, what: str) -> None:
        """Take it down, and keep it from happening."""
        cls.strangers.append(what)
        raise Broken(f"outside its place: {what}")

    @classmethod
    def _touched(cls, event: str, path: object, directory: object) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return  # a descriptor, which was opened before
        place, cls.place = cls.place, None  # what looks at a path is audited, too
        try:
            beside = f"/proc/self/fd/{directory}" if isinstance(directory, int) and directory >= 0 else "."
            whole = os.path.abspath(os.path.join(os.path.realpath(beside), os.fsdecode(path)))
            inside = os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
        finally:
            cls.place = place
        is_ours = inside == place or inside.startswith((f"{place}/", "/dev/"))
        if not is_ours and not os.fsdecode(path).startswith(("file:", ":")):
            cls._strange(f"{event} {whole}")


def _too_long(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise Broken(f"the reader takes longer than {LONGEST_S} s")


@contextmanager
def confined(place: Path, *, may_start: bool = False) -> Iterator[None]:
    """Raises `Broken` where what happens within takes too long or writes elsewhere, `MemoryError` for too much."""
    if not _Watch.added:
        sys.addaudithook(_Watch.see)
        _Watch.added = True
    with open("/proc/self/statm", "rb") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, _too_long)
    _Watch.strangers.clear()
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES, hard))
    signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
    _Watch.place, _Watch.may_start = os.path.realpath(place), may_start
    try:
        yield
    finally:
        _Watch.place = None
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, before)
    if _Watch.strangers:
        raise Broken(f"outside its place: {'; '.join(_Watch.strangers)}")
