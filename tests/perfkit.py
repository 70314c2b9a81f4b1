"""What a command costs, for the figures of tests/perf: CPU time and memory, which other work on the machine hardly changes."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

_CODE = (
    "import resource, sys; from layoutrand.cli import run; status = run(sys.argv[1:]); "
    "own = resource.getrusage(resource.RUSAGE_SELF); print(own.ru_maxrss, file=sys.stderr); sys.exit(status)"
)


class Cost(NamedTuple):
    """Seconds of processor time, the most memory in KB, and what was printed."""

    cpu_s: float
    memory_kb: int
    stdout: str


def cost_of(words: Sequence[str]) -> Cost:
    """Execute one command line of layoutrand in a process of its own."""
    before = cpu_of_children()
    done = subprocess.run([sys.executable, "-c", _CODE, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Cost(cpu_of_children() - before, int(done.stderr.splitlines()[-1]), done.stdout)


def cpu_of_children() -> float:
    """Seconds of CPU time of all processes that have ended here; other work on the machine is not in them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
