"""What is known of a program once it was learned: everything that the binary of another layout takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from io import BytesIO
from tokenize import TokenError
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import FeatureUnsupported, NotPermuted
from layoutrand.objects import elf
from layoutrand.permute import skeleton
from layoutrand.permute.anchors import FIXED, STEPS, Geometry, Pieces
from layoutrand.permute.fields import HALF, WORD, Fields, Ready
from layoutrand.permute.fields import ready as fields_ready
from layoutrand.permute.frames import SortedHeader
from layoutrand.permute.relr import Packed
from layoutrand.permute.skeleton import Numbers, Skeleton
from layoutrand.permute.symbols import Names, SymbolGroups

FORMAT: Final = 15
"""Another one also where a program that was refused would be understood: what was refused is remembered by it."""

_SINGLE: Final = ("code", "homes", "placed", "linker", "tails", "build_id", "by_place", "by_storage", "alike")
_PARTS: Final[dict[str, type]] = {
    "pieces": Pieces,
    "fields": Fields,
    "unwinding": SortedHeader,
    "groups": SymbolGroups,
    "names": Names,
    "packed": Packed,
}
_DAMAGED: Final = (
    *(OSError, ValueError, KeyError, TypeError, EOFError, RuntimeError, MemoryError, SyntaxError, TokenError),
    *(BadZipFile, AttributeError, IndexError, OverflowError),
)


@dataclass(frozen=True)
class LearnedTable:
    """One program: identity's file as ``image``, and what is changed in it for another order.

    ``code`` is the number of the section with the code, ``homes`` of all that pieces are placed in, whose ends are each
    aligned to one of its ``tails``; the first ``placed`` of the pieces an order places.  ``groups`` and ``names`` are
    of symbol tables that follow the code, else None; ``build_id`` says how that is made.  ``by_place`` are the tables
    of the dynamic linker's relocations that stand in the order of places, ``packed`` the table of packed ones.
    ``by_storage`` is as in `relocations.goes_by_storage`.  ``alike`` are pairs of anchors, and it is not known to which
    of the two fields lead: an order that moves one further than the other is not written.
    """

    image: bytes
    code: int
    homes: tuple[int, ...]
    placed: int
    linker: str
    tails: tuple[tuple[int, ...], ...]
    build_id: str
    by_place: tuple[int, ...]
    by_storage: bool
    alike: tuple[tuple[int, int], ...]
    pieces: Pieces
    fields: Fields
    unwinding: SortedHeader | None
    groups: SymbolGroups | None
    names: Names | None
    packed: Packed | None

    @cached_property
    def binary(self) -> elf.Elf:
        """Identity."""
        return elf.read(self.image, name="identity")

    @cached_property
    def skeleton(self) -> Skeleton:
        """Identity's tables."""
        return skeleton.of_file(self.binary, self.code, self.homes, self.linker)

    @cached_property
    def geometry(self) -> Geometry:
        """Where identity has everything."""
        return Geometry(self.skeleton, self.pieces.address)

    @cached_property
    def ready(self) -> tuple[Ready, ...]:
        """The fields, as they are written again and again."""
        sections, pieces = self.skeleton.sections, self.pieces
        place = self.fields.place
        stored = np.flatnonzero(self.skeleton.stored > 0)
        stored = stored[np.argsort(sections["offset"][stored], kind="stable")]
        begin = sections["offset"][stored].astype(np.int64)
        slot = np.searchsorted(begin, place, side="right") - 1
        section = stored[np.maximum(slot, 0)]
        inside = (slot >= 0) & (place < sections["offset"][section].astype(np.int64) + self.skeleton.stored[section])
        within = np.where(inside, self.geometry.section(0) + section, FIXED)
        for home in self.homes:
            here = np.flatnonzero(inside & (section == home))
            own = np.flatnonzero(pieces.section == home)
            own = own[np.argsort(pieces.address[own], kind="stable")]
            address = place[here] - int(sections["offset"][home]) + int(sections["addr"][home])
            which = np.searchsorted(pieces.address[own], address, side="right") - 1
            if (which < 0).any():
                raise NotPermuted("what was learned of it is damaged (a field outside all pieces)")
            within[here] = 1 + own[which]
        return fields_ready(self.fields, self.image, within.astype(np.int32))

    @cached_property
    def contents(self) -> list[bytes]:
        """What identity has of each piece; they are joined in a fraction of the time that parts of the image take."""
        row = self.skeleton.sections[self.pieces.section]
        begin = self.pieces.address + row["offset"].astype(np.int64) - row["addr"].astype(np.int64)
        return [self.image[at:end] for at, end in zip(begin.tolist(), (begin + self.pieces.size).tolist(), strict=True)]

    @cached_property
    def name_places(self) -> Numbers:
        """Where in the table of names identity has each symbol's."""
        return self.binary.symbols["name"].astype(np.int64)

    @cached_property
    def name_text(self) -> bytes:
        """The table of names."""
        table = self.binary.symbol_table
        return b"" if table is None else self.binary.content(int(self.skeleton.sections["link"][table]))

    def stored(self) -> bytes:
        """What is kept of it beside the image: an .npz file."""
        single = {name: getattr(self, name) for name in _SINGLE}
        arrays: dict[str, Any] = {}
        scalars: dict[str, int] = {}
        for part, kind in _PARTS.items():
            value = getattr(self, part)
            if value is None:
                continue
            for each in fields(kind):
                content = getattr(value, each.name)
                if isinstance(content, np.ndarray):
                    arrays[f"{part}_{each.name}"] = content
                else:
                    scalars[f"{part}_{each.name}"] = int(content)
        about = {"format": FORMAT, **single, "numbers": scalars}
        file = BytesIO()
        np.savez(file, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)
        return file.getvalue()

    @staticmethod
    def of_stored(data: bytes, image: bytes) -> LearnedTable | None:
        """From what was kept, and the image; None for another format's.  Raises `NotPermuted` for what is damaged."""
        try:
            with np.load(BytesIO(data), allow_pickle=False) as arrays:
                about = json.loads(arrays["about"].tobytes())
                if about["format"] != FORMAT:
                    return None
                parts = {name: _part(kind, name, arrays, about["numbers"]) for name, kind in _PARTS.items()}
            made = LearnedTable(
                image=image,
                code=int(about["code"]),
                homes=tuple(int(home) for home in about["homes"]),
                placed=int(about["placed"]),
                linker=str(about["linker"]),
                tails=tuple(tuple(int(step) for step in steps) for steps in about["tails"]),
                build_id=str(about["build_id"]),
                by_place=tuple(int(number) for number in about["by_place"]),
                by_storage=bool(about["by_storage"]),
                alike=tuple((int(one), int(other)) for one, other in about["alike"]),
                **parts,
            )
            _check(made)
        except (*_DAMAGED, FeatureUnsupported) as error:
            raise NotPermuted(f"what was learned of it is damaged ({error})") from error
        return made


