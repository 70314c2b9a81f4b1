"""Control groups of version 2: where this process may make one, and what can be done with it.

A process starts in the group of the process that starts it, and can leave it only for one that it may write to; so a
group holds all that a program starts, whatever that does with sessions and parents.  The kernel counts what the group
uses, and ends all of it at once (``cgroup.kill``, Linux 5.14).

Groups are made below the one that this process is in, and only if that is ours to divide: systemd is asked, and
without systemd it is enough that the directory can be written.  The names of files and
controllers are those of the kernel's Documentation/admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from layoutrand.errors import FeatureUnsupported, ToolNotFound
from layoutrand.platform.proc_files import number, process_stat, text
from layoutrand.platform.process import ask

Limit = Literal["memory", "processes"]

_CONTROLLERS: Final[dict[Limit, str]] = {"memory": "memory", "processes": "pids"}
LIMITS: Final = tuple(_CONTROLLERS)
_OURS: Final = "layoutrand-"
_OWN: Final = "own"
_UNITS: Final = (".scope", ".service", ".slice")
_USERS_MANAGER: Final = "user@"
_LONGEST_ANSWER_S: Final = 10.0
_LONGEST_END_S: Final = 10.0
_SYSTEMD_RUN: Final = "-p Delegate=yes layoutrand run"


@dataclass(frozen=True)
class Place:
    """A group in which this process may make others, and what these can limit."""

    directory: Path
    limits: tuple[Limit, ...]


@dataclass(frozen=True)
class NoPlace:
    """Why this process may make no groups, and what mends it."""

    why: str
    mend: str


@dataclass(frozen=True)
class Usage:
    """What a group has used: CPU seconds, and where the kernel counts them the most bytes and tasks at one time.

    ``memory_kills`` are processes that were ended because the group had reached its limit of memory,
    ``refused_starts`` processes and threads that it could not start because of the other one.
    """

    cpu_s: float
    memory_peak: int | None = None
    tasks_peak: int | None = None
    memory_kills: int = 0
    refused_starts: int = 0


def find_place(root: Path = Path("/")) -> Place | NoPlace:
    """Where this process may make groups; a group is made and removed again, which alone tells whether it may."""
    home = _own_group(root)
    if home is None:
        return NoPlace(
            "no control groups of version 2 are mounted",
            "systemd.unified_cgroup_hierarchy=1 on the kernel's command line (a container: ask for them there)",
        )
    if _has_systemd(root) and not _is_delegated(home):
        return NoPlace(f"systemd has not delegated {home} to us", how_to_be_given_one(root))
    try:
        probe, lock = _locked_directory(home)  # or another layoutrand takes it for one that was left
    except OSError as error:
        return NoPlace(f"no control group can be made in {home} ({error.strerror})", how_to_be_given_one(root))
    try:
        if not (probe / "cgroup.kill").exists():
            return NoPlace("this kernel cannot end a control group as a whole", "Linux 5.14 or newer can")
    finally:
        probe.rmdir()
        os.close(lock)
    return Place(home, _limits_to_be_had(home))


class ControlGroup:
    """A group of processes."""

    def __init__(self, directory: Path) -> None:
        """The group of this directory."""
        self.directory = directory

    def join(self, pid: int = 0) -> None:
        """Put a process into it, 0 for the one that calls; what it starts from now on is in it as well."""
        _write(self.directory / "cgroup.procs", str(pid))

    def limit(self, *, memory: int | None, tasks: int | None) -> None:
        """Bound the memory (bytes, swap included) and the number of processes and threads of the group.

        At the limit of memory the kernel ends the whole group, since what is left of a program has no meaning.
        """
        if memory is not None:
            _write(self.directory / "memory.max", str(memory))
            _write(self.directory / "memory.oom.group", "1")
            with contextlib.suppress(FileNotFoundError):  # the kernel does not count swap
                _write(self.directory / "memory.swap.max", "0")
        if tasks is not None:
            _write(self.directory / "pids.max", str(tasks))

    def end(self) -> None:
        """Kill all that is in it, whoever it belongs to, and wait until nothing is."""
        _write(self.directory / "cgroup.kill", "1")
        deadline = time.monotonic() + _LONGEST_END_S
        with (self.directory / "cgroup.events").open("rb", buffering=0) as events:
            poll = select.poll()
            poll.register(events, select.POLLPRI)
            while b"populated 1" in os.pread(events.fileno(), 4096, 0) and (left := deadline - time.monotonic()) > 0:
                poll.poll(left * 1000)

    def usage(self) -> Usage:
        """What it has used so far."""
        return Usage(
            cpu_s=_field(self.directory / "cpu.stat", "usage_usec") / 1e6,
            memory_peak=number(self.directory / "memory.peak"),
            tasks_peak=number(self.directory / "pids.peak"),
            memory_kills=_field(self.directory / "memory.events", "oom_kill"),
            refused_starts=_field(self.directory / "pids.events", "max"),
        )

    def remove(self) -> None:
        """Remove the group, which must be empty; raises `OSError` where something in it cannot be ended."""
        self.directory.rmdir()


class OwnGroups:
    """The groups of this layoutrand: one directory, which nobody else uses while we live."""

    def __init__(self, directory: Path, limits: tuple[Limit, ...]) -> None:
        """Groups in ``directory`` can limit ``limits``."""
        self.directory = directory
        self.limits = limits

    def group(self, name: str) -> ControlGroup:
        """The group of that name, made where there is none."""
        (self.directory / name).mkdir(exist_ok=True)
        return ControlGroup(self.directory / name)


@contextlib.contextmanager
def own_groups(place: Place) -> Iterator[OwnGroups]:
    """While open, there are groups of ours at that place; what killed layoutrands left there is ended first.

    Controllers are had only for the groups below one that has no process of its own.  So where nobody is in the place
    but this process, its keepers and their children, they move into a group of it meanwhile, and back at the end.
    Raises `FeatureUnsupported` where the place is not what it was.
    """
    try:
        _end_stale(place.directory)
        base, lock = _locked_directory(place.directory)
    except OSError as error:
        raise FeatureUnsupported(
            f"no control group can be made in {place.directory} any more: {error.strerror}. Run again, or without one: "
            'run.isolation = "process-group"'
        ) from error
    try:
        with _controllers(place.directory, base) as limits:
            yield OwnGroups(base, limits)
    finally:
        _remove_below(base)
        os.close(lock)


@contextlib.contextmanager
def _controllers(home: Path, base: Path) -> Iterator[tuple[Limit, ...]]:
    """While open, groups in ``base`` have what controllers there are for them; yields what these can limit."""
    wanted = [_CONTROLLERS[limit] for limit in _limits_to_be_had(home)]
    missing = [name for name in wanted if name not in _words(home / "cgroup.subtree_control")]
    moved = ControlGroup(base / _OWN)
    try:
        if missing:
            moved.directory.mkdir()
            for pid in _members(home):
                moved.join(pid)
            _switch(home, "+", missing)
        _switch(base, "+", wanted)
    except OSError:  # somebody came into the group meanwhile
        wanted = [name for name in wanted if name not in missing]
        _switch(base, "+", wanted)
    try:
        yield tuple(limit for limit, name in _CONTROLLERS.items() if name in wanted)
    finally:
        if missing:
            with contextlib.suppress(OSError):  # others use them by now
                _switch(base, "-", wanted)
                _switch(home, "-", missing)
            for pid in _members(moved.directory):
                with contextlib.suppress(OSError):  # it has ended, or others' controllers keep us where we are
                    ControlGroup(home).join(pid)


def _limits_to_be_had(home: Path) -> tuple[Limit, ...]:
    """What groups in ``home`` can limit, after those in it that are ours have moved."""
    is_root = not (home / "cgroup.type").exists()
    to_be_had = _words(home / "cgroup.subtree_control")
    if not is_root and _are_ours(_members(home)):
        to_be_had |= _words(home / "cgroup.controllers")
    return tuple(limit for limit, name in _CONTROLLERS.items() if name in to_be_had)


def _own_group(root: Path) -> Path | None:
    """The directory of the group that this process is in."""
    lines = (text(root / "proc/self/cgroup") or "").splitlines()
    own = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), None)
    if own is None:
        return None
    for line in (text(root / "proc/self/mountinfo") or "").splitlines():
        mount, _, kind = line.partition(" - ")
        if kind.startswith("cgroup2 "):
            top, where = (_unescaped(word) for word in mount.split()[3:5])
            if Path(own).is_relative_to(top) and ".." not in Path(own).parts:
                return root / where.lstrip("/") / Path(own).relative_to(top)
    return None


def _unescaped(word: str) -> str:
    r"""A path of mountinfo, which has spaces and the like as ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), word)


