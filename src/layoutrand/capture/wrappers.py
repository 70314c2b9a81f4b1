"""The wrappers that stand for compilers, linkers and archivers while a build lasts: scripts, written where it looks."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from layoutrand.capture.workspace import Workspace
from layoutrand.config.build_recipe import (
    GO_LINKER_ENVIRONMENT,
    LINKER_ENVIRONMENT,
    SYSTEM_PREFIXES,
    Recipe,
)
from layoutrand.linkers import response_file
from layoutrand.linkers.drivers import DRIVERS, POSIX, drivers, plain_tools, prefixes, search_path
from layoutrand.linkers.known import linker
from layoutrand.linkers.toolbox import LTO, Toolbox
from layoutrand.platform import helper_client
from layoutrand.platform.disk import cache_errors, write_atomically
from layoutrand.platform.process import find_tool
from layoutrand.text import render
from layoutrand.text.render import FileFlags

_TOOLEXEC = "go-toolexec"
RUSTC = "layoutrand-rustc"
"""The wrapper that cargo is told of; others would call rustc past it."""

_RECORDER = "a tool of the linker wrapper"
_LINKERS = ("ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold")
_LONGEST_MAPPED = 400
"""Words of a link line: the map of a large program takes long to write."""


def write_wrappers(  # noqa: PLR0913 - one argument for each thing that wrappers know
    space: Workspace,
    recipe: Recipe,
    toolbox: Toolbox,
    *,
    tree: Path,
    relink: Path | None = None,
    leave_foreign: bool = False,
    maps: bool = False,
    copied: Path | None = None,
) -> None:
    """Write a wrapper for every compiler driver, linker and archiver that the build may call by name.

    ``tree`` is where the build happens; with ``relink`` the linker wrappers lay out what they link. With
    ``leave_foreign`` links by a linker that the build names by its path are left alone, and else they fail. With
    ``maps`` the linker writes its map into the record of a link, too. ``copied`` is what the tree is a copy of.
    """
    if linker(recipe.toolchain.link.linker).own_objects:
        _write_toolexec(space, recipe, toolbox)
        return
    names = {"system": recipe.system, "toolchain": recipe.toolchain.name}
    crosses = recipe.toolchain.machine is not None
    links = space.links if crosses else space.wrappers
    given = recipe.given_flags()
    scripts = _compiler_wrappers(space, recipe, toolbox, tree, links, leave_foreign=leave_foreign, copied=copied)
    if recipe.toolchain.tools.rustc or {"rustc", "cargo"} & set(given):
        scripts |= _rust_wrappers(space, recipe, str(tree))
    linkers = _linker_wrappers(space, recipe, toolbox, tree, relink, maps=maps)
    for name, real_tool in plain_tools(toolbox.tools, crosses=crosses).items():
        scripts[name] = render.tool_wrapper(name=name, real=str(real_tool), **names)
    if crosses:  # a name such as aarch64-linux-gnu-ld is nobody else's
        scripts |= {name: text for name, text in linkers.items() if name == toolbox.tools["ld"].path.name}
    with cache_errors("write wrappers in", space.wrappers):
        links.mkdir(exist_ok=True)
        for folder, texts in ((space.wrappers, scripts), (links, linkers)):
            for name, text in texts.items():
                write_atomically(folder / name, os.fsencode(text), executable=True)


def _compiler_wrappers(
    space: Workspace,
    recipe: Recipe,
    toolbox: Toolbox,
    tree: Path,
    links: Path,
    *,
    leave_foreign: bool,
    copied: Path | None,
) -> dict[str, str]:
    """Scripts for compiler drivers, which find linkers in the directory ``links``."""
    scripts: dict[str, str] = {}
    for role in [role for role in DRIVERS if role in toolbox.tools]:
        crosses = recipe.toolchain.machine is not None
        for name, real in drivers(role, toolbox.tools[role].path, crosses=crosses).items():
            scripts[name] = render.compiler_wrapper(
                name=name,
                real=str(real),
                system=recipe.system,
                toolchain=recipe.toolchain.name,
                directory=str(links),
                path_flag=recipe.path_flag(str(tree)),
                link_flags=recipe.link_flags(),
                compile_flags=recipe.compile_flags(str(tree), role),
                target=recipe.toolchain.compile.target,
                first_flags=recipe.toolchain.compile.flags,
                linker="" if recipe.toolchain.link.driver_flags else str(toolbox.tools["ld"].path),
                ccache_path=os.environ.get("CCACHE_PATH") or search_path(),
                calls_driver=name in POSIX,
                leave_foreign=leave_foreign,
                heard=str(space.heard(role)) if recipe.flags_of_drivers() else "",
                levels=_levels(space, recipe, recipe.compile_flags(str(tree), role)),
                file_flags=[
                    FileFlags(path, str(tree / path), flags, str(space.heard_of(path)))
                    for path, flags in recipe.file_flags()
                ],
                source=str(copied or ""),
                tree=str(tree),
                profiles=str(space.profiles) if recipe.variant == "capture" else "",
            )
    return scripts


def _levels(space: Workspace, recipe: Recipe, flags: Sequence[str]) -> render.Levels | None:
    """Where a wrapper that appends these flags notes whether anything is optimised; None where that is asked for."""
    of_files = [flag for _, own in recipe.file_flags() for flag in own]
    if recipe.variant != "capture" or _say_level(of_files) or "opt-level" in recipe.options.profile:
        return None
    return render.Levels(str(space.compiled), str(space.optimised), is_given=_say_level(flags))


def _say_level(flags: Sequence[str]) -> bool:
    return any(flag.startswith("-O") or "opt-level" in flag for flag in flags)


def _linker_wrappers(
    space: Workspace, recipe: Recipe, toolbox: Toolbox, tree: Path, relink: Path | None, *, maps: bool
) -> dict[str, str]:
    """Scripts for linkers, and for what a link starts to generate code: drivers find it in the same directory."""
    names = {"system": recipe.system, "toolchain": recipe.toolchain.name}
    programs = _programs("mkdir", "tar", *(("touch",) if relink else ()))
    chosen = linker(recipe.toolchain.link.linker)
    prefixes_kept = (*SYSTEM_PREFIXES, *_sysroot(toolbox))
    scripts = {
        name: render.linker_wrapper(
            name=name,
            real=str(real),
            records=str(space.records),
            build_root=str(tree),
            temporary=str(space.temporary),
            python=sys.executable,
            expander=str(Path(response_file.__file__).absolute()),
            environment=LINKER_ENVIRONMENT,
            system_prefixes=prefixes_kept,
            relink=str(relink or ""),
            client=str(Path(helper_client.__file__).absolute()),
            **programs,
            **names,
            generates_code=chosen.generates_code and real == toolbox.tools["ld"].path,
            maps=_LONGEST_MAPPED if maps and real == toolbox.tools["ld"].path else 0,
        )
        for name, real in _linkers(toolbox, crosses=recipe.toolchain.machine is not None).items()
    }
    if LTO in toolbox.tools:
        scripts["lto-wrapper"] = render.lto_wrapper(
            name="lto-wrapper", real=str(toolbox.tools[LTO].path), **_programs("cat", "cp", "mkdir", "rm"), **names
        )
    return scripts


def _write_toolexec(space: Workspace, recipe: Recipe, toolbox: Toolbox) -> None:
    """Write what go starts its tools through: its compiler and linker are not called by name."""
    script = render.go_toolexec(
        name=_TOOLEXEC,
        real=str(toolbox.tools["ld"].path),
        system=recipe.system,
        toolchain=recipe.toolchain.name,
        records=str(space.records),
        environment=GO_LINKER_ENVIRONMENT,
        **_programs("mkdir", "tar"),
    )
    with cache_errors("write wrappers in", space.wrappers):
        write_atomically(space.wrappers / _TOOLEXEC, os.fsencode(script), executable=True)


def preparation(space: Workspace, toolbox: Toolbox) -> str:
    """Shell before the user's commands: where go is told what it starts its tools through; "" where it is not.

    -trimpath keeps the private copy's path out of the program, as the compiler wrappers do for C. Flags that the
    user has set for all builds (``go env -w``) stay.
    """
    if not linker(toolbox.toolchain.link.linker).own_objects:
        return ""
    flags = f"-trimpath -toolexec={space.wrappers / _TOOLEXEC}"
    return f'export GOFLAGS="$({shlex.quote(str(toolbox.tools["cc"].path))} env GOFLAGS) {flags}"\n'


def _rust_wrappers(space: Workspace, recipe: Recipe, build_root: str) -> dict[str, str]:
    """Scripts for cargo and rustc."""
    given = recipe.given_flags()
    common = {"system": recipe.system, "toolchain": recipe.toolchain.name}
    environment = {**os.environ, **recipe.build.env, **recipe.options.env}
    scripts = {
        RUSTC: render.rustc_wrapper(
            name=RUSTC,
            real=environment.get("RUSTC_WRAPPER", ""),
            flags=recipe.rust_flags(build_root),
            heard=str(space.heard("rustc")) if "rustc" in given else "",
            levels=_levels(space, recipe, recipe.rust_flags(build_root)),
            **common,
        )
    }
    cargo = shutil.which("cargo")
    if cargo is not None:  # else the build fails, and says so
        scripts["cargo"] = render.cargo_wrapper(
            name="cargo",
            real=cargo,
            messages=str(space.messages),
            features=",".join(recipe.options.features),
            heard=str(space.heard("cargo")) if "cargo" in given else "",
            **common,
        )
    return scripts


def _sysroot(toolbox: Toolbox) -> list[str]:
    """Where rustc keeps its own libraries: as sure as the system's to be there when the build is over."""
    return [f"{toolbox.tools['rustc'].path.parent.parent}/"] if "rustc" in toolbox.tools else []


