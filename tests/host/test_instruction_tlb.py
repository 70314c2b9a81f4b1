"""The TLB for instructions, as processors tell it: words of CPUID as their makers document them."""

from __future__ import annotations

import platform
import struct

import pytest

from layoutrand.host.instruction_tlb import instruction_tlb, told_by
from layoutrand.platform.cpuid import Registers, cpuid


def vendor(name, most):
    words = struct.unpack("<3I", name.encode())
    return Registers(most, words[0], words[2], words[1])


def processor(name, most, leaves):
    """Leaves that are not given are zeros, as hypervisors have them."""
    known = {(0, 0): vendor(name, most), **leaves}
    return lambda leaf, subleaf: known.get((leaf, subleaf), Registers(0, 0, 0, 0))


AMD = {
    (0x80000000, 0): Registers(0x80000023, 0, 0, 0),
    (0x80000005, 0): Registers(0xFF40FF40, 0xFF40FF40, 0x20080140, 0x20080140),
}
"""Of an EPYC 7003."""

SKYLAKE = {(2, 0): Registers(0x76036301, 0x00F0B5FF, 0, 0x00C30000)}
ICE_LAKE = {
    (0x18, 0): Registers(7, 0, 0, 0),
    (0x18, 1): Registers(0, 8 << 16 | 1, 8, 2 | 1 << 5),
    (0x18, 2): Registers(0, 8 << 16 | 6, 1, 2 | 1 << 5 | 1 << 8),
}


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (processor("AuthenticAMD", 16, AMD), {"entries": 64, "ways": 64}),
        (processor("HygonGenuine", 16, AMD), {"entries": 64, "ways": 64}),
        (
            processor("AuthenticAMD", 16, AMD | {(0x80000005, 0): Registers(0, 0x04200420, 0, 0)}),
            {"entries": 32, "ways": 4},
        ),
        (processor("AuthenticAMD", 16, {}), None),
        (processor("AuthenticAMD", 16, AMD | {(0x80000005, 0): Registers(0, 0, 0, 0)}), None),
        (processor("GenuineIntel", 22, SKYLAKE), {"entries": 64, "ways": 8}),
        (processor("GenuineIntel", 27, ICE_LAKE), {"entries": 64, "ways": 8}),
        (processor("GenuineIntel", 27, {(2, 0): Registers(0x00FEFF01, 0xF0, 0, 0)}), None),
        (processor("GenuineIntel", 22, {(2, 0): Registers(1, 0x8000B500, 0, 0)}), None),
        (processor("GenuineIntel", 1, SKYLAKE), None),
        (processor("  Shanghai  ", 27, SKYLAKE), None),
        (lambda _leaf, _subleaf: None, None),
    ],
)
def test_what_processors_tell(answers, expected):
    assert told_by(answers) == expected


def test_subleaves_that_never_end_are_left():
    def answers(leaf, _subleaf):
        return vendor("GenuineIntel", 0x18) if leaf == 0 else Registers(0xFFFFFFFF, 0, 0, 0)

    assert told_by(answers) is None


def test_the_kernels_file_is_read_where_it_is(tmp_path):
    """Leaf and subleaf are where in the file."""
    file = tmp_path / "dev/cpu/3/cpuid"
    file.parent.mkdir(parents=True)
    file.write_bytes(bytes(16 * 5) + struct.pack("<4I", 1, 2, 3, 4))
    assert cpuid(80, cpu=3, root=tmp_path) == Registers(1, 2, 3, 4)
    assert cpuid(96, cpu=3, root=tmp_path) is None
    assert cpuid(80, cpu=4, root=tmp_path) is None
    assert instruction_tlb(tmp_path, 3) is None


def test_this_processor_answers_alike_both_ways(tmp_path, monkeypatch):
    """By the kernel's file, which root may read, and by executing the instruction."""
    if platform.machine() != "x86_64":
        pytest.skip("this machine has no CPUID")
    name = vendor("GenuineIntel", 0)
    asked = cpuid(0)
    assert asked is not None
    opened = []
    monkeypatch.setattr("os.open", lambda *_words: (_ for _ in ()).throw(OSError(opened.append(1))))
    executed = cpuid(0)
    assert opened
    assert executed == asked
    assert executed[1:] == name[1:] or struct.pack("<3I", executed.ebx, executed.edx, executed.ecx).isascii()
