"""The artefact that a build left, or what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from layoutrand.capture.linked_files import left_in, likeliest_first, linked_with
from layoutrand.capture.records import LinkRecord
from layoutrand.errors import WrongArtefact
from layoutrand.objects import archive, elf
from layoutrand.platform.regular_file import PROGRAM, content_of_regular
from layoutrand.text.name_lists import several_paths


def artefact_of(
    tree: Path,
    artefact: str,
    log: Path,
    outputs: Sequence[str],
    *,
    whatever: bool = False,
    records: Sequence[LinkRecord] = (),
    left_out: Callable[[], str] = str,
) -> bytes:
    """The artefact that the build left; raises `WrongArtefact` if there is none, or no ELF file unless ``whatever``.

    ``outputs`` are what links of the build wrote: the message names those that are there.  ``records`` are these links,
    for what was linked with a static library.  ``left_out`` is what the build says it goes without, for one that linked
    nothing.
    """
    path = tree / artefact
    if not path.is_file():
        there = likeliest_first(left_in(outputs, tree), artefact)
        linked = f" It linked: {several_paths(there)}" if there else left_out()
        error = WrongArtefact(
            f"the build succeeded, but made no {artefact}; is build.artefacts right?{linked}", log=log
        )
        error.absent = artefact
        raise error
    data = content_of_regular(path, largest=PROGRAM)
    if not elf.is_elf(data) and not whatever:
        if data[:2] == b"#!":
            program = Path(artefact).parent / ".libs" / Path(artefact).name
            raise WrongArtefact(f"{artefact} is a script; libtool puts the program itself into {program}", log=log)
        if archive.is_archive(data):
            raise WrongArtefact(_static_library(tree, artefact, outputs, records), log=log)
        raise WrongArtefact(
            f"{artefact} is not an ELF file. If the build packs or converts a program into it, `layoutrand build "
            "--mode rebuild` lays out that program inside the build, once per seed",
            log=log,
        )
    return data


def _static_library(tree: Path, artefact: str, outputs: Sequence[str], records: Sequence[LinkRecord]) -> str:
    """That it cannot be laid out by itself, and what can in its place."""
    text = (
        f"{artefact} is a static library, whose functions are laid out in the programs that are linked with it: "
        "build.artefacts takes these"
    )
    if users := linked_with(records, artefact, tree):
        return f"{text}, here {several_paths(likeliest_first(users, artefact))}"
    there = likeliest_first(left_in(outputs, tree), artefact)
    return f"{text}. The build linked: {several_paths(there)}" if there else text
