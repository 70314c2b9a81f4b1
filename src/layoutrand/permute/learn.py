"""Learn from a few links what the binary of any other order takes, and prove that on these links.

What is not understood makes a binary that differs from the linker's; that is found here, and refused by the name of the
section that it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.objects.declared_sizes import SHF_COMPRESSED
from layoutrand.permute import build_id, frames, linker_made, relocations, relr, skeleton, symbols
from layoutrand.permute.anchors import CONSTANT, NOBODY, Geometry, Pieces, Probed
from layoutrand.permute.fields import DISTANCE, Candidates, Fields, candidates, settle, together
from layoutrand.permute.frames import SortedHeader
from layoutrand.permute.learned import LearnedTable
from layoutrand.permute.probes import ALIGNMENTS
from layoutrand.permute.relr import Packed
from layoutrand.permute.rest import Rest, alignments
from layoutrand.permute.skeleton import Numbers
from layoutrand.permute.symbols import Names, SymbolGroups
from layoutrand.permute.write import insist_on_storage, written

_ENTRY_PLACE: Final = 24
_TO_FRAMES: Final = 4
"""Where the header of .eh_frame says where that is."""

_END_OF_BSS: Final = 8
"""What GNU ld's script aligns that to."""

_FRAMES: Final = ".eh_frame"
_FRAMES_HEADER: Final = ".eh_frame_hdr"
_REFUSED: Final = {
    ".gdb_index": "--gdb-index",
    ".debug_names": "--debug-names and -gpubnames",
}
"""Sections that are not understood, and what has linkers make them."""

_PACKED: Final = (0x60000001, 0x60000002, 0x6FFFFF00)
"""Types of sections: SHT_ANDROID_REL, SHT_ANDROID_RELA, SHT_ANDROID_RELR."""


@dataclass(frozen=True)
class LearnedLink:
    """One linked file: its pieces' order, and of each piece its address and the row of the symbol that marks it.

    ``rest`` is what its sections of data have besides.
    """

    binary: elf.Elf
    order: tuple[int, ...]
    address: Numbers
    row: Numbers
    rest: tuple[Rest, ...] = ()


@dataclass(frozen=True)
class LearnedProgram:
    """What the pieces are: section, size, alignment and object of each; and the linker, with its version."""

    section: Numbers
    size: Numbers
    align: Numbers
    free: NDArray[np.bool_]
    """Which pieces some order has elsewhere than identity."""

    owners: tuple[str, ...]
    linker: str
    version: tuple[int, ...]
    code: int
    """The number of the section with the code."""

    @property
    def homes(self) -> tuple[int, ...]:
        """The numbers of the sections that have pieces."""
        return tuple(sorted({self.code, *self.section.tolist()}))


def learn(
    program: LearnedProgram, identity: LearnedLink, emitted: elf.Elf, probes: Sequence[LearnedLink]
) -> LearnedTable:
    """What is known of a program; ``emitted`` is identity linked with --emit-relocs.

    Raises `NotPermuted` with the reason where not all is understood.
    """
    try:
        return _learned(program, identity, emitted, probes)
    except (ValueError, IndexError, OverflowError) as error:
        raise NotPermuted(f"its tables are not as a linker writes them: {error}") from error


def _learned(
    program: LearnedProgram, identity: LearnedLink, emitted: elf.Elf, probes: Sequence[LearnedLink]
) -> LearnedTable:
    _refuse_unknown(identity.binary)
    links = (identity, *probes)
    align, most = alignments([each.rest for each in links], identity.binary)
    pieces = Pieces(
        np.concatenate([program.section, [each.section for each in identity.rest]]).astype(np.int64),
        np.concatenate([program.size, [each.size for each in identity.rest]]).astype(np.int64),
        np.concatenate([program.align, align]).astype(np.int64),
        np.concatenate([program.align, most]).astype(np.int64),
        addresses(identity),
    )
    geometries = [_geometry(program, each) for each in links]
    free = np.concatenate([program.free, np.zeros(len(pieces) - len(program.free), bool)])
    probed = Probed(geometries[0], pieces, tuple(geometries[1:]), free)
    _insist_apart(probed)
    by_storage = program.linker == "gnu" and relocations.goes_by_storage(emitted)
    for each in geometries[1:] if by_storage else ():
        insist_on_storage(geometries[0].skeleton, each.skeleton)
    found, unwinding = _candidates(identity.binary, emitted, probed)
    by_place = _by_place(program, links)
    moved = [_as_identity(probed, column, probes, identity, by_place) for column in range(len(probes))]
    images = [identity.binary.data, *moved]
    words = settle(probed, together(found), images, identity.binary.section_names)
    groups, names = _symbol_order(program, identity, probes)
    fields_of_all = _all([words, *_symbol_values(probed, identity, probes, groups)])
    table = LearnedTable(
        image=identity.binary.data,
        code=program.code,
        homes=program.homes,
        placed=len(program.size),
        linker=program.linker,
        tails=tuple(_tails(program, home, pieces, links) for home in program.homes),
        build_id=build_id.kind_of(geometries[0].skeleton, program.version, identity.binary, emitted),
        pieces=pieces,
        alike=probed.alike_ends(fields_of_all.target),
        fields=fields_of_all,
        unwinding=unwinding,
        groups=groups,
        names=names,
        packed=_packed(identity.binary, probed),
        by_place=by_place,
        by_storage=by_storage,
    )
    for link in (identity, *probes):
        prove(table, link.binary, link.order)
    return table


