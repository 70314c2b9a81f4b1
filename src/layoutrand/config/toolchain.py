"""Toolchain files: what is known about a compiler and linker pair, as data.

A file may extend a shipped one and give only the differences.  Users point ``toolchain`` at a file of their own by a
path that contains a slash or ends in ``.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_serializer,
)

from layoutrand.config.layout_policy import Factor
from layoutrand.config.problems import explain
from layoutrand.config.toml_text import parse_table
from layoutrand.errors import ConfigError, FeatureUnsupported
from layoutrand.text.strict_table import STRICT

_VERSION: Final = re.compile(r"\d+(?:\.\d+)+")
_BRACKETS: Final = re.compile(r"\([^)]*\)")


class _Table(BaseModel):  # here and no import, so that the linter sees that defaults are pydantic's to copy
    model_config = STRICT


class Tools(_Table):
    """``[tools]``: names to look up on PATH, tried in order.

    In all but ``cc``, ``{suffix}`` stands for the version that the C compiler was found with: "-19" for clang-19.
    A name that ends in ``{newest}`` stands for all versions that are installed, the newest first.
    The C++ and Fortran compilers may be missing on a machine; ``nm`` and ``ranlib`` are needed only where others
    than the system's must be used, as with LTO objects. With ``rustc`` and ``cargo`` it is rustc that chooses the
    linker, and the other names are those of what it chose.
    """

    cc: Annotated[list[str], Field(min_length=1)]
    cxx: list[str]
    fc: list[str] = []
    ld: Annotated[list[str], Field(min_length=1)]
    ar: list[str]
    nm: list[str] = []
    ranlib: list[str] = []
    rustc: list[str] = []
    cargo: list[str] = []

    @model_serializer(mode="wrap")
    def _without_rust(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Keys of the cache are older than the last two: what has none of them is written as ever."""
        written: dict[str, Any] = handler(self)
        return {role: names for role, names in written.items() if names or role not in ("rustc", "cargo")}


class Compile(_Table):
    """``[compile]``: what the instrumented build adds to each compilation; ``data_flags`` only where data moves.

    ``flags`` belong to the toolchain itself, such as ``-flto``: every build has them, in compilations and in links,
    before its own flags, so that it can switch them off for a file.  ``target`` is what every call of a compiler
    begins with, also one that only assembles or is asked something, such as ``--target=aarch64-linux-gnu``.
    ``block_flags`` are added where blocks move.
    """

    target: list[str] = []
    flags: list[str] = []
    section_flags: list[str]
    data_flags: list[str] = ["-fdata-sections"]
    block_flags: list[str] = []

    @model_serializer(mode="wrap")
    def _without_new(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Keys of the cache are older than the first and the last one: what has none is written as ever."""
        written: dict[str, Any] = handler(self)
        return {name: flags for name, flags in written.items() if flags or name not in ("target", "block_flags")}


class Link(_Table):
    """``[link]``: how the linker is reached, and what it can do; ``since`` has first major versions for factors."""

    driver_flags: list[str]
    linker: str
    separates_classes: bool
    factors: list[Factor]
    since: dict[Factor, int] = {}

    @field_validator("linker")
    @classmethod
    def _known(cls, linker: str, info: ValidationInfo) -> str:
        known = info.context["linkers"] if info.context else [linker]  # what was written here was checked when read
        if linker not in known:
            *some, last = [repr(name) for name in known]
            raise ValueError(f"must be {', '.join(some)} or {last}")
        return linker


Machine = Literal["x86_64", "aarch64", "riscv64"]


class Toolchain(_Table):
    """A whole toolchain file, extensions resolved.

    ``machine`` is the processor that a cross compiler builds for, in the words of ``uname -m``; None for what builds
    for the machine that it runs on.
    """

    name: str
    description: str
    machine: Machine | None = None
    tools: Tools
    compile: Compile
    link: Link

    @model_serializer(mode="wrap")
    def _without_machine(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Keys of the cache are older than cross compilers: what is none is written as ever."""
        written: dict[str, Any] = handler(self)
        return {name: value for name, value in written.items() if value is not None}


def parse(text: str, *, path: str, parent: Callable[[str], str], linkers: Sequence[str]) -> Toolchain:
    """Check a toolchain file's text; ``parent`` gives the text of a shipped toolchain named by ``extends``.

    ``linkers`` are those that can be named.  Raises `ConfigError` with every problem.
    """
    try:
        return Toolchain.model_validate(_merged(text, path, parent, ()), context={"linkers": linkers})
    except ValidationError as error:
        raise ConfigError(path, explain(error, Toolchain)) from error


def _merged(text: str, path: str, parent: Callable[[str], str], chain: tuple[str, ...]) -> dict[str, Any]:
    table = parse_table(text, path)
    base_name = table.pop("extends", None)
    if base_name is None:
        return table
    if not isinstance(base_name, str):
        raise ConfigError(path, [f"extends: must be a string (given: {base_name!r})"])
    longer = (*chain, base_name)
    if base_name in chain:
        raise ConfigError(path, [f"extends: {' extends '.join(longer)}, which is a circle"])
    return _merge(_merged(parent(base_name), base_name, parent, longer), table)


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def require_factors(toolchain: Toolchain, factors: list[str], others: Callable[[], list[Toolchain]]) -> None:
    """Raise `FeatureUnsupported` for a factor the toolchain's linker cannot do, naming the toolchains that can."""
    for factor in factors:
        if factor not in toolchain.link.factors:
            able = _able(factor, toolchain, others())
            raise FeatureUnsupported(f"toolchain {toolchain.name!r} cannot do {factor!r}; {able}")


def require_version(
    toolchain: Toolchain, factors: list[str], version: str, others: Callable[[], list[Toolchain]]
) -> None:
    """Raise `FeatureUnsupported` for a factor that needs a newer linker than the one that calls itself ``version``."""
    for factor, first in toolchain.link.since.items():
        if factor in factors and version_number(version) < (first,):
            able = _able(factor, toolchain, [other for other in others() if factor not in other.link.since])
            raise FeatureUnsupported(
                f"{factor!r} with toolchain {toolchain.name!r} needs version {first} of its linker or later, this is "
                f"{version!r}; of any version {able}"
            )


def _able(factor: str, than: Toolchain, others: list[Toolchain]) -> str:
    able = [other.name for other in others if factor in other.link.factors and other.machine == than.machine]
    if able:
        return f"these can: {', '.join(able)}"
    return f"no toolchain that ships with layoutrand can{f' for {than.machine}' if than.machine else ''}"


def factors_of_version(toolchain: Toolchain, version: str) -> tuple[Factor, ...]:
    """What the toolchain can do with a linker that calls itself ``version``."""
    number, since = version_number(version), toolchain.link.since
    return tuple(factor for factor in toolchain.link.factors if number >= (since.get(factor, 0),))


def version_number(said: str) -> tuple[int, ...]:
    """The version in what a linker says of itself, "Debian LLD 19.1.4" or "GNU ld (...) 2.40"; () if it says none."""
    found = _VERSION.search(_BRACKETS.sub(" ", said))  # who packaged it, and of what, is in brackets
    return tuple(int(part) for part in found[0].split(".")) if found else ()
