"""Being asked to end: one status and no traceback, wherever the signal comes, and nothing that puts in order is stopped."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
import weakref

import pytest

from layoutrand.platform.ending import INTERRUPTED, INTERRUPTED_WORDS, STOPPING, interruptible

# As from a terminal, also where these tests are a background job.  The signal comes when the program imports, opens or
# compiles something of that name, as the interpreter's audit events tell; or at its end.
AT_A_MOMENT = """
import atexit, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
moment, name, number, *words = sys.argv[1:]
def send(event, arguments):
    if event == moment and str(arguments[0]).endswith(name):
        for _ in range(2):
            os.kill(os.getpid(), int(number))
sys.addaudithook(send)
from layoutrand.__main__ import main
register = atexit.register
def registered(function):
    register(function)
    register(lambda: sys.audit("at exit", ""))
atexit.register = registered
sys.argv = ["layoutrand", *words]
main()
"""
SIMULATE = ["simulate", "coverage", "--datasets", "2", "--binaries", "3"]
MOMENTS = {
    "imports of the command line": ("import", "typer", ["--help"]),
    "an import of numpy's": ("import", "numpy.linalg", SIMULATE),
    "an extension module": ("import", "_multiarray_umath", SIMULATE),
    "a module of the command's": ("import", "layoutrand.screens.failing", ["build", "--help"]),
    "the configuration": ("open", "layoutrand.toml", ["build"]),
    "atexit": ("at exit", "", ["--version"]),
}


@pytest.mark.parametrize("number", STOPPING)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_signal_at_a_chosen_moment(tmp_path, moment, number):
    event, name, words = MOMENTS[moment]
    (tmp_path / "layoutrand.toml").write_text("")
    done = subprocess.run(
        [sys.executable, "-c", AT_A_MOMENT, event, name, str(int(number)), *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (INTERRUPTED, INTERRUPTED_WORDS)


def test_what_is_ignored_from_the_start_stays_so(tmp_path):
    """As after nohup, and as of a script's background."""
    script = "trap '' INT HUP; exec " + '"$0" "$@"'
    for number, status in ((signal.SIGHUP, 0), (signal.SIGINT, 0), (signal.SIGTERM, INTERRUPTED)):
        words = [sys.executable, "-c", AT_A_MOMENT.replace("signal.signal(", "(lambda *_: None)("), "import", "typer"]
        done = subprocess.run(["sh", "-c", script, *words, str(int(number)), "--version"], capture_output=True)
        assert done.returncode == status, done.stderr


@pytest.fixture
def before():
    """Handlers as they were, whatever a test does."""
    handlers = {number: signal.getsignal(number) for number in (*STOPPING, signal.SIGALRM)}
    hook = sys.unraisablehook
    yield handlers
    assert {number: signal.getsignal(number) for number in handlers} == handlers
    assert sys.unraisablehook == hook


def test_further_signals_are_ignored_while_things_are_put_in_order(before):
    steps = []
    with pytest.raises(KeyboardInterrupt), interruptible() as interruption:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        finally:
            steps.append("begun")
            for number in STOPPING:
                os.kill(os.getpid(), number)
            steps.append("ended")
    assert steps == ["begun", "ended"]
    assert interruption.came


def test_an_import_is_finished_first(before, tmp_path, monkeypatch):
    """An extension module would make an ImportError of it, as this one does."""
    (tmp_path / "converting.py").write_text(
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\n    done = True\n"
        "except KeyboardInterrupt:\n    raise ImportError('multiarray failed to import')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt), interruptible():
        import converting

        assert converting.done
        time.sleep(60)


class Finalized:
    """Sends a signal when it goes."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)


def test_a_finalizer_does_not_swallow_it(before, capsys):
    with pytest.raises(KeyboardInterrupt), interruptible():
        Finalized()
        time.sleep(60)
    assert capsys.readouterr().err == ""


def test_a_callback_of_the_collector_does_not_swallow_it(before, capsys):
    class Circle:
        pass

    with pytest.raises(KeyboardInterrupt), interruptible():
        circle = Circle()
        circle.itself = circle
        reference = weakref.ref(circle, lambda _: os.kill(os.getpid(), signal.SIGINT))
        del circle
        gc.collect()
        time.sleep(60)
    assert reference() is None
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "stream", "status"),
    [
        (["--help"], "stdout", 1),
        (["build", "--help"], "stdout", 1),
        (["nonsense"], "stdout", 2),
        (["--help"], "stderr", 0),
        (["nonsense"], "stderr", 1),
        (["build", "-C", "/nowhere"], "stderr", 1),
    ],
)
def test_a_reader_that_has_gone_is_no_reason_to_complain(words, stream, status):
    reading, writing = os.pipe()
    os.close(reading)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {stream: writing}
    done = subprocess.run([sys.executable, "-m", "layoutrand", *words], text=True, **streams)
    os.close(writing)
    assert done.returncode == status
    assert "Traceback" not in f"{done.stderr}" and "Exception ignored" not in f"{done.stderr}"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_the_output_is_told(unbuffered):
    """Once, also where what could not be written is still in a buffer at the end."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "layoutrand", "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert (done.returncode, done.stderr) == (1, "layoutrand: the output cannot be written: No space left on device\n")


def test_an_interrupted_text_does_not_decide_the_status(tmp_path):
    """Python ends by SIGINT where a text that it executes was interrupted, though the interruption was dealt with."""
    (tmp_path / "interrupted.py").write_text(
        "import atexit, sys\n"
        "from layoutrand.platform import ending\n"
        "atexit.register(ending.ignore)\n"
        "try:\n    exec('raise KeyboardInterrupt')\n"
        "except KeyboardInterrupt:\n    sys.exit(130)\n"
    )
    assert subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path).returncode == 130
