"""From a recorded link to a captured one: self-contained, replayed, editable, with its identity proved.

The proof has three links. (1) The recorded command, replayed on the captured files alone, gives the artefact that
the build made, byte for byte: nothing is missing from the capture. (2) The same with a unique symbol on every
section gives the same loaded contents: the edit is harmless, and the symbols tell in which order the linker placed
the sections. (3) Linked with that order asked for explicitly, identity has the same order and the objects' own
bytes outside relocations: the means of ordering is harmless too.  Seeds are then compared with identity.  (1) and (2)
are linked at once where there are jobs for both: of a large program a link takes long, and so does reading the
objects' own bytes, which happens while (3) is linked.

Where a linker's map tells the order beforehand, (3) is linked at once and must load what the artefact loads, which is
(2) as well.  And where nothing of the capture is kept (`layoutrand exec`), the map is that of the build's own link, and
stands for (1) as far as the program that is loaded goes.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from layoutrand.cache.capture_record import ROOT, CapturedLink
from layoutrand.capture import objects
from layoutrand.capture.capture_warnings import WholeObjects
from layoutrand.capture.collect import (
    Draft,
    IngestSetup,
    Named,
    captured_name,
    collect,
    read_named,
    write_edited,
    write_tree,
)
from layoutrand.capture.foresight import foreseen, foretold, mapped
from layoutrand.capture.go_link import ingest_go
from layoutrand.capture.identity import (
    NOT_LOADED_CODE,
    prove_identity,
    refuse_spread,
)
from layoutrand.capture.linked_files import compilers_of
from layoutrand.capture.records import LinkRecord
from layoutrand.capture.replay_proof import proved_replay
from layoutrand.capture.side_by_side import both
from layoutrand.errors import BuildError, CaptureFailed, FeatureUnsupported, NotCompiledHere
from layoutrand.layout.factors import LINK_ORDER, LINKER_SHUFFLE, places_data
from layoutrand.link import codecheck, lto
from layoutrand.link.code import Code
from layoutrand.link.lto_division import require_factors
from layoutrand.linkers import linkline
from layoutrand.objects import elf
from layoutrand.objects.kinds import is_function_section
from layoutrand.platform.disk import cache_errors, remove_tree, sha256_bytes


def ingest(record: LinkRecord, setup: IngestSetup) -> tuple[CapturedLink, Code]:
    """Capture one recorded link into the setup's directory and prove it; also its code, which is written there, too."""
    if setup.linker.own_objects:
        return ingest_go(record, setup)
    _refuse_unsupported(record, setup)
    named = read_named(record, setup)
    if not setup.kept and (done := _at_once(record, setup, named)):
        return done
    proved = foreseen(record, setup, named, partial(_describe, record, setup))
    draft = proved or collect(record, setup, named)
    require_factors(draft.lto, setup.factors, setup.artefact)
    if proved is None:
        write_tree(setup.base / "root", draft.files, setup.memory)
    link = _describe(record, setup, draft)
    found = _objects(record, setup, draft)
    if proved is None:
        built, marked = both(
            setup.beside,
            partial(proved_replay, setup, link, draft, lto.asking_nothing(record.words())),
            partial(_marked, setup, link, draft, found),
        )
        setup = replace(setup, built=built)
    else:
        try:
            if done := _as_foretold(setup, link, draft, found):
                return done
        except (BuildError, FeatureUnsupported):  # not as expected; what follows finds it out, and says what is wrong
            _remove(setup, "edited", "identity")
        marked = _marked(setup, link, draft, found)
    identity, chosen = _told(setup, link, marked.named, marked.probed)
    edited = marked.edited if len(chosen) == len(marked.named) else None
    link = _edit(setup, replace(link, identity=identity), draft, found, chosen, edited=edited)
    masks: list[Callable[[], codecheck.Masks]] = [partial(_masks, found, chosen)]
    del named, proved, draft, found, marked, chosen  # all that the link read: more memory than what follows needs
    return prove_identity(setup, link, partial(_once, masks))


def _at_once(record: LinkRecord, setup: IngestSetup, named: Named) -> tuple[CapturedLink, Code] | None:
    """The capture if identity alone proves it: by loading what the build's own link loads. None if that fails.

    No replay shows here that also what is not loaded, such as symbols and debugging information, would come out the
    same: that is for captures that are kept.
    """
    try:
        draft = mapped(record, setup, named)
        if draft is not None:
            require_factors(draft.lto, setup.factors, setup.artefact)
            found = _objects(record, setup, draft)
            if done := _as_foretold(setup, _describe(record, setup, draft), draft, found):
                return done
    except (BuildError, FeatureUnsupported):  # the long way finds it out, and says what is wrong
        pass
    _remove(setup, "edited", "identity", "root")
    return None


