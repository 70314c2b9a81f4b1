"""From a recorded link to a captured one: self-contained, replayed, editable, with its identity proved.

The proof has three links. (1) The recorded command, replayed on the captured files alone, gives the artefact that
the build made, byte for byte: nothing is missing from the capture. (2) The same with a unique symbol on every
section gives the same loaded contents: the edit is harmless, and the symbols tell in which order the linker placed
the sections. (3) Linked with that order asked for explicitly, identity has the same order and the objects' own
bytes outside relocations: the means of ordering is harmless too.  Seeds are then compared with identity.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from layoutrand.core import codecheck, elf, linkline, lto, objects
from layoutrand.core.capture import ROOT, CapturedLink
from layoutrand.core.code import Code
from layoutrand.core.kinds import PLAIN, is_code, is_function_section
from layoutrand.core.linkers import RENAMING
from layoutrand.core.order import LINK_ORDER, LINKER_SHUFFLE, draw, places_data
from layoutrand.errors import CaptureFailed, CodeChanged, FeatureUnsupported
from layoutrand.model import IDENTITY, Layout
from layoutrand.usecases import moved_objects
from layoutrand.usecases.collect import Bench, Draft, captured_name, collect, write_edited, write_tree
from layoutrand.usecases.relink import link_layout, verify
from layoutrand.world.disk import cache_errors, remove_tree, sha256_bytes, sha256_file
from layoutrand.world.records import Record

_NOT_LOADED_CODE = frozenset({".note.gnu.build-id"})  # a hash of the whole file, symbol tables included


def ingest(record: Record, bench: Bench) -> CapturedLink:
    """Capture one recorded link into the bench's directory and prove it."""
    _refuse_unsupported(record, bench)
    draft = collect(record, bench)
    lto.require_factors(draft.lto, bench.factors, bench.artefact)
    write_tree(bench.base / "root", draft.files, bench.base / "root", draft.files)
    link = _describe(record, bench, draft)
    claims = draft.lto == "" and bench.linker != "lld" and lto.uses_plugin(linkline.words(record.argv))
    found = objects.objects(draft.files, draft.pulled, draft.units, claims=claims)
    _refuse_linker_sets(bench, found)
    _prove_replay(bench, link)
    identity, chosen = _probe(bench, link, draft, found)
    link = _edit(bench, link, draft, found, chosen)
    inputs = [(found[c.object].elf, c.header, f"{c.section.name} of {c.section.object}") for c in chosen]
    masks = [codecheck.masks(inputs)]
    del draft, found, chosen, inputs  # all that the link read: more memory than what follows needs
    return _prove_identity(bench, replace(link, identity=identity), masks.pop)


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
    if scripts and bench.linker != "gnu":
        raise FeatureUnsupported(
            f"{bench.artefact} is linked with a linker script of its own ({scripts[0]}); only with GNU ld can an order "
            "be put into it (toolchain 'gcc' or 'clang')"
        )
    folds = [word.text for word in line if word.option == "icf"]
    if LINK_ORDER in bench.factors and folds and folds[-1] != "none":
        raise FeatureUnsupported(
            f"{bench.artefact} is linked with --icf: which of several equal functions is kept depends on the order of "
            "the objects, so link-order cannot be verified where the linker folds identical code. Link without, or use "
            "module-order"
        )
    if any(word.option == "build-id" and word.text == "uuid" for word in line):
        raise FeatureUnsupported(
            f"{bench.artefact} is linked with --build-id=uuid, which makes every link another file; use --build-id=sha1"
        )
    if any(word.option == "sysroot" for word in line):
        raise FeatureUnsupported(f"{bench.artefact} is linked with --sysroot, which a capture needs for itself")


