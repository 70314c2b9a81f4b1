"""A file that is to be executed is not written while a process is started.

Between fork and exec a child has every file open that its parent had open, for writing, too; and Linux executes no file
that somebody has open for writing ("Text file busy").  Two captures side by side, one writing the script that stands
for ``gcc`` while the other starts its build: of 3,000 scripts written and executed beside two threads that start
processes, 40 to 50 could not be executed.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from layoutrand.platform.regular_file import ANY, open_regular

_PART: Final = 1 << 20  # bytes
_STARTING = threading.RLock()  # the writer may be asked to put the file in its place by writing another


@contextmanager
def process_starts() -> Iterator[None]:
    """Around the start of a process, not its life: no thread is writing an executable file in the meantime."""
    with _STARTING:
        yield


@contextmanager
def writing_executable() -> Iterator[None]:
    """From opening to closing a file that will be executed: no thread starts a process in the meantime."""
    with _STARTING:
        yield


def copy_file(source: Path, target: Path, go_on: Callable[[], None] = lambda: None) -> None:
    """A copy with times and permissions, which may be executed at once.

    ``go_on`` is called between parts of the file, and may raise what ends it.
    """
    with writing_executable():
        with open_regular(source, largest=ANY) as old, target.open("wb") as new:
            while part := old.read(_PART):
                go_on()
                new.write(part)
        shutil.copystat(source, target)
