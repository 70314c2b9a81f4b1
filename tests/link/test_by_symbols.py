"""The proof by symbols: any byte that is changed in a layout of a Go program is found."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import gokit
from layoutrand.errors import CodeChanged, FeatureUnsupported
from layoutrand.link import by_symbols
from layoutrand.link.by_symbols import ProgramCode
from layoutrand.link.program_places import Program
from layoutrand.objects import elf

pytestmark = pytest.mark.slow


def read(data: bytes, name: str = "x") -> elf.Elf:
    return elf.read(data, name=name)


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> dict[int, bytes]:
    """The program in its own order (0) and in others."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in gokit.offline(tmp_path_factory.getbasetemp().parent).items():
            patched.setenv(name, value)
        folder = gokit.module(tmp_path_factory.mktemp("go"))
        same = "-buildid=a/b/c/d"
        return {n: gokit.links(folder, same, *([f"-randlayout={n}"] if n else [])) for n in range(5)}


@pytest.fixture(scope="module")
def code(layouts: dict[int, bytes]) -> ProgramCode:
    return by_symbols.code_of(layouts[0], [read(layouts[n]) for n in (1, 2, 3)], "identity")


def changed(code: ProgramCode, data: bytes) -> str:
    """What is said of a program that is no layout, "" if it is one."""
    try:
        by_symbols._compare(code, Program(read(data)))
    except CodeChanged as error:
        return str(error)
    return ""


def test_another_layout_is_one(code: ProgramCode, layouts: dict[int, bytes]) -> None:
    assert changed(code, layouts[4]) == ""
    assert len(code.fields) > 1000


def test_every_changed_bit_of_code_is_found(code: ProgramCode, layouts: dict[int, bytes]) -> None:
    program = Program(read(layouts[4]))
    offset = int(program.file.sections["offset"][program.text]) - program.begin
    draw = random.Random(1)
    for name in draw.sample(sorted(program.functions), 40):
        at, size = program.functions[name]
        data = bytearray(layouts[4])
        data[offset + at + draw.randrange(size)] ^= 1 << draw.randrange(8)
        assert changed(code, bytes(data)).startswith(f"{name} differs from identity at byte"), name


def test_a_call_of_another_function_is_found(code: ProgramCode, layouts: dict[int, bytes]) -> None:
    """Also where the bytes happen to be those of identity: each known field is looked at."""
    program = Program(read(layouts[4]))
    side = by_symbols._code_side(program, code)
    kind, at = code.fields[len(code.fields) // 2].tolist()
    assert kind == 0
    data = bytearray(layouts[4])
    offset = int(program.file.sections["offset"][program.text]) + int(side.address[at]) - program.begin
    data[offset : offset + 4] = code.content[at : at + 4].tobytes()
    assert "differs from identity" in changed(code, bytes(data))


@pytest.mark.parametrize("section", [".rodata", ".noptrdata", ".data", ".go.buildinfo", ".go.module"])
def test_changed_data_is_found(code: ProgramCode, layouts: dict[int, bytes], section: str) -> None:
    program = Program(read(layouts[4]))
    if section not in program.sections:
        pytest.skip(f"this Go makes no {section}")
    row = program.file.sections[program.sections[section]]
    data = bytearray(layouts[4])
    data[int(row["offset"]) + int(row["size"]) // 2] ^= 0x55
    assert changed(code, bytes(data)).startswith(f"{section} differs from identity")


def test_another_program_is_found(code: ProgramCode, tmp_path: Path, layouts: dict[int, bytes]) -> None:
    del layouts
    other = gokit.MAIN.replace("s.side * s.side", "s.side * s.side * 3")
    data = gokit.links(gokit.module(tmp_path, main__go=other), "-buildid=a/b/c/d", "-randlayout=4")
    assert changed(code, data) != ""


def test_code_is_kept_and_read_again(code: ProgramCode, layouts: dict[int, bytes], tmp_path: Path) -> None:
    with (tmp_path / "code.npz").open("wb") as file:
        code.save(file)
    with (tmp_path / "code.npz").open("rb") as file:
        again = ProgramCode.load(file)
    assert np.array_equal(again.fields, code.fields)
    assert changed(again, layouts[4]) == ""


def test_a_program_without_symbols_is_told(code: ProgramCode, tmp_path: Path) -> None:
    data = gokit.links(gokit.module(tmp_path), "-s", "-buildid=a/b/c/d", "-randlayout=4")
    with pytest.raises(FeatureUnsupported, match="no symbol says where its functions are"):
        changed(code, data)


def test_other_elf_files_are_refused(layouts: dict[int, bytes]) -> None:
    data = bytearray(layouts[0])
    data[18] = 183  # e_machine, AArch64
    with pytest.raises(FeatureUnsupported, match="not a program for x86-64"):
        _ = Program(read(bytes(data))).text
