"""Links as the linker wrapper recorded them."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from layoutrand.core import linkline


@dataclass(frozen=True)
class Record:
    """One recorded link; paths in ``argv`` are as the linker saw them, relative to ``cwd``."""

    path: Path
    linker: str
    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    at_ns: int

    def output(self) -> str:
        """Absolute path of what the link wrote."""
        return linkline.absolute(linkline.output(self.argv), self.cwd)

    def inputs(self) -> dict[str, bytes]:
        """Content of each file named on the command line, by its absolute path, as it was when the link began."""
        contents = {}
        with tarfile.open(self.path / "inputs.tar", encoding="utf-8", errors="surrogateescape") as archive:
            for member in archive:
                file = archive.extractfile(member)
                if file is not None:
                    contents[linkline.absolute(member.name, self.cwd)] = file.read()
        return contents


def read_records(folder: Path) -> list[Record]:
    """All completed records, oldest first; one that is not complete belongs to a link that was killed half-way."""
    complete = [path for path in folder.iterdir() if (path / "complete").exists()]
    return sorted((read_record(path) for path in complete), key=lambda record: record.at_ns)


def read_record(path: Path) -> Record:
    """One completed record."""
    pairs = [pair.partition("=") for pair in _strings(path / "environment") if "=" in pair]
    return Record(
        path=path,
        linker=os.fsdecode((path / "linker").read_bytes()),
        argv=tuple(_strings(path / "argv")),
        cwd=os.fsdecode((path / "cwd").read_bytes().removesuffix(b"\n")),
        environment={name: value for name, _, value in pairs},
        at_ns=(path / "complete").stat().st_mtime_ns,
    )


def _strings(path: Path) -> list[str]:
    return [os.fsdecode(part) for part in path.read_bytes().split(b"\0")[:-1]]
