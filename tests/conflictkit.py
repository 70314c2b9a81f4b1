"""A program with a planted conflict, for `layoutrand explain` to find.

One function fills seven of the eight ways of the simulated instruction cache, and two small ones are called after it,
again and again.  Where they share sets, nine lines take turns in eight places, and all miss.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import startkit

CONFIG = """\
[project]
name = "planted"
[build]
source = "src"
commands = ["make"]
artefacts = ["prog"]
[systems.O1]
toolchain = "gcc"
cflags = "-O1"
[[benchmarks]]
name = "b"
command = ["{artefact}"]
metric = %s
"""
PRINTED = """{ printed = [
  { name = "hash", regex = 'hash ([0-9.]+)' }, { name = "rounds", regex = 'rounds ([0-9]+)' }
] }"""


def caller(project: Path, cache: Path) -> Callable[..., CompletedProcess[str]]:
    """What calls the command line on a project, and sees to the exit status."""

    def call(*arguments: object, status: int = 0) -> CompletedProcess[str]:
        done = startkit.layoutrand(*arguments, "-C", project, env={**os.environ, "LAYOUTRAND_CACHE": str(cache)})
        assert done.returncode == status, done.stderr
        return done

    return call


def source(rounds):
    """The program; it prints a hash of where its functions lie, which depends on the layout and on no single place."""
    rng = random.Random(7)
    sizes = {"bulk": 7 * 4096 - 64, "ping": 1008, "pong": 1008}
    sizes |= {f"cold{k}": rng.randrange(16, 900) for k in range(100)}
    names = ", ".join(f"(long) {name}" for name in sizes)
    return "\n".join(
        [
            "#include <stdio.h>",
            "volatile unsigned sink;",
            *(
                f'__attribute__((noinline)) void {name}(void) {{ __asm__ volatile (".fill {size}, 1, 0x90"); sink++; }}'
                for name, size in sizes.items()
            ),
            f"static long at(int k) {{ long all[] = {{{names}}}; return all[k] - (long) bulk; }}",
            "int main(void) {",
            "  unsigned long hash = 1469598103934665603UL;",
            f"  for (int k = 0; k < {rounds}; k++) {{ bulk(); ping(); pong(); }}",
            f"  for (int k = 0; k < {len(sizes)}; k++) hash = (hash ^ at(k)) * 1099511628211UL;",
            '  printf("hash %.6f\\n", 1 + (hash >> 40) / 167772160.0);',
            f'  puts("rounds {rounds}");',
            "  return 0;",
            "}",
            "",
        ]
    )


def write_source(project):
    """The program, 200 rounds of it, below a project's directory."""
    (project / "src").mkdir(parents=True)
    (project / "src" / "Makefile").write_text("prog: prog.c\n\t$(CC) $(CFLAGS) -o $@ prog.c\n")
    (project / "src" / "prog.c").write_text(source(rounds=200))
