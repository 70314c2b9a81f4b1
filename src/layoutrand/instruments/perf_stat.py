"""``perf stat`` as an instrument: the command line that starts it, and the counts in the file that it writes.

Its lines are ``value;unit;event;nanoseconds counted;percentage of the time counted;...`` with ``-x``; the separator is
no comma because the names of raw events hold commas.  Counts are of the program and all that it starts, from its first
instruction to its end.

``perf stat`` says how the program ended only if told to listen for commands: else it loses the exit status of a program
that ends before perf waits for it (seen with perf 6.1: one failure in fifty counted as success).  Death by a signal
it never passes on as a status; it writes the signal's name on standard error, as psignal(3) does.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Sequence
from typing import Final

from layoutrand.config.counter_names import metric_of
from layoutrand.errors import NoMeasurement
from layoutrand.text.digits import LARGEST_COUNT, is_measurable
from layoutrand.text.foreign_fields import excerpt

SEPARATOR: Final = ";"
OPTIONS: Final = ("stat", "-x", SEPARATOR)
NOT_SUPPORTED: Final = "<not supported>"
_BASE_UNITS: Final = {"": ("1", 1), "msec": ("s", 1000), "ns": ("s", 10**9)}
_COMPLETE: Final = 100.0


def command_prefix(perf: str, events: Sequence[str], out_file: str, fifo: str) -> tuple[str, ...]:
    """Words to put before a command so that its ``events`` are counted; file and FIFO as absolute paths."""
    words = [word for event in events for word in ("-e", event)]
    return (perf, *OPTIONS, "--control", f"fifo:{fifo}", "-o", out_file, *words, "--")


def parse_counts(text: str, events: Sequence[str]) -> dict[str, tuple[float, str]]:
    """Metric -> (count, unit) for each of ``events``, times in seconds.

    Raises `NoMeasurement` where one was not counted, not counted all the time (then perf extrapolates), or where
    perf counted something else in its place.
    """
    found = _lines(text)
    counts: dict[str, tuple[float, str]] = {}
    for event in events:
        if event not in found:
            others = ", ".join(found) or "nothing"
            raise NoMeasurement(
                f"perf stat did not count {event!r} as such, but {others}. Where a processor has cores of two types, "
                "name the one to count on, as in cpu_core/instructions/ or apple_firestorm_pmu/instructions/, and pin "
                "to such a core with run.cpu"
            )
        value, unit, share = found[event]
        if value.startswith("<"):
            raise NoMeasurement(f"perf stat says {value} of {event!r}; the program may have ended before it began")
        if not share >= _COMPLETE:
            raise NoMeasurement(
                f"{event!r} was counted for {share:g} % of the time only, the rest is extrapolated: there are more "
                "events than the processor has counters. Ask for fewer in metric.counters; the kernel's NMI "
                "watchdog takes one more (sysctl kernel.nmi_watchdog=0 frees it)"
            )
        name, parts = _BASE_UNITS.get(unit, (unit, 1))
        counts[metric_of(event)] = (_number(value, event) / parts, name)
    return counts


def unsupported(text: str, events: Sequence[str]) -> tuple[str, ...]:
    """Those of ``events`` that this output does not count."""
    found = _lines(text)
    return tuple(event for event in events if event not in found or found[event][0] == NOT_SUPPORTED)


def fatal_signal(stderr: bytes, argv: Sequence[str]) -> int | None:
    """The signal that ended the program in ``argv``, as perf says it in the last line of standard error, or None."""
    program = argv[list(argv).index("--") + 1]
    last = stderr.rstrip(b"\n").rpartition(b"\n")[2].decode("utf-8", "surrogateescape")
    for number in signal.valid_signals():
        if last.endswith(f"{program}: {signal.strsignal(number)}"):  # after an unfinished line of the program's own
            return int(number)
    return None


def _lines(text: str) -> dict[str, tuple[str, str, float]]:
    """Event -> (value as written, unit, percentage of the time)."""
    found: dict[str, tuple[str, str, float]] = {}
    for line in text.splitlines():
        fields = line.split(SEPARATOR)
        if line.startswith("#") or len(fields) < 5:
            continue
        value, unit, event, _, share = fields[:5]
        try:
            found[event] = (value, unit, float(share.replace(",", ".")))
        except ValueError:
            raise NoMeasurement(f"perf stat wrote a line that cannot be read: {excerpt(line)}") from None
    return found


def _number(value: str, event: str) -> float:
    try:
        number = float(value.replace(",", "."))  # with the decimal point of the benchmark's locale
    except ValueError:
        number = math.nan
    if not (0 <= number <= LARGEST_COUNT and is_measurable(number)):
        raise NoMeasurement(f"perf stat wrote {excerpt(value)} as the count of {event!r}")
    return number
