"""What benchmarks ask of instruments by name: whether there are such instruments, and whether these measure that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutrand.config.config import Benchmark
from layoutrand.config.metric import Metric
from layoutrand.config.problems import suggest
from layoutrand.errors import ConfigError
from layoutrand.instruments.known import asked, instruments


def check_asked(benchmarks: Sequence[Benchmark], path: str) -> None:
    """Raise `ConfigError` with every problem in ``metric.instruments`` of these benchmarks, which ``path`` has."""
    problems = [
        f"benchmarks[{number}].{problem}"
        for number, benchmark in enumerate(benchmarks)
        if benchmark.metric.instruments  # the other keys are checked as they are read
        for problem in _problems(benchmark.metric)
    ]
    if problems:
        raise ConfigError(path, problems)


def _problems(metric: Metric) -> Iterator[str]:
    used = {each.name: each for each in asked(metric)}
    named = {each.name: each for each in instruments()}
    for name in metric.instruments:
        if name not in named:
            hint = suggest(name, list(named))
            yield f"metric.instruments: no instrument is called {name!r}; there are {', '.join(named)}{hint}"
        elif name not in used:
            yield f"metric.instruments: {name} is asked for by {named[name].settings}"
    measured = [name for each in used.values() for name in each.metrics(metric)]
    if metric.primary is not None and metric.primary not in measured:
        yield f"metric.primary = {metric.primary!r} is not measured; there are {', '.join(measured) or 'none'}"
