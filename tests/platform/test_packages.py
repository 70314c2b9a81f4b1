"""Hints name packages that the release at hand has, and on other systems the program alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from layoutrand.cli.doctor_checks import diagnose
from layoutrand.errors import ToolNotFound
from layoutrand.host.tuning import Tuning
from layoutrand.linkers import toolbox
from layoutrand.platform import packages
from layoutrand.platform.packages import apt_command, install
from layoutrand.platform.process import SubprocessRunner, find_tool

RELEASES = {
    "bookworm": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\nID=debian\n',
    "trixie": 'VERSION="13 (trixie)"\nVERSION_CODENAME=trixie\nID=debian\n',
    "sid": 'PRETTY_NAME="Debian GNU/Linux forky/sid"\nNAME="Debian GNU/Linux"\nVERSION_CODENAME=forky\nID=debian\n',
    "noble": 'VERSION_ID="24.04"\nVERSION_CODENAME=noble\nID=ubuntu\nID_LIKE=debian\nUBUNTU_CODENAME=noble\n',
    "mint": 'ID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble\n',
    "fedora": 'NAME="Fedora Linux"\nID=fedora\nVERSION_ID=42\n',
    "arch": "ID=arch\n",
    "broken": 'ID="debian\n',
}


@pytest.fixture
def release(tmp_path, monkeypatch):
    """Makes this machine one of these, as far as /etc/os-release tells."""

    def become(name):
        (tmp_path / "system/etc").mkdir(parents=True)
        (tmp_path / "system/etc/os-release").write_text(RELEASES[name])
        monkeypatch.setattr(packages, "_ROOT", tmp_path / "system")

    return become


@pytest.mark.parametrize(
    ("name", "programs", "command"),
    [
        ("bookworm", ["ld.lld"], "sudo apt-get install lld"),
        ("trixie", ["ld.lld"], "sudo apt-get install lld"),
        ("bookworm", ["ld.gold"], "sudo apt-get install binutils"),
        ("noble", ["ld.gold"], "sudo apt-get install binutils"),
        ("mint", ["ld.gold"], "sudo apt-get install binutils"),
        ("trixie", ["ld.gold"], "sudo apt-get install binutils-gold"),
        ("sid", ["ld.gold"], "sudo apt-get install binutils-gold"),
        ("bookworm", ["perf"], "sudo apt-get install linux-perf"),
        ("mint", ["perf"], "sudo apt-get install linux-tools-$(uname -r)"),
        ("trixie", ["clang-19", "ld.lld-19", "llvm-nm-19"], "sudo apt-get install clang-19 lld-19 llvm-19"),
        ("trixie", ["ld.lld-14"], "install ld.lld-14"),
        ("sid", ["ld.lld-19"], "install ld.lld-19"),
        ("bookworm", ["clang", "clang++", "ld.lld"], "sudo apt-get install clang lld"),
        ("bookworm", ["ld.lld", "frobnicate"], "install ld.lld, frobnicate"),
        ("fedora", ["ld.lld", "valgrind"], "install ld.lld, valgrind"),
        ("arch", ["perf"], "install perf"),
        ("broken", ["perf"], "install perf"),
    ],
)
def test_what_to_install(release, name, programs, command):
    release(name)
    assert install(programs) == command


def test_a_system_that_tells_nothing_is_told_the_program(monkeypatch, tmp_path):
    monkeypatch.setattr(packages, "_ROOT", tmp_path)
    assert install(["valgrind"]) == "install valgrind"


def test_a_missing_program_is_an_error_with_its_package(release, tmp_path):
    release("trixie")
    with pytest.raises(
        ToolNotFound, match=r"as the linker; install it \(sudo apt-get install binutils-gold\), or choose"
    ):
        find_tool(["ld.gold", "gold"], path=str(tmp_path), purpose="the linker")


@pytest.mark.parametrize(("name", "gold"), [("bookworm", "binutils"), ("trixie", "binutils-gold")])
def test_doctor_says_what_toolchains_lack_by_the_names_of_the_release(release, tmp_path, monkeypatch, name, gold):
    release(name)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    found = diagnose(tmp_path, SubprocessRunner(), tuning=Tuning(tmp_path, [tmp_path / "undo.json"]), root=tmp_path)
    mends = {ability.toolchain: ability.mend for ability in found.abilities if not ability.usable}
    assert mends["gcc"] == "sudo apt-get install gcc binutils"
    assert mends["gcc-gold"] == f"sudo apt-get install gcc {gold}{'' if gold == 'binutils' else ' binutils'}"
    assert mends["clang-lto"] == "sudo apt-get install clang lld llvm"
    assert not [p.what for p in found.problems if "aarch64" in p.what or "riscv64" in p.what]  # nobody asked for one


def test_every_program_of_shipped_toolchains_has_a_package(tmp_path, release):
    release("bookworm")
    for name in toolbox.shipped():
        if name == "go":
            continue  # Debian 12's has no linker that can shuffle: no package helps
        tools = toolbox.declared(name, tmp_path).tools
        for role in ("cc", "cxx", "fc", "ld", "ar", "nm", "ranlib"):
            for program in [each.replace("{suffix}", "") for each in getattr(tools, role)][:1]:
                assert apt_command([program]) is not None, program


@pytest.mark.slow
def test_the_packages_exist_in_this_release():
    """Asked of the lists that are here already; where these are empty, or there is no apt, nothing can be asked."""
    known = shutil.which("apt-cache") and subprocess.run(["apt-cache", "pkgnames", "libc6"], capture_output=True).stdout
    if not known:
        pytest.skip("apt has no lists of packages here")
    names = set()
    for table in packages._table().values():
        for program in table:
            command = apt_command([program]) if program != "llvm" else None
            names.update(re.sub(r"\S*\$\([^)]*\)", "", command or "").split()[3:])  # not those of this very kernel
    releases = packages._releases(packages._os_release(packages._ROOT))
    versions = next(
        (packages._table()[name]["llvm"] for name in releases if "llvm" in packages._table().get(name, {})), []
    )
    names |= {f"{name}-{version}" for name in ("lld", "clang", "llvm") for version in versions}
    assert sorted(names - _with_candidate(names)) == []
    assert len(names) > 10
    assert _with_candidate({"no-such-package"}) == set()


def _with_candidate(names):
    """Those of the packages that apt could install."""
    said = subprocess.run(
        ["apt-cache", "policy", *sorted(names)], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
    ).stdout
    return {name.split(":")[0] for name in re.findall(r"^(\S+):\n.*\n  Candidate: (?!\(none\))", said, re.MULTILINE)}
