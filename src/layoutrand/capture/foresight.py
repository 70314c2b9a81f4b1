"""The capture of a link whose files are foreseen, so that no link is needed just to learn of them.

A build's programs are linked with much the same libraries.  What the last such link opened, and what the line's own
directories hold, is put below the root; the replay there is the proof as ever (`layoutrand.capture.ingest`): it must
give the artefact byte for byte.  What it opened is captured.  Where anything is not as foreseen, the link is repeated
in its place as if nothing had been.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.capture.collect import (
    Draft,
    IngestSetup,
    Named,
    captured_name,
    drafted,
    heard,
    read_input,
    whole_archive,
    write_tree,
)
from layoutrand.capture.native_code import unit_names
from layoutrand.capture.objects import Candidate, Object, candidates, renumber
from layoutrand.capture.records import LinkRecord
from layoutrand.layout.factors import LINK_ORDER, LINKER_SHUFFLE, places_data
from layoutrand.linkers import linkline
from layoutrand.objects import archive
from layoutrand.platform.disk import remove_tree

MAP_BELOW: Final = 16 << 20
"""Bytes of input: to write and read the map of a large program takes longer than another link."""

_ARCHIVES = (archive.MAGIC, archive.THIN_MAGIC)
_STATIC = ("static", "Bstatic", "dn", "non_shared")


def foreseen(
    record: LinkRecord, setup: IngestSetup, named: Named, describe: Callable[[Draft], CapturedLink]
) -> Draft | None:
    """The draft of the link, its files written below the root and its replay proved; None if that did not work out.

    ``describe`` makes the captured link of a draft.
    """
    guess = _guess(record, setup, named)
    if guess is None:
        return None
    write_tree(setup.base / "root", guess.files, setup.memory)
    reports, placed = setup.base / "dependencies", setup.base / "map"
    talk = setup.linker.talkative(str(reports))
    if _small(named):
        talk.append(f"-Map={placed}")
    link = describe(guess)
    done, data = setup.link(replace(link, replay_argv=(*talk, *link.replay_argv)), "root", replay=True)
    if done.returncode == 0 and data == setup.built:
        said, opened = heard(setup.linker, done, reports)
        draft = _draft(record, setup, named, guess, said, opened)
        if draft is not None:
            text = placed.read_bytes().decode("utf-8", "surrogateescape") if placed.exists() else ""
            return replace(draft, map=text, called=partial(_below, f"{setup.base / 'root'}/"))
    remove_tree(setup.base / "root")
    return None


def mapped(record: LinkRecord, setup: IngestSetup, named: Named) -> Draft | None:
    """The draft of a link as the map of the build's own link tells it, its files written; None if it does not tell.

    Nothing is proved yet: a link of identity has to load what the artefact loads.
    """
    if places_data(setup.factors) or not _small(named):  # merged constants are not as built once they are marked
        return None
    text = record.map()
    script = setup.memory.script(named.line) if setup.linker.by_script else ""
    guess = _guess(record, setup, named) if text and script is not None else None
    if guess is None:
        return None
    pulled = setup.map.members(text, partial(_captured, guess, record))
    if pulled is None or any(
        guess.files[name][:8] in _ARCHIVES
        for name in guess.files.keys() - named.files.keys()
        if name.startswith("_build/")
    ):
        return None  # where such an archive stands among the others, only a replay tells
    assert script is not None
    write_tree(setup.base / "root", guess.files, setup.memory)
    units = unit_names(named.replayed, guess.files)
    return replace(guess, pulled=pulled, script=script, units=units, map=text, called=partial(_captured, guess, record))


def _small(named: Named) -> bool:
    return sum(len(data) for data in named.files.values()) <= MAP_BELOW


def _captured(guess: Draft, record: LinkRecord, path: str) -> str | None:
    """What a file of the map of the build's own link is called in the capture; None if it is not there."""
    return guess.names.get(record.absolute(path))


def _guess(record: LinkRecord, setup: IngestSetup, named: Named) -> Draft | None:
    """The files that the link has probably read; None where that cannot be said."""
    expected = setup.memory.foresee(named.line)
    if expected is None or not _plain(setup, named):
        return None
    files, names = dict(named.files), dict(named.names)
    for path in (*expected, *_found(record, named)):
        full = record.absolute(path)
        data = None if full in names else read_input(path, record.cwd, setup)
        if data is not None:
            name = names.setdefault(full, captured_name(full, setup.place, len(names)))
            files.setdefault(name, whole_archive(data, full))
    return Draft.of_files(named, files, names)


