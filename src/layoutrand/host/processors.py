"""Which processor a program is for, and whether this machine executes programs for it.

Numbers are those of e_machine in the System V ABI; what Linux executes beside its own machine's programs are those of
the same processor with addresses of 32 bits (CONFIG_COMPAT, CONFIG_IA32_EMULATION, CONFIG_X86_X32_ABI).
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Final

from layoutrand.objects.elf import machine_words

HEADER: Final = 128
"""Bytes from the beginning of a file, as many as binfmt_misc looks at."""

_UP_TO_MACHINE: Final = 20


@dataclass(frozen=True)
class ForeignProcessor:
    """One kind: its name for people, qemu's for it, and the directory where Debian has libraries of it; "" for none."""

    words: str
    qemu: str = ""
    libraries: str = ""

    @property
    def launcher(self) -> tuple[str, ...]:
        """The words of ``run.launcher`` that have qemu execute it, () where none is known to."""
        return (f"qemu-{self.qemu}", "-L", f"/usr/{self.libraries}") if self.qemu else ()


_EMULATED: Final = {
    (3, 1, 1): ("i386", "i686-linux-gnu"),
    (62, 2, 1): ("x86_64", "x86_64-linux-gnu"),
    (8, 2, 1): ("mips64el", "mips64el-linux-gnuabi64"),
    (21, 2, 1): ("ppc64le", "powerpc64le-linux-gnu"),
    (21, 2, 2): ("ppc64", "powerpc64-linux-gnu"),
    (22, 2, 2): ("s390x", "s390x-linux-gnu"),
    (40, 1, 1): ("arm", "arm-linux-gnueabihf"),
    (183, 2, 1): ("aarch64", "aarch64-linux-gnu"),
    (243, 2, 1): ("riscv64", "riscv64-linux-gnu"),
    (258, 2, 1): ("loongarch64", "loongarch64-linux-gnu"),
}
"""By (e_machine, class: 1 for 32 bits and 2 for 64, order of bytes: 1 for little-endian)."""

_OF_MACHINES: Final = {
    "x86_64": {62, 3},
    "aarch64": {183, 40},
    "riscv64": {243},
    "ppc64le": {21},
    "s390x": {22},
    "loongarch64": {258},
}
"""What uname(2) calls a machine -> e_machine of what it may execute."""


def emulator_words(machine: str, own: str | None = None) -> tuple[str, ...]:
    """How Debian's qemu-user executes programs of a ``machine``, as in ``run.launcher``.

    () where none is needed, or known. ``machine`` and ``own``, None for this one, are as uname(2) calls them.
    """
    own = platform.machine() if own is None else own
    if not {machine, own} <= _OF_MACHINES.keys() or _OF_MACHINES[machine] <= _OF_MACHINES[own]:
        return ()
    wide = {(number, 2) for number in _OF_MACHINES[machine]}
    return next(ForeignProcessor("", *_EMULATED[kind]).launcher for kind in _EMULATED if kind[:2] in wide)


def foreign(header: bytes, machine: str | None = None) -> ForeignProcessor | None:
    """The processor that a program is for, by its first bytes, where a ``machine`` is known not to execute it.

    ``machine`` is as uname(2) calls it, None for this one.

    None for what is no ELF file, and where nothing is known: then the execution tells.
    """
    machine = platform.machine() if machine is None else machine
    if len(header) < _UP_TO_MACHINE or not header.startswith(b"\x7fELF") or machine not in _OF_MACHINES:
        return None
    wide, order = header[4], header[5]
    number = int.from_bytes(header[_UP_TO_MACHINE - 2 : _UP_TO_MACHINE], "little" if order == 1 else "big")
    if number in _OF_MACHINES[machine] and order == (2 if machine == "s390x" else 1):
        return None
    return ForeignProcessor(machine_words(header), *_EMULATED.get((number, wide, order), ()))
