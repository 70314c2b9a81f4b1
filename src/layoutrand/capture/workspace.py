"""Directories to build in, and the wrappers written into them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from layoutrand.cache.store import Cache
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
from layoutrand.platform.disk import cache_errors, remove_tree, sha256_bytes, write_atomically
from layoutrand.platform.orphans import end_processes, is_at_work, was_given
from layoutrand.platform.process import find_tool
from layoutrand.text import render
from layoutrand.text.render import FileFlags

# Makefiles do not quote: a directory we choose must need no quoting.
_SAFE = re.compile(r"[A-Za-z0-9/._+-]+")
_NAME = re.compile(r"b[0-9a-f]{8}-[0-9]{7,}-[A-Za-z0-9_]{8}")
_KERNEL = "kernel"
_WHILE_S = 60.0  # between making a directory and saying whose it is pass microseconds
_TOOLEXEC = "go-toolexec"
RUSTC = "layoutrand-rustc"
"""The wrapper that cargo is told of; others would call rustc past it."""

_RECORDER = "a tool of the linker wrapper"
_LINKERS = ("ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold")
_LONGEST_MAPPED = 400
"""Words of a link line: the map of a large program takes long to write."""


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

    @property
    def messages(self) -> Path:
        """How files with what cargo said begin: beside them stand those that it said with."""
        return self.base / "rec" / "cargo"

    @property
    def links(self) -> Path:
        """Where cross compilers find the linker wrappers: not on PATH, where the host's compilers look for theirs."""
        return self.base / "bin" / "links"

    def heard(self, kind: str) -> Path:
        """What the wrappers of a kind (`Recipe.given_flags`) leave once they have passed flags on."""
        return self.base / "rec" / f"heard-{kind}"

    def heard_of(self, path: str) -> Path:
        """The same of flags that are for this file of the source alone."""
        return self.heard(f"file-{sha256_bytes(os.fsencode(path))[:32]}")


@contextmanager
def workspace(cache: Cache, key: str, *, keep: bool = False, at: Path | None = None) -> Iterator[Workspace]:
    """A fresh workspace, removed at the end; with ``at`` an empty one where an earlier one was (`could_be_at`).

    It lies in the cache, or in the system's temporary directory where the cache's path has characters that
    makefiles would have to quote. The path has the same length for every build, so that nothing that embeds it
    shifts.
    """
    root = _root(cache)
    with cache_errors("make a directory to build in below", root):
        # The process number tells `cache gc` that this one is in use.
        base = at or Path(tempfile.mkdtemp(prefix=f"b{key[:8]}-{os.getpid():07d}-", dir=root))
        if at is not None:
            if os.path.lexists(at):  # of a killed layoutrand: nobody else may put anything there
                remove_tree(at)
            at.mkdir(0o700)
    space = Workspace(base)
    holder = _hold(base)
    try:
        with cache_errors("make", base):
            (base / _KERNEL).write_text(_kernel(), "utf-8")
            for path in (space.wrappers, space.temporary, space.records) if at is None else ():
                path.mkdir()
        yield space
    except BaseException:  # nothing of a build that did not succeed runs on, also what has left its process group
        _end_processes_of([space])
        raise
    finally:
        if not keep:
            _remove(base)
        if holder is not None:
            os.close(holder)


def could_be_at(cache: Cache, base: Path) -> bool:
    """Whether the path is one that a workspace in this cache may have had."""
    return base.parent == _root(cache) and _NAME.fullmatch(base.name) is not None


def end_abandoned_builds(cache: Cache) -> int:
    """End what builds of killed layoutrands left running, and remove their directories; how many processes there were.

    ``kill -9`` of layoutrand leaves the user's make running, which would disturb what is measured meanwhile, or write
    into a tree in which the next build works.  Its processes are those that have a killed build's TMPDIR.
    """
    with cache_errors("look for abandoned builds in", cache.root):
        places = [Workspace(base) for base in _root(cache).glob("b????????-*-*") if _is_abandoned(base)]
    if not places:
        return 0
    ended = _end_processes_of(places)
    for place in places:
        with cache_errors("remove", place.base):
            _remove(place.base)
    return ended


def _remove(base: Path) -> None:
    """Remove the directory of a build, last of all what tells that it is one: what a kill leaves can be told, too."""
    with contextlib.suppress(FileNotFoundError):  # another layoutrand removes it, too
        base.chmod(0o700)
        for path in base.iterdir():
            if path.is_dir() and not path.is_symlink():
                remove_tree(path)
            elif path.name != _KERNEL:
                path.unlink(missing_ok=True)
    remove_tree(base)


def _end_processes_of(places: Sequence[Workspace]) -> int:
    """End every process of builds in these places; how many there were."""
    markers = {b"TMPDIR=" + os.fsencode(place.temporary) for place in places}
    return end_processes(lambda entry: was_given(entry, markers))


def _root(cache: Cache) -> Path:
    """Where the directories to build in are."""
    root = (cache.root / "work").resolve()  # the wrappers see physical paths
    if not _SAFE.fullmatch(str(root)):
        temporary = Path(tempfile.gettempdir()).resolve()
        root = temporary if _SAFE.fullmatch(str(temporary)) else Path("/tmp").resolve()  # noqa: S108
    return root


def _hold(base: Path) -> int | None:
    """A descriptor whose lock says that the directory's owner lives; None where the file system has no such locks."""
    with contextlib.suppress(OSError):
        descriptor = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_uid != os.geteuid():
                raise PermissionError(errno.EPERM, "another user's directory", str(base))
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor
    return None


