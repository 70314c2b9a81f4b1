"""Files that executions need, carried to nodes by content: described here, made again below another directory there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePath

from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.errors import BundleError
from layoutrand.platform.disk import cache_errors, new_folder, remove_tree, sha256_bytes, sha256_file, shared_errors
from layoutrand.platform.regular_file import ANY, PROGRAM, content_of_regular, open_regular


@dataclass(frozen=True)
class InputEntry:
    """A file (with ``sha256``), a symbolic link (with ``target``) or a directory (with neither).

    ``path`` is relative to the project and may lead above it by leading ".."; ``size`` is in bytes.
    """

    path: str
    mode: int
    sha256: str = ""
    size: int = 0
    target: str = ""


def described(project: Path, names: Iterable[str]) -> tuple[InputEntry, ...]:
    """What these relative names are, directories with everything below them; raises `BundleError`."""
    found: dict[str, InputEntry] = {}
    for name in dict.fromkeys(os.path.normpath(name) for name in names):
        with shared_errors("read", project / name):
            path = project / name
            if path.is_dir():
                # A name that is a link to a directory is carried as the directory, as executions get a copy of it.
                found[name] = InputEntry(name, path.stat().st_mode & 0o777)
                for below in sorted(path.rglob("*")):
                    entry = _entry(below, os.path.join(name, below.relative_to(path)))
                    found[entry.path] = entry
            else:
                found[name] = InputEntry(name, path.stat().st_mode & 0o777, sha256_file(path), path.stat().st_size)
    _check_links(found, project)
    return tuple(found[name] for name in sorted(found))


def _check_links(found: Mapping[str, InputEntry], project: Path) -> None:
    """Raise `BundleError` for what would be made through a link on a node: it may lead to files that are not ours."""
    links = {name for name, entry in found.items() if entry.target}
    for name in found if links else ():
        if link := next((str(above) for above in PurePath(name).parents if str(above) in links), None):
            raise BundleError(
                f"{project / name} lies behind the symbolic link {project / link}, which is carried as a link; "
                "name it by where the link leads"
            )


def _entry(path: Path, name: str) -> InputEntry:
    name, mode = os.path.normpath(name), path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return InputEntry(name, 0o777, target=os.readlink(path))
    if stat.S_ISDIR(mode):
        return InputEntry(name, mode & 0o777)
    if not stat.S_ISREG(mode):
        raise BundleError(f"{path} is neither a file nor a directory, so it cannot be carried to nodes")
    return InputEntry(name, mode & 0o777, sha256_file(path), path.stat().st_size)


def send(entries: Sequence[InputEntry], project: Path, shared: SharedDirectory, *, jobs: int = 1) -> int:
    """Put the contents into the shared directory, as far as they are not there; how many bytes were written."""
    first = {entry.sha256: entry.path for entry in reversed(entries) if entry.sha256}

    def put(digest: str) -> int:
        path = project / first[digest]
        with shared_errors("read", path):
            data = content_of_regular(path, largest=PROGRAM)
        if sha256_bytes(data) != digest:
            raise BundleError(f"{path} is changed while it is carried to nodes; give the same command again")
        return shared.put(digest, data)

    with ThreadPoolExecutor(max(1, jobs)) as pool:
        return sum(pool.map(put, first))


def depth(entries: Iterable[InputEntry]) -> int:
    """How many directories above the project the entries lead."""
    return max((_ups(entry.path) for entry in entries), default=0)


def _ups(path: str) -> int:
    return next((n for n, part in enumerate(Path(path).parts) if part != ".."), len(Path(path).parts))


def restored(entries: Sequence[InputEntry], shared: SharedDirectory, folder: Path) -> Path:
    """The project below ``folder`` with these entries, made whole unless it is there; raises `BundleError`.

    Raises `CacheError` where the folder cannot be written.
    """
    project = folder.joinpath(*["up"] * depth(entries), "project")
    if folder.exists():
        with cache_errors("use", folder):
            os.utime(folder)  # it is collected by the time of its last use
        return project
    with cache_errors("write", folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = new_folder(folder.parent)
        try:
            target = scratch / project.relative_to(folder)
            target.mkdir(parents=True)
            _make(entries, shared, target)
            try:
                os.rename(scratch, folder)
            except OSError:
                if not folder.exists():  # else another task was quicker
                    raise
                remove_tree(scratch)
        except BaseException:
            remove_tree(scratch)
            raise
    return project


def _make(entries: Sequence[InputEntry], shared: SharedDirectory, project: Path) -> None:
    for entry in entries:
        path = Path(os.path.normpath(project / entry.path))
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry.target:
            path.symlink_to(entry.target)
        elif entry.sha256:
            with path.open("wb") as file:
                shared.fetch(entry.sha256, entry.size, file)
            path.chmod(entry.mode)
        else:
            path.mkdir(exist_ok=True)
    for entry in reversed(list(_directories(entries))):  # a directory may forbid that anything is put into it
        Path(os.path.normpath(project / entry.path)).chmod(entry.mode)


def _directories(entries: Iterable[InputEntry]) -> Iterator[InputEntry]:
    return (entry for entry in entries if not entry.sha256 and not entry.target)


def shortened(path: Path, most: int) -> bytes:
    """A file's content; of one with more than ``most`` bytes its beginning and its end, with a line that says so."""
    size = path.stat().st_size
    with open_regular(path, largest=ANY) as file:
        if size <= most:
            return file.read()
        begin = file.read(most // 2)
        file.seek(-(most // 2), os.SEEK_END)
        return b"%s\n[layoutrand: %d bytes stayed on the node]\n%s" % (begin, size - 2 * (most // 2), file.read())
