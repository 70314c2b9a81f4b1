"""``perf`` on this machine: whether it counts what is asked for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from layoutrand.errors import FeatureUnsupported, ToolNotFound
from layoutrand.instruments.perf_stat import command_prefix, unsupported
from layoutrand.platform.process import ask

_PARANOID: Final = Path("/proc/sys/kernel/perf_event_paranoid")
_PROBE_S: Final = 60


def check_events(perf: str, events: Sequence[str]) -> None:
    """Raise `FeatureUnsupported` that says which of ``events`` cannot be counted here, which can, and why."""
    failed, said = _uncounted(perf, events)
    if not failed:
        return
    apart = {event: _uncounted(perf, [event]) for event in events}
    working = [event for event, (lost, _) in apart.items() if not lost]
    broken = [event for event, (lost, _) in apart.items() if lost]
    if not broken:  # each alone works, together they do not
        raise FeatureUnsupported(f"perf stat counts {', '.join(events)} one by one, but not together: {said}")
    words = next((words for lost, words in apart.values() if lost and words), "")
    in_user_mode = [f"{event}:u" for event in broken if ":" not in event and "/" not in event]
    in_user_mode = [event for event in in_user_mode if not _uncounted(perf, [event])[0]]
    hint = f" In user mode alone it can count {', '.join(in_user_mode)}." if in_user_mode else ""
    raise FeatureUnsupported(
        f"perf stat cannot count {', '.join(broken)} here{f' ({words})' if words else ''}; nothing was executed. "
        f"Of metric.counters it can count {', '.join(working) or 'none'}.{hint} {_why()}"
    )


def counted_of(perf: str, events: Sequence[str]) -> tuple[str, ...]:
    """Those of ``events`` that can be counted here, each by itself."""
    return tuple(event for event in events if not _uncounted(perf, [event])[0])


def make_fifo(path: Path) -> None:
    """The FIFO that perf is told to listen on (see `instruments.perf_stat`); nothing is ever written to it."""
    os.mkfifo(path)


def _uncounted(perf: str, events: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Which of ``events`` are not counted of a program that does nothing, and what perf says."""
    with tempfile.TemporaryDirectory(prefix="layoutrand-perf-") as folder:
        fifo, out = Path(folder) / "control", Path(folder) / "counts"
        make_fifo(fifo)
        words = [*command_prefix(perf, events, str(out), str(fifo)), "/bin/sh", "-c", "exit 7"]
        try:
            done = ask(words, timeout_s=_PROBE_S)
        except ToolNotFound as error:
            return tuple(events), str(error)
        said = " ".join(done.stderr.decode("utf-8", "replace").split())
        if done.returncode != 7 or not out.exists():
            return tuple(events), said or f"exit status {done.returncode}"
        return unsupported(out.read_text("utf-8", "replace"), events), said


def _why() -> str:
    try:
        level = int(_PARANOID.read_text("ascii"))
    except (OSError, ValueError):
        return "This kernel has no performance events, or a container hides them."
    if level >= 2 and os.geteuid() != 0:
        return (
            f"kernel.perf_event_paranoid is {level}: an ordinary user may count in user mode only, as in "
            f"instructions:u{', or not at all' if level > 2 else ''}. More is allowed by "
            "`sudo sysctl kernel.perf_event_paranoid=1`."
        )
    return (
        "A virtual machine often has no hardware counters, and each processor has events of its own: `perf list` "
        "names them. Without any, metric = { cachegrind = true } counts instructions and simulated misses."
    )
