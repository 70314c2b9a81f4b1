"""A linker that layoutrand does not come with: one module and one toolchain file, and nothing else is touched."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from layoutrand.linkers import known
from startkit import layoutrand
from workshop import FILLER, Workshop, absent, main_calling, many_functions, programs_of, require

MODULE = '''
"""lld under another name, by the file with section names that it also has."""

from layoutrand.linkers import ldscript
from layoutrand.linkers.linker import LayoutRequest, Linker
from layoutrand.linkers.linkmap import dependencies


class Other(Linker):
    name = "other"
    program = "ld.lld"

    def ordered(self, version, script, sections, layout, *, users_script):
        return LayoutRequest(ldscript.symbol_order(layout.order), ("--symbol-ordering-file={}", "--threads=1"))

    def opened(self, said, reports):
        return dependencies(reports)


LINKER = Other()
'''
TOOLCHAIN = """\
name = "with-other"
description = "gcc with another linker"
extends = "gcc-lld"
[tools]
ld = ["ld.lld-19"]
[link]
linker = "other"
"""


def test_a_linker_is_added_by_a_module_and_a_toolchain_file(
    gnu: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Built, laid out and verified like those that come with it."""
    require("ld.lld-19", "lld-19")
    (tmp_path / "linkers").mkdir()
    (tmp_path / "linkers" / "other.py").write_text(MODULE)
    monkeypatch.setattr(known, "__path__", [*known.__path__, str(tmp_path / "linkers")])
    (gnu.project / "other.toml").write_text(TOOLCHAIN)
    gnu.write(main__c=main_calling("u0", "u8"), u__c=many_functions(9, prefix="u"))

    built = gnu.built("$CC -c main.c u.c && $CC -o prog main.o u.o", system={"toolchain": "other.toml"}, seeds=[1, 2])

    assert known.names() == ["gnu", "go", "gold", "lld", "mold", "other"]
    assert built.result.capture is not None
    assert built.result.capture.links[0].linker == "other"
    assert built.path(1).read_bytes() != built.path(2).read_bytes()
    built.assert_all_print_as_stock()


def test_init_finds_the_linker_that_clang_finds_beside_itself(tmp_path: Path) -> None:
    """Debian's lld-14 alone puts no ld.lld on PATH, and `clang -fuse-ld=lld` links with it all the same."""
    compiler = programs_of("clang-lld")["cc"]
    if not (compiler.resolve().parent / "ld.lld").exists():
        absent(f"no ld.lld beside {compiler.resolve()} (package lld of its version)")
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n" + FILLER)
    (tmp_path / "Makefile").write_text(
        f"prog: main.o\n\t{compiler.name} -fuse-ld=lld -o $@ $^\nmain.o: main.c\n\t{compiler.name} -c -o $@ $<\n"
    )
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path.parent / "cache")}
    made = layoutrand("init", cwd=tmp_path, env=env)
    assert made.returncode == 0, made.stderr
    assert "the build links with ld.lld, so it is made again for toolchain clang-lld" in made.stderr
    table = tomllib.loads((tmp_path / "layoutrand.toml").read_text())
    assert table["systems"]["O2"]["toolchain"] == "clang-lld"
