"""The names by which a build may call a toolchain's programs, and the real program behind each."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from layoutrand.config.build_recipe import Driver
from layoutrand.linkers.toolbox import Tool, own_name

DRIVERS: Mapping[Driver, tuple[str, ...]] = {"cc": ("CC",), "cxx": ("CXX",), "fc": ("FC", "F77")}
"""The variables by which builds know each compiler driver."""

_USUAL: Mapping[Driver, tuple[str, ...]] = {
    "cc": ("cc", "gcc"),
    "cxx": ("c++", "g++"),
    "fc": ("f77", "f95", "gfortran"),
}
POSIX = ("c89", "c99")
"""Names of scripts that add an option and call gcc."""

_PLAIN_TOOLS = ("ar", "nm", "ranlib")
_FAMILIES = {"gcc": "gcc", "clang": "llvm"}


def search_path() -> str:
    """PATH as layoutrand was started with it."""
    return os.environ.get("PATH", os.defpath)


def drivers(role: Driver, chosen: Path, *, crosses: bool = False) -> dict[str, Path]:
    """The real program behind each name of a compiler driver: the toolchain's, under the usual and all its own names.

    Names that belong to other programs, such as another version or a cross compiler, are left alone, but for the
    POSIX names c89 and c99.  Where the toolchain itself ``crosses`` to another machine, the usual names are the host's,
    with which builds make what they execute themselves.
    """
    if crosses:
        return _aliases(chosen) | dict.fromkeys([own_name(chosen), chosen.name], chosen)
    standard = POSIX if role == "cc" else ()
    found = {name: Path(path) for name in standard if (path := shutil.which(name))}
    return found | _aliases(chosen) | dict.fromkeys([*_USUAL[role], own_name(chosen), chosen.name], chosen)


def _aliases(program: Path) -> dict[str, Path]:
    """Other names of the same program on PATH, such as gcc-12 and x86_64-linux-gnu-gcc for gcc."""
    pattern = re.compile(rf"(?:\w+-)*{re.escape(own_name(program))}(?:-[0-9.]+)?", re.ASCII)
    found: dict[str, Path] = {}
    for directory in search_path().split(os.pathsep):
        with contextlib.suppress(OSError):  # PATH may name directories that do not exist
            names = [name for name in os.listdir(directory or ".") if pattern.fullmatch(name)]
            for path in (Path(directory, name).absolute() for name in names):
                if path.exists() and path.samefile(program):
                    found.setdefault(path.name, path)
    return found


def prefixes(program: Path) -> list[str]:
    """What stands before the program's name in its other names on PATH, such as "x86_64-linux-gnu-"."""
    name = program.name
    return [alias.removesuffix(name) for alias in _aliases(program) if alias != name and alias.endswith(f"-{name}")]


def plain_tools(tools: Mapping[str, Tool], *, crosses: bool = False) -> dict[str, Path]:
    """The real program behind each tool that is called as it is: the archiver, and tools that know LTO objects.

    Where the toolchain ``crosses`` to another machine, they go by their own names alone.

    gcc-ar and llvm-ar by those names are the ones of the toolchain's compiler, and not of another version that PATH
    happens to have: only they read its objects.
    """
    if crosses:
        own = [tools[role].path for role in _PLAIN_TOOLS if role in tools]
        return dict(_companions(tools["cc"].path)) | {path.name: path for path in own}
    # gcc-ar looks for an "ar" on PATH: if that led to gcc-ar, it would call itself for ever.
    found = {role: tools[role].path for role in _PLAIN_TOOLS if role in tools and not _calls_plain(tools[role].path)}
    return dict(_companions(tools["cc"].path)) | found


def archiver(tools: Mapping[str, Tool], *, crosses: bool = False) -> str:
    """The name by which builds are told of the archiver."""
    if crosses:
        return tools["ar"].path.name
    return "gcc-ar" if _calls_plain(tools["ar"].path) else "ar"


def by_variable(tools: Mapping[str, Tool], *, crosses: bool = False) -> dict[str, str]:
    """The name of the tool that each variable tells builds of."""
    told = {"LD": tools["ld"].path.name} if crosses else {"CC": "gcc", "CXX": "g++", "LD": "ld"}  # CXX also without one
    told["AR"] = archiver(tools, crosses=crosses)
    for role, variables in DRIVERS.items():
        if role in tools:
            told |= dict.fromkeys(variables, own_name(tools[role].path))
    return told


def _calls_plain(program: Path) -> bool:
    return own_name(program).endswith(tuple(f"gcc-{tool}" for tool in _PLAIN_TOOLS))


def _companions(compiler: Path) -> Iterator[tuple[str, Path]]:
    """gcc-ar, gcc-nm and gcc-ranlib of the compiler, or llvm-ar and so on."""
    name = own_name(compiler)
    prefix, family = name[: name.rfind("-") + 1], _FAMILIES.get(name[name.rfind("-") + 1 :])
    if family is None:
        return
    suffix = compiler.name.removeprefix(name)
    real = compiler.resolve().parent
    beside = f"{real}{os.pathsep}" if real != compiler.parent else ""
    for tool in _PLAIN_TOOLS:
        plain = f"{family}-{tool}"
        path = shutil.which(plain, path=beside + ("" if suffix else search_path()))
        for named in (f"{plain}{suffix}", f"{prefix}{plain}{suffix}"):
            path = path or shutil.which(named, path=search_path())
        if path is not None:
            yield from ((alias, Path(path)) for alias in {plain, f"{plain}{suffix}"})
