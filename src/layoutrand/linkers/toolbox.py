"""Find a toolchain's programs on this machine, and load toolchain files."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import threading
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from layoutrand.config import toolchain as toolchains
from layoutrand.config.build_recipe import rust_toolchain
from layoutrand.config.config import Config
from layoutrand.config.problems import suggest
from layoutrand.config.toolchain import Toolchain
from layoutrand.errors import FeatureUnsupported, ToolNotFound, UsageError
from layoutrand.linkers import known
from layoutrand.platform.disk import sha256_file
from layoutrand.platform.process import Runner, SubprocessRunner, find_tool
from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

if TYPE_CHECKING:
    from layoutrand.linkers.rustc_link import RustcLink

_ROLES = {
    "cc": "the C compiler",
    "cxx": "the C++ compiler",
    "fc": "the Fortran compiler",
    "rustc": "the Rust compiler",
    "cargo": "Rust's build system",
    "ld": "the linker",
    "ar": "the archiver",
    "nm": "the lister of symbols",
    "ranlib": "the archive indexer",
}
_IS_GO = "the Go command"
_OPTIONAL = ("cxx", "fc")
_TOOL_DIRECTORY = "{tooldir}"
_NEWEST = "{newest}"
_VERSION_WORDS = {"go": "version", "link": "-V"}
"""What programs that know no ``--version`` are asked."""

_TABLES = {"gnu": "gcc", "lld": "gcc-lld", "gold": "gcc-gold", "mold": "gcc-mold"}
"""Toolchains that say what each back end can do."""

_VERSION = re.compile(r"-[0-9.]+$")
_OF_A_VERSION = re.compile(r"(.+)-([0-9]+(?:\.[0-9]+)*)")
HAVE_VERSIONS = ("gcc", "clang")
"""Compilers of which several versions are installed side by side, as gcc-12 and gcc-13."""
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

    def in_short(self) -> str:
        """Compiler and linker with their versions: ``clang-19 19.1.7, ld.lld-19 19.1.7``."""
        return ", ".join(f"{tool.path.name} {_number(tool.version)}".strip() for tool in self._main())

    def _main(self) -> list[Tool]:
        return [self.tools[role] for role in ("rustc", "cc", "ld") if role in self.tools]

    def facts(self) -> dict[str, dict[str, str]]:
        """Path, version and hash of each program, for keys and records."""
        return {
            role: {"path": str(tool.path), "version": tool.version, "sha256": tool.sha256}
            for role, tool in self.tools.items()
        }


def _number(said: str) -> str:
    return ".".join(map(str, toolchains.version_number(said)))


def shipped() -> list[str]:
    """Names of the toolchain files that come with layoutrand."""
    folder = files("layoutrand") / "toolchains"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


@dataclass(frozen=True)
class Surroundings:
    """What has a say in how a system's build links beside its toolchain: variables, flags of rustc, and where it is.

    ``source`` is relative to the project.
    """

    source: str = "."
    variables: Mapping[str, str] = field(default_factory=dict)
    rustflags: str = ""

    @staticmethod
    def of(config: Config, system: str) -> Surroundings:
        """Those of a configured system."""
        options = config.systems[system]
        variables = {**config.build.env, **options.env}
        if named := rust_toolchain(config.build.commands):
            variables["RUSTUP_TOOLCHAIN"] = named  # which is what rustup makes of it
        return Surroundings(config.build.source, variables, options.rustflags)


ORDINARY = Surroundings()


def builds_for(toolchain: Toolchain) -> str:
    """The machine that the toolchain builds for, in the words of ``uname -m``."""
    return toolchain.machine or os.uname().machine


def load(name: str, project: Path, around: Surroundings = ORDINARY) -> Toolchain:
    """The toolchain as `declared`; of one for Rust, with the linker that rustc uses in these surroundings.

    Raises as `declared` and `rustc_link` do, but for a machine without cargo: `find` says what is missing.
    """
    toolchain = declared(name, project)
    if not toolchain.tools.rustc or not all(shutil.which(name) for name in ("rustc", "cargo")):
        return toolchain
    place = (project / around.source).absolute()
    environment = {**os.environ, **around.variables}
    return _resolved(
        toolchain,
        project,
        _asked_once(
            place if place.is_dir() else project.absolute(), tuple(sorted(environment.items())), around.rustflags
        ),
    )


def _resolved(toolchain: Toolchain, project: Path, link: RustcLink) -> Toolchain:
    """The toolchain with the programs that rustc uses, and with what their linker can do."""
    of_linker = declared(_TABLES[link.back_end], project)
    tools = {"ld": [str(link.linker)], "rustc": [str(link.rustc)]}
    if link.driver is not None and own_name(link.driver).endswith("clang"):
        clang = declared("clang", project).tools
        tools |= {"cc": [_plainly(link.driver)], "cxx": clang.cxx}
    elif link.driver is not None and not _is_called(toolchain.tools.cc, link.driver):
        tools |= {"cc": [_plainly(link.driver)]}
    return toolchain.model_copy(
        update={
            "tools": toolchain.tools.model_copy(update=tools),
            "link": of_linker.link.model_copy(update={"driver_flags": toolchain.link.driver_flags}),
        }
    )


@lru_cache(maxsize=16)
def _asked_once(place: Path, environment: tuple[tuple[str, str], ...], flags: str) -> RustcLink:
    from layoutrand.linkers.rustc_link import rustc_link  # here: what builds no Rust does without

    return rustc_link(place, SubprocessRunner(), dict(environment), shlex.split(flags))


def _is_called(names: Sequence[str], program: Path) -> bool:
    """Whether one of the names leads to the program."""
    found = [path for name in names if (path := shutil.which(name))]
    return any(os.path.samefile(path, program) for path in found)


def _plainly(program: Path) -> str:
    """Its name where that leads to it, else its path."""
    return program.name if _is_called([program.name], program) else str(program)


def own_name(program: Path) -> str:
    """The program's name without a version: "clang" for clang-19."""
    return _VERSION.sub("", program.name)


