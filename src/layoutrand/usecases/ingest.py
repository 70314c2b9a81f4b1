"""From a recorded link to a captured one: self-contained, replayed, editable, with its identity proved.

The proof has three links. (1) The recorded command, replayed on the captured files alone, gives the artefact that
the build made, byte for byte: nothing is missing from the capture. (2) The same with a unique symbol on every
section gives the same loaded contents: the edit is harmless, and the symbols tell in which order the linker placed
the sections. (3) Linked with that order asked for explicitly, identity has the same order and the objects' own
bytes outside relocations: the means of ordering is harmless too.  Seeds are then compared with identity.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace

import numpy as np

from layoutrand.core import codecheck, elf, linkline, objects
from layoutrand.core.capture import ROOT, CapturedLink
from layoutrand.core.order import draw, is_function_section
from layoutrand.errors import CaptureFailed, CodeChanged, FeatureUnsupported
from layoutrand.model import IDENTITY
from layoutrand.usecases.collect import Bench, Draft, captured_name, collect, write_tree
from layoutrand.usecases.relink import Code, link_layout, verify
from layoutrand.world.disk import cache_errors, remove_tree, sha256_bytes
from layoutrand.world.records import Record

_NOT_LOADED_CODE = frozenset({".note.gnu.build-id"})  # a hash of the whole file, symbol tables included


def ingest(record: Record, bench: Bench) -> CapturedLink:
    """Capture one recorded link into the bench's directory and prove it."""
    _refuse_unsupported(record, bench)
    draft = collect(record, bench)
    write_tree(bench.base / "root", draft.files, bench.base / "root", draft.files)
    link = _describe(record, bench, draft)
    found = objects.objects(draft.files, draft.pulled)
    _prove_replay(bench, link)
    identity, chosen = _probe(bench, link, draft, found)
    link = _edit(bench, link, draft, found, chosen)
    return _prove_identity(bench, replace(link, identity=identity), found, chosen)


def _refuse_unsupported(record: Record, bench: Bench) -> None:
    line = linkline.words(record.argv)
    chosen = str(bench.toolbox.tools["ld"].path)
    if record.linker != chosen:
        raise CaptureFailed(
            f"{bench.artefact} was linked by {record.linker}, but toolchain {bench.toolbox.toolchain.name!r} "
            f"places functions with {chosen}. Remove the build's own choice of linker (-fuse-ld=...), or choose the "
            "toolchain of that linker"
        )
    scripts = linkline.user_scripts(line)
    if scripts:
        raise FeatureUnsupported(
            f"{bench.artefact} is linked with a linker script of its own ({scripts[0]}), which decides the order of "
            "its sections; layouts by relinking are not possible for it"
        )
    if any(word.option == "build-id" and word.text == "uuid" for word in line):
        raise FeatureUnsupported(
            f"{bench.artefact} is linked with --build-id=uuid, which makes every link another file; use --build-id=sha1"
        )
    if any(word.option == "sysroot" for word in line):
        raise FeatureUnsupported(f"{bench.artefact} is linked with --sysroot, which a capture needs for itself")


def _describe(record: Record, bench: Bench, draft: Draft) -> CapturedLink:
    """The link line in terms of the captured files."""
    # -b binary makes symbols of the words by which files are named: then the words must stay, and the directory too.
    anywhere = not any(word.option in ("b", "format") for word in draft.line)
    inside = linkline.inside(record.cwd, bench.place.tree)
    output = linkline.output(record.argv)
    if not anywhere or output.startswith("/") or ".." in output.split("/"):
        output = posixpath.basename(output)
    keeping = linkline.replayable(list(draft.line), keep_symbols=True)
    return CapturedLink(
        artefact=bench.artefact, linker=bench.linker, output=output,
        argv=tuple(_relocated(record, bench, draft, keeping, anywhere=anywhere)),
        replay_argv=tuple(_relocated(record, bench, draft, list(draft.line), anywhere=anywhere)),
        cwd="" if anywhere else "_build" if inside is None else f"_build/{inside}",
        environment=dict(record.environment),
        files={name: sha256_bytes(data) for name, data in draft.files.items()}, edited={},
        members=tuple(sorted(draft.pulled)), sections=(), identity=(), other_sizes={}, script=draft.script,
        code_sha256="", original_sha256=sha256_bytes(bench.built), warnings=(),
    )  # fmt: skip


def _relocated(record: Record, bench: Bench, draft: Draft, line: list[linkline.Word], *, anywhere: bool) -> list[str]:
    """Arguments whose paths are those of the capture; unless ``anywhere``, relative ones in the build stay."""
    arguments: list[str] = [f"--sysroot={ROOT}"]
    if bench.linker == "gnu":  # lld resolves symbols without the libraries that libraries need
        arguments += [f"-rpath-link={ROOT}/{folder}" for folder in draft.library_directories()]
    for word in line:
        if word.kind not in ("input", "file", "directory"):
            arguments += word.argv()
            continue
        path = linkline.absolute(word.text, record.cwd)
        stays = not anywhere and not word.text.startswith("/") and linkline.inside(path, bench.place.tree) is not None
        name = draft.names.get(path) or captured_name(path, bench.place, 0)
        arguments += word.argv(None if stays else f"{ROOT}/{name}")
    return arguments


