"""Everything that a recorded link reads: the files named on its line, and those that only the linker knows of.

The wrapper kept the named files as they were when the link began.  The others (libraries found by ``-l``, files named
in linker scripts, libraries that libraries need) are learnt by repeating the link where the build was and listening
to the linker.  What is missed here cannot go unnoticed: the captured files alone must then give the same artefact.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutrand.core import archive, elf, ldscript, linkline, lto, objects, user_script
from layoutrand.core.capture import CapturedLink
from layoutrand.core.linkers import version_number
from layoutrand.errors import CaptureFailed
from layoutrand.usecases import bitcode_link
from layoutrand.usecases.bitcode_link import Reader, find_nm, with_stubs
from layoutrand.usecases.native_code import Replay, as_recorded, unit_names, with_plugin
from layoutrand.usecases.relink import link_captured, run_linker
from layoutrand.world.disk import cache_errors, link_or_copy, remove_tree, sha256_bytes
from layoutrand.world.process import Completed, Runner
from layoutrand.world.records import Record
from layoutrand.world.toolbox import Toolbox

_MEMBER = re.compile(r"^\((?P<gnu>.+)\)(?P<gnu_member>[^()]+)$|^(?:trace: )?(?P<lld>.+)\((?P<lld_member>[^()]+)\)$")
# What GNU ld --verbose says of a file that it reads, in every version; --dependency-file came with 2.35.
_OPENED = re.compile(r"^(?:attempt to open (.+) succeeded|opened script file (.+)|found .+? at (.+))$", re.MULTILINE)
_SCRIPT = re.compile(r"^opened script file (.+)$", re.MULTILINE)
_EXTERNAL = "using external linker script:"

_ET_DYN = b"\x03\x00"


@dataclass(frozen=True)
class Place:
    """Where the build lay, so that its paths can be told from the system's: absolute, lexically normal."""

    tree: str
    temporary: str
    wrappers: str


@dataclass(frozen=True)
class Bench:
    """What an ingestion works with: the artefact as the build left it, where to put things, the tools, the factors."""

    artefact: str
    built: bytes
    place: Place
    base: Path
    toolbox: Toolbox
    runner: Runner
    factors: tuple[str, ...]

    @property
    def linker(self) -> str:
        """The back end, one of `layoutrand.core.linkers.Linker`."""
        return self.toolbox.toolchain.link.linker

    def link(self, link: CapturedLink, tree: str, *, replay: bool = False) -> tuple[Completed, bytes]:
        """Execute the captured link line on one of the trees (root, probe); also the file that it wrote."""
        folder = self.base / f"{tree}-output"
        ld = self.toolbox.tools["ld"].path
        done, output = link_captured(self.runner, ld, link, root=self.base / tree, folder=folder, replay=replay)
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
    called as owners of sections.
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

    def library_directories(self) -> list[str]:
        """Directories in the capture that hold shared libraries of the build."""
        return sorted({os.path.dirname(name) for name, data in self.files.items() if _is_built_library(name, data)})


def _is_built_library(name: str, data: bytes) -> bool:
    return name.startswith("_build/") and elf.is_elf(data) and data[16:18] == _ET_DYN


def collect(record: Record, bench: Bench) -> Draft:
    """Every file that the link reads."""
    place = bench.place
    recorded = [
        word
        for word in linkline.words(record.argv)
        if not (word.kind == "directory" and linkline.absolute(word.text, record.cwd) == place.wrappers)
    ]
    replayed = _replay(record, recorded, bench)
    line, kept = replayed.line, replayed.kept
    names = dict(replayed.names)
    files: dict[str, bytes] = {}
    arguments: list[str] = []
    with cache_errors("write", Path(place.temporary)):
        # Beside the build and not in the cache, whose path may have a "%": lld cannot write to such a place.
        scratch = Path(tempfile.mkdtemp(prefix="discover-", dir=place.temporary))
    for word in line:
        instead = None
        if word.kind in ("input", "file"):
            path = linkline.absolute(word.text, record.cwd)
            now = _content(word.text, record.cwd)
            data = kept.get(path, now)
            if data is None:
                raise CaptureFailed(f"cannot read {path}, an input of the link of {bench.artefact}")
            name = names.setdefault(path, captured_name(path, place, len(names)))
            files[name] = _whole_archive(data, path)
            if data != now:  # a temporary object, or changed since: the kept content stands in for it
                instead = str(scratch / f"{len(names)}{os.path.splitext(name)[1]}")
                names[instead] = name
                write_tree(scratch, {os.path.basename(instead): data}, scratch, {os.path.basename(instead): b""})
        arguments += word.argv(instead)
    said, opened = _discover(record, bench, arguments, files, scratch)
    for path in opened:
        full = linkline.absolute(path, record.cwd)
        data = None if full in names else _content(path, record.cwd)
        if data is not None:  # None also for a name with a newline, which the linker tells as two
            name = names.setdefault(full, captured_name(full, place, len(names)))
            files.setdefault(name, _whole_archive(data, full))
    remove_tree(scratch)
    files |= replayed.natives
    users_script = bench.linker == "gnu" and _EXTERNAL in said
    scripts = linkline.user_scripts(line)
    opened_scripts = _SCRIPT.findall(said) if scripts else []  # also those that they INCLUDE, commonly near the top
    all_scripts = [*(path for path in opened_scripts if path not in scripts), *scripts]
    reserved = user_script.reserved(_joined(files, names, record.cwd, all_scripts))
    script = ""
    if bench.linker == "gnu":
        script = _joined(files, names, record.cwd, scripts) if users_script else ldscript.default_script(said)
    return Draft(
        line, files, names, _pulled(said, record.cwd, names), script, users_script, reserved, replayed.division,
        unit_names(replayed, files),
    )  # fmt: skip


