"""Changing settings of the machine for measuring, and restoring them exactly.

What is changed is in the undo record (`layoutrand.host.undo_record`) before the first change.  Restoring goes
backwards and may be begun anew at any point: a setting that has its former value already is left alone, and so is one
that someone else has given a third value in the meantime, which is said.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from layoutrand.errors import HostError
from layoutrand.host import known_settings
from layoutrand.host.undo_record import (
    Change,
    UndoRecord,
    boot_id,
    find_record,
    process_started,
    record_places,
    remove_record,
    write_record,
)
from layoutrand.platform import proc_files

UNDO: Final = "sudo layoutrand doctor --undo"


@dataclass(frozen=True)
class Offer:
    """What could be changed here: ``changes`` that we may make, and ``refused`` ones, for which we lack the right."""

    changes: tuple[Change, ...]
    refused: tuple[Change, ...]


@dataclass(frozen=True)
class Restored:
    """What was restored, and what was left alone since someone else changed it: (change, value now or None)."""

    changes: tuple[Change, ...]
    foreign: tuple[tuple[Change, str | None], ...]


def _set(path: Path, value: str) -> None:
    # As a shell's ">" does, but without creating anything: a setting is there or not; and it is no link or pipe.
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
        os.ftruncate(descriptor, 0)
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


class Tuning:
    """The settings below ``root``, and the record of what was changed, which is in one of ``places``."""

    def __init__(
        self,
        root: Path = Path("/"),
        places: Sequence[Path] | None = None,
        *,
        set_value: Callable[[Path, str], None] = _set,
    ) -> None:
        """Nothing is read or changed yet."""
        self._root = root
        self._places = list(places) if places is not None else record_places()
        self._set = set_value

    def offer(self) -> Offer:
        """What differs from how it should be for measuring."""
        wanted = [
            Change(str(path.relative_to(self._root)), before, after)
            for path, after in _wanted(self._root)
            if (before := proc_files.text(path)) is not None
            and before != after
            and known_settings.is_known_change(str(path.relative_to(self._root)), before, after)
        ]
        ours = [change for change in wanted if os.access(self._root / change.path, os.W_OK)]
        return Offer(tuple(ours), tuple(change for change in wanted if change not in ours))

    def record(self) -> UndoRecord | None:
        """What is changed now; raises `HostError` where the record cannot be read."""
        found = find_record(self._places)
        return None if found is None else found[1]

    def is_of_this_boot(self, record: UndoRecord) -> bool:
        """Whether the machine runs since before the record was written: a restart undoes all changes."""
        return record.boot_id == boot_id(self._root)

    def apply(self, changes: Sequence[Change], *, keep: bool) -> UndoRecord:
        """Make the changes, all or none; raises `HostError` where one fails, or where there is a record already."""
        if find_record(self._places) is not None:
            raise HostError(f"settings are changed already; `{UNDO}` restores them")
        pid = os.getpid()
        record = UndoRecord(boot_id(self._root), pid, process_started(pid) or 0, keep, tuple(changes))
        write_record(self._places[0], record)
        for change in changes:
            try:
                self._change(change.path, change.after)
            except HostError as error:
                of_this_one = self._taken_back(change)
                self.restore()
                raise HostError(f"{error}. What was changed before it is as it was{of_this_one}") from error
        return record

    def _taken_back(self, change: Change) -> str:
        """Give a setting its former value that took neither that one nor the new one; what is to be said of it.

        `restore` would take it for somebody else's and leave it alone.
        """
        if proc_files.text(self._root / change.path) in {change.before, change.after}:
            return ""
        try:
            self._change(change.path, change.before)
        except HostError as error:
            return f", and this one cannot be restored: {error}"
        return ", and so is this one"

    def restore(self) -> Restored:
        """Restore what is recorded, verify it, and remove the record.

        Raises `HostError` where there is none, or where a value cannot be restored; then the record stays.
        """
        found = find_record(self._places)
        if found is None:
            raise HostError("no settings are changed, so there is nothing to restore")
        path, record = found
        restored: list[Change] = []
        foreign: list[tuple[Change, str | None]] = []
        for change in reversed(record.changes):
            value = proc_files.text(self._root / change.path)
            if value == change.after:
                self._change(change.path, change.before)
                restored.append(change)
            elif value != change.before:
                foreign.append((change, value))
        remove_record(path)
        return Restored(tuple(restored), tuple(foreign))

    def forget(self) -> None:
        """Remove the record and restore nothing; raises `HostError`."""
        found = find_record(self._places)
        if found is not None:
            remove_record(found[0])

    def _change(self, path: str, value: str) -> None:
        """Give a setting a value and see that it has it."""
        file = self._root / path
        try:
            self._set(file, value)
        except OSError as error:
            root = "; it takes root" if isinstance(error, PermissionError) else ""
            raise HostError(f"cannot write {value} to {file}: {error.strerror}{root}") from error
        if (now := proc_files.text(file)) != value:
            raise HostError(f"{file} does not take the value {value}: it is {now}")


def _wanted(root: Path) -> Iterable[tuple[Path, str]]:
    """Files that hold a setting, and the value that is best for measuring.

    Counters are for everybody's own processes; the NMI watchdog occupies one of them and interrupts every CPU.
    """
    cpus = root / proc_files.CPUS
    for policy in sorted((cpus / "cpufreq").glob("policy*")):
        if "performance" in (proc_files.text(policy / "scaling_available_governors") or "").split():
            yield policy / "scaling_governor", known_settings.GOVERNOR.after
    yield cpus / "intel_pstate/no_turbo", known_settings.NO_TURBO.after
    yield cpus / "cpufreq/boost", known_settings.BOOST.after
    if not (cpus / "cpufreq/boost").exists():  # else it is the same switch, for all at once
        for policy in sorted((cpus / "cpufreq").glob("policy*")):
            yield policy / "boost", known_settings.POLICY_BOOST.after
    paranoid = root / "proc/sys/kernel/perf_event_paranoid"
    if (proc_files.number(paranoid) or 0) > int(known_settings.PARANOID.after):
        yield paranoid, known_settings.PARANOID.after
    yield root / "proc/sys/kernel/nmi_watchdog", known_settings.WATCHDOG.after
