"""A directory with all that is in it, as two files: what there is, and the contents, each of them once.

The records of many links hold the object files and archives that lie in the build's tree, too, and each other's: what
is in a record's tar archive is a content of its own, so it takes no room twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, get_args

from layoutrand.platform.disk import canonical_json
from layoutrand.platform.regular_file import ANY, open_regular

_PART: Final = 1 << 20
_TAR: Final = "/inputs.tar"
"""Of the record of a link.  Others are files as any: in those that an archiver is tested with anything may stand."""
_OWN: Final = 0o700
_PERMISSIONS: Final = 0o777

Kind = Literal["directory", "file", "link", "same", "left out"]
_KINDS: Final = frozenset(get_args(Kind))
_LATEST: Final = 1 << 63


@dataclass(frozen=True)
class PackedPath:
    """A path below the directory, with permissions and time (ns since the epoch).

    ``pieces`` are numbers of contents that a "file" consists of; ``other`` is where a "link" leads, or which file a
    hard link is the "same" as.  Of what is "left out" there is the name alone.
    """

    kind: Kind
    path: str
    mode: int = 0
    at_ns: int = 0
    pieces: tuple[int, ...] = ()
    other: str = ""


@dataclass(frozen=True)
class PackedTree:
    """What there is: paths, each directory before what is in it, and SHA-256 and size of each content, in order."""

    paths: tuple[PackedPath, ...]
    contents: tuple[tuple[str, int], ...]

    def size(self) -> int:
        """Bytes of all contents."""
        return sum(size for _, size in self.contents)

    def left_out(self) -> set[str]:
        """Paths whose content is not there."""
        return {each.path for each in self.paths if each.kind == "left out"}

    def to_json(self) -> bytes:
        """As it is stored; names that are not UTF-8 survive it."""
        return canonical_json({"paths": [astuple(each) for each in self.paths], "contents": self.contents})


class TooMuch(Exception):
    """More than may be packed: at least ``size`` bytes."""

    def __init__(self, size: int) -> None:
        """Keep the size."""
        self.size = size
        super().__init__(size)


def parse_tree(data: bytes) -> PackedTree:
    """What `PackedTree.to_json` wrote; raises `ValueError` for what it cannot have written.

    No path leads out of the directory, also by way of a link: links are made last.
    """
    try:
        table = json.loads(data)
        contents = tuple((str(digest), _number(size)) for digest, size in table["contents"])
        paths = tuple(_path(row, len(contents)) for row in table["paths"])
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"no packed tree: {error!r}") from error
    folders, files, seen = {""}, set(), set()
    for each in paths:
        folder, _, name = each.path.rpartition("/")
        strange = name in {"", ".", ".."} or each.path.startswith("/") or "\0" in each.path + each.other
        if strange or each.path in seen or folder not in folders:
            raise ValueError(f"a path that leads nowhere: {each.path!r}")
        if each.kind == "same" and each.other not in files:
            raise ValueError(f"{each.path!r} is the same as nothing")
        seen.add(each.path)
        if each.kind == "directory":
            folders.add(each.path)
        elif each.kind == "file":
            files.add(each.path)
    return PackedTree(paths, contents)


def _path(row: Any, n_contents: int) -> PackedPath:
    kind, path, mode, at_ns, pieces, other = row
    numbers = tuple(_number(number) for number in pieces)
    if kind not in _KINDS or not isinstance(path, str) or not isinstance(other, str):
        raise ValueError(f"a path of no kind: {kind!r}")
    if any(number >= n_contents for number in numbers):
        raise ValueError(f"{path!r} has contents that are not there")
    return PackedPath(kind, path, _number(mode) & _PERMISSIONS, _number(at_ns, -_LATEST), numbers, other)


def _number(value: Any, least: int = 0) -> int:
    if type(value) is not int or not least <= value < _LATEST:
        raise ValueError(f"no number: {value!r}")
    return value


def pack(
    base: Path, beside: Mapping[str, Path], target: Path, *, is_wanted: Callable[[str], bool], most: int
) -> PackedTree:
    """Write contents of all that is below the directory, and of files ``beside``, into the target.

    Of paths that are not wanted the name alone is there.  Sockets and pipes are left out: no link reads any.  Raises
    `TooMuch` for more than ``most`` bytes, and `OSError` for what cannot be read.
    """
    with target.open("xb") as file:
        contents = _Contents(file, most)
        paths = list(_walk(base, is_wanted, contents))
        paths += [_file(path, name, contents) for name, path in beside.items()]
        return PackedTree(tuple(paths), tuple(contents.pieces))


def _walk(base: Path, is_wanted: Callable[[str], bool], contents: _Contents) -> Iterator[PackedPath]:
    first: dict[tuple[int, int], str] = {}
    for folder, below, names in os.walk(base, onerror=_refuse):
        links = [name for name in below if os.path.islink(os.path.join(folder, name))]
        below[:] = sorted(set(below) - set(links))
        inside = os.path.relpath(folder, base)
        for name in sorted([*below, *links, *names]):
            path = name if inside == "." else f"{inside}/{name}"
            full = Path(folder, name)
            info = full.lstat()
            if stat.S_ISDIR(info.st_mode):
                yield PackedPath("directory", path, stat.S_IMODE(info.st_mode), info.st_mtime_ns)
            elif stat.S_ISLNK(info.st_mode):
                yield PackedPath("link", path, other=os.readlink(full))
            elif stat.S_ISREG(info.st_mode) and not is_wanted(path):
                yield PackedPath("left out", path)
            elif stat.S_ISREG(info.st_mode):
                place = (info.st_dev, info.st_ino)
                if place in first:
                    yield PackedPath("same", path, other=first[place])
                    continue
                if info.st_nlink > 1:
                    first[place] = path
                yield _file(full, path, contents)


def _refuse(error: OSError) -> None:
    raise error


def _file(full: Path, path: str, contents: _Contents) -> PackedPath:
    info = full.stat()
    with open_regular(full, largest=ANY) as file:
        pieces = tuple(contents.add(part) for part in _parts(file, path, info.st_size))
    return PackedPath("file", path, stat.S_IMODE(info.st_mode), info.st_mtime_ns, pieces)


def _parts(file: BinaryIO, path: str, size: int) -> Iterator[Iterator[bytes]]:
    """The file in parts, those of a record's tar archive by what is in it.

    Each is to be read before the next is asked for.
    """
    ends = [end for begin, length in _members(file) for end in (begin, begin + length)] if path.endswith(_TAR) else []
    begin = 0
    file.seek(0)
    for end in (*ends, size):
        if begin < end <= size:
            yield _read(file, end - begin)
            begin = end


def _members(file: BinaryIO) -> list[tuple[int, int]]:
    """Where contents lie in a tar archive, and how long they are; none of what is damaged."""
    try:
        with tarfile.open(fileobj=file, mode="r:", encoding="utf-8", errors="surrogateescape") as archive:
            return [(member.offset_data, member.size) for member in archive if member.isreg()]
    except (tarfile.TarError, EOFError, ValueError, OverflowError, MemoryError, OSError):  # any number may stand in it
        return []


def _read(file: BinaryIO, length: int) -> Iterator[bytes]:
    while length and (part := file.read(min(length, _PART))):
        length -= len(part)
        yield part


class _Contents:
    """Contents on their way into one file, each of them once; ``pieces`` has SHA-256 and size of each."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self.pieces: list[tuple[str, int]] = []
        self._file, self._most, self._size = file, most, 0
        self._numbers: dict[tuple[str, int], int] = {}

    def add(self, parts: Iterable[bytes]) -> int:
        """The number of the content that is given in parts."""
        digest, size = hashlib.sha256(), 0
        for part in parts:
            digest.update(part)
            size += len(part)
            self._file.write(part)
            if self._size + size > self._most + _PART and size > _PART:
                raise TooMuch(self._size + size)
        piece = (digest.hexdigest(), size)
        if piece in self._numbers:
            self._file.seek(self._size)
            self._file.truncate()
            return self._numbers[piece]
        self._size += size
        if self._size > self._most:
            raise TooMuch(self._size)
        self._numbers[piece] = len(self.pieces)
        self.pieces.append(piece)
        return self._numbers[piece]


