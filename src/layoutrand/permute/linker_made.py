"""Fields of what linkers make by themselves, which no relocation tells of: the dynamic linker's tables, GOT, stubs."""

from __future__ import annotations

from typing import Final

import numpy as np

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.permute.anchors import Probed
from layoutrand.permute.fields import ADDRESS, WORD, Candidates, Form, candidates
from layoutrand.permute.skeleton import Numbers

_OF_GNU: Final = (0x6FFFFEF5, 0x6FFFFEF6, 0x6FFFFEF7, 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE)
_PLT_OF_X86_64: Final = 0x70000000
_ADDRESSES: Final = (3, 4, 5, 6, 7, 12, 13, 23, 25, 26, 32, 36, *_OF_GNU, _PLT_OF_X86_64)
"""Tags whose value is an address: DT_PLTGOT, HASH, STRTAB, SYMTAB, RELA, INIT, FINI, JMPREL, INIT_ARRAY, ...

Of GNU: DT_GNU_HASH, TLSDESC_PLT, TLSDESC_GOT (of ``-mtls-dialect=gnu2``), VERSYM, VERDEF, VERNEED; of ``-z mark-plt``
DT_X86_64_PLT.
"""

_NUMBERS: Final = (
    *(0, 1, 2, 8, 9, 10, 11, 14, 15, 16, 18, 19, 20, 21, 22, 24, 27, 28, 29, 30, 33, 35, 37),
    *range(0x6FFFFD00, 0x6FFFFE00),  # DT_VALRNGLO to DT_VALRNGHI
    *(0x6FFFFEFB, 0x6FFFFEFC),  # DT_DEPAUDIT and AUDIT, which are names for all their range
    *(0x6FFFFFF9, 0x6FFFFFFA, 0x6FFFFFFB, 0x6FFFFFFD, 0x6FFFFFFF),
    *(0x70000001, 0x70000003, 0x70000005),  # sizes of DT_X86_64_PLT, and flags of AArch64 and RISC-V
    *(0x7FFFFFFD, 0x7FFFFFFE, 0x7FFFFFFF),
)
"""Tags whose value is none: DT_NEEDED and other names, sizes, counts, flags (elf.h of glibc 2.41, System V gABI)."""

_RELATIVE: Final = 8
_INDIRECT: Final = 37
_LATE: Final = (5, _INDIRECT)
"""What GNU ld has behind the others: COPY, IRELATIVE."""

_WITH_ADDRESS: Final = (_RELATIVE, _INDIRECT)
"""Relocations of the dynamic linker whose addend is an address."""

_GOT: Final = (".got", ".got.plt", ".igot", ".igot.plt")
STUBS: Final = (".plt", ".plt.got", ".plt.sec", ".iplt")
"""Sections of stubs: calls of what another library may define, and of IFUNCs, lead to these."""

# What stubs consist of: bytes, and where in them a field of 32 bits is that leads from behind itself.
_FORMS: Final[tuple[tuple[bytes, int], ...]] = (
    (b"\xf3\x0f\x1e\xfa", 0),  # endbr64
    (b"\xf2\xff\x25", 4),  # bnd jmp *f(%rip)
    (b"\xff\x25", 4),  # jmp *f(%rip)
    (b"\xff\x35", 4),  # push GOT+8(%rip)
    (b"\xf2\xe9", 4),  # bnd jmp
    (b"\xe9", 4),  # jmp
    (b"\x68", -4),  # push $number
    (bytes(16), 0),  # of a stub that is not needed
    (b"\x90", 0),
    (b"\x66\x90", 0),
    (b"\x0f\x1f\x00", 0),
    (b"\x0f\x1f\x40\x00", 0),
    (b"\x0f\x1f\x44\x00\x00", 0),
    (b"\x66\x0f\x1f\x44\x00\x00", 0),
    (b"\x0f\x1f\x80\x00\x00\x00\x00", 0),
    (b"\x0f\x1f\x84\x00\x00\x00\x00\x00", 0),
    (b"\x66\x0f\x1f\x84\x00\x00\x00\x00\x00", 0),
    (b"\xcc", 0),
)


