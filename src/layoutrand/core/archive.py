"""Unix archives (.a): read their members, and write the same archive with some members replaced.

Member order, names and duplicates decide what a linker extracts, so they are kept; the symbol index is kept byte for
byte in content but its offsets are rewritten, since edited members are longer.  Thin archives hold only names; the
caller supplies the members' contents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from layoutrand.errors import FeatureUnsupported

MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"
_HEADER = 60


@dataclass(frozen=True)
class Member:
    """One member: its ``header_at`` offset in the archive, its name, its content, and its occurrence by name."""

    name: str
    occurrence: int
    header_at: int
    header: bytes
    content: bytes


@dataclass(frozen=True)
class Archive:
    """A parsed archive: the symbol ``index`` (GNU "/" or "/SYM64/", b"" if absent), long ``names`` and the members."""

    thin: bool
    index_name: str
    index: bytes
    names: bytes
    members: tuple[Member, ...]


def is_archive(data: bytes) -> bool:
    """Whether the bytes begin as an archive, thin or not."""
    return data[:8] in (MAGIC, THIN_MAGIC)


def read(data: bytes, *, name: str, fetch: Callable[[str], bytes] | None = None) -> Archive:
    """Parse the archive called ``name``; ``fetch`` gives a thin archive's member by its recorded path."""
    thin = data[:8] == THIN_MAGIC
    index_name, index, long_names = "", b"", b""
    members: list[Member] = []
    seen: dict[str, int] = {}
    at = 8
    while at < len(data):
        header = data[at : at + _HEADER]
        if len(header) < _HEADER or header[58:60] != b"`\n":
            raise FeatureUnsupported(f"{name}: damaged archive member header at byte {at}")
        size = int(header[48:58])
        raw = header[:16].rstrip(b" ")
        body = data[at + _HEADER : at + _HEADER + size]
        special = raw in (b"/", b"/SYM64/", b"//")
        if raw in (b"/", b"/SYM64/"):
            index_name, index = raw.decode(), body
        elif raw == b"//":
            long_names = body
        else:
            member = _member_name(raw, long_names)
            if thin:
                if fetch is None:
                    raise FeatureUnsupported(f"{name}: a thin archive needs its members' files")
                body = fetch(member)
            occurrence = seen.get(member, 0)
            seen[member] = occurrence + 1
            members.append(Member(member, occurrence, at, header, body))
        stored = 0 if thin and not special else size
        at += _HEADER + stored + stored % 2
    return Archive(thin, index_name, index, long_names, tuple(members))


def _member_name(raw: bytes, long_names: bytes) -> str:
    if raw[:1] == b"/" and raw[1:].isdigit():
        start = int(raw[1:])
        end = long_names.index(b"\n", start)
        return long_names[start:end].rstrip(b"/").decode("utf-8", "surrogateescape")
    return raw.rstrip(b"/").decode("utf-8", "surrogateescape")


def write(archive: Archive, contents: Mapping[int, bytes]) -> bytes:
    """The archive with member k's content replaced by ``contents[k]``; thin ones become ordinary ones."""
    names = archive.names or b""
    size_of_index = _HEADER + len(archive.index) + len(archive.index) % 2 if archive.index_name else 0
    at = 8 + size_of_index + (_HEADER + len(names) + len(names) % 2 if names else 0)
    moved: dict[int, int] = {}
    body = bytearray()
    for number, member in enumerate(archive.members):
        content = contents.get(number, member.content)
        moved[member.header_at] = at + len(body)
        body += member.header[:48] + str(len(content)).ljust(10).encode() + b"`\n" + content
        body += b"\n" * (len(content) % 2)
    out = bytearray(MAGIC)
    if archive.index_name:
        index = _moved_index(archive, moved)
        out += archive.index_name.ljust(16).encode() + b"0           0     0     0       "
        out += str(len(index)).ljust(10).encode() + b"`\n" + index + b"\n" * (len(index) % 2)
    if names:
        out += b"//".ljust(48) + str(len(names)).ljust(10).encode() + b"`\n" + names + b"\n" * (len(names) % 2)
    return bytes(out + body)


def _moved_index(archive: Archive, moved: Mapping[int, int]) -> bytes:
    width = 8 if archive.index_name == "/SYM64/" else 4
    index = archive.index
    count = int.from_bytes(index[:width], "big")
    offsets = [int.from_bytes(index[width * (k + 1) : width * (k + 2)], "big") for k in range(count)]
    if any(offset not in moved for offset in offsets):
        raise FeatureUnsupported("the archive's symbol index names an offset where no member begins; run ranlib")
    packed = b"".join(moved[offset].to_bytes(width, "big") for offset in offsets)
    return index[:width] + packed + index[width * (count + 1) :]