def _remove(setup: IngestSetup, *names: str) -> None:
    """What an attempt left; a link that failed leaves its directory."""
    for name in names:
        remove_tree(setup.base / name)


def _objects(record: LinkRecord, setup: IngestSetup, draft: Draft) -> list[objects.Object]:
    claims = draft.lto == "" and not setup.linker.generates_code and lto.uses_plugin(record.words())
    found = objects.objects(draft.files, draft.pulled, draft.units, claims=claims)
    _refuse_linker_sets(setup, found)
    return found


def _as_foretold(
    setup: IngestSetup, link: CapturedLink, draft: Draft, found: list[objects.Object]
) -> tuple[CapturedLink, Code] | None:
    """The capture in the order that a map tells; None if none does. Raises what shows that it was not so."""
    expected = foretold(setup, draft, found)
    if expected is None:
        return None
    marked = _edit(setup, replace(link, identity=expected[0]), draft, found, expected[1])
    return prove_identity(setup, marked, partial(_masks, found, expected[1]), as_built=True)


def _once(made: list[Callable[[], codecheck.Masks]]) -> codecheck.Masks:
    """What the one that is in the list gives; what it was made of is free then."""
    return made.pop()()


def _masks(found: Sequence[objects.Object], chosen: Sequence[objects.Candidate]) -> codecheck.Masks:
    return codecheck.masks([(found[c.object].elf, c.header, f"{c.section.name} of {c.section.object}") for c in chosen])


def _refuse_unsupported(record: LinkRecord, setup: IngestSetup) -> None:
    line = record.words()
    chosen = str(setup.toolbox.tools["ld"].path)
    if record.linker != chosen:
        raise CaptureFailed(
            f"{setup.artefact} was linked by {record.linker}, but toolchain {setup.toolbox.toolchain.name!r} "
            f"places functions with {chosen}. Remove the build's own choice of linker (-fuse-ld=...), or choose the "
            "toolchain of that linker"
        )
    scripts = linkline.user_scripts(line)
    if scripts and not setup.linker.by_script:
        raise FeatureUnsupported(
            f"{setup.artefact} is linked with a linker script of its own ({scripts[0]}); only with GNU ld can an order "
            "be put into it (toolchain 'gcc' or 'clang')"
        )
    folds = [word.text for word in line if word.option == "icf"]
    if LINK_ORDER in setup.factors and folds and folds[-1] != "none":
        raise FeatureUnsupported(
            f"{setup.artefact} is linked with --icf: which of several equal functions is kept depends on the order of "
            "the objects, so link-order cannot be verified where the linker folds identical code. Link without, or use "
            "module-order"
        )
    if any(word.option == "build-id" and word.text == "uuid" for word in line):
        raise FeatureUnsupported(
            f"{setup.artefact} is linked with --build-id=uuid, which makes every link another file; use --build-id=sha1"
        )


def _refuse_linker_sets(setup: IngestSetup, found: list[objects.Object]) -> None:
    """mold permutes also what a program walks through in order."""
    sets = objects.linker_sets(found) if LINKER_SHUFFLE in setup.factors else []
    if sets:
        raise FeatureUnsupported(
            f"{setup.artefact}: {LINKER_SHUFFLE} would change the order inside section {sets[0]}, a linker set that "
            f"the program may walk through (__start_{sets[0]} ... __stop_{sets[0]}), and so the program itself. "
            "Toolchains gcc, gcc-lld and gcc-gold leave such sets alone (function-order, data-order)"
        )


