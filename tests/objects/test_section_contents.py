"""What a section holds, whatever lies beside it: strings, variables and functions that it refers to are meant, not places."""

from __future__ import annotations

import pytest

from buildkit import compiled
from layoutrand.objects import elf
from layoutrand.objects.section_contents import section_contents

BEFORE = """
#include <stdio.h>
static int counter;
int chosen(int x);
__attribute__((noinline)) int twice(int x) { return 2 * x; }
int shown(int x) { counter += x; printf("%d apples\\n", x); return twice(x); }
int chosen(int x) { switch (x) { case 1: return 7; case 2: return 19; case 3: return 4; case 4: return 11; } return 0; }
"""


def contents(folder, text):
    """Function -> digest, of a compilation."""
    path = compiled(folder, "a.c", text, "-O2", "-ffunction-sections")
    source = elf.read(path.read_bytes(), name="a.o")
    wanted = {n: name for n, name in enumerate(source.section_names) if name.startswith(".text.")}
    found = section_contents(source, wanted, {})
    return {wanted[header].removeprefix(".text."): digest for header, digest in found.items()}


def test_what_comes_before_it_changes_nothing(tmp_path):
    """A string and a variable more, and a function of another size in front, and every address is another."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    more = 'static int other; void first(void) { other++; puts("a string in front"); }\n'
    after = BEFORE.replace("static int counter;", f"{more}static int counter;")
    before, after = contents(tmp_path / "one", BEFORE), contents(tmp_path / "two", after)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"first"}


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("2 * x", "3 * x", {"twice"}),
        ("%d apples", "%d oranges", {"shown"}),
        ("return twice(x)", "return chosen(x)", {"shown"}),
        ("counter += x", "counter -= x", {"shown"}),
    ],
)
def test_what_it_means_is_told(tmp_path, old, new, changed):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    before = contents(tmp_path / "one", BEFORE)
    after = contents(tmp_path / "two", BEFORE.replace(old, new))
    assert {name for name in before if before[name] != after[name]} == changed


def of_assembler(folder, table, held):
    """Function -> digest, of an object that refers to a local table by its name, as new assemblers do everywhere."""
    folder.mkdir()
    text = f"""
    .section .text.f,"ax",@progbits
    .globl f
    .type f, @function
f:  movq {table}@GOTPCREL(%rip), %rax
    call helper@PLT
    ret
    .section .text.helper,"ax",@progbits
    .type helper, @function
helper: movl ${held}, %eax
    ret
    .size helper, .-helper
    .section .rodata,"a",@progbits
    .type {table}, @object
{table}: .long {held}, 2
    .size {table}, .-{table}
"""
    path = compiled(folder, "a.s", text)
    source = elf.read(path.read_bytes(), name="a.o")
    wanted = {n: name for n, name in enumerate(source.section_names) if name.startswith(".text.")}
    assert "CSWTCH" in "".join(source.symbol_names(source.relocations(min(wanted))["info"] >> 32))
    found = section_contents(source, wanted, {})
    return {wanted[header]: digest for header, digest in found.items()}


def test_a_number_that_compilers_count_is_no_part_of_a_name(tmp_path):
    one, two, other = (
        of_assembler(tmp_path / place, table, held)
        for place, table, held in (("one", "CSWTCH.3", 7), ("two", "CSWTCH.12", 7), ("other", "CSWTCH.3", 8))
    )
    assert one == two
    assert one[".text.f"] != other[".text.f"], "what the table holds"
    assert one[".text.helper"] != other[".text.helper"]
