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
from layoutrand.permute.anchors import Geometry, Pieces
from layoutrand.permute.fields import HALF, WORD, Fields
from layoutrand.permute.frames import SortedHeader
from layoutrand.permute.skeleton import Skeleton
from layoutrand.permute.symbols import Names, SymbolGroups

FORMAT: Final = 2
"""Another one also where a program that was refused would be understood: what was refused is remembered by it."""

_PARTS: Final[dict[str, type]] = {
    "pieces": Pieces,
    "fields": Fields,
    "unwinding": SortedHeader,
    "groups": SymbolGroups,
    "names": Names,
}
_DAMAGED: Final = (
    *(OSError, ValueError, KeyError, TypeError, EOFError, RuntimeError, MemoryError, SyntaxError, TokenError),
    *(BadZipFile, AttributeError, IndexError, OverflowError),
)


@dataclass(frozen=True)
class LearnedTable:
    """One program: identity's file as ``image``, and what is changed in it for another order.

    ``code`` is the number of the section with the code, whose end is aligned to one of ``tails``.  ``groups`` and
    ``names`` are of symbol tables that follow the code, else None; ``build_id`` says how that is made.
    """

    image: bytes
    code: int
    linker: str
    tails: tuple[int, ...]
    build_id: str
    pieces: Pieces
    fields: Fields
    unwinding: SortedHeader | None
    groups: SymbolGroups | None
    names: Names | None

    @cached_property
    def binary(self) -> elf.Elf:
        """Identity."""
        return elf.read(self.image, name="identity")

    @cached_property
    def skeleton(self) -> Skeleton:
        """Identity's tables."""
        return skeleton.of_file(self.binary, self.code, self.linker)

    @cached_property
    def geometry(self) -> Geometry:
        """Where identity has everything."""
        return Geometry(self.skeleton, self.pieces.address)

    def stored(self) -> bytes:
        """What is kept of it: an .npz file."""
        single = {"code": self.code, "linker": self.linker, "tails": self.tails, "build_id": self.build_id}
        arrays: dict[str, Any] = {"image": np.frombuffer(self.image, np.uint8)}
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
    def of_stored(data: bytes) -> LearnedTable | None:
        """From what was kept; None for another format's.  Raises `NotPermuted` for what is damaged."""
        try:
            with np.load(BytesIO(data), allow_pickle=False) as arrays:
                about = json.loads(arrays["about"].tobytes())
                if about["format"] != FORMAT:
                    return None
                parts = {name: _part(kind, name, arrays, about["numbers"]) for name, kind in _PARTS.items()}
                image = arrays["image"].astype(np.uint8, casting="no").tobytes()
            made = LearnedTable(
                image=image,
                code=int(about["code"]),
                linker=str(about["linker"]),
                tails=tuple(int(step) for step in about["tails"]),
                build_id=str(about["build_id"]),
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
    anchors = count + len(sections) + 2
    wanted: list[tuple[NDArray[Any], str, int, int]] = [
        (table.pieces.size, "<i8", 0, len(table.image)),
        (table.pieces.align, "<i8", 0, 1 << 32),
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
        wanted += [(groups.piece, "<i8", 0, count - 1), (groups.group, "<i8", 0, many - 1)]
        if int(groups.count.sum()) > symbols or min(groups.first, groups.last) < 0 or groups.first + groups.last > many:
            raise ValueError("other groups of symbols than were written")
    if names is not None:
        many = len(names.begin)
        wanted += [(names.begin, "<i8", 0, len(table.image)), (names.size, "<i8", 0, len(table.image))]
        wanted += [(names.string, "<i8", -1, many - 1), (names.exact, "<i8", -1, many - 1)]
        if len(names.string) != symbols or len(names.exact) != symbols:
            raise ValueError("names of other symbols")
    for values, kind, least, most in wanted:
        if (
            values.dtype.str != kind
            or values.ndim != 1
            or (len(values) and not least <= int(values.min()) <= int(values.max()) <= most)
        ):
            raise ValueError("other arrays than were written")
    if (
        not 0 <= table.code < len(sections)
        or not table.tails
        or not 0 < min(table.tails) <= max(table.tails) <= 1 << 20
        or table.linker not in ("gnu", "lld")
    ):
        raise ValueError("other values than were written")
    begin = table.pieces.address - int(sections["addr"][table.code])
    if (begin < 0).any() or (begin + table.pieces.size > int(table.skeleton.stored[table.code])).any():
        raise ValueError("code outside its section")
    if len({len(table.pieces.size), len(table.pieces.align), len(table.pieces.address)}) > 1:
        raise ValueError("arrays of different lengths")
    if len({len(table.fields.place), len(table.fields.wide), len(table.fields.home), len(table.fields.target)}) > 1:
        raise ValueError("arrays of different lengths")
