"""One measuring layoutrand per machine: two at once disturb each other, also on different cores.

The lock is a flock on one file that every user of the machine finds under one name.  The kernel drops it with the
process that holds it, so kill -9 leaves nothing behind.  The directory is world-writable, so what lies there under
our name may be another's: no link is followed, nothing but a regular file is used, and nothing is written into a file
that not everybody may write anyway.

Containers have directories of their own: those that share a machine find each other where ``LAYOUTRAND_LOCK_DIR`` names
a directory that they share.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from layoutrand.errors import ResultsError, StillMeasured
from layoutrand.platform.file_lock import wait_for_lock

VARIABLE: Final = "LAYOUTRAND_LOCK_DIR"
_NAME: Final = "layoutrand.lock"
_PLACES: Final = (Path("/run/lock"), Path("/tmp"))  # noqa: S108 - shared by all users on purpose, see above
_OPTIONS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_EVERYBODY_WRITES: Final = 0o666
_LONGEST_NOTE: Final = 500
# Waiting must not disturb the one who measures: one wake-up of some microseconds in a second.
_POLL_S: Final = 1.0
_ADVICE: Final = "--share-machine measures without it, beside whatever else measures here"


def machine_lock_path() -> Path:
    """Where the lock is for every user of this machine: in ``$LAYOUTRAND_LOCK_DIR``, else in /run/lock or /tmp.

    /run/lock is not everybody's on all distributions; whether it is must not depend on who asks, so root looks at the
    permissions, too, instead of trying.
    """
    if given := os.environ.get(VARIABLE):
        return Path(given).absolute() / _NAME
    for place in _PLACES[:-1]:
        with contextlib.suppress(OSError):
            if place.stat().st_mode & stat.S_IWOTH and not os.statvfs(place).f_flag & os.ST_RDONLY:
                return place / _NAME
    return _PLACES[-1] / _NAME


@contextlib.contextmanager
def only_one_measures(path: Path, *, project: Path, wait_s: float, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Be the only layoutrand that measures on this machine, as far as they all use the lock at ``path``.

    Where another one does, ``on_wait`` gets one sentence that says who and for which project, and after ``wait_s``
    seconds a `StillMeasured` says so.
    """
    descriptor = _locked(path, wait_s, on_wait)
    try:
        _sign(descriptor, f"process {os.getpid()} of {_user(os.geteuid())}, for {project}")
        yield
    finally:
        _sign(descriptor, "")
        os.close(descriptor)


def _locked(path: Path, wait_s: float, on_wait: Callable[[str], None]) -> int:
    """A descriptor of the file that is at the path, with the lock on it."""
    found = wait_for_lock(lambda: _try(path), wait_s=wait_s, poll_s=_POLL_S, on_wait=on_wait)
    if isinstance(found, str):
        raise StillMeasured(
            f"{found}; two at once would disturb each other. Run again when it is done, or wait for it with --wait. "
            f"{_ADVICE}"
        )
    return found


def _try(path: Path) -> int | str:
    """As `_locked`, or who has the lock."""
    while True:
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, descriptor):
                return descriptor
            os.close(descriptor)  # a cleaner of old files took it away while we came
        except BlockingIOError:
            busy = f"another layoutrand measures on this machine ({_holder(descriptor)})"
            os.close(descriptor)
            return busy
        except OSError as error:
            os.close(descriptor)
            raise ResultsError(f"cannot lock {path}: {error.strerror}. {_ADVICE}") from error


def _open(path: Path) -> int:
    """Open the file, made first where there is none; raises `ResultsError` for anything but a regular file."""
    for _attempt in range(100):
        try:
            descriptor = _open_existing(path)
        except FileNotFoundError:
            _create(path)
            continue
        except OSError as error:
            raise ResultsError(f"cannot open {path}: {error.strerror}; {_whose(path)}. {_ADVICE}") from error
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise ResultsError(f"{path} is no regular file; {_whose(path)}. {_ADVICE}")
    raise ResultsError(f"cannot keep {path}: something removes it again and again. {_ADVICE}")


def _open_existing(path: Path) -> int:
    """For writing where possible; reading is enough for the lock.

    Without O_CREAT, which Linux refuses in such directories for a file of another user (fs.protected_regular).
    """
    try:
        return os.open(path, os.O_RDWR | _OPTIONS)
    except PermissionError:
        return os.open(path, os.O_RDONLY | _OPTIONS)


def _create(path: Path) -> None:
    """Make the file beside its place and link it there, so that nobody sees it before everybody may write it."""
    try:
        descriptor, beside = tempfile.mkstemp(prefix=f".{_NAME}-", dir=path.parent)
        try:
            os.fchmod(descriptor, _EVERYBODY_WRITES)  # whatever the umask is
            with contextlib.suppress(FileExistsError):
                os.link(beside, path)
        finally:
            os.close(descriptor)
            os.unlink(beside)
    except OSError as error:
        raise ResultsError(f"cannot create {path}: {error.strerror} ({error.filename}). {_ADVICE}") from error


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _sign(descriptor: int, note: str) -> None:
    """Say in the file who holds it, for those who wait; where it cannot be said they wait all the same."""
    if not os.fstat(descriptor).st_mode & stat.S_IWOTH:
        return  # not made by us, perhaps a link to something precious
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, os.fsencode(note), 0)


def _holder(descriptor: int) -> str:
    """What the holder wrote, as far as it can be shown: anybody may have written anything."""
    note = os.pread(descriptor, _LONGEST_NOTE, 0).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else "?" for c in note).strip() or "who is not said"


def _whose(path: Path) -> str:
    try:
        return f"it belongs to {_user(os.lstat(path).st_uid)}, who can remove it"
    except OSError:
        return "check the directory"


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