def of_linker(binary: elf.Elf, probed: Probed) -> list[Candidates]:
    """The fields of identity's GOT, stubs, dynamic section, and the dynamic linker's relocations."""
    found: list[Candidates] = []
    for number, name in enumerate(binary.section_names):
        row = binary.sections[number]
        if not int(row["flags"]) & elf.SHF_ALLOC or not int(row["size"]):
            continue
        kind = int(row["type"])
        if kind == elf.SHT_DYNAMIC:
            table = binary.entries(number, elf.DYNAMIC)
            refuse_unknown_entries(name, table)
            which = np.flatnonzero(np.isin(table["tag"], _ADDRESSES)).astype(np.int64)
            found.append(candidates(probed, number, which * elf.DYNAMIC.itemsize + WORD, ADDRESS))
        elif kind == elf.SHT_RELA:
            found += _of_dynamic_relocations(binary, number, probed)
        elif name in _GOT and kind != elf.SHT_NOBITS:
            count = int(row["size"]) // WORD
            found.append(candidates(probed, number, np.arange(count) * WORD, ADDRESS))
        elif name in STUBS:
            found.append(
                candidates(probed, number, _of_stubs(binary, number), Form(wide=False, relative=True, behind=4))
            )
        elif kind == elf.SHT_REL:
            raise NotPermuted(f"{name} has relocations of another form")
    return found


def refuse_unknown_entries(name: str, table: elf.Table) -> None:
    """Raise `NotPermuted` where an entry for the dynamic linker may be an address that is not known as one.

    It would keep identity's value where it has to change, and only the linker's repetition of a layout could show that.
    """
    known = np.isin(table["tag"], (*_ADDRESSES, *_NUMBERS)) | (table["value"] == 0)
    if not known.all():
        raise NotPermuted(f"{name} has an entry of an unknown kind (tag {int(table['tag'][~known][0]):#x})")


def _of_dynamic_relocations(binary: elf.Elf, number: int, probed: Probed) -> list[Candidates]:
    table = binary.entries(number, elf.RELA)
    code = probed.identity.skeleton
    row = code.sections[code.code]
    begin, end = int(row["addr"]), int(row["addr"]) + int(row["size"])
    if ((table["offset"] >= begin) & (table["offset"] < end)).any():
        raise NotPermuted("the dynamic linker changes its code")
    at = np.arange(len(table), dtype=np.int64) * elf.RELA.itemsize
    types = elf.relocation_types(table)
    targets = np.isin(types, _WITH_ADDRESS)
    return [
        candidates(probed, number, at[table["offset"] != 0], ADDRESS),
        candidates(probed, number, at[targets] + elf.RELA.itemsize - WORD, ADDRESS),
    ]


def by_place(table: elf.Table, linker: str) -> Numbers:
    """The order in which a linker has these rows: relative ones first, then by symbol, each by place.

    GNU ld has symbols in the order of their first places, and by what is done behind that.
    """
    types, symbol = elf.relocation_types(table), elf.relocation_symbols(table)
    place = table["offset"].astype(np.int64)
    late = np.select([types == _RELATIVE, *(types == kind for kind in _LATE)], [0, *range(2, 2 + len(_LATE))], 1)
    if linker == "gnu":
        first = np.full(int(symbol.max(initial=0)) + 1, np.iinfo(np.int64).max)
        named = types != _RELATIVE  # without a symbol, too, as of a library's own thread-local variables
        np.minimum.at(first, symbol[named], place[named])
        symbol = np.where(types == _RELATIVE, 0, first[symbol])
    elif linker == "lld":
        late = np.where(types == _RELATIVE, 0, np.where(types == _INDIRECT, 2, 1))
    return np.asarray(np.lexsort((place, symbol, late)), np.int64)


def _of_stubs(binary: elf.Elf, number: int) -> Numbers:
    """Offsets of the fields in a section of stubs; raises `NotPermuted` for one of another form."""
    content = binary.content(number)
    at, found = 0, []
    forms = sorted(_FORMS, key=lambda form: -len(form[0]))
    while at < len(content):
        form = next((each for each in forms if content.startswith(each[0], at)), None)
        if form is None and not any(content[at:]):
            break
        if form is None:
            raise NotPermuted(f"{binary.section_names[number]} has stubs of a form that is not known")
        at += len(form[0])
        if form[1] > 0:
            found.append(at)
        at += abs(form[1])
    return np.array(found, np.int64)
