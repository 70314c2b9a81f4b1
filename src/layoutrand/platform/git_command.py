"""The seam to git: its commands, kept from what personal configuration and the caller's environment would change.

The same commit must give the same tree for everybody.  So where a tree is written, neither configuration nor
attributes of user and machine count, and no hook is called.  Where something is fetched they do count: that is
where credentials, proxies and rewritten URLs are kept.

A repository may be a stranger's.  No program that its own configuration names is started
(`layoutrand.platform.repository_programs`), and addresses in it lead through no helper of git's but `_TRANSPORTS`,
unless the user's own ``GIT_ALLOW_PROTOCOL`` says otherwise.

GitPython says where a repository is (`git_directory`).  Revisions, differences and submodules are asked of git itself:
GitPython reads no SHA-256 repositories and not every way to write a revision (``main@{yesterday}``), does not tell that
a name is ambiguous, loses differences in files whose names are not UTF-8, and cannot take a variable out of git's
environment.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from layoutrand.errors import BuildFailed, ToolNotFound
from layoutrand.platform.environment import GIT_ENVIRONMENT
from layoutrand.platform.executable_files import process_starts
from layoutrand.platform.packages import install
from layoutrand.platform.repository_addresses import without_credentials
from layoutrand.platform.repository_programs import without_programs

_ALWAYS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "log.showSignature=false",
)
_TRANSPORTS: Final = "file:git:http:https:ssh"
_PLAIN: Final = (
    "core.autocrlf=false",
    "core.eol=lf",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
)
_PLAIN_ENVIRONMENT: Final = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
}
_ADVICE: Final = (
    "fatal: Could not read from remote repository.",
    "Please make sure you have the correct access rights",
    "and the repository exists.",
)
DUBIOUS: Final = "detected dubious ownership"
"""What git says of a repository that belongs to another user, and that the user has not said to trust."""

FULL_HASH: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def git(*arguments: str, cwd: Path, plain: bool = False, settings: Sequence[str] = (), stdin: bytes = b"") -> bytes:
    """What the git command prints; raises `BuildFailed` with what it says if it fails.

    ``plain`` leaves personal configuration out; ``settings`` are ``key=value`` of configuration that win over it.
    """
    return git_with_remarks(*arguments, cwd=cwd, plain=plain, settings=settings, stdin=stdin)[0]


def git_with_remarks(
    *arguments: str, cwd: Path, plain: bool = False, settings: Sequence[str] = (), stdin: bytes = b""
) -> tuple[bytes, str]:
    """Like `git`, and also what it wrote to stderr though it succeeded."""
    require_git()
    settings = (*_ALWAYS, *(_PLAIN if plain else ()), *settings)
    try:
        return _asked(arguments, settings, (), cwd=cwd, plain=plain, stdin=stdin)
    except BuildFailed as error:
        trusted = _trusted(cwd) if plain and DUBIOUS in error.message else []
        if not trusted:
            raise
    return _asked(arguments, settings, trusted, cwd=cwd, plain=plain, stdin=stdin)


def _asked(
    arguments: Sequence[str], settings: Sequence[str], trusted: Sequence[str], *, cwd: Path, plain: bool, stdin: bytes
) -> tuple[bytes, str]:
    """What git prints, started with nothing that the repository's own configuration names."""
    trust = [word for each in trusted for word in ("-c", f"safe.directory={each}")]
    options = [*trust, *(word for setting in settings for word in ("-c", setting))]
    env = _environment(plain=plain)
    which = [word for word in arguments if word.startswith("--git-dir=")]
    listed, _ = _output((*which, "config", "--list", "--show-scope", "-z"), trust, cwd=cwd, env=env)
    return _output(arguments, options, cwd=cwd, env=env | without_programs(listed), stdin=stdin)


def _trusted(cwd: Path) -> list[str]:
    """The repositories of other users that user and machine trust: of all their settings these count in any case.

    What the repository says of itself does not.
    """
    listed, _ = _output(("config", "--list", "--show-scope", "-z"), (), cwd=cwd, env=_environment(plain=False))
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    entries = ((scope, *entry.partition("\n")) for scope, entry in zip(fields[::2], fields[1::2], strict=False))
    return [value for scope, key, _, value in entries if key == "safe.directory" and scope in ("system", "global")]


