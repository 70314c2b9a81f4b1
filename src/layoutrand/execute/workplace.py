"""Where an execution happens: fresh directories under one name that never changes, and the logs of failures.

Every execution gets empty directories at the *same* path, so that no length and no content of a path differs
between layouts: argv[0], the environment and the auxiliary vector are the same to the byte.  A directory that no
program changed is emptied of what was put there, and any other is made anew.  The binary is a new file,
the execution's own, with all its pages in the page cache: whatever a program writes into it, the cache keeps what was
built.  A file that lived on from one execution of a binary to the next would keep its pages, too.  Where these lie in
memory, and so which of them meet in a cache of the processor, would be a property of the binary as its layout is, and
one draw for all executions of stock, which tell how much executions vary by themselves.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from layoutrand.cache.contents import place
from layoutrand.errors import BundleError, CacheError, ResultsError, UnusableFile
from layoutrand.instruments.instrument import InstrumentFiles
from layoutrand.jvm.home_image import link_tree
from layoutrand.model import Stored
from layoutrand.platform.disk import make_folder, remove_tree, sha256_bytes, write_atomically
from layoutrand.platform.masked_files import mask_file, mask_files
from layoutrand.platform.orphans import end_processes, was_given
from layoutrand.platform.own_file import Manner
from layoutrand.platform.regular_file import ANY, PROGRAM, RECORD, content_of_regular, open_regular, text_of_regular

_SANDBOX: Final = "x"
_END: Final = 1 << 14
"""Bytes in which the last line of an output is looked for."""


@dataclass(frozen=True)
class Sandbox:
    """The directories and files of one execution."""

    bin: Path
    home: Path
    cwd: Path
    tmp: Path
    stdout: Path
    stderr: Path
    instrument: InstrumentFiles


_FolderState: TypeAlias = tuple[int, ...]


def _state(folder: os.stat_result, changed_ns: int) -> _FolderState:
    """What tells whether it is the same directory, and whether somebody changed its attributes or its entries."""
    return (folder.st_dev, folder.st_ino, folder.st_mode, folder.st_uid, folder.st_gid, changed_ns)


class Workplace:
    """The directory in which a project's executions happen, one at a time."""

    def __init__(self, root: Path, *, clone: bool = True) -> None:
        """Use ``root`` (absolute); `prepare` creates what is needed.

        Without ``clone`` binaries are copies where the file system could clone them, too: so that those that are kept
        whole are made in the manner of those that are not.
        """
        self.root, self._clone = root, clone
        sandbox = root / _SANDBOX
        output = sandbox / "output"
        self.sandbox = Sandbox(
            bin=sandbox / "bin",
            home=sandbox / "home",
            cwd=sandbox / "cwd",
            tmp=sandbox / "tmp",
            stdout=output / "stdout",
            stderr=output / "stderr",
            instrument=InstrumentFiles(output, scratch=sandbox),
        )
        self._manners: set[Manner] = set()
        made = (self.sandbox.bin, self.sandbox.cwd, self.sandbox.tmp, self.sandbox.stdout.parent)
        self._folders = [os.fspath(each) for each in (sandbox, *made)]
        self._contents = [sorted(each.name for each in made), *([] for _ in made)]
        self._states: list[_FolderState] = []
        self._placed: list[Path] = []
        self._printed: bytes | None = None

    def prepare(self, binaries: Mapping[str, Stored], files: Sequence[Path]) -> Sandbox:
        """Make it as new: ``binaries`` by their path below ``bin``, copies of ``files`` in the working directory.

        Raises `ResultsError` where the file system does not let it.
        """
        self._manners = set()
        self._printed = None
        with _explained(self.root):
            if not self._emptied():
                self._make_sandbox()
            self._placed = [self.sandbox.stdout, self.sandbox.stderr]
            for relative, binary in binaries.items():
                self._place(binary, self.sandbox.bin / relative)
            for file in files:
                self._placed.append(self.sandbox.cwd / file.name)
                if file.is_dir():
                    shutil.copytree(file, self.sandbox.cwd / file.name, symlinks=True)
                else:
                    shutil.copy2(file, self.sandbox.cwd / file.name)
            self._states = self._looked_at()
        return self.sandbox

    def furnish(self, template: Path, path: str, binary: Stored) -> None:
        """Make the sandbox's ``home`` of links to the files of ``template``, with the binary at ``path`` of it."""
        with _explained(self.root):
            _remove(self.sandbox.home)
            link_tree(template, self.sandbox.home, leave_out=path)
            self._place(binary, self.sandbox.home / path)

    def manner(self) -> str:
        """How the last execution's binaries came into their places: "copy", "reflink", or both.

        What was kept as a delta is a copy: a file with blocks of its own, written in the same pieces.
        """
        return " and ".join(sorted(self._manners))

    def stdout(self) -> bytes:
        """What the last execution printed; it is read once, and in memory until the next one is prepared."""
        if self._printed is None:
            self._printed = content_of_regular(self.sandbox.stdout, largest=PROGRAM)
        return self._printed

    def stdout_sha256(self) -> str:
        """The SHA-256 of that, in hexadecimal; raises `OSError`.

        What nobody has read is read in pieces.
        """
        if self._printed is not None:
            return sha256_bytes(self._printed)
        with open_regular(self.sandbox.stdout, largest=PROGRAM) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def written(self, name: str) -> str | None:
        """What the instrument of the last execution wrote into the file of that name, or None where it did not."""
        path = self.sandbox.instrument.output / name
        return _text(path) if path.exists() else None

    def all_written(self, prefix: str) -> list[str]:
        """As `written`, of every file whose name begins so, in the order of the names."""
        files = sorted(self.sandbox.instrument.output.glob(f"{prefix}*"))
        return [_text(file) for file in files]

    def left_behind(self, patterns: Sequence[str], temporary: Sequence[str]) -> dict[str, str]:
        """The files that the last execution left and that match one of the patterns: path -> text.

        In its working directory, and those of ``temporary`` in its directory for temporary files, too.
        """
        found = {}
        for folder, wanted in ((self.sandbox.tmp, temporary), (self.sandbox.cwd, patterns)):
            for path in sorted({path for pattern in wanted for path in folder.glob(pattern) if path.is_file()}):
                found[str(path.relative_to(folder))] = _text(path)
        return found

    def stderr(self) -> bytes:
        """What the last execution printed as messages."""
        return content_of_regular(self.sandbox.stderr, largest=PROGRAM)

    def end_of_messages(self) -> bytes:
        """The last of what it printed as messages; nothing where it was not started."""
        return _end(self.sandbox.stderr)

    def end_of_output(self) -> bytes:
        """The last of what it printed."""
        return _end(self.sandbox.stdout)

    def add_to_output(self, files: Sequence[Path]) -> None:
        """Put copies of files that the last execution left beside its output."""
        with _explained(self.root):
            for file in files:
                shutil.copyfile(file, self.sandbox.stdout.with_name(file.name))

    def keep_output(self, directory: Path, masked: Sequence[tuple[bytes, bytes]] = ()) -> None:
        """Move the output of the last execution to ``directory``, replacing what was there.

        ``masked`` are pairs of what is not kept, and what stands for it.
        """
        with _explained(directory):
            mask_files(self.sandbox.stdout.parent, masked)
            _remove(directory)
            directory.parent.mkdir(parents=True, exist_ok=True)
            self.sandbox.stdout.parent.rename(directory)

    def keep_stdout(self, directory: Path, masked: Sequence[tuple[bytes, bytes]] = ()) -> None:
        """Move what the last execution printed into ``directory``, where it is all that there is; as `keep_output`."""
        with _explained(directory):
            mask_file(self.sandbox.stdout, masked)
            _remove(directory)
            directory.mkdir(parents=True)
            self.sandbox.stdout.rename(directory / self.sandbox.stdout.name)

    def clear(self) -> None:
        """Remove all of it."""
        with _explained(self.root):
            _remove(self.root)

    def _emptied(self) -> bool:
        """Whether nothing is left of the last execution, once what was put there is removed: not if it changed more."""
        try:
            if not self._states or self._looked_at() != self._states:
                return False
            for path in self._placed:
                os.unlink(path)
            return [sorted(os.listdir(folder)) for folder in self._folders] == self._contents
        except OSError:  # a program took something away
            return False

    def _make_sandbox(self) -> None:
        _remove(self.root / _SANDBOX)
        try:
            os.mkdir(self._folders[0])
        except FileNotFoundError:
            make_folder(self.root)
            os.mkdir(self._folders[0])
        for folder in self._folders[1:]:
            os.mkdir(folder)

    def _looked_at(self) -> list[_FolderState]:
        *rest, output = (os.lstat(folder) for folder in self._folders)
        return [*(_state(each, each.st_ctime_ns) for each in rest), _state(output, 0)]  # it is us who write there

    def _place(self, binary: Stored, target: Path) -> None:
        if target.parent == self.sandbox.bin:
            self._placed.append(target)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._manners.add(place(binary, target, clone=self._clone))
        except FileNotFoundError as error:
            gone = next((path for path in binary if path is not None and not path.exists()), binary.path)
            raise CacheError(f"{gone} is gone from the cache; `layoutrand build` links it again") from error
        except UnusableFile as error:
            raise CacheError(f"{error}; `layoutrand build` mends it") from error


