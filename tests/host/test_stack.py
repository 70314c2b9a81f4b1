from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from layoutrand.config.conditions import MAX_STACK_OFFSET, Conditions
from layoutrand.errors import FeatureUnsupported
from layoutrand.execute.measure import Command, measure
from layoutrand.host.stack import find, lengthened, obstacle, too_long

# What it prints: a local variable, AT_EXECFN and a variable of the environment by address; then what must not move.
ADDRESSES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
extern char **environ;
static int global;
int main(int argc, char **argv) {
  int local;
  void *heap = malloc(10);
  printf("%lu %lu %lu\n", (unsigned long)&local, getauxval(AT_EXECFN), (unsigned long)environ[0]);
  printf("%p %p %p %p\n", (void *)main, (void *)&global, heap, (void *)printf);
  for (int i = 0; i < argc; i++) puts(argv[i]);
  for (char **e = environ; *e; e++) puts(*e);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("stack")
    (folder / "a.c").write_text(ADDRESSES)
    subprocess.run(["cc", "-O1", "-o", folder / "addresses", folder / "a.c"], check=True)
    return folder / "addresses"


@pytest.fixture
def printed(program, tmp_path):
    """What the program prints with a stack offset, started by its path or as found in PATH, without ASLR."""

    def execute(offset, *argv, aslr=False):
        command = Command(
            argv=argv or (str(program), "word"),
            env={"A": "1", "PATH": f"/nowhere:{program.parent}"},
            cwd=program.parent,
            stdin=None,
            stdout=tmp_path / "o",
            stderr=tmp_path / "e",
            timeout_s=60,
            aslr=aslr,
            conditions=Conditions(stack_offset=offset),
        )
        try:
            outcome = measure(command)
        except FeatureUnsupported as error:
            pytest.skip(str(error))
        assert outcome.status == "ok", outcome.reason
        first, *rest = (tmp_path / "o").read_text().splitlines()
        return [int(word) for word in first.split()], rest

    return execute


def test_the_stack_moves_by_the_offset_and_nothing_else_does(printed, program):
    start, others = printed(0)
    assert others[1:] == [str(program), "word", "A=1", f"PATH=/nowhere:{program.parent}"]
    for offset in (16, 32, 48, 1600, MAX_STACK_OFFSET - 16):
        moved, others_then = printed(offset)
        assert [before - now for before, now in zip(start, moved, strict=True)] == [offset] * 3
        assert others_then == others


@pytest.mark.parametrize("word", ["addresses", "./addresses", "../{}/addresses"])
def test_a_program_is_found_as_without_an_offset_and_its_name_stays(printed, program, word):
    word = word.format(program.parent.name)
    (none, _), (moved, others) = printed(0, word), printed(64, word)
    assert [before - now for before, now in zip(none, moved, strict=True)] == [64] * 3
    assert others[1] == word


def test_with_aslr_the_program_runs_as_well(printed, program):
    assert printed(1600, aslr=True)[1][1:3] == [str(program), "word"]


def test_a_script_is_refused_because_its_argument_would_change(tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    command = Command(
        argv=(str(script),),
        env={},
        cwd=tmp_path,
        stdin=None,
        stdout=tmp_path / "o",
        stderr=tmp_path / "e",
        timeout_s=9,
        conditions=Conditions(stack_offset=16),
    )
    outcome = measure(command)
    assert outcome.status == "start"
    assert f"{script} is a script: its interpreter would be given another argument" in outcome.reason


def test_obstacles(tmp_path):
    (tmp_path / "jar").write_bytes(b"PK\3\4")
    assert obstacle(sys.executable) == ""
    assert "is no ELF program" in obstacle(str(tmp_path / "jar"))
    assert too_long("/" + "a" * 510) == too_long("/a") == ""
    assert "at most 512 bytes" in too_long("/" + "a" * 512)


def test_the_longest_path_with_the_largest_offset_can_be_executed(tmp_path, program):
    missing = 512 - len(os.fsencode(tmp_path / "p"))
    folder = tmp_path.joinpath(*["d" * 9] * (missing // 10 - 1), "e" * (missing % 10 + 9))
    folder.mkdir(parents=True)
    path = folder / "p"
    shutil.copy(program, path)
    assert len(os.fsencode(path)) == 512
    assert too_long(str(path)) == ""
    longest = lengthened(str(path), {}, tmp_path, MAX_STACK_OFFSET - 16)
    assert subprocess.run([str(path)], executable=longest, stdout=subprocess.DEVNULL).returncode == 0


def test_programs_are_found_as_execvp_finds_them(tmp_path):
    for name, mode in (("a", 0o755), ("b", 0o644)):
        for place in ("first", "second"):
            path = tmp_path / place / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"\x7fELF")
            path.chmod(mode)
    (tmp_path / "first/a").chmod(0o644)
    env = {"PATH": f"first:{tmp_path / 'second'}"}
    assert find("a", env, tmp_path) == str(tmp_path / "second/a")
    assert find("second/a", {}, tmp_path) == str(tmp_path / "second/a")
    with pytest.raises(PermissionError):
        find("b", env, tmp_path)
    with pytest.raises(FileNotFoundError):
        find("c", env, tmp_path)
    assert find("true", {}, Path("/")) == shutil.which("true", path="/bin:/usr/bin"), "no PATH: that of the system"


def test_a_program_that_is_absent_is_told_as_ever(tmp_path):
    command = Command(
        argv=("no-such-program",),
        env={"PATH": "/usr/bin"},
        cwd=tmp_path,
        stdin=None,
        stdout=tmp_path / "o",
        stderr=tmp_path / "e",
        timeout_s=9,
        conditions=Conditions(stack_offset=16),
    )
    outcome = measure(command)
    assert (outcome.status, "no such program in PATH=/usr/bin" in outcome.reason) == ("start", True)
