"""``harness`` of benchmarks made into what their commands have to be given."""

from __future__ import annotations

from typing import Final

from layoutrand.config.command import literally
from layoutrand.config.config import Benchmark, Config
from layoutrand.config.readings import HarnessReading
from layoutrand.errors import ConfigError, FeatureUnsupported
from layoutrand.harnesses.harness import Harness, UnsupportedByHarness
from layoutrand.harnesses.known import harness_named

_BY_ITSELF: Final = ("{artefact", "{home}")
"""How a command begins whose program starts where the execution begins."""


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
    words = [_placed(benchmark, harness, literally(word)) for word in harness.words_for(case)]
    return benchmark.model_copy(update={"command": [*own, *words]})


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
    variables = {name: _placed(benchmark, harness, value) for name, value in harness.environment().items()}
    words = [_placed(benchmark, harness, literally(word)) for word in harness.words(reading)]
    return benchmark.model_copy(update={"command": [*benchmark.command, *words], "env": {**variables, **benchmark.env}})


def _placed(benchmark: Benchmark, harness: Harness, word: str) -> str:
    """The word or value, with what the harness is to leave behind where it is found wherever the program starts.

    Another program that starts it, such as ``env -C {project}``, may do so elsewhere than where the execution begins:
    a name alone would then be a file of the user's directory, and nothing would be read.
    """
    option, equals, value = word.rpartition("=")
    if value not in harness.placed or benchmark.command[0].startswith(_BY_ITSELF):
        return word
    return f"{option}{equals}{{tmp}}/{value}"
