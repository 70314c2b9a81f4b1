"""Output of failed executions that came from a node, kept where that of executions here is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from layoutrand.errors import BundleError, ResultsError
from layoutrand.platform.disk import remove_tree, write_atomically

LOGS: Final = PurePosixPath(".layoutrand/logs/run")


def keep_files(project: Path, log: str, files: Mapping[str, bytes]) -> None:
    """Write the files into the directory ``log`` of the project, replacing what was there.

    Raises `BundleError` for a place or a name that no layoutrand would give, `ResultsError` where it cannot be written.
    """
    place = PurePosixPath(log)
    if LOGS not in place.parents or ".." in place.parts or any("/" in name or name in {".", ".."} for name in files):
        raise BundleError(f"a record from a node wants its output in {log!r}, which is no place for logs")
    folder = project / place
    try:
        remove_tree(folder)
        folder.mkdir(parents=True)
        for name, data in files.items():
            write_atomically(folder / name, data)
    except OSError as error:
        raise ResultsError(
            f"cannot keep the output of a failed execution in {folder}: {error.strerror}. All finished executions are "
            "recorded or wait in the staging directory; give the same command again once this is mended"
        ) from error
