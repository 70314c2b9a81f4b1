"""A limit of the process that is met is told in words, with what raises it, and without a traceback."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys

import pytest

from layoutrand.cli import limits_met
from layoutrand.cli.limits_met import limit_met


def _unlimited(monkeypatch: pytest.MonkeyPatch, **limits: int) -> None:
    """Have the process no limits but these, as ``AS=1 << 20``."""
    found = {getattr(resource, f"RLIMIT_{name}"): value for name, value in limits.items()}
    monkeypatch.setattr(limits_met.resource, "getrlimit", lambda which: (found.get(which, resource.RLIM_INFINITY),) * 2)


def _wrapped() -> ImportError:
    """As numpy raises it."""
    error = ImportError("IMPORTANT: PLEASE READ THIS FOR ADVICE ON HOW TO SOLVE THIS ISSUE!")
    error.__cause__ = ImportError("libopenblas.so: failed to map segment from shared object")
    return error


@pytest.mark.parametrize(
    ("error", "limits", "told"),
    [
        (_wrapped(), {"AS": 100 << 20}, "memory to load a library that is needed: raise `ulimit -v` (100 MiB now)"),
        (_wrapped(), {}, "there is not enough memory to load a library that is needed"),
        (MemoryError(), {}, "there is not enough memory for what was asked; ask for less of it at once"),
        (MemoryError(), {"AS": 1 << 30}, "for less of it at once, or raise `ulimit -v` (1,024 MiB now)"),
        (
            RuntimeError("can't start new thread"),
            {"NPROC": 10},
            "no further thread can be started: raise the limit of processes: `ulimit -u` (10 of one user now), or "
            "pids.max of the container",
        ),
        (
            RuntimeError("can't start new thread"),
            {"AS": 200 << 20},
            "no further thread can be started: raise `ulimit -v` (200 MiB now), or else the limit of processes: "
            "`ulimit -u`, or pids.max of the container",
        ),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), {}, "there is not enough memory"),
        (OSError(errno.EMFILE, "Too many open files", "x"), {}, "too many files are open at once: raise `ulimit -n`"),
    ],
)
def test_a_limit_and_what_raises_it(monkeypatch, error, limits, told):
    """The limit is named by the command that sets it, where it is one of the process."""
    _unlimited(monkeypatch, **limits)
    met = limit_met(error)
    assert met is not None
    assert met.endswith(told)


@pytest.mark.parametrize(
    "error",
    [
        ImportError("cannot import name 'x' from 'layoutrand'"),
        RuntimeError("another"),
        PermissionError(errno.EACCES, "Permission denied", "x"),
        ValueError("can't start new thread"),
    ],
)
def test_a_defect_is_no_limit(error):
    """It keeps its traceback, also where it was raised while a limit was handled."""
    error.__context__ = MemoryError()
    assert limit_met(error) is None


def test_a_machine_without_proc_says_so(monkeypatch, tmp_path):
    """As in a bare chroot; where it is mounted, a process whose files are missing is another matter."""
    error = FileNotFoundError(errno.ENOENT, "No such file or directory", "/proc/self/task")
    assert limit_met(error) is None
    monkeypatch.setattr(limits_met, "_PROC", tmp_path / "absent")
    assert limit_met(error) == (
        "there is no /proc here, by which processes are watched: mount it (mount -t proc proc /proc)"
    )
    assert limit_met(FileNotFoundError(errno.ENOENT, "No such file or directory", str(tmp_path))) is None


def test_a_command_that_may_start_no_thread_says_so_in_one_line():
    """As in a container that has few processes."""
    code = (
        "import sys\nfrom layoutrand import cli\n"
        'def no_thread(*_, **__): raise RuntimeError("can\'t start new thread")\n'
        "cli.make_app = no_thread\nsys.exit(cli.run(['analyse']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("layoutrand: no further thread can be started: raise ")
    assert done.stderr.count("\n") == 1
