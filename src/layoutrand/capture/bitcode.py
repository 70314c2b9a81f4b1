"""clang's link-time optimisation replayed by lld without generating code again.

The native objects are kept; they stand behind everything else on the line, which is where lld itself puts them.  What
they were made of had its say before that: it pulled archive members in, it claimed COMDAT groups before plain objects,
and it fixed the order of symbols, by which lld orders dynamic symbols, PLT and GOT.
So *stubs* are linked too, objects in which no section is loaded:

- in place of each piece of bitcode one that mentions its symbols and claims its groups;
- ahead of each archive with bitcode one that mentions symbols as lld met them when it pulled members in;
- ahead of each native object one that has its undefined symbols: where lld generates the object itself, members that it
  pulls in come before it, and not behind.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.objects import elf

FAT_SECTION: Final = ".llvm.lto"
_MAGIC: Final = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
_UNDEFINED: Final = "U"
_WEAKLY_UNDEFINED: Final = ("w", "v")
_NAME_AT: Final = 19  # sixteen digits, a blank, the type, a blank
_TYPE_AT: Final = 17

_STB_LOCAL, _STB_GLOBAL, _STB_WEAK = 0, 1, 2
# Neutral in the conjunction over all objects: every x86 feature that objects may promise (IBT, SHSTK).
_PROPERTY: Final = struct.pack("<III4sIIII", 4, 16, 5, b"GNU\0", 0xC0000002, 4, 3, 0)
_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")


@dataclass(frozen=True)
class Symbol:
    """A symbol of a piece of bitcode: whether it is ``defined`` there, else whether it must be found elsewhere."""

    name: str
    defined: bool
    strong: bool


@dataclass(frozen=True)
class Module:
    """A piece of bitcode: what the link calls it, and its symbols in its own order."""

    name: str
    symbols: tuple[Symbol, ...]


@dataclass(frozen=True)
class Stub:
    """What a stub has: undefined symbols, each with whether it pulls archive members in, and the groups it claims."""

    symbols: tuple[tuple[str, bool], ...]
    groups: tuple[str, ...] = ()


def is_bitcode(data: bytes) -> bool:
    """Whether the bytes begin as LLVM's bitcode does."""
    return data[:4] in _MAGIC


def fat_part(data: bytes) -> bytes | None:
    """The bitcode inside an object of ``-ffat-lto-objects``, or None."""
    if not elf.is_elf(data):
        return None
    source = elf.read(data, name="an object")
    at = next((index for index, name in enumerate(source.section_names) if name == FAT_SECTION), None)
    return None if at is None else source.content(at)


def read_symbols(listing: str) -> tuple[Symbol, ...]:
    """The global symbols in what ``llvm-nm --no-sort`` prints of one file."""
    symbols = []
    for row in listing.splitlines():
        type_, name = row[_TYPE_AT : _TYPE_AT + 1], row[_NAME_AT:]
        if not name:
            continue
        if type_ == _UNDEFINED or type_ in _WEAKLY_UNDEFINED:
            symbols.append(Symbol(name, False, type_ == _UNDEFINED))
        elif type_.isupper():
            symbols.append(Symbol(name, True, False))
    return tuple(symbols)


@dataclass(frozen=True)
class BitcodeMember:
    """A member of an archive: what the link calls it, the symbols it defines, and its number among the modules."""

    name: str
    offers: tuple[str, ...]
    module: int | None


@dataclass(frozen=True)
class Extraction:
    """An archive member that was pulled in, ``by`` whom, and the ``others`` that it pulled in itself at once."""

    by: str
    name: str
    others: tuple[Extraction, ...]


def extractions(rows: Iterable[tuple[str, str]]) -> list[Extraction]:
    """Who pulled whom in, from what lld says: a row (by, name) for each, once all that follows from it is done."""
    done: list[Extraction] = []
    for by, name in rows:
        first = len(done)
        while first and done[first - 1].by == name:
            first -= 1
        done[first:] = [Extraction(by, name, tuple(done[first:]))]
    return done


