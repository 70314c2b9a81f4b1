"""``python -m layoutrand``, and the ``layoutrand`` program."""

from __future__ import annotations

import atexit
import gc
import sys

from layoutrand.platform import blas_threads, ending

STARTING_PROGRAMS = frozenset(
    {
        "try",
        "init",
        "doctor",
        "build",
        "exec",
        "run",
        "check",
        "history",
        "bisect",
        "explain",
        "sweep",
        "predict",
        "plan",
        "demo",
    }
)
"""Commands that start programs of others'; one that is not among them goes without the processes that end these."""

_SELDOM = 250_000
"""Objects made until some are looked through for cycles: results are millions of objects, and hardly any is in one.

Imports and a comparison of 10,000 executions make half as many: most commands end before the first search.
"""


def main() -> None:
    """Run the command line and exit with its status."""
    ending.end_at_once()  # before the imports, which take longer than many a command
    blas_threads.start_none()
    atexit.register(ending.ignore)  # what is registered first is called last
    gc.set_threshold(_SELDOM, 20, 100)
    if STARTING_PROGRAMS.intersection(sys.argv[1:]):
        from layoutrand.platform.keeper import keep

        keep()
    from layoutrand.cli import run

    status = run(sys.argv[1:])
    gc.freeze()  # what is left ends with the process: nothing of it need be looked through for cycles at the end
    sys.exit(status)


if __name__ == "__main__":
    main()
