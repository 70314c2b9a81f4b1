"""Comparing code in blocks says the same as comparing it byte by byte."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from layoutrand.link import code_blocks
from layoutrand.link.codecheck import Placed

SIZES = np.array([0, 1, 127, 128, 129, 5000, 16, 256])
HEADER = 64
CHANGE = 0x40  # the bit that a changed byte differs by


class Program:
    """Sections with random bytes, some of them free, laid out in an order inside one output section of a file."""

    def __init__(self, order, *, behind=0):
        generator = np.random.default_rng(3)
        self.content = generator.integers(0, 256, SIZES.sum()).astype(np.uint8)
        kind = generator.random(SIZES.sum())  # wholly fixed, free, and fixed in part
        part = generator.integers(0, 256, len(kind))
        self.fixed = np.where(kind < 0.8, 255, np.where(kind < 0.9, 0, part)).astype(np.uint8)
        begins = np.cumsum(SIZES) - SIZES
        parts, address, at = [], np.zeros(len(SIZES), np.int64), 0x1000
        for index in order:
            address[index] = at
            parts.append(self.content[begins[index] : begins[index] + SIZES[index]].tobytes())
            at += int(SIZES[index])
        self.begins = begins
        self.where = Placed(address, np.ones(len(SIZES), np.int64))
        homes = np.array([(0, 0), (0x1000, HEADER)], [("addr", "<u8"), ("offset", "<u8")])
        self.binary = SimpleNamespace(sections=homes, data=bytes(HEADER) + b"".join(parts) + bytes(behind))
        self.blocks = code_blocks.cut(SIZES, self.content, self.fixed)

    def place(self, index, offset):
        """Where a byte of a section is in the file."""
        return int(self.where.address[index]) - 0x1000 + HEADER + offset

    def with_byte(self, index, offset):
        """The binary with one byte of a section changed."""
        data = bytearray(self.binary.data)
        data[self.place(index, offset)] ^= CHANGE
        return SimpleNamespace(sections=self.binary.sections, data=bytes(data))


ORDERS = [range(len(SIZES)), [5, 3, 1, 7, 0, 2, 6, 4], [7, 6, 5, 4, 3, 2, 1, 0]]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("behind", [0, 1, 300])
def test_the_same_code_in_another_order_is_the_same(order, behind):
    program = Program(order, behind=behind)
    assert code_blocks.first_change(program.blocks, program.binary, program.where) is None


@pytest.mark.parametrize("order", ORDERS)
def test_every_fixed_byte_counts_and_no_other(order):
    program = Program(order)
    found = {}
    for index, size in enumerate(SIZES.tolist()):
        for offset in {0, size // 2, size - 1, *range(min(size, 140))} & set(range(size)):
            found[index, offset] = code_blocks.first_change(
                program.blocks, program.with_byte(index, offset), program.where
            )
    wanted = {place: place if program.fixed[program.begins[place[0]] + place[1]] & CHANGE else None for place in found}
    assert found == wanted
    assert None in wanted.values() and len(found) > 500


def test_the_first_of_several_changes_is_named():
    program = Program(range(len(SIZES)))
    program.blocks = code_blocks.cut(SIZES, program.content, np.full_like(program.fixed, 255))
    late = program.with_byte(7, 200)
    both = bytearray(late.data)
    both[program.place(5, 4000)] ^= 1
    late.data = bytes(both)
    assert code_blocks.first_change(program.blocks, late, program.where) == (5, 4000)


def test_a_program_without_code_has_no_change():
    empty = code_blocks.cut(np.zeros(3, np.int64), np.empty(0, np.uint8), np.empty(0, np.uint8))
    program = Program(range(len(SIZES)))
    where = Placed(np.full(3, 0x1000), np.ones(3, np.int64))
    assert code_blocks.first_change(empty, program.binary, where) is None


def test_more_blocks_than_are_compared_at_once(monkeypatch):
    monkeypatch.setattr(code_blocks, "_AT_ONCE", 3)
    program = Program(ORDERS[1])
    assert code_blocks.first_change(program.blocks, program.binary, program.where) is None
    program.blocks = replace(program.blocks, mask=np.full_like(program.blocks.mask, 0))
    assert code_blocks.first_change(program.blocks, program.with_byte(5, 4999), program.where) is None
    program.blocks = code_blocks.cut(SIZES, program.content, np.full_like(program.fixed, 255))
    assert code_blocks.first_change(program.blocks, program.with_byte(5, 4999), program.where) == (5, 4999)
