"""What may take the effect of layouts away in the user's own build: flags of compilers, and a linker order.

Each comes down to code that lies alike within a line, or a window, wherever a linker puts the function.  Where it is
known which file the function is compiled from, flags for that file alone come first.  What a remedy does to a program
is for measurements to say (`layoutrand.explain.remedy`).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from layoutrand.config.config import System
from layoutrand.config.toolchain import Toolchain
from layoutrand.explain.source_files import SourceFile
from layoutrand.linkers.toolbox import own_name

ALIGNMENT: Final = 64
"""What functions are aligned to, in bytes: a line."""

_ALIGNED: Final = f"-falign-functions={ALIGNMENT}"
_LOOPS: Final = f"-falign-loops={ALIGNMENT}"
_RUST_ALIGNED: Final = "-Cllvm-args=-align-all-functions=6"
_RUST_LOOPS: Final = "-Cllvm-args=-align-loops=64"
_FILE_FLAGS: Final = "file_flags"
SECTIONS: Final = "-ffunction-sections"
_NAMED: Final = 4


@dataclass(frozen=True)
class LinkerOrder:
    """Functions that come ahead of all others: the ``file`` that says so to the linker, and how it is ``told``.

    ``shown`` is the file as people are told of it, ``names`` are the functions for them and ``symbols`` the same for
    linkers, in order.  ``told`` are the linker's words, with ``{}`` for the file.  A system that is to ``keep`` them
    there in its layouts must say so.  Where the link makes the code (``lto``), it must know of sections, too.
    """

    file: str
    shown: str
    names: tuple[str, ...]
    symbols: tuple[str, ...]
    told: tuple[str, ...]
    keep: bool
    lto: bool = False

    def flags(self, file: str) -> str:
        """What a compiler that links is told."""
        word = shlex.quote(f"-Wl,{','.join(self.told).replace('{}', file)}")
        return f"{SECTIONS} {word}" if self.lto else word


@dataclass(frozen=True)
class Remedy:
    """What is added to the flags of a system: ``flags`` in the setting ``key``, and what they do, in words.

    With ``files`` the setting is by file, and these get them.  An ``order`` needs functions in sections of their own.
    """

    name: str
    key: str
    flags: str
    does: str
    files: tuple[SourceFile, ...] = ()
    order: LinkerOrder | None = None

    @property
    def words(self) -> str:
        """The flags, and what they are for if not for all of the program."""
        if self.order is not None:
            n = len(self.order.names)
            return f"a linker order of {n} function{'s' if n > 1 else ''} ({self.order.shown})"
        return f"{self.flags} for {self.for_files}" if self.files else self.flags

    @property
    def for_files(self) -> str:
        """The files that get them."""
        return " and ".join(each.path for each in self.files)

    @property
    def aligned(self) -> tuple[str, ...]:
        """Functions that begin at a line with it, or it has not reached them."""
        return tuple(function for each in self.files for function in each.functions)

    def applied(self, system: System) -> System:
        """The system with it: flags that come last are those that count."""
        return system.model_copy(update={**self._changed(system), "label": None})  # people read that of the system

    def settings(self, system: System) -> dict[str, Any]:
        """What of the system with it is another than without, by key."""
        return {key: getattr(system, key) for key in self._changed(system)}

    def _changed(self, system: System) -> dict[str, Any]:
        """Where C++ or Fortran have flags of their own, they get it as C does."""
        if self.key == _FILE_FLAGS:
            known = system.file_flags
            return {self.key: known | {each.path: _joined(known.get(each.path, ""), self.flags) for each in self.files}}
        if self.order is not None:
            linked = {self.key: _joined(getattr(system, self.key), self.flags)}
            return {**_compiled_with(system, SECTIONS), **linked, **({"ordered": "keep"} if self.order.keep else {})}
        if self.key == "cflags":
            return _compiled_with(system, self.flags)
        return {self.key: _joined(getattr(system, self.key), self.flags)}


def _compiled_with(system: System, flags: str) -> dict[str, Any]:
    """The flags of all compilers with these, too."""
    own = {"cxxflags": system.cxxflags is not None, "fflags": bool(system.fflags)}
    keys = ("cflags", *(key for key, has_own in own.items() if has_own))
    return {key: _joined(getattr(system, key) or "", flags) for key in keys}


_BRANCHES: Final = "no branch crosses or ends at a multiple of 32 bytes, for Intel's JCC erratum"
_FUNCTIONS_DO: Final = "every function begins at a line"
_LOOPS_DO: Final = "every function and every loop begins at a line"


def _compiled(branches: str) -> tuple[Remedy, ...]:
    return (
        Remedy("aligned", "cflags", _ALIGNED, _FUNCTIONS_DO),
        Remedy("aligned-loops", "cflags", f"{_ALIGNED} {_LOOPS}", _LOOPS_DO),
        Remedy("branches-32B", "cflags", branches, _BRANCHES),
    )


_GCC: Final = _compiled("-Wa,-mbranches-within-32B-boundaries")
_CLANG: Final = _compiled("-mbranches-within-32B-boundaries")
"""Its own assembler is told by an option of the driver, and refuses that of GNU's."""

_RUST: Final = (
    Remedy("aligned", "rustflags", _RUST_ALIGNED, _FUNCTIONS_DO),
    Remedy("aligned-loops", "rustflags", f"{_RUST_ALIGNED} {_RUST_LOOPS}", _LOOPS_DO),
    Remedy("branches-32B", "rustflags", "-Cllvm-args=-x86-branches-within-32B-boundaries", _BRANCHES),
)


def remedies_of(toolchain: Toolchain, machine: str) -> tuple[Remedy, ...]:
    """What there is to try with this toolchain for programs of that ``machine`` (as `CapturedLink.machine`).

    Nothing for compilers that have no such flags; for other processors than x86-64 no erratum of Intel's.
    """
    if toolchain.tools.cargo:
        known: tuple[Remedy, ...] = _RUST
    elif not toolchain.compile.section_flags:  # Go's compiler has neither
        return ()
    else:
        known = _CLANG if own_name(Path(toolchain.tools.cc[0])) == "clang" else _GCC
    return tuple(each for each in known if each.does != _BRANCHES or machine == "EM_X86_64")


def remedies_for(files: Sequence[SourceFile]) -> tuple[Remedy, ...]:
    """The same flags for these files alone, of compilers of C, C++ and Fortran."""
    merged: dict[str, SourceFile] = {}
    for each in files:
        known = merged.get(each.path, each)
        merged[each.path] = replace(known, functions=tuple(dict.fromkeys((*known.functions, *each.functions))))
    if not merged:
        return ()
    own = tuple(merged.values())
    return (
        Remedy("file-aligned", _FILE_FLAGS, _ALIGNED, f"{_FUNCTIONS_DO} there", own),
        Remedy("file-aligned-loops", _FILE_FLAGS, f"{_ALIGNED} {_LOOPS}", f"{_LOOPS_DO} there", own),
    )


def ordered_first(order: LinkerOrder) -> Remedy:
    """The remedy that puts functions ahead of all others."""
    several = f"{', '.join(order.names[:_NAMED])}{', ...' if len(order.names) > _NAMED else ''}"
    does = (
        f"the hottest functions ({several}) lie together at the start of the code, at the same addresses in every "
        "layout: what layout adds with it is what the places of all others add"
    )
    return Remedy("ordered", "ldflags", order.flags(order.file), does, order=order)


def _joined(flags: str, more: str) -> str:
    return f"{flags} {more}".strip()
