"""Move the heap of a program, and the mappings that it makes, and prove it by what the kernel lists of them.

An object that the dynamic linker loads before the program (``LD_PRELOAD``) moves the break, and takes room from where
mappings would come, before any other code is executed.  It notes what ``/proc/self/maps`` has of both in each process
that loads it, beside the output, and an execution where that does not show what was drawn does not count.  The
amounts are written into the execution's own copy of the object: environment and arguments are the same for all.

What cannot be preloaded cannot be moved: static programs are an error before anything is executed.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from layoutrand.config.conditions import HEAP_STEP, MAX_MEMORY_OFFSET, PAGE, Conditions
from layoutrand.config.config import Benchmark, Config
from layoutrand.errors import FeatureUnsupported, HostError, NoMeasurement
from layoutrand.execute.measure import Command, Outcome
from layoutrand.execute.workplace import Sandbox
from layoutrand.host.start_files import StartFiles
from layoutrand.layout.keyed import keyed_uniform
from layoutrand.platform.disk import make_folder
from layoutrand.platform.process import SubprocessRunner, find_tool
from layoutrand.platform.regular_file import ANY, RECORD, content_of_regular, open_regular
from layoutrand.text.foreign_fields import plain
from layoutrand.text.render import render

HEAP_OFFSET: Final = "heap-offset"
MMAP_OFFSET: Final = "mmap-offset"
PRELOAD: Final = "LD_PRELOAD"

_COMPILERS: Final = ("cc", "gcc", "clang")
_FLAGS: Final = (
    "-O1",
    "-fPIC",
    "-shared",
    "-nostdlib",
    "-ffreestanding",
    "-fno-stack-protector",
    "-w",
    "-Wl,-z,initfirst",
)
_APART: Final = re.compile(r"[\s:]")
_MARK: Final = "layoutrand-wish."
_LONGEST: Final = 1024
"""Bytes of the path of the file of records, the 0 at its end included."""
_WISH: Final = struct.Struct(f"<{len(_MARK)}sQQQ{_LONGEST}s")
_NUMBERS: Final = 7
_FIELDS: Final = _NUMBERS + 2
_KIND: Final = struct.Struct("<16sH")
_ET_EXEC: Final = 2
_NUMBER: Final = re.compile(rb"[0-9a-f]{16}")
_LINE: Final = re.compile(rb"([0-9a-f]{1,16})-([0-9a-f]{1,16}) ([-rwxsp]+) \S+ \S+ \S+ *(.*)")


def draw_heap_offset(schedule_seed: int, slot_identity: bytes) -> int:
    """Bytes by which the heap of this slot begins higher, in every run of the schedule; a multiple of `HEAP_STEP`."""
    return HEAP_STEP * keyed_uniform(schedule_seed, HEAP_OFFSET, slot_identity, MAX_MEMORY_OFFSET // HEAP_STEP)


def draw_mmap_offset(schedule_seed: int, slot_identity: bytes, page: int = PAGE) -> int:
    """Bytes by which the mappings of this slot lie lower, in every run of the schedule; a multiple of a ``page``."""
    return page * keyed_uniform(schedule_seed, MMAP_OFFSET, slot_identity, MAX_MEMORY_OFFSET // page)


def page_bytes() -> int:
    """The size of this machine's pages."""
    return os.sysconf("SC_PAGESIZE")


def wishes(config: Config) -> tuple[str, ...]:
    """Which of the two are asked for."""
    return tuple(name for name in (HEAP_OFFSET, MMAP_OFFSET) if name in config.run.randomise)


def check_memory(config: Config, benchmarks: Iterable[Benchmark], artefacts: Mapping[str, Path], project: Path) -> None:
    """Raise `FeatureUnsupported` for a benchmark with a program that nothing can be preloaded into.

    ``artefacts`` maps each artefact to one binary of it.  The path of the ``project`` must do for that, too.
    """
    if not (wanted := wishes(config)):
        return
    if found := _APART.search(str(project)):
        raise FeatureUnsupported(
            f'run.randomise has "{wanted[0]}", which takes an object that is named in {PRELOAD}, and the path of the '
            f"project has {found[0]!r}, at which the dynamic linker takes names apart: move the project"
        )
    for benchmark in benchmarks:
        name = benchmark.artefact or config.build.artefacts[0]
        if not any("{artefact}" in word for word in benchmark.command) or name not in artefacts:
            continue
        if is_static(artefacts[name], is_started=benchmark.command[0] == "{artefact}"):
            raise FeatureUnsupported(
                f'benchmark {benchmark.name!r}: run.randomise has "{wanted[0]}", which takes an object that is loaded '
                f"before the program, and {name} is static: no dynamic linker loads anything into it. Link it "
                f'dynamically, or leave "{wanted[0]}" out'
            )


