"""Two commits in one word, as git has it."""

from __future__ import annotations

from layoutrand.errors import UsageError


def range_ends(word: str, asked: str) -> tuple[str, str]:
    """The commits of ``OLD..NEW``, and HEAD where NEW is left out; raises `UsageError` for any other word.

    ``asked`` is what the word was given as, for the message.
    """
    old, dots, new = word.partition("..")
    if not dots or not old or new.startswith("."):
        raise UsageError(f"{asked}{word}: write OLD..NEW, such as v1.0..HEAD")
    return old, new or "HEAD"


def both_ends(first: str | None, second: str | None) -> tuple[str | None, str | None]:
    """Two words that name commits, or the ends of the one that names both: a name of a commit hardly has two dots."""
    return range_ends(first, "") if first is not None and second is None and ".." in first else (first, second)
