"""Everything that a recorded link reads: the files named on its line, and those that only the linker knows of.

The wrapper kept the named files as they were when the link began.  The others (libraries found by ``-l``, files named
in linker scripts, libraries that libraries need) are learnt by repeating the link where the build was and listening
to the linker.  What is missed here cannot go unnoticed: the captured files alone must then give the same artefact.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.capture import bitcode_link, objects
from layoutrand.capture.bitcode_link import Reader, find_nm, with_stubs
from layoutrand.capture.link_memory import LinkMemory
from layoutrand.capture.native_code import Replay, as_recorded, unit_names, with_plugin
from layoutrand.capture.records import LinkRecord
from layoutrand.capture.side_by_side import Beside, nothing_beside
from layoutrand.config.layout_policy import Archives, Ordered
from layoutrand.config.toolchain import version_number
from layoutrand.errors import CaptureFailed
from layoutrand.link import lto
from layoutrand.link.relink import link_captured, run_linker
from layoutrand.linkers import ldscript, linkline, user_script
from layoutrand.linkers.known import linker
from layoutrand.linkers.linker import Linker, MapReader
from layoutrand.linkers.toolbox import Toolbox
from layoutrand.objects import archive, elf
from layoutrand.platform.disk import Folders, cache_errors, link_or_copy, remove_tree, sha256_bytes, write_atomically
from layoutrand.platform.process import Completed, Runner
from layoutrand.platform.regular_file import PROGRAM, content_of_regular

_MEMBER = re.compile(r"^\((?P<gnu>.+)\)(?P<gnu_member>[^()]+)$|^(?:trace: )?(?P<lld>.+)\((?P<lld_member>[^()]+)\)$")
_SCRIPT = re.compile(r"^opened script file (.+)$", re.MULTILINE)
_EXTERNAL = "using external linker script:"

TEMPORARY = "_temp/"
"""Where a capture keeps objects that the compiler driver makes and deletes, by number."""

_ET_DYN = b"\x03\x00"
_SMALL = 1 << 20
"""Bytes of a program."""


@dataclass(frozen=True)
class BuildPlace:
    """Where the build lay, so that its paths can be told from the system's: absolute, lexically normal."""

    tree: str
    temporary: str
    wrappers: str


@dataclass(frozen=True)
class IngestSetup:
    """What an ingestion works with: the artefact as the build left it, where to put things, the tools, the factors.

    ``memory`` is what earlier links of the same build have taught. ``kept``: the capture is to be linked from again.
    ``archives`` is that of the layout policy, ``ordered`` that of the system; ``beside`` tells whether two things may
    happen at once, asked each time.
    """

    artefact: str
    built: bytes
    place: BuildPlace
    base: Path
    toolbox: Toolbox
    runner: Runner
    factors: tuple[str, ...]
    memory: LinkMemory = field(default_factory=LinkMemory)
    kept: bool = True
    archives: Archives = "built"
    ordered: Ordered = "move"
    beside: Beside = nothing_beside

    @property
    def linker(self) -> Linker:
        """The toolchain's linker."""
        return linker(self.toolbox.toolchain.link.linker)

    @property
    def map(self) -> MapReader:
        """How the linker's map is read; only where it can be."""
        assert self.linker.map is not None
        return self.linker.map

    @property
    def threads(self) -> int:
        """What to limit the linker to: one for a small program, which it links faster than it starts more; else 0."""
        return 1 if len(self.built) < _SMALL else 0

    def link(self, link: CapturedLink, tree: str, *, replay: bool = False) -> tuple[Completed, bytes]:
        """Execute the captured link line on one of the trees (root, probe); also the file that it wrote."""
        folder = self.base / f"{tree}-output"
        ld = self.toolbox.tools["ld"].path
        limit = (
            self.linker.thread_limit(link.replay_argv if replay else link.argv, self.threads) if self.threads else []
        )
        done, output = link_captured(
            self.runner, ld, link, root=self.base / tree, folder=folder, extra=limit, replay=replay
        )
        data = output.read_bytes() if done.returncode == 0 else b""
        remove_tree(folder)
        return done, data


