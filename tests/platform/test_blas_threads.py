"""Numpy starts no threads in a command of layoutrand, and no program that it starts notices why."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import layoutrand
from layoutrand.platform.blas_threads import VARIABLE

_SOURCE = Path(layoutrand.__file__).parent
_CODE = """
import os, subprocess
from layoutrand.platform import blas_threads
blas_threads.start_none()
{between}
import numpy
print(len(os.listdir("/proc/self/task")))
for env in (dict(os.environ), None):
    print(subprocess.run(["sh", "-c", "echo ${variable-unset}"], env=env, capture_output=True, text=True).stdout.strip())
"""


def _seen(between: str = "", **env: str) -> list[str]:
    """The threads of a process with numpy; the variable as a program sees it that gets a copy of `os.environ`, and as one that gets none."""
    code = _CODE.replace("{between}", between).replace("{variable", f"{{{VARIABLE}")
    usual = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**usual, **env}, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_one_thread_and_programs_see_nothing_of_it() -> None:
    assert _seen() == ["1", "unset", "1"]


def test_the_users_own_number_holds_for_both() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("OpenBLAS starts no more threads than there are CPUs")
    assert _seen(**{VARIABLE: "2"}) == ["2", "2", "2"]
    assert _seen("blas_threads.start_as_usual()", **{VARIABLE: "2"}) == ["2", "2", "2"]


def test_it_is_undone_for_what_hands_the_environment_on() -> None:
    assert _seen("blas_threads.start_as_usual()")[1:] == ["unset", "unset"]


def test_every_start_of_a_program_says_its_environment() -> None:
    """One that does not would get what is set for this process alone."""
    starts = [
        (path.name, node.lineno, {keyword.arg for keyword in node.keywords})
        for path in _SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"subprocess.Popen", "subprocess.run", "os.execv"}
    ]
    assert len(starts) > 8
    assert {name for name, _, given in starts if "env" not in given} == {"helper_client.py"}  # this interpreter again


_BEGINNING = f"""
import atexit, ctypes, sys
found = ctypes.CDLL(None).getenv
found.restype = ctypes.c_char_p
atexit.register(lambda: print(found(b"{VARIABLE}")))
sys.argv = ["layoutrand", "--version"]
from layoutrand.__main__ import main
main()
"""


def test_the_commands_begin_with_it() -> None:
    env = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = subprocess.run([sys.executable, "-c", _BEGINNING], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "b'1'"
