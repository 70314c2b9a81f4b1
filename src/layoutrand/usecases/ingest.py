"""From a recorded link to a captured one: self-contained, replayed, editable, with its identity proved.

The proof has three links. (1) The recorded command, replayed on the captured files alone, gives the artefact that
the build made, byte for byte: nothing is missing from the capture. (2) The same with a unique symbol on every
section gives the same loaded contents: the edit is harmless, and the symbols tell in which order the linker placed
the sections. (3) Linked with that order asked for explicitly, identity has the same order and the objects' own
bytes outside relocations: the means of ordering is harmless too.  Seeds are then compared with identity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from layoutrand.core import archive, codecheck, elf, ldscript, linkline, objects
from layoutrand.core.capture import ROOT, CapturedLink
from layoutrand.core.order import draw
from layoutrand.errors import CaptureFailed, CodeChanged, FeatureUnsupported
from layoutrand.model import IDENTITY
from layoutrand.usecases.relink import Code, link_layout, run_linker, verify
from layoutrand.world.disk import cache_errors, link_or_copy, remove_tree, sha256_bytes
from layoutrand.world.process import Completed, Runner
from layoutrand.world.records import Record
from layoutrand.world.toolbox import Toolbox

_NOT_LOADED_CODE = frozenset({".note.gnu.build-id"})  # a hash of the whole file, symbol tables included
_MEMBER = re.compile(r"^\((?P<gnu>.+)\)(?P<gnu_member>[^()]+)$|^(?P<lld>.+)\((?P<lld_member>[^()]+)\)$")


@dataclass(frozen=True)
class Place:
    """Where the build lay, so that its paths can be told from the system's: absolute, lexically normal."""

    tree: str
    temporary: str
    wrappers: str


@dataclass(frozen=True)
class _Bench:
    """What one ingestion works with: the recorded link, the artefact as the build left it, and where to put things."""

    record: Record
    artefact: str
    built: bytes
    place: Place
    base: Path
    toolbox: Toolbox
    runner: Runner

    @property
    def linker(self) -> str:
        """The back end: "gnu" or "lld"."""
        return self.toolbox.toolchain.link.linker

    def link(self, link: CapturedLink, tree: str, output: str, *, replay: bool = False) -> Completed:
        """Execute the captured link line on one of the trees (root, probe, edited)."""
        (self.base / tree / link.cwd).mkdir(parents=True, exist_ok=True)
        return run_linker(
            self.runner, self.toolbox.tools["ld"].path, link.replay_argv if replay else link.argv,
            root=self.base / tree, cwd=link.cwd, environment=link.environment, output=self.base / output, extra=[],
        )  # fmt: skip


@dataclass(frozen=True)
class _Draft:
    """A link on its way into the capture; ``files`` maps captured path to content, in link order."""

    line: tuple[linkline.Word, ...]
    files: Mapping[str, bytes]
    pulled: frozenset[str]
    script: str
    names: Mapping[str, str]


def ingest(  # noqa: PLR0913 - what one capture needs
    record: Record, artefact: str, built: bytes, *, place: Place, base: Path, toolbox: Toolbox, runner: Runner
) -> CapturedLink:
    """Capture one recorded link into ``base`` and prove it; ``built`` is the artefact as the build left it."""
    bench = _Bench(record, artefact, built, place, base, toolbox, runner)
    _refuse_unsupported(bench)
    draft = _collect(bench)
    _write_tree(base / "root", draft.files, base / "root", draft.files)
    link = _describe(bench, draft)
    _prove_replay(bench, link)
    found = objects.objects(draft.files, draft.pulled)
    identity, chosen = _probe(bench, link, draft, found)
    link = _edit(bench, link, draft, found, chosen)
    return _prove_identity(bench, replace(link, identity=identity), found, chosen)


def _refuse_unsupported(bench: _Bench) -> None:
    line = linkline.words(bench.record.argv)
    chosen = str(bench.toolbox.tools["ld"].path)
    if bench.record.linker != chosen:
        raise CaptureFailed(
            f"{bench.artefact} was linked by {bench.record.linker}, but toolchain {bench.toolbox.toolchain.name!r} "
            f"places functions with {chosen}. Remove the build's own choice of linker (-fuse-ld=...), or choose the "
            "toolchain of that linker"
        )
    scripts = linkline.user_scripts(line)
    if scripts:
        raise FeatureUnsupported(
            f"{bench.artefact} is linked with a linker script of its own ({scripts[0]}), which decides the order of "
            "its sections; layouts by relinking are not possible for it"
        )
    if any(word.option == "sysroot" for word in line):
        raise FeatureUnsupported(f"{bench.artefact} is linked with --sysroot, which a capture needs for itself")


