"""The undo record: which settings of the machine layoutrand changed, written before the first of them is changed.

One file for the machine.  It appears whole or not at all and is on the disk before anything else happens, so whoever
comes after a kill -9 or a power cut finds what there is to restore.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import platformdirs

from layoutrand.errors import HostError
from layoutrand.host.known_settings import is_known_change
from layoutrand.platform import proc_files
from layoutrand.platform.owned_files import objection, read_owned

VARIABLE: Final = "LAYOUTRAND_STATE"
_NAME: Final = "undo.json"
_SCHEMA: Final = "layoutrand/undo/1"
_LARGEST: Final = 1 << 22  # bytes: a machine has some thousand CPUs at most


@dataclass(frozen=True)
class Change:
    """One setting: the file that is it, relative to the root, its value before and the one layoutrand gives it."""

    path: str
    before: str
    after: str


@dataclass(frozen=True)
class UndoRecord:
    """What was changed, in this order, since which start of the machine and by which process.

    ``started`` is when that process was started, in ticks since the machine's start: numbers of processes come again.
    ``keep`` says that the changes are to outlive it (`doctor --tune`).
    """

    boot_id: str
    pid: int
    started: int
    keep: bool
    changes: tuple[Change, ...]

    def is_orphaned(self) -> bool:
        """Whether the process that was to restore the settings is gone."""
        return not self.keep and process_started(self.pid) != self.started


def record_places() -> list[Path]:
    """Where the record may be; it is written to the first.

    Settings are the machine's and not a user's, so it is in /var/lib, where only root may write; someone else who may
    change a setting has it among the files of their own.  ``$LAYOUTRAND_STATE`` names another directory.
    """
    if given := os.environ.get(VARIABLE):
        return [Path(given).absolute() / _NAME]
    shared, own = Path("/var/lib/layoutrand"), Path(platformdirs.user_state_dir("layoutrand"))
    places = [shared, own] if os.geteuid() == 0 else [own, shared]
    return [place / _NAME for place in places]


def find_record(places: Sequence[Path]) -> tuple[Path, UndoRecord] | None:
    """The record and where it is; raises `HostError` for one that cannot be read or may be another user's doing.

    What it names is written by whoever restores, often root: so it must be that one's or root's, and say nothing but
    what layoutrand changes.
    """
    for path in places:
        try:
            content = _read(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise HostError(f"cannot read the undo record {path}: {error.strerror}; look at it as root") from error
        try:
            return path, _decoded(json.loads(content))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise HostError(
                f"the undo record {path} is not one that this layoutrand wrote. It says which settings of the machine "
                "were changed: look at it, restore them by hand and delete it, or restart the machine and delete it"
            ) from error
    return None


def _read(path: Path) -> bytes:
    """The content of a file that nobody else can have put there; raises `HostError` and `OSError`."""

    def refused(reason: str) -> HostError:
        return HostError(
            f"the undo record {path} is not followed: {reason}, so it may be another user's doing. Give the command as "
            f"whoever wrote it, or look at it, restore by hand what it names and delete it; {VARIABLE} names a "
            "directory of your own"
        )

    content = read_owned(path, refused, largest=_LARGEST)
    above = path.parent.stat()
    reason = objection(above)
    if reason and not above.st_mode & stat.S_ISVTX:
        raise refused(f"as to its directory, {reason}")
    return content


def _decoded(value: dict[str, Any]) -> UndoRecord:
    """The record of that document; raises `ValueError`, `TypeError`, `KeyError` or `AttributeError` if it is none."""
    if value.pop("schema") != _SCHEMA:
        raise ValueError(value)
    changes = tuple(Change(**change) for change in value["changes"])
    record = UndoRecord(**value | {"changes": changes})
    numbers = type(record.pid) is int and type(record.started) is int
    if not numbers or not isinstance(record.boot_id, str) or not isinstance(record.keep, bool):
        raise TypeError(value)
    if not all(is_known_change(change.path, change.before, change.after) for change in changes):
        raise ValueError(value)
    return record


def write_record(path: Path, record: UndoRecord) -> None:
    """Put the record in its place and on the disk; raises `HostError` where there is one already, or none can be."""
    value = {"schema": _SCHEMA, **asdict(record)}
    try:
        if not path.parent.exists():
            path.parent.mkdir(parents=True)
            path.parent.chmod(0o755)  # whatever root's umask is: users are to be told what is changed
        descriptor, beside = tempfile.mkstemp(prefix=".tmp-undo-", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(value, file, indent=1)
                file.flush()
                os.fchmod(file.fileno(), 0o644)
                os.fsync(file.fileno())
            _link(beside, path)
        finally:
            os.unlink(beside)
        _sync(path.parent)
    except OSError as error:
        raise HostError(
            f"cannot write the undo record {path}: {error.strerror}, so nothing was changed; "
            f"{VARIABLE}=/a/directory puts it elsewhere"
        ) from error


def _link(beside: str, path: Path) -> None:
    try:
        os.link(beside, path)  # unlike renaming, this fails where another one is
    except FileExistsError:
        raise HostError(f"another layoutrand has changed settings at the same moment ({path}); try again") from None


def remove_record(path: Path) -> None:
    """Remove the record: nothing is left to be restored.  Raises `HostError`."""
    try:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        _sync(path.parent)
    except OSError as error:
        raise HostError(f"cannot remove the undo record {path}: {error.strerror}; remove it as root") from error


def boot_id(root: Path) -> str:
    """What tells one start of the machine from another; "" where the kernel does not say."""
    return proc_files.text(root / "proc/sys/kernel/random/boot_id") or ""


def process_started(pid: int) -> int | None:
    """When the process was started, in ticks since the machine's start; None where there is no such process."""
    stat = proc_files.process_stat("/proc", pid)
    return None if stat is None else stat.started


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