def _joined(files: Mapping[str, bytes], names: Mapping[str, str], folder: str, paths: Sequence[str]) -> str:
    """The text of linker scripts, given relative to ``folder``, one after the other."""
    found = [names.get(linkline.absolute(path, folder), "") for path in paths]
    return "\n".join(files[name].decode("utf-8", "surrogateescape") for name in found if name in files)


def _replay(record: Record, line: Sequence[linkline.Word], bench: Bench) -> Replay:
    """The link line without what has no effect, and without the generation of code."""
    native = record.native()
    if native is None:
        return as_recorded(record, line)
    if bench.linker != "lld":
        return with_plugin(record, line, native)
    tools = bench.toolbox.tools

    def content(path: str) -> bytes | None:
        data = _content(path, record.cwd)
        return None if data is None else _whole_archive(data, path)

    nm = find_nm(tools["cc"].path, tools["nm"].path if "nm" in tools else None)
    newer = version_number(tools["ld"].version) >= (bitcode_link.DEFINED_FIRST,)
    reader = Reader(content, lambda path: captured_name(path, bench.place, 0), nm, bench.runner, newer)
    return with_stubs(record, line, native, reader)


def _discover(
    record: Record, bench: Bench, arguments: list[str], files: Mapping[str, bytes], scratch: Path
) -> tuple[str, list[str]]:
    """Repeat the link where the build was: what the linker says, and every file it opened."""
    if not os.path.isdir(record.cwd):
        raise CaptureFailed(f"{bench.artefact} was linked in {record.cwd}, which the build has removed since")
    reports = scratch / "dependencies"
    extra = ["-t", "-t", "--verbose"] if bench.linker == "gnu" else ["--trace", f"--dependency-file={reports}"]
    done = run_linker(  # GNU ld reads a script as soon as it meets its name, so what makes it talk comes first
        bench.runner, bench.toolbox.tools["ld"].path, [*extra, *arguments], cwd=Path(record.cwd),
        environment={**record.environment, "TMPDIR": str(scratch)}, output=str(scratch / "output"),
    )  # fmt: skip
    if done.returncode != 0:
        objects.objects(files, ())  # link-time optimisation is the likeliest reason, and has a message of its own
        reason = done.stderr.decode("utf-8", "backslashreplace").strip()
        raise CaptureFailed(f"{bench.artefact}: the recorded link cannot be repeated: {reason[-2000:]}")
    said = done.stdout.decode("utf-8", "surrogateescape")
    if bench.linker == "gnu":
        return said, list(dict.fromkeys("".join(match) for match in _OPENED.findall(said)))
    told = reports.read_bytes()
    return said, _phony_targets(told) if bench.linker == "mold" else _dependencies(told)


def _dependencies(text: bytes) -> list[str]:
    """Files in lld's or gold's dependency file, one a line; make's escapes for blanks, hashes and dollars undone."""
    rule = text.decode("utf-8", "surrogateescape").split("\n\n", 1)[0]
    rows = [row.removesuffix(" \\").lstrip(" ") for row in rule.splitlines()[1:]]
    return list(dict.fromkeys(re.sub(r"\\([ #])", r"\1", row).replace("$$", "$") for row in rows))


def _phony_targets(text: bytes) -> list[str]:
    """Files in mold's dependency file, which escapes nothing but repeats each name in a line of its own."""
    rows = text.decode("utf-8", "surrogateescape").split("\n\n")[1:]
    return [row.removesuffix("\n").removesuffix(":") for row in rows if row.strip()]


def captured_name(path: str, place: Place, number: int) -> str:
    """Where a file goes in the capture, by where it was: built, temporary, or the system's."""
    inside_tree = linkline.inside(path, place.tree)
    if inside_tree is not None:
        return f"_build/{inside_tree}"
    if linkline.inside(path, place.temporary) is not None:
        return f"_temp/{number:05d}.o"
    return path.lstrip("/")


def _content(path: str, folder: str) -> bytes | None:
    """The file's bytes, ``path`` relative to ``folder``; None if it cannot be read."""
    try:
        return Path(os.path.join(folder, path)).read_bytes()
    except OSError:
        return None


def _whole_archive(data: bytes, path: str) -> bytes:
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
    with cache_errors("write", target):
        for name, content in edits:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(content)
            digests[name] = sha256_bytes(content)
        for name in names:
            if name not in digests:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(unchanged / name, target / name)
    return digests


def write_tree(target: Path, files: Mapping[str, bytes], unchanged: Path, all_files: Mapping[str, bytes]) -> None:
    """Write ``files`` under ``target`` and hard-link the rest of ``all_files`` from the tree ``unchanged``."""
    with cache_errors("write", target):
        for name in all_files:
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name in files:
                path.write_bytes(files[name])
            else:
                link_or_copy(unchanged / name, path)
            if name == lto.ANSWER:
                path.chmod(0o755)
