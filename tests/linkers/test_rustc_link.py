"""Which linker rustc uses, asked of cargo and rustc that print what those of several releases and settings print."""

import os
from pathlib import Path

import pytest

from layoutrand.config.config import parse
from layoutrand.errors import FeatureUnsupported, ToolNotFound
from layoutrand.linkers import toolbox
from layoutrand.linkers.rustc_link import rustc_link
from layoutrand.linkers.toolbox import Surroundings
from layoutrand.platform.process import SubprocessRunner
from wrapkit import write_script

CARGO = '#!/bin/sh\n[ "$1" = --version ] || exec "$RUSTC_WRAPPER" rustc --crate-name layoutrand_asks\n'
RUSTC = "#!/bin/sh\ncase $2 in sysroot) echo {sysroot} ;; *) cat <<'END'\n{line}\nEND\n;; esac\n"
DRIVER = """#!/bin/sh
for word do
    case $word in
        -B*) dir=${word#-B} ;;
        -print-prog-name=*) name=${word#*=} ;;
    esac
done
if [ -x "$dir/$name" ]; then echo "$dir/$name"; else echo "$name"; fi
"""
LINKERS = {
    "ld": "GNU ld (GNU Binutils for Debian) 2.40",
    "ld.gold": "GNU gold (GNU Binutils for Debian 2.40) 1.16",
    "ld.lld": "Debian LLD 19.1.7 (compatible with GNU linkers)",
    "ld.mold": "mold 1.10.1 (compatible with GNU ld)",
    "ld.wild": "Wild 0.1",
}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Makes the machine on which rustc links with these words; the directory of its programs, and rustc's own."""
    here, sysroot = tmp_path / "bin", tmp_path / "sysroot"
    own = sysroot / "lib/rustlib/x86_64-unknown-linux-gnu/bin"

    def make(line):
        write_script(here / "cargo", CARGO)
        write_script(here / "rustc", RUSTC.format(sysroot=sysroot, line=line.replace("@", str(own))))
        write_script(sysroot / "bin" / "rustc", "#!/bin/sh\necho rustc 1.95.0\n")
        for driver in ("cc", "gcc", "clang"):
            write_script(here / driver, DRIVER)
        for name, version in LINKERS.items():
            write_script(here / name, f"#!/bin/sh\necho '{version}'\n")
        for name in ("gcc-ld/ld.lld", "rust-lld"):
            write_script(own / name, "#!/bin/sh\necho 'LLD 22.1.2 (compatible with GNU linkers)'\n")
        monkeypatch.setenv("PATH", f"{here}:/usr/bin:/bin")
        return here, own

    return make


def asked(folder):
    return rustc_link(folder, SubprocessRunner(), os.environ)


@pytest.mark.parametrize(
    ("line", "linker", "back_end"),
    [
        ('"cc" "-m64" "a.o" "-nodefaultlibs"', "ld", "gnu"),
        ('LC_ALL="C" PATH="/x y" "cc" "-m64" "-fuse-ld=lld" "-B@/gcc-ld" "a.o"', "@gcc-ld/ld.lld", "lld"),
        ('"cc" "-B@/gcc-ld" "-fuse-ld=lld" "-fuse-ld=mold"', "ld.mold", "mold"),
        ('"cc" "-fuse-ld=gold"', "ld.gold", "gold"),
        ('"clang" "-fuse-ld=lld"', "ld.lld", "lld"),
        ('"rust-lld" "-flavor" "gnu" "a.o"', "@rust-lld", "lld"),
        ('"ld.lld" "a.o"', "ld.lld", "lld"),
    ],
)
def test_the_linker_is_the_one_that_rustc_calls(machine, tmp_path, line, linker, back_end):
    here, own = machine(line)
    found = asked(tmp_path)

    expected = own / linker[1:] if linker.startswith("@") else here / linker
    assert (found.linker, found.back_end) == (expected, back_end)
    assert found.rustc == tmp_path / "sysroot/bin/rustc"
    assert (found.driver is None) == (line.split('"')[1] in ("rust-lld", "ld.lld"))


def test_a_linker_that_takes_no_order_is_refused(machine, tmp_path):
    machine('"cc" "-fuse-ld=wild"')
    with pytest.raises(FeatureUnsupported, match=r"rustc links with \S*/ld.wild, which cannot be told an order"):
        asked(tmp_path)


def test_a_linker_that_is_missing_is_named(machine, tmp_path):
    machine('"cc" "-fuse-ld=frob"')
    with pytest.raises(ToolNotFound, match=r"ld.frob not found on PATH"):
        asked(tmp_path)


def test_what_cargo_says_is_told_where_it_builds_nothing(machine, tmp_path):
    here, _ = machine("")
    write_script(here / "cargo", "#!/bin/sh\necho 'error: no such toolchain' >&2\nexit 1\n")
    with pytest.raises(ToolNotFound, match=r"do not build an empty program here.*\n.*no such toolchain"):
        asked(tmp_path)


def test_a_machine_without_rust_is_told_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(ToolNotFound, match="cargo not found on PATH"):
        asked(tmp_path)
    assert toolbox.load("rust", tmp_path) == toolbox.declared("rust", tmp_path)
    assert {"rustc", "cargo"} <= set(toolbox.missing(toolbox.load("rust", tmp_path)))


@pytest.mark.parametrize(
    ("line", "like", "compiler"),
    [
        ('"cc" "-fuse-ld=lld" "-B@/gcc-ld"', "gcc-lld", "cc"),
        ('"gcc"', "gcc", "gcc"),
        ('"clang" "-fuse-ld=mold"', "gcc-mold", "clang"),
    ],
)
def test_the_toolchain_can_what_its_linker_can(machine, tmp_path, line, like, compiler):
    machine(line)
    found, table = toolbox.load("rust", tmp_path), toolbox.declared(like, Path())

    assert (found.link.linker, found.link.factors, found.link.since) == (
        table.link.linker,
        table.link.factors,
        table.link.since,
    )
    assert found.tools.cc == [compiler]
    assert found.link.driver_flags == []


def test_others_are_written_as_before_there_was_rust():
    """What keys of the cache are made of has no words of Rust where no Rust is."""
    assert not {"rustc", "cargo"} & set(toolbox.declared("gcc", Path()).model_dump(mode="json")["tools"])
    assert {"rustc", "cargo"} <= set(toolbox.declared("rust", Path()).model_dump(mode="json")["tools"])


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("cargo +nightly-2026-05-01 build", "nightly-2026-05-01"),
        ("cd a && cargo  +x bench --no-run", "x"),
        ("cargo build +x", None),
    ],
)
def test_a_toolchain_that_the_commands_name_is_the_one_that_is_asked(command, named):
    config = parse(
        f'[project]\nname = "a"\n[build]\nsource = "."\ncommands = ["{command}"]\nartefacts = ["a"]\n'
        '[systems.own]\ntoolchain = "rust"\nenv = { A = "b" }\n',
        path="layoutrand.toml",
    )

    assert Surroundings.of(config, "own").variables.get("RUSTUP_TOOLCHAIN") == named
    assert Surroundings.of(config, "own").variables["A"] == "b"
