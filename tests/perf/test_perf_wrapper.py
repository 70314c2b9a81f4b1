"""What a wrapper costs: each compilation and each link, with it and without, by turns."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import pytest

from perfkit import report
from workshop import require
from wrapkit import compiler_script, linker_script

pytestmark = pytest.mark.perf

LIMIT_MS = 3.0
ROUNDS = 150


def seconds(argv: list[str], cwd: Path) -> float:
    """How long one process takes, from start to end."""
    begin = time.perf_counter()
    subprocess.run(argv, cwd=cwd, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def by_turns(plain: list[str], wrapped: list[str], cwd: Path) -> dict[str, float]:
    """Median times in milliseconds of both, taken alternately, and the median of the differences of neighbours."""
    times = []
    for number in range(ROUNDS + 5):
        both = {
            name: seconds(argv, cwd)
            for name, argv in (("plain", plain), ("wrapped", wrapped))[:: -1 if number % 2 else 1]
        }
        times.append((both["plain"], both["wrapped"]))
    measured = times[5:]
    return {
        "plain_ms": round(1e3 * statistics.median(a for a, _ in measured), 3),
        "wrapped_ms": round(1e3 * statistics.median(b for _, b in measured), 3),
        "cost_ms": round(1e3 * statistics.median(b - a for a, b in measured), 3),
    }


def told(what: str, figures: dict[str, float], limit: float | None = LIMIT_MS) -> None:
    """Report the figures with what they depend on."""
    shell = os.path.basename(os.path.realpath("/bin/sh"))
    report({"perf": what, **figures, "rounds": ROUNDS, "shell": shell, "limit": limit})


def test_cost_of_the_compiler_wrapper(tmp_path: Path) -> None:
    """One compilation through the wrapper costs less than 3 ms more than one without, with the same flags."""
    gcc = require("gcc", "gcc")
    flags = ["-ffunction-sections", "-O2"]
    (tmp_path / "a.c").write_text("int f(int x) { return x + 1; }\n")
    script = compiler_script(tmp_path / "bin", real=gcc, compile_flags=flags)
    arguments = ["-c", "-Wall", "-Iinclude", "-DNAME=1", "-MD", "-MF", "a.d", "-o", "a.o", "a.c"]

    told("compiler wrapper", by_turns([gcc, *arguments, *flags], [str(script), *arguments], tmp_path))

    assert b".text.f" in subprocess.run(["objdump", "-h", tmp_path / "a.o"], check=True, capture_output=True).stdout


def test_cost_of_the_compiler_wrapper_by_itself(tmp_path: Path) -> None:
    """The same around a program that does nothing: the shell and the reading of the command line alone."""
    true = shutil.which("true")
    script = compiler_script(tmp_path / "bin", real=true)
    arguments = [f"-I/usr/include/{n}" for n in range(40)] + ["-c", "a.c", "-o", "a.o"]

    told("compiler wrapper around true", by_turns([true, *arguments], [str(script), *arguments], tmp_path))

    assert script.exists()


def test_cost_of_the_linker_wrapper(tmp_path: Path) -> None:
    """Recording a link of 50 objects, 2 MB of them, beside the link itself."""
    ld = require("ld.bfd", "binutils")
    script = linker_script(tmp_path, real=ld)
    names = []
    for number in range(50):
        name = f"m{number}.s"
        (tmp_path / "src" / name).write_text(f".globl f{number}\nf{number}: ret\n.data\n.fill 40000,1,{number + 1}\n")
        subprocess.run(["as", name, "-o", f"m{number}.o"], cwd=tmp_path / "src", check=True)
        names.append(f"m{number}.o")
    arguments = ["-e", "f0", "-o", "prog", *names]

    told("linker wrapper", by_turns([ld, *arguments], [str(script), *arguments], tmp_path / "src"), limit=None)

    assert len(list((tmp_path / "rec").iterdir())) == ROUNDS + 5
