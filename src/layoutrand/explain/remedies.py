"""What may take the effect of layouts away in the user's own build: flags of compilers, tried in this order.

Each comes down to code that lies alike within a line, or a window, wherever a linker puts the function.  What it does
to a program is for measurements to say (`layoutrand.explain.remedy`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from layoutrand.config.config import System
from layoutrand.config.toolchain import Toolchain
from layoutrand.linkers.toolbox import own_name

_ALIGNED: Final = "-falign-functions=64"
_LOOPS: Final = "-falign-loops=64"
_RUST_ALIGNED: Final = "-Cllvm-args=-align-all-functions=6"
_RUST_LOOPS: Final = "-Cllvm-args=-align-loops=64"


@dataclass(frozen=True)
class Remedy:
    """What is added to the flags of a system: ``flags`` in the setting ``key``, and what they do, in words."""

    name: str
    key: str
    flags: str
    does: str

    def applied(self, system: System) -> System:
        """The system with it: flags that come last are those that count."""
        changed = {key: _joined(getattr(system, key) or "", self.flags) for key in self._keys(system)}
        return system.model_copy(update={**changed, "label": None})  # people read that of the system as it is

    def _keys(self, system: System) -> tuple[str, ...]:
        """Where C++ or Fortran have flags of their own, they get it as C does."""
        if self.key != "cflags":
            return (self.key,)
        own = {"cxxflags": system.cxxflags is not None, "fflags": bool(system.fflags)}
        return ("cflags", *(key for key, has_own in own.items() if has_own))


_BRANCHES: Final = "no branch crosses or ends at a multiple of 32 bytes, for Intel's JCC erratum"


def _compiled(branches: str) -> tuple[Remedy, ...]:
    return (
        Remedy("aligned", "cflags", _ALIGNED, "every function begins at a line"),
        Remedy("aligned-loops", "cflags", f"{_ALIGNED} {_LOOPS}", "every function and every loop begins at a line"),
        Remedy("branches-32B", "cflags", branches, _BRANCHES),
    )


_GCC: Final = _compiled("-Wa,-mbranches-within-32B-boundaries")
_CLANG: Final = _compiled("-mbranches-within-32B-boundaries")
"""Its own assembler is told by an option of the driver, and refuses that of GNU's."""

_RUST: Final = (
    Remedy("aligned", "rustflags", _RUST_ALIGNED, "every function begins at a line"),
    Remedy(
        "aligned-loops", "rustflags", f"{_RUST_ALIGNED} {_RUST_LOOPS}", "every function and every loop begins at a line"
    ),
    Remedy("branches-32B", "rustflags", "-Cllvm-args=-x86-branches-within-32B-boundaries", _BRANCHES),
)


def remedies_of(toolchain: Toolchain) -> tuple[Remedy, ...]:
    """What there is to try with this toolchain; nothing for compilers that have no such flags."""
    if toolchain.tools.cargo:
        return _RUST
    if not toolchain.compile.section_flags:  # Go's compiler has neither
        return ()
    return _CLANG if own_name(Path(toolchain.tools.cc[0])) == "clang" else _GCC


def _joined(flags: str, more: str) -> str:
    return f"{flags} {more}".strip()
