"""``python -m layoutrand``, and the ``layoutrand`` program."""

from __future__ import annotations

import atexit
import sys

from layoutrand.platform import ending

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


def main() -> None:
    """Run the command line and exit with its status."""
    ending.end_at_once()  # before the imports, which take longer than many a command
    atexit.register(ending.ignore)  # what is registered first is called last
    if STARTING_PROGRAMS.intersection(sys.argv[1:]):
        from layoutrand.platform.keeper import keep

        keep()
    from layoutrand.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
