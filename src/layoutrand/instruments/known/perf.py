"""``perf stat``: events of the processor and the kernel, counted in executions of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from layoutrand.config.counter_names import metric_of
from layoutrand.config.metric import Metric
from layoutrand.errors import NoMeasurement
from layoutrand.instruments import counters, perf_stat
from layoutrand.instruments.instrument import EndedExecution, Instrument, InstrumentFiles
from layoutrand.model import Measurement

_COUNTS: Final = "perf"
_CONTROL: Final = "perf-control"


class _Perf(Instrument):
    name = "perf"
    program = "perf"
    settings = "metric.counters"
    behind = "a starter"
    described = " ".join(("perf", *perf_stat.OPTIONS))

    def is_asked(self, metric: Metric) -> bool:
        """See `Instrument`."""
        return bool(metric.counters)

    def metrics(self, metric: Metric) -> tuple[str, ...]:
        """See `Instrument`."""
        return tuple(metric_of(event) for event in metric.counters)

    def definition(self, metric: Metric) -> Any:
        """See `Instrument`."""
        return [*perf_stat.OPTIONS, *sorted(metric.counters)]

    def absent(self) -> str:
        """See `Starter`."""
        return f"{super().absent()}, or leave counters out"

    def check(self, program: str, metrics: Sequence[Metric], qemu: str = "") -> None:
        """See `Instrument`; perf is executed for each set of events, since only that tells."""
        del qemu
        for events in dict.fromkeys(tuple(metric.counters) for metric in metrics):
            counters.check_events(program, events)

    def prefix(self, program: str, metric: Metric, files: InstrumentFiles) -> tuple[str, ...]:
        """See `Instrument`."""
        counts, control = files.output / _COUNTS, files.scratch / _CONTROL
        return perf_stat.command_prefix(program, metric.counters, str(counts), str(control))

    def prepare(self, files: InstrumentFiles, qemu: str = "") -> None:
        """See `Starter`."""
        del qemu
        counters.make_fifo(files.scratch / _CONTROL)

    def fatal_signal(self, messages: Callable[[], bytes], argv: Sequence[str]) -> int | None:
        """See `Instrument`; perf ends well also where a signal killed the program."""
        return perf_stat.fatal_signal(messages(), argv)

    def measurements(self, ended: EndedExecution) -> tuple[Measurement, ...]:
        """See `Instrument`."""
        text = ended.written(_COUNTS)
        if text is None:
            raise NoMeasurement("perf stat wrote no counts")
        counted = perf_stat.parse_counts(text, ended.metric.counters)
        return tuple(Measurement(metric, unit, 0, count, warmup=False) for metric, (count, unit) in counted.items())


INSTRUMENT: Final = _Perf()