def _describe(record: LinkRecord, setup: IngestSetup, draft: Draft) -> CapturedLink:
    """The link line in terms of the captured files."""
    # -b binary makes symbols of the words by which files are named, and linker scripts place files by these words:
    # then the words must stay, and the directory too.
    scripts = linkline.user_scripts(draft.line)
    anywhere = not scripts and not any(word.option in ("b", "format") for word in draft.line)
    inside = linkline.inside(record.cwd, setup.place.tree)
    output = linkline.output(record.argv)
    if not anywhere or output.startswith("/") or ".." in output.split("/"):
        output = posixpath.basename(output)
    keeping = linkline.replayable(draft.line, keep_symbols=True, plugin=bool(draft.lto), strips=setup.linker.strips)
    return CapturedLink(
        artefact=setup.artefact,
        linker=setup.linker.name,
        output=output,
        argv=tuple(_relocated(record, setup, draft, keeping, anywhere=anywhere)),
        replay_argv=tuple(_relocated(record, setup, draft, list(draft.line), anywhere=anywhere)),
        cwd="" if anywhere else "_build" if inside is None else f"_build/{inside}",
        environment=dict(record.environment),
        files={name: setup.memory.sha256(data) for name, data in draft.files.items()},
        edited={},
        members=tuple(sorted(draft.pulled)),
        sections=(),
        identity=(),
        other_sizes={},
        script=draft.script,
        users_script=draft.users_script,
        moves={},
        code_sha256="",
        original_sha256=sha256_bytes(setup.built),
        warnings=(),
        lto=draft.lto,
        archives=setup.archives,
    )


def _relocated(
    record: LinkRecord, setup: IngestSetup, draft: Draft, line: list[linkline.Word], *, anywhere: bool
) -> list[str]:
    """Arguments whose paths are those of the capture; unless ``anywhere``, relative ones in the build stay."""
    root = linkline.sysroot(line)  # below which absolute paths in linker scripts lie, as in libc.so
    below = f"/{captured_name(record.absolute(root), setup.place, 0)}" if root else ""
    arguments: list[str] = [f"--sysroot={ROOT}{below}"]
    if setup.linker.needs_needed:  # lld resolves symbols without the libraries that libraries need
        arguments += [f"-rpath-link={ROOT}/{folder}" for folder in draft.library_directories()]
    for word in linkline.without_sysroot(line):
        if word.kind not in ("input", "file", "directory"):
            arguments += word.argv()
            continue
        path = record.absolute(word.text)
        stays = not anywhere and not word.text.startswith("/") and linkline.inside(path, setup.place.tree) is not None
        name = draft.names.get(path) or captured_name(path, setup.place, 0)
        arguments += word.argv(None if stays else f"{ROOT}/{name}")
    return arguments


@dataclass(frozen=True)
class _Marked:
    """The sections that may be placed, and the file that a link gives with unique symbols on them, but no order.

    ``edited`` has the SHA-256 of each file with these symbols, where layouts link the same files if all sections are
    in the output: then they are kept for that.
    """

    named: list[objects.Candidate]
    probed: bytes
    edited: dict[str, str] | None


def _marked(setup: IngestSetup, link: CapturedLink, draft: Draft, found: list[objects.Object]) -> _Marked:
    named = objects.candidates(found, data=places_data(setup.factors), reserved=draft.reserved, archives=setup.archives)
    marked = objects.edited_files(draft.files, found, named, rename=False)
    probe = setup.base / "probe"
    edited = write_edited(probe, marked, setup.base / "root", draft.files)
    done, probed = setup.link(link, probe.name)
    if _renames(setup):
        remove_tree(probe)
    else:
        with cache_errors("write", probe):
            probe.rename(setup.base / "edited")
    if done.returncode != 0:
        raise CaptureFailed(f"{link.artefact}: the link fails once sections are marked: {done.text().strip()[-2000:]}")
    return _Marked(named, probed, None if _renames(setup) else edited)


def _renames(setup: IngestSetup) -> bool:
    """Whether layouts link sections under new names."""
    return setup.linker.renames and LINK_ORDER not in setup.factors


def _told(
    setup: IngestSetup, link: CapturedLink, named: list[objects.Candidate], probed: bytes
) -> tuple[tuple[int, ...], list[objects.Candidate]]:
    """Which sections are in the output, and in which order, as the link with marks tells; they change nothing else."""
    binary = elf.read(probed, name=f"{link.artefact} (probe)")
    original = elf.read(setup.built, name=link.artefact)
    if elf.loaded_content(binary, skip=NOT_LOADED_CODE) != elf.loaded_content(original, skip=NOT_LOADED_CODE):
        raise CaptureFailed(f"{link.artefact}: marking its sections changed what is loaded; please report this")
    number, address, section = codecheck.placed_addresses(binary)
    if LINK_ORDER in setup.factors:  # another order of objects may choose other copies: all stay marked
        return tuple(codecheck.placed_order(number, address).tolist()), named
    # Identical code folding leaves several symbols at one address: the first in link order is the one that is placed.
    by_number = np.argsort(number)
    kept = by_number[np.unique(address[by_number], return_index=True)[1]]
    number, address, section = number[kept], address[kept], section[kept]
    refuse_spread(link.artefact, binary, [named[n].section.kind for n in number.tolist()], section.tolist())
    chosen = objects.renumber(named, frozenset(number.tolist()))
    new_index = {old: new for new, old in enumerate(sorted(number.tolist()))}
    order = codecheck.placed_order(number, address).tolist()
    return tuple(new_index[old] for old in order), chosen