def _has_systemd(root: Path) -> bool:
    return (root / "run/systemd/system").exists()


def _is_delegated(home: Path) -> bool:
    """Whether systemd has given the unit that ``home`` is of to who runs in it.

    It is asked, as only newer versions mark a user's units by an attribute of the directory that the user may read.
    """
    parts = [part for part in home.parts if part.endswith(_UNITS)]
    if not parts:
        return False
    of_a_user = any(part.startswith(_USERS_MANAGER) for part in parts[:-1])
    manager = ["--user"] if of_a_user else []
    try:
        asked = ask(
            ["systemctl", *manager, "show", "--value", "--property=Delegate", "--", parts[-1]],
            timeout_s=_LONGEST_ANSWER_S,
        )
    except ToolNotFound:
        return False
    return asked.stdout.strip() == b"yes"


def how_to_be_given_one(root: Path = Path("/")) -> str:
    """The command that starts layoutrand in a group of its own, as systemd gives it."""
    if not _has_systemd(root):
        return "let layoutrand be the first process of a group that it may write, with the controllers memory and pids"
    if os.geteuid() == 0:
        return f"systemd-run --scope {_SYSTEMD_RUN}"
    return f"systemd-run --user --scope {_SYSTEMD_RUN} (loginctl enable-linger, where you have no session)"


