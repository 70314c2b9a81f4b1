"""`layoutrand exec` as a user starts it, and the program that its tests build."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from startkit import layoutrand
from workshop import Workshop

NAMES = [f"u_{k}" for k in range(8)]
MAKEFILE = "all: prog\n%.o: %.c\n\t$(CC) -c $<\nprog: main.o u.o\n\t$(CC) -o $@ $^\nclean:\n\trm -f *.o prog\n"


def direct(
    shop: Workshop, *words: str, options: tuple[str, ...] = ("--seed", "7"), folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Execute the command with these options, in the project's directory or in the folder."""
    where = folder or shop.project
    return layoutrand("exec", *options, "--", *words, cwd=where, env=environment(shop), errors="replace")


def environment(shop: Workshop) -> dict[str, str]:
    """Where it keeps its work."""
    return {**os.environ, "LAYOUTRAND_CACHE": str(shop.cache)}
