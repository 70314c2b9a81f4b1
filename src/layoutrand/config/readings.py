"""How the outcome of a suite's own harness is read: what ``[suite]`` puts into the metric of each of its benchmarks."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from layoutrand.text.strict_table import StrictTable


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


Reading = DacapoReading | SpecReading

NUMBERS: Final = {"dacapo": ("iteration_s", "s"), "spec-rsf": ("reported_time_s", "s")}
"""What a reading yields for each iteration: the metric and its unit."""
