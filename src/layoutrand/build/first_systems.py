"""The systems that a new project begins with, and what may stand beside them, in words that reach its compilers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from layoutrand.build.first_build import Learned
from layoutrand.config.config import System


def systems_to_compare(toolchain: str, *, is_rust: bool) -> dict[str, System]:
    """The two systems that a new project begins with: -O2 and -O3, in the words of its compiler.

    Go's has no such levels: there it is for which processors it compiles.
    """
    if toolchain == "go":
        return {level: System(toolchain=toolchain, env={"GOAMD64": level}) for level in ("v1", "v3")}
    if is_rust:
        return {f"O{level}": System(toolchain=toolchain, profile={"opt-level": level}) for level in (2, 3)}
    return {f"O{level}": System(toolchain=toolchain, cflags=f"-O{level}") for level in "23"}


def with_fortran(systems: Mapping[str, System], *, is_alone: bool) -> dict[str, System]:
    """The same systems with the flags of C for Fortran, too, or for it alone where nothing else is compiled."""
    return {
        name: system.model_copy(update={"fflags": system.cflags, "cflags": "" if is_alone else system.cflags})
        for name, system in systems.items()
    }


@dataclass(frozen=True)
class Example:
    """Lines of TOML that compare two systems of a build: a table of its own for one, and both as [matrix] has them.

    ``variable`` is what build.commands have to hand to the compiler first, "" where the flags get there by themselves.
    """

    name: str
    lines: tuple[str, ...]
    flags: str
    variable: str = ""


_FOR_C: Final = Example("O3", ('cflags = "-O3"',), 'O2 = "-O2", O3 = { cflags = "-O3", ldflags = "-Wl,-O1" }')
_FOR_FORTRAN: Final = Example(
    "O3",
    (*_FOR_C.lines, 'fflags = "-O3"'),
    ", ".join(f'O{level} = {{ cflags = "-O{level}", fflags = "-O{level}" }}' for level in "23"),
)
_FOR_FORTRAN_ALONE: Final = Example(
    "O3", ('fflags = "-O3"',), ", ".join(f'O{level} = {{ fflags = "-O{level}" }}' for level in "23")
)
_FOR_CARGO: Final = Example(
    "O2",
    ("profile = { opt-level = 2 }",),
    ", ".join(f"O{level} = {{ profile = {{ opt-level = {level} }} }}" for level in "23"),
)
_FOR_GO: Final = Example(
    "v3",
    ('env = { GOAMD64 = "v3" }',),
    ", ".join(f'v{level} = {{ env = {{ GOAMD64 = "v{level}" }} }}' for level in "13"),
)
_BY_VARIABLE: Final = Example(
    "O3",
    ('env = { OPT = "-O3" }',),
    ", ".join(f'O{level} = {{ env = {{ OPT = "-O{level}" }} }}' for level in "23"),
    variable="OPT",
)


def example_of(learned: Learned, systems: Mapping[str, System]) -> Example:
    """What may stand beside the first of the systems, in words that reach the compilers of its build."""
    if learned.toolchain == "go":
        return _FOR_GO
    if learned.toolchain == "rust":
        return _FOR_CARGO
    if not learned.takes_flags:
        return _BY_VARIABLE
    if any(system.fflags and not system.cflags for system in systems.values()):
        return _FOR_FORTRAN_ALONE
    return _FOR_FORTRAN if learned.has_fortran else _FOR_C


AS_IT_IS: Final[Mapping[str, System]] = {"plain": System()}
"""The one system of a new project whose compilers take no flags that layoutrand can hand them, as OCaml's."""
