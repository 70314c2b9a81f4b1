"""A harness of benchmarks that has the processor simulated itself, as iai-callgrind does: its counts, case by case."""

from __future__ import annotations

from typing import Any, Final

from layoutrand.config.metric import Metric
from layoutrand.errors import NoMeasurement
from layoutrand.instruments.case_numbers import is_simulated_by_harness, numbers_of_cases
from layoutrand.instruments.instrument import EndedExecution, Instrument
from layoutrand.model import Measurement


class _SimulatingHarness(Instrument):
    name = "simulating-harness"
    simulated = True
    settings = 'harness = "iai-callgrind"'
    described = "what a harness counted on the processor that it simulates"
    behind = "anything"

    def is_asked(self, metric: Metric) -> bool:
        """See `Instrument`; a case that was read of an execution (`layoutrand.execute.cases`) names it."""
        return is_simulated_by_harness(metric) or (super().is_asked(metric) and _is_of_a_case(metric))

    def metrics(self, metric: Metric) -> tuple[str, ...]:
        """See `Instrument`."""
        return tuple(number.name for number in metric.numbers().values())

    def definition(self, metric: Metric) -> Any:
        """See `Instrument`."""
        return metric.definition()

    def measurements(self, ended: EndedExecution) -> tuple[Measurement, ...]:
        """See `Instrument`."""
        if not (found := numbers_of_cases(ended)):
            raise NoMeasurement("the harness reported no case")
        return tuple(found)


def _is_of_a_case(metric: Metric) -> bool:
    """Whether its numbers are a harness's: nobody says where they are printed, as layoutrand.toml must."""
    return bool(metric.printed) and not any(number.is_given for number in metric.numbers().values())


INSTRUMENT: Final = _SimulatingHarness()
