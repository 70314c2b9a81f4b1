"""Where the relocations of a link were applied, as a link with --emit-relocs has them beside what it writes.

Only where a field is and what kind it is of is taken from there, and of which section its symbol is; what it leads to
is told by how it moves (`layoutrand.permute.anchors`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.objects.known.x86_64 import NUMBER
from layoutrand.permute.anchors import FIXED, NOBODY, Probed
from layoutrand.permute.fields import HALF, Candidates, Form, candidates, words
from layoutrand.permute.linker_made import STUBS
from layoutrand.permute.skeleton import Numbers

_ABSOLUTE: Final = {"64": True, "32": False, "32S": False}
_RELATIVE: Final = {"PC32": False, "PLT32": False, "GOTPC32": False, "PC64": True, "GOTPC64": True}
_THROUGH_GOT: Final = ("GOTPCREL", "GOTPCRELX", "REX_GOTPCRELX")
_OF_THREADS: Final = ("GOTTPOFF", "TLSGD", "TLSLD", "GOTPC32_TLSDESC")
_CONSTANT: Final = (*("NONE", "DTPOFF64", "TPOFF64", "DTPOFF32", "TPOFF32", "SIZE32", "SIZE64", "TLSDESC_CALL"),)
_FROM_END: Final = ("TPOFF32", "TPOFF64", "GOTTPOFF")
"""How far something is from the end of the storage of threads."""

_IMMEDIATE: Final = (0xC7, 0x81, 0xF7)
_REGISTER: Final = 0xC0
"""Opcodes with a constant, and what follows them where it goes to a register: what a load from the GOT may become."""

_JUMP: Final = 0xE9
_TLS_CALLS: Final = (8, 5, 6)
"""How far behind the field of TLSGD or TLSLD that of the call is."""

_NARROW: Final = 0xFFFFFFFF
"""An address of 32 bits has no sign."""

_TRIED: Final = 8
"""Addresses before a word at which its table may begin."""

_BEHIND: Final = 4
"""Bytes: a distance in an instruction is from what follows the field."""


def of_link(emitted: elf.Elf, probed: Probed, data: bytes, names: list[str]) -> list[Candidates]:
    """The fields that relocations were applied to, by their sections; ``data`` is identity's file.

    Raises `NotPermuted` where the emitted file does not have identity's sections, or a relocation is not known.
    """
    numbers = {name: number for number, name in enumerate(names)}
    found: list[Candidates] = []
    skeleton = probed.identity.skeleton
    hints = _Hints(emitted, numbers, probed)
    if len(set(emitted.section_names)) != emitted.section_count or len(numbers) != len(names):
        raise NotPermuted("two of its output sections have one name")
    kept = (emitted.sections["type"] == elf.SHT_RELA) & (emitted.sections["flags"] & elf.SHF_ALLOC == 0)
    code = emitted.sections["flags"][emitted.sections["info"][kept] % max(emitted.section_count, 1)] & elf.SHF_EXECINSTR
    for of in np.flatnonzero(kept)[np.argsort(code == 0, kind="stable")].tolist():  # code first: it tells of tables
        target, table = int(emitted.sections["info"][of]), emitted.entries(of, elf.RELA)
        if target >= emitted.section_count or (len(table) and int(table["info"].max()) >> 32 >= len(emitted.symbols)):
            raise NotPermuted("--emit-relocs leaves a damaged file")
        name = emitted.section_names[target]
        if not len(table) or name == ".eh_frame":  # that is read as what it is
            continue
        number = numbers.get(name)
        if number is None or int(emitted.sections["size"][target]) != int(skeleton.sections["size"][number]):
            raise NotPermuted(f"--emit-relocs changes {name}")
        begin = int(skeleton.sections["offset"][number])
        content = np.frombuffer(data, np.uint8, int(skeleton.stored[number]), begin)
        found += _of_section(emitted, target, table, content, hints, probed, number)
    return found


def goes_by_storage(emitted: elf.Elf) -> bool:
    """Whether code says how far address 0 is from the end of the storage of threads.

    So GNU ld resolves thread-local symbols that are weak and undefined, of which the C library has some. That number
    goes against the storage's address, as no field does that is known here.
    """
    undefined, imported = emitted.symbol_sections == elf.SHN_UNDEF, _imported(emitted)
    kept = (emitted.sections["type"] == elf.SHT_RELA) & (emitted.sections["flags"] & elf.SHF_ALLOC == 0)
    for of in np.flatnonzero(kept).tolist():
        table = emitted.entries(of, elf.RELA)
        types, symbols = elf.relocation_types(table), elf.relocation_symbols(table)
        named = np.isin(types, [NUMBER[name] for name in _FROM_END]) & (symbols != 0)
        names = emitted.symbol_names(np.unique(symbols[named & undefined[symbols]]))
        if not {name.partition("@")[0] for name in names} <= imported:  # GNU ld writes versions behind them
            return True
    return False


def _imported(binary: elf.Elf) -> set[str]:
    """Names that the dynamic linker looks up in libraries, at the start."""
    found: set[str] = set()
    for of in np.flatnonzero(binary.sections["type"] == elf.SHT_DYNSYM).tolist():
        table = binary.entries(of, elf.SYMBOL)
        here = table["name"][table["shndx"] == elf.SHN_UNDEF]
        found.update(binary.strings(int(binary.sections["link"][of]), here))
    return found


class _Hints:
    """What symbols tell of where fields lead."""

    def __init__(self, emitted: elf.Elf, numbers: dict[str, int], probed: Probed) -> None:
        home = emitted.symbol_sections.astype(np.int64)
        real = (home > 0) & (home < emitted.section_count)
        here = np.array([numbers.get(name, NOBODY) for name in emitted.section_names], np.int64)
        number = np.where(real, here[np.where(real, home, 0)], NOBODY)
        loaded = emitted.sections["flags"] & elf.SHF_ALLOC != 0
        self.counts = ~real | loaded[np.where(real, home, 0)]
        """Whether a symbol may be of something that is loaded."""
        self.undefined = home == elf.SHN_UNDEF
        self.section = np.where(number != NOBODY, probed.identity.section(0) + number, NOBODY)
        skeleton = probed.identity.skeleton
        named = np.isin(number, skeleton.homes) & (emitted.symbols["info"] & 0xF != elf.STT_SECTION)
        held = probed.holder(emitted.symbols["value"].astype(np.int64))
        self.section = np.where(named & (held != NOBODY), held, self.section)
        self._probed, self._skeleton, self._first = probed, skeleton, probed.identity.section(0)
        self._read: list[tuple[Numbers, Numbers]] = []

    def of(self, symbols: Numbers, said: Numbers, *, loaded: bool) -> Numbers:
        """The anchors of what the symbols are of, where fields say these addresses.

        A call of what another library may define, or of an IFUNC, leads to a stub and not to what its symbol is of; and
        where that keeps its place in the orders that are learned from, the two move alike.
        """
        hint = self.section[symbols]
        if not loaded:
            return hint
        sections, ends = self._skeleton.sections, self._skeleton.ends
        for number in (at for at, name in enumerate(self._skeleton.names) if name in STUBS):
            begin = int(sections["addr"][number])
            hint = np.where((said >= begin) & (said < int(ends[number])), self._first + number, hint)
        return hint

    def of_tables(self, hint: Numbers, said: Numbers, place: Numbers, section: int) -> Numbers:
        """The same for words at these places of a section of data that say how far something is from their table.

        What they say is as far behind that as the word is behind the table's begin, which may be in another piece that
        moved alike. A table of jumps begins where the code says that leads there; a table of another kind begins a
        section, so that is where a piece does.
        """
        hint = self.in_jumps(hint, said, place)
        probed = self._probed
        if section not in self._skeleton.homes:
            return hint
        table = probed.home(place, section)
        target = said - np.where(table <= len(probed.pieces), place - probed.identity.addresses[table], 0)
        held = probed.holder(target)
        among = (held > FIXED) & (held <= len(probed.pieces))
        within = probed.identity.section(0) + probed.pieces.section[np.where(among, held - 1, 0)]
        return np.where(among & (hint == within), held, hint)

    def read(self, place: Numbers, said: Numbers, section: int) -> None:
        """Note that code at these places of a section leads to these addresses, where tables of jumps may begin."""
        self._read.append((said, self._probed.home(place, section)))

    @cached_property
    def _begins(self) -> tuple[Numbers, Numbers]:
        """The addresses that code leads to, in order, and pairs of the number of one and a piece that does."""
        if not self._read:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        said, pieces = (np.concatenate(each) for each in zip(*self._read, strict=True))
        begins, number = np.unique(said, return_inverse=True)
        return begins, np.unique(self._pair(number.astype(np.int64), pieces))

    def _pair(self, number: Numbers, anchor: Numbers) -> Numbers:
        return number * len(self._probed.identity.addresses) + anchor

    def in_jumps(self, hint: Numbers, said: Numbers, place: Numbers) -> Numbers:
        """The same for those of them that are in tables of jumps.

        Of the words of a table, at least one behind the first leads into a piece of code that leads to the table, or to
        the begin of a piece: so words that say how far something is from themselves are told from it.
        """
        begins, pairs = self._begins
        if not len(begins) or not len(place):
            return hint
        order = np.argsort(place, kind="stable")
        at = place[order]
        run = np.maximum.accumulate(np.where(np.append(True, np.diff(at) != HALF), at, 0))
        number = np.searchsorted(begins, at, side="right") - 1
        left = hint[order] == self._first + self._skeleton.code
        found = hint.copy()
        for _ in range(_TRIED):  # what code leads to within a table begins none
            left &= (number >= 0) & (begins[np.maximum(number, 0)] >= run)
            if not left.any():
                break
            table = begins[np.maximum(number, 0)]
            target = said[order] - (at - table)
            held = self._probed.holder(target)
            leads = left & (held > FIXED) & (held <= len(self._probed.pieces))
            meant = np.isin(self._pair(number, held), pairs) | (self._probed.identity.addresses[held] == target)
            told = leads & np.isin(number, number[leads & (at > table) & meant])
            found[order[told]] = held[told]
            left &= ~told
            number = number - 1
        return found


def _of_section(
    emitted: elf.Elf,
    target: int,
    table: elf.Table,
    content: NDArray[np.uint8],
    hints: _Hints,
    probed: Probed,
    number: int,
) -> list[Candidates]:
    types, symbols = elf.relocation_types(table), elf.relocation_symbols(table)
    offset = table["offset"].astype(np.int64) - int(emitted.sections["addr"][target])
    if len(offset) and (int(offset.min()) < 0 or int(offset.max()) >= len(content)):
        raise NotPermuted(f"a relocation lies outside {emitted.section_names[target]}")
    data, begin = content.tobytes(), int(probed.identity.skeleton.sections["addr"][number])
    executable = int(emitted.sections["flags"][target]) & elf.SHF_EXECINSTR != 0
    loaded = int(emitted.sections["flags"][target]) & elf.SHF_ALLOC != 0
    behind = _BEHIND if executable else 0
    offset = _unmoved(types, offset, content)
    loose = np.isin(types, [NUMBER[name] for name in _OF_THREADS]) | _tls_call(types, offset)
    known = np.isin(types, [NUMBER[name] for name in _CONSTANT])
    counts = hints.counts[symbols] & ((symbols != 0) | loaded)
    found = []
    for name, wide in _ABSOLUTE.items():
        which = types == NUMBER[name]
        known |= which
        which &= counts
        which[which] = words(data, offset[which], wide=wide) != 0  # the dynamic linker's to fill in
        if which.any():
            said = words(data, offset[which], wide=wide)
            hint = hints.of(symbols[which], said if wide else said & _NARROW, loaded=loaded)
            if executable:
                hints.read(begin + offset[which], said if wide else said & _NARROW, number)
            found.append(candidates(probed, number, offset[which], Form(wide, relative=False), hint))
    for name, wide in _RELATIVE.items():
        which = types == NUMBER[name]
        known |= which
        if which.any() and not loaded:
            raise NotPermuted(f"{emitted.section_names[target]} holds distances")
        for free in (True, False):
            part = which & (loose != free)
            if part.any():
                said = words(data, offset[part], wide=wide) + begin + offset[part] + behind
                hint = hints.of(symbols[part], said, loaded=loaded)
                if executable:
                    hints.read(begin + offset[part], said, number)
                else:
                    hint = hints.of_tables(hint, said, begin + offset[part], number)
                found.append(candidates(probed, number, offset[part], Form(wide, True, behind, not free), hint))
    immediate = np.isin(content[np.maximum(offset - 2, 0)], _IMMEDIATE) & (
        content[np.maximum(offset - 1, 0)] >= _REGISTER
    )
    for name in (*_THROUGH_GOT, *_OF_THREADS):
        which = types == NUMBER[name]
        known |= which
        if name in _THROUGH_GOT and (which & immediate).any():
            found.append(candidates(probed, number, offset[which & immediate], Form(False, False)))
            which &= ~immediate
        if which.any():
            found.append(candidates(probed, number, offset[which], Form(False, True, behind, True)))
    if not known.all():
        kind = int(types[~known][0])
        raise NotPermuted(f"a relocation of type {kind} in {emitted.section_names[target]} is not known")
    return found


def _unmoved(types: Numbers, offset: Numbers, content: NDArray[np.uint8]) -> Numbers:
    """Where the fields are: that of a jump through the GOT is a byte ahead where the jump is a direct one."""
    before = content[np.maximum(offset - 2, 0)]
    moved = (types == NUMBER["GOTPCRELX"]) & (before == _JUMP) & (offset >= 2)
    return np.asarray(offset - moved, np.int64)


def _tls_call(types: Numbers, offset: Numbers) -> NDArray[np.bool_]:
    """Which fields are of calls that a linker may have taken out."""
    threads = offset[np.isin(types, (NUMBER["TLSGD"], NUMBER["TLSLD"]))]
    places = np.concatenate([threads + step for step in _TLS_CALLS])
    return np.asarray(np.isin(offset, places), np.bool_)
