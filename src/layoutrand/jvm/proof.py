"""Before a JDK's layout is measured: a JVM with the words of the very command is seen to have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from layoutrand.config.config import Config
from layoutrand.config.jdk import JvmFacts, factors_of_a_jdk, moved_classes, words_of_the_jvm
from layoutrand.config.schedule import Slot
from layoutrand.errors import LayoutNotApplied
from layoutrand.jvm.start import observed
from layoutrand.model import STOCK, Binary, LayoutName
from layoutrand.platform.process import SubprocessRunner


class JdkProofs:
    """The proofs of one call of `execute`."""

    def __init__(self, config: Config, project: Path, jvms: Mapping[tuple[str, LayoutName], JvmFacts]) -> None:
        """Nothing is proved yet; ``jvms`` has what a JVM said of itself when each system's layout was made."""
        self._config, self._project, self._jvms = config, project.resolve(), jvms
        self._factors = factors_of_a_jdk(config.layout.drawn)
        self._proved: set[tuple[str, LayoutName, tuple[str, ...]]] = set()

    def prove(self, slot: Slot, binary: Binary, argv: Sequence[str], folder: Path) -> bool:
        """Start the command's JVM in ``folder``, up to where a program would begin, unless that was done before.

        True where it was started there, so that the folder is to be made anew.  Raises `LayoutNotApplied` where heap
        or compiler are not as the layout asks, or a class of the archive lies elsewhere than when it was made.
        """
        if not self._factors or slot.layout == STOCK:
            return False
        home = (self._project / str(self._config.systems[slot.system].prebuilt)).resolve()
        words = words_of_the_jvm(argv, str(home / "bin/java"))
        if not words:
            raise LayoutNotApplied(
                f"system {slot.system}, benchmark {slot.benchmark}: the command does not start {home / 'bin/java'} "
                "itself, so nothing proves that the layout is executed; write it as {home}/bin/java, {args}, ..."
            )
        behind = argv[list(argv).index(str(home / "bin/java")) + 1 + len(words) :]
        if behind and behind[0].startswith("@"):
            raise LayoutNotApplied(
                f"system {slot.system}, benchmark {slot.benchmark}: what {behind[0]} holds is for the JVM to read, so "
                "nothing proves that it leaves the layout as it is; write its words into the command, or into args"
            )
        if (slot.system, slot.layout, words) in self._proved:
            return False
        seen = observed(SubprocessRunner(), home, words, folder, self._factors, binary, slot.system)
        if moved := moved_classes(self._jvms[slot.system, slot.layout], seen):
            raise LayoutNotApplied(
                f"system {slot.system}, layout {slot.layout}, benchmark {slot.benchmark}: {moved} classes of the "
                f"archive lie elsewhere than when it was made; do options of the benchmark move it? ({' '.join(words)})"
            )
        self._proved.add((slot.system, slot.layout, words))
        return True
