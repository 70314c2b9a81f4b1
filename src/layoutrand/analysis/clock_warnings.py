"""What is told of times that were measured with a clock of coarse steps."""

from __future__ import annotations

from dataclasses import dataclass

from layoutrand.text.quantities import at_most, quantity
from layoutrand.warning import AnyWarning


@dataclass(frozen=True)
class CoarseClock(AnyWarning):
    """Times that lie on one or two steps of the clock that measured them.

    ``step_s`` is a step in seconds, ``half`` half of it as a share of the mean of the shorter of the systems, and
    ``is_open`` says that nothing can be concluded with it.  ``is_alike`` where the times lie on more steps, and those
    of two systems differ in the same way each time.  ``may_simulate`` as of `Benchmark`, and
    ``is_imported`` as of `Sample`.
    """

    step_s: float
    half: float
    is_open: bool
    is_alike: bool = False
    may_simulate: bool = True
    is_imported: bool = False

    def __str__(self) -> str:
        clock = "a finer clock, and import that" if self.is_imported else "a finer clock (metric.wall)"
        counts = ", or simulated counts (metric.cachegrind)" if self.may_simulate else ""
        return (
            f"{self.brief()}: a mean may be off by half a step ({at_most(self.half)} %), the same way each time, which "
            "the intervals allow for and no number of layouts averages out; give the benchmark more work for each "
            f"execution, or measure with {clock}{counts}"
        )

    def brief(self) -> str:
        """What was found."""
        seen = "the ratio is the same each time" if self.is_alike else "lie on one or two of these"
        return f"times come in steps of {quantity(self.step_s, 's')}, and {seen}"