def _text(path: Path) -> str:
    return text_of_regular(path, largest=RECORD, errors="surrogateescape")


def _end(path: Path) -> bytes:
    try:
        with open_regular(path, largest=ANY) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _END))
            return file.read()
    except (FileNotFoundError, UnusableFile):  # which whoever judges the execution tells
        return b""


def end_leftovers(root: Path) -> int:
    """Kill processes that a layoutrand killed earlier left running in ``root``; how many there were.

    Only to be called while holding the lock on the results: then whoever runs a program from this directory, has its
    temporary directory as TMPDIR, or writes its output there, is such a leftover.  They are gone when this returns.
    """
    marker = b"TMPDIR=" + os.fsencode(root / _SANDBOX / "tmp")
    output = os.fsencode(root / _SANDBOX / "output") + b"/"

    def is_leftover(entry: Path) -> bool:
        with contextlib.suppress(OSError):  # a program that was removed has no name, but may have the other two
            if os.readlink(os.fsencode(entry / "exe")).startswith(os.fsencode(root) + b"/"):
                return True
        if was_given(entry, {marker}):
            return True
        return any(os.readlink(os.fsencode(entry / "fd" / number)).startswith(output) for number in ("1", "2"))

    return end_processes(is_leftover)


def read_input(path: Path) -> bytes:
    """The content of a benchmark's input file; raises `OSError`."""
    return content_of_regular(path, largest=PROGRAM)


