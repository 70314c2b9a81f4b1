"""Program x toolchain and linker x factor: every cell is built, verified and executed, as the table of docs/project/verified.md says.

A cell is two seeds and both controls, through the command line. It is verified if every binary was, no two seeds have
the same code or data, and every binary (stock, identity, seeds) gives the program's reference output. A factor that
the toolchain's linker cannot do must be refused by name. The factors of a row share one capture.

By default every program is built with one toolchain, and one program with every toolchain. `make matrix`
(LAYOUTRAND_MATRIX=write) builds all and writes the table; LAYOUTRAND_MATRIX=fill builds and writes the cells that nobody has
tried; LAYOUTRAND_MATRIX=all builds all and compares.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import matrix_table as matrix
from debian_sources import source_tree, unavailable
from larger_programs import LARGER
from layoutrand.linkers import toolbox as toolboxes
from matrix_table import CANNOT, FACTORS, FAILED, NOTHING, UNKNOWN, VERIFIED
from real_programs import PROGRAMS, Laid, under
from workshop import not_installed, of_one_version, programs_of

pytestmark = pytest.mark.slow
MODE = os.environ.get("LAYOUTRAND_MATRIX", "")
assert MODE in ("", "all", "write", "fill"), "LAYOUTRAND_MATRIX is empty, all, write or fill"
SEEDS = 2
TOOLCHAINS = (
    "gcc",
    "gcc-gold",
    "gcc-lld",
    "gcc-mold",
    "gcc-lto",
    "clang",
    "clang-lld",
    "clang-lto",
    "clang-thinlto",
    "gcc-aarch64",
    "clang-aarch64",
    "gcc-riscv64",
    "clang-riscv64",
)
LINKERS = {"gnu": "GNU ld", "lld": "lld", "gold": "gold", "mold": "mold"}
NOTHING_TO_ORDER = ("there is only one layout", "too few placeable sections", "so none can be moved")
REFUSALS = (
    r"'{factor}' with toolchain '{toolchain}' needs version \d+ of its linker or later, this is ",
    r"'{factor}' needs modules, which link-time optimisation mixes ",
    r"'{factor}' moves objects on the link line, but with link-time optimisation these hold no code",
)


HEAVY = ("Crypto++", "dav1d", "OpenSSL")
SUBJECTS = {**PROGRAMS, "OpenSSL": LARGER["OpenSSL"]}
CELLS = [
    pytest.param(program, toolchain, id=f"{program}-{toolchain}", marks=[pytest.mark.long] * (program in HEAVY))
    for program in SUBJECTS
    for toolchain in TOOLCHAINS
    if toolchain in toolboxes.shipped()
    and SUBJECTS[program].is_for(toolchain)
    # what is not asked of all here is built with gcc by `test_larger_programs.py`
    and (MODE or program == "lua" or (toolchain == "gcc" and program in PROGRAMS))
]


def _write(program, toolchain, row, folder):
    """Put one row into the table of docs/project/verified.md."""
    linkers = {name: _linker(name) for name in TOOLCHAINS if name in toolboxes.shipped()}
    what = {name: f"{program.what}, {program.built_with}" for name, program in SUBJECTS.items()}
    matrix.write(matrix.rendered({**matrix.known(), (program, toolchain): row}, what, linkers, _versions(folder)))


def _linker(toolchain):
    return LINKERS[toolboxes.load(toolchain, Path(__file__).parents[2]).link.linker]


def _versions(folder):
    """The tools of this machine, in one line."""
    found = {}
    for name in TOOLCHAINS:
        if name in toolboxes.shipped():
            programs = programs_of(of_one_version(name, folder))
            for role in ("cc", "ld"):
                said = subprocess.run([programs[role], "--version"], capture_output=True, text=True).stdout
                found.setdefault(said.splitlines()[0].strip())
    return f"Made by `make matrix` with {'; '.join(found)}."


def test_the_cxx_program_is_large(tmp_path):
    """Crypto++ has more than 100,000 lines of C++ that are neither empty nor only a comment."""
    tree = source_tree(PROGRAMS["Crypto++"].package, tmp_path / "source")
    text = "\n".join(path.read_text(errors="replace") for path in tree.iterdir() if path.suffix in (".cpp", ".h"))
    lines = [line.strip() for line in text.splitlines()]

    assert sum(bool(line) and not line.startswith(("//", "*", "/*")) for line in lines) > 100_000


@pytest.mark.parametrize(("program", "toolchain"), CELLS)
def test_row(program, toolchain, tmp_path):
    """What the table of docs/project/verified.md says of a program and a toolchain is so, factor by factor."""
    subject = SUBJECTS[program]
    before = matrix.known().get((program, toolchain), {}) if MODE == "fill" else {}
    untried = [factor for factor in FACTORS if before.get(factor, UNKNOWN) == UNKNOWN]
    if not untried:
        pytest.skip("no cell of the row is left to be tried")
    for tool, package in subject.needs.items():
        if shutil.which(tool) is None and not os.path.exists(tool):
            unavailable(not_installed(tool, package))
    chosen = of_one_version(toolchain, tmp_path)
    programs_of(chosen)
    able = toolboxes.load(chosen, tmp_path).link.factors
    tree = source_tree(subject.package, tmp_path / "source")

    row, reasons = dict(before), {}
    for factor in untried:
        try:
            row[factor] = _cell(subject, toolchain, factor, tree, tmp_path, able=factor in able)
        except AssertionError as error:
            row[factor] = FAILED
            reasons[factor] = str(error)
    if MODE in ("write", "fill"):
        _write(program, toolchain, row, tmp_path)

    assert reasons == {}
    if MODE not in ("write", "fill"):
        expected = matrix.known().get((program, toolchain), {})
        assert {factor: mark for factor, mark in row.items() if mark != UNKNOWN} == {
            factor: mark for factor, mark in expected.items() if mark != UNKNOWN
        }, "the table of docs/project/verified.md says otherwise: run make matrix"


def _cell(subject, toolchain, factor, tree, folder, *, able):
    """Build one factor; the mark of the cell, or an assertion that fails."""
    returncode, stdout, stderr = _build(subject, toolchain, factor, tree, folder)
    if not able:
        assert f"cannot do '{factor}'" in stderr
        assert (returncode, stdout) == (2, "")
        return CANNOT
    assert stdout, stderr
    document = json.loads(stdout)
    failures = {failure["error"] for failure in document["failures"]}
    refusals = [pattern.format(toolchain=toolchain, factor=factor) for pattern in REFUSALS]
    if failures and all(any(re.search(pattern, failure) for pattern in refusals) for failure in failures):
        assert returncode == 1, stderr
        return CANNOT
    if failures and all(any(phrase in failure for phrase in NOTHING_TO_ORDER) for failure in failures):
        return NOTHING
    assert not failures, failures
    assert returncode == 0, stderr
    _check_binaries(subject, factor, document["binaries"])
    _check_answers(subject, document["binaries"], tree, folder / factor, under(toolchain))
    return VERIFIED


def _build(subject, toolchain, factor, tree, folder):
    """`layoutrand build` of one factor: exit status, standard output, standard error."""
    project = folder / f"project-{factor}"
    project.mkdir()
    said = subject.commands_with(toolchain)
    artefacts, commands = json.dumps(subject.artefacts), json.dumps(said, ensure_ascii=False)
    (project / "layoutrand.toml").write_text(
        f'[project]\nname = "matrix"\n[build]\nsource = "{tree}"\ncommands = {commands}\nartefacts = {artefacts}\ntimeout_s = 3600\n'
        f'[layout]\nfactors = ["{factor}"]\n'
        f'[systems.A]\ntoolchain = "{of_one_version(toolchain, folder)}"\ncflags = "{subject.cflags}"\n'
    )
    env = {**os.environ, "LAYOUTRAND_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "layoutrand", "build", "--seeds", str(SEEDS), "--json", "-q"]
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def _check_binaries(subject, factor, binaries):
    """Every layout of every artefact is there and verified, and no two seeds are one."""
    for artefact in subject.artefacts:
        of = {binary["seed"]: binary for binary in binaries if binary["artefact"] == artefact}
        assert of.keys() == {"stock", "identity", *range(1, SEEDS + 1)}
        seeds = [of[seed] for seed in range(1, SEEDS + 1)]
        assert all(binary["verified"]["tau_request"] == 1.0 for binary in (of["identity"], *seeds))
        assert len({binary["sha256"] for binary in (of["identity"], *seeds)}) == SEEDS + 1
        if factor != "data-order":
            assert len({binary["text_sha256"] for binary in (of["identity"], *seeds)}) == SEEDS + 1


def _check_answers(subject, binaries, tree, folder, launched):
    """All layouts give the reference output, which is also stock's."""
    answers = {}
    for layout in ("stock", "identity", *range(1, SEEDS + 1)):
        scratch = folder / str(layout)
        scratch.mkdir(parents=True)
        files = {binary["artefact"]: binary["path"] for binary in binaries if binary["seed"] == layout}
        answers[layout] = subject.ask(Laid(files, tree, scratch, launched))
    assert answers["stock"]
    assert [layout for layout, answer in answers.items() if answer != answers["stock"]] == []
