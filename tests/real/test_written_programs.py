"""Layouts that are written without a linker are those that it links: of programs that people use, byte for byte."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from debian_sources import source_tree, unavailable
from larger_programs import LARGER
from real_programs import PROGRAMS
from workshop import not_installed, of_one_version, programs_of

pytestmark = pytest.mark.slow
SEEDS = 50
TOOLCHAINS = ("gcc", "gcc-lld", "clang-lld")
ALL = {**PROGRAMS, **LARGER}
LONG = ("Crypto++", "CPython", "OpenSSL")
OWN_LTO = ("ninja",)  # by gcc with lld it has none, as lld cannot read gcc's intermediate code
CASES = [
    pytest.param(program, toolchain, id=f"{program}-{toolchain}", marks=[pytest.mark.long] * (program in LONG))
    for program in ALL
    for toolchain in TOOLCHAINS
    if not (program in OWN_LTO and toolchain == "gcc-lld")
]


@pytest.mark.parametrize(("program", "toolchain"), CASES)
def test_files_are_the_linkers(program, toolchain, tmp_path):
    """One capture, and all of its seeds by both engines."""
    subject = ALL[program]
    for tool, package in subject.needs.items():
        if shutil.which(tool) is None and not os.path.exists(tool):
            unavailable(not_installed(tool, package))
    chosen = of_one_version(toolchain, tmp_path)
    programs_of(chosen)
    tree = source_tree(subject.package, tmp_path / "source")
    project = tmp_path / "project"
    project.mkdir()

    def built(engine, seeds):
        (project / "layoutrand.toml").write_text(
            f'[project]\nname = "written"\n[build]\nsource = "{tree}"\ntimeout_s = 3600\n'
            f"commands = {json.dumps(subject.commands)}\nartefacts = {json.dumps(subject.artefacts)}\n"
            f'[layout]\nengine = "{engine}"\n'
            f'[systems.A]\ntoolchain = "{chosen}"\ncflags = "{subject.cflags}"\n'
        )
        env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / f"cache-{engine}")}
        command = [sys.executable, "-m", "layoutrand", "build", "--seeds", seeds, "--no-controls", "--json", "-q"]
        done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    built("link", "1")
    shutil.copytree(tmp_path / "cache-link", tmp_path / "cache-permute", symlinks=True)
    linked, written = (built(engine, f"2..{SEEDS + 1}") for engine in ("link", "permute"))

    assert written["unwritten"] == []
    assert {binary["engine"] for binary in written["binaries"]} == {"permute"}
    assert {binary["engine"] for binary in linked["binaries"]} == {"link"}
    files = [
        {(each["artefact"], each["seed"]): each["sha256"] for each in document["binaries"]}
        for document in (linked, written)
    ]
    assert len(files[0]) == SEEDS * len(subject.artefacts)
    assert files[0] == files[1]