def _remove(path: Path) -> None:
    """Remove a tree, also where the benchmark left directories that it made unreadable."""
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        path.unlink()
    except PermissionError:
        for directory, _, _ in os.walk(path):
            Path(directory).chmod(stat.S_IRWXU)  # only directories: a file may be a link into the cache
            for entry in os.scandir(directory):
                if entry.is_dir(follow_symlinks=False):
                    Path(entry.path).chmod(stat.S_IRWXU)
        shutil.rmtree(path)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename if error.filename is not None else path
        raise ResultsError(
            f"cannot prepare an execution in {path}: {error.strerror} ({where}). All finished executions are recorded; "
            "run the same command again once this is mended"
        ) from error


LOGS: Final = PurePosixPath(".layoutrand/logs/run")


def _is_no_name(name: str) -> bool:
    return name in {"", ".", ".."} or "/" in name or "\0" in name


def keep_files(project: Path, log: str, files: Mapping[str, bytes]) -> None:
    """Write the files into the directory ``log`` of the project, replacing what was there.

    Raises `BundleError` for a place or a name that no layoutrand would give, `ResultsError` where it cannot be written.
    """
    place = PurePosixPath(log)
    if LOGS not in place.parents or ".." in place.parts or "\0" in log or any(_is_no_name(name) for name in files):
        raise BundleError(f"a record from a node wants its output in {log!r}, which is no place for logs")
    folder = project / place
    try:
        remove_tree(folder)
        folder.mkdir(parents=True)
        for name, data in files.items():
            write_atomically(folder / name, data)
    except OSError as error:
        raise ResultsError(
            f"cannot keep the output of a failed execution in {folder}: {error.strerror}. All finished executions are "
            "recorded or wait in the shared directory; give the same command again once this is mended"
        ) from error