@dataclass(frozen=True)
class Draft:
    """A link on its way into the capture.

    ``files`` maps captured path to content, in link order; ``names`` maps absolute paths to captured ones;
    ``pulled`` lists the archive members used, as ``captured path(member)``; ``script`` is GNU ld's default script, or
    with ``users_script`` the build's own; ``reserved`` is what scripts of the build's place by name; ``lto`` how
    link-time optimisation divided the program, "" without it, and ``units`` what the native objects that it made are
    called as owners of sections; ``map`` is the linker's map, "" where none was made, and ``called`` tells what its
    files are called in the capture.
    """

    line: tuple[linkline.Word, ...]
    files: Mapping[str, bytes]
    names: Mapping[str, str]
    pulled: frozenset[str]
    script: str
    users_script: bool
    reserved: user_script.Reserved
    lto: str
    units: Mapping[str, str]
    map: str = ""
    called: Callable[[str], str | None] = str

    @staticmethod
    def of_files(named: Named, files: Mapping[str, bytes], names: Mapping[str, str]) -> Draft:
        """What is enough to link the files; nothing is known of what they hold."""
        return Draft(named.line, files, names, frozenset(), "", False, user_script.NOTHING, "", {})

    def library_directories(self) -> list[str]:
        """Directories in the capture that hold shared libraries of the build."""
        return sorted({os.path.dirname(name) for name, data in self.files.items() if _is_built_library(name, data)})


def _is_built_library(name: str, data: bytes) -> bool:
    return name.startswith("_build/") and elf.is_elf(data) and data[16:18] == _ET_DYN


@dataclass(frozen=True)
class Named:
    """What the link line names: ``files`` and ``names`` as in `Draft`.

    ``changed`` has what the line names and no longer is what the link read, by its absolute path: a temporary object,
    say. A link that is repeated in the build's place finds it under the name in ``instead``, below ``scratch``.
    """

    replayed: Replay
    files: dict[str, bytes]
    names: dict[str, str]
    changed: dict[str, bytes]
    instead: dict[str, str]
    scratch: Path

    @property
    def line(self) -> tuple[linkline.Word, ...]:
        """The words of the replay."""
        return self.replayed.line


def read_named(record: LinkRecord, setup: IngestSetup) -> Named:
    """The link line as it is replayed, and every file that it names."""
    place = setup.place
    recorded = [
        word
        for word in record.words()
        if not (word.kind == "directory" and record.absolute(word.text) == place.wrappers)
    ]
    replayed = _replay(record, recorded, setup)
    names = dict(replayed.names)
    named = Named(replayed, {}, names, {}, {}, Path(place.temporary, f"discover-{record.path.name}"))
    for word in replayed.line:
        if word.kind not in ("input", "file"):
            continue
        path = record.absolute(word.text)
        now = read_input(word.text, record.cwd, setup)
        data = replayed.kept.get(path, now)
        if data is None:
            raise CaptureFailed(f"cannot read {path}, an input of the link of {setup.artefact}")
        name = names.setdefault(path, captured_name(path, place, len(names)))
        named.files[name] = whole_archive(data, path)
        # A temporary object, or changed since: the kept content stands in for it. Also where the object is still there,
        # because the link is not over: what things are called must not depend on when this happens.
        if data != now or linkline.inside(path, place.temporary) is not None:
            instead = str(named.scratch / f"{len(names)}{os.path.splitext(name)[1]}")
            names[instead] = name
            named.changed[path] = data
            named.instead[path] = instead
    return named