def _kernel() -> str:
    """What names this running kernel, for all containers of a machine alike and until the next boot; "" if unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("utf-8")
    except OSError:
        return ""


def _is_abandoned(base: Path) -> bool:
    """Whether the owner is certainly gone: it ran under this kernel, no process has its number, nobody holds the lock.

    The number alone would not do, since containers that share a cache number their processes alike; nor would the
    lock, which on a network file system may be known to one host only.
    """
    number = base.name.split("-")[1]
    if not number.isdigit() or is_at_work(int(number)):
        return False
    try:
        if not _is_empty(base) and (base / _KERNEL).read_text("utf-8") != (_kernel() or None):
            return False
    except (OSError, UnicodeDecodeError):
        return False
    holder = _hold(base)
    if holder is not None:
        os.close(holder)
    return holder is not None


def _is_empty(base: Path) -> bool:
    """Whether nothing is in the directory, and has not been for a while: all but itself was removed, or never made."""
    return base.is_dir() and not any(base.iterdir()) and base.stat().st_mtime < time.time() - _WHILE_S


def write_wrappers(
    space: Workspace,
    recipe: Recipe,
    toolbox: Toolbox,
    *,
    tree: Path,
    relink: Path | None = None,
    leave_foreign: bool = False,
    maps: bool = False,
) -> None:
    """Write a wrapper for every compiler driver, linker and archiver that the build may call by name.

    ``tree`` is where the build happens; with ``relink`` the linker wrappers lay out what they link. With
    ``leave_foreign`` links by a linker that the build names by its path are left alone, and else they fail. With
    ``maps`` the linker writes its map into the record of a link, too.
    """
    if linker(recipe.toolchain.link.linker).own_objects:
        _write_toolexec(space, recipe, toolbox)
        return
    build_root = str(tree)
    given = recipe.given_flags()
    common = {"system": recipe.system, "toolchain": recipe.toolchain.name}
    scripts: dict[str, str] = {}
    crosses = recipe.toolchain.machine is not None
    links = space.links if crosses else space.wrappers
    for role in [role for role in DRIVERS if role in toolbox.tools]:
        for name, real in drivers(role, toolbox.tools[role].path, crosses=crosses).items():
            scripts[name] = render.compiler_wrapper(
                name=name,
                real=str(real),
                directory=str(links),
                path_flag=recipe.path_flag(build_root),
                link_flags=recipe.link_flags(),
                compile_flags=recipe.compile_flags(build_root, role),
                target=recipe.toolchain.compile.target,
                first_flags=recipe.toolchain.compile.flags,
                linker="" if recipe.toolchain.link.driver_flags else str(toolbox.tools["ld"].path),
                ccache_path=os.environ.get("CCACHE_PATH") or search_path(),
                calls_driver=name in POSIX,
                leave_foreign=leave_foreign,
                heard=str(space.heard("compiler")) if "compiler" in given else "",
                file_flags=[
                    FileFlags(path, str(tree / path), flags, str(space.heard_of(path)))
                    for path, flags in recipe.file_flags()
                ],
                **common,
            )
    if recipe.toolchain.tools.rustc or {"rustc", "cargo"} & set(given):
        scripts |= _rust_wrappers(space, recipe, build_root)
    programs = _programs("mkdir", "tar", *(("touch",) if relink else ()))
    chosen = linker(recipe.toolchain.link.linker)
    prefixes_kept = (*SYSTEM_PREFIXES, *_sysroot(toolbox))
    linkers: dict[str, str] = {}
    for name, real_linker in _linkers(toolbox, crosses=crosses).items():
        linkers[name] = render.linker_wrapper(
            name=name,
            real=str(real_linker),
            records=str(space.records),
            build_root=build_root,
            temporary=str(space.temporary),
            python=sys.executable,
            expander=str(Path(response_file.__file__).absolute()),
            environment=LINKER_ENVIRONMENT,
            system_prefixes=prefixes_kept,
            relink=str(relink or ""),
            client=str(Path(helper_client.__file__).absolute()),
            **programs,
            **common,
            generates_code=chosen.generates_code and real_linker == toolbox.tools["ld"].path,
            maps=_LONGEST_MAPPED if maps and real_linker == toolbox.tools["ld"].path else 0,
        )
    if LTO in toolbox.tools:  # found by the compiler driver through -B, like the linkers
        linkers["lto-wrapper"] = render.lto_wrapper(
            name="lto-wrapper", real=str(toolbox.tools[LTO].path), **_programs("cat", "cp", "mkdir", "rm"), **common
        )
    for name, real_tool in plain_tools(toolbox.tools, crosses=crosses).items():
        scripts[name] = render.tool_wrapper(name=name, real=str(real_tool), **common)
    if crosses:  # a name such as aarch64-linux-gnu-ld is nobody else's
        scripts |= {name: text for name, text in linkers.items() if name == toolbox.tools["ld"].path.name}
    with cache_errors("write wrappers in", space.wrappers):
        links.mkdir(exist_ok=True)
        for folder, texts in ((space.wrappers, scripts), (links, linkers)):
            for name, text in texts.items():
                write_atomically(folder / name, os.fsencode(text), executable=True)


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
    """
    chosen = toolbox.tools["ld"].path
    if crosses:
        return dict.fromkeys(("ld", linker(toolbox.toolchain.link.linker).program, chosen.name), chosen)
    linkers = {name: Path(path) for name in _LINKERS if (path := shutil.which(name))}
    machine = {f"{prefix}{name}": name for name in linkers for prefix in prefixes(linkers[name])}
    linkers["ld"] = chosen
    linkers[linker(toolbox.toolchain.link.linker).program] = chosen
    return linkers | {alias: linkers[name] for alias, name in machine.items()}
