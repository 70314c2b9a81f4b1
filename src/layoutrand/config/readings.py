"""How the outcome of a suite's own harness is read: what ``[suite]`` puts into the metric of each of its benchmarks."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from layoutrand.text.strict_table import Name, StrictTable


class DacapoReading(StrictTable):
    """Lines of DaCapo's harness: ``iterations`` of ``benchmark`` in one JVM, each of them validated.

    None lets the harness go on until they converge; then only the last one, which it measures, is a number.
    ``harness`` is a digest of the jar: the same benchmark of another jar is another benchmark.
    """

    by_tools: ClassVar[bool] = False
    """Whether the suite's own tools execute the program, so that what is used is theirs, and nobody can profile it."""

    kind: Literal["dacapo"]
    benchmark: str
    iterations: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    harness: str = ""


class SpecReading(StrictTable):
    """SPEC CPU's raw results of one benchmark."""

    by_tools: ClassVar[bool] = True
    """See `DacapoReading`."""

    kind: Literal["spec-rsf"]
    benchmark: str


class HarnessReading(StrictTable):
    """What ``harness`` of a benchmark asks for: the ``cases`` of it, in its own words, and ``repetitions`` of each.

    None leaves either to the harness.
    """

    by_tools: ClassVar[bool] = False
    """See `DacapoReading`."""

    kind: Literal["harness"] = "harness"
    harness: Name
    cases: Annotated[str, Field(min_length=1)] | None = None
    repetitions: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


Reading = DacapoReading | SpecReading | HarnessReading

EACH_CASE: Final = "each_case"
"""What the numbers of all cases together are called, where one name has to stand for them."""

NUMBERS: Final = {
    "dacapo": ("iteration_s", "s"),
    "spec-rsf": ("reported_time_s", "s"),
    "harness": (EACH_CASE, ""),
}
"""What a reading yields for each iteration: the metric and its unit."""