def collect(record: LinkRecord, setup: IngestSetup, named: Named) -> Draft:
    """Every file that the link reads."""
    arguments: list[str] = []
    with cache_errors("write", named.scratch):
        # Beside the build and not in the cache, whose path may have a "%": lld cannot write to such a place.
        remove_tree(named.scratch)  # of another artefact that this link might have made
        named.scratch.mkdir()
        for path, data in named.changed.items():
            Path(named.instead[path]).write_bytes(data)
    for word in named.line:
        instead = None
        if word.kind in ("input", "file"):
            instead = named.instead.get(record.absolute(word.text))
        arguments += word.argv(instead)
    said, opened = _discover(record, setup, arguments, named.files, named.scratch)
    remove_tree(named.scratch)
    names, files = dict(named.names), dict(named.files)
    elsewhere = []
    for path in opened:
        full = record.absolute(path)
        content = None if full in names else read_input(path, record.cwd, setup)
        if content is not None:  # None also for a name with a newline, which the linker tells as two
            name = names.setdefault(full, captured_name(full, setup.place, len(names)))
            files.setdefault(name, whole_archive(content, full))
            if path.startswith("/") and not name.startswith(objects.OURS):
                elsewhere.append(path)
    setup.memory.learn_opened(named.line, elsewhere)
    return drafted(record, setup, named, said, files, names, names)


def drafted(
    record: LinkRecord,
    setup: IngestSetup,
    named: Named,
    said: str,
    files: Mapping[str, bytes],
    names: Mapping[str, str],
    spoken: Mapping[str, str],
) -> Draft:
    """The draft of a link whose linker ``said`` this, of captured files that it calls by the paths in ``spoken``."""
    line = named.line
    files = {**files, **named.replayed.natives}
    users_script = setup.linker.by_script and _EXTERNAL in said
    scripts = linkline.user_scripts(line)
    opened_scripts = _SCRIPT.findall(said) if scripts else []  # also those that they INCLUDE, commonly near the top
    all_scripts = [*(path for path in opened_scripts if path not in scripts), *scripts]
    reserved = user_script.reserved(_joined(files, names, record.cwd, all_scripts))
    script = ""
    if setup.linker.by_script:
        script = _joined(files, names, record.cwd, scripts) if users_script else ldscript.default_script(said)
        if not users_script:
            setup.memory.learn_script(line, script)
    return Draft(
        line,
        files,
        names,
        _pulled(said, record.cwd, spoken),
        script,
        users_script,
        reserved,
        named.replayed.division,
        unit_names(named.replayed, files),
    )


def _joined(files: Mapping[str, bytes], names: Mapping[str, str], folder: str, paths: Sequence[str]) -> str:
    """The text of linker scripts, given relative to ``folder``, one after the other."""
    found = [names.get(linkline.absolute(path, folder), "") for path in paths]
    return "\n".join(files[name].decode("utf-8", "surrogateescape") for name in found if name in files)


def read_input(path: str, folder: str, setup: IngestSetup) -> bytes | None:
    """The bytes of a file that the link reads, ``path`` relative to ``folder``; None if it cannot be read."""
    where = os.path.join(folder, path)
    place = setup.place
    full = linkline.absolute(path, folder)
    if linkline.inside(full, place.tree) is not None or linkline.inside(full, place.temporary) is not None:
        return _content(path, folder)
    return setup.memory.read(where)


def _replay(record: LinkRecord, line: Sequence[linkline.Word], setup: IngestSetup) -> Replay:
    """The link line without what has no effect, and without the generation of code."""
    native = record.native()
    if native is None:
        return as_recorded(record, line)
    if not setup.linker.generates_code:
        return with_plugin(record, line, native)
    tools = setup.toolbox.tools

    def content(path: str) -> bytes | None:
        data = _content(path, record.cwd)
        return None if data is None else whole_archive(data, path)

    nm = find_nm(tools["cc"].path, tools["nm"].path if "nm" in tools else None)
    newer = version_number(tools["ld"].version) >= (bitcode_link.DEFINED_FIRST,)
    reader = Reader(content, lambda path: captured_name(path, setup.place, 0), nm, setup.runner, newer)
    return with_stubs(record, line, native, reader)


