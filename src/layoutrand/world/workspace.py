"""Directories to build in, and the wrappers written into them."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from layoutrand.core import response_file
from layoutrand.core.recipe import LINKER_ENVIRONMENT, NOT_INHERITED, SOURCE_EPOCH, SYSTEM_PREFIXES, Recipe
from layoutrand.text import render
from layoutrand.world.cache import Cache
from layoutrand.world.disk import cache_errors, remove_tree, write_atomically
from layoutrand.world.toolbox import Toolbox

# Makefiles do not quote: a directory we choose must need no quoting.
_SAFE = re.compile(r"[A-Za-z0-9/._+-]+")
_LINKERS = ("ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold")


@dataclass(frozen=True)
class Workspace:
    """One build's private directories: the tree itself, wrappers, temporary files, and records of links."""

    base: Path

    @property
    def tree(self) -> Path:
        """Where the source is copied to and built."""
        return self.base / "src"

    @property
    def wrappers(self) -> Path:
        """The generated tools; first on PATH."""
        return self.base / "bin"

    @property
    def temporary(self) -> Path:
        """TMPDIR of the build: the driver's short-lived objects are known by lying here."""
        return self.base / "tmp"

    @property
    def records(self) -> Path:
        """One directory per recorded link."""
        return self.base / "rec"


@contextmanager
def workspace(cache: Cache, key: str, *, keep: bool = False) -> Iterator[Workspace]:
    """A fresh workspace, removed at the end.

    It lies in the cache, or in the system's temporary directory where the cache's path has characters that
    makefiles would have to quote. The path has the same length for every build, so that nothing that embeds it
    shifts.
    """
    root = cache.root / "work"
    if not _SAFE.fullmatch(str(root)):
        root = Path(tempfile.gettempdir() if _SAFE.fullmatch(tempfile.gettempdir()) else "/tmp")  # noqa: S108
    base = Path(tempfile.mkdtemp(prefix=f"b{key[:8]}-", dir=root.resolve()))  # the wrappers see physical paths
    space = Workspace(base)
    try:
        with cache_errors("make", base):
            for path in (space.wrappers, space.temporary, space.records):
                path.mkdir()
        yield space
    finally:
        if not keep:
            remove_tree(base)


def write_wrappers(
    space: Workspace, recipe: Recipe, toolbox: Toolbox, *, tree: Path, relink: Path | None = None
) -> None:
    """Write a wrapper for every compiler driver, linker and archiver that the build may call by name.

    ``tree`` is where the build happens; with ``relink`` the linker wrappers lay out what they link.
    """
    build_root = str(tree)
    common = {"system": recipe.system, "toolchain": recipe.toolchain.name}
    drivers = {
        "cc": ("cc", "gcc", "c89", "c99"),
        "cxx": ("c++", "g++"),
    }
    scripts: dict[str, str] = {}
    for role, names in drivers.items():
        real = toolbox.tools[role].path
        for name in {*names, real.name, *_aliases(real.name)}:
            if name in names[:2] or shutil.which(name):
                scripts[name] = render.compiler_wrapper(
                    name=name, real=str(real), directory=str(space.wrappers),
                    compile_flags=recipe.compile_flags(build_root, cxx=role == "cxx"),
                    link_flags=recipe.link_flags(), **common,
                )  # fmt: skip
    for name, real_linker in _linkers(toolbox).items():
        scripts[name] = render.linker_wrapper(
            name=name, real=str(real_linker), records=str(space.records), build_root=build_root,
            python=sys.executable, expander=str(Path(response_file.__file__).absolute()),
            environment=LINKER_ENVIRONMENT, system_prefixes=SYSTEM_PREFIXES,
            relink=str(relink or ""), **common,
        )  # fmt: skip
    scripts["ar"] = render.tool_wrapper(name="ar", real=str(toolbox.tools["ar"].path), **common)
    with cache_errors("write wrappers in", space.wrappers):
        for name, text in scripts.items():
            write_atomically(space.wrappers / name, text.encode(), executable=True)


def _aliases(name: str) -> list[str]:
    """Other names of the same driver on PATH, such as gcc-12 and x86_64-linux-gnu-gcc for gcc."""
    pattern = re.compile(rf"(?:[A-Za-z0-9_]+-[a-z]+-[a-z]+-)?{re.escape(name)}(?:-[0-9.]+)?")
    found = []
    for directory in os.environ.get("PATH", os.defpath).split(os.pathsep):
        try:
            found += [entry for entry in os.listdir(directory or ".") if pattern.fullmatch(entry)]
        except OSError:
            continue  # PATH may name directories that do not exist
    return found


def _linkers(toolbox: Toolbox) -> dict[str, Path]:
    """The real program behind each linker name: plain "ld" is the toolchain's, and so is the name it goes by."""
    chosen = toolbox.tools["ld"].path
    linkers = {name: Path(path) for name in _LINKERS if (path := shutil.which(name))}
    linkers["ld"] = chosen
    linkers[{"gnu": "ld.bfd", "lld": "ld.lld"}[toolbox.toolchain.link.linker]] = chosen
    return linkers


def build_environment(inherited: Mapping[str, str], space: Workspace, recipe: Recipe) -> dict[str, str]:
    """The environment of the user's build commands."""
    environment = {name: value for name, value in inherited.items() if name not in NOT_INHERITED}
    environment |= {"SOURCE_DATE_EPOCH": inherited.get("SOURCE_DATE_EPOCH", SOURCE_EPOCH)}
    environment |= {**recipe.build.env, **recipe.options.env}
    tools = {"CC": "gcc", "CXX": "g++", "LD": "ld", "AR": "ar"}
    environment |= {name: str(space.wrappers / tool) for name, tool in tools.items()}
    environment["PATH"] = f"{space.wrappers}:{environment.get('PATH', os.defpath)}"
    environment["TMPDIR"] = str(space.temporary)
    return environment
