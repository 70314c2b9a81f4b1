"""Pipes, devices and giants where a command reads a file: told at once, by name, with an exit status."""

from __future__ import annotations

import os

import pytest

import startkit
from workshop import require

PROJECT = """\
[project]
name = "p"
[build]
commands = ["make"]
artefacts = ["a"]
[systems.O1]
toolchain = "{toolchain}"
[[benchmarks]]
name = "b"
command = ["{{artefact}}"]
"""
PIPE = "it is a pipe, not an ordinary file"


@pytest.fixture
def layoutrand(tmp_path):
    """The command line in an empty directory with a pipe and a giant in it."""
    os.mkfifo(tmp_path / "pipe.toml")
    with open(tmp_path / "giant.toml", "wb") as file:
        file.truncate(1 << 40)
    env = {**os.environ, "LAYOUTRAND_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path / "home")}

    def call(*arguments):
        return startkit.layoutrand(*arguments, cwd=tmp_path, env=env)

    return call


@pytest.mark.parametrize(("stands", "reason"), [("pipe.toml", PIPE), ("giant.toml", "it has 1.0 TiB")])
@pytest.mark.parametrize("command", [["build"], ["analyse"], ["run"], ["compare"]], ids=" ".join)
def test_a_configuration_is_an_ordinary_file(layoutrand, tmp_path, command, stands, reason):
    (tmp_path / "layoutrand.toml").symlink_to(stands)
    done = layoutrand(*command)
    assert done.returncode in (1, 2)
    assert f"layoutrand.toml: {reason}" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("stands", "reason"), [("pipe.toml", PIPE), ("giant.toml", "it has 1.0 TiB")])
def test_a_toolchain_is_an_ordinary_file(layoutrand, tmp_path, stands, reason):
    (tmp_path / "layoutrand.toml").write_text(PROJECT.format(toolchain=stands))
    done = layoutrand("build")
    assert (done.returncode, f"{stands}: {reason}" in done.stderr.replace("\n", " ")) == (2, True), done.stderr


@pytest.mark.parametrize(("stands", "reason"), [("pipe.toml", PIPE), ("giant.toml", "it has 1.0 TiB")])
def test_what_is_imported_is_an_ordinary_file(layoutrand, stands, reason):
    done = layoutrand("analyse", "--import", stands)
    assert (done.returncode, f"cannot read {stands}: {reason}" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("name", ["Makefile", "CMakeLists.txt", "configure"])
def test_a_build_is_looked_for_in_ordinary_files(layoutrand, tmp_path, name):
    if name == "CMakeLists.txt":
        require("cmake", "cmake")
    (tmp_path / name).symlink_to("giant.toml")
    done = layoutrand("init")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr and "it has 1.0 TiB" in done.stderr
