"""Directories to build in."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from layoutrand.cache.store import Cache
from layoutrand.config.build_recipe import DRIVERS, Driver
from layoutrand.platform.disk import cache_errors, remove_tree, sha256_bytes
from layoutrand.platform.orphans import end_processes, is_at_work, was_given

# Makefiles do not quote: a directory we choose must need no quoting.
_SAFE = re.compile(r"[A-Za-z0-9/._+-]+")
_NAME = re.compile(r"b[0-9a-f]{8}-[0-9]{7,}-[A-Za-z0-9_]{8}")
_KERNEL = "kernel"
_WHILE_S = 60.0  # between making a directory and saying whose it is pass microseconds


@dataclass(frozen=True)
class Workspace:
    """One build's private directories: the tree itself, wrappers, temporary files, and records of links."""

    base: Path

    @property
    def tree(self) -> Path:
        """Where the source is copied to and built."""
        return self.base / "src"

    @property
    def wrappers(self) -> Path:
        """The generated tools; first on PATH."""
        return self.base / "bin"

    @property
    def temporary(self) -> Path:
        """TMPDIR of the build: the driver's short-lived objects are known by lying here."""
        return self.base / "tmp"

    @property
    def records(self) -> Path:
        """One directory per recorded link."""
        return self.base / "rec"

    @property
    def messages(self) -> Path:
        """How files with what cargo said begin: beside them stand those that it said with."""
        return self.base / "rec" / "cargo"

    @property
    def links(self) -> Path:
        """Where cross compilers find the linker wrappers: not on PATH, where the host's compilers look for theirs."""
        return self.base / "bin" / "links"

    def heard(self, kind: str) -> Path:
        """What the wrappers of a kind (`Recipe.given_flags`), or of a driver, leave once they have passed flags on."""
        return self.base / "rec" / f"heard-{kind}"

    def is_unoptimised(self) -> bool:
        """Whether wrappers saw compilations, and none that optimises, or of which the system says how much."""
        return self.compiled.exists() and not self.optimised.exists()

    def compiled_by(self) -> frozenset[Driver]:
        """The drivers whose wrappers compiled something of the program, where the system has flags for any."""
        return frozenset(driver for driver in DRIVERS if self.heard(driver).exists())

    @property
    def compiled(self) -> Path:
        """What a wrapper leaves once something was compiled."""
        return self.heard("any-level")

    @property
    def optimised(self) -> Path:
        """What a wrapper leaves once something was compiled with -O1 or more, or as the system's flags have it."""
        return self.heard("optimised")

    @property
    def profiles(self) -> Path:
        """What wrappers note of profiles that compilations use: the directory of each and its name, ended by NUL."""
        return self.base / "rec" / "profiles"

    def heard_of(self, path: str) -> Path:
        """The same of flags that are for this file of the source alone."""
        return self.heard(f"file-{sha256_bytes(os.fsencode(path))[:32]}")


@contextmanager
def workspace(cache: Cache, key: str, *, keep: bool = False, at: Path | None = None) -> Iterator[Workspace]:
    """A fresh workspace, removed at the end; with ``at`` an empty one where an earlier one was (`could_be_at`).

    It lies in the cache, or in the system's temporary directory where the cache's path has characters that
    makefiles would have to quote. The path has the same length for every build, so that nothing that embeds it
    shifts.
    """
    root = _root(cache)
    with cache_errors("make a directory to build in below", root):
        # The process number tells `cache gc` that this one is in use.
        base = at or Path(tempfile.mkdtemp(prefix=f"b{key[:8]}-{os.getpid():07d}-", dir=root))
        if at is not None:
            if os.path.lexists(at):  # of a killed layoutrand: nobody else may put anything there
                remove_tree(at)
            at.mkdir(0o700)
    space = Workspace(base)
    holder = _hold(base)
    try:
        with cache_errors("make", base):
            (base / _KERNEL).write_text(_kernel(), "utf-8")
            for path in (space.wrappers, space.temporary, space.records) if at is None else ():
                path.mkdir()
        yield space
    except BaseException:  # nothing of a build that did not succeed runs on, also what has left its process group
        _end_processes_of([space])
        raise
    finally:
        if not keep:
            _remove(base)
        if holder is not None:
            os.close(holder)


def could_be_at(cache: Cache, base: Path) -> bool:
    """Whether the path is one that a workspace in this cache may have had."""
    return base.parent == _root(cache) and _NAME.fullmatch(base.name) is not None


def end_abandoned_builds(cache: Cache) -> int:
    """End what builds of killed layoutrands left running, and remove their directories; how many processes there were.

    ``kill -9`` of layoutrand leaves the user's make running, which would disturb what is measured meanwhile, or write
    into a tree in which the next build works.  Its processes are those that have a killed build's TMPDIR.
    """
    with cache_errors("look for abandoned builds in", cache.root):
        places = [Workspace(base) for base in _root(cache).glob("b????????-*-*") if _is_abandoned(base)]
    if not places:
        return 0
    ended = _end_processes_of(places)
    for place in places:
        with cache_errors("remove", place.base):
            _remove(place.base)
    return ended


def _remove(base: Path) -> None:
    """Remove the directory of a build, last of all what tells that it is one: what a kill leaves can be told, too."""
    with contextlib.suppress(FileNotFoundError):  # another layoutrand removes it, too
        base.chmod(0o700)
        for path in base.iterdir():
            if path.is_dir() and not path.is_symlink():
                remove_tree(path)
            elif path.name != _KERNEL:
                path.unlink(missing_ok=True)
    remove_tree(base)


def _end_processes_of(places: Sequence[Workspace]) -> int:
    """End every process of builds in these places; how many there were."""
    markers = {b"TMPDIR=" + os.fsencode(place.temporary) for place in places}
    return end_processes(lambda entry: was_given(entry, markers))


def _root(cache: Cache) -> Path:
    """Where the directories to build in are."""
    root = (cache.root / "work").resolve()  # the wrappers see physical paths
    if not _SAFE.fullmatch(str(root)):
        temporary = Path(tempfile.gettempdir()).resolve()
        root = temporary if _SAFE.fullmatch(str(temporary)) else Path("/tmp").resolve()  # noqa: S108
    return root


def _hold(base: Path) -> int | None:
    """A descriptor whose lock says that the directory's owner lives; None where the file system has no such locks."""
    with contextlib.suppress(OSError):
        descriptor = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_uid != os.geteuid():
                raise PermissionError(errno.EPERM, "another user's directory", str(base))
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor
    return None


def _kernel() -> str:
    """What names this running kernel, for all containers of a machine alike and until the next boot; "" if unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("utf-8")
    except OSError:
        return ""


def _is_abandoned(base: Path) -> bool:
    """Whether the owner is certainly gone: it ran under this kernel, no process has its number, nobody holds the lock.

    The number alone would not do, since containers that share a cache number their processes alike; nor would the
    lock, which on a network file system may be known to one host only.
    """
    number = base.name.split("-")[1]
    if not number.isdigit() or is_at_work(int(number)):
        return False
    try:
        if not _is_empty(base) and (base / _KERNEL).read_text("utf-8") != (_kernel() or None):
            return False
    except (OSError, UnicodeDecodeError):
        return False
    holder = _hold(base)
    if holder is not None:
        os.close(holder)
    return holder is not None


def _is_empty(base: Path) -> bool:
    """Whether nothing is in the directory, and has not been for a while: all but itself was removed, or never made."""
    return base.is_dir() and not any(base.iterdir()) and base.stat().st_mtime < time.time() - _WHILE_S
