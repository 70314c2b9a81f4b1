"""Which of a build's links made an artefact: the one whose replay gives it, byte for byte."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.capture.collect import IngestSetup
from layoutrand.capture.go_records import NOTHING_LINKED
from layoutrand.capture.ingest import ingest
from layoutrand.capture.linked_files import likeliest_first
from layoutrand.capture.records import LinkRecord
from layoutrand.errors import (
    BuildError,
    CaptureFailed,
    LayoutrandError,
    LinkStopped,
    NotCompiledHere,
    NothingLinked,
    WorkedOnAfterLink,
)
from layoutrand.linkers import linkline
from layoutrand.platform.disk import remove_tree
from layoutrand.platform.regular_file import PROGRAM, content_of_regular
from layoutrand.text.name_lists import several_paths

NO_LINK_SEEN: Final = (
    "no link of this build went through layoutrand's wrappers. Either the source tree holds an earlier build, so that "
    "nothing was linked (make clean, or name it in build.exclude; with build.in_place let build.commands begin with "
    "make clean); or the build calls its compiler or linker by an absolute path or changes PATH (let it use $CC, $CXX "
    "and $LD, or plain gcc, g++ and ld; in place of gnatmake: gcc -c, gnatbind, gnatlink --GCC=gcc)"
)
"""The error where a build that is no Go's shows no link."""

_MOST_GUESSES: Final = 20


def _named(records: Sequence[LinkRecord], tree: Path, artefact: str) -> list[LinkRecord]:
    """Links that should have made the artefact: written to its path, then those under its name, newest first."""
    real = os.path.realpath(tree / artefact)
    wanted = {linkline.absolute(artefact, str(tree)), real}
    exact = [record for record in reversed(records) if record.output() in wanted]
    names = other_names(artefact) | other_names(real)  # libx.so.1 is a link to libx.so.1.0.3, linked elsewhere
    return exact + [r for r in reversed(records) if r not in exact and os.path.basename(r.output()) in names]


def other_names(artefact: str) -> set[str]:
    """File names under which builds link what then becomes the artefact, its own among them."""
    name = os.path.basename(artefact)
    spec = re.sub(r"_(?:base|peak)\.[A-Za-z0-9._-]+$", "", name)  # SPEC CPU links STEM and copies it
    return {name, f"lt-{name}", f"{name}T", f"{name}.tmp", f"{name}.new", re.sub(r"\.so[.0-9]*$", ".so", name), spec}


def _guessed(records: Sequence[LinkRecord], built: bytes) -> tuple[list[LinkRecord], list[LinkRecord]]:
    """Links whose output was copied or linked to where the artefact is; and those whose output was perhaps moved there.

    Both likeliest first. What the first of them left is the artefact byte for byte.
    """
    copied, gone = [], []
    for record in reversed(records):
        path = Path(record.output())
        if not path.exists():
            gone.append(record)
        elif path.stat().st_size == len(built) and content_of_regular(path, largest=PROGRAM) == built:
            copied.append(record)
    return copied[:_MOST_GUESSES], gone[:_MOST_GUESSES]


def captured_link(records: Sequence[LinkRecord], setup: IngestSetup, prefix: str, log: Path) -> CapturedLink:
    """Capture the link whose replay gives the artefact; if none does, the likeliest one's error stands.

    The likeliest are links under its name, then those whose output it is a copy of, then those whose output is gone.
    """
    if not records and setup.linker.own_objects:
        raise NothingLinked(f"{prefix}{NOTHING_LINKED}", log=log, cause=NOTHING_LINKED)
    if not records:
        raise NothingLinked(f"{prefix}{NO_LINK_SEEN}", log=log, cause=NO_LINK_SEEN)
    named = _named(records, Path(setup.place.tree), setup.artefact)
    copied, gone = _guessed(records, setup.built)
    first: LayoutrandError | None = None
    for record in [*named, *(record for record in copied if record not in named)]:
        try:
            return ingest(record, setup)[0]
        except BuildError as error:
            remove_tree(setup.base)
            first = first or error
        except LayoutrandError as error:
            remove_tree(setup.base)
            if record in named:
                raise
            first = first or error
    perhaps = ""
    for record in [record for record in gone if record not in named]:
        try:
            return ingest(record, setup)[0]
        except LinkStopped:
            raise  # no other link is looked at any more
        except LayoutrandError as error:  # that it gives another file says no more than that it is not the one
            remove_tree(setup.base)
            if not perhaps and not isinstance(error, WorkedOnAfterLink):
                inside = linkline.inside(record.output(), setup.place.tree) or record.output()
                perhaps = f" If it was linked as {inside} and moved: {error}"
    if isinstance(first, NotCompiledHere):
        raise NotCompiledHere(prefix + first.message, log=log, cause=first.cause, compilers=first.compilers) from first
    if isinstance(first, BuildError):
        kind = type(first) if isinstance(first, CaptureFailed) else CaptureFailed
        raise kind(prefix + first.message, log=log, cause=first.cause) from first
    if first is not None:
        raise first
    made = sorted({linkline.inside(record.output(), setup.place.tree) or record.output() for record in records})
    seen = likeliest_first(made, setup.artefact)
    stem = os.path.basename(setup.artefact).split(".")[0]
    if alike := [path for path in seen if os.path.basename(path).split(".")[0] == stem]:  # as prog.elf and prog.bin
        again = "use --mode rebuild, which does that for every seed"
        perhaps += f" If a step of the build makes it from {alike[0]}, {again}."
    cause = (
        f"{setup.artefact} was never linked through layoutrand's wrappers; these were: "
        f"{several_paths(seen)}. Is it in build.artefacts under the name it was "
        f"linked with, and is the source tree clean (make clean)?{perhaps}"
    )
    raise CaptureFailed(f"{prefix}{cause}", log=log, cause=cause)
