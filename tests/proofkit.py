"""What a layout is compared with, learned from one program as a capture does, and asked of any binary."""

from __future__ import annotations

import numpy as np

from layoutrand.link import code_blocks, codecheck
from layoutrand.link.labels import same_symbols, without_strangers
from layoutrand.link.leads import first_astray, learn, undone
from layoutrand.objects import elf


class Proof:
    """Identity of a `Relinker`'s program, and what is wrong with another binary."""

    def __init__(self, program):
        self.program = program
        self.masks = program.masks()
        identity = program.link(range(len(program.chosen)), "identity")
        where = self.where(identity)
        inputs = code_blocks.cut(self.masks.stored, self.masks.content, self.masks.input_fixed)
        identity = undone(inputs, identity, where, self.masks.size)
        assert code_blocks.first_change(inputs, identity, where) is None
        self.content = codecheck.section_bytes(identity, where, self.masks.stored)
        learned = learn(identity, where, self.masks)
        self.leads, self.unread = learned.leads, learned.unread
        self.fixed = codecheck.fixed_again(self.masks, learned.unread, identity.machine)
        self.blocks = code_blocks.cut(self.masks.stored, self.content, self.fixed)
        rows = codecheck.symbol_rows(identity, where, self.masks.size)
        self.functions = without_strangers(rows, self.masks.functions)
        assert self.wrong(identity, self.order(identity)) is None

    def order(self, binary):
        """The capture indices in the order of their addresses."""
        return np.argsort(self.where(binary).address, kind="stable").tolist()

    def where(self, binary):
        return codecheck.placed(binary, codecheck.placed_addresses(binary), self.masks.size)

    def wrong(self, binary, order):
        """What is wrong with a binary in that order: "order", "code", "reference", "functions"; None for nothing."""
        where = self.where(binary)
        if self.order(binary) != order:
            return "order"
        binary = undone(self.blocks, binary, where, self.masks.size)
        if code_blocks.first_change(self.blocks, binary, where) is not None:
            return "code"
        if first_astray(self.leads, binary, where, self.masks.size) is not None:
            return "reference"
        same = same_symbols(self.functions, codecheck.symbol_rows(binary, where, self.masks.size))
        return None if same else "functions"

    def place(self, binary, section, offset):
        """Where a byte of a section is in the file."""
        where = self.where(binary)
        home = binary.sections[int(where.output[section])]
        return int(where.address[section]) - int(home["addr"]) + int(home["offset"]) + offset


def patched(binary, changes):
    """A copy of the binary with bytes changed: file offset to value."""
    data = bytearray(binary.data)
    for offset, value in changes.items():
        data[offset : offset + len(value)] = value
    return elf.read(bytes(data), name="patched")
