"""What layoutrand.toml refers to: toolchains, and files of the project, looked at before anything is built."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from layoutrand.config.config import Benchmark, Config
from layoutrand.config.lines import line_of, lines_of
from layoutrand.config.toolchain import Toolchain, require_factors
from layoutrand.errors import ConfigError, LayoutrandError
from layoutrand.linkers import toolbox as toolboxes
from layoutrand.linkers.toolbox import Surroundings
from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

_PROJECT: Final = "{project}/"


def check_references(config: Config, systems: Sequence[str], project: Path) -> None:
    """Raise `ConfigError` with everything that these systems and all benchmarks name and that is not there.

    Programs of a toolchain that this machine lacks are no mistake in the file: they are told with the system that
    wants them.
    """
    problems = [
        *_source(config, project),
        *_toolchains(config, systems, project),
        *_prebuilt(config, systems, project),
    ]
    if config.suite is None:  # whose files come from the suite's own tools
        problems += [each for n, benchmark in enumerate(config.benchmarks) for each in _files(benchmark, n, project)]
    if problems:
        raise ConfigError(str(project / "layoutrand.toml"), list(dict.fromkeys(problems)))  # systems share a toolchain


def _source(config: Config, project: Path) -> Iterator[str]:
    build = config.build
    is_built = any(system.prebuilt is None for system in config.systems.values())
    if is_built and build.repo is None and build.generated() is None and not (project / build.source).is_dir():
        yield f"build.source: {project / build.source} is not a directory"


def _toolchains(config: Config, systems: Sequence[str], project: Path) -> Iterator[str]:
    def others() -> list[Toolchain]:
        return [toolboxes.declared(other, project) for other in toolboxes.shipped()]

    for name in systems:
        system = config.systems[name]
        if system.prebuilt is not None:
            continue
        where = f"systems.{name}.toolchain"
        try:
            toolchain = toolboxes.load(system.toolchain, project, Surroundings.of(config, name))
        except ConfigError as error:  # the problems of a file of the project's own, each with its place there
            yield from (f"{where}: {problem}" for problem in _with_lines(error))
            continue
        except LayoutrandError as error:
            yield f"{where}: {error}"
            continue
        try:
            require_factors(toolchain, list(config.layout.factors), others)
        except LayoutrandError as error:
            yield f"layout.factors: {error}"


def _with_lines(error: ConfigError) -> Iterator[str]:
    """The problems of another file, each with that file and its line there."""
    try:
        lines = lines_of(text_of_regular(Path(error.path), largest=WRITTEN_BY_HAND))
    except (OSError, UnicodeDecodeError):  # one that ships with layoutrand
        lines = {}
    for problem in error.problems:
        line = line_of(problem, lines)
        yield f"{error.path}{'' if line is None else f', line {line}'}: {problem}"


def _prebuilt(config: Config, systems: Sequence[str], project: Path) -> Iterator[str]:
    for name in systems:
        folder = config.systems[name].prebuilt
        if folder is not None and not (project / folder).is_dir():
            yield f"systems.{name}.prebuilt: {project / folder} is not a directory"


def _files(benchmark: Benchmark, number: int, project: Path) -> Iterator[str]:
    """Files of a benchmark that are not there; of words of its command only what is below the project for certain."""
    named = [("stdin", benchmark.stdin), ("expect_stdout", benchmark.expect_stdout)]
    named += [(f"files[{place}]", name) for place, name in enumerate(benchmark.files)]
    for key, name in named:
        if name is not None and not os.path.lexists(project / name):
            yield f"benchmarks[{number}].{key}: there is no {project / name} (benchmark {benchmark.name!r})"
    if benchmark.command[0].startswith(_PROJECT):
        name = benchmark.command[0].removeprefix(_PROJECT)
        if "{" not in name and not os.path.lexists(project / name):
            yield f"benchmarks[{number}].command: there is no {project / name} (benchmark {benchmark.name!r})"
