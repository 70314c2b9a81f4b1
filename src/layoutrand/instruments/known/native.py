"""The program by itself: wall time, what the kernel counted of it, and the numbers that it prints."""

from __future__ import annotations

from typing import Any, Final

from layoutrand.config.metric import Metric
from layoutrand.config.readings import EACH_CASE
from layoutrand.errors import NoMeasurement
from layoutrand.harnesses.case_names import metric_of
from layoutrand.instruments.instrument import EndedExecution, Instrument
from layoutrand.instruments.json_output import read_json_iterations
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
        return metric.wall or bool(metric.numbers())

    def metrics(self, metric: Metric) -> tuple[str, ...]:
        """See `Instrument`; what the kernel counts comes along, and is nothing to judge by."""
        return (*[WALL_METRIC] * metric.wall, *(number.name for number in metric.numbers().values()))

    def definition(self, metric: Metric) -> Any:
        """See `Instrument`."""
        return metric.definition()

    def measurements(self, ended: EndedExecution) -> tuple[Measurement, ...]:
        """See `Instrument`."""
        if ended.metric.by_case:
            return (*_of_the_kernel(ended), *_of_cases(ended))
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


def _of_cases(ended: EndedExecution) -> list[Measurement]:
    """What a harness reported of each case; one whose repetitions are all warm-up has failed, as all its others."""
    warmup = ended.warmups[EACH_CASE]
    measurements = [
        Measurement(metric_of(case.name, name), quantity.unit, place, value, warmup=place < warmup.iterations)
        for case in ended.cases
        for name, quantity in case.numbers.items()
        for place, value in enumerate(quantity.values)
    ]
    if measurements and all(each.warmup for each in measurements):
        raise NoMeasurement(
            f"all repetitions of all cases are warm-up ({warmup.setting} = {warmup.iterations}); "
            "with a smaller one `layoutrand run --retry-failed` executes it again"
        )
    return measurements


INSTRUMENT: Final = _Native()
