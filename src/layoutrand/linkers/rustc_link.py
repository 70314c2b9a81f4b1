"""Which linker rustc links with in a project: asked of cargo and rustc, with a program that needs next to nothing.

rustc has an lld of its own on some systems, and configurations choose others (``linker`` and ``rustflags`` of
``.cargo/config.toml``, RUSTFLAGS, ``-C link-arg=-fuse-ld=mold``). Only cargo and rustc know what comes out of all that.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from typing import Final

from layoutrand.errors import FeatureUnsupported, ToolNotFound
from layoutrand.platform.packages import install
from layoutrand.platform.process import Completed, Runner

_MANIFEST: Final = '[package]\nname = "layoutrand-asks"\nversion = "0.0.0"\nedition = "2018"\n\n[workspace]\n'
_ASKING: Final = """\
#!/bin/sh
case " $* " in
    *" --crate-name layoutrand_asks "*)
        "$1" --print sysroot > {sysroot} || exit 1
        exec "$@" {flags} --print link-args > {line} ;;
esac
exec "$@"
"""
"""Stands between cargo and rustc: has rustc print how it calls the linker."""

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_LINKERS: Final = re.compile(r"(?:rust-)?lld|mold|ld(?:\.[a-z]+)?(?:-[0-9.]+)?")
_BACK_ENDS: Final = {"mold": "mold", "LLD": "lld", "GNU gold": "gold", "GNU ld": "gnu"}
"""What linkers call themselves, and the back end that each has; mold names GNU ld, too."""


@dataclass(frozen=True)
class RustcLink:
    """How rustc links: the compiler ``driver`` that it calls, the ``linker`` behind it, that one's ``back_end``.

    ``rustc`` is the compiler itself, not what may stand before it to choose among several.
    """

    driver: Path | None
    linker: Path
    back_end: str
    rustc: Path


def rustc_link(project: Path, runner: Runner, environment: Mapping[str, str], flags: Sequence[str] = ()) -> RustcLink:
    """How a program of the project is linked, for a user with that ``environment`` and more ``flags`` of rustc.

    Raises `ToolNotFound` where cargo, rustc or the linker is missing or does not work, and `FeatureUnsupported` for a
    linker that cannot be told an order.
    """
    path = environment.get("PATH", os.defpath)
    for program in ("cargo", "rustc"):
        if shutil.which(program, path=path) is None:
            raise ToolNotFound(f"{program} not found on PATH, needed for toolchain 'rust': {install([program])}")
    words, sysroot = _asked(project, runner, environment, flags)
    driver = _found(words[0], path, sysroot, "the linker of rustc")
    if _LINKERS.fullmatch(driver.name):
        linker, driver_or_none = driver, None
    else:
        linker, driver_or_none = _behind(driver, words[1:], runner, environment, sysroot), driver
    said = _run(runner, [str(linker), "--version"], Path("/"), environment).text()
    back_end = next((kind for name, kind in _BACK_ENDS.items() if name in said), None)
    if back_end is None:
        raise FeatureUnsupported(
            f"rustc links with {linker}, which cannot be told an order of functions: have it use ld, lld, gold or mold "
            "(-C link-arg=-fuse-ld=... in the rustflags of .cargo/config.toml, or no choice of a linker at all)"
        )
    own = sysroot / "bin" / "rustc"
    rustc = own if own.is_file() else Path(str(shutil.which("rustc", path=path)))
    return RustcLink(driver_or_none, linker, back_end, rustc)


def _asked(
    project: Path, runner: Runner, environment: Mapping[str, str], flags: Sequence[str]
) -> tuple[list[str], Path]:
    """The words with which rustc links a small program, and its sysroot."""
    with tempfile.TemporaryDirectory(prefix="layoutrand-rust-") as name:
        folder = Path(name)
        asking, line, sysroot = folder / "asking", folder / "line", folder / "sysroot"
        quoted = {"sysroot": shlex.quote(str(sysroot)), "line": shlex.quote(str(line)), "flags": shlex.join(flags)}
        asking.write_text(_ASKING.format(**quoted), "utf-8")
        asking.chmod(0o755)
        (folder / "src").mkdir()
        (folder / "src" / "main.rs").write_text("fn main() {}\n", "ascii")
        (folder / "Cargo.toml").write_text(_MANIFEST, "ascii")
        env = {key: value for key, value in environment.items() if key != "RUSTC_WORKSPACE_WRAPPER"}
        env |= {"RUSTC_WRAPPER": str(asking), "TMPDIR": name}
        command = ["cargo", "build", "--quiet", "--offline", "--manifest-path", str(folder / "Cargo.toml")]
        done = _run(runner, [*command, "--target-dir", str(folder / "target")], project, env)
        words = link_words(line.read_text("utf-8", "surrogateescape")) if line.is_file() else []
        if not words:
            raise ToolNotFound(
                "cargo and rustc do not build an empty program here, so their linker cannot be found out; they say:\n"
                f"{done.text().strip()[-2000:]}"
            )
        return words, Path(sysroot.read_text("utf-8", "surrogateescape").rstrip("\n"))


def link_words(printed: str) -> list[str]:
    """The words of the last command that rustc printed, program first; [] if it is none."""
    try:
        words = shlex.split(printed.rstrip("\n").rpartition("\n")[2])
    except ValueError:
        return []
    return list(dropwhile(_ASSIGNMENT.match, words))


def _behind(driver: Path, words: Sequence[str], runner: Runner, environment: Mapping[str, str], sysroot: Path) -> Path:
    """The linker that a compiler driver calls when given these words."""
    chosen = ""
    places: list[str] = []
    following = ""
    for word in words:
        if following == "-B":
            places.append(f"-B{word}")
        following = word
        if word.startswith("-B") and len(word) > len("-B"):
            places.append(word)
        elif word.startswith(("-fuse-ld=", "--ld-path=")):
            chosen = word.partition("=")[2]
    name = chosen if "/" in chosen else f"ld.{chosen}" if chosen else "ld"
    said = _run(runner, [str(driver), *places, f"-print-prog-name={name}"], Path("/"), environment)
    found = os.fsdecode(said.stdout.strip(b"\n"))
    path = environment.get("PATH", os.defpath)
    return _found(found if os.path.isabs(found) else name, path, sysroot, "the linker of rustc")


def _found(program: str, path: str, sysroot: Path, purpose: str) -> Path:
    """A program by the name by which rustc calls it: what it brings along comes first."""
    own = os.pathsep.join(str(folder) for folder in sorted(sysroot.glob("lib/rustlib/*/bin")))
    found = shutil.which(program, path=f"{own}{os.pathsep}{path}" if own else path)
    if found is None:
        raise ToolNotFound(f"{program} not found on PATH, needed as {purpose}: {install([program])}")
    return Path(found)


def _run(runner: Runner, argv: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Completed:
    return runner.run(argv, cwd=folder, env={**environment, "LC_ALL": "C"})
