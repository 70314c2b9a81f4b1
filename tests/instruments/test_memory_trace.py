"""What lackey prints: loads and stores of the program's own processes, however its lines are cut; anything else is refused."""

from __future__ import annotations

import pytest

from layoutrand.errors import NoMeasurement
from layoutrand.instruments.memory_trace import Stretch, TraceReader, parse

PREAMBLE = b"""\
==7== Lackey, an example Valgrind tool
==7== Copyright (C) 2002-2017, and GNU GPL'd, by Nicholas Nethercote.
==7== Command: /w/bin/prog 5
==7== Parent PID: 6
==7==
"""
LINES = b"""\
I  0401ab70,3
I  0401ab73,5
 S 1fff000778,8
I  00109050,12
 L 0010d040,4
 M 0010e040,16
 L ffffffffff600000,8
I  00109055,1
"""
END = b"==7==\n==7== Exit code:       0\n"
OF_A_SHELL = PREAMBLE.replace(b"/w/bin/prog 5", b"/bin/sh -c prog").replace(b"==7==", b"==6==") + LINES


def read(text: bytes, size: int) -> tuple[TraceReader, list[Stretch]]:
    """What a reader says of the text in pieces of so many bytes."""
    reader = TraceReader(["/w/bin/prog"])
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return reader, [stretch for piece in pieces for stretch in reader.stretches(piece)]


@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
def test_loads_and_stores_of_the_program_in_order(size: int) -> None:
    """Whatever valgrind says between them."""
    messages = b"--7-- WARNING: unhandled amd64-linux syscall: 452\nvex amd64->IR: unhandled instruction bytes: 0x62\n"
    reader, stretches = read(PREAMBLE + LINES + messages + LINES + END, size)

    assert reader.is_program
    assert reader.has_ended
    assert reader.pid == 7
    assert sum(each.instructions for each in stretches) == 8
    rows = [
        row
        for each in stretches
        for row in zip(*(values.tolist() for values in vars(each.accesses).values()), strict=True)
    ]
    once = [(1, 0x1FFF000778, 8, False, True), (2, 0x10D040, 4, True, False), (2, 0x10E040, 16, True, True)]
    assert rows == [*once, *((at + 4, *rest) for at, *rest in once)]


def test_numbers_of_instructions_go_on() -> None:
    reader, stretches = read(PREAMBLE + LINES + LINES, len(PREAMBLE + LINES))
    assert [each.first for each in stretches] == [0, 4]
    assert not reader.has_ended


def test_another_program_is_not_read() -> None:
    reader, stretches = read(OF_A_SHELL, 50)
    assert not reader.is_program
    assert not stretches
    assert not read(PREAMBLE.replace(b"prog", b"prog2") + LINES, 50)[0].is_program


@pytest.mark.parametrize(
    "line",
    [
        b"I 109055,1\n",
        b" X 00109055,1\n",
        b" L 0010905g,1\n",
        b" L 00109055\n",
        b" L 00109055,x\n",
        b"\n",
        b"II  1,1\n",
        b" L ,1\n",
    ],
)
def test_anything_else_is_refused(line: bytes) -> None:
    with pytest.raises(NoMeasurement, match="something else than loads and stores"):
        parse(LINES + line, 0)
    with pytest.raises(NoMeasurement, match="without end"):
        read(PREAMBLE + b"I" * 100_000, 10_000)
