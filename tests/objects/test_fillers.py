"""The object file of fillers: what linkers and readelf see in it."""

from __future__ import annotations

import pytest

from buildkit import compiled, run, said
from layoutrand.objects import elf
from layoutrand.objects.fillers import filler, filler_object, roots
from layoutrand.objects.known import processors
from layoutrand.objects.unique_names import section_name, symbol_name

FILLERS = [
    filler(7, "rodata", 40, 32),
    filler(8, "text", 64, 64),
    filler(9, "text", 5),
    filler(10, "text", 5),
    filler(11, "data.rel.ro", 24),
    filler(12, "data", 8),
    filler(13, "bss", 4096, 32),
]
MAIN = "int main(void) { return 0; }\n"


@pytest.fixture
def written(tmp_path):
    """The object in a file."""
    path = tmp_path / "fillers.o"
    path.write_bytes(filler_object(FILLERS, processors()["EM_X86_64"]))
    return path


def test_each_filler_is_a_section_of_its_size_alignment_and_kind(written):
    found = elf.read(written.read_bytes(), name="fillers")
    by_name = dict(zip(found.section_names, found.sections, strict=True))
    for each in FILLERS:
        header = by_name[section_name(each.index, each.kind)]
        assert (int(header["size"]), int(header["align"])) == (each.size, each.align)
        assert (int(header["type"]) == elf.SHT_NOBITS) == (each.kind == "bss")
        assert bool(int(header["flags"]) & elf.SHF_EXECINSTR) == (each.kind == "text")
        assert bool(int(header["flags"]) & elf.SHF_WRITE) == (each.kind not in ("text", "rodata"))


def test_readelf_has_nothing_to_say_against_it(written):
    """Two fillers of one size have other contents: a linker that folds equal code folds neither."""
    assert "Warning" not in said("readelf", "-aW", written)
    found = elf.read(written.read_bytes(), name="fillers")
    assert found.content(3) != found.content(4)


@pytest.mark.parametrize("flags", [(), ("-Wl,--gc-sections",), ("-static",), ("-no-pie", "-Wl,-E")], ids=str)
def test_a_linker_keeps_them_all_and_shows_none(tmp_path, written, flags):
    """Unused sections go, fillers stay; the program's stack is no more executable, and its features are the same."""
    objects = [compiled(tmp_path, "main.c", MAIN)]
    run("gcc", *objects, *flags, "-o", tmp_path / "without")
    run(
        "gcc",
        *objects,
        written,
        *flags,
        *(f"-Wl,--undefined={name}" for name in roots(FILLERS)),
        "-o",
        tmp_path / "with",
    )
    symbols = said("readelf", "-sW", tmp_path / "with")
    assert all(symbol_name(each.index) in symbols for each in FILLERS)
    assert roots(FILLERS)[0] not in said("readelf", "--dyn-syms", "-W", tmp_path / "with")
    for question in ("-n", "-d"):  # notes and dynamic tags, addresses and the build id aside
        first, second = (
            [
                line.split("0x")[0]
                for line in said("readelf", question, tmp_path / name).splitlines()
                if "ID" not in line
            ]
            for name in ("without", "with")
        )
        assert first == second
    stacks = [line for line in said("readelf", "-lW", tmp_path / "with").splitlines() if "GNU_STACK" in line]
    assert all("RWE" not in line for line in stacks)