def _prove_replay(bench: Bench, link: CapturedLink) -> None:
    """The captured files alone give the artefact that the build made, byte for byte."""
    done, replayed = bench.link(link, "root", replay=True)
    if done.returncode != 0:
        raise CaptureFailed(f"{link.artefact}: the captured link fails by itself: {done.text().strip()[-2000:]}")
    if replayed != bench.built:
        raise CaptureFailed(
            f"{link.artefact}: replaying its link gives another file than the build left "
            f"({len(replayed)} and {len(bench.built)} bytes). Something changed the file after the link (strip, "
            "objcopy, chrpath, signing?): leave that step out of build.commands, or name the file as it was linked"
        )


def _probe(
    bench: Bench, link: CapturedLink, draft: Draft, found: list[objects.Object]
) -> tuple[tuple[int, ...], list[objects.Candidate]]:
    """Link with unique symbols but no order: which sections are in the output, and in which order."""
    named = objects.candidates(found)
    changed = objects.edited_files(draft.files, found, named, rename=False)
    write_tree(bench.base / "probe", changed, bench.base / "root", draft.files)
    done, probed = bench.link(link, "probe")
    if done.returncode != 0:
        raise CaptureFailed(f"{link.artefact}: the link fails once sections are marked: {done.text().strip()[-2000:]}")
    binary = elf.read(probed, name=f"{link.artefact} (probe)")
    remove_tree(bench.base / "probe")
    original = elf.read(bench.built, name=link.artefact)
    if elf.loaded_content(binary, skip=_NOT_LOADED_CODE) != elf.loaded_content(original, skip=_NOT_LOADED_CODE):
        raise CaptureFailed(f"{link.artefact}: marking its sections changed what is loaded; please report this")
    number, address, section = codecheck.placed_addresses(binary)
    # Identical code folding leaves several symbols at one address: the first in link order is the one that is placed.
    by_number = np.argsort(number)
    kept = by_number[np.unique(address[by_number], return_index=True)[1]]
    number, address, section = number[kept], address[kept], section[kept]
    if len(set(section.tolist())) > 1:
        number_of = len(set(section.tolist()))
        names = ", ".join(sorted({binary.section_names[index] for index in section.tolist()}))
        raise FeatureUnsupported(
            f"{link.artefact}: its code is spread over {number_of} output sections ({names}), and only one can be "
            "ordered: link without -z keep-text-section-prefix and --unique"
        )
    chosen = objects.renumber(named, frozenset(number.tolist()))
    new_index = {old: new for new, old in enumerate(sorted(number.tolist()))}
    order = codecheck.placed_order(number, address).tolist()
    return tuple(new_index[old] for old in order), chosen


def _edit(
    bench: Bench, link: CapturedLink, draft: Draft, found: list[objects.Object], chosen: list[objects.Candidate]
) -> CapturedLink:
    """Write the tree that every layout links: sections named and marked."""
    changed = objects.edited_files(draft.files, found, chosen, rename=link.linker == "gnu")
    write_tree(bench.base / "edited", changed, bench.base / "root", draft.files)
    sections = tuple(candidate.section for candidate in chosen)
    lumped = objects.lumped(found, chosen)
    movable = [section for section in sections if not section.pinned]
    if not movable:
        raise CaptureFailed(
            f"{link.artefact}: none of its code can be placed: its objects come from outside the build, or are "
            "stripped or prebuilt. Is the source tree clean (make clean), and does the build use $CC?"
        )
    if not any(section.group == "" and is_function_section(section.name) for section in movable):
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
    bench: Bench, link: CapturedLink, found: list[objects.Object], chosen: list[objects.Candidate]
) -> CapturedLink:
    """Link identity, check it against the input objects, and keep its code as the reference for every seed."""
    base = bench.base
    layout = draw(link.sections, link.identity, name=IDENTITY, factors=(), classes="")
    scratch = base / "identity"
    with cache_errors("write", scratch):
        scratch.mkdir()
    ld = bench.toolbox.tools["ld"].path
    binary, seconds, _output = link_layout(bench.runner, ld, link, base, layout, scratch=scratch)
    remove_tree(scratch)
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
    with cache_errors("write", base):
        (base / "code.npz").write_bytes(dumped)
    link = replace(link, other_sizes=codecheck.other_sizes(binary, int(section[0])), code_sha256=sha256_bytes(dumped))
    verify(binary, link, layout, code, seconds)
    return link