def _programs(*names: str) -> dict[str, str]:
    return {name: str(find_tool([name], path=search_path(), purpose=_RECORDER)) for name in names}


def _linkers(toolbox: Toolbox, *, crosses: bool) -> dict[str, Path]:
    """The real program behind each linker name: plain "ld" is the toolchain's, and so is the name it goes by.

    A name such as x86_64-linux-gnu-ld, which configure scripts prefer where they are told the host, is what the name
    without the machine is; cross linkers' are left alone, but where the toolchain ``crosses`` to another machine.
    What lies beside clang, where PATH need not lead, it finds by itself.
    """
    chosen = toolbox.tools["ld"].path
    if crosses:
        return dict.fromkeys(("ld", linker(toolbox.toolchain.link.linker).program, chosen.name), chosen)
    compilers = [toolbox.tools[role].path.resolve() for role in ("cc", "cxx") if role in toolbox.tools]
    beside = [str(path.parent) for path in compilers if path.name.startswith("clang")]
    places = os.pathsep.join([search_path(), *beside])
    linkers = {name: Path(path) for name in _LINKERS if (path := shutil.which(name, path=places))}
    machine = {f"{prefix}{name}": name for name in linkers for prefix in prefixes(linkers[name])}
    linkers["ld"] = chosen
    linkers[linker(toolbox.toolchain.link.linker).program] = chosen
    return linkers | {alias: linkers[name] for alias, name in machine.items()}
