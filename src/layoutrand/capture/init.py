"""`layoutrand init`: a layoutrand.toml for the build found in a directory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from layoutrand.config.config import parse
from layoutrand.errors import UsageError
from layoutrand.platform.disk import write_atomically
from layoutrand.text.render import render


@dataclass(frozen=True)
class Found:
    """How a directory seems to be built: what it is, the commands, and its artefacts (guessed or known)."""

    what: str
    commands: tuple[str, ...]
    artefacts: tuple[str, ...]


def look(directory: Path) -> Found:
    """Recognise a build system by its files; the first that fits, in the order people set them up."""
    name = safe_name(directory)
    if (directory / "configure").is_file():
        return Found("a configure script", ("./configure", "make -j{jobs}"), _make_targets(directory) or (name,))
    if (directory / "CMakeLists.txt").is_file():
        text = (directory / "CMakeLists.txt").read_text("utf-8", "replace")
        targets = re.findall(r"add_executable\s*\(\s*([A-Za-z0-9_.+-]+)", text)
        commands = ("cmake -S . -B build -DCMAKE_BUILD_TYPE=Release", "cmake --build build -j {jobs}")
        return Found("CMake", commands, tuple(f"build/{target}" for target in targets[:1]) or (f"build/{name}",))
    if (directory / "meson.build").is_file():
        text = (directory / "meson.build").read_text("utf-8", "replace")
        targets = re.findall(r"executable\s*\(\s*'([^']+)'", text)
        commands = ("meson setup build --buildtype=release", "ninja -C build -j {jobs}")
        return Found("Meson", commands, tuple(f"build/{target}" for target in targets[:1]) or (f"build/{name}",))
    for makefile in ("GNUmakefile", "makefile", "Makefile"):
        if (directory / makefile).is_file():
            return Found("a makefile", ("make -j{jobs}",), _make_targets(directory) or (name,))
    sources = sorted(path.name for path in directory.glob("*.c"))
    if sources:
        return Found("C files", (f"gcc -o {name} *.c",), (name,))
    return Found("no build system that layoutrand knows", ("make -j{jobs}",), (name,))


def _make_targets(directory: Path) -> tuple[str, ...]:
    """The program that a makefile names, if it says so in one of the usual variables."""
    for makefile in ("Makefile.am", "GNUmakefile", "makefile", "Makefile"):
        path = directory / makefile
        if path.is_file():
            text = path.read_text("utf-8", "replace")
            match = re.search(
                r"^(?:bin_PROGRAMS|PROGRAM|PROG|TARGET|BIN)\s*[:+?]?=\s*([A-Za-z0-9_./+-]+)", text, re.MULTILINE
            )
            if match:
                return (match[1],)
    return ()


def safe_name(directory: Path) -> str:
    """The directory's name with what a project name may not contain replaced."""
    name = re.sub(r"[^A-Za-z0-9._+-]+", "-", directory.absolute().name).strip("-._+")
    return name or "project"


def init(directory: Path, *, force: bool) -> tuple[Path, Found]:
    """Write the file; raises `UsageError` if there is one already, unless forced."""
    path = directory / "layoutrand.toml"
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory")
    if path.exists() and not force:
        raise UsageError(f"{path} is there already; --force replaces it")
    found = look(directory)
    text = render(
        "layoutrand.toml.j2",
        found=found.what,
        name=safe_name(directory),
        commands=found.commands,
        artefacts=found.artefacts,
        guessed=True,
        arguments=(),
        toolchain="gcc",
    )
    parse(text, path=str(path))
    write_atomically(path, text.encode())
    return path, found
