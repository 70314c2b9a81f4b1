"""Which file of a build is which of Go's recorded links: go moves what its linker wrote, after it has named it anew.

Both have a build id: what the linker was given, and in the file the same with another last part, the hash of the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from layoutrand.capture.linked_files import is_elf_file
from layoutrand.capture.records import LinkRecord, read_records
from layoutrand.errors import FeatureUnsupported
from layoutrand.objects import elf
from layoutrand.platform.regular_file import PROGRAM, content_of_regular

BUILD_ID: Final = "-buildid="
GNU_NOTE: Final = ".note.gnu.build-id"
NOTHING_LINKED: Final = (
    "no link of Go's own linker was recorded. Either go found the program up to date (it is in the source: remove it "
    "there, or name it in build.exclude), or the build gives -toolexec or GOFLAGS of its own, or it uses gccgo, which "
    "has gcc's linker and is not supported by toolchain 'go'"
)
_NOTE: Final = ".note.go.buildid"
_HEADER: Final = 12
_OWNER: Final = 4  # bytes of the name, "Go" or "GNU", with what fills them up


def build_records(folder: Path, tree: Path) -> list[LinkRecord]:
    """All completed records of a build in ``tree``; those of Go's links as if they had written what go left there."""
    records = read_records(folder)
    if not any(_is_go(record) for record in records):
        return records
    left: dict[str, list[Path]] = {}
    for path in _programs(tree):
        if found := _of_file(path):
            left.setdefault(_begin(found), []).append(path)
    told = []
    for record in records:
        paths = left.get(_begin(given_id(record.argv)), []) if _is_go(record) else []
        told += [replace(record, argv=("-o", str(path), *_without_output(record.argv))) for path in paths] or [record]
    return told


def given_id(argv: Sequence[str]) -> str:
    """The build id that the linker was given, "" if none."""
    given = [word.removeprefix(BUILD_ID) for word in argv if word.startswith(BUILD_ID)]
    return given[-1] if given else ""


def note(binary: elf.Elf, name: str) -> bytes:
    """What a note of a program says; nothing if it has none of that name."""
    if name not in binary.section_names:
        return b""
    content = binary.content(binary.section_names.index(name))
    size = int.from_bytes(content[4:8], "little")
    begin = _HEADER + _OWNER
    return content[begin : begin + size]


def own_id(binary: elf.Elf) -> str:
    """Go's build id of a program, "" for one without."""
    return note(binary, _NOTE).decode("ascii", "replace")


def _is_go(record: LinkRecord) -> bool:
    return os.path.basename(record.linker) == "link" and any(word.startswith("-importcfg") for word in record.argv)


def _begin(build_id: str) -> str:
    """The id without its last part; what is no id in parts is nobody's."""
    return build_id.rpartition("/")[0] or "\0"


def _without_output(argv: Sequence[str]) -> Iterator[str]:
    words = iter(argv)
    for word in words:
        if word == "-o":
            next(words, None)
        else:
            yield word


def _programs(tree: Path) -> Iterator[Path]:
    for folder, below, names in os.walk(tree):
        below.sort()
        yield from (path for name in sorted(names) if is_elf_file(path := Path(folder, name)) and not path.is_symlink())


def _of_file(path: Path) -> str:
    try:
        return own_id(elf.read(content_of_regular(path, largest=PROGRAM), name=str(path)))
    except FeatureUnsupported:  # of another machine
        return ""
