"""Opening the results file, keeping a second layoutrand from executing beside the first, and naming the project."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import secrets
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

from layoutrand.errors import ResultsError
from layoutrand.platform.disk import make_folder, new_file, write_atomically
from layoutrand.platform.file_lock import wait_for_lock
from layoutrand.results.experiments import ResultsStore, trouble
from layoutrand.results.rows import APPLICATION_ID, BUSY_S, READABLE, SCHEMA, SCHEMA_VERSION, TO_VERSION_4

RESULTS_NAME: Final = "results.sqlite"
_LOCK_POLL_S: Final = 0.2


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
    """Open an existing results file without changing it; raises `ResultsError`, also where there is none."""
    if not path.exists():
        raise ResultsError(f"there are no results yet ({path} does not exist); make some with `layoutrand run`")
    # In a directory that cannot be written SQLite cannot make the shared index of WAL mode, and does not need it.
    writable = os.access(path.parent, os.W_OK) or path.with_name(path.name + "-wal").exists()
    return _open(path, f"file:{quote(os.fsencode(path))}?{'mode=ro' if writable else 'immutable=1'}", writing=False)


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
    """Raise `ResultsError` where there is a results file that cannot be used, before hours go into more for it."""
    if path.exists():
        open_for_reading(path).close()


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
    with contextlib.ExitStack() as on_error:
        try:
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_S)
            on_error.callback(connection.close)
            connection.execute("PRAGMA foreign_keys = ON")
            if writing:
                connection.execute("PRAGMA synchronous = FULL")
            _check_program(path, connection)
            _check_version(path, connection)
            if writing:
                _bring_up_to_date(connection)
        except sqlite3.Error as error:
            raise trouble(path, error) from error
        on_error.pop_all()
    return ResultsStore(path, connection)


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


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Give a file of the version before what it lacks: a column, so an older layoutrand in the middle is not harmed."""
    if _number(connection, "PRAGMA user_version") == SCHEMA_VERSION:
        return
    with contextlib.ExitStack() as unfinished:
        connection.execute("BEGIN IMMEDIATE")
        unfinished.callback(connection.execute, "ROLLBACK")
        if _number(connection, "PRAGMA user_version") != SCHEMA_VERSION:  # or another process has done it meanwhile
            connection.execute(TO_VERSION_4)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
        unfinished.pop_all()


def _number(connection: sqlite3.Connection, query: str) -> int:
    (value,) = connection.execute(query).fetchone()
    return int(value)


@contextlib.contextmanager
def exclusive_use(path: Path, *, wait_s: float, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Be the only layoutrand that executes for this results file.

    Where another one is at it, ``on_wait`` gets one sentence that says who, and after ``wait_s`` seconds a
    `ResultsError` says so.  The kernel drops the lock with its process, so kill -9 leaves nothing to clean up.
    """
    lock_path = path.with_name(path.name + ".lock")
    try:
        descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise ResultsError(f"cannot open {lock_path}: {error.strerror}; check owner and permissions") from error
    try:
        attempt = functools.partial(_try, descriptor, lock_path)
        busy = wait_for_lock(attempt, wait_s=wait_s, poll_s=_LOCK_POLL_S, on_wait=on_wait)
        if isinstance(busy, str):
            raise ResultsError(f"{busy}; two at once would disturb each other. Run again when it is done")
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
        return path.read_text("ascii")
    except (OSError, ValueError) as error:
        raise ResultsError(f"cannot keep {path}: {error}; check owner, permissions and free space") from error