def prove(table: LearnedTable, binary: elf.Elf, order: Sequence[int], gaps: Sequence[int] = ()) -> None:
    """Raise `NotPermuted` unless what is written for the order is what the linker made of it."""
    made = bytes(written(table, order, gaps))
    if made != binary.data:
        raise NotPermuted(f"what is written differs from what the linker writes {first_difference(made, binary)}")


def first_difference(made: bytes, binary: elf.Elf) -> str:
    """Where the file differs from the linker's, in words."""
    size = min(len(made), len(binary.data))
    one, other = (np.frombuffer(data, np.uint8, size) for data in (made, binary.data))
    different = np.flatnonzero(one != other)
    if not len(different):
        return f"in size ({len(made)} bytes, not {len(binary.data)})"
    skipped = {build_id.NOTE}
    first = ""
    for number, name in enumerate(binary.section_names):
        begin, length = int(binary.sections["offset"][number]), len(binary.view(number))
        inside = different[(different >= begin) & (different < begin + length)]
        if len(inside) and (name not in skipped or not first):
            first = f"at byte {int(inside[0]) - begin} of {name}"
            if name not in skipped:
                return first
    return first or f"at byte {int(different[0])}"


def _refuse_unknown(binary: elf.Elf) -> None:
    if binary.machine != "EM_X86_64" or binary.kind not in ("ET_EXEC", "ET_DYN"):
        raise NotPermuted("it is no program for x86-64")
    for number, name in enumerate(binary.section_names):
        kind, flags = (int(binary.sections[what][number]) for what in ("type", "flags"))
        if kind == elf.SHT_RELA and not flags & elf.SHF_ALLOC:
            raise NotPermuted(f"it keeps its relocations ({name}); linked without --emit-relocs (-q) it has none")
        if name in _REFUSED:
            raise NotPermuted(f"it has {name}; linked without {_REFUSED[name]} it has none")
        if kind in _PACKED:
            raise NotPermuted(f"{name} is packed as for Android; linked without --pack-dyn-relocs=android it is not")
        if flags & SHF_COMPRESSED:
            raise NotPermuted(f"{name} is compressed; linked with --compress-debug-sections=none it is not")


def _geometry(program: LearnedProgram, link: LearnedLink) -> Geometry:
    made = skeleton.of_file(link.binary, program.code, program.homes, program.linker)
    return Geometry(made, addresses(link))


def _insist_apart(probed: Probed) -> None:
    """Raise `NotPermuted` where a place is the end of one piece, the begin of another, and both always moved alike."""
    pieces, free = probed.pieces, probed.free
    order = np.argsort(pieces.address, kind="stable")
    before, behind = order[:-1], order[1:]
    alike = (probed.shifts[1 + before] == probed.shifts[1 + behind]).all(axis=1) & (free[before] | free[behind])
    touching = pieces.address[before] + pieces.size[before] + CONSTANT >= pieces.address[behind]
    if (alike & touching & (pieces.section[before] == pieces.section[behind])).any():
        raise NotPermuted("its pieces of data are too few, or too much alike, to be told from each other")


def addresses(link: LearnedLink) -> Numbers:
    """The address of each piece, and of what else sections of data have."""
    return np.concatenate([link.address, [each.address for each in link.rest]]).astype(np.int64)


def _by_place(program: LearnedProgram, links: Sequence[LearnedLink]) -> tuple[int, ...]:
    """Which tables of the dynamic linker's relocations are in the order of places, which data changes."""
    if program.homes == (program.code,):
        return ()
    binary = links[0].binary
    found = np.flatnonzero((binary.sections["type"] == elf.SHT_RELA) & (binary.sections["flags"] & elf.SHF_ALLOC != 0))
    tables = [[link.binary.entries(number, elf.RELA) for link in links] for number in found.tolist()]
    return tuple(
        number
        for number, rows in zip(found.tolist(), tables, strict=True)
        if all((linker_made.by_place(each, program.linker) == np.arange(len(each))).all() for each in rows)
    )


def _packed(binary: elf.Elf, probed: Probed) -> Packed | None:
    found = np.flatnonzero(binary.sections["type"] == elf.SHT_RELR).tolist()
    if len(found) > 1:
        raise NotPermuted("it has several tables of packed relocations")
    return relr.of_file(binary, found[0], probed) if found else None


