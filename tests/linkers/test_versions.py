"""A version of a compiler, named with the toolchain: clang-lld-19."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutrand.errors import ToolNotFound, UsageError
from layoutrand.linkers.toolbox import declared, find, installed_linkers, installed_versions, shipped
from layoutrand.platform.process import SubprocessRunner
from workshop import Workshop, main_calling, many_functions, require


def programs(directory: Path, *names: str) -> None:
    """Programs that do nothing, there."""
    directory.mkdir(exist_ok=True)
    for name in names:
        (directory / name).write_text("#!/bin/sh\n")
        (directory / name).chmod(0o755)


def test_compilers_of_that_version_alone_are_taken() -> None:
    clang = declared("clang-lld-19", Path())
    assert clang.name == "clang-lld-19"
    assert (clang.tools.cc, clang.tools.cxx) == (["clang-19"], ["clang++-19"])
    assert clang.tools.ld[0] == "ld.lld{suffix}"  # that of the compiler's version, where it is there
    assert clang.link == declared("clang-lld", Path()).link
    gcc = declared("gcc-12", Path())
    assert (gcc.tools.cc, gcc.tools.cxx, gcc.tools.fc) == (["gcc-12"], ["g++-12"], ["gfortran-12"])
    assert declared("gcc", Path()).tools.cc == ["gcc"]


@pytest.mark.parametrize("name", ["go-1.23", "rust-1.80"])
def test_others_have_no_versions(name: str) -> None:
    with pytest.raises(UsageError, match=r"a version can be named of gcc and clang, as in clang-19"):
        declared(name, Path())


@pytest.mark.parametrize("name", ["foo-12", "clang-lld-", "clang-lld-x", "clang--1", "-1"])
def test_what_is_no_toolchain_is_none_with_a_number_either(name: str) -> None:
    with pytest.raises(UsageError, match="no toolchain called"):
        declared(name, Path())


def test_versions_on_the_path_are_found_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs(tmp_path / "a", "clang-9", "clang-19", "clang++-7", "clang-format-19", "gcc-4.8")
    programs(tmp_path / "b", "clang-14", "clang-19")
    (tmp_path / "b" / "clang-3").write_text("")  # not executable
    monkeypatch.setenv("PATH", f"{tmp_path / 'a'}:{tmp_path / 'none'}:{tmp_path / 'b'}")
    assert installed_versions(declared("clang-lld", Path())) == ["clang-lld-9", "clang-lld-14", "clang-lld-19"]
    assert installed_versions(declared("gcc", Path())) == ["gcc-4.8"]
    assert installed_versions(declared("gcc-12", Path())) == []
    assert installed_versions(declared("rust", Path())) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "compiler"), [("clang-lld-19", "clang-19"), ("gcc-lto-12", "gcc-12")])
def test_a_program_is_built_with_it(tmp_path: Path, name: str, compiler: str) -> None:
    require(compiler, compiler)
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named({"u.c": many_functions(6, prefix="u_"), "main.c": main_calling("u_3")})
    built = shop.build(shop.config("$CC -c *.c && $CC -o prog *.o", system={"toolchain": name}), layouts=[1, 2])
    assert not built.failures
    assert built.capture is not None
    assert Path(built.capture.tools["cc"]["path"]).name == compiler


def test_one_that_is_not_there_is_named(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write_named({"main.c": "int main(void) { return 0; }\n"})
    built = shop.build(shop.config("$CC -o prog main.c", system={"toolchain": "clang-99"}), layouts=[1])
    assert built.failures[0].error.startswith("clang-99 not found on PATH, needed as the C compiler of toolchain")


def test_a_version_that_is_missing_says_which_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("clang-14", "clang-19"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ToolNotFound, match=r"clang-17 not found on PATH.*Of this one there are clang-lld-14, clang-lld-19$"
    ):
        find(declared("clang-lld-17", Path()), SubprocessRunner())
    with pytest.raises(ToolNotFound) as none:
        find(declared("gcc-17", Path()), SubprocessRunner())
    assert "Of this one" not in str(none.value)
    programs(tmp_path, "gcc-13")
    with pytest.raises(ToolNotFound, match=r"^gcc not found on PATH.*Of this one there is gcc-13$"):
        find(declared("gcc", Path()), SubprocessRunner())


def says(directory: Path, text: str, *names: str) -> None:
    """Programs that say which version they are."""
    directory.mkdir(exist_ok=True)
    for name in names:
        (directory / name).write_text(f"#!/bin/sh\necho '{text} {name.rpartition('-')[2]}.1.7'\n")
        (directory / name).chmod(0o755)


def test_without_a_plain_name_the_newest_is_taken_however_new_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(tmp_path, "clang version", "clang-9", "clang-99", "clang++-9", "clang++-99", "clang-100.9")
    (tmp_path / "clang-100.9").chmod(0o644)
    says(tmp_path, "LLD", "ld.lld-19", "ld.lld-100", "ar")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    shown = {}
    for name in ("clang-lld", "clang-lld-9", "gcc-lld"):
        chain = declared(name, Path())
        if name == "clang-lld":
            chain.tools.cc.remove("clang")
        found = find(chain, SubprocessRunner())
        roles = ("cc", "ld") if name == "gcc-lld" else ("cc", "cxx", "ld")  # a g++ need not be there
        shown[name] = [found.tools[role].path.name for role in roles]
        if name == "clang-lld":
            assert found.in_short() == "clang-99 99.1.7, ld.lld-100 100.1.7"
    assert shown["clang-lld"] == ["clang-99", "clang++-99", "ld.lld-100"]
    assert shown["clang-lld-9"] == ["clang-9", "clang++-9", "ld.lld-100"]
    assert shown["gcc-lld"] == ["gcc", "ld.lld-100"]


def test_every_version_of_a_linker_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs(tmp_path, "ld.lld-9", "ld.lld-19", "ld.bfd", "ld.lld-x", "aarch64-linux-gnu-ld")
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "ld").symlink_to("ld.bfd")
    found = installed_linkers([declared(name, Path()) for name in shipped()])
    assert sorted(found) == ["ld.bfd", "ld.lld-19", "ld.lld-9"]
    assert found.index("ld.lld-9") < found.index("ld.lld-19")
