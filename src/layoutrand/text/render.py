"""Generated files: jinja2 templates to text. Writes nothing.

An undefined variable is an error rather than an empty string (a wrapper must never come out as ``real=``), and every
value in a shell template passes through ``sh``, which quotes it; tests check that none forgets to.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from layoutrand.text.toml_words import toml_string
from layoutrand.version import __version__

if TYPE_CHECKING:
    import jinja2


@dataclass(frozen=True)
class FileFlags:
    """What is appended where one file is compiled: ``name`` for people, its ``path``, and where it is noted."""

    name: str
    path: str
    flags: Sequence[str]
    heard: str


@dataclass(frozen=True)
class Levels:
    """Files that a wrapper leaves: ``compiled`` where something was, ``optimised`` where any of it was.

    ``is_given``: the flags that it appends say how much is optimised, and what was asked for counts as optimised.
    """

    compiled: str
    optimised: str
    is_given: bool = False


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (files("layoutrand") / "templates" / name).read_text("utf-8")),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - the output is shell and TOML, not HTML; the sh filter quotes
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sh"] = lambda value: shlex.quote(str(value))
    environment.filters["assignment"] = _assignment
    environment.filters["toml"] = toml_string
    environment.filters["comment"] = _comment
    return environment


def _comment(value: object) -> str:
    """One line of a comment, in which neither TOML nor a terminal takes control characters."""
    return re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\x{ord(found[0]):02x}", " ".join(str(value).split()))


def _assignment(name: str) -> str:
    """A shell word that is ``NAME=value`` if the variable is set and ``NAME`` alone if not."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"{name!r} cannot be the name of a shell variable")
    return f'"{name}${{{name}+=}}${{{name}-}}"'


def render(template: str, **values: Any) -> str:
    """The text of the named template; raises jinja2.UndefinedError for a value it lacks."""
    return _environment().get_template(template).render(version=__version__, **values)


def compiler_wrapper(  # noqa: PLR0913 - one argument for each thing baked into the script
    *,
    name: str,
    real: str,
    system: str,
    toolchain: str,
    directory: str,
    path_flag: str,
    compile_flags: Sequence[str],
    link_flags: Sequence[str],
    linker: str = "",
    ccache_path: str = "",
    target: Sequence[str] = (),
    first_flags: Sequence[str] = (),
    calls_driver: bool = False,
    leave_foreign: bool = False,
    heard: str = "",
    levels: Levels | None = None,
    file_flags: Sequence[FileFlags] = (),
    source: str = "",
    tree: str = "",
    profiles: str = "",
) -> str:
    """The script that stands for a compiler driver; ``directory`` holds the linker wrappers.

    ``linker`` is the only one that the build may name by its path, or "" where flags choose it over the build's
    choice; ``ccache_path`` is where a ccache that stands in for the compiler looks for the real one.
    ``target`` stands before whatever the driver is called with, ``first_flags`` before the build's own in compilations
    and links, the other flags behind. What
    ``calls_driver`` is a script that calls another of these names, and its flags reach that one. With
    ``leave_foreign`` a link for which the build names another linker is left as it is; without, it is an error.
    Where ``heard`` is given, a compilation leaves an empty file there, and where ``levels`` are, those. Flags of a file
    stand last. Where the ``tree`` is a copy of the ``source``, profiles in directories of that are read from the copy.
    ``profiles`` is where the names of profiles that are used go, each behind the directory of the compilation.
    """
    return render(
        "cc.sh.j2",
        title=f"{name}: compiler driver",
        name=name,
        real=real,
        system=system,
        toolchain=toolchain,
        directory=directory,
        path_flag=path_flag,
        compile_flags=compile_flags,
        link_flags=link_flags,
        linker=linker,
        ccache_path=ccache_path,
        target=target,
        first_flags=first_flags,
        calls_driver=calls_driver,
        leave_foreign=leave_foreign,
        heard=heard,
        levels=levels,
        file_flags=file_flags,
        source=source,
        tree=tree,
        profiles=profiles,
    )