def foretold(
    setup: IngestSetup, draft: Draft, found: Sequence[Object]
) -> tuple[tuple[int, ...], list[Candidate]] | None:
    """Identity order and the sections in it, numbered, as the map tells them; None if it does not tell.

    A link in that order must prove it: it has to load what the artefact loads.
    """
    if not draft.map or not set(setup.factors).isdisjoint((LINK_ORDER, LINKER_SHUFFLE)):
        return None
    if any(word.option == "icf" for word in draft.line):  # which copy of equal code is kept, the map does not tell
        return None
    owners = {
        (item.file if item.member is None else f"{item.file}({item.member_name})"): n for n, item in enumerate(found)
    }
    if len(owners) < len(found):
        return None
    named = candidates(list(found), data=places_data(setup.factors), reserved=draft.reserved, archives=setup.archives)
    waiting: dict[tuple[int, str], list[Candidate]] = {}
    for candidate in named:
        waiting.setdefault((candidate.object, candidate.section.name), []).append(candidate)
    rows = setup.map.sections(draft.map, draft.called)
    told = [(owners[owner], name) for owner, name in rows if owner in owners]
    counts = Counter(key for key in told if key in waiting)
    if any(count != len(waiting[key]) for key, count in counts.items()):  # one of two that have one name is gone
        return None
    unpulled = {n for owner, n in owners.items() if found[n].member is not None and owner not in draft.pulled}
    absent = [(key, those) for key, those in waiting.items() if key not in counts and key[0] not in unpulled]
    if not _accounted(setup, draft, absent, owners):
        return None
    order = [waiting[key].pop(0).section.index for key in told if key in waiting]
    chosen = renumber(named, frozenset(order))
    new_index = {old: new for new, old in enumerate(sorted(order))}
    return tuple(new_index[old] for old in order), chosen


def _accounted(
    setup: IngestSetup,
    draft: Draft,
    absent: Sequence[tuple[tuple[int, str], list[Candidate]]],
    owners: Mapping[str, int],
) -> bool:
    """Whether sections that were not placed by the map are known to be left out, and not just told in an odd way."""
    if any(character.isspace() for (_owner, name), _those in absent for character in name):
        return False
    if any("\n" in path for path in draft.names):
        return False
    named = setup.map.mentioned(draft.map, draft.called)
    if named is not None:
        known = {(owners[owner], name) for owner, name in named if owner in owners}
        return all(key in known or not any(c.section.size for c in those) for key, those in absent)
    collected = any(word.option == "gc-sections" for word in draft.line)
    return collected or all(c.section.group or not c.section.size for _key, those in absent for c in those)


def _below(root: str, path: str) -> str | None:
    """What a file of the map of a replay is called in the capture."""
    return path[len(root) :] if path.startswith(root) else None


def _plain(setup: IngestSetup, named: Named) -> bool:
    """Whether the line's own words stand for files, whatever the directory, and no code is generated."""
    odd = linkline.user_scripts(named.line) or any(word.option in ("b", "format") for word in named.line)
    return setup.linker.map is not None and not odd and not named.replayed.division


def _found(record: LinkRecord, named: Named) -> Iterator[str]:
    """The files of the line's own directories that the linker would take for libraries of the line."""
    folders = dict.fromkeys(word.text for word in named.line if word.option in ("L", "library-path"))
    there = [folder for folder in folders if os.path.isdir(os.path.join(record.cwd, folder))]
    static = any(word.option in _STATIC for word in named.line)
    for text in dict.fromkeys(word.text for word in named.line if word.kind == "library"):
        for folder in there:
            calls = [text[1:]] if text.startswith(":") else [f"lib{text}.so", f"lib{text}.a"]
            found = [path for name in calls if os.path.isfile(os.path.join(record.cwd, path := f"{folder}/{name}"))]
            yield from found if static else found[:1]


def _draft(
    record: LinkRecord, setup: IngestSetup, named: Named, guess: Draft, said: str, opened: Iterable[str]
) -> Draft | None:
    """The draft with those files alone that the replay opened; None if it opened one from elsewhere."""
    root = str(setup.base / "root")
    paths: Mapping[str, str] = {name: path for path, name in guess.names.items()}
    files, names = dict(named.files), dict(named.names)
    for path in opened:
        name = linkline.inside(linkline.absolute(path, root), root)
        if name is None or name not in guess.files or (name.startswith("_temp/") and name not in named.files):
            return None
        files.setdefault(name, guess.files[name])
        names.setdefault(paths[name], name)
    spoken = {f"{root}/{name}": name for name in files}
    return drafted(record, setup, named, said, files, names, spoken)