def unpack(tree: PackedTree, contents: Path, base: Path) -> None:
    """Put all of it below the directory, which is there; raises `ValueError` for contents that are others by now."""
    begins = [0]
    for _, size in tree.contents:
        begins.append(begins[-1] + size)
    with open_regular(contents, largest=ANY) as file:
        for each in tree.paths:
            if each.kind == "directory":
                (base / each.path).mkdir(_OWN)
            elif each.kind == "file":
                _write(each, tree, begins, file, base / each.path)
    for each in tree.paths:
        if each.kind == "same":
            os.link(base / each.other, base / each.path)
    for each in tree.paths:
        if each.kind == "link":
            os.symlink(each.other, base / each.path)
    for each in reversed(tree.paths):  # what is in a directory changes its time
        if each.kind == "directory":
            (base / each.path).chmod(each.mode)
            os.utime(base / each.path, ns=(each.at_ns, each.at_ns))


def _write(each: PackedPath, tree: PackedTree, begins: list[int], file: BinaryIO, target: Path) -> None:
    with target.open("xb") as new:
        for number in each.pieces:
            digest, size = tree.contents[number]
            file.seek(begins[number])
            found, length = hashlib.sha256(), 0
            for part in _read(file, size):
                found.update(part)
                length += len(part)
                new.write(part)
            if (found.hexdigest(), length) != (digest, size):
                raise ValueError(f"the contents of {each.path} are damaged")
        os.fchmod(new.fileno(), each.mode)
    os.utime(target, ns=(each.at_ns, each.at_ns))


def is_whole(tree: PackedTree, contents: Path) -> bool:
    """Whether every content is what was packed, and nothing else is there."""
    try:
        with open_regular(contents, largest=ANY) as file:
            for digest, size in tree.contents:
                found = hashlib.sha256()
                for part in _read(file, size):
                    found.update(part)
                if found.hexdigest() != digest:
                    return False
            return not file.read(1)
    except OSError:
        return False
