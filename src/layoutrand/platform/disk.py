"""The seam to the file system: small operations that either happen whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final

from layoutrand.errors import BundleError, CacheError
from layoutrand.platform.executable_files import copy_file, writing_executable
from layoutrand.platform.regular_file import ANY, WRITTEN_BY_HAND, content_of_regular, open_regular

PROJECT_FOLDER: Final = ".layoutrand"
"""The directory in a project that has all that layoutrand writes for it."""

_PART: Final = 1 << 16
"""Bytes read at once: for larger pieces the system is asked for new memory each time, a tenth of what hashing takes."""

_UNFINISHED: Final = ".tmp-"

CACHE_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# A cache of layoutrand. Deleting it is never loss.\n"


def sha256_bytes(*parts: bytes | memoryview) -> str:
    """Hexadecimal SHA-256 of the parts, one after the other."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def sha256_file(path: str | Path, *, largest: int = ANY, go_on: Callable[[], None] = lambda: None) -> str:
    """Hexadecimal SHA-256 of an ordinary file's content; raises `OSError`, also for more than ``largest`` bytes.

    ``go_on`` is called between parts of a file, and may raise: a thread that reads for minutes can be ended by it.
    """
    digest = hashlib.sha256()
    with open_regular(path, largest=largest) as file:
        while True:
            part = file.read(_PART)
            go_on()
            digest.update(part)
            if len(part) < _PART:  # which is so at a file's end alone
                return digest.hexdigest()


def canonical_json(value: Any) -> bytes:
    """JSON that is the same bytes for equal values, for keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


_LIMITS: Final[Mapping[int, str]] = {
    errno.EMFILE: "open files of a process (`ulimit -n`)",
    errno.ENFILE: "open files of the machine (`sysctl fs.file-max`)",
    errno.EFBIG: "how large a file may be (`ulimit -f`)",
}
"""What neither space nor permissions mend, nor another directory."""


@contextmanager
def cache_errors(action: str, path: Path) -> Iterator[None]:
    """Turn an `OSError` into a `CacheError` that says what was being done, where, and what may help."""
    try:
        yield
    except OSError as error:
        where = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else path
        limit = _LIMITS.get(error.errno or 0)
        mend = f"raise the limit of {limit}" if limit else "free some space or mend the permissions"
        elsewhere = "" if limit or _is_of_a_project(where) else ", or set LAYOUTRAND_CACHE to another directory"
        raise CacheError(
            f"cannot {action} {where}: {error.strerror or error}. "
            f"Nothing finished is lost: {mend} and give the same command again{elsewhere}"
        ) from error


def _is_of_a_project(path: Path) -> bool:
    """Whether the path lies in a project's own directory, and in no cache that was put there."""
    return PROJECT_FOLDER in path.parts and not any(is_cache(above) for above in path.parents)


@contextmanager
def shared_errors(action: str, path: Path) -> Iterator[None]:
    """Turn an `OSError` in the directory that nodes share into a `BundleError` that says what was done, and where."""
    try:
        yield
    except OSError as error:
        raise BundleError(
            f"cannot {action} {error.filename or path}: {error.strerror or error}. Nothing finished is lost: see that "
            "the shared directory exists on every node, may be written and has space, and give the same command again"
        ) from error


def write_atomically(
    path: Path,
    data: bytes,
    *,
    executable: bool = False,
    at_most: int = 0o666,
    mode: int | None = None,
    put: Callable[[Path, Path], object] = os.replace,
) -> None:
    """Write beside the target and rename into place, so that a reader sees the old file or the new one, whole.

    Its permissions are ``at_most`` those, less what the user's umask takes; ``mode`` has them where they are those of
    another file, whatever the umask.  ``put`` does the renaming.
    """
    make_folder(path.parent)
    permissions = at_most | (0o111 if executable else 0) if mode is None else stat.S_IMODE(mode)
    with ExitStack() as lost, writing_executable() if permissions & 0o111 else nullcontext():
        descriptor, temporary = new_file(path.parent, permissions)
        lost.callback(temporary.unlink, missing_ok=True)  # who renames it may have done so before it was lost
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if mode is not None:
                os.fchmod(file.fileno(), permissions)
        put(temporary, path)
        lost.pop_all()


def make_folder(folder: Path) -> None:
    """Make the directory and those above it; a project's own is made so that git leaves out all that is in it.

    Results, logs and records name machines and hold what programs printed: nobody commits them by accident.
    """
    for above in (folder, *folder.parents):
        if above.name == PROJECT_FOLDER and not above.exists():
            above.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError), (above / ".gitignore").open("x") as file:
                file.write("*\n")
    folder.mkdir(parents=True, exist_ok=True)


