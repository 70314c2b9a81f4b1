"""A JVM started to be looked at: with which words, for how long, and what it says of its own layout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from layoutrand.config import jdk
from layoutrand.config.command import SYSTEM_PATH
from layoutrand.config.jdk import JvmFacts
from layoutrand.errors import LayoutNotApplied
from layoutrand.jvm.log import jvm_facts
from layoutrand.model import Binary
from layoutrand.platform.process import Runner

TIMEOUT_S: Final = 600.0
_LOG: Final = "layoutrand-jvm.log"
_SHOWN: Final = 1000


def observed(
    runner: Runner, home: Path, words: Sequence[str], folder: Path, factors: Sequence[str], binary: Binary, system: str
) -> JvmFacts:
    """Start a JVM with these words that does nothing else, and read what it is like.

    Raises `LayoutNotApplied` where it does not start, or is not as the layout asks.
    """
    printed = folder / "printed"
    where = f"system {system}, layout {binary.layout}: java {' '.join(words)}"
    status = run_java(runner, home, [*jdk.log_options(_LOG), *words, "-version"], folder, printed)
    said = printed.read_text("utf-8", "backslashreplace")
    if status != 0:
        raise LayoutNotApplied(f"{where} ends with status {status}:\n{said[-_SHOWN:]}")
    log = folder / _LOG
    facts = jvm_facts(log.read_text("utf-8", "backslashreplace") if log.exists() else "", said)
    if wrong := jdk.not_as_asked(factors, binary.layout, facts):
        raise LayoutNotApplied(f"{where}: " + "; ".join(wrong))
    return facts


def run_java(runner: Runner, home: Path, words: Sequence[str], folder: Path, log: Path) -> int:
    """Start ``java`` of a JDK in an environment that holds nothing of the user's; its exit status."""
    environment = {"PATH": SYSTEM_PATH, "HOME": str(folder), "LANG": "C.UTF-8", "TMPDIR": str(folder)}
    return runner.run_logged(
        [str(home / "bin/java"), *words], cwd=folder, env=environment, log=log, timeout_s=TIMEOUT_S
    )
