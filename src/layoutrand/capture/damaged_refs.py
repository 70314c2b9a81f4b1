"""Branches and tags that lead to objects which their repository has lost: one of them fails a fetch of everything.

All others are fetched, since builds ask git for a version by the tags that are there, and not only for one commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from layoutrand.errors import BuildFailed
from layoutrand.platform.git_command import git
from layoutrand.text.name_lists import several_paths

_LOST: Final = "possible repository corruption on the remote side"
"""What git says, among other things, where the repository that is fetched from cannot read what it has to send."""

Fetch = Callable[[Sequence[str]], None]
"""Fetches what these refspecs say, in place of everything; raises `BuildFailed`."""


def is_of_damage(error: BuildFailed) -> bool:
    """Whether a fetch failed for what the repository itself cannot read."""
    return _LOST in error.message


def fetch_sound(url: str, error: BuildFailed, fetch: Fetch) -> str:
    """Fetch all branches and tags but those that ``error`` is about; what is left out, in a sentence.

    Raises ``error`` where none can be had.
    """
    listed = git("ls-remote", "--quiet", "--refs", "--", url, cwd=Path(url))
    refs = [line.partition("\t")[2] for line in listed.decode("utf-8", "surrogateescape").splitlines()]
    try:
        damaged = _damaged(refs, fetch)
        if len(damaged) == len(refs):
            raise error
        fetch(["+refs/*:refs/*", *(f"^{ref}" for ref in damaged)])  # for what is there no more
    except BuildFailed:  # a git before 2.29, for one, takes no refspecs that leave something out
        raise error from None
    why = next((part for part in error.message.split("; ") if "unable to read" in part), error.message)
    return (
        f"{url}: left out, as the repository cannot read what {'they lead' if len(damaged) > 1 else 'it leads'} to "
        f"({why.strip()}): {several_paths(damaged)}. `git fsck` there says what is lost"
    )


def _damaged(refs: Sequence[str], fetch: Fetch) -> list[str]:
    """Which of them cannot be fetched, by halves; the others are fetched."""
    try:
        fetch([f"+{ref}:{ref}" for ref in refs])
    except BuildFailed as error:
        if not is_of_damage(error):
            raise
        if len(refs) == 1:
            return list(refs)
        half = len(refs) // 2
        return [*_damaged(refs[:half], fetch), *_damaged(refs[half:], fetch)]
    return []