def _environment(*, plain: bool) -> dict[str, str]:
    # Started by a hook of git's it would obey that repository's variables; and what it says is looked at below.
    env = {name: value for name, value in os.environ.items() if name not in GIT_ENVIRONMENT}
    env |= {"GIT_TERMINAL_PROMPT": "0", "LANGUAGE": "C", "LC_ALL": "C", **(_PLAIN_ENVIRONMENT if plain else {})}
    return {"GIT_ALLOW_PROTOCOL": _TRANSPORTS, **env, "GIT_PROTOCOL_FROM_USER": "0"}


def _output(
    arguments: Sequence[str], options: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes = b""
) -> tuple[bytes, str]:
    """What git prints to stdout and to stderr; raises `BuildFailed`."""
    pipe = subprocess.PIPE
    try:
        with _running.started, process_starts():  # so that `stop` misses no process that is being started
            process = subprocess.Popen(  # noqa: S603 - an argument list, never a shell string
                ["git", "--no-optional-locks", "--no-pager", *options, *arguments],  # noqa: S607 - the user's git, found on PATH
                cwd=cwd,
                env=env,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
            )
            _running.processes.add(process)
    except OSError as error:  # the directory is not there, for one
        raise BuildFailed(str(error)) from error
    try:
        out, said = process.communicate(stdin)
    except BaseException:
        process.terminate()
        raise
    finally:
        _running.processes.discard(process)
    if process.returncode != 0:
        command = next(word for word in arguments if not word.startswith("-"))
        raise BuildFailed(_reason(said) or f"git {command} exited with status {process.returncode}")
    return out, without_credentials(said.decode("utf-8", "backslashreplace"))


@dataclass
class _Running:
    """The git processes of this one; held ``started`` while one is being started."""

    started: threading.Lock = field(default_factory=threading.Lock)
    processes: set[subprocess.Popen[bytes]] = field(default_factory=set)


_running = _Running()


def stop() -> None:
    """End every git process, from any thread: a fetch may take long."""
    with _running.started:
        for process in list(_running.processes):
            process.terminate()


def require_git() -> None:
    """Raise `ToolNotFound` without git, without which GitPython cannot be imported either."""
    if shutil.which("git") is None:
        raise ToolNotFound(f"git not found on PATH, needed to read repositories: {install(['git'])}")


def git_directory(path: Path) -> Path | None:
    """Where the repository at ``path`` keeps its objects, for all its work trees; None where there is none."""
    require_git()
    from git import InvalidGitRepositoryError, Repo

    try:
        with Repo(path, expand_vars=False) as repository:
            return Path(repository.common_dir)
    except (InvalidGitRepositoryError, OSError):
        return None


def _reason(said: bytes) -> str:
    """What git wrote, in one line, without its general advice on remotes."""
    text = said.decode("utf-8", "backslashreplace").replace("\0", "")  # upload-pack ends what it dies of with one
    lines = [line.strip() for line in text.splitlines()]
    told = "; ".join(line for line in lines if line and line not in _ADVICE)
    return without_credentials(told.replace(":; ", ": "))


def one_commit(printed: bytes) -> str:
    """The commit that ``git rev-parse --verify`` printed; raises `BuildFailed` for ``^HEAD``, which is all but one."""
    commit = printed.decode("utf-8", "backslashreplace").strip()
    if not FULL_HASH.fullmatch(commit):
        raise BuildFailed("it names no single commit")
    return commit


def commit_named(rev: str, *, cwd: Path) -> str:
    """The commit that a revision stands for in a repository; raises `BuildFailed` where it is none, or not one."""
    return one_commit(git("rev-parse", "--verify", f"{rev}^{{commit}}", cwd=cwd))


def commit_facts(commit: str, *, cwd: Path, prefix: str = "", bare: bool = False) -> dict[str, Any]:
    """The commit's ``tree`` (git's id of what lies below ``prefix``), ``committed_at`` (s) and ``subject``.

    ``bare`` for a repository without a work tree.  Raises `BuildFailed` where the repository does not have it.
    """
    where = ("--git-dir=.",) if bare else ()
    told = git(*where, "show", "-s", "--format=%ct %s", "--end-of-options", commit, cwd=cwd, plain=True)
    moment, _, subject = told.decode("utf-8", "backslashreplace").strip().partition(" ")
    name = f"{commit}:{prefix}" if prefix else f"{commit}^{{tree}}"
    tree = git(*where, "rev-parse", "--verify", name, cwd=cwd, plain=True).decode().strip()
    return {"tree": tree, "committed_at": int(moment), "subject": subject}


def names(output: bytes) -> list[str]:
    """The NUL-terminated file names in the output of a command with -z, whatever bytes they are."""
    return [os.fsdecode(name) for name in output.split(b"\0") if name]
