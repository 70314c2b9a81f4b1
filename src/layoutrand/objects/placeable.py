"""Which sections of an object file can be placed, and the kind of each (`layoutrand.objects.kinds`)."""

from __future__ import annotations

from typing import Final

from layoutrand.objects import elf
from layoutrand.objects.kinds import DATA_KINDS, classify

_ACCESS: Final = elf.SHF_ALLOC | elf.SHF_WRITE
_UNMOVED: Final = elf.SHF_EXECINSTR | elf.SHF_MERGE | elf.SHF_LINK_ORDER | elf.SHF_TLS


def code_kind(name: str, type_: int, flags: int) -> str | None:
    """The kind of a code section that can be placed, None for any other section."""
    wanted = elf.SHF_ALLOC | elf.SHF_EXECINSTR
    if type_ != elf.SHT_PROGBITS or flags & wanted != wanted or not (name == ".text" or name.startswith(".text.")):
        return None
    return classify(name)


def data_kind(name: str, type_: int, flags: int) -> str | None:
    """The kind of a data section that can be placed, None for any other section.

    Both the name and what the section is must fit: a writable ``.rodata.x`` stays where the linker puts it.
    """
    if not flags & elf.SHF_ALLOC or flags & _UNMOVED:
        return None
    kind = next((kind for kind in DATA_KINDS if name == f".{kind}" or name.startswith(f".{kind}.")), None)
    if kind is None:
        return None
    type_wanted = elf.SHT_NOBITS if kind == "bss" else elf.SHT_PROGBITS
    access = elf.SHF_ALLOC if kind == "rodata" else _ACCESS
    return kind if type_ == type_wanted and flags & _ACCESS == access else None
