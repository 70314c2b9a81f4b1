"""Programs that a repository's own configuration names: git is to start none of them for us.

A repository may be anybody's: a clone with its ``.git``, an unpacked archive.  What its ``.git/config`` (with what that
includes) and ``config.worktree`` name is taken back to what user and machine say, so that their own settings, such as
``safe.directory``, ``url.*.insteadOf``, credential helpers and Git LFS, go on working.  Hooks, the monitor of
the file system, pagers and signatures are turned off for everybody (`layoutrand.platform.git_command`).
"""

from __future__ import annotations

import re
from typing import Final

_STARTS_PROGRAMS: Final = re.compile(
    r"filter\..*\.(clean|smudge|process|required)"
    r"|core\.(sshcommand|gitproxy|askpass|alternaterefscommand)"
    r"|credential\.(.*\.)?helper"
    r"|gpg\.(.*\.)?(program|defaultkeycommand)"
    r"|remote\..*\.(uploadpack|receivepack|vcs)"
    r"|hook\..*\.(command|event)"
    r"|lfs\.(extension\..*|customtransfer\..*|(.*\.)?standalonetransferagent)",
    re.DOTALL,
)
"""Settings as git lists them: section and last word in small letters."""

_WITHOUT: Final = {"core.sshcommand": "ssh", "core.gitproxy": "none", "uploadpack": "git-upload-pack"}
"""What git does without a setting, where an empty value would mean something else."""

_OF_THE_REPOSITORY: Final = ("local", "worktree")


def without_programs(listed: bytes) -> dict[str, str]:
    """Variables of git's environment that take back what the repository's own configuration would have started.

    ``listed`` is the output of ``git config --list --show-scope -z``.  Empty where it names no program.
    """
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    elsewhere: dict[str, list[str]] = {}
    own: dict[str, None] = {}
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        if not _STARTS_PROGRAMS.fullmatch(key):
            continue
        if scope in _OF_THE_REPOSITORY:
            own[key] = None
        else:
            elsewhere.setdefault(key, []).append(value)
    # The empty value first: of a list, such as helpers of credentials, it drops everything before.
    settings = [
        (key, value)
        for key in own
        for value in (_WITHOUT.get(key, _WITHOUT.get(key.rpartition(".")[2], "")), *elsewhere.get(key, ()))
    ]
    if not settings:
        return {}
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables
