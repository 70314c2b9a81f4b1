"""Files that are executed as soon as they are written, beside threads that start processes."""

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutrand.errors import ToolNotFound
from layoutrand.platform.disk import write_atomically
from layoutrand.platform.executable_files import copy_file, process_starts, writing_executable
from layoutrand.platform.process import SubprocessRunner

TRUE = shutil.which("true") or "/bin/true"
SCRIPT = b"#!/bin/sh\nexit 0\n"


def anew(path: Path) -> None:
    write_atomically(path, SCRIPT, executable=True)


def with_the_mode_of_another(path: Path) -> None:
    write_atomically(path, SCRIPT, mode=0o100755)


def copied(path: Path) -> None:
    source = path.with_name("source")
    if not source.exists():
        source.write_bytes(SCRIPT)
        source.chmod(0o755)
    path.unlink(missing_ok=True)
    copy_file(source, path)


def slowly_entered(folder: Path) -> Path:
    """A name of the directory that a child needs half a millisecond to enter, so that it starts slowly.

    Linux follows 40 links, and counts on where it begins again because a directory was changed meanwhile.
    """
    (folder / "a").mkdir()
    target = folder
    for number in range(19):
        link = folder / f"link-{number}"
        link.symlink_to("a/../" * 750 + target.name if number else "a/../" * 750)
        target = link
    return target


@pytest.mark.parametrize("doing", [process_starts, writing_executable])
def test_what_is_of_one_kind_is_done_side_by_side(doing):
    """Two files are written at once, or two processes started: each of the threads is inside when the other is."""
    both = threading.Barrier(2, timeout=30)
    met = []

    def inside() -> None:
        with doing(), doing():
            both.wait()
            met.append(threading.current_thread())

    threads = [threading.Thread(target=inside) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(met) == 2


@pytest.mark.parametrize(
    ("first", "then"), [(process_starts, writing_executable), (writing_executable, process_starts)]
)
def test_the_other_kind_waits_and_is_not_overtaken(first, then):
    """Who comes after one that waits for its turn waits behind it, whatever is done at the moment."""
    order: list[str] = []
    waiting = [threading.Event(), threading.Event()]

    def one(name: str, doing: Callable, at: int) -> None:
        waiting[at].set()
        with doing():
            order.append(name)

    with first():
        threads = [
            threading.Thread(target=one, args=("other", then, 0)),
            threading.Thread(target=one, args=("same", first, 1)),
        ]
        for thread, begun in zip(threads, waiting, strict=True):
            thread.start()
            begun.wait()
            time.sleep(0.05)  # and in the row
        order.append("first")
    for thread in threads:
        thread.join()
    assert order == ["first", "other", "same"]


@pytest.mark.slow
@pytest.mark.parametrize("write", [anew, with_the_mode_of_another, copied])
def test_what_was_written_can_be_executed_at_once(write: Callable[[Path], None], tmp_path):
    """Without the lock some of the 600 are busy: a child that another thread starts still has the file open."""
    runner, ended, failed = SubprocessRunner(), threading.Event(), []
    folder = slowly_entered(tmp_path)

    def start_others() -> None:
        while not ended.is_set():
            runner.run([TRUE], cwd=folder, env=os.environ)

    threads = [threading.Thread(target=start_others) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for number in range(600):
            script = tmp_path / f"script-{number % 3}"
            write(script)
            try:
                runner.run([str(script)], cwd=tmp_path, env=os.environ)
            except ToolNotFound as error:
                failed.append(str(error))
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert failed == []
