"""Builds that are not made, since a system that was built failed for a cause that lies in what both share."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

from layoutrand.build.build_warnings import NotBuilt
from layoutrand.config.config import Config
from layoutrand.errors import LayoutrandError, NothingLinked, OtherMachine, WrongArtefact

SHARED: Final = (NothingLinked, OtherMachine, WrongArtefact)
"""What no flag of a compiler is to blame for: the commands, the artefacts, the compiler that the build calls."""


@dataclass
class SharedFailures:
    """What the systems of one call failed for, from several threads; nothing is kept where all are to be built."""

    keep_going: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _first: dict[Hashable, tuple[str, LayoutrandError]] = field(default_factory=dict)
    _left_out: dict[str, list[str]] = field(default_factory=dict)
    _begun: set[str] = field(default_factory=set)

    def refuse(self, config: Config, name: str) -> None:
        """Raise what a system that has all but flags in common with this one failed for; else its build begins."""
        with self._lock:
            found = self._first.get(_in_common(config, name))
            if found is None:
                self._begun.add(name)
                return
            first, error = found
            names = self._left_out.setdefault(first, [])
            if name not in (first, *names, *self._begun):  # of one that is being built already, another build is spared
                names.append(name)
        raise error

    def note(self, config: Config, name: str, error: LayoutrandError) -> None:
        """Remember that the system failed for this, if others would, too."""
        if isinstance(error, SHARED) and not self.keep_going:
            with self._lock:
                self._begun.add(name)
                self._first.setdefault(_in_common(config, name), (name, error))

    def left_out(self) -> list[NotBuilt]:
        """Systems that were not built, with the one that was built in their place."""
        with self._lock:
            return [NotBuilt(tuple(names), first) for first, names in self._left_out.items() if names]


def _in_common(config: Config, name: str) -> Hashable:
    """What decides, beside flags of compilers, what a system's build makes."""
    system = config.systems[name]
    return system.toolchain, system.rev, tuple(sorted(system.env.items())), tuple(system.features), system.args
