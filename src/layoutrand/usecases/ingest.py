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
from layoutrand.world.process import Runner
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
class _Draft:
    """A link on its way into the capture; ``files`` maps captured path to content, in link order."""

    record: Record
    line: tuple[linkline.Word, ...]
    files: Mapping[str, bytes]
    pulled: frozenset[str]
    script: str
    names: Mapping[str, str]


def ingest(  # noqa: PLR0913 - what one capture needs
    record: Record, artefact: str, built: bytes, *, place: Place, base: Path, toolbox: Toolbox, runner: Runner
) -> CapturedLink:
    """Capture one recorded link into ``base`` and prove it; ``built`` is the artefact as the build left it."""
    _refuse_unsupported(record, artefact, toolbox)
    draft = _collect(record, place, base, toolbox, runner)
    _write_tree(base / "root", draft.files, base / "root", draft.files)
    link = _describe(draft, artefact, place, toolbox)
    _prove_replay(link, base, built, toolbox, runner)
    found = objects.objects(draft.files, draft.pulled)
    named = objects.candidates(found)
    identity, chosen = _probe(link, draft, found, named, base, built, toolbox, runner)
    link = _edit(link, draft, found, chosen, identity, base)
    return _prove_identity(link, found, chosen, base, toolbox, runner)


def _refuse_unsupported(record: Record, artefact: str, toolbox: Toolbox) -> None:
    line = linkline.words(record.argv)
    chosen = str(toolbox.tools["ld"].path)
    if record.linker != chosen:
        raise CaptureFailed(
            f"{artefact} was linked by {record.linker}, but toolchain {toolbox.toolchain.name!r} places functions "
            f"with {chosen}. Remove the build's own choice of linker (-fuse-ld=...), or choose the toolchain of that linker"
        )
    scripts = linkline.user_scripts(line)
    if scripts:
        raise FeatureUnsupported(
            f"{artefact} is linked with a linker script of its own ({scripts[0]}), which decides the order of its "
            "sections; layouts by relinking are not possible for it"
        )
    if any(word.option == "sysroot" for word in line):
        raise FeatureUnsupported(f"{artefact} is linked with --sysroot, which a capture needs for itself")


def _collect(record: Record, place: Place, base: Path, toolbox: Toolbox, runner: Runner) -> _Draft:
    """Every file that the link reads: those named were kept by the wrapper, the linker itself tells the others."""
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
    scratch = base / "discover"
    scratch.mkdir(parents=True)
    live = [
        argument
        for word in line
        for argument in (
            word.argv(f"{scratch}/{names[linkline.absolute(word.text, record.cwd)]}")
            if word.kind in ("input", "file")
            else word.argv()
        )
    ]
    _write_tree(scratch, files, scratch, files)
    extra = [f"--dependency-file={scratch}/dependencies", "-t", "-t"]
    if toolbox.toolchain.link.linker == "gnu":
        extra.append("--verbose")
    done = run_linker(
        runner, toolbox.tools["ld"].path, live, root=scratch, cwd=record.cwd, environment=record.environment,
        output=scratch / "output", extra=extra,
    )  # fmt: skip
    if done.returncode != 0:
        raise CaptureFailed(f"the recorded link cannot be repeated: {done.text().strip()[-2000:]}")
    for path in _dependencies((scratch / "dependencies").read_bytes()):
        full = linkline.absolute(path, record.cwd)
        if linkline.inside(full, str(scratch)) is None:
            name = names.setdefault(full, _captured_name(full, place, len(names)))
            files.setdefault(name, _whole_archive(_read(path if path.startswith("/") else full), full))
    text = done.stdout.decode("utf-8", "surrogateescape")
    script = ldscript.default_script(text) if toolbox.toolchain.link.linker == "gnu" else ""
    remove_tree(scratch)
    return _Draft(record, line, files, _pulled(text, record.cwd, scratch, names), script, names)


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


def _describe(draft: _Draft, artefact: str, place: Place, toolbox: Toolbox) -> CapturedLink:
    """The link line in terms of the captured files."""
    cwd = linkline.inside(draft.record.cwd, place.tree)
    replay = _relocated(draft, place, list(draft.line), movable_cwd=cwd is not None)
    kept = _relocated(
        draft, place, linkline.replayable(list(draft.line), keep_symbols=True), movable_cwd=cwd is not None
    )
    return CapturedLink(
        artefact=artefact, linker=toolbox.toolchain.link.linker, argv=tuple(kept), replay_argv=tuple(replay),
        cwd=f"_build/{cwd}" if cwd is not None else "_build", environment=dict(draft.record.environment),
        files={name: sha256_bytes(data) for name, data in draft.files.items()}, edited={},
        members=tuple(sorted(draft.pulled)), sections=(), identity=(), other_sizes={}, script=draft.script,
        code_sha256="", original_sha256="", warnings=(),
    )  # fmt: skip


def _relocated(draft: _Draft, place: Place, line: list[linkline.Word], *, movable_cwd: bool) -> list[str]:
    """Arguments whose paths are those of the capture; relative ones inside the build stay as they are."""
    arguments: list[str] = [f"--sysroot={ROOT}"]
    for word in line:
        if word.kind not in ("input", "file", "directory"):
            arguments += word.argv()
            continue
        path = linkline.absolute(word.text, draft.record.cwd)
        relative = movable_cwd and not word.text.startswith("/") and linkline.inside(path, place.tree) is not None
        name = draft.names.get(path) or _captured_name(path, place, 0)
        arguments += word.argv() if relative else word.argv(f"{ROOT}/{name}")
    return arguments


