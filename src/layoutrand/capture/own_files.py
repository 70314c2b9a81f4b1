"""Files that layoutrand has written where it was told to, such as a report: no part of the source that they lie in.

They are known by their content: one that was changed since is somebody's own, and a part of the source as any other.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from layoutrand.platform.disk import PROJECT_FOLDER, canonical_json, sha256_file, write_atomically
from layoutrand.platform.regular_file import RECORD, content_of_regular

_RECORD: Final = "written.json"
_SCHEMA: Final = "layoutrand/written/1"


def remember_written(project: Path, files: Iterable[Path]) -> None:
    """Remember these files as written by layoutrand, all of each; raises `OSError` where that cannot be."""
    new = {_name(project, file): sha256_file(file) for file in files}
    known = {name: digest for name, digest in _known(project).items() if _is_as_written(project / name, digest)}
    record = project / PROJECT_FOLDER / _RECORD
    record.parent.mkdir(exist_ok=True)
    write_atomically(record, canonical_json({"schema": _SCHEMA, "files": known | new}))


def is_own(project: Path, file: Path) -> bool:
    """Whether the file is as layoutrand has written it."""
    digest = _known(project).get(_name(project, file))
    return digest is not None and _is_as_written(file, digest)


def own_files(project: Path, folder: Path) -> list[str]:
    """What is below ``folder`` and as layoutrand has written it, as patterns of ``build.exclude``.

    These are files, and directories in which there is nothing else.
    """
    paths = {Path(os.path.normpath(project.resolve() / name)): digest for name, digest in _known(project).items()}
    found = {path for path, digest in paths.items() if folder in path.parents and _is_as_written(path, digest)}
    around = {parent for path in found for parent in path.parents if folder in parent.parents}
    for directory in sorted(around, key=lambda path: len(path.parts), reverse=True):
        with suppress(OSError):  # of what cannot be read, whoever lists the source tells
            if found.issuperset(directory.iterdir()):
                found.add(directory)
    return sorted(glob.escape(path.relative_to(folder).as_posix()) for path in found)


def parse_written(data: bytes) -> dict[str, str]:
    """Path relative to the project -> SHA-256; raises `ValueError` for what `remember_written` cannot have written."""
    try:
        table = json.loads(data)
    except RecursionError as error:
        raise ValueError("arrays or objects nested too deeply") from error
    files = table.get("files") if isinstance(table, dict) and table.get("schema") == _SCHEMA else None
    if not isinstance(files, dict) or not all(isinstance(digest, str) for digest in files.values()):
        raise ValueError("no record of files that were written")
    if any("\0" in name for name in files):
        raise ValueError("a name that no file can have")
    return files


def _known(project: Path) -> Mapping[str, str]:
    """What is remembered; nothing where the record is not there, or damaged: then files count as anybody's."""
    try:
        return parse_written(content_of_regular(project / PROJECT_FOLDER / _RECORD, largest=RECORD))
    except (OSError, ValueError):
        return {}


def _name(project: Path, file: Path) -> str:
    return os.path.relpath(file.resolve(), project.resolve())


def _is_as_written(path: Path, digest: str) -> bool:
    try:
        return not path.is_symlink() and sha256_file(path) == digest
    except (OSError, ValueError):  # also a name that the file system cannot have
        return False
