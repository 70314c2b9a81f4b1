"""Being asked to end, by Ctrl-C, SIGTERM or SIGHUP: one ending, quiet and with one status, whatever the moment.

While the program starts, and when all is done, nothing is to be put in order, and the process ends at once.  In between
the first signal raises `KeyboardInterrupt` in the main thread, and further ones are ignored: what puts things in order
is not to be interrupted.  A signal that was ignored when layoutrand was started (nohup, a shell's background) stays so.

An exception that is raised amid an import may come out of it as another one (extension modules of numpy and scipy turn
whatever happens into ImportError), and one in a ``__del__`` or a callback of the garbage collector is printed and
forgotten.  There it is put off, and raised a moment later.

Nothing is imported here that takes long: this module is what makes the rest of the start safe.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any, Final

STOPPING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED: Final = 130
"""The exit status after each of them."""

INTERRUPTED_WORDS: Final = "layoutrand: interrupted; everything finished is kept, the same command goes on from here\n"
_AT_ONCE, _WORKING, _ASKED, _ENDING = range(4)
_PUT_OFF_S: Final = 0.01
_STDERR: Final = 2
_IMPORTS: Final = "<frozen importlib._bootstrap>"
_FINALIZER: Final = "__del__"


class Interruption:
    """Whether one of the signals came while a block could be interrupted."""

    came = False


class _State:
    """What the next signal does, and how deep in imports and finalizers the block began that it interrupts."""

    phase = _AT_ONCE
    depth = 0
    block = Interruption()


_now = _State()


def end_at_once() -> None:
    """From here on each of the signals ends this process at once, with a line that says so."""
    for number in STOPPING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _asked)


def ignore() -> None:
    """From here on they do nothing any more: the interpreter is about to take its modules apart.

    A text that Python executed for somebody (`exec`, as namedtuples are made) and that was interrupted has the
    interpreter end by SIGINT, whatever status was asked for, unless another text was executed since.
    """
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    exec("")  # noqa: S102 - a text of no words


@contextlib.contextmanager
def interruptible() -> Iterator[Interruption]:
    """Within the block, in the main thread, the first signal raises `KeyboardInterrupt`; behind it all is as before."""
    handlers = {number: signal.getsignal(number) for number in STOPPING}
    timer = signal.signal(signal.SIGALRM, look_again)
    unraisable = sys.unraisablehook
    sys.unraisablehook = partial(_unraisable, unraisable)
    _now.block = Interruption()
    _now.depth = _depth(sys._getframe())  # noqa: SLF001 - the public way to it takes a module that takes long
    _now.phase = _WORKING
    end_at_once()
    try:
        yield _now.block
    finally:
        _now.phase = _AT_ONCE
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, timer)
        sys.unraisablehook = unraisable


def look_again(_number: int, frame: FrameType | None) -> None:
    """The handler of SIGALRM: raise what was put off, if it can be raised by now."""
    if _now.phase == _ASKED:
        _raise_if_possible(frame)


def _asked(_number: int, frame: FrameType | None) -> None:
    if _now.phase == _AT_ONCE:
        with contextlib.suppress(OSError):  # nobody reads it any more
            os.write(_STDERR, INTERRUPTED_WORDS.encode())
        os._exit(INTERRUPTED)
    if _now.phase == _WORKING:
        _now.block.came = True
        _now.phase = _ASKED
    if _now.phase == _ASKED:
        _raise_if_possible(frame)


def _raise_if_possible(frame: FrameType | None) -> None:
    if _depth(frame) > _now.depth:
        signal.setitimer(signal.ITIMER_REAL, _PUT_OFF_S)
        return
    _now.phase = _ENDING
    raise KeyboardInterrupt


def _depth(frame: FrameType | None) -> int:
    """How many of the calls that led here are those of imports and of finalizers."""
    depth = 0
    while frame is not None:
        depth += frame.f_code.co_filename == _IMPORTS or frame.f_code.co_name == _FINALIZER
        frame = frame.f_back
    return depth


def _unraisable(before: Callable[[Any], object], unraised: Any) -> None:
    """What sys.unraisablehook does: a `KeyboardInterrupt` that nobody saw is raised again, all else is told as ever."""
    if _now.phase == _ENDING and unraised.exc_type is KeyboardInterrupt:
        _now.phase = _ASKED
        signal.setitimer(signal.ITIMER_REAL, _PUT_OFF_S)
    else:
        before(unraised)
