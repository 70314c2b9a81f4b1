"""Opening the results file, keeping a second layoutrand from executing beside the first, and naming the project."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import secrets
import shlex
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from layoutrand.errors import ResultsError, StillMeasured
from layoutrand.platform.disk import check_writable, make_folder, new_file, write_atomically
from layoutrand.platform.file_lock import wait_for_lock
from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular
from layoutrand.results.experiments import ResultsStore
from layoutrand.results.recorded_results import SQLITE_ERRORS, trouble
from layoutrand.results.recorded_rows import TEXT
from layoutrand.results.rows import APPLICATION_ID, BUSY_S, READABLE, SCHEMA, SCHEMA_VERSION, SEALED_FROM, UPDATES
from layoutrand.results.seals import SEALED, seal_rows
from layoutrand.results.whole_file import disorder

RESULTS_NAME: Final = "results.sqlite"
_LOCK_POLL_S: Final = 0.2
_OTHER: Final = sqlite3.SQLITE_ERROR
_CANNOT_WRITE: Final = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def results_path(project: Path) -> Path:
    """Where a project's results are."""
    return project / ".layoutrand" / RESULTS_NAME


def open_for_writing(path: Path) -> ResultsStore:
    """Open the results file, creating it and its directory where they are absent; raises `ResultsError`."""
    try:
        make_folder(path.parent)
        if not path.exists():
            _create(path)
    except OSError as error:
        raise ResultsError(
            f"cannot create {path} for the results: {error.strerror}; check owner, permissions and free space"
        ) from error
    return _open(path, f"file:{quote(os.fsencode(path))}?mode=rw", writing=True)


def open_for_reading(path: Path) -> ResultsStore:
    """Open an existing results file without changing it; raises `ResultsError`, also where there is none.

    It need not be possible to write anything there: the disk may be full, or read-only.
    """
    if not path.exists():
        raise ResultsError(f"there are no results yet ({path} does not exist); make some with `layoutrand run`")
    try:
        return _open(path, f"file:{quote(os.fsencode(path))}?mode=ro", writing=False)
    except ResultsError as error:
        if getattr(error.__cause__, "sqlite_errorcode", _OTHER) & 0xFF not in _CANNOT_WRITE or _is_in_use(path):
            raise
    # SQLite cannot make the shared index of WAL mode.  Without a log of changes, and with nobody who writes, it does
    # not need it; else a copy elsewhere has room for it.
    log = path.with_name(path.name + "-wal")
    if not log.exists() or not log.stat().st_size:
        return _open(path, f"file:{quote(os.fsencode(path))}?immutable=1", writing=False)
    return _copied_with_log(path, log)


def _is_in_use(path: Path) -> bool:
    """Whether a layoutrand executes for the file now."""
    try:
        descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _copied_with_log(path: Path, log: Path) -> ResultsStore:
    try:
        with tempfile.TemporaryDirectory(prefix="layoutrand-results-") as folder:
            copy = Path(folder, path.name)
            shutil.copyfile(path, copy)
            shutil.copyfile(log, copy.with_name(log.name))
            with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                return ResultsStore(path, _in_memory(connection))
    except (OSError, *SQLITE_ERRORS) as error:
        raise ResultsError(
            f"cannot read {path}: it has a log of changes ({log.name}), which cannot be used where nothing can be "
            f"written, and a copy of both could not be made: {error}. Set TMPDIR to a directory with room"
        ) from error


def _in_memory(connection: sqlite3.Connection) -> sqlite3.Connection:
    memory = sqlite3.connect(":memory:", isolation_level=None)
    connection.backup(memory)
    return memory


def copied(path: Path) -> ResultsStore:
    """What the results file holds now, in memory: later executions are not in it; raises `ResultsError`.

    Any thread may read it, one at a time.
    """
    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    with contextlib.ExitStack() as on_error, open_for_reading(path) as store:
        on_error.callback(memory.close)
        store.copy_to(memory)
        on_error.pop_all()
    return ResultsStore(path, memory)


def check_usable(path: Path) -> None:
    """Raise `ResultsError` where no results could be written there, before hours go into more of them."""
    is_there = path.exists()
    if is_there:
        open_for_reading(path).close()
    try:
        check_writable(path)
        if is_there and not os.access(path, os.W_OK):  # to open and close it would drop the locks of SQLite
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise ResultsError(
            f"cannot {'write' if is_there else 'create'} {path} for the results: {error.strerror}; check owner, "
            "permissions and free space"
        ) from error


def _create(path: Path) -> None:
    """Make an empty results file beside its place and link it there, so that it appears whole or not at all.

    Several processes may do so at once: the first link counts.  (Creating it in place is a race, because SQLite waits
    for no lock while it changes to WAL mode.)
    """
    descriptor, name = new_file(path.parent)
    os.close(descriptor)
    try:
        connection = sqlite3.connect(os.fsencode(name), isolation_level=None)
        with contextlib.closing(connection):
            connection.executescript(SCHEMA)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.execute("PRAGMA journal_mode = WAL")
        with contextlib.suppress(FileExistsError):
            _link(name, path)
    except sqlite3.Error as error:
        raise trouble(path, error) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _link(name: Path, path: Path) -> None:
    try:
        os.link(name, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        os.replace(name, path)


def _open(path: Path, uri: str, *, writing: bool) -> ResultsStore:
    _refuse_others(path)
    sealed: int | None = None
    with contextlib.ExitStack() as on_error:
        try:
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_S)
            on_error.callback(connection.close)
            connection.text_factory = TEXT
            connection.execute("PRAGMA foreign_keys = ON")
            if writing:
                connection.execute("PRAGMA synchronous = FULL")
            _check_program(path, connection)
            _check_version(path, connection)
            found = disorder(path, connection)
            if writing:
                _refuse_disorder(path, found)
                sealed = _bring_up_to_date(connection)
        except SQLITE_ERRORS as error:
            raise trouble(path, error) from error
        on_error.pop_all()
    return ResultsStore(path, connection, found, sealed or 0, is_updated=sealed is not None)


