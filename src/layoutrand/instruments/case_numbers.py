"""The numbers of cases that a harness of benchmarks reported, which whoever started it passes on."""

from __future__ import annotations

from layoutrand.config.metric import Metric
from layoutrand.config.readings import EACH_CASE, HarnessReading
from layoutrand.errors import NoMeasurement
from layoutrand.harnesses.case_names import metric_of
from layoutrand.harnesses.known import harnesses
from layoutrand.instruments.instrument import EndedExecution
from layoutrand.model import Measurement


def is_simulated_by_harness(metric: Metric) -> bool:
    """Whether a benchmark's numbers come from a harness that has the processor simulated."""
    reading = metric.suite
    return isinstance(reading, HarnessReading) and any(
        each.simulates for each in harnesses() if each.name == reading.harness
    )


def numbers_of_cases(ended: EndedExecution) -> list[Measurement]:
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