def _kept(
    setup: IngestSetup, link: CapturedLink, draft: Draft, found: list[objects.Object], chosen: list[objects.Candidate]
) -> list[objects.Candidate]:
    """The sections, those pinned that the build's own ordering file names where the system wants them kept there."""
    if setup.ordered == "move":
        return chosen
    if not setup.linker.orders_symbols:
        raise FeatureUnsupported(
            f'{link.artefact}: ordered = "keep" is about --symbol-ordering-file of lld, and {setup.linker.name} links '
            "it. What a linker script of the build's names keeps its place in any case"
        )
    files = linkline.ordering_files(linkline.words(link.argv))
    if not files:
        return chosen
    inside = files[-1].removeprefix(f"{ROOT}/")
    name = inside if inside != files[-1] else posixpath.normpath(posixpath.join(link.cwd, inside))
    lines = draft.files[name].decode("utf-8", "surrogateescape").split("\n")
    names = frozenset(line.strip() for line in lines) - {""}  # which is what sections' own symbols are called
    return objects.pinned_by_symbols(found, chosen, names)


def _edit(
    setup: IngestSetup,
    link: CapturedLink,
    draft: Draft,
    found: list[objects.Object],
    chosen: list[objects.Candidate],
    *,
    edited: dict[str, str] | None = None,
) -> CapturedLink:
    """Write the tree that every layout links, sections named and marked, unless it is there already (``edited``)."""
    if edited is None:
        _remove(setup, "edited")
        changed = objects.edited_files(draft.files, found, chosen, rename=_renames(setup))
        edited = write_edited(setup.base / "edited", changed, setup.base / "root", draft.files)
    lumped = objects.lumped(found, chosen)
    movable = [candidate.section for candidate in chosen if not candidate.section.pinned]
    if not movable:
        raise CaptureFailed(
            f"{link.artefact}: none of its code can be placed: its objects come from outside the build, or are "
            "stripped or prebuilt. Is the source tree clean (make clean), does the build use $CC, and does it keep its "
            "objects within the source (nim: --nimcache:nimcache)?"
        )
    if not any(section.group == "" and is_function_section(section.name) for section in movable):
        raise NotCompiledHere(
            f"{link.artefact}: no object of it has function sections: none was compiled through the wrappers, or a "
            "flag takes them away (-fno-function-sections in cflags, clang's -fno-unique-section-names): drop it. "
            "A compiler that the build calls by its absolute path, or by distcc, which has it called elsewhere: call "
            "it by its name, as in CC=gcc (with distcc's own directory, such as /usr/lib/distcc, first on PATH). One "
            "that keeps its path, or has no wrapper, such as gdc or gccgo, needs -ffunction-sections added to its "
            "flags (ocamlopt: -function-sections, for dune OCAMLPARAM='_,function-sections=1' before the command; ghc: "
            "-split-sections). Or is the source tree not clean of old objects (make clean)?",
            compilers=compilers_of(item.elf for item in found if item.elf.source_name()),  # assemblers give none
        )
    kept = _kept(setup, link, draft, found, chosen)
    warnings = [str(WholeObjects(tuple(lumped)))] if lumped else []
    # A linker that shuffles by itself takes what lies in archives along.
    if LINKER_SHUFFLE not in setup.factors and (staying := objects.staying(found, chosen)) is not None:
        warnings.append(str(staying))
    # Ours stands in for the build's own script, with the order in it.
    argv = tuple(linkline.without_scripts(link.argv)) if link.users_script else link.argv
    moves = {item.name: f"{ROOT}/{item.file}" for item in found if item.ours and item.member is None}
    of = found[chosen[0].object].elf
    return replace(
        link,
        machine=of.machine,
        machine_flags=of.flags,
        edited=edited,
        sections=tuple(candidate.section for candidate in kept),
        ordered="move" if kept == chosen else "keep",
        warnings=tuple(warnings),
        argv=argv,
        moves=moves if LINK_ORDER in setup.factors else {},
    )
