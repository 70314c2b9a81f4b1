"""The symbol table: values, and with GNU ld the order of local symbols and of their names, which follows the code's.

GNU ld writes the local symbols of an object when it comes to the first section of it, and names in the order in which
symbols are written, one that ends another within that.  An object that `ld -r` made of several names the file of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.permute.anchors import FIXED, NOBODY, Probed
from layoutrand.permute.fields import Fields
from layoutrand.permute.skeleton import Numbers

_VALUE: Final = 8
"""Where in an entry the value is."""

_NONE: Final = np.empty(0, np.int64)


@dataclass(frozen=True)
class SymbolGroups:
    """Symbols that stay together: of each, where it begins and how many there are, in identity's order.

    ``first`` and ``last`` groups stay where they are; the others go by the first of their pieces in the code.
    ``piece`` and ``group`` are pairs: which pieces each group has.
    """

    begin: Numbers
    count: Numbers
    piece: Numbers
    group: Numbers
    first: int
    last: int

    def order(self, code: Numbers) -> Numbers:
        """The order of the groups where pieces have the order ``code``."""
        slot = np.empty(len(code), np.int64)
        slot[code] = np.arange(len(code))
        key = np.full(len(self.begin), np.iinfo(np.int64).max)
        np.minimum.at(key, self.group, slot[self.piece])
        middle = slice(self.first, len(self.begin) - self.last)
        order = np.arange(len(self.begin))
        order[middle] = self.first + np.argsort(key[middle], kind="stable")
        return order

    def rows(self, code: Numbers, total: int) -> Numbers:
        """The row of identity that stands in each row of the table, of ``total`` rows."""
        if not len(self.begin):
            return np.arange(total)
        order = self.order(code)
        begin, count = self.begin[order], self.count[order]
        inside = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        middle = np.repeat(begin, count) + inside
        start = int(self.begin[0])
        return np.concatenate([np.arange(start), middle, np.arange(start + len(middle), total)])


@dataclass(frozen=True)
class Names:
    """A string table that is written anew: where each string begins in identity's, and its size with the end.

    ``string`` is the one that each symbol's name is the end of, ``exact`` where it is all of it; else `NOBODY`.
    """

    begin: Numbers
    size: Numbers
    string: Numbers
    exact: Numbers

    def written(self, old: bytes, rows: Numbers, name: Numbers) -> tuple[bytes, Numbers]:
        """The table, and where in it the names of the ``rows`` are, whose names were at ``name`` in the ``old`` one."""
        position = np.full(len(self.begin), len(rows), np.int64)
        exact = self.exact[rows]
        which = np.flatnonzero(exact != NOBODY)
        np.minimum.at(position, exact[which], which)
        order = np.argsort(position, kind="stable")
        size = self.size[order]
        begin = np.empty(len(order), np.int64)
        begin[order] = 1 + np.cumsum(size) - size
        at = self.begin[order]  # what follows each other in the old one is taken at once: most of it does
        first = np.flatnonzero(np.append(True, at[1:] != at[:-1] + size[:-1]))
        last = np.append(first[1:] - 1, len(at) - 1) if len(at) else first
        runs = zip(at[first].tolist(), (at + size)[last].tolist(), strict=True) if len(at) else ()
        table = b"\0" + b"".join([old[start:end] for start, end in runs])
        string = self.string[rows]
        within = name[rows] - self.begin[np.maximum(string, 0)]
        return table, np.where(string == NOBODY, 0, begin[np.maximum(string, 0)] + within)


def groups_of(
    binary: elf.Elf,
    owners: Sequence[str],
    marks: Numbers,
    code: NDArray[np.bool_],
    probes: Sequence[elf.Elf],
    orders: Sequence[Numbers],
) -> SymbolGroups:
    """The groups of GNU ld's table; ``marks`` is the row of each piece's own symbol, ``owners`` the pieces' objects.

    Which pieces are ``code`` decides: an object without has an empty section behind all code. ``orders`` are those of
    identity and of the probes. Raises `NotPermuted` where it cannot be told what belongs together.
    """
    table = binary.symbol_table
    assert table is not None
    local = int(binary.sections["info"][table])
    kinds = binary.symbols["info"][:local] & 0xF
    files = np.flatnonzero(kinds == elf.STT_FILE).astype(np.int64)
    if (marks >= local).any():
        raise NotPermuted("its symbol table does not tell what is of which object")
    # The marks are the last local symbols of each object, so the next begins there, also where no file is named.
    in_rows = np.argsort(marks, kind="stable")
    ends = [row for row, after in pairwise(in_rows.tolist()) if owners[row] != owners[after]]
    behind_marks = marks[[*ends, *in_rows[-1:].tolist()]] + 1
    begin = np.unique(np.concatenate([files, behind_marks[behind_marks < local]]))
    if not len(begin):
        raise NotPermuted("its symbol table does not tell what is of which object")
    if (np.flatnonzero(kinds[: begin[0]] != elf.STT_SECTION) > 0).any():
        raise NotPermuted("an object's symbols are without the name of a file")
    group = np.searchsorted(begin, marks, side="right") - 1
    of: dict[int, str] = {}
    for number, owner in zip(group.tolist(), owners, strict=True):
        if of.setdefault(number, owner) != owner:
            raise NotPermuted(f"{owner} has no name of a file among its symbols")
    ended = np.zeros(len(begin), bool)
    ended[group] = True
    with_code = np.flatnonzero(np.bincount(group[code], minlength=len(begin)))
    lead, behind = int(with_code[0]), len(begin) - 1 - int(with_code[-1])
    piece = np.flatnonzero(code).astype(np.int64)
    # Names of files in front of all code may be of objects that stay, or the first ones of an object that does not.
    for first in (*range(lead, -1, -1), *range(lead + 1, len(begin) - behind + 1)):
        # An object that `ld -r` linked names the files of all that it is made of before its marks.
        opens = np.append(True, ended[:-1])
        opens[: first + 1] = opens[len(begin) - behind :] = True
        count = np.diff(np.append(begin[opens], local))
        number = (np.cumsum(opens) - 1)[group[piece]]
        found = SymbolGroups(begin[opens], count, piece, number.astype(np.int64), first, behind)
        if all(_fits(found, binary, each, order) for each, order in zip((binary, *probes), orders, strict=True)):
            return found
    raise NotPermuted("its symbols are in an order that is not understood")


def _fits(groups: SymbolGroups, identity: elf.Elf, binary: elf.Elf, code: Numbers) -> bool:
    """Whether the table of another layout has identity's symbols in the order that the groups have then."""
    rows = groups.rows(code, len(identity.symbols))
    if len(binary.symbols) != len(rows):
        return False
    return all(np.array_equal(binary.symbols[name], identity.symbols[name][rows]) for name in ("info", "shndx", "size"))


