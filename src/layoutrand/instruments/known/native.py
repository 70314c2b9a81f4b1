"""The program by itself: wall time, what the kernel counted of it, and the numbers that it prints."""

from __future__ import annotations

from typing import Any, Final

from layoutrand.config.metric import Metric
from layoutrand.errors import NoMeasurement
from layoutrand.instruments.case_numbers import numbers_of_cases
from layoutrand.instruments.instrument import EndedExecution, Instrument
from layoutrand.instruments.json_output import read_json_iterations
from layoutrand.instruments.known.simulating_harness import INSTRUMENT as SIMULATING
from layoutrand.instruments.program_output import read_iterations
from layoutrand.model import RUSAGE_METRICS, WALL_METRIC, Measurement


class _Native(Instrument):
    name = "native"
    settings = "metric.wall, or a number that the program prints"
    described = "posix session, pidfd, wait4"
    reads_output = True
    counts = False
    elapsed = WALL_METRIC
    behind = "anything"

    def is_asked(self, metric: Metric) -> bool:
        """See `Instrument`."""
        return (metric.wall or bool(metric.numbers())) and not SIMULATING.is_asked(metric)

    def metrics(self, metric: Metric) -> tuple[str, ...]:
        """See `Instrument`; what the kernel counts comes along, and is judged by only where it is named."""
        return (*[WALL_METRIC] * metric.wall, *(number.name for number in metric.numbers().values()))

    def definition(self, metric: Metric) -> Any:
        """See `Instrument`."""
        return metric.definition()

    def measurements(self, ended: EndedExecution) -> tuple[Measurement, ...]:
        """See `Instrument`."""
        if ended.metric.by_case:
            return (*_of_the_kernel(ended), *numbers_of_cases(ended))
        return (*_of_the_kernel(ended), *_printed(ended))


def _of_the_kernel(ended: EndedExecution) -> list[Measurement]:
    if ended.metric.suite is not None and ended.metric.suite.by_tools:
        return []
    measurements = [
        Measurement(name, RUSAGE_METRICS[name], 0, value, warmup=False) for name, value in ended.rusage.items()
    ]
    if ended.metric.wall:
        measurements.append(Measurement(WALL_METRIC, "s", 0, ended.wall_s, warmup=False))
    return measurements


def _printed(ended: EndedExecution) -> list[Measurement]:
    """The numbers in the output, in the units that they were printed in: what is recorded is what was printed."""
    measurements: list[Measurement] = []
    for key, number in ended.metric.numbers().items():
        if number.regex is None and number.pointer is None and ended.harness is not None:
            source, values = key, ended.harness[number.name]
        elif number.regex is None:
            source = f"{key}.json"
            values = read_json_iterations(ended.output(), number.pointer or "", number.json_lines, key=source)
        else:
            source = f"{key}.regex"
            values = read_iterations(ended.output(), number.regex, key=source)
        warmup = ended.warmups[number.name]
        if len(values) <= warmup.iterations:
            raise NoMeasurement(
                f"{source} found {len(values)} iterations, and all of them are warm-up "
                f"({warmup.setting} = {warmup.iterations}); "
                "with a smaller one `layoutrand run --retry-failed` executes it again"
            )
        measurements += [
            Measurement(number.name, number.unit, place, value, warmup=place < warmup.iterations)
            for place, value in enumerate(values)
        ]
    return measurements


INSTRUMENT: Final = _Native()