def _part(kind: type, name: str, arrays: Any, numbers: dict[str, Any]) -> Any:
    """One part of a table, None where it is not there."""
    values: dict[str, Any] = {}
    for each in fields(kind):
        key = f"{name}_{each.name}"
        if key in numbers:
            values[each.name] = int(numbers[key])
        elif key in arrays:
            values[each.name] = arrays[key]
    return kind(**values) if values else None


_Wanted = tuple[NDArray[Any], str, int, int]
"""An array, its kind of number, and the least and the largest that one of them may be."""


def _check(table: LearnedTable) -> None:
    """Raise `ValueError` for what was not written so."""
    sections = len(table.skeleton.sections)
    anchors = 1 + len(table.pieces.size) + sections + len(table.homes) * len(STEPS)
    for values, kind, least, most in _wanted_arrays(table, sections, anchors):
        if (
            values.dtype.str != kind
            or values.ndim != 1
            or (len(values) and not least <= int(values.min()) <= int(values.max()) <= most)
        ):
            raise ValueError("other arrays than were written")
    _check_parts(table, sections)
    _check_values(table, sections, anchors)
    _check_pieces(table)


def _wanted_arrays(table: LearnedTable, sections: int, anchors: int) -> Iterator[_Wanted]:
    """What each array of the table may hold."""
    image, symbols = len(table.image), len(table.binary.symbols)
    yield table.pieces.section, "<i8", 0, sections - 1
    yield table.pieces.size, "<i8", 0, 1 << 47
    yield table.pieces.align, "<i8", 0, 1 << 32
    yield table.pieces.most, "<i8", 0, 1 << 32
    yield table.pieces.address, "<i8", 0, 1 << 47
    yield table.fields.wide, "|b1", 0, 1
    yield table.fields.place, "<i8", 0, image - HALF
    yield table.fields.place[table.fields.wide], "<i8", 0, image - WORD
    yield table.fields.home, "<i4", 0, anchors - 1
    yield table.fields.target, "<i4", 0, anchors - 1
    if (unwinding := table.unwinding) is not None:
        yield unwinding.field, "<i8", 0, image - HALF
        yield unwinding.offset, "<i8", 0, image
    if (groups := table.groups) is not None:
        yield groups.begin, "<i8", 0, symbols
        yield groups.count, "<i8", 0, symbols
        yield groups.piece, "<i8", 0, table.placed - 1
        yield groups.group, "<i8", 0, len(groups.begin) - 1
    if (names := table.names) is not None:
        yield names.begin, "<i8", 0, image
        yield names.size, "<i8", 0, image
        yield names.string, "<i8", -1, len(names.begin) - 1
        yield names.exact, "<i8", -1, len(names.begin) - 1
    if (packed := table.packed) is not None:
        yield packed.home, "<i4", 0, anchors - 1
        yield packed.address, "<i8", 0, 1 << 47


