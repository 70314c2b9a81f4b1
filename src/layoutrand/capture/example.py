"""The built-in example, as files."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from layoutrand.capture.source import copy
from layoutrand.errors import UsageError
from layoutrand.platform.disk import cache_errors

_LEFT_OUT = ("*.o", "*.a", "README.md", "build", "build/*")


def copy_example(target: Path) -> None:
    """Put the example into ``target``; what is there already from an earlier call is used as it is.

    Raises `UsageError` if the directory holds something else.
    """
    if (target / "layoutrand.toml").exists():
        return
    if target.exists() and any(target.iterdir()):
        raise UsageError(f"{target} is not empty and holds no layoutrand.toml; choose another directory with -C")
    with as_file(files("layoutrand") / "quickstart") as source, cache_errors("write the example to", target):
        if target.exists():
            target.rmdir()
        target.parent.mkdir(parents=True, exist_ok=True)
        copy(source, target, _LEFT_OUT)
        (target / "layoutrand.toml").write_bytes((source / "layoutrand.toml").read_bytes())
