"""Larger programs, each captured once with GNU ld and once with lld: every layout verified, and answering as stock does.

OpenSSL is built for AArch64, too, whose assembler is another one, and executed under an emulator elsewhere.

CPython and OpenSSL build for minutes with each linker, and so they start first.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest

from debian_sources import source_tree, unavailable
from larger_programs import LARGER
from real_programs import Laid, under
from workshop import of_one_version, programs_of

pytestmark = pytest.mark.slow
SEEDS = 4
WITH_LLD = {"ninja": "clang-lld"}  # lld cannot read gcc's intermediate code, and so CMake finds
HEAVY = ("CPython", "OpenSSL")
OF_ANOTHER_MACHINE = ("gcc-aarch64", "clang-aarch64")
CASES = [
    pytest.param(program, toolchain, id=f"{program}-{toolchain}", marks=[pytest.mark.long] * (program in HEAVY))
    for program in LARGER
    for toolchain in ("gcc", WITH_LLD.get(program, "gcc-lld"), *OF_ANOTHER_MACHINE)
    if LARGER[program].is_for(toolchain)
]


@pytest.mark.parametrize(("program", "toolchain"), CASES)
def test_larger_program(program, toolchain, tmp_path):
    """One capture of all artefacts, and what they answer together in each layout."""
    subject = LARGER[program]
    chosen = of_one_version(toolchain, tmp_path) if toolchain in ("clang-lld", "clang-aarch64") else toolchain
    programs_of(
        of_one_version("clang-lto", tmp_path) if toolchain == "clang-lld" else toolchain
    )  # LLVM's archiver, too
    for tool, package in subject.needs.items():
        if shutil.which(tool) is None:
            unavailable(f"{tool} is not installed (apt-get install {package})")
    tree = source_tree(subject.package, tmp_path / "source")
    launched = under(toolchain)
    binaries = _built(subject, chosen, subject.commands_with(toolchain), tree, tmp_path)

    layouts = ("stock", "identity", *range(1, SEEDS + 1))
    for artefact in subject.artefacts:
        of = {binary["seed"]: binary for binary in binaries if binary["artefact"] == artefact}
        assert of.keys() == set(layouts)
        assert all(of[layout]["verified"]["tau_request"] == 1.0 for layout in layouts[1:])
        assert len({of[layout]["text_sha256"] for layout in layouts[1:]}) == SEEDS + 1
    answers = {}
    for layout in layouts:
        scratch = tmp_path / str(layout)
        scratch.mkdir()
        files = {binary["artefact"]: binary["path"] for binary in binaries if binary["seed"] == layout}
        answers[layout] = subject.ask(Laid(files, tree, scratch, launched))
    assert answers["stock"]
    assert [layout for layout, answer in answers.items() if answer != answers["stock"]] == []


def _built(subject, toolchain, commands, tree, folder):
    """The binaries of a build that must succeed."""
    project = folder / "project"
    project.mkdir()
    artefacts, commands = json.dumps(subject.artefacts), json.dumps(commands)
    (project / "layoutrand.toml").write_text(
        f'[project]\nname = "larger"\n[build]\nsource = "{tree}"\ncommands = {commands}\nartefacts = {artefacts}\ntimeout_s = 3600\n'
        f'[systems.A]\ntoolchain = "{toolchain}"\ncflags = "{subject.cflags}"\n'
    )
    env = {**os.environ, "LAYOUTRAND_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "layoutrand", "build", "--seeds", str(SEEDS), "--json", "-q"]
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["failures"] == []
    return document["binaries"]