def _refuse_linker_sets(bench: Bench, found: list[objects.Object]) -> None:
    """mold permutes also what a program walks through in order."""
    sets = objects.linker_sets(found) if LINKER_SHUFFLE in bench.factors else []
    if sets:
        raise FeatureUnsupported(
            f"{bench.artefact}: {LINKER_SHUFFLE} would change the order inside section {sets[0]}, a linker set that "
            f"the program may walk through (__start_{sets[0]} ... __stop_{sets[0]}), and so the program itself. "
            "Toolchains gcc, gcc-lld and gcc-gold leave such sets alone (function-order, data-order)"
        )


def _describe(record: Record, bench: Bench, draft: Draft) -> CapturedLink:
    """The link line in terms of the captured files."""
    # -b binary makes symbols of the words by which files are named, and linker scripts place files by these words:
    # then the words must stay, and the directory too.
    scripts = linkline.user_scripts(draft.line)
    anywhere = not scripts and not any(word.option in ("b", "format") for word in draft.line)
    inside = linkline.inside(record.cwd, bench.place.tree)
    output = linkline.output(record.argv)
    if not anywhere or output.startswith("/") or ".." in output.split("/"):
        output = posixpath.basename(output)
    keeping = linkline.replayable(draft.line, keep_symbols=True, plugin=bool(draft.lto))
    return CapturedLink(
        artefact=bench.artefact, linker=bench.linker, output=output,
        argv=tuple(_relocated(record, bench, draft, keeping, anywhere=anywhere)),
        replay_argv=tuple(_relocated(record, bench, draft, list(draft.line), anywhere=anywhere)),
        cwd="" if anywhere else "_build" if inside is None else f"_build/{inside}",
        environment=dict(record.environment),
        files={name: sha256_bytes(data) for name, data in draft.files.items()}, edited={},
        members=tuple(sorted(draft.pulled)), sections=(), identity=(), other_sizes={}, script=draft.script,
        users_script=draft.users_script, moves={},
        code_sha256="", original_sha256=sha256_bytes(bench.built), warnings=(),
        lto=draft.lto,
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
    """The captured files alone give the artefact that the build made, byte for byte.

    With lld's link-time optimisation the table of local symbols may come out in another order, and with it the build
    id: there all that is loaded besides must be equal.
    """
    done, replayed = bench.link(link, "root", replay=True)
    if done.returncode != 0:
        raise CaptureFailed(f"{link.artefact}: the captured link fails by itself: {done.text().strip()[-2000:]}")
    if replayed != bench.built and link.lto:
        where = _first_difference(bench.built, replayed, link.artefact) if bench.linker == "lld" else "the file"
        if where:
            raise CaptureFailed(
                f"{link.artefact}: with the code that link-time optimisation made kept, its link gives another file "
                f"than the build left: {where} differs. Is it stripped or changed after the link? Then leave that step "
                "out of build.commands. Otherwise build without -flto, and please report this"
            )
        return
    if replayed != bench.built:
        raise CaptureFailed(
            f"{link.artefact}: replaying its link gives another file than the build left "
            f"({len(replayed)} and {len(bench.built)} bytes). Something changed the file after the link (strip, "
            "objcopy, chrpath, signing?): leave that step out of build.commands, name the file as it was linked, or "
            "use --mode rebuild, which does that step for every seed"
        )


def _first_difference(built: bytes, replayed: bytes, name: str) -> str:
    """The first loaded section in which two files differ, "" if none but the build id does."""
    if not elf.is_elf(built):
        return "the file"
    first, second = (elf.loaded_content(elf.read(data, name=name), skip=_NOT_LOADED_CODE) for data in (built, replayed))
    if len(first) != len(second):
        return "the number of loaded sections"
    return next((f"section {a[0]}" for a, b in zip(first, second, strict=True) if a != b), "")


def _probe(
    bench: Bench, link: CapturedLink, draft: Draft, found: list[objects.Object]
) -> tuple[tuple[int, ...], list[objects.Candidate]]:
    """Link with unique symbols but no order: which sections are in the output, and in which order."""
    named = objects.candidates(found, data=places_data(bench.factors), reserved=draft.reserved)
    marked = objects.edited_files(draft.files, found, named, rename=False)
    write_edited(bench.base / "probe", marked, bench.base / "root", draft.files)
    done, probed = bench.link(link, "probe")
    if done.returncode != 0:
        raise CaptureFailed(f"{link.artefact}: the link fails once sections are marked: {done.text().strip()[-2000:]}")
    binary = elf.read(probed, name=f"{link.artefact} (probe)")
    remove_tree(bench.base / "probe")
    original = elf.read(bench.built, name=link.artefact)
    if elf.loaded_content(binary, skip=_NOT_LOADED_CODE) != elf.loaded_content(original, skip=_NOT_LOADED_CODE):
        raise CaptureFailed(f"{link.artefact}: marking its sections changed what is loaded; please report this")
    number, address, section = codecheck.placed_addresses(binary)
    if LINK_ORDER in bench.factors:  # another order of objects may choose other copies: all stay marked
        return tuple(codecheck.placed_order(number, address).tolist()), named
    # Identical code folding leaves several symbols at one address: the first in link order is the one that is placed.
    by_number = np.argsort(number)
    kept = by_number[np.unique(address[by_number], return_index=True)[1]]
    number, address, section = number[kept], address[kept], section[kept]
    _refuse_spread(link.artefact, binary, [named[n].section.kind for n in number.tolist()], section.tolist())
    chosen = objects.renumber(named, frozenset(number.tolist()))
    new_index = {old: new for new, old in enumerate(sorted(number.tolist()))}
    order = codecheck.placed_order(number, address).tolist()
    return tuple(new_index[old] for old in order), chosen


def _refuse_spread(artefact: str, binary: elf.Elf, kinds: Sequence[str], outputs: Sequence[int]) -> None:
    """Sections that change places must share an output section, or there is no one order to put them into."""
    spread: dict[str, set[int]] = {}
    for kind, output in zip(kinds, outputs, strict=True):
        spread.setdefault(PLAIN if is_code(kind) else kind, set()).add(output)
    for name, places in spread.items():
        if len(places) > 1:
            names = ", ".join(sorted({binary.section_names[index] for index in places}))
            what = "code" if name == PLAIN else f"data of kind .{name}"
            raise FeatureUnsupported(
                f"{artefact}: its {what} is spread over {len(places)} output sections ({names}), and only one can be "
                "ordered: link without -z keep-text-section-prefix and --unique, and if with a linker script of your "
                "own, let it take *(.text .text.*) into one output section, *(.data .data.*) and so on into others"
            )


def _edit(
    bench: Bench, link: CapturedLink, draft: Draft, found: list[objects.Object], chosen: list[objects.Candidate]
) -> CapturedLink:
    """Write the tree that every layout links: sections named and marked."""
    renames = link.linker in RENAMING and LINK_ORDER not in bench.factors
    changed = objects.edited_files(draft.files, found, chosen, rename=renames)
    edited = write_edited(bench.base / "edited", changed, bench.base / "root", draft.files)
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
    # Ours stands in for the build's own script, with the order in it.
    argv = tuple(linkline.without_scripts(link.argv)) if link.users_script else link.argv
    moves = {item.name: f"{ROOT}/{item.file}" for item in found if item.ours and item.member is None}
    return replace(
        link, edited=edited, sections=sections, warnings=tuple(warnings), argv=argv,
        moves=moves if LINK_ORDER in bench.factors else {},
    )  # fmt: skip


def _prove_identity(bench: Bench, link: CapturedLink, take: Callable[[], codecheck.Masks]) -> CapturedLink:
    """Link identity, check it against the input objects, and keep its code as the reference for every seed.

    ``take`` gives the masks and keeps nothing of them: they are large, and not needed to the end.
    """
    base = bench.base
    factors = (LINK_ORDER,) if LINK_ORDER in bench.factors else ()
    layout = draw(link.sections, link.identity, name=IDENTITY, factors=factors, classes="")
    binary, seconds = _link_identity(bench, link, layout)
    if link.users_script or linkline.user_scripts(linkline.words(link.argv)):
        _prove_script(bench, link, layout, binary)
    if LINK_ORDER in bench.factors:
        code = moved_objects.reference(binary, take())
    else:
        code = _identity_code(link, binary, take())
    with cache_errors("write", base):
        with (base / "code.npz").open("wb") as file:
            code.save(file)
        digest = sha256_file(base / "code.npz")
    outputs = sorted(set(codecheck.placed_addresses(binary)[2].tolist()))
    sizes = codecheck.other_sizes(binary, outputs)
    link = replace(link, other_sizes=sizes, code_sha256=digest)
    verify(binary, link, layout, code, seconds)
    return link


def _link_identity(bench: Bench, link: CapturedLink, layout: Layout) -> tuple[elf.Elf, float]:
    """The layout linked for the capture's own sake, and the seconds it took."""
    scratch = bench.base / "identity"
    with cache_errors("write", scratch):
        scratch.mkdir()
    ld = bench.toolbox.tools["ld"]
    binary, seconds, _output = link_layout(bench.runner, ld, link, bench.base, layout, scratch=scratch)
    remove_tree(scratch)
    return binary, seconds


def _prove_script(bench: Bench, link: CapturedLink, layout: Layout, identity: elf.Elf) -> None:
    """An order put into the build's own linker script must not change what is loaded while it is identity's.

    Data takes part only in that all of it is in the same output sections: it may stand between constants that the
    linker merges, which no order can name.
    """
    code = tuple(i for i in layout.order if is_code(link.sections[i].kind))
    plain = identity if code == layout.order else _link_identity(bench, link, replace(layout, order=code))[0]
    original = elf.read(bench.built, name=bench.artefact)
    before, after = (elf.loaded_content(binary, skip=_NOT_LOADED_CODE) for binary in (original, plain))
    moved = [one[0] for one, other in zip(before, after, strict=False) if one != other]
    homes, new_homes = (_homes(binary) for binary in (plain, identity))
    if before != after or homes != new_homes:
        where = f"section {moved[0]} differs" if moved else "its output sections are others"
        raise CaptureFailed(
            f"{bench.artefact} is linked with a linker script of its own, into which no order can be put: already in "
            f"the build's own order of functions the program is not the one that the build links ({where}). Give the "
            "script one statement *(.text .text.*) for all code that may move"
        )


def _homes(binary: elf.Elf) -> set[tuple[int, str]]:
    """Capture index and output section of every placed section."""
    number, _address, output = codecheck.placed_addresses(binary)
    return {(n, binary.section_names[o]) for n, o in zip(number.tolist(), output.tolist(), strict=True)}


def _identity_code(link: CapturedLink, binary: elf.Elf, masks: codecheck.Masks) -> Code:
    """Identity's code, once it is known to be the objects'."""
    where = codecheck.placed(binary, codecheck.placed_addresses(binary), masks.size)
    linked = codecheck.section_bytes(binary, where, masks.stored)
    wrong = codecheck.changed(masks.content, linked, masks.input_fixed)
    if wrong is not None:
        index = int(np.searchsorted(np.cumsum(masks.stored), wrong, side="right"))
        section = link.sections[index]
        what = f"{section.name} of {section.object}"
        raise CodeChanged(f"{link.artefact}: the linker rewrote {what} beyond its relocations")
    return Code(
        size=masks.size, stored=masks.stored, content=linked, fixed=masks.fixed,
        functions=codecheck.symbol_rows(binary, where, masks.size),
        variables=codecheck.symbol_rows(binary, where, masks.size, elf.STT_OBJECT),
    )  # fmt: skip
