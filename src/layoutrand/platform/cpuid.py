"""The instruction CPUID of x86 processors: from the kernel's file of a CPU where that may be read, else executed here.

Linux documentation: cpuid(4).  The file is root's alone as a rule.  The instruction is no privilege of anybody's, and
Python has no call for it, so its bytes are executed from memory of their own; where that is forbidden, nobody answers.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct
from pathlib import Path
from typing import Final, NamedTuple

_REGISTERS: Final = struct.Struct("<4I")
_CODE: Final = bytes.fromhex(
    "53"  # push rbx, which belongs to the caller
    "89f8 89f1"  # eax = leaf, ecx = subleaf
    "4989d2"  # r10 = where to write
    "0fa2"  # cpuid
    "418902 41895a04 41894a08 4189520c"  # eax, ebx, ecx, edx
    "5b c3"  # pop rbx, return
)


class Registers(NamedTuple):
    """What one leaf says."""

    eax: int
    ebx: int
    ecx: int
    edx: int


def cpuid(leaf: int, subleaf: int = 0, *, cpu: int = 0, root: Path = Path("/")) -> Registers | None:
    """What the CPU says of itself; None where it cannot be asked, and on machines that are no x86.

    Where the kernel's file cannot be read, the CPU that executes us answers: below another ``root`` than /, nobody.
    """
    try:
        descriptor = os.open(root / f"dev/cpu/{cpu}/cpuid", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return _executed(leaf, subleaf) if root == Path("/") else None
    try:
        data = os.pread(descriptor, _REGISTERS.size, leaf | subleaf << 32)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return Registers(*_REGISTERS.unpack(data)) if len(data) == _REGISTERS.size else None


def _executed(leaf: int, subleaf: int) -> Registers | None:
    if platform.machine() != "x86_64" or os.name != "posix":
        return None
    try:
        memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:  # as under a policy that forbids memory to be written and executed
        return None
    memory.write(_CODE)
    begin = ctypes.c_char.from_buffer(memory)
    found = (ctypes.c_uint32 * 4)()
    call = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32))
    call(ctypes.addressof(begin))(leaf, subleaf, found)
    del begin  # the memory is given back when nothing refers to it
    memory.close()
    return Registers(*found)
