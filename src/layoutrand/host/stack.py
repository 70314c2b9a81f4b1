"""Move the stack of a program without touching its arguments or its environment.

Linux copies the file name that is executed to the top of the new stack (AT_EXECFN), above environment and arguments.
Slashes repeated in a path change the name's length and not the file that it names, so everything below begins lower.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from layoutrand.config.conditions import MAX_STACK_OFFSET
from layoutrand.platform.regular_file import ANY, open_regular

_PATH_MAX: Final = 4095  # without the NUL


def lengthened(program: str, env: Mapping[str, str], cwd: Path, offset: int) -> str:
    """The absolute path of ``program``, found as for an execution in ``cwd``, with ``offset`` bytes of slashes more.

    Raises `FileNotFoundError` or `PermissionError` as the execution would, and `ValueError` for a program whose stack
    cannot be moved: see `obstacle`.
    """
    path = find(program, env, cwd)
    if problem := obstacle(path):
        raise ValueError(problem)
    head, tail = os.path.split(path)
    return f"{head.rstrip('/')}/{'/' * offset}{tail}"


def obstacle(path: str) -> str:
    """Why the stack of the program in this file cannot be moved, or "".

    A script's interpreter gets the file name as an argument, so that the argument would change, twice the offset.
    """
    with open_regular(path, largest=ANY) as file:
        magic = file.read(4)
    if magic != b"\x7fELF":
        what = "a script" if magic.startswith(b"#!") else "no ELF program"
        return (
            f'run.randomise has "stack-offset", but {path} is {what}: its interpreter would be given another argument. '
            "Let the command begin with the interpreter"
        )
    return too_long(path)


def too_long(path: str) -> str:
    """Why a path leaves no room for the offset, or ""."""
    room = _PATH_MAX - (MAX_STACK_OFFSET - 1)
    if len(os.fsencode(path)) > room:
        return (
            f'run.randomise has "stack-offset", which needs programs with a path of at most {room} bytes, not {path}: '
            "move the project to a shorter one"
        )
    return ""


def find(program: str, env: Mapping[str, str], cwd: Path) -> str:
    """What execvp(3) would execute in ``cwd`` with this environment, as an absolute path."""
    folders = [""] if "/" in program else os.get_exec_path(env)
    refused = False
    for folder in folders:
        path = os.path.join(cwd, folder, program)
        if os.path.isfile(path):
            if os.access(path, os.X_OK):
                return path
            refused = True
    number = errno.EACCES if refused else errno.ENOENT
    raise OSError(number, os.strerror(number), program)