def new_file(folder: Path, permissions: int = 0o666) -> tuple[int, Path]:
    """A new file of a name of its own, open for writing, with these permissions less what the umask takes.

    `tempfile` makes files for their owner alone, and they would stay so under the name that they are given.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        path = folder / f"{_UNFINISHED}{secrets.token_hex(8)}"
        try:
            return os.open(path, flags, permissions), path
        except FileExistsError:
            continue


def check_writable(path: Path) -> None:
    """Raise the `OSError` that stands in the way of writing a file there; nothing is left behind.

    An empty file is made where it would be, or where the first of its folders would, and deleted: of permissions, disks
    that are mounted read-only and full ones the system alone knows all.
    """
    folder = next(above for above in path.parents if above.exists())
    try:
        descriptor, probe = new_file(folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    os.close(descriptor)
    probe.unlink()


def is_unfinished(path: Path) -> bool:
    """Whether the name is one that a killed process of ours leaves behind."""
    return path.name.startswith(_UNFINISHED)


def new_folder(folder: Path) -> Path:
    """A new directory of a name of its own, as the umask has it: `tempfile` makes them for their owner alone."""
    while True:
        path = folder / f"{_UNFINISHED}{secrets.token_hex(8)}"
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path


def link_or_copy(source: Path, target: Path) -> None:
    """A hard link where the file system allows it, else a copy with times and permissions."""
    try:
        os.link(source, target)
    except OSError:
        copy_file(source, target)


def is_cache(folder: Path) -> bool:
    """Whether the directory is a cache of ours; one that lies in the user's source is no part of the source."""
    try:
        return content_of_regular(folder / "CACHEDIR.TAG", largest=WRITTEN_BY_HAND) == CACHE_TAG
    except OSError:
        return False


def remove_tree(path: Path) -> None:
    """Delete a directory that may hold unwritable directories; nothing happens if it is not there.

    Another process may be deleting it too.
    """
    for _attempt in range(100):
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            if not os.path.lexists(path):
                return
        except PermissionError:
            break
        else:
            return
    _make_writable(path)
    shutil.rmtree(path)


def _make_writable(path: Path) -> None:
    """Let the owner into every directory; a file may be hard-linked into the cache and keeps its mode."""
    path.chmod(0o700)
    for directory, names, _files in os.walk(path):  # a directory is entered after its parent's turn
        for name in names:
            child = Path(directory, name)
            if not child.is_symlink():
                child.chmod(0o700)


def readable(name: str) -> str:
    """A file's name for people and JSON: bytes that are not UTF-8 are escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def tail(path: Path, lines: int) -> str:
    """The last lines of a log as text; "" if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 200 * lines))
            text = file.read().decode("utf-8", "backslashreplace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


_OF_A_DIRECTORY: Final = b"input 2"
"""What the digest of a directory is made of, raised whenever that is more than before, so that no old one fits."""


def digest_of_input(path: Path) -> str:
    """Digest of what an execution can read there; raises `OSError`, also for a directory below that cannot be read.

    Of a file: its content, and whether it may be executed (one that may not has the digest of its content).  Of a
    directory: the same of everything below, with all names, what each link says, and what is found behind it.
    """
    if not path.is_dir():
        return _digest_of_file(os.fsencode(path))
    top = os.stat(path)
    return sha256_bytes(b"\n".join([_OF_A_DIRECTORY, *_lines(os.fsencode(path), b"", ((top.st_dev, top.st_ino),))]))


def _digest_of_file(path: bytes) -> str:
    with open_regular(path, largest=ANY) as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
        executable = os.fstat(file.fileno()).st_mode & 0o111
    return sha256_bytes(f"program {content}".encode()) if executable else content


def _lines(folder: bytes, name: bytes, above: tuple[tuple[int, int], ...]) -> Iterator[bytes]:
    """A line for each entry below ``folder``, which is called ``name``; ``above`` are device and inode of it and above.

    A link that leads to one of those has no end, and is what it says.
    """
    for entry in sorted(os.listdir(folder)):
        path, called = folder + b"/" + entry, name + b"/" + entry
        link = b" link " + os.readlink(path).hex().encode() if os.path.islink(path) else b""
        try:
            found = os.stat(path)
        except OSError:
            if not link:
                raise
            yield called.hex().encode() + link + b" to nothing"
            continue
        place = (found.st_dev, found.st_ino)
        if stat.S_ISREG(found.st_mode):
            yield called.hex().encode() + link + b" " + _digest_of_file(path).encode()
            continue
        yield called.hex().encode() + link + (b" directory" if stat.S_ISDIR(found.st_mode) else b" other")
        if stat.S_ISDIR(found.st_mode) and place not in above:
            yield from _lines(path, called, (*above, place))


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write generated files; raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")


class Folders:
    """Directories below one, each made once."""

    def __init__(self, base: Path) -> None:
        """Nothing is made yet."""
        self._base = str(base)
        self._made: set[str] = set()

    def place_for(self, name: str) -> Path:
        """Where the file goes; its directory is there."""
        path = f"{self._base}/{name}"
        folder = os.path.dirname(path)
        if folder not in self._made:
            os.makedirs(folder, exist_ok=True)
            self._made.add(folder)
        return Path(path)