def is_static(path: Path, *, is_started: bool) -> bool:
    """Whether it is a program of its own; a library names no loader either, but is not what a command starts."""
    with open_regular(path, largest=ANY) as file:
        header = file.read(_KIND.size)
    if len(header) < _KIND.size or not header.startswith(b"\x7fELF"):
        return False
    return (is_started or _KIND.unpack(header)[1] == _ET_EXEC) and StartFiles().read([path]) == {}


@dataclass(frozen=True)
class MemoryRecord:
    """What one process said of itself: where the break, a mapping on trial and what moves mappings were; and its map.

    Pairs are addresses before and after, 0 for what was not moved; ``above`` is how far a small mapping lies from
    where large ones do.  ``maps`` has begin, end, rights and name of the lines that are about them.
    """

    pid: int
    heap: tuple[int, int]
    probe: tuple[int, int]
    filler: int
    above: int
    program: str
    maps: tuple[tuple[int, int, str, str], ...]

    def unproved(self, conditions: Conditions, page: int = PAGE) -> str:
        """What of the wishes its list of mappings does not show, or ""; the machine has pages of ``page`` bytes."""
        if (heap := conditions.heap_offset) is not None:
            begin, end = self.heap
            lines = [(low, high) for low, high, _, name in self.maps if name == "[heap]"]
            if end - begin != heap:
                return f"its heap was moved by {end - begin} bytes and not by {heap}"
            if heap and (begin % page or lines != [(begin, -(-end // page) * page)]):
                return "its heap was in use before it could be moved"
        if (size := conditions.mmap_offset) is not None:
            moved = self.probe[0] - self.probe[1]
            if self.above:
                return "smaller mappings come into gaps between libraries, which could not be filled"
            if moved == size == 0:
                return ""
            held = [high for low, high, rights, _ in self.maps if rights == "---p" and low <= self.filler < high]
            if moved != size or not held or held[0] < self.filler + size:
                return f"its mappings were moved by {moved} bytes and not by {size}"
        return ""


class MemoryOffsets:
    """Moves what the executions of one run are to have moved; the object is compiled when the first one wants it."""

    def __init__(self, folder: Path) -> None:
        """Work in ``folder``, which is there for the run alone."""
        self._folder = folder
        self._object: bytes | None = None

    def given(self, command: Command, sandbox: Sandbox) -> Command:
        """The command with the object before its program, where its conditions ask for that.

        Raises `ToolNotFound` without a C compiler, and `HostError` where it does not compile the object, or the
        project's path is too long for it.
        """
        conditions = command.conditions
        if conditions.heap_offset is None and conditions.mmap_offset is None:
            return command
        if self._object is None:
            self._object = self._compiled()
        record = _record_of(sandbox)
        which = (conditions.heap_offset is not None) + 2 * (conditions.mmap_offset is not None)
        wish = _WISH.pack(
            _MARK.encode(), conditions.heap_offset or 0, conditions.mmap_offset or 0, which, bytes(record)
        )
        begin = self._object.index(_MARK.encode())
        if len(bytes(record)) >= _LONGEST:
            raise HostError(f"{record}: the path is too long for run.randomise to move memory; move the project")
        path = sandbox.bin.with_name("memory-offsets.so")
        path.write_bytes(self._object[:begin] + wish + self._object[begin + _WISH.size :])
        others = command.env.get(PRELOAD, "")
        return replace(command, env={**command.env, PRELOAD: f"{path}:{others}" if others else str(path)})

    def unproved(self, command: Command, outcome: Outcome, sandbox: Sandbox, artefact: Path | None) -> str:
        """Why an execution does not show that its memory was moved as drawn, or "" where it does, or need not.

        The ``artefact`` must be among what it started, where its command names one.
        """
        conditions = command.conditions
        if outcome.status == "start" or (conditions.heap_offset is None and conditions.mmap_offset is None):
            return ""
        both = ((HEAP_OFFSET, conditions.heap_offset), (MMAP_OFFSET, conditions.mmap_offset))
        what = "run.randomise: " + " and ".join(name for name, offset in both if offset is not None)
        try:
            records = [record for path in _records_of(sandbox) for record in _read(path)]
        except (OSError, NoMeasurement) as error:
            return f"{what}: the list of its mappings cannot be read: {error}"
        if not any(record.pid == outcome.pid for record in records):
            return (
                f"{what}: {command.argv[0]} loaded no object before itself, so nothing was moved; it is static, or "
                "runs with rights of its own (set-user-ID)"
            )
        if (
            artefact is not None
            and _is_elf(artefact)
            and not any(record.program == plain(os.path.realpath(artefact)) for record in records)
        ):
            return (
                f"{what}: {artefact.name} was not seen to load anything before itself, so it was not moved; the "
                f"command may take {PRELOAD} away from it (env -i), or not execute it at all"
            )
        for record in records:
            if problem := record.unproved(conditions, page_bytes()):
                return f"{what}: process {record.pid} ({record.program}): {problem}"
        return ""

    def _compiled(self) -> bytes:
        compiler = find_tool(_COMPILERS, path=os.environ.get("PATH", ""), purpose="a C compiler for run.randomise")
        make_folder(self._folder)
        source, target = self._folder / "memory-offsets.c", self._folder / "memory-offsets.so"
        source.write_text(render("memory-offsets.c.j2", mark=_MARK, longest=_LONGEST))
        argv: Sequence[str] = [str(compiler), *_FLAGS, "-o", str(target), str(source)]
        done = SubprocessRunner().run(argv, cwd=self._folder, env=os.environ)
        if done.returncode:
            raise HostError(
                f"run.randomise moves memory by an object that {compiler} does not compile: {done.text().strip()}"
            )
        compiled = target.read_bytes()
        if compiled.count(_MARK.encode()) != 1:
            raise HostError(
                f"run.randomise moves memory by an object that {compiler} compiles to one with no room in it"
            )
        return compiled


def _record_of(sandbox: Sandbox) -> Path:
    """Beside the output, with which it is kept where an execution fails."""
    return sandbox.stdout.with_name("memory")


def _is_elf(path: Path) -> bool:
    """Whether it is a program that a dynamic linker may load; a script is not, but what interprets it."""
    try:
        with open_regular(path, largest=ANY) as file:
            return file.read(4) == b"\x7fELF"
    except OSError:  # the execution may have removed it
        return True


def _records_of(sandbox: Sandbox) -> list[Path]:
    """Files of records; each has those of some of the processes."""
    place = _record_of(sandbox)
    return sorted(place.parent.glob(f"{place.name}.[0-9][0-9]"))


def _read(path: Path) -> list[MemoryRecord]:
    return read_records(content_of_regular(path, largest=RECORD))


def read_records(data: bytes) -> list[MemoryRecord]:
    """What processes wrote; raises `NoMeasurement` for anything else."""
    *parts, rest = data.split(b"\0")
    if rest or len(parts) % _FIELDS:
        raise NoMeasurement("a record is cut short")
    return [_record(parts[begin : begin + _FIELDS]) for begin in range(0, len(parts), _FIELDS)]


def _record(parts: Sequence[bytes]) -> MemoryRecord:
    if not all(_NUMBER.fullmatch(part) for part in parts[:_NUMBERS]):
        raise NoMeasurement("a record has something else where addresses should be")
    numbers = [int(part, 16) for part in parts[:_NUMBERS]]
    pid, heap_before, heap_after, probe_before, probe_after, filler, above = numbers
    found = [_LINE.fullmatch(line) for line in parts[_NUMBERS + 1].splitlines()]
    return MemoryRecord(
        pid,
        (heap_before, heap_after),
        (probe_before, probe_after),
        filler,
        above,
        plain(parts[_NUMBERS].decode("utf-8", "backslashreplace")),
        tuple((int(m[1], 16), int(m[2], 16), m[3].decode(), m[4].decode("utf-8", "replace")) for m in found if m),
    )
