"""``[suite]`` made into a build and benchmarks like any other."""

from __future__ import annotations

from pathlib import Path

from layoutrand.capture.build_order import SuiteTools
from layoutrand.config.config import Build, Config
from layoutrand.config.warmup_choices import wrong_choices
from layoutrand.errors import ConfigError


def expanded(config: Config, project: Path) -> Config:
    """The configuration with a build and benchmarks in the place of ``[suite]``, which stays for the record.

    Raises `ConfigError` where the suite is not there, is another version, or has no such benchmark.
    """
    if config.suite is None:
        return config
    from layoutrand.suites.known import by_kind  # of which a project without a suite needs none

    made = by_kind(config.suite.kind).expand(config.suite, config, project)
    entries = [entry.model_dump() for entry in config.warmup]
    wrong = list(wrong_choices(entries, [benchmark.name for benchmark in made.benchmarks], list(config.systems)))
    if wrong:
        raise ConfigError(str(project / "layoutrand.toml"), wrong)
    return config.model_copy(update={"build": made.build, "benchmarks": made.benchmarks})


def build_tools(config: Config, build: Build) -> SuiteTools | None:
    """What is known of the tools that do the build, where they are a suite's own."""
    if config.suite is None:
        return None
    from layoutrand.suites.known import by_kind

    return by_kind(config.suite.kind).tools(build)
