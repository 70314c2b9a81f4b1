"""Branches read from code, held against what objdump prints of the same bytes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from buildkit import compiled, cross_compiled
from layoutrand.explain.hot_branches import branches_at
from layoutrand.objects import elf
from layoutrand.objects.branches import Branch
from layoutrand.objects.known import processors
from layoutrand.objects.x86_instructions import branches, instructions
from workshop import require

SOURCE = """
    #include <stdint.h>
    #include <string.h>
    extern int other(int); extern void (*hook)(int);
    __attribute__((noinline)) static double part(double x, int n) { return n > 3 ? x * n + 1.5 : x / (n + 1); }
    int word(const char *text, int64_t *into, unsigned n) {
        if (n > 12 && text[n & 7] == 'x') { hook(n); return other(n + 5); }
        for (unsigned k = 0; k < n; k++) {
            if (into[k] & 4) into[k] ^= 0x1234567890abcdefLL; else into[k] += text[k] * 77;
            switch (text[k]) { case 1: other(1); break; case 2: into[0]++; break; case 3: hook(3); break;
                case 4: into[1] -= 2; break; case 5: memset(into, 0, n); break; case 6: return 9; }
        }
        return (int) part((double) into[0], (int) n) + (into[2] < 0 || (n && into[3] == (int) n));
    }
"""
JUMPS = {
    "x86_64": r"(?:(?:bnd|notrack|rep|repz|data16|cs|ds|addr32|rex\S*),? )*(?:j\w+|call|ret|lret|loop\w*)",
    "aarch64": r"(?:b|bl|br|blr|ret|cbn?z|tbn?z|b\.\w+)\b",
    "riscv64": r"(?:j|jal|jr|jalr|ret|b\w+|call|tail|c\.j\w*|c\.b\w+)\b",
}


def printed(program: str, path: Path, section: str) -> Iterator[tuple[int, int, str]]:
    """Each instruction's place and size, and what it is in words."""
    text = subprocess.run(
        [program, "-d", "-z", "-w", "-j", section, path], check=True, capture_output=True, text=True
    ).stdout
    for at, code, words in re.findall(r"^\s*([0-9a-f]+):\t([0-9a-f ]+?)\s*\t(.*)$", text, re.MULTILINE):
        yield int(at, 16), len(code.replace(" ", "")) // 2, words


def held_against(program: str, machine: str, path: Path, section: str) -> int:
    """How many branches of the section agree, which are all."""
    file = elf.read(path.read_bytes(), name=path.name)
    number = file.section_names.index(section)
    begin = int(file.sections["addr"][number])
    known = list(printed(program, path, section))
    jumps = {at - begin: at - begin + size for at, size, words in known if re.match(JUMPS[machine], words)}
    found = processors()[file.machine].branches(file.content(number))
    assert {each.at: each.end for each in found} == jumps
    return len(found)


@pytest.mark.parametrize("flags", [["-O0"], ["-O2"], ["-O3", "-mavx2"], ["-O3", "-mavx512f", "-mavx512bw"]])
def test_branches_of_x86_64_are_those_that_objdump_prints(tmp_path, flags):
    program = require("objdump", "binutils")
    path = compiled(tmp_path, "a.c", SOURCE, *flags)
    assert held_against(program, "x86_64", path, ".text.word") >= 20


@pytest.mark.parametrize("machine", ["aarch64", "riscv64"])
def test_branches_of_other_processors(tmp_path, machine):
    path = cross_compiled(machine, tmp_path, "a.c", SOURCE, "-O2")
    program = require(f"{machine}-linux-gnu-objdump", f"binutils-{machine}-linux-gnu")
    assert held_against(program, machine, path, ".text.word") >= 15


@pytest.mark.slow
def test_lengths_are_those_that_objdump_prints_of_the_whole_c_library():
    """A third of a million instructions, AVX-512 among them."""
    program = require("objdump", "binutils")
    (path,) = [Path(each) for each in ("/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6") if Path(each).exists()][
        :1
    ]
    file = elf.read(path.read_bytes(), name=path.name)
    number = file.section_names.index(".text")
    begin, content = int(file.sections["addr"][number]), file.content(number)
    wrong = 0
    count = 0
    for at, size, words in printed(program, path, ".text"):
        first = next(instructions(content[at - begin : at - begin + 16]), None)
        count += 1
        if "(bad)" not in words and not words.startswith(("f", ".")):  # objdump joins FWAIT with what is behind it
            wrong += first is None or first.end != size or first.branch != bool(re.match(JUMPS["x86_64"], words))
    assert count > 100_000
    assert wrong == 0


FUSED = {
    "cmp %rax,%rbx; jne 1f": True,
    "cmp %rax,(%rbx); jne 1f": True,
    "cmpl $1,(%rbx); jne 1f": False,  # an immediate and memory
    "cmp $1,%ebx; js 1f": False,  # no condition on the sign alone
    "test %eax,%eax; js 1f": True,
    "testb $4,8(%rax); je 1f": False,
    "and $15,%eax; jp 1f": True,
    "add %rax,%rbx; jb 1f": True,
    "add %rax,(%rbx); jb 1f": False,  # writes memory
    "sub $1,%eax; jo 1f": False,
    "dec %eax; jnz 1f": True,
    "inc %eax; jc 1f": False,  # it leaves the carry alone
    "decl (%rax); jnz 1f": False,
    "xor %eax,%eax; jz 1f": False,
    "mov %eax,%ebx; jz 1f": False,
    "cmp %rax,%rbx; jmp 1f": False,
    "cmp %rax,%rbx; nop; jne 1f": False,
}


def test_what_is_one_operation_with_the_jump_behind_it(tmp_path):
    """As in Intel's Optimization Reference Manual."""
    text = "".join(f'.section .text.f{n},"ax"\n{code}\n1: hlt\n' for n, code in enumerate(FUSED))
    path = compiled(tmp_path, "a.s", text)
    file = elf.read(path.read_bytes(), name="a.o")
    for number, (code, fused) in enumerate(FUSED.items()):
        (found,) = branches(file.content(file.section_names.index(f".text.f{number}")))
        assert (found.begin == 0) is fused, code
        assert found.begin in (0, found.at), code


def test_what_is_not_known_or_cut_off_ends_the_reading():
    assert branches(b"\xeb\x00\x06\xeb\x00") == (Branch(0, 2, 0),)  # 06 is nothing in 64-bit code
    assert branches(b"\xeb\x00\xe8\x00\x00") == (Branch(0, 2, 0),)
    assert branches(b"\xeb\x00\x66") == (Branch(0, 2, 0),)
    assert branches(b"") == ()
    rng = np.random.default_rng(1)
    for processor in processors().values():
        for _ in range(300):
            code = rng.integers(0, 256, int(rng.integers(0, 60)), dtype=np.uint8).tobytes()
            for each in processor.branches(code):
                assert 0 <= each.begin <= each.at < each.end <= len(code)


def test_a_function_is_found_by_its_address(tmp_path):
    path = compiled(tmp_path, "a.s", '.section .text.f,"ax"\nnop; ret; nop; ret\n')
    file = elf.read(path.read_bytes(), name="a.o")
    assert branches_at(file, 0, 2) == (Branch(1, 2, 1),)
    assert branches_at(file, -1, 2) == branches_at(file, 2, 9999) == ()
