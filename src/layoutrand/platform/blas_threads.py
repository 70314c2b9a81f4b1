"""No threads of numpy's and scipy's linear algebra beside what is measured.

Each of the two brings an OpenBLAS, which starts a thread for each CPU when it is loaded, and these spin for a while.
Nothing here multiplies matrices that are worth one.

Nothing is imported here that takes long: it comes before all that does.
"""

from __future__ import annotations

import os
from typing import Final

VARIABLE: Final = "OPENBLAS_NUM_THREADS"


def start_none() -> None:
    """Let OpenBLAS have the main thread alone, unless the user's environment says how many.

    The variable is put where that library looks and not into `os.environ`, of which programs that are started get
    copies: a benchmark has the environment that the user gave.
    """
    if VARIABLE not in os.environ:
        os.putenv(VARIABLE, "1")


def start_as_usual() -> None:
    """Undo `start_none`, for libraries that start processes with the environment as it lies in memory."""
    if VARIABLE not in os.environ:
        os.unsetenv(VARIABLE)