def _refuse_others(path: Path) -> None:
    """Raise `ResultsError` for a pipe or a device, which SQLite would wait for."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ResultsError(f"{path} is no ordinary file; move it away, it was left as it is")


def _refuse_disorder(path: Path, found: Sequence[str]) -> None:
    if found:
        raise ResultsError(
            f"{path} is damaged ({'; '.join(found)}), so nothing is recorded in it any more; what can be read of it is "
            "analysed as before. `layoutrand results verify` says what is lost. Save it with `sqlite3 FILE .recover`, "
            f"or begin anew, with what is built already: mv {shlex.quote(str(path))} {shlex.quote(f'{path}.damaged')}"
        )


def _check_program(path: Path, connection: sqlite3.Connection) -> None:
    if _number(connection, "PRAGMA application_id") != APPLICATION_ID:
        raise ResultsError(f"{path} is not a results file of layoutrand; move it away, it was left as it is")


def _check_version(path: Path, connection: sqlite3.Connection) -> None:
    version = _number(connection, "PRAGMA user_version")
    if version not in READABLE:
        newer = version > SCHEMA_VERSION
        raise ResultsError(
            f"{path} has schema version {version}, this layoutrand knows version {SCHEMA_VERSION}; "
            "it was left as it is.\n"
            + ("Use a newer layoutrand for it" if newer else "Use the layoutrand that wrote it")
            + f", or begin anew, with what is built already: mv {shlex.quote(str(path))} "
            + shlex.quote(f"{path}.version-{version}")
        )


def _bring_up_to_date(connection: sqlite3.Connection) -> int | None:
    """Give a file of a version before what it lacks; how many rows were sealed, None where it lacks nothing."""
    if _number(connection, "PRAGMA user_version") == SCHEMA_VERSION:
        return None
    sealed = 0
    with contextlib.ExitStack() as unfinished:
        connection.execute("BEGIN IMMEDIATE")
        unfinished.callback(connection.execute, "ROLLBACK")
        version = _number(connection, "PRAGMA user_version")
        if version != SCHEMA_VERSION:  # or another process has done it meanwhile
            for statement in [each for known, all_of in UPDATES.items() if known > version for each in all_of]:
                connection.execute(statement)
            if version < SEALED_FROM:
                sealed = sum(seal_rows(connection, table) for table in SEALED)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
        unfinished.pop_all()
    return sealed


def _number(connection: sqlite3.Connection, query: str) -> int:
    (value,) = connection.execute(query).fetchone()
    return int(value)


@contextlib.contextmanager
def exclusive_use(path: Path, *, wait_s: float, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Be the only layoutrand that executes for this results file.

    Where another one is at it, ``on_wait`` gets one sentence that says who, and after ``wait_s`` seconds a
    `StillMeasured` says so.  The kernel drops the lock with its process, so kill -9 leaves nothing to clean up.
    """
    lock_path = path.with_name(path.name + ".lock")
    try:
        descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise ResultsError(f"cannot open {lock_path}: {error.strerror}; check owner and permissions") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ResultsError(f"cannot lock {lock_path}: it is no ordinary file; remove it")
        attempt = functools.partial(_try, descriptor, lock_path)
        busy = wait_for_lock(attempt, wait_s=wait_s, poll_s=_LOCK_POLL_S, on_wait=on_wait)
        if isinstance(busy, str):
            raise StillMeasured(f"{busy}; two at once would disturb each other. Run again when it is done")
        with contextlib.suppress(OSError):  # whoever waits is told less: the lock holds all the same
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _try(descriptor: int, lock_path: Path) -> int | str:
    """The descriptor with the lock on it, or who has that."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
        return f"another layoutrand (process {holder}) is executing for {lock_path.parent}"
    except OSError as error:
        raise ResultsError(f"cannot lock {lock_path}: {error.strerror}; use a local disk") from error
    return descriptor


def project_id(project: Path) -> str:
    """The project's word, drawn when it is first asked for; raises `ResultsError` where it cannot be kept.

    To be called while holding the lock on the results, so that it is drawn once.
    Paths do not tell projects apart that share a shared directory: two containers may both call theirs /work.
    """
    path = project / ".layoutrand" / "id"
    try:
        if not path.exists():
            write_atomically(path, secrets.token_hex(16).encode())
        return text_of_regular(path, largest=WRITTEN_BY_HAND, encoding="ascii")
    except (OSError, ValueError) as error:
        raise ResultsError(f"cannot keep {path}: {error}; check owner, permissions and free space") from error
