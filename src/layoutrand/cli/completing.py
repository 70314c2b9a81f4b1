"""Names that a shell completes: those of systems and benchmarks in the project's layoutrand.toml.

Nothing is ever said here: a file that is wrong or absent completes to nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from layoutrand.library.project_directory import CONFIG_NAME, project_of


def systems(incomplete: str) -> list[str]:
    """Systems that begin so, those of ``[matrix]`` included."""
    table = _table()
    written = table.get("systems")
    names = list(written) if isinstance(written, dict) else []
    if "matrix" in table:
        from layoutrand.config.matrix import expand

        names += expand(table["matrix"], names, lambda _axis, _settings: [])[0]
    return [name for name in names if name.startswith(incomplete)]


def benchmarks(incomplete: str) -> list[str]:
    """Benchmarks that begin so, as they are written in the file; those of a suite are not known here."""
    entries = _table().get("benchmarks")
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return [name for name in names if isinstance(name, str) and name.startswith(incomplete)]


def _table() -> Mapping[str, Any]:
    from layoutrand.errors import LayoutrandError
    from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

    try:
        return tomllib.loads(text_of_regular(project_of(Path()) / CONFIG_NAME, largest=WRITTEN_BY_HAND))
    except (OSError, ValueError, RecursionError, LayoutrandError):
        return {}