def _prove_replay(link: CapturedLink, base: Path, built: bytes, toolbox: Toolbox, runner: Runner) -> None:
    (base / "root" / link.cwd).mkdir(parents=True, exist_ok=True)
    output = base / "replay"
    done = run_linker(
        runner, toolbox.tools["ld"].path, link.replay_argv, root=base / "root", cwd=link.cwd,
        environment=link.environment, output=output, extra=[],
    )  # fmt: skip
    if done.returncode != 0:
        raise CaptureFailed(f"{link.artefact}: the captured link fails by itself: {done.text().strip()[-2000:]}")
    replayed = output.read_bytes()
    output.unlink()
    if replayed != built:
        raise CaptureFailed(
            f"{link.artefact}: replaying its link gives another file than the build left "
            f"({len(replayed)} and {len(built)} bytes). Something changed the file after the link (strip, objcopy, "
            "chrpath, signing?): leave that step out of build.commands, or name the file as it was linked"
        )


def _probe(  # noqa: PLR0913 - the parts of one link
    link: CapturedLink, draft: _Draft, found: list[objects.Object], named: list[objects.Candidate], base: Path,
    built: bytes, toolbox: Toolbox, runner: Runner,
) -> tuple[tuple[int, ...], list[objects.Candidate]]:  # fmt: skip
    """Link with unique symbols but no order: which sections are in the output, and in which order."""
    probe = base / "probe"
    _write_tree(probe, objects.edited_files(draft.files, found, named, rename=False), base / "root", draft.files)
    (probe / link.cwd).mkdir(parents=True, exist_ok=True)
    done = run_linker(
        runner, toolbox.tools["ld"].path, link.argv, root=probe, cwd=link.cwd, environment=link.environment,
        output=base / "probed", extra=[],
    )  # fmt: skip
    if done.returncode != 0:
        raise CaptureFailed(f"{link.artefact}: the link fails once sections are marked: {done.text().strip()[-2000:]}")
    binary = elf.read((base / "probed").read_bytes(), name=f"{link.artefact} (probe)")
    (base / "probed").unlink()
    remove_tree(probe)
    original = elf.read(built, name=link.artefact)
    if elf.loaded_content(binary, skip=_NOT_LOADED_CODE) != elf.loaded_content(original, skip=_NOT_LOADED_CODE):
        raise CaptureFailed(f"{link.artefact}: marking its sections changed what is loaded; please report this")
    number, address, section = codecheck.placed_addresses(binary)
    if len(set(section.tolist())) > 1:
        names = sorted({binary.section_names[index] for index in section.tolist()})
        raise FeatureUnsupported(f"{link.artefact}: its code is spread over several output sections: {', '.join(names)}")
    chosen = objects.renumber(named, frozenset(number.tolist()))
    new_index = {old: new for new, old in enumerate(sorted(number.tolist()))}
    order = codecheck.placed_order(number, address).tolist()
    return tuple(new_index[old] for old in order), chosen


def _edit(  # noqa: PLR0913 - the parts of one edit
    link: CapturedLink, draft: _Draft, found: list[objects.Object], chosen: list[objects.Candidate],
    identity: tuple[int, ...], base: Path,
) -> CapturedLink:  # fmt: skip
    """Write the tree that every layout links: sections named and marked."""
    changed = objects.edited_files(draft.files, found, chosen, rename=link.linker == "gnu")
    _write_tree(base / "edited", changed, base / "root", draft.files)
    (base / "edited" / link.cwd).mkdir(parents=True, exist_ok=True)
    sections = tuple(candidate.section for candidate in chosen)
    lumped = objects.lumped(found, chosen)
    warnings = []
    if lumped:
        warnings.append(
            f"{len(lumped)} objects were not compiled through the wrappers (or are assembler) and move as one piece "
            f"each: {', '.join(lumped[:5])}{' ...' if len(lumped) > 5 else ''}"
        )
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
    edited = {name: sha256_bytes(data) for name, data in changed.items()}
    return replace(link, edited=edited, sections=sections, identity=identity, warnings=tuple(warnings))


def _prove_identity(  # noqa: PLR0913 - the parts of one link
    link: CapturedLink, found: list[objects.Object], chosen: list[objects.Candidate], base: Path, toolbox: Toolbox,
    runner: Runner,
) -> CapturedLink:  # fmt: skip
    """Link identity, check it against the input objects, and keep its code as the reference for every seed."""
    layout = draw(link.sections, link.identity, name=IDENTITY, factors=(), classes="")
    output = base / "identity"
    binary, seconds = link_layout(
        runner, toolbox.tools["ld"].path, link, base, layout, scratch=base, output=output
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
    link = replace(
        link, other_sizes=codecheck.other_sizes(binary, int(section[0])), code_sha256=sha256_bytes(dumped)
    )
    verify(binary, link, layout, code, seconds)
    for leftover in ("identity", "layout.ld", "layout.order"):
        (base / leftover).unlink(missing_ok=True)
    return link

