"""Which programs a machine executes, and what the kernel starts for the others."""

from __future__ import annotations

import pytest

from fakehost import FakeHost
from layoutrand.host.binfmt import handler
from layoutrand.host.processors import HEADER, emulator_words, foreign

QEMU = """enabled
interpreter /usr/bin/qemu-aarch64
flags: OCF
offset 0
magic 7f454c460201010000000000000000000200b700
mask ffffffffffffff00fffffffffffffffffeffffff"""


def elf(machine, *, wide=2, order=1, kind=3):
    name = "little" if order == 1 else "big"
    header = bytes([0x7F, *b"ELF", wide, order, 1]).ljust(16, b"\0")
    return (header + kind.to_bytes(2, name) + machine.to_bytes(2, name)).ljust(HEADER, b"\0")


@pytest.mark.parametrize(
    ("header", "machine", "words"),
    [
        (elf(183), "x86_64", "AArch64 (arm64)"),
        (elf(243), "x86_64", "RISC-V (64 bits)"),
        (elf(62), "aarch64", "x86-64"),
        (elf(3, wide=1), "riscv64", "x86 with 32 bits (-m32)"),
        (elf(21, order=2), "ppc64le", "PowerPC with 64 bits"),
        (elf(22, order=2), "x86_64", "s390x"),
        (elf(9), "x86_64", "a processor of number 9 (64 bits)"),
        (elf(62), "x86_64", None),
        (elf(62, wide=1), "x86_64", None),  # x32
        (elf(3, wide=1), "x86_64", None),
        (elf(183), "aarch64", None),
        (elf(40, wide=1), "aarch64", None),
        (elf(22, order=2), "s390x", None),
        (elf(183), "a machine of tomorrow", None),
        (elf(183)[:19], "x86_64", None),
        (b"#!/bin/sh\n" + bytes(40), "x86_64", None),
        (b"", "x86_64", None),
    ],
)
def test_foreign(header, machine, words):
    found = foreign(header, machine)
    assert (found and found.words) == words


def test_its_emulator_is_known_by_name():
    found = foreign(elf(21), "x86_64")
    assert (found.qemu, found.libraries) == ("ppc64le", "powerpc64le-linux-gnu")


@pytest.fixture
def host(tmp_path):
    made = FakeHost(tmp_path / "host")
    made.write("proc/sys/fs/binfmt_misc/status", "enabled")
    made.write("proc/sys/fs/binfmt_misc/register", "")
    made.write("proc/sys/fs/binfmt_misc/qemu-aarch64", QEMU)
    return made


def test_a_handler_is_found_by_the_bytes_under_its_mask(host):
    assert handler(elf(183), host.root) == "/usr/bin/qemu-aarch64"
    assert handler(elf(183, kind=2), host.root) == "/usr/bin/qemu-aarch64", "the mask spares the kind's last bit"
    assert handler(elf(183, kind=1), host.root) is None
    assert handler(elf(243), host.root) is None
    assert handler(elf(183)[:19], host.root) is None


def test_a_handler_may_look_further_on(host):
    host.write("proc/sys/fs/binfmt_misc/x", "enabled\ninterpreter /a b\nflags: \noffset 4\nmagic 02")
    assert handler(elf(243), host.root) == "/a b"
    assert handler(elf(243, wide=1), host.root) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        QEMU.replace("enabled", "disabled"),
        QEMU.replace("offset 0", "offset x"),
        QEMU.replace("magic 7f", "magic zz"),
        QEMU.replace("mask ff", "mask "),
        "enabled\ninterpreter /usr/bin/jexec\nflags: \nextension .jar",
    ],
)
def test_what_is_no_handler_for_it(host, text):
    host.write("proc/sys/fs/binfmt_misc/qemu-aarch64", text)
    assert handler(elf(183), host.root) is None


def test_none_where_they_are_switched_off_or_not_there(host, tmp_path):
    host.write("proc/sys/fs/binfmt_misc/status", "disabled")
    assert handler(elf(183), host.root) is None
    assert handler(elf(183), tmp_path) is None


@pytest.mark.parametrize(
    ("machine", "own", "words"),
    [
        ("aarch64", "x86_64", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")),
        ("riscv64", "aarch64", ("qemu-riscv64", "-L", "/usr/riscv64-linux-gnu")),
        ("x86_64", "riscv64", ("qemu-x86_64", "-L", "/usr/x86_64-linux-gnu")),
        ("x86_64", "x86_64", ()),
        ("aarch64", "aarch64", ()),
        ("aarch64", "a machine of tomorrow", ()),
        ("a machine of tomorrow", "x86_64", ()),
    ],
)
def test_emulator_words(machine, own, words):
    assert emulator_words(machine, own) == words
