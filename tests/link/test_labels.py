"""Symbols without a size: those of empty sections lie anywhere, all others stay."""

import numpy as np
import pytest

from buildkit import Relinker, compiled
from layoutrand.link import codecheck
from layoutrand.link.labels import same_symbols, without_strangers
from layoutrand.objects import elf

# Like what gcc leaves of a cold part of which nothing is left (f.cold), and functions as nasm has them, without a size.
SOURCE = """
    .globl _start
    .section .text._start,"ax",@progbits
    .type _start,@function
_start: call third
    .type inner,@function
inner: ret
    .section .text.empty,"ax",@progbits
    .type first.cold,@function
first.cold:
    .section .text.second,"ax",@progbits
    .type second,@function
second: ret
    .size second, 1
    .section .text.third,"ax",@progbits
    .type third,@function
    .globl third_too
    .type third_too,@function
third:
third_too: call second
    ret
    .section .rodata.nothing,"a",@progbits
    .type nothing,@object
nothing:
    .section .rodata.some,"a",@progbits
    .type some,@object
some: .byte 1
"""


@pytest.fixture(scope="module", params=["bfd", "lld", "gold"])
def program(request, tmp_path_factory):
    """A program with an empty section, of code and of data, between others."""
    folder = tmp_path_factory.mktemp("labels")
    return Relinker(request.param, folder / "link", [compiled(folder, "a.s", SOURCE)], data=True)


def rows(program, binary, kind=elf.STT_FUNC):
    """Rows of its symbols."""
    size = program.masks().size
    return codecheck.symbol_rows(binary, codecheck.placed(binary, codecheck.placed_addresses(binary), size), size, kind)


def index(program, name):
    return next(k for k, each in enumerate(program.chosen) if each.section.name == name)


def test_objects_are_asked_which_sections_begin_with_symbols_without_a_size(program):
    """Both names of one place count, what has a size or lies further inside does not, nor what an empty section has."""
    masks = program.masks()
    names = [each.section.name for each in program.chosen]

    assert [masks.functions[names.index(f".text.{name}")] for name in ("_start", "second", "third")] == [1, 0, 2]
    assert masks.variables[names.index(".rodata.some")] == 1
    assert masks.functions.sum() == 3 and masks.variables.sum() == 1
    assert ".text.empty" not in names


@pytest.mark.parametrize("kind", [elf.STT_FUNC, elf.STT_OBJECT])
def test_a_symbol_of_an_empty_section_may_lie_before_any_other(program, kind):
    """Wherever it lies, the binary has identity's symbols; where one of a section that is there moves or is gone, it has not."""
    masks = program.masks()
    own = masks.functions if kind == elf.STT_FUNC else masks.variables
    number = len(program.chosen)
    identity = without_strangers(rows(program, program.link(range(number)), kind), own)
    assert len(identity) == (5 if kind == elf.STT_FUNC else 1)
    for order in (range(number), [*range(1, number), 0], range(number)[::-1]):
        assert same_symbols(identity, rows(program, program.link(order), kind))
    last = int(identity[-1, 0])
    for wrong in (np.array([[last, 1, 0]]), np.array([[last, 0, 1]]), np.array([[last - 1, 0, 0]]), identity[:0]):
        assert not same_symbols(identity, np.concatenate([identity[:-1], wrong]))


def test_strangers_are_left_out():
    """Of several symbols at one place as many stay as the section has itself, and a place inside a section is never left out."""
    found = np.array([[0, 0, 0], [0, 0, 0], [0, 4, 0], [1, 0, 0], [2, 0, 0], [2, 0, 0], [2, 0, 8]], np.int64)
    own = np.array([1, 0, 2], np.int64)

    known = without_strangers(found, own)

    assert known.tolist() == [[0, 0, 0], [0, 4, 0], [2, 0, 0], [2, 0, 0], [2, 0, 8]]
    assert same_symbols(known, found)
    assert not same_symbols(found, known)
    assert without_strangers(known, own).tolist() == known.tolist()
    assert same_symbols(known[:0], known[:1])
    assert not same_symbols(known[:1], known[:0])
