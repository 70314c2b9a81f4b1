"""What is known of a program once it was learned: everything that the binary of another layout takes."""

from __future__ import annotations

import json
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

FORMAT: Final = 14
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


def _check(table: LearnedTable) -> None:
    """Raise `ValueError` for what was not written so."""
    count, sections = len(table.pieces.size), table.skeleton.sections
    anchors = 1 + count + len(sections) + len(table.homes) * len(STEPS)
    wanted: list[tuple[NDArray[Any], str, int, int]] = [
        (table.pieces.section, "<i8", 0, len(sections) - 1),
        (table.pieces.size, "<i8", 0, 1 << 47),
        (table.pieces.align, "<i8", 0, 1 << 32),
        (table.pieces.most, "<i8", 0, 1 << 32),
        (table.pieces.address, "<i8", 0, 1 << 47),
        (table.fields.place, "<i8", 0, len(table.image) - HALF),
        (table.fields.place[table.fields.wide], "<i8", 0, len(table.image) - WORD),
        (table.fields.home, "<i4", 0, anchors - 1),
        (table.fields.target, "<i4", 0, anchors - 1),
        (table.fields.wide, "|b1", 0, 1),
    ]
    groups, names, unwinding = table.groups, table.names, table.unwinding
    symbols = len(table.binary.symbols)
    if unwinding is not None:
        wanted += [(unwinding.field, "<i8", 0, len(table.image) - HALF), (unwinding.offset, "<i8", 0, len(table.image))]
        if not (0 <= unwinding.header < len(sections) and 0 <= unwinding.frames < len(sections)):
            raise ValueError("a section that is not there")
    if groups is not None:
        many = len(groups.begin)
        wanted += [(groups.begin, "<i8", 0, symbols), (groups.count, "<i8", 0, symbols)]
        wanted += [(groups.piece, "<i8", 0, table.placed - 1), (groups.group, "<i8", 0, many - 1)]
        if int(groups.count.sum()) > symbols or min(groups.first, groups.last) < 0 or groups.first + groups.last > many:
            raise ValueError("other groups of symbols than were written")
    if names is not None:
        many = len(names.begin)
        wanted += [(names.begin, "<i8", 0, len(table.image)), (names.size, "<i8", 0, len(table.image))]
        wanted += [(names.string, "<i8", -1, many - 1), (names.exact, "<i8", -1, many - 1)]
        if len(names.string) != symbols or len(names.exact) != symbols:
            raise ValueError("names of other symbols")
    packed = table.packed
    if packed is not None:
        wanted += [(packed.home, "<i4", 0, anchors - 1), (packed.address, "<i8", 0, 1 << 47)]
        if not 0 <= packed.section < len(sections) or len(packed.home) != len(packed.address):
            raise ValueError("other packed relocations than were written")
    for values, kind, least, most in wanted:
        if (
            values.dtype.str != kind
            or values.ndim != 1
            or (len(values) and not least <= int(values.min()) <= int(values.max()) <= most)
        ):
            raise ValueError("other arrays than were written")
    if (
        not all(0 <= number < len(sections) for number in (*table.homes, *table.by_place))
        or list(table.homes) != sorted(set(table.homes))
        or table.code not in table.homes
        or not 0 <= table.placed <= count
        or len(table.tails) != len(table.homes)
        or not all(steps and 0 < min(steps) <= max(steps) <= 1 << 20 for steps in table.tails)
        or not all(0 <= anchor < anchors for pair in table.alike for anchor in pair)
        or table.linker not in ("gnu", "lld")
        or not all(int(sections["type"][number]) == elf.SHT_RELA for number in table.by_place)
    ):
        raise ValueError("other values than were written")
    if len({len(getattr(table.pieces, each.name)) for each in fields(Pieces)}) > 1:
        raise ValueError("arrays of different lengths")
    if not np.isin(table.pieces.section, table.homes).all():
        raise ValueError("pieces of a section that has none")
    if (table.pieces.align & (table.pieces.align - 1)).any() or (table.pieces.most & (table.pieces.most - 1)).any():
        raise ValueError("alignments that are no powers of two")
    begin = table.pieces.address - sections["addr"].astype(np.int64)[table.pieces.section]
    if (begin < 0).any() or (begin + table.pieces.size > sections["size"].astype(np.int64)[table.pieces.section]).any():
        raise ValueError("pieces outside their section")
    if len({len(table.fields.place), len(table.fields.wide), len(table.fields.home), len(table.fields.target)}) > 1:
        raise ValueError("arrays of different lengths")
