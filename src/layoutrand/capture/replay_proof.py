"""The first proof of a capture: its files alone give the artefact that the build made, byte for byte."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from layoutrand.cache.capture_record import ROOT, CapturedLink
from layoutrand.capture.collect import TEMPORARY, Draft, IngestSetup
from layoutrand.capture.identity import first_difference, same_but_for_numbers
from layoutrand.errors import CaptureFailed, WorkedOnAfterLink
from layoutrand.link import lto
from layoutrand.platform.disk import cache_errors, link_or_copy, remove_tree
from layoutrand.platform.process import Completed


def _under_own_names(setup: IngestSetup, link: CapturedLink, draft: Draft, folder: Path) -> CapturedLink:
    """The link to replay, its temporary objects in ``folder`` under the names that the compiler driver drew for them.

    GNU ld writes such a name into the symbol table for an object that names no source, as assembler's do not. The
    capture calls them by number all the same, or no two captures of one source would be alike.
    """
    drawn: dict[str, str] = {}
    for path, name in draft.names.items():
        if name.startswith(TEMPORARY) and not name.startswith(f"{lto.FOLDER}/"):
            drawn.setdefault(name, posixpath.basename(path))
    own = {name: folder / str(number) / called for number, (name, called) in enumerate(drawn.items())}
    with cache_errors("write", folder):
        for name, target in own.items():
            target.parent.mkdir(parents=True)
            link_or_copy(setup.base / "root" / name, target)
    words = {f"{ROOT}/{name}": str(target) for name, target in own.items()}
    return replace(link, replay_argv=tuple(words.get(word, word) for word in link.replay_argv))


def proved_replay(setup: IngestSetup, link: CapturedLink, draft: Draft, plugin: Sequence[str]) -> bytes:
    """The captured files alone give the artefact that the build made, byte for byte; what they give without a plugin.

    With lld's link-time optimisation the table of local symbols may come out in another order, and with it the build
    id: there all that is loaded besides must be equal. Names of symbols may have other numbers where the linker counts
    in them what it has read: gcc's ``plugin``, without which layouts are linked but for link-time optimisation, adds to
    what it reads. Where what has such names comes in another order, too, the artefact must be what a replay with the
    plugin gives.
    """
    done, replayed = _replayed(setup, link, draft)
    if done.returncode != 0:
        raise CaptureFailed(f"{link.artefact}: the captured link fails by itself: {done.text().strip()[-2000:]}")
    if same_but_for_numbers(setup.built, replayed, setup.linker.numbered):
        return setup.built
    numbered = setup.linker.numbered is not None and setup.linker.numbered.search(setup.built) is not None
    if numbered and plugin and not link.lto and len(replayed) == len(setup.built):
        with_plugin = replace(link, replay_argv=(*link.replay_argv, *plugin))
        if _replayed(setup, with_plugin, draft)[1] == setup.built:
            return replayed
    if link.lto:
        where = first_difference(setup.built, replayed, link.artefact) if setup.linker.generates_code else "the file"
        if where:
            raise CaptureFailed(
                f"{link.artefact}: with the code that link-time optimisation made kept, its link gives another file "
                f"than the build left: {where} differs. Is it stripped or changed after the link? Then leave that step "
                "out of build.commands. Otherwise build without -flto, and please report this"
            )
        return setup.built
    raise WorkedOnAfterLink(
        f"{link.artefact}: replaying its link gives another file than the build left "
        f"({len(replayed)} and {len(setup.built)} bytes). Something changed the file after the link (strip, "
        "objcopy, chrpath, signing?): leave that step out of build.commands, name the file as it was linked, or "
        "use --mode rebuild, which does that step for every seed"
    )


def _replayed(setup: IngestSetup, link: CapturedLink, draft: Draft) -> tuple[Completed, bytes]:
    folder = setup.base / "own-names"
    done, replayed = setup.link(_under_own_names(setup, link, draft, folder), "root", replay=True)
    remove_tree(folder)
    return done, replayed
