"""A file that is to be executed is not written while a process is started.

Between fork and exec a child has every file open that its parent had open, for writing, too; and Linux executes no file
that somebody has open for writing ("Text file busy").  Two captures side by side, one writing the script that stands
for ``gcc`` while the other starts its build: of 3,000 scripts written and executed beside two threads that start
processes, 40 to 50 could not be executed.
"""

from __future__ import annotations

import itertools
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from layoutrand.platform.regular_file import ANY, open_regular

_PART: Final = 1 << 20  # bytes


class _OneKind:
    """Any number of threads at once in it, all of which do the same; whoever is to do another thing waits for them.

    Nobody overtakes: once a thread waits, later ones that do what it does not wait behind it. A thread that is in it
    may enter again.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: Counter[str] = Counter()
        self._waiting: dict[int, str] = {}
        self._numbers = itertools.count()
        self._own = threading.local()

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Wait until nobody in it does anything else, and be in it."""
        before = getattr(self._own, "doing", "")
        assert before in ("", what), f"a thread that is to {before} may not {what} meanwhile"
        try:
            if not before:
                self._enter(what)
            yield
        finally:
            if not before and getattr(self._own, "doing", None) == what:
                self._leave(what)

    def _enter(self, what: str) -> None:
        with self._changed:
            own = next(self._numbers)
            self._waiting[own] = what
            try:
                self._changed.wait_for(lambda: self._is_free(own, what))
                self._own.doing = what
                self._inside[what] += 1
            finally:  # an interrupted wait, too
                del self._waiting[own]
                self._changed.notify_all()

    def _is_free(self, own: int, what: str) -> bool:
        """Whether nobody is in it, or came before, to do anything else."""
        others_inside = any(count for each, count in self._inside.items() if each != what)
        return not others_inside and all(each == what for number, each in self._waiting.items() if number < own)

    def _leave(self, what: str) -> None:
        with self._changed:
            self._inside[what] -= 1
            self._own.doing = ""
            self._changed.notify_all()


_FILES: Final = _OneKind()


@contextmanager
def process_starts() -> Iterator[None]:
    """Around the start of a process, not its life: no thread is writing an executable file in the meantime."""
    with _FILES.doing("start"):
        yield


@contextmanager
def writing_executable() -> Iterator[None]:
    """From opening to closing a file that will be executed: no thread starts a process in the meantime."""
    with _FILES.doing("write"):
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
