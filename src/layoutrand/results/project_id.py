"""What tells this project from all others, wherever it is seen from: a random word in its own directory."""

from __future__ import annotations

import secrets
from pathlib import Path

from layoutrand.errors import ResultsError
from layoutrand.platform.disk import write_atomically


def project_id(project: Path) -> str:
    """The project's word, drawn when it is first asked for; raises `ResultsError` where it cannot be kept.

    To be called while holding the lock on the results, so that it is drawn once.
    Paths do not tell projects apart that share a staging directory: two containers may both call theirs /work.
    """
    path = project / ".layoutrand" / "id"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            write_atomically(path, secrets.token_hex(16).encode())
        return path.read_text("ascii")
    except (OSError, ValueError) as error:
        raise ResultsError(f"cannot keep {path}: {error}; check owner, permissions and free space") from error
