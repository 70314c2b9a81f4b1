"""Unix archives (.a): read their members, and write the same archive with some members replaced.

Member order, names and duplicates decide what a linker extracts, so they are kept; the symbol index is kept byte for
byte in content but its offsets are rewritten, since edited members are longer.  Thin archives hold only names; the
caller supplies the members' contents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from layoutrand.errors import FeatureUnsupported

MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"
_HEADER = 60
_PLACE: Final = re.compile(rb"(/\d+(?::\d+)?) */?")


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
    """A parsed archive: the symbol ``index`` (GNU "/" or "/SYM64/", b"" if absent), long ``names`` and the members.

    ``name`` is what messages call it.
    """

    thin: bool
    index_name: str
    index: bytes
    names: bytes
    members: tuple[Member, ...]
    name: str


def is_archive(data: bytes) -> bool:
    """Whether the bytes begin as an archive, thin or not."""
    return data[:8] in (MAGIC, THIN_MAGIC)


def read(data: bytes, *, name: str, fetch: Callable[[str], bytes] | None = None) -> Archive:
    """Parse the archive called ``name``; ``fetch`` gives a thin archive's member by its recorded path.

    Raises `FeatureUnsupported` for a damaged archive and for the BSD format, whose long names Linux linkers ignore.
    """
    thin = data[:8] == THIN_MAGIC
    index_name, index, long_names = "", b"", b""
    members: list[Member] = []
    seen: dict[str, int] = {}
    at = 8
    while at < len(data):
        header = data[at : at + _HEADER]
        size_field = header[48:58].rstrip(b" ")
        if header[58:60] != b"`\n" or not size_field.isdigit():
            raise FeatureUnsupported(f"{name}: damaged archive member header at byte {at}")
        size = int(size_field)
        raw = _plain_name(header[:16])
        special = raw in (b"/", b"/SYM64/", b"//")
        body = data[at + _HEADER : at + _HEADER + size]
        if len(body) < size and (special or not thin):
            raise FeatureUnsupported(f"{name}: the archive ends inside the member at byte {at}; it is truncated")
        if raw in (b"/", b"/SYM64/"):
            index_name, index = raw.decode(), body
        elif raw == b"//":
            long_names = body
        else:
            member, origin = _member_name(raw, long_names, name)
            if thin:
                member, body = _fetched(member, origin, name, fetch)
            occurrence = seen.get(member, 0)
            seen[member] = occurrence + 1
            members.append(Member(member, occurrence, at, _plain_header(header, raw), body))
        stored = 0 if thin and not special else size
        at += _HEADER + stored + stored % 2
    return Archive(thin, index_name, index, long_names, tuple(members), name)


def _plain_name(field: bytes) -> bytes:
    """A header's name without its padding.

    GNU ar writes the place of a long name over the name itself, and leaves the slash behind one of 15 characters.
    """
    place = _PLACE.fullmatch(field)
    return place[1] if place else field.rstrip(b" ")


def _member_name(raw: bytes, long_names: bytes, archive: str) -> tuple[str, int]:
    """The name in a member's header, and where the member begins in a nested archive (0: it is a file of its own)."""
    number, _, origin = raw[1:].partition(b":")
    if raw[:1] == b"/" and number.isdigit() and (origin.isdigit() or not origin):
        start = int(number)
        end = long_names.find(b"\n", start)
        if end < 0:
            raise FeatureUnsupported(f"{archive}: a member's name lies outside the archive's table of long names")
        return long_names[start:end].removesuffix(b"/").decode("utf-8", "surrogateescape"), int(origin or b"0")
    if raw.startswith((b"#1/", b"__.SYMDEF")):
        raise FeatureUnsupported(f"{archive}: an archive in BSD format; make it anew with GNU ar")
    return raw.removesuffix(b"/").decode("utf-8", "surrogateescape"), 0


def _fetched(member: str, origin: int, archive: str, fetch: Callable[[str], bytes] | None) -> tuple[str, bytes]:
    """Name and content of a thin archive's member: a file, or what begins at ``origin`` of the archive in that file."""
    if fetch is None:
        raise FeatureUnsupported(f"{archive}: a thin archive needs its members' files")
    data = fetch(member)
    if not origin:
        return member, data
    for inner in read(data, name=member).members:
        if inner.header_at == origin:
            return f"{member}:{inner.name}", inner.content
    raise FeatureUnsupported(f"{archive}: {member} has no member at byte {origin}; it changed after the archive")


def _plain_header(header: bytes, raw: bytes) -> bytes:
    """The header without the place in a nested archive, which only thin archives have."""
    return raw.partition(b":")[0].ljust(16) + header[16:] if raw[:1] == b"/" else header


def write(archive: Archive, contents: Mapping[int, bytes]) -> bytes:
    """The archive with member k's content replaced by ``contents[k]``; thin ones become ordinary ones."""
    names = archive.names
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
    if width * (count + 1) > len(index):
        raise FeatureUnsupported(f"{archive.name}: the archive's symbol index is damaged; run ranlib")
    offsets = [int.from_bytes(index[width * (k + 1) : width * (k + 2)], "big") for k in range(count)]
    if any(offset not in moved for offset in offsets):
        raise FeatureUnsupported(
            f"{archive.name}: the archive's symbol index names an offset where no member begins; run ranlib"
        )
    packed = b"".join(moved[offset].to_bytes(width, "big") for offset in offsets)
    return index[:width] + packed + index[width * (count + 1) :]