def _collect(bench: _Bench) -> _Draft:
    """Every file that the link reads: those named were kept by the wrapper, the linker itself tells the others."""
    record, place = bench.record, bench.place
    line = tuple(
        word
        for word in linkline.replayable(linkline.words(record.argv), keep_symbols=False)
        if not (word.kind == "directory" and linkline.absolute(word.text, record.cwd) == place.wrappers)
    )
    kept = record.inputs()
    names: dict[str, str] = {}
    files: dict[str, bytes] = {}
    for word in line:
        if word.kind in ("input", "file"):
            path = linkline.absolute(word.text, record.cwd)
            name = names.setdefault(path, _captured_name(path, place, len(names)))
            files[name] = _whole_archive(kept[path] if path in kept else _read(path), path)
    scratch = bench.base / "discover"
    _write_tree(scratch, files, scratch, files)
    stdout, dependencies = _discover(bench, line, names, scratch)
    for path in dependencies:
        full = linkline.absolute(path, record.cwd)
        if linkline.inside(full, str(scratch)) is None:
            name = names.setdefault(full, _captured_name(full, place, len(names)))
            files.setdefault(name, _whole_archive(_read(path if path.startswith("/") else full), full))
    remove_tree(scratch)
    script = ldscript.default_script(stdout) if bench.linker == "gnu" else ""
    return _Draft(line, files, _pulled(stdout, record.cwd, scratch, names), script, names)


def _discover(
    bench: _Bench, line: tuple[linkline.Word, ...], names: Mapping[str, str], scratch: Path
) -> tuple[str, list[str]]:
    """Repeat the link where the build was, on the kept inputs: what the linker says, and every file it opened."""
    record = bench.record
    arguments: list[str] = []
    for word in line:
        kept = word.kind in ("input", "file")
        arguments += word.argv(f"{scratch}/{names[linkline.absolute(word.text, record.cwd)]}" if kept else None)
    extra = [f"--dependency-file={scratch}/dependencies", "-t", "-t"]
    if bench.linker == "gnu":
        extra.append("--verbose")
    done = run_linker(
        bench.runner, bench.toolbox.tools["ld"].path, arguments, root=scratch, cwd=record.cwd,
        environment=record.environment, output=scratch / "output", extra=extra,
    )  # fmt: skip
    if done.returncode != 0:
        raise CaptureFailed(f"{bench.artefact}: the recorded link cannot be repeated: {done.text().strip()[-2000:]}")
    dependencies = _dependencies((scratch / "dependencies").read_bytes())
    return done.stdout.decode("utf-8", "surrogateescape"), dependencies


def _captured_name(path: str, place: Place, number: int) -> str:
    """Where a file goes in the capture, by where it was: built, temporary, or the system's."""
    inside_tree = linkline.inside(path, place.tree)
    if inside_tree is not None:
        return f"_build/{inside_tree}"
    if linkline.inside(path, place.temporary) is not None:
        return f"_temp/{number:05d}.o"
    return path.lstrip("/")


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CaptureFailed(f"cannot read {path}, an input of the link: {error.strerror}") from error


def _whole_archive(data: bytes, path: str) -> bytes:
    """A thin archive made ordinary, so that the capture needs no file beside it."""
    if data[:8] != archive.THIN_MAGIC:
        return data
    folder = path.rsplit("/", 1)[0]
    return archive.write(archive.read(data, name=path, fetch=lambda name: _read(linkline.absolute(name, folder))), {})


def _dependencies(text: bytes) -> list[str]:
    """Files in a make-style dependency file; make's escapes for blanks, dollars and hashes undone."""
    rule = text.decode("utf-8", "surrogateescape").split("\n\n", 1)[0]
    body = rule.replace("\\\n", " ").split(": ", 1)
    words = re.findall(r"(?:\\.|[^\s\\])+", body[1]) if len(body) == 2 else []
    return list(dict.fromkeys(re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words))


