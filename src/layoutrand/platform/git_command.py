"""The seam to git: its commands, kept from what personal configuration and the caller's environment would change.

The same commit must give the same tree for everybody.  So where a tree is written, neither configuration nor
attributes of user and machine count, and no hook is called.  Where something is fetched they do count: that is
where credentials, proxies and rewritten URLs are kept.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

from layoutrand.errors import BuildFailed, ToolNotFound
from layoutrand.platform.environment import GIT_ENVIRONMENT
from layoutrand.platform.packages import install

_ALWAYS: Final = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false",
    "advice.detachedHead=false", "submodule.recurse=false", "fetch.recurseSubmodules=false",
)  # fmt: skip
_PLAIN: Final = (
    "core.autocrlf=false", "core.eol=lf", "core.fileMode=true", "core.symlinks=true",
    "core.attributesFile=/dev/null", "core.excludesFile=/dev/null",
)  # fmt: skip
_PLAIN_ENVIRONMENT: Final = {
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1",
}  # fmt: skip
_ADVICE: Final = (
    "fatal: Could not read from remote repository.", "Please make sure you have the correct access rights",
    "and the repository exists.",
)  # fmt: skip
FULL_HASH: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def git(
    *arguments: str, cwd: Path, plain: bool = False, settings: Sequence[str] = (), stdin: bytes = b""
) -> bytes:  # fmt: skip
    """What the git command prints; raises `BuildFailed` with what it says if it fails.

    ``plain`` leaves personal configuration out; ``settings`` are ``key=value`` of configuration that win over it.
    """
    return git_with_remarks(*arguments, cwd=cwd, plain=plain, settings=settings, stdin=stdin)[0]


def git_with_remarks(
    *arguments: str, cwd: Path, plain: bool = False, settings: Sequence[str] = (), stdin: bytes = b""
) -> tuple[bytes, str]:
    """Like `git`, and also what it wrote to stderr though it succeeded."""
    require_git()
    from git import Git, GitError

    options = [word for setting in (*_ALWAYS, *(_PLAIN if plain else ()), *settings) for word in ("-c", setting)]
    # GitPython can add variables, not remove them; git started by a hook of git's would obey that repository's.
    forget = [word for name in GIT_ENVIRONMENT for word in ("-u", name)]
    env = {"GIT_TERMINAL_PROMPT": "0", **(_PLAIN_ENVIRONMENT if plain else {})}
    with TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        try:
            with _running.started:  # so that `stop` misses no process that is being started
                process = Git(str(cwd)).execute(
                    ["env", *forget, "git", "--no-optional-locks", *options, *arguments], istream=given, env=env,
                    as_process=True,
                )  # fmt: skip
                _running.processes.add(process)
        except (GitError, OSError) as error:  # the directory is not there, for one
            raise BuildFailed(str(error)) from error
    try:
        out, said = process.communicate()
    finally:
        _running.processes.discard(process)
    if process.returncode != 0:
        raise BuildFailed(_reason(said) or f"git {arguments[0]} exited with status {process.returncode}")
    return bytes(out), said.decode("utf-8", "backslashreplace")


@dataclass
class _Running:
    """The git processes of this one; held ``started`` while one is being started."""

    started: threading.Lock = field(default_factory=threading.Lock)
    processes: set[Any] = field(default_factory=set)


_running = _Running()


def stop() -> None:
    """End every git process, from any thread: a fetch may take long."""
    with _running.started:
        for process in list(_running.processes):
            process.terminate()


def require_git() -> None:
    """Raise `ToolNotFound` without git: importing GitPython would fail with a traceback."""
    if shutil.which("git") is None:
        raise ToolNotFound(f"git not found on PATH, needed to read repositories: {install(['git'])}")


def _reason(said: bytes) -> str:
    """What git wrote, in one line, without its general advice on remotes."""
    lines = [line.strip() for line in said.decode("utf-8", "backslashreplace").splitlines()]
    return "; ".join(line for line in lines if line and line not in _ADVICE)


def names(output: bytes) -> list[str]:
    """The NUL-terminated file names in the output of a command with -z, whatever bytes they are."""
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def readable(name: str) -> str:
    """A file name for people and JSON: bytes that are no UTF-8 are escaped."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
