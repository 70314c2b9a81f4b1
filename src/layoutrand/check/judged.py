"""What is judged of a configuration's benchmarks, counts of simulated processors first."""

from __future__ import annotations

from collections.abc import Sequence

from layoutrand.check.question import Quantity
from layoutrand.config.config import Benchmark, Config
from layoutrand.errors import UsageError
from layoutrand.instruments.asked_for import primary_metric
from layoutrand.instruments.known import asked


def judged_quantities(config: Config, benchmarks: Sequence[str], metric: str | None) -> list[Quantity]:
    """Of each benchmark its main metric, after the counts of a simulated processor where these are measured beside it.

    Only ``metric`` where it is given.  Raises `UsageError` where no benchmark has it.
    """
    chosen = [each for each in config.benchmarks if not benchmarks or each.name in benchmarks]
    found = [quantity for each in chosen for quantity in _of(each, metric)]
    if metric is not None and not found:
        raise UsageError(f"--metric {metric}: no benchmark that is checked measures it")
    return found


def _of(benchmark: Benchmark, metric: str | None) -> list[Quantity]:
    used = sorted(asked(benchmark.metric), key=lambda each: not each.simulated)
    if metric is not None:
        named = [each for each in used if metric in each.metrics(benchmark.metric)]
        return [Quantity(benchmark.name, each.name, metric) for each in named[-1:]]
    main = primary_metric(benchmark)
    counted = [each for each in used if each.simulated and each.summing_up and each.name != main[0]]
    return [
        *(Quantity(benchmark.name, each.name, each.summing_up) for each in counted),
        Quantity(benchmark.name, *main),
    ]


def main_metrics(config: Config, quantities: Sequence[Quantity]) -> dict[str, tuple[str, str]]:
    """Benchmark -> (instrument, metric) of its main one, of those that are judged."""
    names = {each.benchmark for each in quantities}
    return {each.name: primary_metric(each) for each in config.benchmarks if each.name in names}
