"""Cachegrind: a processor simulated by valgrind, the command line that starts it, and the counts that it writes.

The simulated caches are fixed, whatever machine this is (`layoutrand.instruments.simulated_caches`).  Branch simulation
is cachegrind's own two-bit predictor, which layout reaches through aliasing of its tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Final

from layoutrand.config.metric import Metric
from layoutrand.errors import NoMeasurement
from layoutrand.instruments import valgrind_log
from layoutrand.instruments.instrument import EndedExecution, Instrument, InstrumentFiles
from layoutrand.instruments.simulated_caches import D1, ESTIMATED_CYCLES, I1, LL, estimated_cycles
from layoutrand.model import Measurement
from layoutrand.text.digits import LARGEST_COUNT, whole_number
from layoutrand.text.foreign_fields import excerpt

OPTIONS: Final = (
    "--tool=cachegrind",
    "--cache-sim=yes",
    "--branch-sim=yes",
    f"--I1={I1.words()}",
    f"--D1={D1.words()}",
    f"--LL={LL.words()}",
    "--quiet",
    "--trace-children=no",
    "--vgdb=no",
)
"""Recorded with every experiment: another choice gives other numbers."""

METRICS: Final = {
    "instructions": ("Ir",),
    "i1_misses": ("I1mr",),
    "ll_i_misses": ("ILmr",),
    "data_reads": ("Dr",),
    "data_writes": ("Dw",),
    "d1_misses": ("D1mr", "D1mw"),
    "ll_d_misses": ("DLmr", "DLmw"),
    "branches": ("Bc", "Bi"),
    "branch_mispredictions": ("Bcm", "Bim"),
}
"""Metric -> the cachegrind events that it sums, all in unit "1"."""


def command_prefix(valgrind: str, out_file: str, log_file: str) -> tuple[str, ...]:
    """Words to put before a command so that it is simulated; both files as absolute paths.

    ``%p`` in the out-file's name is the process id: a program that forks writes one file per process, and without
    it the last one would win.  The log keeps valgrind's own words out of the program's standard error.
    """
    return (
        valgrind,
        *OPTIONS,
        f"--cachegrind-out-file={_quoted(out_file)}.%p",
        f"--log-file={_quoted(log_file)}",
    )


def _quoted(path: str) -> str:
    """``%`` is valgrind's own escape in file names."""
    return path.replace("%", "%%")


def parse_counts(text: str) -> dict[str, float]:
    """Metric -> count, for all of `METRICS` and `ESTIMATED_CYCLES`.

    Raises `NoMeasurement` for a file that is truncated, garbled or made without cache and branch simulation.
    """
    events = summary = None
    for line in text.splitlines():
        if line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith("summary:"):
            summary = line.split()[1:]
    if events is None:
        raise NoMeasurement("cachegrind's out-file has no line 'events:'; it is not a cachegrind profile")
    if summary is None or not text.endswith("\n"):
        raise NoMeasurement("cachegrind's out-file is truncated: it does not end with its line 'summary:'")
    numbers = [whole_number(word, LARGEST_COUNT) for word in summary]
    if len(summary) != len(events) or None in numbers:
        raise NoMeasurement(
            f"cachegrind's out-file is garbled: {len(events)} events, but its summary is {excerpt(' '.join(summary))}"
        )
    counts = {event: float(number) for event, number in zip(events, numbers, strict=True) if number is not None}
    missing = sorted({event for parts in METRICS.values() for event in parts} - set(counts))
    if missing:
        raise NoMeasurement(f"cachegrind's out-file lacks the events {', '.join(missing)}")
    metrics = {metric: sum(counts[event] for event in parts) for metric, parts in METRICS.items()}
    first_level = metrics["i1_misses"] + metrics["d1_misses"]
    last_level = metrics["ll_i_misses"] + metrics["ll_d_misses"]
    metrics[ESTIMATED_CYCLES] = estimated_cycles(
        metrics["instructions"], first_level, last_level, metrics["branch_mispredictions"]
    )
    return metrics


_PROFILE: Final = "cachegrind"


class _Cachegrind(Instrument):
    name = "cachegrind"
    program = "valgrind"
    simulated = True
    slowdown = 50  # a simulated program takes 20 to 50 times as long
    settings = "metric.cachegrind"
    described = " ".join(OPTIONS)
    summing_up = ESTIMATED_CYCLES
    missed = "no metric = { cachegrind = true }"

    def is_asked(self, metric: Metric) -> bool:
        """See `Instrument`."""
        return metric.cachegrind or super().is_asked(metric)

    def metrics(self, metric: Metric) -> tuple[str, ...]:
        """See `Instrument`."""
        del metric
        return ESTIMATED_CYCLES, *METRICS

    def definition(self, metric: Metric) -> Any:
        """See `Instrument`."""
        del metric
        return OPTIONS

    def absent(self) -> str:
        """See `Starter`."""
        return f"{super().absent()}, or set cachegrind = false"

    def find(self) -> str:
        """See `Starter`; valgrind finds its tools beside the file that it really is."""
        return os.path.realpath(super().find())

    def why_it_gave_up(self, written: Callable[[str], Sequence[str]]) -> str:
        """See `Starter`."""
        return valgrind_log.why_it_gave_up(written(valgrind_log.NAME))

    def prefix(self, program: str, metric: Metric, files: InstrumentFiles) -> tuple[str, ...]:
        """See `Instrument`."""
        del metric
        return command_prefix(program, str(files.output / _PROFILE), str(files.output / valgrind_log.NAME))

    def measurements(self, ended: EndedExecution) -> tuple[Measurement, ...]:
        """See `Instrument`."""
        profile = ended.written(f"{_PROFILE}.{ended.pid}")
        if profile is None:
            raise NoMeasurement(
                "cachegrind wrote no counts: valgrind follows no exec, so the benchmark's command must itself be the "
                "program to measure, not a script or a launcher such as env"
            )
        return tuple(Measurement(metric, "1", 0, n, warmup=False) for metric, n in parse_counts(profile).items())


INSTRUMENT: Final = _Cachegrind()
