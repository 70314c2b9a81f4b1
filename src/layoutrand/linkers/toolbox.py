"""Find a toolchain's programs on this machine, and load toolchain files."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from layoutrand.config import toolchain as toolchains
from layoutrand.config.problems import suggest
from layoutrand.config.toolchain import Toolchain
from layoutrand.errors import FeatureUnsupported, UsageError
from layoutrand.linkers import known
from layoutrand.platform.disk import sha256_file
from layoutrand.platform.process import Runner, find_tool
from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

_ROLES = {
    "cc": "the C compiler",
    "cxx": "the C++ compiler",
    "fc": "the Fortran compiler",
    "ld": "the linker",
    "ar": "the archiver",
    "nm": "the lister of symbols",
    "ranlib": "the archive indexer",
}
_OPTIONAL = ("cxx", "fc")
_TOOL_DIRECTORY = "{tooldir}"
_VERSION_WORDS = {"go": "version", "link": "-V"}
"""What programs that know no ``--version`` are asked."""

LTO = "lto"
"""The role of gcc's lto-wrapper, which generates code when a link does."""


@dataclass(frozen=True)
class Tool:
    """A program found: where, its first line of ``--version``, and its content hash."""

    path: Path
    version: str
    sha256: str


@dataclass(frozen=True)
class Toolbox:
    """A toolchain with its programs found on this machine, by role: cc, ld, ar, and others where there are any."""

    toolchain: Toolchain
    tools: dict[str, Tool]

    def facts(self) -> dict[str, dict[str, str]]:
        """Path, version and hash of each program, for keys and records."""
        return {
            role: {"path": str(tool.path), "version": tool.version, "sha256": tool.sha256}
            for role, tool in self.tools.items()
        }


def shipped() -> list[str]:
    """Names of the toolchain files that come with layoutrand."""
    folder = files("layoutrand") / "toolchains"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load(name: str, project: Path) -> Toolchain:
    """The toolchain called ``name``, or in the file ``name`` (relative to the project) if it looks like a path."""
    if "/" in name or name.endswith(".toml"):
        path = project / name
        try:
            text = text_of_regular(path, largest=WRITTEN_BY_HAND)
        except OSError as error:
            raise UsageError(f"toolchain file {path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"toolchain file {path}: is not UTF-8 text (byte {error.start})") from error
        return toolchains.parse(text, path=str(path), parent=_shipped_text, linkers=known.names())
    return toolchains.parse(
        _shipped_text(name), path=f"toolchains/{name}.toml", parent=_shipped_text, linkers=known.names()
    )


def _shipped_text(name: str) -> str:
    there = shipped()
    if name not in there:
        raise UsageError(f"no toolchain called {name!r}; there are {', '.join(there)}{suggest(name, there)}")
    return (files("layoutrand") / "toolchains" / f"{name}.toml").read_text("utf-8")


def prepare(name: str, project: Path, factors: Sequence[str], runner: Runner) -> Toolbox:
    """The toolchain called ``name`` with its programs, which can do the ``factors``.

    Raises as `load` and `find` do, and `FeatureUnsupported` for a factor that they cannot do.
    """
    toolchain = load(name, project)
    others = [load(other, project) for other in shipped()]
    toolchains.require_factors(toolchain, list(factors), others)
    toolbox = find(toolchain, runner)
    ld = toolbox.tools["ld"].version
    if why := known.linker(toolchain.link.linker).refusal(toolchains.version_number(ld), ld):
        raise FeatureUnsupported(why)
    toolchains.require_version(toolchain, list(factors), toolbox.tools["ld"].version, others)
    return toolbox


def find(toolchain: Toolchain, runner: Runner) -> Toolbox:
    """Look up the toolchain's programs on PATH; raises `ToolNotFound` for the first that is missing.

    C++ and Fortran compilers may be missing: C programs do without.
    """
    search = os.environ.get("PATH", os.defpath)
    tools: dict[str, Tool] = {}
    for role, purpose in _ROLES.items():
        suffix = _version_suffix(tools["cc"].path) if tools else ""
        names = [name.replace("{suffix}", suffix) for name in getattr(toolchain.tools, role)]
        if any(_TOOL_DIRECTORY in name for name in names):
            said = runner.run([str(tools["cc"].path), "env", "GOTOOLDIR"], cwd=Path("/"), env=dict(os.environ))
            directory = said.stdout.decode("utf-8", "surrogateescape").strip()
            names = [name.replace(_TOOL_DIRECTORY, directory) for name in names]
        if not names or (role in _OPTIONAL and not any(shutil.which(name, path=search) for name in names)):
            continue
        path = find_tool(names, path=search, purpose=f"{purpose} of toolchain {toolchain.name!r}")
        env = {"PATH": search, "LC_ALL": "C"}
        said = runner.run([str(path), _VERSION_WORDS.get(path.name, "--version")], cwd=Path("/"), env=env)
        lines = (said.stdout or said.stderr).decode("utf-8", "backslashreplace").splitlines()
        tools[role] = Tool(path, lines[0] if lines else "", sha256_file(path))
    return Toolbox(toolchain, tools | _lto_wrapper(tools["cc"], runner))


def missing(toolchain: Toolchain) -> list[str]:
    """The programs that `find` would not find, each by the first of its names; C++ and Fortran compilers aside."""
    search = os.environ.get("PATH", os.defpath)
    found, suffix = [], ""
    for role in _ROLES:
        names = [name.replace("{suffix}", suffix) for name in getattr(toolchain.tools, role)]
        if any(_TOOL_DIRECTORY in name for name in names):
            continue  # it comes with the compiler
        there = next((path for name in names if (path := shutil.which(name, path=search))), None)
        if role == "cc" and there is not None:
            suffix = _version_suffix(Path(there))
        if names and there is None and role not in _OPTIONAL:
            found.append(names[0])
    return found


def _lto_wrapper(compiler: Tool, runner: Runner) -> dict[str, Tool]:
    """The compiler's lto-wrapper; nothing for compilers that have none, which answer with the bare name."""
    env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    said = runner.run([str(compiler.path), "-print-prog-name=lto-wrapper"], cwd=Path("/"), env=env)
    path = Path(os.fsdecode(said.stdout.strip(b"\n")))
    if not path.is_absolute() or not path.is_file():
        return {}
    return {LTO: Tool(path, compiler.version, sha256_file(path))}


def _version_suffix(program: Path) -> str:
    """What makes clang-19 of clang."""
    found = re.search(r"-[0-9.]+$", program.name)
    return found[0] if found else ""
