"""What stands before a benchmark's program: ``run.launcher``, or what the kernel starts for another machine's."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from layoutrand.errors import HostError, ToolNotFound
from layoutrand.platform.disk import sha256_file
from layoutrand.platform.packages import install

_QEMU: Final = "qemu-"
_PROJECT: Final = "{project}"


@dataclass(frozen=True)
class Launcher:
    """Its ``words``, the first being the absolute path of its program, and the SHA-256 of that.

    ``by_kernel`` says that it is a handler of binfmt_misc: it stands in no command.
    """

    words: tuple[str, ...]
    sha256: str
    by_kernel: bool = False

    @property
    def is_qemu(self) -> bool:
        """Whether it is known to emulate the processor; what else does, nobody can tell by its name."""
        return self.qemu is not None

    @property
    def qemu(self) -> str | None:
        """The absolute path of qemu, where it is one of the words."""
        found = (shutil.which(word) for word in self.words if not word.startswith("-"))
        return next((p for p in found if p and os.path.basename(os.path.realpath(p)).startswith(_QEMU)), None)

    @property
    def prefix(self) -> str:
        """The directory where qemu looks for the files that a program opens first, libraries above all; "" for none."""
        options = [place for place, word in enumerate(self.words[:-1]) if word == "-L"]
        return self.words[options[-1] + 1].rstrip("/") if self.is_qemu and options else ""

    def facts(self, *, emulates: bool) -> dict[str, Any]:
        """What is recorded with an execution, as JSON values."""
        facts: dict[str, Any] = {"launcher": list(self.words), "launcher_sha256": self.sha256}
        if self.by_kernel:
            facts["launcher_by"] = "binfmt_misc"
        if emulates or self.is_qemu:
            facts["emulated"] = True
        return facts

    def __str__(self) -> str:
        return shlex.join([os.path.basename(self.words[0]), *self.words[1:]])


def find_launcher(words: Sequence[str], project: Path) -> Launcher | None:
    """What ``run.launcher`` asks for, None for nothing; raises `ToolNotFound` where its program is not here.

    Other words that name programs in PATH, as in ``["taskset", "-c", "1", "qemu-aarch64"]``, are left as they are.
    """
    if not words:
        return None
    first, *others = [word.replace(_PROJECT, str(project.resolve())) for word in words]
    found = shutil.which(first)
    if found is None and "/" in first:
        why = "it is no program that can be executed" if os.path.exists(first) else "there is no such file"
        raise ToolNotFound(f"run.launcher: {first}: {why}")
    if found is None:
        raise ToolNotFound(f"run.launcher: there is no {first} in PATH: {install([first])}")
    return _identified((os.path.abspath(found), *others), by_kernel=False)


def kernels_launcher(interpreter: str) -> Launcher:
    """The handler of binfmt_misc that is this program."""
    return _identified((interpreter,), by_kernel=True)


def _identified(words: tuple[str, ...], *, by_kernel: bool) -> Launcher:
    try:
        return Launcher(words, sha256_file(Path(words[0])), by_kernel)
    except OSError as error:
        raise HostError(f"cannot read {words[0]}, which starts programs here: {error.strerror}") from error
