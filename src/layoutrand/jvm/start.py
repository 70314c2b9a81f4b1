"""A JVM started to be looked at: with which words, for how long, and what it says of its own layout."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from layoutrand.config import jdk
from layoutrand.config.command import SYSTEM_PATH
from layoutrand.config.jdk import JvmFacts
from layoutrand.errors import BuildFailed, LayoutNotApplied
from layoutrand.model import Binary
from layoutrand.platform.process import Runner
from layoutrand.text.telling_line import of_program

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
    where = f"system {system}, layout {binary.layout}"
    status = run_java(runner, home, [*jdk.log_options(_LOG), *words, "-version"], folder, printed)
    said = printed.read_text("utf-8", "backslashreplace")
    if status != 0:
        raise LayoutNotApplied(_not_started(where, words, status, said))
    log = folder / _LOG
    facts = jvm_facts(log.read_text("utf-8", "backslashreplace") if log.exists() else "", said)
    if wrong := jdk.not_as_asked(factors, binary.layout, facts):
        raise LayoutNotApplied(f"{where}: {'; '.join(wrong)}\n(java {shlex.join(words)})")
    return facts


def form_of_archives(runner: Runner, home: Path, own: Sequence[str], folder: Path, system: str) -> tuple[str, ...]:
    """The words that a dump needs, so that a JVM with a system's ``own`` options can map what it writes.

    None where they ask for the form that a dump has by itself on this machine, as most do.
    Raises `BuildFailed` where the JVM does not start with them.
    """
    if not own:
        return ()
    wanted, usual = (_archive_form(runner, home, words, folder, system) for words in (own, ()))
    return () if wanted == usual else wanted


def _archive_form(runner: Runner, home: Path, own: Sequence[str], folder: Path, system: str) -> tuple[str, ...]:
    printed = folder / "flags"
    status = run_java(runner, home, [*own, "-XX:+PrintFlagsFinal", "-version"], folder, printed)
    said = printed.read_text("utf-8", "backslashreplace")
    if status != 0:
        raise BuildFailed(_not_started(f"system {system}", own, status, said))
    return jdk.archive_form(said)


def _not_started(where: str, words: Sequence[str], status: int, said: str) -> str:
    """First what the JVM gives for a reason, since a summary shows one line; then its options and all that it said."""
    reason = of_program(said) or "it says nothing"
    return f"{where}: java does not start (status {status}): {reason}\njava {shlex.join(words)}\n{said[-_SHOWN:]}"


def run_java(runner: Runner, home: Path, words: Sequence[str], folder: Path, log: Path) -> int:
    """Start ``java`` of a JDK in an environment that holds nothing of the user's; its exit status."""
    environment = {"PATH": SYSTEM_PATH, "HOME": str(folder), "LANG": "C.UTF-8", "TMPDIR": str(folder)}
    return runner.run_logged(
        [str(home / "bin/java"), *words], cwd=folder, env=environment, log=log, timeout_s=TIMEOUT_S
    )


_HEAP: Final = re.compile(r"^Heap address: (0x[0-9a-f]+), size: .*?Compressed Oops mode: ([^,]+)", re.MULTILINE)
_LOADED: Final = re.compile(r"^(\S+) source: shared objects file(?: \(top\))?\n klass: (0x[0-9a-f]+)", re.MULTILINE)
_FLAG: Final = re.compile(r"^\s*\w+ (StressLCM|StressGCM|StressSeed)\s+:?= (\S+)", re.MULTILINE)


def jvm_facts(log: str, printed: str) -> JvmFacts:
    """Read the file of ``-Xlog:gc+heap+coops=debug,class+load=debug`` without decorations, and PrintFlagsFinal."""
    heap = _HEAP.search(log)
    return JvmFacts(
        classes={name: int(address, 16) for name, address in _LOADED.findall(log)},
        heap_address=int(heap[1], 16) if heap else None,
        heap_mode=heap[2].strip() if heap else "",
        flags=dict(_FLAG.findall(printed)),
    )
