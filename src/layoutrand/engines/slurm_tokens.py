"""Which job of Slurm was submitted for which token: kept in files, so that a run that is started again finds its jobs.

A token names a piece of work for ever (hexadecimal, of the caller's making).  A file of its name holds the job's id
from after the submission until the job's end is known here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from layoutrand.platform.disk import shared_errors, write_atomically
from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

_TOKEN = re.compile(r"[0-9a-f]{1,200}")
_JOB = re.compile(r"\d+(_\d+)?")


class TokenJournal:
    """The files in one directory; a file that says nothing sensible counts as none.

    Raises `BundleError` where the directory cannot be read or written, and `ValueError` for a token that is none.
    """

    def __init__(self, folder: Path) -> None:
        """Use the directory, which is made when something is noted."""
        self._folder = folder

    def job(self, token: str) -> str | None:
        """The id of the job that was submitted for the token."""
        path = self._path(token)
        with shared_errors("read", path), suppress(FileNotFoundError):
            job = text_of_regular(path, largest=WRITTEN_BY_HAND, encoding="ascii", errors="replace").strip()
            return job if _JOB.fullmatch(job) else None
        return None

    def note(self, token: str, job: str) -> None:
        """Remember the token's job."""
        path = self._path(token)
        with shared_errors("write", path):
            write_atomically(path, f"{job}\n".encode())

    def forget(self, token: str) -> None:
        """The token's job has ended or is unwanted."""
        path = self._path(token)
        with shared_errors("delete", path):
            path.unlink(missing_ok=True)

    def jobs(self, prefix: str) -> Mapping[str, str]:
        """Jobs by those tokens that begin with the prefix."""
        with shared_errors("read", self._folder):
            try:
                names = [path.name for path in self._folder.iterdir()]
            except FileNotFoundError:
                return {}
        found = {name: self.job(name) for name in sorted(names) if _TOKEN.fullmatch(name) and name.startswith(prefix)}
        return {token: job for token, job in found.items() if job is not None}

    def _path(self, token: str) -> Path:
        if not _TOKEN.fullmatch(token):
            raise ValueError(f"a token is hexadecimal digits, and this is not: {token!r}")
        return self._folder / token
