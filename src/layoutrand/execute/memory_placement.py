"""Move the heap of a program, the mappings that it makes and its text, and prove it by what the kernel lists of them.

An object that the dynamic linker loads before the program (``LD_PRELOAD``) moves the break, takes room from where
mappings would come, and puts text onto huge pages (`layoutrand.execute.text_pages`), before any other code is executed.
It notes what ``/proc/self/maps`` and ``smaps`` have of them in each process that loads it, beside the output, and an
execution where that does not show what was drawn or set does not count.  The amounts are written into the execution's
own copy of the object: environment and arguments are the same for all.

What cannot be preloaded cannot be moved: static programs are an error before anything is executed.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from layoutrand.config.conditions import HEAP_STEP, MAX_MEMORY_OFFSET, PAGE, Conditions
from layoutrand.config.config import Benchmark, Config
from layoutrand.errors import FeatureUnsupported, HostError, NoMeasurement
from layoutrand.execute.measure import Command, Outcome
from layoutrand.execute.text_pages import SETTING, TextMoved, read_text_moved
from layoutrand.execute.workplace import Sandbox
from layoutrand.host.huge_pages import huge_page_bytes
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

TEXT_ON_HUGE_PAGES: Final = "text_on_huge_pages"
"""The condition that says how many bytes of huge pages text of which file lay on."""

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
_WISH: Final = struct.Struct(f"<{len(_MARK)}sQQQQ{_LONGEST}s{_LONGEST}s")
_HEAP, _MAPPINGS, _TEXT = 1, 2, 4
_NUMBERS: Final = slice(1, 8)
_PROGRAM, _MAPS, _HUGE, _FIELDS = 8, 9, 10, 11
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


def preloaded_for(config: Config) -> str:
    """What of the configuration takes an object that is loaded before the program, in words that go before "which"."""
    if wanted := wishes(config):
        return f'run.randomise has "{wanted[0]}"'
    return f"there is {SETTING}" if config.run.hugepages == "text" else ""


def check_memory(config: Config, benchmarks: Iterable[Benchmark], artefacts: Mapping[str, Path], project: Path) -> None:
    """Raise `FeatureUnsupported` for a benchmark with a program that nothing can be preloaded into.

    ``artefacts`` maps each artefact to one binary of it.  The path of the ``project`` must do for that, too.
    """
    if not (wanted := preloaded_for(config)):
        return
    if found := _APART.search(str(project)):
        raise FeatureUnsupported(
            f"{wanted}, which takes an object that is named in {PRELOAD}, and the path of the "
            f"project has {found[0]!r}, at which the dynamic linker takes names apart: move the project"
        )
    for benchmark in benchmarks:
        name = benchmark.artefact or config.build.artefacts[0]
        if not any("{artefact}" in word for word in benchmark.command) or name not in artefacts:
            continue
        if is_static(artefacts[name], is_started=benchmark.command[0] == "{artefact}"):
            raise FeatureUnsupported(
                f"benchmark {benchmark.name!r}: {wanted}, which takes an object that is loaded before the program, "
                f"and {name} is static: no dynamic linker loads anything into it. Link it dynamically, or leave that "
                "out"
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
    text: TextMoved = field(default_factory=TextMoved)

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
        return self.text.unproved() if conditions.hugepages else ""


@dataclass(frozen=True)
class MemoryProof:
    """Why an execution does not show that its memory lies as it was to, "" where it does; and what is recorded."""

    problem: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


class MemoryPlacement:
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
        asked = _asked(conditions)
        if not asked:
            return command
        if self._object is None:
            self._object = self._compiled()
        record, programs = _record_of(sandbox), os.path.realpath(sandbox.bin)
        if max(len(bytes(record)), len(os.fsencode(programs))) >= _LONGEST:
            raise HostError(f"{record}: the path is too long for {asked} to move memory; move the project")
        which = (
            _HEAP * (conditions.heap_offset is not None)
            + _MAPPINGS * (conditions.mmap_offset is not None)
            + _TEXT * (conditions.hugepages is not None)
        )
        wish = _WISH.pack(
            _MARK.encode(),
            conditions.heap_offset or 0,
            conditions.mmap_offset or 0,
            which,
            huge_page_bytes() or 0,
            bytes(record),
            os.fsencode(programs),
        )
        begin = self._object.index(_MARK.encode())
        path = sandbox.bin.with_name("memory-placement.so")
        path.write_bytes(self._object[:begin] + wish + self._object[begin + _WISH.size :])
        others = command.env.get(PRELOAD, "")
        return replace(command, env={**command.env, PRELOAD: f"{path}:{others}" if others else str(path)})

    def proof(self, command: Command, outcome: Outcome, sandbox: Sandbox, artefact: Path | None) -> MemoryProof:
        """Whether an execution shows that its memory was moved as drawn and set, where it was to be.

        The ``artefact`` must be among what it started, where its command names one.
        """
        conditions = command.conditions
        asked = _asked(conditions)
        if outcome.status == "start" or not asked:
            return MemoryProof()
        try:
            records = [record for path in _records_of(sandbox) for record in _read(path)]
        except (OSError, NoMeasurement) as error:
            return MemoryProof(f"{asked}: the list of its mappings cannot be read: {error}")
        if not any(record.pid == outcome.pid for record in records):
            return MemoryProof(
                f"{asked}: {command.argv[0]} loaded no object before itself, so nothing was moved; it is static, or "
                "runs with rights of its own (set-user-ID)"
            )
        if artefact is not None and _is_elf(artefact):
            name = plain(os.path.realpath(artefact))
            own = [record for record in records if record.program == name]
            if not own:
                return MemoryProof(
                    f"{asked}: {artefact.name} was not seen to load anything before itself, so it was not moved; the "
                    f"command may take {PRELOAD} away from it (env -i), or not execute it at all"
                )
            if conditions.hugepages and any(name not in record.text.names() for record in own):
                return MemoryProof(f"{asked}: no text of {artefact.name} was found in its list of mappings")
        for record in records:
            if problem := record.unproved(conditions, page_bytes()):
                return MemoryProof(f"{asked}: process {record.pid} ({record.program}): {problem}")
        huge = {name: size for record in records for name, size in record.text.sizes().items()}
        return MemoryProof(facts={TEXT_ON_HUGE_PAGES: huge} if conditions.hugepages else {})

    def _compiled(self) -> bytes:
        compiler = find_tool(
            _COMPILERS, path=os.environ.get("PATH", ""), purpose="a C compiler for run.randomise or run.hugepages"
        )
        make_folder(self._folder)
        source, target = self._folder / "memory-placement.c", self._folder / "memory-placement.so"
        source.write_text(render("memory-placement.c.j2", mark=_MARK, longest=_LONGEST))
        argv: Sequence[str] = [str(compiler), *_FLAGS, "-o", str(target), str(source)]
        done = SubprocessRunner().run(argv, cwd=self._folder, env=os.environ)
        if done.returncode:
            raise HostError(f"memory is moved by an object that {compiler} does not compile: {done.text().strip()}")
        compiled = target.read_bytes()
        if compiled.count(_MARK.encode()) != 1:
            raise HostError(f"memory is moved by an object that {compiler} compiles to one with no room in it")
        return compiled


def _asked(conditions: Conditions) -> str:
    """What of the configuration wants memory moved in this execution, "" for nothing."""
    both = ((HEAP_OFFSET, conditions.heap_offset), (MMAP_OFFSET, conditions.mmap_offset))
    drawn = " and ".join(name for name, offset in both if offset is not None)
    return " and ".join([*([f"run.randomise: {drawn}"] if drawn else []), *([SETTING] if conditions.hugepages else [])])


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
    if not all(_NUMBER.fullmatch(part) for part in parts[_NUMBERS]):
        raise NoMeasurement("a record has something else where addresses should be")
    pid, heap_before, heap_after, probe_before, probe_after, filler, above = (int(part, 16) for part in parts[_NUMBERS])
    found = [_LINE.fullmatch(line) for line in parts[_MAPS].splitlines()]
    return MemoryRecord(
        pid,
        (heap_before, heap_after),
        (probe_before, probe_after),
        filler,
        above,
        plain(parts[_PROGRAM].decode("utf-8", "backslashreplace")),
        tuple((int(m[1], 16), int(m[2], 16), m[3].decode(), m[4].decode("utf-8", "replace")) for m in found if m),
        read_text_moved(parts[0], parts[_HUGE]),
    )
