"""Programs for other processors: the machine is what is told, whatever else is in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutrand.objects import elf
from workshop import Workshop

CROSS = """\
#!/bin/sh
# As a cross compiler: no wrapper stands for it, and its programs are for another machine.
/usr/bin/gcc "$@" && printf '\\267\\000' | dd of=prog bs=1 seek=18 conv=notrunc status=none
"""


@pytest.mark.parametrize(
    ("ident", "machine", "said"),
    [
        (b"\x7fELF\x02\x01", 62, "x86-64"),
        (b"\x7fELF\x02\x01", 183, "AArch64 (arm64)"),
        (b"\x7fELF\x02\x01", 243, "RISC-V (64 bits)"),
        (b"\x7fELF\x01\x01", 243, "RISC-V with 32 bits"),
        (b"\x7fELF\x02\x02", 183, "a processor of number 46848 (64 bits)"),
        (b"\x7fELF\x01\x01", 3, "x86 with 32 bits (-m32)"),
        (b"\x7fELF\x01\x01", 62, "x32, which is x86-64 with addresses of 32 bits"),
        (b"\x7fELF\x02\x01", 9, "a processor of number 9 (64 bits)"),
        (b"#!/bin", 183, ""),
    ],
)
def test_machines_in_words(ident: bytes, machine: int, said: str) -> None:
    data = ident.ljust(18, b"\0") + machine.to_bytes(2, "little")
    assert elf.machine_words(data) == said
    assert elf.machine_words(data[:19]) == ""


def test_the_order_of_bytes_is_the_files_own() -> None:
    assert elf.machine_words(b"\x7fELF\x02\x02".ljust(18, b"\0") + (22).to_bytes(2, "big")) == "s390x"


@pytest.mark.parametrize("flags", ["", "-O2"])
def test_the_machine_is_told_first(tmp_path: Path, flags: str) -> None:
    """Not that no compiler was seen, nor that flags reached none."""
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named({"a.c": "int main(void) { return 0; }\n", "cross": CROSS})
    (shop.source / "cross").chmod(0o755)
    built = shop.build(shop.config("./cross -o prog a.c", system={"cflags": flags}), layouts=[1])
    (failure,) = {each.error for each in built.failures}
    assert (
        "prog is for AArch64 (arm64), and toolchain 'gcc' builds for x86-64: does the build use the compiler that it is "
        "to use ($CC)? For AArch64 (arm64) there are toolchains clang-aarch64, gcc-aarch64"
    ) in failure


def test_a_processor_that_no_one_here_knows_is_told_as_such(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named({"a.c": "int main(void) { return 0; }\n", "cross": CROSS.replace("267", "010")})
    (shop.source / "cross").chmod(0o755)
    built = shop.build(shop.config("./cross -o prog a.c"), layouts=[1])
    (failure,) = {each.error for each in built.failures}
    assert (
        "prog is for MIPS: layoutrand places and verifies code of AArch64 (arm64), RISC-V (64 bits) and x86-64 alone"
        in failure
    )
