"""That a build goes on: who sees nothing for minutes wonders, and services of CI end what prints nothing for ten."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Final

from layoutrand.text.quantities import duration

EVERY_S: Final = 60.0
EVERY_S_OF_LAYOUTS: Final = 300.0


@contextmanager
def told_while_it_goes_on(
    say: Callable[[str], None], what: str, log: Path, *, every_s: float = EVERY_S
) -> Iterator[None]:
    """Say every so many seconds how long it has taken so far, and at first where its output goes.

    No line of the output itself is shown: what is to be masked in it is masked once the build has ended.
    """
    begin, over = time.monotonic(), Event()

    def tell() -> None:
        where = f"; what it prints: {log}"
        while not over.wait(every_s):
            say(f"{what}: {duration(time.monotonic() - begin)} so far{where}")
            where = ""

    thread = Thread(target=tell, name="long build", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