class Planner:
    """Makes the stubs of a link: ``modules`` in link order, the native objects, symbols of objects with machine code.

    Symbols that the optimisation did away with are left out: nothing would define them. lld 15 and later meets the
    symbols that a module defines before those that it does not (``defined_first``).
    """

    def __init__(
        self, modules: Sequence[Module], natives: Sequence[elf.Elf], plain: Collection[str], *, defined_first: bool
    ) -> None:
        """Find out which symbols are left, and who claims which group."""
        self._modules = [
            Module(module.name, tuple(sorted(module.symbols, key=lambda each: not each.defined)))
            if defined_first
            else module
            for module in modules
        ]
        self._known = {name for source in natives for name in global_names(source)} | set(plain)
        self._defined = {symbol.name for module in modules for symbol in module.symbols if symbol.defined}
        self._claims = _claims(modules, natives)

    def stub(self, number: int) -> Stub:
        """The stub that stands for the module of that number."""
        mentions: dict[str, bool] = {}
        for symbol in self._modules[number].symbols:
            self._mention(symbol, mentions)
        return Stub(tuple(mentions.items()), tuple(self._claims.get(number, ())))

    def ahead(self, members: Sequence[BitcodeMember], pulled: Sequence[Extraction]) -> Stub:
        """The stub that stands ahead of an archive: its members' symbols as lld met them.

        lld looks at one member after the other, and at all of one that somebody needs as soon as it is needed.
        """
        known = {member.name: member for member in members}
        waiting = [each for each in pulled if each.name in known]
        mentions: dict[str, bool] = {}
        groups: list[str] = []
        for member in members:
            for name in member.offers:
                if name in self._known:
                    mentions.setdefault(name, False)
            for each in [each for each in waiting if each.name == member.name]:
                self._pull(each, known, mentions, groups)
        return Stub(tuple(mentions.items()), tuple(groups))

    def _pull(
        self, what: Extraction, known: Mapping[str, BitcodeMember], mentions: dict[str, bool], groups: list[str]
    ) -> None:
        others = list(what.others)
        member = known.get(what.name)
        if member is not None and member.module is not None:
            groups += self._claims.get(member.module, [])
            for symbol in self._modules[member.module].symbols:
                self._mention(symbol, mentions)
                while others and others[0].name in known and symbol.name in known[others[0].name].offers:
                    self._pull(others.pop(0), known, mentions, groups)
        for other in others:
            self._pull(other, known, mentions, groups)

    def _mention(self, symbol: Symbol, mentions: dict[str, bool]) -> None:
        if symbol.name in self._known:
            strong = symbol.strong and symbol.name not in self._defined
            mentions[symbol.name] = mentions.get(symbol.name, False) or strong


def asking(native: elf.Elf) -> Stub:
    """The stub that asks for what the native object needs."""
    undefined = np.flatnonzero((native.symbol_sections == 0) & (native.symbols["info"] >> 4 == _STB_GLOBAL))
    return Stub(tuple((name, True) for name in native.symbol_names(undefined)))


def _claims(modules: Sequence[Module], natives: Sequence[elf.Elf]) -> dict[int, list[str]]:
    """The COMDAT groups that each module (by number) claims: the first that defines anything in them."""
    first: dict[str, int] = {}
    for number, module in enumerate(modules):
        for symbol in module.symbols:
            if symbol.defined:
                first.setdefault(symbol.name, number)
    claims: dict[int, list[str]] = {}
    for source in natives:
        members: dict[str, list[str]] = {}
        signatures = source.group_signatures()
        which = _globals(source)
        for name, section in zip(source.symbol_names(which), source.symbol_sections[which].tolist(), strict=True):
            if section in signatures:
                members.setdefault(signatures[section], []).append(name)
        for signature, names in members.items():
            owners = [first[name] for name in names if name in first]
            if owners:
                claims.setdefault(min(owners), []).append(signature)
    return claims


def _globals(source: elf.Elf) -> NDArray[np.intp]:
    return np.flatnonzero(source.symbols["info"] >> 4 != _STB_LOCAL)


def global_names(source: elf.Elf, *, defined: bool = False) -> list[str]:
    """Names of all symbols that are not local; of those only that are ``defined`` there, if so asked."""
    which = _globals(source)
    return source.symbol_names(which[source.symbol_sections[which] != 0] if defined else which)


