"""``[suite] kind = "dacapo"`` made into benchmarks: jar and JDKs are looked at, and what does not fit is told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from layoutrand.config.config import Benchmark, Build, Config
from layoutrand.config.dacapo_settings import DacapoSuite
from layoutrand.config.problems import problems_of
from layoutrand.errors import ConfigError
from layoutrand.suites.dacapo_callback import compiled_callback
from layoutrand.suites.dacapo_expansion import JVM_LIBRARIES, benchmarks, wrong
from layoutrand.suites.dacapo_jar import jar_facts


def expand(suite: DacapoSuite, config: Config, project: Path) -> tuple[Build, list[Benchmark]]:
    """The virtual machine as the artefact, and a benchmark for each one that is wanted; raises `ConfigError`."""
    path = project / "layoutrand.toml"
    build, problems = config.build, list[str]()
    if build.image is None:
        library, problems = _virtual_machine(config, project)
        build = Build(artefacts=[library])
    try:
        facts = jar_facts(project.resolve() / suite.jar, config=path)
    except ConfigError as error:
        raise ConfigError(str(path), [*problems, *error.problems]) from error
    problems += wrong(suite, facts)
    if problems:
        raise ConfigError(str(path), problems)
    callback = None
    if suite.nanoseconds:
        homes = [project.resolve() / system.prebuilt for system in config.systems.values() if system.prebuilt]
        callback = compiled_callback(project, homes)
    try:
        return build, benchmarks(suite, facts, callback)
    except ValidationError as error:  # of words that are the user's own, since ours are right
        found = problems_of(error, Benchmark)
        lines = [each.message if each.where == "command" else str(each) for each in found]
        raise ConfigError(
            str(path), [f"suite.java_options, suite.options or suite.jar: {line}" for line in lines]
        ) from error


def _virtual_machine(config: Config, project: Path) -> tuple[str, list[str]]:
    """Where all JDKs have their virtual machine, relative to each; and what is wrong with them."""
    problems: list[str] = []
    found: dict[str, list[str]] = {}
    for name, system in config.systems.items():
        if system.prebuilt is None:
            problems.append(
                f'systems.{name}: [suite] dacapo needs prebuilt = "DIRECTORY", the home of a JDK (or a [build.image])'
            )
            continue
        home = project.resolve() / system.prebuilt
        libraries = [library for library in JVM_LIBRARIES if (home / library).is_file()]
        lacking = list(_lacking(home, libraries))
        problems += [f"systems.{name}.prebuilt: {home} is not the home of a JDK: {why}" for why in lacking]
        if not lacking:
            found[name] = libraries
    if problems or not found:
        return JVM_LIBRARIES[0], problems
    common = [library for library in JVM_LIBRARIES if all(library in libraries for libraries in found.values())]
    if not common:
        listed = ", ".join(f"{name} has {libraries[0]}" for name, libraries in found.items())
        return JVM_LIBRARIES[0], [f"systems: these JDKs do not have their virtual machine at the same place ({listed})"]
    return common[0], []


def _lacking(home: Path, libraries: list[str]) -> Iterator[str]:
    if not home.is_dir():
        yield "there is no such directory"
    elif not os.access(home / "bin/java", os.X_OK):
        yield "there is no program bin/java in it"
    elif not libraries:
        yield f"there is no {JVM_LIBRARIES[0]} in it"
