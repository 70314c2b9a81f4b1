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
from layoutrand.world.drivers import DRIVERS, archiver, drivers, own_name, plain_tools, search_path
from layoutrand.world.process import find_tool
from layoutrand.world.toolbox import LTO, Toolbox

# Makefiles do not quote: a directory we choose must need no quoting.
_SAFE = re.compile(r"[A-Za-z0-9/._+-]+")
_RECORDER = "a tool of the linker wrapper"
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
    root = (cache.root / "work").resolve()  # the wrappers see physical paths
    if not _SAFE.fullmatch(str(root)):
        temporary = Path(tempfile.gettempdir()).resolve()
        root = temporary if _SAFE.fullmatch(str(temporary)) else Path("/tmp").resolve()  # noqa: S108
    with cache_errors("make a directory to build in below", root):
        # The process number tells `cache gc` that this one is in use.
        base = Path(tempfile.mkdtemp(prefix=f"b{key[:8]}-{os.getpid():07d}-", dir=root))
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
    scripts: dict[str, str] = {}
    for role in [role for role in DRIVERS if role in toolbox.tools]:
        for name, real in drivers(role, toolbox.tools[role].path).items():
            scripts[name] = render.compiler_wrapper(
                name=name, real=str(real), directory=str(space.wrappers),
                path_flag=recipe.path_flag(build_root), link_flags=recipe.link_flags(),
                compile_flags=recipe.compile_flags(build_root, role), first_flags=recipe.toolchain.compile.flags,
                linker="" if recipe.toolchain.link.driver_flags else str(toolbox.tools["ld"].path),
                ccache_path=os.environ.get("CCACHE_PATH") or search_path(), **common,
            )  # fmt: skip
    programs = _programs("mkdir", "tar", *(("touch",) if relink else ()))
    for name, real_linker in _linkers(toolbox).items():
        scripts[name] = render.linker_wrapper(
            name=name, real=str(real_linker), records=str(space.records), build_root=build_root,
            temporary=str(space.temporary), python=sys.executable,
            expander=str(Path(response_file.__file__).absolute()), environment=LINKER_ENVIRONMENT,
            system_prefixes=SYSTEM_PREFIXES, relink=str(relink or ""), **programs, **common,
            lld=recipe.toolchain.link.linker == "lld" and real_linker == toolbox.tools["ld"].path,
        )  # fmt: skip
    if LTO in toolbox.tools:  # found by the compiler driver through -B, like the linkers
        scripts["lto-wrapper"] = render.lto_wrapper(
            name="lto-wrapper", real=str(toolbox.tools[LTO].path), **_programs("cat", "cp", "mkdir", "rm"), **common
        )
    for name, real_tool in plain_tools(toolbox.tools).items():
        scripts[name] = render.tool_wrapper(name=name, real=str(real_tool), **common)
    with cache_errors("write wrappers in", space.wrappers):
        for name, text in scripts.items():
            write_atomically(space.wrappers / name, os.fsencode(text), executable=True)


def _programs(*names: str) -> dict[str, str]:
    return {name: str(find_tool([name], path=search_path(), purpose=_RECORDER)) for name in names}


def _linkers(toolbox: Toolbox) -> dict[str, Path]:
    """The real program behind each linker name: plain "ld" is the toolchain's, and so is the name it goes by."""
    chosen = toolbox.tools["ld"].path
    linkers = {name: Path(path) for name in _LINKERS if (path := shutil.which(name))}
    linkers["ld"] = chosen
    linker = toolbox.toolchain.link.linker
    linkers["ld.bfd" if linker == "gnu" else f"ld.{linker}"] = chosen
    return linkers


def build_environment(
    inherited: Mapping[str, str], space: Workspace, recipe: Recipe, toolbox: Toolbox
) -> dict[str, str]:
    """The environment of the user's build commands.

    A CC or the like of the configuration's own stays: its author may want "ccache gcc", which PATH leads here too.
    """
    environment = {name: value for name, value in inherited.items() if name not in NOT_INHERITED}
    environment |= {"SOURCE_DATE_EPOCH": inherited.get("SOURCE_DATE_EPOCH", SOURCE_EPOCH)}
    # A copy has no .git: a build that asks for its version must not be told that of a repository around the cache.
    environment["GIT_CEILING_DIRECTORIES"] = str(space.base)
    tools = {"CC": "gcc", "CXX": "g++", "LD": "ld", "AR": archiver(toolbox.tools)}  # CXX also where there is none
    for role, variables in DRIVERS.items():
        if role in toolbox.tools:
            tools |= dict.fromkeys(variables, own_name(toolbox.tools[role].path))
    environment |= {name: str(space.wrappers / tool) for name, tool in tools.items()}
    environment |= {**recipe.build.env, **recipe.options.env}
    environment["PATH"] = f"{space.wrappers}:{environment.get('PATH', os.defpath)}"
    environment["TMPDIR"] = str(space.temporary)
    return environment
