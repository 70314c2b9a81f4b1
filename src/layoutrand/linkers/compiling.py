"""Whether a compiler can make a program at all: asked of the compiler, with a program that needs next to nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

from layoutrand.platform.process import Runner

_PROGRAM: Final = """\
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) { return argc > 1 ? printf("%f", sqrt(atof(argv[1]))) + errno : INT8_C(0); }
"""


def what_stops(compiler: Path, runner: Runner) -> str:
    """What the C compiler says of a small program that it cannot compile and link; "" where it can."""
    with tempfile.TemporaryDirectory(prefix="layoutrand-cc-") as folder:
        source = Path(folder, "a.c")
        source.write_text(_PROGRAM, "ascii")
        env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TMPDIR": folder}
        done = runner.run([str(compiler), source.name, "-o", "a", "-lm"], cwd=Path(folder), env=env)
    return "" if done.returncode == 0 else done.text() or f"exit status {done.returncode}"