def _pulled(text: str, cwd: str, scratch: Path, names: Mapping[str, str]) -> frozenset[str]:
    """Archive members that the linker says it used, as ``captured path(member)``."""
    pulled = set()
    for row in text.splitlines():  # among much else: GNU ld prints its script too
        match = _MEMBER.match(row)
        if match:
            path = linkline.absolute(match["gnu"] or match["lld"], cwd)
            name = linkline.inside(path, str(scratch)) or names.get(path)
            if name is not None:
                pulled.add(f"{name}({match['gnu_member'] or match['lld_member']})")
    return frozenset(pulled)


def _write_tree(target: Path, files: Mapping[str, bytes], unchanged: Path, all_files: Mapping[str, bytes]) -> None:
    """Write ``files`` under ``target`` and hard-link the rest of ``all_files`` from the tree ``unchanged``."""
    with cache_errors("write", target):
        for name in all_files:
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name in files:
                path.write_bytes(files[name])
            else:
                link_or_copy(unchanged / name, path)


def _describe(bench: _Bench, draft: _Draft) -> CapturedLink:
    """The link line in terms of the captured files."""
    cwd = linkline.inside(bench.record.cwd, bench.place.tree)
    keeping = linkline.replayable(list(draft.line), keep_symbols=True)
    return CapturedLink(
        artefact=bench.artefact, linker=bench.linker, argv=tuple(_relocated(bench, draft, keeping)),
        replay_argv=tuple(_relocated(bench, draft, list(draft.line))),
        cwd=f"_build/{cwd}" if cwd is not None else "_build", environment=dict(bench.record.environment),
        files={name: sha256_bytes(data) for name, data in draft.files.items()}, edited={},
        members=tuple(sorted(draft.pulled)), sections=(), identity=(), other_sizes={}, script=draft.script,
        code_sha256="", original_sha256=sha256_bytes(bench.built), warnings=(),
    )  # fmt: skip


def _relocated(bench: _Bench, draft: _Draft, line: list[linkline.Word]) -> list[str]:
    """Arguments whose paths are those of the capture; relative ones inside the build stay as they are."""
    cwd, tree = bench.record.cwd, bench.place.tree
    built_inside = linkline.inside(cwd, tree) is not None
    arguments: list[str] = [f"--sysroot={ROOT}"]
    for word in line:
        if word.kind not in ("input", "file", "directory"):
            arguments += word.argv()
            continue
        path = linkline.absolute(word.text, cwd)
        stays = built_inside and not word.text.startswith("/") and linkline.inside(path, tree) is not None
        name = draft.names.get(path) or _captured_name(path, bench.place, 0)
        arguments += word.argv(None if stays else f"{ROOT}/{name}")
    return arguments


def _prove_replay(bench: _Bench, link: CapturedLink) -> None:
    """The captured files alone give the artefact that the build made, byte for byte."""
    done = bench.link(link, "root", "replay", replay=True)
    if done.returncode != 0:
        raise CaptureFailed(f"{link.artefact}: the captured link fails by itself: {done.text().strip()[-2000:]}")
    replayed = (bench.base / "replay").read_bytes()
    (bench.base / "replay").unlink()
    if replayed != bench.built:
        raise CaptureFailed(
            f"{link.artefact}: replaying its link gives another file than the build left "
            f"({len(replayed)} and {len(bench.built)} bytes). Something changed the file after the link (strip, "
            "objcopy, chrpath, signing?): leave that step out of build.commands, or name the file as it was linked"
        )


