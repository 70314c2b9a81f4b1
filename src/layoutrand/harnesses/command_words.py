"""``harness`` of benchmarks made into what their commands have to be given."""

from __future__ import annotations

from layoutrand.config.command import literally
from layoutrand.config.config import Benchmark, Config
from layoutrand.config.readings import HarnessReading
from layoutrand.errors import ConfigError, FeatureUnsupported
from layoutrand.harnesses.harness import UnsupportedByHarness
from layoutrand.harnesses.known import harness_named


def with_harness_words(config: Config, path: str) -> Config:
    """The configuration with the words and variables of harnesses in the commands that have one.

    Raises `ConfigError`, ``path`` being the file, for harnesses that there are not and what they cannot do.
    """
    problems: list[str] = []
    benchmarks = []
    for number, benchmark in enumerate(config.benchmarks):
        try:
            benchmarks.append(_expanded(benchmark))
        except FeatureUnsupported as error:
            problems.append(f"benchmarks[{number}].harness: {error}")
        except UnsupportedByHarness as error:
            problems.append(f"benchmarks[{number}].{error}")
    if problems:
        raise ConfigError(path, problems)
    return config if benchmarks == config.benchmarks else config.model_copy(update={"benchmarks": benchmarks})


def with_one_case(benchmark: Benchmark, case: str) -> Benchmark:
    """A benchmark that `with_harness_words` made, for one case alone; raises `UnsupportedByHarness`."""
    reading = benchmark.metric.suite
    assert isinstance(reading, HarnessReading)
    harness = harness_named(reading.harness)
    own = benchmark.command[: len(benchmark.command) - len(harness.words(reading))]
    return benchmark.model_copy(update={"command": [*own, *(literally(word) for word in harness.words_for(case))]})


def has_words_for_one(benchmark: Benchmark, case: str) -> bool:
    """Whether `with_one_case` has words for that case."""
    try:
        with_one_case(benchmark, case)
    except UnsupportedByHarness:
        return False
    return True


def _expanded(benchmark: Benchmark) -> Benchmark:
    reading = benchmark.metric.suite
    if not isinstance(reading, HarnessReading):
        return benchmark
    harness = harness_named(reading.harness)
    if refusal := harness.refusal(benchmark.command):
        raise UnsupportedByHarness(f"command: {refusal}")
    return benchmark.model_copy(
        update={
            "command": [*benchmark.command, *(literally(word) for word in harness.words(reading))],
            "env": {**harness.environment(), **benchmark.env},
        }
    )
