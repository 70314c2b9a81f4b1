"""A program of HotSpot's size, made of assembler so that building it does not take longer than measuring it."""

from __future__ import annotations

import random
from pathlib import Path

_STEPS = (
    "leaq 3(%rax,%rdi,4), %rax",
    "xorq %rdi, %rax",
    "addl $7, %eax",
    "movq %rax, %rcx",
    "shlq $3, %rcx",
    "subq %rcx, %rax",
    "imulq $1021, %rax, %rax",
    "testq %rax, %rax",
    "cmovs %rdi, %rax",
    "rorq $9, %rax",
)


def write_program(folder: Path, *, objects: int = 820, functions: int = 50, steps: int = 90) -> int:
    """Write sources and a Makefile for ``objects`` x ``functions`` functions of about ``steps`` instructions each.

    The program ``big`` calls every function once and prints a checksum.  Returns the number of functions.
    """
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(1)
    for number in range(objects):
        lines: list[str] = []
        for each in range(functions):
            lines += _function(number * functions + each, objects * functions, steps, chance)
        lines += _caller(number, functions)
        (folder / f"m{number:04d}.s").write_text("\n".join(lines) + "\n")
    (folder / "main.c").write_text(
        "#include <stdio.h>\nextern long (*const callers[])(void); extern const int count;\n"
        'int main(void) { long sum = 0; for (int k = 0; k < count; k++) sum += callers[k](); printf("%ld\\n", sum); }\n'
    )
    names = [f"all{number}" for number in range(objects)]
    (folder / "table.c").write_text(
        "".join(f"long {name}(void);\n" for name in names)
        + f"long (*const callers[])(void) = {{ {', '.join(names)} }};\nconst int count = {objects};\n"
    )
    (folder / "Makefile").write_text(
        "OBJS := main.o table.o $(patsubst %.s,%.o,$(sort $(wildcard m*.s)))\n"
        "big: $(OBJS)\n\t$(file >big.rsp,$(OBJS))\n\t$(CC) -o $@ @big.rsp\n%.o: %.s\n\t$(CC) -c -o $@ $<\n"
    )
    return objects * functions


def _function(number: int, total: int, steps: int, chance: random.Random) -> list[str]:
    body = [f"\t{step}" for step in chance.choices(_STEPS, k=chance.randint(steps // 2, steps * 3 // 2))]
    # Relocations as compilers make them: data by PC-relative address, and a call that is never taken.
    for place in sorted(chance.sample(range(len(body)), 4), reverse=True):
        body.insert(place, f"\taddq value{number}(%rip), %rax")
    target = chance.randrange(total)
    return [
        f'\t.section .text.f{number},"ax",@progbits',
        "\t.p2align 4",
        f"\t.globl f{number}",
        f"\t.type f{number}, @function",
        f"f{number}:",
        "\tmovq %rdi, %rax",
        *body,
        "\tcmpq $-1, %rdi",
        "\tjne 1f",
        f"\tjmp f{target}@PLT",
        "1:\tret",
        f"\t.size f{number}, .-f{number}",
        f'\t.section .data.value{number},"aw",@progbits',
        "\t.p2align 3",
        f"value{number}:\t.quad {number}",
    ]


def _caller(number: int, functions: int) -> list[str]:
    calls = []
    for each in range(functions):
        calls += [f"\tmovl ${each + 1}, %edi", f"\tcall f{number * functions + each}@PLT", "\taddq %rax, %rbx"]
    return [
        f'\t.section .text.all{number},"ax",@progbits',
        "\t.p2align 4",
        f"\t.globl all{number}",
        f"\t.type all{number}, @function",
        f"all{number}:",
        "\tpushq %rbx",
        "\txorl %ebx, %ebx",
        *calls,
        "\tmovq %rbx, %rax",
        "\tpopq %rbx",
        "\tret",
        f"\t.size all{number}, .-all{number}",
        '\t.section .note.GNU-stack,"",@progbits',
    ]