def declared(name: str, project: Path) -> Toolchain:
    """The toolchain called ``name``, or in the file ``name`` (relative to the project) if it looks like a path.

    ``clang-lld-19`` is clang-lld with clang-19, and with the programs of that version beside it.
    """
    if "/" in name or name.endswith(".toml"):
        path = project / name
        try:
            text = text_of_regular(path, largest=WRITTEN_BY_HAND)
        except OSError as error:
            raise UsageError(f"toolchain file {path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"toolchain file {path}: is not UTF-8 text (byte {error.start})") from error
        return toolchains.parse(text, path=str(path), parent=_shipped_text, linkers=known.names())
    numbered = _OF_A_VERSION.fullmatch(name)
    if numbered is not None and name not in shipped() and numbered[1] in shipped():
        return _of_version(declared(numbered[1], project), name, numbered[2])
    return toolchains.parse(
        _shipped_text(name), path=f"toolchains/{name}.toml", parent=_shipped_text, linkers=known.names()
    )


def _of_version(toolchain: Toolchain, name: str, version: str) -> Toolchain:
    """The toolchain with compilers of this version alone; raises `UsageError` for one whose compilers have none."""
    tools = toolchain.tools
    if tools.cc[0] not in HAVE_VERSIONS or tools.rustc:
        raise UsageError(
            f"no toolchain called {name!r}: a version can be named of {' and '.join(HAVE_VERSIONS)}, as in clang-19; "
            f"toolchain {toolchain.name!r} takes what is on PATH"
        )
    own = {
        "cc": [f"{tools.cc[0]}-{version}"],
        "cxx": [f"{each.removesuffix('{suffix}')}-{version}" for each in tools.cxx],
        # Another project's than clang: no version of it belongs to one of that.
        "fc": [f"{each}-{version}" for each in tools.fc] if tools.cc[0] == "gcc" else tools.fc,
    }
    return toolchain.model_copy(update={"name": name, "tools": tools.model_copy(update=own)})


def installed_versions(toolchain: Toolchain) -> list[str]:
    """Names of the toolchains that are this one with a version of its compiler that is on PATH, in rising order."""
    tools = toolchain.tools
    if tools.cc[0] not in HAVE_VERSIONS or tools.rustc or _OF_A_VERSION.fullmatch(toolchain.name):
        return []
    return [f"{toolchain.name}-{version}" for version in versions_of(tools.cc[0])]


def versions_of(program: str) -> list[str]:
    """Versions of a program that are on PATH under names such as clang-19, in rising order."""
    found: set[tuple[int, ...]] = set()
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        try:
            names = os.listdir(folder or ".")
        except OSError:  # no such directory, or not for this user: nothing is found there
            continue
        for each in names:
            of = _OF_A_VERSION.fullmatch(each)
            if of is not None and of[1] == program and os.access(os.path.join(folder, each), os.X_OK):
                found.add(tuple(map(int, of[2].split("."))))
    return [".".join(map(str, version)) for version in sorted(found)]


def installed_linkers(chains: Sequence[Toolchain]) -> list[str]:
    """Names of the linkers that one of the toolchains could take, with every version that is installed."""
    names = dict.fromkeys(name for chain in chains if chain.machine is None for name in chain.tools.ld)
    plain = [name for name in names if "{" not in name]
    found = [each for name in plain for each in (name, *(f"{name}-{version}" for version in versions_of(name)))]
    there: dict[str, str] = {}  # one file may have several names
    for each in found:
        if path := shutil.which(each):
            there.setdefault(os.path.realpath(path), each)
    return list(there.values())


def _spelled(names: Sequence[str], suffix: str) -> list[str]:
    """Names to look up, with the compiler's version for ``{suffix}`` and each installed version for ``{newest}``."""
    spelled: list[str] = []
    for name in names:
        plain = name.removesuffix(_NEWEST)
        if plain == name:
            spelled.append(name.replace("{suffix}", suffix))
        else:
            spelled += [f"{plain}-{version}" for version in reversed(versions_of(plain))]
    return spelled


def _shipped_text(name: str) -> str:
    there = shipped()
    if name not in there:
        raise UsageError(f"no toolchain called {name!r}; there are {', '.join(there)}{suggest(name, there)}")
    return (files("layoutrand") / "toolchains" / f"{name}.toml").read_text("utf-8")


def prepare(
    name: str, project: Path, factors: Sequence[str], runner: Runner, around: Surroundings = ORDINARY
) -> Toolbox:
    """The toolchain called ``name`` with its programs, which can do the ``factors``.

    Raises as `load` and `find` do, and `FeatureUnsupported` for a factor that they cannot do.
    """
    toolchain = load(name, project, around)

    def others() -> list[Toolchain]:
        return [declared(other, project) for other in shipped()]

    toolchains.require_factors(toolchain, list(factors), others)
    toolbox = find(toolchain, runner)
    ld = toolbox.tools["ld"].version
    if why := known.linker(toolchain.link.linker).refusal(toolchains.version_number(ld), ld):
        raise FeatureUnsupported(why)
    toolchains.require_version(toolchain, list(factors), toolbox.tools["ld"].version, others)
    return toolbox


class Toolboxes:
    """Those of one call of layoutrand, each looked for once, from several threads."""

    def __init__(self, project: Path, runner: Runner) -> None:
        """Nothing has been looked for yet."""
        self._project, self._runner = project, runner
        self._lock = threading.Lock()
        self._found: dict[Hashable, Toolbox] = {}

    def prepare(self, config: Config, system: str) -> Toolbox:
        """That of a system, which can do what the layouts need; raises as `prepare` does."""
        name, factors = config.systems[system].toolchain, config.layout.captured()
        around = Surroundings.of(config, system)
        key = (name, tuple(factors), around.source, tuple(sorted(around.variables.items())), around.rustflags)
        with self._lock:
            if key not in self._found:
                self._found[key] = prepare(name, self._project, factors, self._runner, around)
            return self._found[key]


def find(toolchain: Toolchain, runner: Runner) -> Toolbox:
    """Look up the toolchain's programs on PATH; raises `ToolNotFound` for the first that is missing.

    C++ and Fortran compilers may be missing: C programs do without.
    """
    search = os.environ.get("PATH", os.defpath)
    tools: dict[str, Tool] = {}
    for role, named in _ROLES.items():
        purpose = _IS_GO if (role, toolchain.link.linker) == ("cc", "go") else named
        suffix = _version_suffix(tools["cc"].path) if tools else ""
        names = _spelled(getattr(toolchain.tools, role), suffix)
        if any(_TOOL_DIRECTORY in name for name in names):
            said = runner.run([str(tools["cc"].path), "env", "GOTOOLDIR"], cwd=Path("/"), env=dict(os.environ))
            directory = said.stdout.decode("utf-8", "surrogateescape").strip()
            names = [name.replace(_TOOL_DIRECTORY, directory) for name in names]
        if not names or (role in _OPTIONAL and not any(shutil.which(name, path=search) for name in names)):
            continue
        try:
            path = find_tool(names, path=search, purpose=f"{purpose} of toolchain {toolchain.name!r}")
        except ToolNotFound as error:
            if not (others := _other_versions(toolchain)) or role != "cc":
                raise
            there = "there is" if len(others) == 1 else "there are"
            raise ToolNotFound(f"{error}. Of this one {there} {', '.join(others)}") from error
        env = {"PATH": search, "LC_ALL": "C"}
        said = runner.run([str(path), _VERSION_WORDS.get(path.name, "--version")], cwd=Path("/"), env=env)
        lines = (said.stdout or said.stderr).decode("utf-8", "backslashreplace").splitlines()
        tools[role] = Tool(path, lines[0] if lines else "", sha256_file(path))
    return Toolbox(toolchain, tools | _lto_wrapper(tools["cc"], runner))


def _other_versions(toolchain: Toolchain) -> list[str]:
    """Names of the toolchains that are this one with another version of its compiler, which is installed."""
    if toolchain.name in shipped():
        return installed_versions(toolchain)
    numbered = _OF_A_VERSION.fullmatch(toolchain.name)
    if numbered is None or numbered[1] not in shipped():
        return []
    return installed_versions(declared(numbered[1], Path()))


def missing(toolchain: Toolchain) -> list[str]:
    """The programs that `find` would not find, each by the first of its names; C++ and Fortran compilers aside."""
    search = os.environ.get("PATH", os.defpath)
    found, suffix = [], ""
    for role in _ROLES:
        if role == "ld" and toolchain.tools.rustc:
            continue  # rustc has or finds one, and `load` asks it
        names = _spelled(getattr(toolchain.tools, role), suffix)
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