def without_comdats(source: elf.Elf, plain: Collection[str] = ()) -> bytes:
    """The native object with its COMDAT groups made ordinary: lld keeps all of them, since their stubs claimed them.

    A ``plain`` object that comes first has weak definitions of the same names in discarded groups, and lld finds out
    too late that they are none: the native ones must be strong to replace them.
    """
    data = bytearray(source.data)
    grouped = np.isin(source.symbol_sections, list(source.group_signatures()))
    weak = np.flatnonzero(grouped & (source.symbols["info"] >> 4 == _STB_WEAK))
    for which, name in zip(weak.tolist(), source.symbol_names(weak), strict=True):
        if name in plain and source.symbol_table is not None:
            table = int(source.sections[source.symbol_table]["offset"])
            data[table + which * elf.SYMBOL.itemsize + 4] = _STB_GLOBAL << 4 | int(source.symbols["info"][which]) & 0xF
    for section in source.sections[source.sections["type"] == elf.SHT_GROUP]:
        at = int(section["offset"])
        if int(section["size"]) < elf.GROUP_FLAGS:
            raise source.damaged("a group of sections is empty")
        (flags,) = struct.unpack_from("<I", data, at)
        struct.pack_into("<I", data, at, flags & ~elf.GRP_COMDAT)
    return bytes(data)


def write_stub(stub: Stub, like: elf.Elf) -> bytes:
    """The stub as an ELF object for the machine of the object ``like``."""
    n_groups = len(stub.groups)
    table = 2 + n_groups
    names, at = _strings([*stub.groups, *(name for name, _ in stub.symbols)])
    symbols = np.zeros(1 + n_groups + len(stub.symbols), elf.SYMBOL)
    symbols["name"][1:] = at
    symbols["shndx"][1 : 1 + n_groups] = np.arange(2, table)  # a signature that is nobody's symbol
    bindings = [_STB_GLOBAL if strong else _STB_WEAK for _, strong in stub.symbols]
    symbols["info"][1 + n_groups :] = np.array(bindings, np.uint8) << 4
    section_names, name_at = _strings([".note.gnu.property", ".group", ".symtab", ".strtab", ".shstrtab"])
    note, group, symtab, strtab, shstrtab = name_at
    rows = [
        (note, 7, elf.SHF_ALLOC, _PROPERTY, 0, 0, 8, 0),
        *((group, elf.SHT_GROUP, 0, struct.pack("<I", elf.GRP_COMDAT), table, 1 + k, 4, 4) for k in range(n_groups)),
        (symtab, elf.SHT_SYMTAB, 0, symbols.tobytes(), table + 1, 1 + n_groups, 8, elf.SYMBOL.itemsize),
        (strtab, elf.SHT_STRTAB, 0, names, 0, 0, 1, 0),
        (shstrtab, elf.SHT_STRTAB, 0, section_names, 0, 0, 1, 0),
    ]
    return _assembled(rows, like)


def _assembled(rows: Sequence[tuple[int, int, int, bytes, int, int, int, int]], like: elf.Elf) -> bytes:
    sections = np.zeros(1 + len(rows), elf.SECTION)
    body = bytearray(_HEADER.size)
    for number, (name, type_, flags, content, link, info, align, entsize) in enumerate(rows, 1):
        body += bytes(-len(body) % 8)
        sections[number] = (name, type_, flags, 0, len(body), len(content), link, info, align, entsize)
        body += content
    body += bytes(-len(body) % 8)
    machine, processor_flags = struct.unpack_from("<H", like.data, 18)[0], struct.unpack_from("<I", like.data, 48)[0]
    _HEADER.pack_into(
        body,
        0,
        like.data[:16],
        1,
        machine,
        1,
        0,
        0,
        len(body),
        processor_flags,
        _HEADER.size,
        0,
        0,
        elf.SECTION.itemsize,
        len(sections),
        len(sections) - 1,
    )
    return bytes(body) + sections.tobytes()


def _strings(names: Iterable[str]) -> tuple[bytes, list[int]]:
    """A string table and where each name begins in it."""
    text = bytearray(b"\0")
    at = []
    for name in names:
        at.append(len(text))
        text += name.encode("utf-8", "surrogateescape") + b"\0"
    return bytes(text), at


def owners(modules: Sequence[Module]) -> Mapping[str, str]:
    """The first module that defines each symbol, by its name."""
    found: dict[str, str] = {}
    for module in modules:
        for symbol in module.symbols:
            if symbol.defined:
                found.setdefault(symbol.name, module.name)
    return found
