"""Addresses of repositories without the credentials that they may hold: for all that is recorded, shown or logged."""

from __future__ import annotations

import re
from typing import Final

_CREDENTIALS: Final = re.compile(
    r"""
    \b(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://
    (?P<user>[^\s/@:]*)            # for git, what stands before the last @ of the host part
    (?P<rest>[^\s/]*)@
    """,
    re.VERBOSE,
)
_NAMES_A_USER: Final = frozenset({"ssh", "git+ssh", "ssh+git"})


def without_credentials(text: str) -> str:
    """The text, every address in it without password, and without user where that may be a token.

    >>> without_credentials("fatal: Authentication failed for 'https://me:token@host/x.git'")
    "fatal: Authentication failed for 'https://host/x.git'"
    >>> without_credentials("ssh://git:secret@host/x")
    'ssh://git@host/x'
    """
    return _CREDENTIALS.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    user = f"{found['user']}@" if found["scheme"].lower() in _NAMES_A_USER and found["user"] else ""
    return f"{found['scheme']}://{user}"
