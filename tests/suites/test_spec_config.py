"""Config files and start scripts for SPEC CPU: made, the user's own checked, and understood by the stand-in."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from layoutrand.config.spec_settings import SpecSuite
from layoutrand.errors import ConfigError
from layoutrand.suites.spec_config import base_problems, config_file, label_of, start_script
from layoutrand.suites.spec_root import read_base_config, read_root
from speckit import STANDIN, make_spec_root
from wrapkit import NASTY, SHELLS

sys.path.insert(0, str(STANDIN))
from configfile import Config

DEFINED = {"lr_root": "/out", "lr_jobs": "3", "lr_cc": "/w/gcc", "lr_cxx": "/w/g++", "lr_fc": "/w/gfortran"}
BASE = """\
# The user's own
label = mine   # kept
tune = base,peak
iterations = 3
output_root = /elsewhere
%define bits 64
default:
CC = gcc -std=gnu99 -m%{bits}
OPTIMIZE = -O3 -march=native
default=base=mine:
EXTRA_LDFLAGS = -static
505.mcf_r=base=mine:
PORTABILITY = -DMINE
__HASH__
505.mcf_r=base=mine:
opthash=1
"""


def suite(**changes: Any) -> SpecSuite:
    return SpecSuite.model_validate({"kind": "spec-cpu", "root": "r", "benchmarks": ["505.mcf_r"], **changes})


def read(folder: Path, version: int, base: str | None = None, **changes: Any) -> tuple[Config, str]:
    """The config file that is made, as the stand-in reads it, and the label."""
    facts = read_root(make_spec_root(folder, version), "layoutrand.toml")
    label = label_of(suite(**changes), base)
    path = folder / "made.cfg"
    path.write_text(config_file(suite(**changes), facts, base, label))
    return Config(str(path), DEFINED, year=version), label


@pytest.mark.parametrize("version", [2006, 2017, 2026])
def test_the_config_that_is_made_calls_the_wrappers_and_sets_no_ld(tmp_path, version):
    """In the syntax of its version; every compiler and link driver of every benchmark is the wrapper."""
    made, label = read(tmp_path, version)

    found = made.options("505.mcf_r", [], "base", label)
    for name, compiler in {
        "CC": "gcc",
        "CLD": "gcc",
        "CXX": "g++",
        "CXXLD": "g++",
        "FC": "gfortran",
        "FLD": "gfortran",
    }.items():
        assert found[name].split()[0] == f"/w/{compiler}"
    assert "LD" not in found
    assert found["makeflags"] == "--jobs=3"
    assert ("CC_VERSION_OPTION" in found) == (version != 2006)
    wanted = {
        "preenv": "0",
        "backup_config": "0",
        "sysinfo_program": "",
        "line_width": "0",
        "log_line_width": "0",
        "iterations": "1",
    }
    wanted |= (
        {"ext": label, "check_md5": "0", "output_root": "/out"}
        if version == 2006
        else {"label": label, "verify_binaries": "no"}
    )
    assert wanted.items() <= made.header.items()
    assert made.header["strict_rundir_verify"] in ("0", "no")
    assert made.used_labels == {"layoutrand"}


def test_the_flags_that_benchmarks_need_are_there(tmp_path):
    """Portability of CPU2017's and CPU2006's own."""
    made, label = read(tmp_path, 2017)
    assert made.options("500.perlbench_r", ["intrate"], "base", label)["PORTABILITY"] == "-DSPEC_LINUX_X64"
    assert "-fgnu89-inline" in made.options("502.gcc_r", ["intrate"], "base", label)["EXTRA_COPTIMIZE"]
    assert made.options("503.bwaves_r", ["fprate"], "base", label)["EXTRA_PORTABILITY"] == "-DSPEC_LP64"
    made, label = read(tmp_path / "old", 2006)
    assert made.options("481.wrf", ["fp"], "base", label)["wrf_data_header_size"] == "8"
    assert made.options("429.mcf", ["int"], "base", label)["PORTABILITY"] == "-DSPEC_CPU_LP64"


def test_the_users_config_keeps_its_flags_and_loses_what_layoutrand_decides(tmp_path):
    """Label and sections stay, hashes of another build go, and nothing is built or written elsewhere."""
    assert base_problems(suite(), BASE, "my.cfg") == []

    made, label = read(tmp_path, 2017, BASE)

    found = made.options("505.mcf_r", ["intrate"], "base", label)
    assert label == "mine"
    assert (found["CC"], found["OPTIMIZE"]) == ("gcc -std=gnu99 -m64", "-O3 -march=native")
    assert (found["EXTRA_LDFLAGS"], found["PORTABILITY"]) == ("-static", "-DMINE")
    assert (found["CXX"], found["CC_VERSION_OPTION"]) == ("/w/g++", "-v")
    assert {"tune": "base", "iterations": "1", "label": "mine"}.items() <= made.header.items()
    assert "output_root" not in made.header
    assert made.hash_text == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("default:\nLD = ld.gold\n", ["line 2: LD is set", "CLD, CXXLD or FLD"]),
        (
            "default:\nCC = /usr/bin/gcc -m64\n",
            ["line 2: CC = /usr/bin/gcc -m64 calls /usr/bin/gcc", "write CC = %{lr_cc} -m64"],
        ),
        (
            "%define gcc_dir /opt/gcc\ndefault:\nSPECLANG = %{gcc_dir}/bin/\nCXX = $(SPECLANG)g++ -std=c++03\n",
            ["line 4: CXX", "/opt/gcc/bin/g++", "CXX = %{lr_cxx} -std=c++03"],
        ),
        ("default:\nFLD = ${dir}/gfortran\n", ["FLD = ${dir}/gfortran calls", "FLD = %{lr_fc}"]),
        ("default:\nCC = %{unknown}\n", ["CC = %{unknown} calls %{unknown}"]),
        ("default:\nCLD =\n", ["CLD =  calls nothing"]),
        (
            "default:\npreENV_LD_LIBRARY_PATH = /opt/lib\n",
            ["line 2: preENV_LD_LIBRARY_PATH", "set LD_LIBRARY_PATH in suite.env"],
        ),
        ("default=base=fast:\nOPTIMIZE = -O3\n", ["the label 'layoutrand' has no section there", 'label = "fast"']),
    ],
)
def test_a_config_that_would_bypass_the_wrappers_is_refused(text, words):
    """With its line, and with what to write instead."""
    (problem,) = base_problems(suite(), text, "my.cfg")

    assert problem.startswith("my.cfg")
    assert [word for word in words if word not in problem] == []


@pytest.mark.parametrize(
    "value",
    ["gcc", "gcc-12 -m64", "%{lr_cc} -std=c99", "$(CC)", "ccache gcc", "%{compiler} -O", "x86_64-linux-gnu-g++"],
)
def test_compilers_by_name_lead_to_the_wrappers(value):
    """PATH has them first."""
    assert base_problems(suite(), f"%define compiler clang\ndefault:\nCC = gcc\nCLD = {value}\n", "my.cfg") == []


def test_a_label_of_the_suites_own_is_taken(tmp_path):
    """suite.label over the config's, and macros that the config defines are filled in."""
    text = "%define build fast\nlabel = %{build}-64\ndefault=base=%{build}-64:\nOPTIMIZE = -O3\ndefault=base=slow:\nOPTIMIZE = -O0\n"

    assert label_of(suite(), text) == "fast-64"
    assert base_problems(suite(), text, "c") == []
    made, label = read(tmp_path, 2017, text, label="slow")
    assert made.options("505.mcf_r", [], "base", label)["OPTIMIZE"] == "-O0"
    assert label_of(suite(), None) == "layoutrand"


def test_what_a_config_includes_is_checked_too(tmp_path):
    """Found beside it, or in the suite's config directory."""
    root = make_spec_root(tmp_path)
    (tmp_path / "my.cfg").write_text("include: more.cfg\ndefault:\nOPTIMIZE = -O2\n")
    (root / "config/more.cfg").write_text("default:\nLD = x\n")

    text = read_base_config(tmp_path / "my.cfg", root, "layoutrand.toml")
    assert "line 2: LD is set" in base_problems(suite(), text, "my.cfg")[0]

    (root / "config/more.cfg").write_text("include: more.cfg\n")
    for content, words in {
        "include: more.cfg\n": "includes itself",
        "include: none.cfg\n": "there is no file",
        "include: %{x}.cfg\n": "name the file itself",
    }.items():
        (tmp_path / "my.cfg").write_text(content)
        with pytest.raises(ConfigError, match=words):
            read_base_config(tmp_path / "my.cfg", root, "layoutrand.toml")
    with pytest.raises(ConfigError, match="suite.config: there is no file"):
        read_base_config(tmp_path / "absent.cfg", root, "layoutrand.toml")


RECORDER = '#!/bin/sh\nfor word in "$SPEC" "$@"; do printf "%s\\0" "$word"; done > "$RECORD"\n'


