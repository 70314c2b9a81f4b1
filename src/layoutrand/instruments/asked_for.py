"""What benchmarks ask of instruments: whether there are such ones here, and which number is the main one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from layoutrand.config.config import Benchmark, Config, choose
from layoutrand.config.metric import Metric
from layoutrand.config.problems import suggest
from layoutrand.errors import ConfigError, FeatureUnsupported
from layoutrand.instruments.known import asked, instruments, program_itself
from layoutrand.model import RUSAGE_METRICS


def primary_metric(benchmark: Benchmark) -> tuple[str, str]:
    """(Instrument, metric) that a benchmark is judged by.

    What ``primary`` says, of a real processor before a simulated one; it may be what the kernel counts.  Else the first
    of the first instrument: wall time, a number that the program prints, the cycles estimated from simulated caches, a
    counter.
    """
    metric = benchmark.metric
    used = asked(metric)
    if not used:
        raise FeatureUnsupported(f"benchmark {benchmark.name!r}: no instrument here measures what its metric asks for")
    if metric.primary is None or metric.by_case:  # whose cases have their own: `layoutrand.execute.cases`
        return used[0].name, used[0].metrics(metric)[0]
    for each in sorted(used, key=lambda instrument: instrument.simulated):
        if metric.primary in each.metrics(metric):
            return each.name, metric.primary
    if metric.primary in kernel_metrics(metric):
        return program_itself().name, metric.primary
    raise FeatureUnsupported(f"benchmark {benchmark.name!r}: primary = {metric.primary!r} is not measured")


def measured_by(benchmark: Benchmark, name: str) -> tuple[str, str]:
    """(Instrument, metric) of that name; raises `UsageError` where the benchmark has none."""
    known = {metric: each.name for each in asked(benchmark.metric) for metric in each.metrics(benchmark.metric)}
    if name in kernel_metrics(benchmark.metric):
        return program_itself().name, name
    choose("metric", [name], list(known))
    return known[name], name


def kernel_metrics(metric: Metric) -> Collection[str]:
    """What the kernel counts of each process beside what the metric asks for; nothing of those that a suite starts."""
    is_ours = program_itself() in asked(metric) and not (metric.suite is not None and metric.suite.by_tools)
    return RUSAGE_METRICS if is_ours else ()


def judged_by(config: Config, name: str, metric: str) -> Config:
    """The same configuration, whose benchmark of that name is judged by that metric.

    Raises `UsageError` where it has none of that name; what cases of a harness have is known once they were executed.
    """
    benchmark = next(each for each in config.benchmarks if each.name == name)
    if not benchmark.metric.by_case:
        measured_by(benchmark, metric)
    judged = benchmark.model_copy(update={"metric": benchmark.metric.model_copy(update={"primary": metric})})
    return config.model_copy(
        update={"benchmarks": [judged if each is benchmark else each for each in config.benchmarks]}
    )


def instruments_for(benchmark: Benchmark, name: str) -> tuple[str, ...]:
    """The instruments that a metric of that name takes: the one that measures it; raises `UsageError` for no metric.

    Of a harness whose cases have numbers of their own it is all, as nobody knows those before it was executed.
    """
    if benchmark.metric.by_case:
        return tuple(each.name for each in asked(benchmark.metric))
    return (measured_by(benchmark, name)[0],)


def check_programs(config: Config, benchmarks: Sequence[str]) -> None:
    """Raise `ToolNotFound` that names the package where these benchmarks (all where empty) need an absent program.

    It is asked before anything is built for them.  Executions on nodes need it there, and nodes say so.
    """
    if config.remote is not None:
        return
    chosen = [benchmark for benchmark in config.benchmarks if not benchmarks or benchmark.name in benchmarks]
    needed = {each for benchmark in chosen for each in asked(benchmark.metric)}
    for each in instruments():
        if each in needed:
            each.find()


def check_asked(benchmarks: Sequence[Benchmark], path: str) -> None:
    """Raise `ConfigError` with every problem in ``metric.instruments`` and ``metric.primary`` of these benchmarks.

    ``path`` is the file that has them.
    """
    problems = [
        f"benchmarks[{number}].{problem}"
        for number, benchmark in enumerate(benchmarks)
        for problem in _problems(benchmark.metric)
    ]
    if problems:
        raise ConfigError(path, problems)


def _problems(metric: Metric) -> Iterator[str]:
    used = asked(metric)
    named = {each.name: each for each in instruments()}
    for name in metric.instruments:
        if name not in named:
            hint = suggest(name, list(named))
            yield f"metric.instruments: no instrument is called {name!r}; there are {', '.join(named)}{hint}"
        elif named[name] not in used:
            yield f"metric.instruments: {name} is asked for by {named[name].settings}"
    measured = [name for each in used for name in each.metrics(metric)]
    known = {*measured, *kernel_metrics(metric)}
    if metric.primary is not None and not metric.by_case and metric.primary not in known:
        yield f"metric.primary = {metric.primary!r} is not measured; there are {', '.join(measured) or 'none'}"
