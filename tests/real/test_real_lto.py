"""Lua with link-time optimisation: generated once, every layout verified and answering as stock does."""

import subprocess

import pytest

from workshop import of_one_version, programs_of

MAKE = """make -C src -j{jobs} lua CC="$CC" AR="$AR rcu" SYSCFLAGS=-DLUA_USE_LINUX SYSLIBS='-Wl,-E -ldl'"""
SCRIPT = 'local t = {} for i = 1, 200 do t[i] = ("%x"):format(i * 2654435761 % 4096) end table.sort(t) print(table.concat(t, ","), #t)\n'


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gcc-lto", "clang-lto", "clang-thinlto"])
def test_lua(build_layouts, tmp_path, name):
    """A virtual machine with computed goto, its library in an archive of intermediate code."""
    toolchain = of_one_version(name, tmp_path)  # with lld 14 names are in another order, which is refused
    programs_of(toolchain)
    document = build_layouts("lua5.4", toolchain, commands=[MAKE], artefact="src/lua", seeds=8)
    script = tmp_path / "script.lua"
    script.write_text(SCRIPT)
    said = {
        binary["seed"]: subprocess.run([binary["path"], script], capture_output=True, check=True).stdout
        for binary in document["binaries"]
    }

    assert document["failures"] == []
    assert len({binary["text_sha256"] for binary in document["binaries"] if isinstance(binary["seed"], int)}) == 8
    assert said["stock"].endswith(b"\t200\n")
    assert set(said.values()) == {said["stock"]}