def started(
    folder: Path, script: str, *arguments: str, shell: list[str], **env: str
) -> subprocess.CompletedProcess[str]:
    """Execute a start script in a directory of its own."""
    folder.mkdir(exist_ok=True)
    path = folder / "start.sh"
    path.write_text(script)
    environment = {"PATH": os.environ["PATH"], "RECORD": str(folder / "record"), **env}
    return subprocess.run([*shell, str(path), *arguments], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
@pytest.mark.parametrize("version", [2006, 2017])
def test_the_script_becomes_the_tool_with_these_words(tmp_path, shell, version):
    """Byte for byte, in an installation whose path needs quoting; the output root without what is below it."""
    facts = read_root(make_spec_root(tmp_path / "it's a $HOME", version), "layoutrand.toml")
    tool = Path(facts.root, "bin", facts.tool)
    tool.write_text(RECORDER)
    words = [value.decode() for value in NASTY.values() if value.isascii()]
    script = start_script(facts, title="x\ny", words=words, below="/benchspec/CPU/b/exe", build=True)

    done = started(
        tmp_path / "cwd", script, "/out root/benchspec/CPU/b/exe", "4", shell=shell, CC="/w/gcc", CXX="/w/g++"
    )

    assert (done.returncode, done.stderr) == (0, "")
    spec, *argv = (tmp_path / "cwd/record").read_text().split("\0")[:-1]
    root = ["--output_root=/out root"] if version == 2017 else []
    defined = {"lr_root": "/out root", "lr_jobs": "4", "lr_cc": "/w/gcc", "lr_cxx": "/w/g++", "lr_fc": "gfortran"}
    symbols = [word for name, value in defined.items() for word in ("--define", f"{name}={value}")]
    assert spec == facts.root
    assert argv == [f"--config={tmp_path}/cwd/layoutrand.cfg", *root, *symbols, *words]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda root: (root / "shrc").unlink(), "has no shrc, which sets the environment of SPEC CPU up"),
        (lambda root: (root / "shrc").write_text("echo hello\n"), "the environment is not set"),
        (lambda root: (root / "bin/runcpu").chmod(0o644), "cannot execute"),
        (lambda root: root.rename(root.with_name("moved")), "cannot enter"),
    ],
    ids=["no shrc", "shrc that sets nothing", "no tool", "moved"],
)
def test_a_broken_installation_is_told_by_the_script(tmp_path, damage, words):
    """Also where the user's own environment names another installation."""
    facts = read_root(make_spec_root(tmp_path), "layoutrand.toml")
    damage(Path(facts.root))

    done = started(
        tmp_path / "cwd",
        start_script(facts, title="t", words=[], below="", build=False),
        "/out",
        shell=["/bin/sh"],
        SPEC="/another",
    )

    assert (done.returncode, "layoutrand: spec-cpu: " in done.stderr, words in done.stderr) == (125, True, True)


@pytest.mark.parametrize("version", [2006, 2017])
@pytest.mark.parametrize("build", [True, False])
def test_the_scripts_pass_shellcheck(tmp_path, version, build):
    """Whatever stands in them."""
    from workshop import require

    facts = read_root(make_spec_root(tmp_path, version), "layoutrand.toml")
    script = start_script(
        dataclasses.replace(facts, root="/a b"), title="t", words=["--action=x", "a b", ""], below="/x y", build=build
    )

    done = subprocess.run([require("shellcheck", "shellcheck"), "-"], input=script, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (0, "")
