"""What link-time optimisation made in a recorded link, put where a replay finds it instead of making it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from layoutrand.capture.records import LinkRecord
from layoutrand.link import lto
from layoutrand.link.lto_division import KEEPS_MODULES
from layoutrand.linkers import linkline
from layoutrand.linkers.linkline import Word
from layoutrand.objects import archive, elf
from layoutrand.platform.disk import cache_errors, write_atomically


@dataclass(frozen=True)
class Replay:
    """A link line that makes no code: ``kept`` has contents by absolute path, ``names`` their names in the capture.

    ``division`` says how the program was divided, "" for a link without link-time optimisation; ``natives`` are the
    objects made, by their names in the capture; ``owners`` maps symbols to the modules that define them, where known.
    """

    line: tuple[Word, ...]
    kept: Mapping[str, bytes]
    names: Mapping[str, str]
    division: str
    natives: Mapping[str, bytes]
    owners: Mapping[str, str]


def as_recorded(record: LinkRecord, line: Sequence[Word]) -> Replay:
    """The recorded line of a link that generated nothing."""
    return Replay(tuple(linkline.replayable(line, keep_symbols=False)), record.inputs(), {}, "", {}, {})


def with_plugin(record: LinkRecord, line: Sequence[Word], native: lto.Native) -> Replay:
    """The recorded line with the plugin's question answered by a script; see `layoutrand.link.lto`."""
    script = record.path / "lto" / "lto-wrapper"
    with cache_errors("write", script):
        write_atomically(script, lto.ANSWER_SCRIPT.encode(), executable=True)
    return Replay(
        line=tuple(lto.answering(linkline.replayable(line, keep_symbols=False, plugin=True), str(script))),
        kept=record.inputs() | {str(script): lto.ANSWER_SCRIPT.encode()},
        names={str(script): lto.ANSWER},
        division=native.partitioning,
        natives=native.files(),
        owners={},
    )


def unit_names(replay: Replay, files: Mapping[str, bytes]) -> dict[str, str]:
    """What the native objects are called as owners of sections; ``files`` holds what they were made of."""
    natives = {path: elf.read(data, name=path) for path, data in replay.natives.items()}
    owners = replay.owners
    if replay.division in KEEPS_MODULES and not owners:
        owners = _owners(files)
    return lto.unit_names(natives, owners, replay.division)


def _owners(files: Mapping[str, bytes]) -> dict[str, str]:
    owners: dict[str, str] = {}
    for path, data in files.items():
        inside = {path: data}
        if archive.is_archive(data):
            inside = {f"{path}({member.name})": member.content for member in archive.read(data, name=path).members}
        for name, part in inside.items():
            source = elf.read(part, name=name) if elf.is_elf(part) else None
            for symbol in lto.defined(source) if source and lto.is_intermediate(source) else ():
                owners.setdefault(symbol, name.removeprefix("_build/"))
    return owners
