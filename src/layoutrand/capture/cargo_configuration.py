"""What cargo and rustup find above a project, of which a private copy that lies elsewhere would know nothing.

Cargo reads ``.cargo/config.toml`` of every directory above the one that it is called in, and rustup
``rust-toolchain.toml`` and the overrides that it was told of directories.  What is the user's own, in ``$CARGO_HOME``,
counts anywhere.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from layoutrand.config.toml_text import parse_table
from layoutrand.errors import ConfigError
from layoutrand.platform.disk import readable, sha256_bytes
from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

_FOLDER: Final = ".cargo"
_NAMES: Final = ("config", "config.toml")
"""How a configuration may be called; where both are there, cargo reads the first."""

_TOOLCHAINS: Final = ("rust-toolchain", "rust-toolchain.toml")

_PROGRAMS: Final[tuple[tuple[str, ...], ...]] = (
    ("build", "rustc"),
    ("build", "rustc-wrapper"),
    ("build", "rustc-workspace-wrapper"),
    ("build", "rustdoc"),
    ("target", "*", "linker"),
    ("target", "*", "runner"),
    ("host", "linker"),
    ("host", "runner"),
)
"""Where programs are named: with a slash they are paths from the directory that ``.cargo`` is in, else of PATH."""

_PATHS: Final[tuple[tuple[str, ...], ...]] = (
    ("paths",),
    ("include",),
    ("http", "cainfo"),
    ("source", "*", "directory"),
    ("source", "*", "local-registry"),
    ("patch", "*", "*", "path"),
)
"""Where files are named, as paths from there whatever they look like."""

_OF_THE_TREE: Final = ("target-dir", "build-dir")
"""Keys of ``build`` that would lead out of the private copy."""


def configuration_above(source: Path, besides: Path, environment: Mapping[str, str]) -> str:
    """The configuration that cargo finds above ``source``, as one text; "" for none.

    What it finds above ``besides`` as well, or is the user's own anyway, is left out.  Raises `ConfigError` for one
    that cannot be read.
    """
    import tomlkit  # for copies of a source alone, of the many builds that are looked for

    merged: dict[str, Any] = {}
    known = {_own(environment), *(folder / _FOLDER for folder in besides.resolve().parents)}
    for folder in reversed(source.resolve().parents):
        if folder / _FOLDER in known:
            continue
        for path in _configurations(folder / _FOLDER):
            merged = _joined(merged, _read(path, folder))
    return tomlkit.dumps(merged) if merged else ""


def configuration_digest(source: Path, environment: Mapping[str, str]) -> str:
    """What tells one configuration from another outside of the source, for keys; "" where there is none."""
    own = _own(environment)
    folders = dict.fromkeys([own, *(folder / _FOLDER for folder in source.resolve().parents)])
    texts = [_text(path) for folder in folders for path in _configurations(folder)]
    return sha256_bytes("\0".join(texts).encode()) if texts else ""


def toolchain_variables(copy: Path, rustc: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """What has rustup take this ``rustc`` in a copy of the source, where nothing in there says which to take.

    It is the one that rustup takes where the source is; by itself it would take the default one.
    """
    if "RUSTUP_TOOLCHAIN" in environment or any((copy / name).is_file() for name in _TOOLCHAINS):
        return {}
    cargo = shutil.which("cargo", path=environment.get("PATH", os.defpath))
    if cargo is None or os.path.basename(os.path.realpath(cargo)) != "rustup":
        return {}
    toolchain = rustc.parent.parent
    return {"RUSTUP_TOOLCHAIN": toolchain.name if toolchain.parent.name == "toolchains" else str(toolchain)}


def _own(environment: Mapping[str, str]) -> Path:
    """Where the user's own configuration is."""
    home = environment.get("CARGO_HOME") or os.path.join(environment.get("HOME", "/"), _FOLDER)
    return Path(home).resolve()


def _configurations(folder: Path) -> Iterator[Path]:
    yield from [path for name in _NAMES if (path := folder / name).is_file()][:1]


def _text(path: Path) -> str:
    try:
        return text_of_regular(path, largest=WRITTEN_BY_HAND)
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), ["is no UTF-8"]) from error
    except OSError as error:
        raise ConfigError(str(path), [f"cannot be read: {readable(str(error.strerror))}"]) from error


def _read(path: Path, folder: Path) -> dict[str, Any]:
    return standing_alone(parse_table(_text(path), str(path)), folder)


def standing_alone(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A configuration with nothing in it that is relative to the ``folder`` whose one it is."""
    for keys in _PROGRAMS:
        _change(table, keys, lambda word: _program(word, folder))
    for keys in _PATHS:
        _change(table, keys, lambda word: os.path.join(folder, word))
    build = table.get("build")
    if isinstance(build, dict):
        table["build"] = {key: value for key, value in build.items() if key not in _OF_THE_TREE}
        _change(table, ("build", "target"), lambda word: _specification(word, folder))
    own = table.get("env")
    variables: dict[str, Any] = own if isinstance(own, dict) else {}
    for name, value in variables.items():
        if isinstance(value, dict) and value.get("relative") is True and isinstance(value.get("value"), str):
            variables[name] = {**value, "value": os.path.join(folder, value["value"]), "relative": False}
    return table


def _change(table: Any, keys: tuple[str, ...], change: Callable[[str], str]) -> None:
    """Change what the ``keys`` lead to, "*" for each of a table: a word, or each of a list of words."""
    if not isinstance(table, dict):
        return
    first, *rest = keys
    for key in table if first == "*" else {first} & table.keys():
        if rest:
            _change(table[key], tuple(rest), change)
        elif isinstance(table[key], str):
            table[key] = change(table[key])
        elif isinstance(table[key], list):
            table[key] = [change(word) if isinstance(word, str) else word for word in table[key]]


def _program(word: str, folder: Path) -> str:
    return os.path.join(folder, word) if "/" in word else word


def _specification(word: str, folder: Path) -> str:
    return os.path.join(folder, word) if word.endswith(".json") else word


def _joined(far: dict[str, Any], near: dict[str, Any]) -> dict[str, Any]:
    """Two configurations as cargo joins them: tables key by key, lists one behind the other, else the nearer one."""
    joined = dict(far)
    for key, value in near.items():
        other = joined.get(key)
        if isinstance(value, dict) and isinstance(other, dict):
            joined[key] = _joined(other, value)
        elif isinstance(value, list) and isinstance(other, list):
            joined[key] = [*other, *value]
        else:
            joined[key] = value
    return joined