def _as_identity(
    probed: Probed, column: int, probes: Sequence[LearnedLink], identity: LearnedLink, by_place: Sequence[int]
) -> bytes:
    """A probe's file with the dynamic linker's relocations in identity's order."""
    link = probes[column]
    if not by_place:
        return link.binary.data
    image = bytearray(link.binary.data)
    for number in by_place:
        rows, old = (each.entries(number, elf.RELA) for each in (link.binary, identity.binary))
        if len(rows) != len(old):
            raise NotPermuted("another order has other relocations for the dynamic linker")
        place = old["offset"].astype(np.int64)
        holder = probed.holder(place)
        wanted = np.where(holder == NOBODY, place, place + probed.shifts[np.maximum(holder, 0), column])
        moved = old.copy()
        moved["offset"] = wanted
        back = np.empty_like(rows)
        back[linker_made.by_place(moved, probed.identity.skeleton.linker)] = rows
        if not all(np.array_equal(back[name], moved[name]) for name in ("offset", "info")):
            raise NotPermuted(f"the order of {identity.binary.section_names[number]} is not understood")
        begin = int(link.binary.sections["offset"][number])
        image[begin : begin + back.nbytes] = back.tobytes()
    return bytes(image)


def _candidates(identity: elf.Elf, emitted: elf.Elf, probed: Probed) -> tuple[list[Candidates], SortedHeader | None]:
    """All words that may be fields but symbols' values, and the header of .eh_frame."""
    names = identity.section_names
    found = relocations.of_link(emitted, probed, identity.data, names)
    found += linker_made.of_linker(identity, probed)
    entry = np.array([_ENTRY_PLACE], np.int64)
    zero = np.zeros(1, np.int64)
    no, yes = np.zeros(1, bool), np.ones(1, bool)
    found.append(Candidates(entry, entry, zero, yes, no, zero, zero - 1, no))
    unwinding = None
    if _FRAMES in names:
        section = names.index(_FRAMES)
        parts, offsets, begins = frames.fields_of(identity, section, probed)
        found += parts
        if _FRAMES_HEADER in names:
            header = names.index(_FRAMES_HEADER)
            unwinding = frames.sorted_header(identity, header, section, offsets, begins)
            found.append(candidates(probed, header, np.array([_TO_FRAMES], np.int64), DISTANCE))
    return found, unwinding


def _symbol_order(
    program: LearnedProgram, identity: LearnedLink, probes: Sequence[LearnedLink]
) -> tuple[SymbolGroups | None, Names | None]:
    """GNU ld's tables follow the code, lld's do not."""
    if program.linker != "gnu":
        return None, None
    codes = [np.array(link.order, np.int64) for link in (identity, *probes)]
    others = [link.binary for link in probes]
    code = program.section == program.code
    groups = symbols.groups_of(identity.binary, program.owners, identity.row, code, others, codes)
    return groups, symbols.names_of(identity.binary)


def _symbol_values(
    probed: Probed, identity: LearnedLink, probes: Sequence[LearnedLink], groups: SymbolGroups | None
) -> list[Fields]:
    binary = identity.binary
    found = []
    for section in np.flatnonzero(np.isin(binary.sections["type"], (elf.SHT_SYMTAB, elf.SHT_DYNSYM))).tolist():
        count = len(binary.entries(section, elf.SYMBOL))
        of_all = groups is not None and section == binary.symbol_table
        rows = [
            groups.rows(np.array(link.order, np.int64), count) if of_all and groups is not None else np.arange(count)
            for link in probes
        ]
        anchors = symbols.values_of(probed, binary, section, [link.binary for link in probes], rows)
        found.append(symbols.as_fields(binary, section, anchors))
    return found


def _all(parts: Sequence[Fields]) -> Fields:
    whole = Fields(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Fields)))
    order = np.argsort(whole.place, kind="stable")
    return Fields(*(getattr(whole, each.name)[order] for each in fields(Fields)))


def _tails(program: LearnedProgram, home: int, pieces: Pieces, links: Sequence[LearnedLink]) -> tuple[int, ...]:
    """What the end of a section may be aligned to: pieces without content may stand behind the last.

    There are several where pieces of code are aligned to nothing, so that their end is the same in any order.  What
    stands behind data is known.
    """
    possible = set(ALIGNMENTS)
    here = pieces.section == home
    for link in links:
        row = link.binary.sections[home]
        last = int((addresses(link) + pieces.size)[here].max())
        end = int(row["addr"]) + int(row["size"])
        possible = {step for step in possible if elf.rounded(last, step) == end}
    if not possible:
        what = "its code" if home == program.code else links[0].binary.section_names[home]
        raise NotPermuted(f"something follows the last piece of {what}")
    if home == program.code:
        return tuple(sorted(possible))
    by_script = program.linker == "gnu" and int(links[0].binary.sections["type"][home]) == elf.SHT_NOBITS
    return (_END_OF_BSS,) if by_script and _END_OF_BSS in possible else (min(possible),)
