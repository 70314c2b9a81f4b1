"""What cargo says in JSON of the executables that it made: each is a program of the project, an example, a benchmark...

Cargo links below ``target/*/deps`` under a name with a hash, and makes a hard link or a copy where people look for it;
of benchmarks and tests it makes none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from layoutrand.platform.regular_file import ANY, content_of_regular

_BEGIN: Final = "cargo."
_KINDS: Final = ("bin", "example", "bench", "test")
_HASH: Final = re.compile(r"-[0-9a-f]{16}$")


@dataclass(frozen=True)
class CargoExecutable:
    """An executable: its absolute path, what kind of target it is, and that one's name.

    ``kind`` is cargo's word: "bin", "example", "bench" or "test" (of any target, for its unit tests).
    """

    path: str
    kind: str
    name: str


def without_hash(path: str) -> str:
    """A path of cargo's without the hash, which other flags, another profile or another rustc change.

    >>> without_hash("target/release/deps/parse-e9f51753b3da3195")
    'target/release/deps/parse'
    """
    return _HASH.sub("", path)


def cargo_executables(records: Path) -> list[CargoExecutable]:
    """What the cargos of a build said of executables, beside the records of its links; build scripts are left out."""
    found: list[CargoExecutable] = []
    for path in sorted(records.glob(f"{_BEGIN}*"), key=lambda path: path.stat().st_mtime_ns):
        found += executables_in(content_of_regular(path, largest=ANY))
    return found


def executables_in(said: bytes) -> Iterator[CargoExecutable]:
    """The executables that the lines tell of; lines that are no such message are what the build printed itself."""
    for line in said.splitlines():
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict) and message.get("reason") == "compiler-artifact":
            yield from _executable(message)


def _executable(message: dict[str, Any]) -> Iterator[CargoExecutable]:
    path, target, profile = message.get("executable"), message.get("target"), message.get("profile")
    if not isinstance(path, str) or "\0" in path or not isinstance(target, dict):
        return
    kinds, name = target.get("kind"), target.get("name")
    if not isinstance(kinds, list) or not isinstance(name, str):
        return
    is_test = isinstance(profile, dict) and profile.get("test") is True
    kind = next((kind for kind in _KINDS if kind in kinds), "test" if is_test else None)
    if kind == "bin" and is_test:
        kind = "test"
    if kind is not None:
        yield CargoExecutable(path, kind, name)
