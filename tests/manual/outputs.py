"""Output that the pages show: of commands on numbers in docs/data, so that everybody gets the same.

A block of text whose first line is ``$ layoutrand ... --import ...`` is followed by what that prints.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"(^```text\n\$ layoutrand ([^\n]*--import [^\n]*)\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    """Those that may show output."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def with_output(text: str) -> str:
    """The page with what its commands print now."""
    return _BLOCK.sub(lambda block: f"{block[1]}\n{printed(block[2])}\n{block[4]}", text)


@cache
def printed(command: str) -> str:
    """What a command line (without ``layoutrand``) prints at the top of the repository, without a terminal."""
    words = [sys.executable, "-m", "layoutrand", *shlex.split(command)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())
