"""How the outcome of a suite's own harness is read: what ``[suite]`` puts into the metric of each of its benchmarks."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from layoutrand.text.strict_table import Name, StrictTable, no_items

LatencyKind = Literal["simple", "metered"]
"""DaCapo's own words: how long each request took, or how long after it would have come by a steady clock."""

QUANTILES: Final = {"50%": "p50", "99%": "p99", "99.9%": "p99.9"}
"""Quantiles of latency that are metrics: as the harness writes them, and as metrics are called."""


def latency_metric(kind: LatencyKind, quantile: str) -> str:
    """What the metric of a quantile, one of `QUANTILES`, is called."""
    return f"{'' if kind == 'simple' else f'{kind}_'}latency_{QUANTILES[quantile]}_s"


class DacapoReading(StrictTable):
    """Lines of DaCapo's harness: ``iterations`` of ``benchmark`` in one JVM, each of them validated.

    None lets the harness go on until they converge; then only the last one, which it measures, is a number.
    ``harness`` is a digest of the jar: the same benchmark of another jar is another benchmark.  ``latency`` says which
    latencies of requests are numbers, too, by quantiles over the requests of an iteration; ``nanoseconds`` that our
    callback took the time of iterations (`layoutrand.suites.dacapo_callback`).
    """

    by_tools: ClassVar[bool] = False
    """Whether the suite's own tools execute the program, so that what is used is theirs, and nobody can profile it."""

    kind: Literal["dacapo"]
    benchmark: str
    iterations: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    harness: str = ""
    latency: list[LatencyKind] = Field(default_factory=no_items)
    nanoseconds: bool = False

    def numbers(self) -> dict[str, tuple[str, str]]:
        """See `numbers_of`."""
        latencies = {
            f"metric.suite.latency.{kind}.{quantile}": (latency_metric(kind, quantile), "s")
            for kind in self.latency
            for quantile in QUANTILES
        }
        return {"metric.suite": NUMBERS[self.kind], **latencies}


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


def numbers_of(reading: Reading) -> dict[str, tuple[str, str]]:
    """Every number that a reading yields, by the key that asks for it: the metric and its unit, the main one first."""
    return reading.numbers() if isinstance(reading, DacapoReading) else {"metric.suite": NUMBERS[reading.kind]}


def facts_of(reading: Reading) -> dict[str, Any]:
    """What of a reading decides the numbers, as JSON values; keys that came later are left out where nothing is set."""
    came_later = {"latency", "nanoseconds"}
    return {key: value for key, value in reading.model_dump(mode="json").items() if value or key not in came_later}