def _discover(
    record: LinkRecord, setup: IngestSetup, arguments: list[str], files: Mapping[str, bytes], scratch: Path
) -> tuple[str, list[str]]:
    """Repeat the link where the build was: what the linker says, and every file it opened."""
    if not os.path.isdir(record.cwd):
        raise CaptureFailed(f"{setup.artefact} was linked in {record.cwd}, which the build has removed since")
    reports = scratch / "dependencies"
    done = run_linker(  # GNU ld reads a script as soon as it meets its name, so what makes it talk comes first
        setup.runner,
        setup.toolbox.tools["ld"].path,
        setup.linker.line([*setup.linker.talkative(str(reports)), *arguments], (), str(scratch / "output")),
        cwd=Path(record.cwd),
        environment={**record.environment, "TMPDIR": str(scratch)},
    )
    if done.returncode != 0:
        objects.objects(files, ())  # link-time optimisation is the likeliest reason, and has a message of its own
        reason = done.stderr.decode("utf-8", "backslashreplace").strip()
        raise CaptureFailed(f"{setup.artefact}: the recorded link cannot be repeated: {reason[-2000:]}")
    return heard(setup.linker, done, reports)


def heard(linker: Linker, done: Completed, reports: Path) -> tuple[str, list[str]]:
    """What a talkative linker said, and every file that it opened."""
    said = done.stdout.decode("utf-8", "surrogateescape")
    return said, linker.opened(said, reports.read_bytes() if linker.reports else b"")


def captured_name(path: str, place: BuildPlace, number: int) -> str:
    """Where a file goes in the capture, by where it was: built, temporary, or the system's."""
    inside_tree = linkline.inside(path, place.tree)
    if inside_tree is not None:
        return f"_build/{inside_tree}"
    if linkline.inside(path, place.temporary) is not None:
        return f"{TEMPORARY}{number:05d}.o"
    return path.lstrip("/")


def _content(path: str, folder: str) -> bytes | None:
    """The file's bytes, ``path`` relative to ``folder``; None if it cannot be read."""
    try:
        return content_of_regular(os.path.join(folder, path), largest=PROGRAM)
    except OSError:
        return None


def whole_archive(data: bytes, path: str) -> bytes:
    """A thin archive made ordinary, so that the capture needs no file beside it."""
    if data[:8] != archive.THIN_MAGIC:
        return data
    folder = os.path.dirname(path)

    def member(name: str) -> bytes:
        content = _content(name, folder)
        if content is None:
            raise CaptureFailed(f"cannot read {name}, a member of the thin archive {path}, after the build")
        return content

    return archive.write(archive.read(data, name=path, fetch=member), {})


def _pulled(text: str, cwd: str, names: Mapping[str, str]) -> frozenset[str]:
    """Archive members that the linker says it used, as ``captured path(member)``."""
    pulled = set()
    for row in text.splitlines():  # among much else: GNU ld prints its script too
        match = _MEMBER.match(row)
        name = names.get(linkline.absolute(match["gnu"] or match["lld"], cwd)) if match else None
        if match and name is not None:
            pulled.add(f"{name}({match['gnu_member'] or match['lld_member']})")
    return frozenset(pulled)


def write_edited(
    target: Path, edits: Iterable[tuple[str, bytes]], unchanged: Path, names: Iterable[str]
) -> dict[str, str]:
    """Write the edited files under ``target``, one at a time, and hard-link the rest of ``names``; SHA-256 of each."""
    digests: dict[str, str] = {}
    make = Folders(target)
    with cache_errors("write", target):
        for name, content in edits:
            make.place_for(name).write_bytes(content)
            digests[name] = sha256_bytes(content)
        for name in names:
            if name not in digests:
                link_or_copy(unchanged / name, make.place_for(name))
    return digests


def write_tree(target: Path, files: Mapping[str, bytes], memory: LinkMemory) -> None:
    """Write ``files`` under ``target``."""
    make = Folders(target)
    with cache_errors("write", target):
        for name, data in files.items():
            path = make.place_for(name)
            if name == lto.ANSWER:
                write_atomically(path, data, executable=True)
            else:
                memory.write(data, path)
