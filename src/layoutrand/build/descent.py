"""What a finished artefact has in common with the link it comes from, once strip, objcopy, a packer or a signer had it.

Only contents count here: names and times prove nothing. The weakest claim, `NOT_COMPARABLE`, is none at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from layoutrand.build.claims import AS_LINKED, CODE, LOADED, NOT_COMPARABLE
from layoutrand.build.loaded_programs import LoadedSections, loaded_sections
from layoutrand.errors import FeatureUnsupported
from layoutrand.objects import elf
from layoutrand.platform.disk import sha256_bytes

_HASH_OF_THE_FILE: Final = frozenset({".note.gnu.build-id"})


@dataclass(frozen=True)
class Traces:
    """What is kept of a linked file to know its descendants by.

    ``sha256`` of the file; ``loaded`` a row (name, address, size, SHA-256) for each loaded section; ``code`` the bytes
    of the largest executable section.
    """

    sha256: str
    loaded: LoadedSections
    code: bytes


@dataclass(frozen=True)
class Marks:
    """What files that descend from one link have in common, as short as can be: "" for what a file does not have.

    ``build_id`` is the note's content in hexadecimal digits; ``code`` the SHA-256 of the largest executable section.
    """

    build_id: str
    code: str


def marks(binary: elf.Elf) -> Marks:
    """The marks of a file."""
    noted = [index for index, name in enumerate(binary.section_names) if name in _HASH_OF_THE_FILE]
    code = max(_executable(binary), key=len, default=b"")
    return Marks(binary.content(noted[0]).hex() if noted else "", sha256_bytes(code) if code else "")


def traces(binary: elf.Elf) -> Traces:
    """The traces of a linked file."""
    return Traces(
        sha256_bytes(binary.data),
        loaded_sections(binary, skip=_HASH_OF_THE_FILE),
        max(_executable(binary), key=len, default=b""),
    )


def common(artefact: bytes, linked: Sequence[Traces]) -> list[str]:
    """For each of the linked files, the strongest claim that holds between it and the artefact."""
    digest = sha256_bytes(artefact)
    loaded: LoadedSections = ()
    parts: list[bytes] = []
    try:
        binary = elf.read(artefact, name="the artefact")
        loaded, parts = loaded_sections(binary, skip=_HASH_OF_THE_FILE), list(_executable(binary))
    except FeatureUnsupported:  # no ELF file any more: the code may still be in it, byte for byte
        pass
    claims = []
    for each in linked:
        if each.sha256 == digest:
            claims.append(AS_LINKED)
        elif loaded and loaded == each.loaded:
            claims.append(LOADED)
        elif each.code and (_no_other_code(parts, each) if parts else each.code in artefact):
            claims.append(CODE)
        else:
            claims.append(NOT_COMPARABLE)
    return claims


def _no_other_code(parts: Sequence[bytes], linked: Traces) -> bool:
    """Whether executable sections hold the link's code and nothing beside it.

    BOLT keeps what it read as `.bolt.org.text`, and has the program execute what it wrote anew.
    """
    known = {digest for *_, digest in linked.loaded}
    return linked.code in parts and all(not part or sha256_bytes(part) in known for part in parts)


def _executable(binary: elf.Elf) -> Iterator[bytes]:
    for index in np.flatnonzero((binary.sections["flags"] & elf.SHF_EXECINSTR) != 0).tolist():
        yield binary.content(index)