def _new_directory(home: Path) -> Path:
    made = 0
    while True:
        directory = home / f"{_OURS}{os.getpid()}-{made}"
        try:
            directory.mkdir()
        except FileExistsError:  # of a process with our number in another container
            made += 1
        else:
            return directory


def _locked_directory(home: Path) -> tuple[Path, int]:
    """A new directory and a descriptor of it that holds its lock."""
    while True:
        directory = _new_directory(home)
        with contextlib.suppress(FileNotFoundError):  # another one saw it without a lock, and removed it
            lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if directory.exists():
                return directory, lock
            os.close(lock)


def _end_stale(home: Path) -> None:
    """End and remove the groups of layoutrands that live no more: the lock on the directory goes with its holder."""
    for directory in home.glob(f"{_OURS}*"):
        with contextlib.suppress(OSError):  # whoever holds the lock uses it, and what is gone needs nothing
            lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                ControlGroup(directory).end()
                _remove_below(directory)
            finally:
                os.close(lock)


def _remove_below(directory: Path) -> None:
    """Remove a directory of groups; those that still hold a process stay."""
    for each in (*directory.glob("*/"), directory):
        with contextlib.suppress(OSError):
            each.rmdir()


def _are_ours(pids: list[int]) -> bool:
    """Whether these are this process, the keepers above it (`layoutrand.platform.keeper`), and their children.

    Keepers are known by the command line, which forks have in common.
    """
    ours = {os.getpid()}
    above = os.getppid()
    while above not in ours and text(f"/proc/{above}/cmdline") == text("/proc/self/cmdline"):
        ours.add(above)
        stat = process_stat("/proc", above)
        above = above if stat is None else stat.parent
    parents = ((pid, process_stat("/proc", pid)) for pid in pids)
    return all(pid in ours or stat is None or stat.parent in ours for pid, stat in parents)


def _members(directory: Path) -> list[int]:
    return [int(word) for word in _words(directory / "cgroup.procs")]


def _switch(directory: Path, sign: Literal["+", "-"], controllers: list[str]) -> None:
    if controllers:
        _write(directory / "cgroup.subtree_control", " ".join(f"{sign}{name}" for name in controllers))


def _words(path: Path) -> set[str]:
    return set((text(path) or "").split())


def _field(path: Path, name: str) -> int:
    for line in (text(path) or "").splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


def _write(path: Path, value: str) -> None:
    """These files take one write, and are never made: Python's own ``open`` would do neither by itself."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)
