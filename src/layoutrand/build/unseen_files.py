"""What a build made past the wrappers, such as by a compiler that it calls by an absolute path."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutrand.capture.build_order import BuildOrder, InstrumentedBuild
from layoutrand.capture.ended_build import folder_of
from layoutrand.capture.failed_build import left_out_by_build
from layoutrand.capture.linked_files import LinkedFile, first_bytes, is_elf_file, of_another_machine
from layoutrand.errors import NothingLinked
from layoutrand.linkers.trials import is_of_a_trial
from layoutrand.objects.elf import machine_words
from layoutrand.text.name_lists import several_paths


@dataclass(frozen=True)
class UnseenFiles:
    """What a build that succeeded has linked past the wrappers, such as nothing.

    ``machine`` is what all of that is for, in words; "" where it is for several.  ``other_machine`` says so where the
    toolchain builds for another one; "" where it does not.  ``said`` is what the build says it goes without.
    """

    new: tuple[str, ...]
    log: Path
    machine: str
    other_machine: str
    said: str = ""

    @property
    def is_past_us(self) -> bool:
        """Whether something was made, and no link of it seen."""
        return bool(self.new)

    def error(self) -> NothingLinked:
        """What is wrong with such a build, and what to do."""
        if self.new:
            return NothingLinked(
                f"the build made {several_paths(self.new)}, but no link of it went through layoutrand's wrappers: it "
                "calls its compiler or linker by an absolute path, changes PATH, or has a linker of its own, as zig "
                "has. Let it use $CC, $CXX and $LD, or plain gcc, g++, clang and ld",
                log=self.log,
            )
        return NothingLinked(
            "the build succeeded, but linked no program and no shared library. If an earlier build is in the tree, "
            "clean it (make clean); if the command builds a part only, or only static libraries, give the one that "
            f"links the program{self.said}",
            log=self.log,
        )


def unseen_files(order: BuildOrder, made: InstrumentedBuild, linked: Sequence[LinkedFile]) -> UnseenFiles:
    """What was made past the wrappers while the build lasted: all that is new but what they have ``linked``."""
    begun = made.space.wrappers.stat().st_mtime_ns
    seen = {file.path for file in linked}
    new = []
    for folder, _, names in os.walk(made.tree):
        for path in (Path(folder, name) for name in names if not name.endswith((".o", ".a"))):
            inside = str(path.relative_to(made.tree))
            is_new = path.lstat().st_mtime_ns >= begun and inside not in seen
            if is_new and is_elf_file(path) and not is_of_a_trial(str(path), str(made.tree)):
                new.append(inside)
    begins = [first_bytes(made.tree / path) for path in new]
    machines = {machine_words(data) for data in begins}
    if not new:
        return UnseenFiles((), made.log, "", "", left_out_by_build(made.log, made.space, folder_of(order)))
    if len(machines) != 1:
        return UnseenFiles(tuple(sorted(new)), made.log, "", "")
    other = of_another_machine(several_paths(sorted(new)), begins[0], order.toolbox.toolchain)
    return UnseenFiles(tuple(sorted(new)), made.log, machines.pop(), other)
