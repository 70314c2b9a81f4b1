"""Suites with a harness of their own: ``[suite]`` made into benchmarks, and what their harness left judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from layoutrand.config.config import Benchmark, Build, Config
from layoutrand.config.dacapo import DacapoSuite
from layoutrand.config.readings import DacapoReading, Reading
from layoutrand.config.spec_cpu import SpecSuite
from layoutrand.config.suite_build import SuiteBuild
from layoutrand.config.warmup_choices import wrong_choices
from layoutrand.errors import ConfigError
from layoutrand.suites import dacapo_output, dacapo_suite, spec_output, spec_suite
from layoutrand.suites.verdict import HarnessOutput, Verdict


@dataclass(frozen=True)
class Expansion:
    """What a suite comes to: the build of its artefacts, and its benchmarks."""

    build: Build
    benchmarks: list[Benchmark]


def expanded(config: Config, project: Path) -> Config:
    """The configuration with a build and benchmarks in the place of ``[suite]``, which stays for the record.

    Raises `ConfigError` where the suite is not there, is another version, or has no such benchmark.
    """
    if config.suite is None:
        return config
    made = _expand(config.suite, config, project)
    entries = [entry.model_dump() for entry in config.warmup]
    wrong = list(wrong_choices(entries, [benchmark.name for benchmark in made.benchmarks], list(config.systems)))
    if wrong:
        raise ConfigError(str(project / "layoutrand.toml"), wrong)
    return config.model_copy(update={"build": made.build, "benchmarks": made.benchmarks})


def _expand(suite: SpecSuite | DacapoSuite, config: Config, project: Path) -> Expansion:
    if isinstance(suite, DacapoSuite):
        return Expansion(*dacapo_suite.expand(suite, config, project))
    return Expansion(*spec_suite.expand(suite, config, project))


def build_tools(build: Build) -> spec_suite.SpecTools | None:
    """What is known of the tools that do the build, where they are a suite's own."""
    return spec_suite.SpecTools(build) if isinstance(build, SuiteBuild) else None


def judge_suite(reading: Reading, ended: HarnessOutput) -> Verdict:
    """What the harness's output says of the execution."""
    if isinstance(reading, DacapoReading):
        return dacapo_output.judge(reading, ended)
    return spec_output.judge(reading, ended)