def names_of(binary: elf.Elf) -> Names:
    """The string table of identity; raises `NotPermuted` where it is not written as GNU ld does."""
    table = binary.symbol_table
    assert table is not None
    content = np.frombuffer(binary.view(int(binary.sections["link"][table])), np.uint8)
    name = binary.symbols["name"].astype(np.int64)
    ends = np.flatnonzero(content == 0).astype(np.int64)
    if not len(ends) or ends[0] != 0 or ends[-1] != len(content) - 1:
        raise NotPermuted("its table of names is of a form that is not known")
    begin = ends[:-1] + 1
    size = np.diff(ends)
    if not len(begin):
        return Names(_NONE, _NONE, np.full(len(name), NOBODY), np.full(len(name), NOBODY))
    string = np.searchsorted(begin, name, side="right") - 1
    string = np.where(name == 0, NOBODY, string)
    exact = np.where((string != NOBODY) & (begin[np.maximum(string, 0)] == name), string, NOBODY)
    if len(np.unique(exact[exact != NOBODY])) != len(begin):
        raise NotPermuted("its table of names has some that are no symbol's")
    return Names(begin, size, string, exact)


def values_of(
    probed: Probed, binary: elf.Elf, section: int, probes: Sequence[elf.Elf], rows: Sequence[Numbers]
) -> Numbers:
    """The anchor of each symbol of a table of identity; ``rows`` says for each probe where identity's rows are.

    Raises `NotPermuted` for a symbol that does not move as anything does.
    """
    table = binary.entries(section, elf.SYMBOL)
    home = table["shndx"].astype(np.int64)
    if (home == elf.SHN_XINDEX).any():
        raise NotPermuted("it has more sections than symbols can name")
    address = table["value"].astype(np.int64)
    # What a library defines has an address where it is compared with others: that of its stub.
    defined = (home < elf.SHN_LORESERVE) & (address != 0) & (table["info"] & 0xF != elf.STT_TLS)
    moved = np.zeros((len(table), len(probes)), np.int64)
    for column, (probe, where) in enumerate(zip(probes, rows, strict=True)):
        other = probe.entries(section, elf.SYMBOL)
        if len(other) != len(table):
            raise NotPermuted("another order has other symbols")
        moved[where, column] = other["value"].astype(np.int64) - address[where]
    still = (moved == 0).all(axis=1)
    defined |= (home == elf.SHN_ABS) & ~still  # as what --defsym makes of an expression
    unknown = np.isin(home, (elf.SHN_UNDEF, elf.SHN_ABS))
    sections = probed.identity.skeleton.sections
    of = sections[np.where(home < len(sections), home, 0)]
    begin, size = (of[name].astype(np.int64) for name in ("addr", "size"))
    placed = np.isin(home, probed.identity.skeleton.homes)
    unknown |= placed & ((address < begin) | (address > begin + size))  # as __bss_start, at the end of what is before
    hint = np.where(unknown, NOBODY, probed.identity.section(0) + home)
    anchors = np.full(len(table), FIXED, np.int64)
    anchors[defined] = probed.settle(address[defined], moved[defined], hint[defined])
    lost = (anchors == NOBODY) | (~defined & ~still)
    lost |= (home == elf.SHN_ABS) & (address != 0) & still & _may_move(probed, address)
    if lost.any():
        link = int(binary.sections["link"][section])
        name = binary.strings(link, table["name"][lost][:1])[0]
        raise NotPermuted(f"what {name} is the address of cannot be told")
    return anchors


def _may_move(probed: Probed, address: Numbers) -> NDArray[np.bool_]:
    """Which addresses are in pieces that keep their places in all probes: a constant is not told from one of these."""
    held = probed.holder(address)
    among = (held > FIXED) & (held <= len(probed.pieces))
    return np.asarray(among & (probed.shifts[np.maximum(held, 0)] == 0).all(axis=1), np.bool_)


def as_fields(binary: elf.Elf, section: int, anchors: Numbers) -> Fields:
    """The values of a table of symbols as fields."""
    moving = np.flatnonzero(anchors != FIXED)
    place = int(binary.sections["offset"][section]) + moving * elf.SYMBOL.itemsize + _VALUE
    return Fields(place, np.ones(len(moving), bool), np.zeros(len(moving), np.int32), anchors[moving].astype(np.int32))
