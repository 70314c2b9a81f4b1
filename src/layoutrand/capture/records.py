"""Links as the linker wrapper recorded them."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from layoutrand.errors import CaptureFailed
from layoutrand.link import lto
from layoutrand.link.lto import Native
from layoutrand.link.lto_division import FULL, THIN
from layoutrand.linkers import linkline
from layoutrand.text.digits import whole_number

_NATIVE = "native"
_MOST_OBJECTS = 1_000_000
_DAMAGED = (tarfile.TarError, EOFError, ValueError, OverflowError)
_IN_PLACE = b"in place"
_COLUMNS = 3  # lld --why-extract: reference, extracted, symbol


@dataclass(frozen=True)
class LinkRecord:
    """One recorded link; paths in ``argv`` are as the linker saw them, relative to ``cwd``."""

    path: Path
    linker: str
    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    at_ns: int

    def words(self) -> list[linkline.Word]:
        """The link line in logical words."""
        return linkline.words(self.argv)

    def absolute(self, name: str) -> str:
        """What a file that the link line, the map or the linker names is called from anywhere."""
        return linkline.absolute(name, self.cwd)

    def output(self) -> str:
        """Absolute path of what the link wrote."""
        return self.absolute(linkline.output(self.argv))

    def inputs(self) -> dict[str, bytes]:
        """Content of each file named on the command line, by its absolute path, as it was when the link began.

        Nothing of a link that is laid out in place: it is not over yet, so its files are there.
        """
        contents: dict[str, bytes] = {}
        if (self.path / "complete").read_bytes() == _IN_PLACE:
            return contents
        kept = self.path / "inputs.tar"
        largest = kept.stat().st_size
        try:
            with tarfile.open(kept, "r:", encoding="utf-8", errors="surrogateescape") as archive:
                for member in archive:
                    if member.size > largest:
                        raise tarfile.ReadError(f"{member.name} is larger than the whole")
                    file = archive.extractfile(member)
                    if file is not None:
                        contents[self.absolute(member.name)] = file.read()
        except _DAMAGED as error:
            raise CaptureFailed(f"what was kept of a link ({kept}) is damaged: {error}; build again") from error
        return contents

    def map(self) -> str:
        """The map that the linker wrote of it; "" if it was not asked for one."""
        try:
            return (self.path / "map").read_bytes().decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            return ""

    def forget_map(self) -> None:
        """Remove it: all maps of a large build would take much room."""
        (self.path / "map").unlink(missing_ok=True)

    def native(self) -> Native | None:
        """What link-time optimisation made in this link; None if there was none, or it was not seen."""
        folder = self.path / "lto"
        if (folder / "list").exists():  # gcc's lto-wrapper, in the words of its wrapper
            count = (folder / "list").read_bytes().count(b"\n")
            objects = tuple((folder / f"{number:05d}.o").read_bytes() for number in range(count))
            options = os.fsdecode((folder / "options").read_bytes())
            return Native(objects, lto.partitioning(options), ()) if objects else None
        names = [name for name in os.listdir(folder) if name.startswith(_NATIVE)] if folder.is_dir() else []
        numbers = {name: whole_number(name[len(_NATIVE) :] or "0", _MOST_OBJECTS) for name in names}
        if None in numbers.values():
            raise CaptureFailed(f"{folder} holds what lld does not call a native object: {', '.join(numbers)}")
        numbered = sorted((number, folder / name) for name, number in numbers.items() if number is not None)
        found = [path.read_bytes() for _, path in numbered]
        objects = tuple(data for data in found if data)  # empty where a module came to nothing, or nothing was there
        if not objects:
            return None
        rows = os.fsdecode((folder / "extracted").read_bytes()).splitlines()[1:]
        split = [row.split("\t") for row in rows]
        extracted = tuple((row[0], row[1]) for row in split if len(row) >= _COLUMNS)
        return Native(objects, THIN if len(found) > 1 else FULL, extracted)


def read_records(folder: Path) -> list[LinkRecord]:
    """All completed records, oldest first; one that is not complete belongs to a link that was killed half-way."""
    complete = [path for path in folder.iterdir() if (path / "complete").exists()]
    return sorted((read_record(path) for path in complete), key=lambda record: record.at_ns)


def read_record(path: Path) -> LinkRecord:
    """One completed record."""
    pairs = [pair.partition("=") for pair in _strings(path / "environment") if "=" in pair]
    return LinkRecord(
        path=path,
        linker=os.fsdecode((path / "linker").read_bytes()),
        argv=tuple(_strings(path / "argv")),
        cwd=os.fsdecode((path / "cwd").read_bytes().removesuffix(b"\n")),
        environment={name: value for name, _, value in pairs},
        at_ns=(path / "complete").stat().st_mtime_ns,
    )


def _strings(path: Path) -> list[str]:
    return [os.fsdecode(part) for part in path.read_bytes().split(b"\0")[:-1]]