def _check_parts(table: LearnedTable, sections: int) -> None:
    """That the numbers and the arrays of each part are those of one program."""
    symbols, unwinding, packed = len(table.binary.symbols), table.unwinding, table.packed
    if unwinding is not None and not all(0 <= each < sections for each in (unwinding.header, unwinding.frames)):
        raise ValueError("a section that is not there")
    if (groups := table.groups) is not None:
        fewest = min(groups.first, groups.last)
        if int(groups.count.sum()) > symbols or fewest < 0 or groups.first + groups.last > len(groups.begin):
            raise ValueError("other groups of symbols than were written")
    if (names := table.names) is not None and {len(names.string), len(names.exact)} != {symbols}:
        raise ValueError("names of other symbols")
    if packed is not None and (not 0 <= packed.section < sections or len(packed.home) != len(packed.address)):
        raise ValueError("other packed relocations than were written")
    if len({len(table.fields.place), len(table.fields.wide), len(table.fields.home), len(table.fields.target)}) > 1:
        raise ValueError("arrays of different lengths")


def _check_values(table: LearnedTable, sections: int, anchors: int) -> None:
    """That what is no array is as it is written."""
    kinds = table.skeleton.sections["type"]
    if (
        not all(0 <= number < sections for number in (*table.homes, *table.by_place))
        or list(table.homes) != sorted(set(table.homes))
        or table.code not in table.homes
        or not 0 <= table.placed <= len(table.pieces.size)
        or len(table.tails) != len(table.homes)
        or not all(steps and 0 < min(steps) <= max(steps) <= 1 << 20 for steps in table.tails)
        or not all(0 <= anchor < anchors for pair in table.alike for anchor in pair)
        or table.linker not in ("gnu", "lld")
        or not all(int(kinds[number]) == elf.SHT_RELA for number in table.by_place)
    ):
        raise ValueError("other values than were written")


def _check_pieces(table: LearnedTable) -> None:
    """That the pieces lie within their sections."""
    pieces, sections = table.pieces, table.skeleton.sections
    if len({len(getattr(pieces, each.name)) for each in fields(Pieces)}) > 1:
        raise ValueError("arrays of different lengths")
    if not np.isin(pieces.section, table.homes).all():
        raise ValueError("pieces of a section that has none")
    if (pieces.align & (pieces.align - 1)).any() or (pieces.most & (pieces.most - 1)).any():
        raise ValueError("alignments that are no powers of two")
    begin = pieces.address - sections["addr"].astype(np.int64)[pieces.section]
    if (begin < 0).any() or (begin + pieces.size > sections["size"].astype(np.int64)[pieces.section]).any():
        raise ValueError("pieces outside their section")
