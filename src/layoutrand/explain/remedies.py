"""What may take the effect of layouts away in the user's own build: flags of compilers, tried in this order.

Each comes down to code that lies alike within a line, or a window, wherever a linker puts the function.  Where it is
known which file the function is compiled from, flags for that file alone come first.  What a remedy does to a program
is for measurements to say (`layoutrand.explain.remedy`).
"""

from __future__ import annotations

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


@dataclass(frozen=True)
class Remedy:
    """What is added to the flags of a system: ``flags`` in the setting ``key``, and what they do, in words.

    With ``files`` the setting is by file, and these get them.
    """

    name: str
    key: str
    flags: str
    does: str
    files: tuple[SourceFile, ...] = ()

    @property
    def words(self) -> str:
        """The flags, and what they are for if not for all of the program."""
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
        own = {"cxxflags": system.cxxflags is not None, "fflags": bool(system.fflags)} if self.key == "cflags" else {}
        keys = (self.key, *(key for key, has_own in own.items() if has_own))
        return {key: _joined(getattr(system, key) or "", self.flags) for key in keys}


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


def remedies_of(toolchain: Toolchain) -> tuple[Remedy, ...]:
    """What there is to try with this toolchain; nothing for compilers that have no such flags."""
    if toolchain.tools.cargo:
        return _RUST
    if not toolchain.compile.section_flags:  # Go's compiler has neither
        return ()
    return _CLANG if own_name(Path(toolchain.tools.cc[0])) == "clang" else _GCC


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


def _joined(flags: str, more: str) -> str:
    return f"{flags} {more}".strip()
