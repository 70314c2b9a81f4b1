"""What `make demo` and `make test` say on a machine that lacks something, before they do anything else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from workshop import require

ROOT = Path(__file__).parents[2]
NEEDS = ROOT / "tests/tools/needs.sh"
EVERYWHERE = ("mktemp", "grep", "head", "rm", "id", "sh")
APT = "#!/bin/sh\nexit 1\n"
NO_HEADERS = (
    "#!/bin/sh\necho '/usr/lib/gcc/x86_64-linux-gnu/14/include/stdint.h:11:16: fatal error: stdint.h: "
    "No such file or directory' >&2\nexit 1\n"
)
NO_START_FILES = "#!/bin/sh\necho '/usr/bin/ld: cannot find crt1.o: No such file or directory' >&2\nexit 1\n"
BROKEN = "#!/bin/sh\necho 'gcc: fatal error: cannot execute cc1: No such file' >&2\nexit 1\n"
OLD_PYTHON = "#!/bin/sh\ncase $2 in *print*) echo 3.10.12 ;; *) exit 1 ;; esac\n"
NO_VENV = "#!/bin/sh\ncase $2 in *print*) echo 3.13.5 ;; esac\n"


@pytest.fixture
def needs(tmp_path):
    """Call needs.sh where nothing but the programs given is installed; status and what it says, line by line."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in EVERYWHERE:
        (tools / name).symlink_to(shutil.which(name))

    def call(python, **programs):
        for name, script in programs.items():
            if script is None:
                (tools / name).symlink_to(require(name, name))
            else:
                (tools / name).write_text(script)
                (tools / name).chmod(0o755)
        env = {"PATH": str(tools), "TMPDIR": str(tmp_path)}
        done = subprocess.run(["sh", str(NEEDS), python], env=env, capture_output=True, text=True)
        assert done.stdout == ""
        assert sorted(os.listdir(tmp_path)) == ["bin"]
        return done.returncode, done.stderr.replace("    sudo ", "    ").splitlines()

    return call


def test_nothing_is_said_where_nothing_is_missing():
    """On this machine, which executes these tests."""
    require("gcc", "gcc")
    done = subprocess.run([str(NEEDS), sys.executable], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_everything_is_missing(needs):
    """One line says what, one mends all of it."""
    status, said = needs("", **{"apt-get": APT})
    assert status == 1
    assert said == [
        "layoutrand needs more than this machine has: no gcc; no Python 3.11 or later",
        "    apt-get install --yes gcc libc6-dev python3 python3-venv",
    ]


@pytest.mark.parametrize("gcc", [NO_HEADERS, NO_START_FILES])
def test_a_compiler_without_a_c_library(needs, gcc):
    """gcc without libc6-dev, which Debian only recommends with it."""
    status, said = needs("/usr/bin/python3", **{"apt-get": APT, "gcc": gcc})
    assert status == 1
    assert said == [
        "layoutrand needs more than this machine has: gcc finds no C library (its headers and start files)",
        "    apt-get install --yes libc6-dev",
    ]


def test_another_failure_of_the_compiler_is_shown(needs):
    """What no package mends is told in the compiler's words."""
    status, said = needs("/usr/bin/python3", **{"apt-get": APT, "gcc": BROKEN})
    assert (status, said) == (
        1,
        ["gcc cannot make a program of three lines: gcc: fatal error: cannot execute cc1: No such file"],
    )


@pytest.mark.parametrize(
    ("python3", "complaint", "package"),
    [
        (OLD_PYTHON, "Python 3.10.12 is too old: 3.11 is the first that serves", "python3.11 python3.11-venv"),
        (NO_VENV, "Python 3.13.5 has no venv", "python3-venv"),
    ],
)
def test_a_python_that_does_not_serve(needs, python3, complaint, package):
    """Too old, or without venv, which is a package of its own on Debian."""
    status, said = needs("", **{"apt-get": APT, "gcc": "#!/bin/sh\n", "python3": python3})
    assert status == 1
    assert said == [f"layoutrand needs more than this machine has: {complaint}", f"    apt-get install --yes {package}"]


def test_another_distribution(needs):
    """Its own package manager and its own names."""
    _status, said = needs("", dnf=APT)
    assert said[1] == "    dnf install --assumeyes gcc glibc-devel python3"


def test_a_system_without_a_known_package_manager(needs):
    """What is missing is named all the same."""
    status, said = needs("")
    assert (status, said[1]) == (1, "    install what is named, then call make again")


def test_the_readme_names_what_make_asks_for(needs):
    """One list of packages."""
    _status, said = needs("", **{"apt-get": APT})
    wanted = said[1].removeprefix("    ")
    assert f"sudo {wanted} make\n" in (ROOT / "README.md").read_text()


def test_versions_are_locked():
    """Each library that pyproject.toml names has one version for `make`, and what layoutrand needs a lowest one."""
    import tomllib

    def names(path):
        rows = [line.split(";")[0].strip() for line in (ROOT / path).read_text().splitlines()]
        return {row.split("==")[0].lower() for row in rows if "==" in row and not row.startswith("#")}

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = {
        line.split(">")[0].split("[")[0].lower()
        for rows in (project["dependencies"], *extras.values())
        for line in rows
    }
    assert len(wanted) > 25
    assert wanted - names(".ci/constraints.txt") == {"layoutrand"}
    assert {line.split(">")[0] for line in project["dependencies"]} <= names(".ci/constraints-lowest.txt")