def _probe(
    bench: _Bench, link: CapturedLink, draft: _Draft, found: list[objects.Object]
) -> tuple[tuple[int, ...], list[objects.Candidate]]:
    """Link with unique symbols but no order: which sections are in the output, and in which order."""
    named = objects.candidates(found)
    changed = objects.edited_files(draft.files, found, named, rename=False)
    _write_tree(bench.base / "probe", changed, bench.base / "root", draft.files)
    done = bench.link(link, "probe", "probed")
    if done.returncode != 0:
        raise CaptureFailed(f"{link.artefact}: the link fails once sections are marked: {done.text().strip()[-2000:]}")
    binary = elf.read((bench.base / "probed").read_bytes(), name=f"{link.artefact} (probe)")
    (bench.base / "probed").unlink()
    remove_tree(bench.base / "probe")
    original = elf.read(bench.built, name=link.artefact)
    if elf.loaded_content(binary, skip=_NOT_LOADED_CODE) != elf.loaded_content(original, skip=_NOT_LOADED_CODE):
        raise CaptureFailed(f"{link.artefact}: marking its sections changed what is loaded; please report this")
    number, address, section = codecheck.placed_addresses(binary)
    if len(set(section.tolist())) > 1:
        names = sorted({binary.section_names[index] for index in section.tolist()})
        raise FeatureUnsupported(
            f"{link.artefact}: its code is spread over several output sections: {', '.join(names)}"
        )
    chosen = objects.renumber(named, frozenset(number.tolist()))
    new_index = {old: new for new, old in enumerate(sorted(number.tolist()))}
    order = codecheck.placed_order(number, address).tolist()
    return tuple(new_index[old] for old in order), chosen


def _edit(
    bench: _Bench, link: CapturedLink, draft: _Draft, found: list[objects.Object], chosen: list[objects.Candidate]
) -> CapturedLink:
    """Write the tree that every layout links: sections named and marked."""
    changed = objects.edited_files(draft.files, found, chosen, rename=link.linker == "gnu")
    _write_tree(bench.base / "edited", changed, bench.base / "root", draft.files)
    (bench.base / "edited" / link.cwd).mkdir(parents=True, exist_ok=True)
    sections = tuple(candidate.section for candidate in chosen)
    lumped = objects.lumped(found, chosen)
    movable = [section for section in sections if not section.pinned]
    if not movable:
        raise CaptureFailed(
            f"{link.artefact}: none of its code can be placed: its objects come from outside the build, or are "
            "stripped or prebuilt. Is the source tree clean (make clean), and does the build use $CC?"
        )
    if all(section.name == ".text" for section in movable) and len(movable) == len(lumped):
        raise CaptureFailed(
            f"{link.artefact}: no object of it was compiled through the wrappers, so it has no function sections. "
            "Is the source tree clean of old objects (make clean), and does the build use $CC or gcc from PATH?"
        )
    warnings = []
    if lumped:
        warnings.append(
            f"{len(lumped)} objects were not compiled through the wrappers (or are assembler) and move as one piece "
            f"each: {', '.join(lumped[:5])}{' ...' if len(lumped) > 5 else ''}"
        )
    edited = {name: sha256_bytes(data) for name, data in changed.items()}
    return replace(link, edited=edited, sections=sections, warnings=tuple(warnings))


def _prove_identity(
    bench: _Bench, link: CapturedLink, found: list[objects.Object], chosen: list[objects.Candidate]
) -> CapturedLink:
    """Link identity, check it against the input objects, and keep its code as the reference for every seed."""
    base = bench.base
    layout = draw(link.sections, link.identity, name=IDENTITY, factors=(), classes="")
    binary, seconds = link_layout(
        bench.runner, bench.toolbox.tools["ld"].path, link, base, layout, scratch=base, output=base / "identity"
    )
    number, address, section = codecheck.placed_addresses(binary)
    inputs = [(found[c.object].elf, c.header, f"{c.section.name} of {c.section.object}") for c in chosen]
    masks = codecheck.masks(inputs)
    linked = codecheck.section_bytes(binary, number, address, masks.size, int(section[0]))
    where = codecheck.changed(masks.content, linked, masks.input_fixed)
    if where is not None:
        index = int(np.searchsorted(np.cumsum(masks.size), where, side="right"))
        raise CodeChanged(f"{link.artefact}: the linker rewrote {inputs[index][2]} beyond its relocations")
    code = Code(masks.size, linked, masks.fixed, codecheck.functions(binary, number, address, masks.size))
    dumped = code.dump()
    (base / "code.npz").write_bytes(dumped)
    link = replace(link, other_sizes=codecheck.other_sizes(binary, int(section[0])), code_sha256=sha256_bytes(dumped))
    verify(binary, link, layout, code, seconds)
    for leftover in ("identity", "layout.ld", "layout.order"):
        (base / leftover).unlink(missing_ok=True)
    return link