def linker_wrapper(  # noqa: PLR0913 - one argument for each thing baked into the script
    *,
    name: str,
    real: str,
    system: str,
    toolchain: str,
    records: str,
    build_root: str,
    temporary: str,
    python: str,
    expander: str,
    mkdir: str,
    tar: str,
    environment: Sequence[str],
    system_prefixes: Sequence[str],
    relink: str = "",
    touch: str = "",
    client: str = "",
    generates_code: bool = False,
    maps: int = 0,
) -> str:
    """The script that stands for a linker and records its links under ``records``.

    It keeps the named files that lie in ``build_root`` or ``temporary``, and all others not below ``system_prefixes``.
    With ``relink`` (the path of an order) each link is then laid out in place; ``touch`` and ``client``, the program
    that asks for it, are needed for that alone.
    What ``generates_code`` has options of its own for keeping what link-time optimisation makes. A link of up to
    ``maps`` words is asked for a map, too, for the record.
    """
    return render(
        "ld.sh.j2",
        title=f"{name}: linker",
        name=name,
        real=real,
        system=system,
        toolchain=toolchain,
        records=records,
        build_root=build_root,
        temporary=temporary,
        python=python,
        expander=expander,
        mkdir=mkdir,
        tar=tar,
        environment=environment,
        system_prefixes=system_prefixes,
        relink=relink,
        touch=touch,
        client=client,
        generates_code=generates_code,
        maps=maps,
    )


def go_toolexec(  # noqa: PLR0913 - one argument for each thing baked into the script
    *, name: str, real: str, system: str, toolchain: str, records: str, mkdir: str, tar: str, environment: Sequence[str]
) -> str:
    """The script through which go starts its tools; it records the links of Go's linker under ``records``."""
    return render(
        "go-toolexec.sh.j2",
        title=f"{name}: what go starts its tools through",
        name=name,
        real=real,
        system=system,
        toolchain=toolchain,
        records=records,
        mkdir=mkdir,
        tar=tar,
        environment=environment,
    )


def tool_wrapper(*, name: str, real: str, system: str, toolchain: str) -> str:
    """The script that stands for a tool and changes nothing."""
    return render("tool.sh.j2", title=name, name=name, real=real, system=system, toolchain=toolchain)


def lto_wrapper(  # noqa: PLR0913 - one argument for each thing baked into the script
    *, name: str, real: str, system: str, toolchain: str, cat: str, cp: str, mkdir: str, rm: str
) -> str:
    """The script that stands for gcc's lto-wrapper and, beneath a recorded link, keeps the objects that it made."""
    return render(
        "lto-wrapper.sh.j2",
        title=f"{name}: link-time optimisation",
        name=name,
        real=real,
        system=system,
        toolchain=toolchain,
        cat=cat,
        cp=cp,
        mkdir=mkdir,
        rm=rm,
    )


def rustc_wrapper(
    *,
    name: str,
    real: str,
    system: str,
    toolchain: str,
    flags: Sequence[str],
    heard: str = "",
    levels: Levels | None = None,
) -> str:
    """The script that Cargo calls with rustc and its words, to which it appends ``flags``.

    ``real`` is another such wrapper, which is given all of it, or ""; ``heard`` and ``levels`` are as for
    `compiler_wrapper`.
    """
    return render(
        "rustc.sh.j2",
        title=f"{name}: Rust compiler",
        name=name,
        real=real,
        system=system,
        toolchain=toolchain,
        flags=flags,
        heard=heard,
        levels=levels,
    )


def cargo_wrapper(
    *, name: str, real: str, system: str, toolchain: str, messages: str, features: str = "", heard: str = ""
) -> str:
    """The script that stands for cargo: it adds ``features``, and keeps in files whose names begin with ``messages``
    what cargo says in JSON of what it made.

    Where ``heard`` is given, a command that builds leaves an empty file there.
    """
    return render(
        "cargo.sh.j2",
        title=f"{name}: Rust's build system",
        name=name,
        real=real,
        system=system,
        toolchain=toolchain,
        messages=messages,
        features=features,
        heard=heard,
    )
