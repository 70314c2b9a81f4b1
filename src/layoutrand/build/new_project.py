"""A new project's layoutrand.toml, of what was given and what a first build taught (`layoutrand init` and `try`)."""

from __future__ import annotations

import glob
import os
import posixpath
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from layoutrand.build.first_build import Learned
from layoutrand.build.first_systems import example_of
from layoutrand.capture.cargo_project import bench_harness, cargo_project
from layoutrand.capture.recognise import safe_name
from layoutrand.capture.source import is_ours, left_out
from layoutrand.config.command import SYSTEM_PATH, literal_in, placeholders_in
from layoutrand.config.config import System, parse
from layoutrand.config.readings import HarnessReading
from layoutrand.errors import CacheError, ToolNotFound, UsageError
from layoutrand.harnesses.harness import Harness
from layoutrand.harnesses.known import harness_named
from layoutrand.platform.disk import cache_errors, check_writable, write_atomically
from layoutrand.platform.process import Runner
from layoutrand.text.render import render

GO_TEST: Final = "go-test"
_GO_TEST: Final = re.compile(r"(?:^|[\s/;&])go\s+test\s(?:.*\s)?-c(?:\s|$)")

_IN_PROJECT: Final = ("env", "-C", "{project}")
"""What starts a program there; executions begin in directories of their own."""

_ASKED: Final[tuple[dict[str, Any], ...]] = ({"cases": "x"}, {"repetitions": 10})

SCHEMA_PLACE = ".layoutrand/schema.json"
"""Where a project has the JSON Schema of its layoutrand.toml, for editors."""


@dataclass(frozen=True)
class FirstBenchmark:
    """What to execute: words as in benchmarks.command, a file for standard input, whether to count by simulation.

    ``harness`` is what its numbers come from, "" for a program that is measured as a whole; ``cases`` are the ones that
    its command asked for, in the harness's own words, and ``env`` the variables that it needs.  ``inputs`` are files
    and directories of the project that it names, by their paths in it.
    """

    name: str
    command: tuple[str, ...]
    stdin: str | None = None
    simulated: bool = False
    harness: str = ""
    cases: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()

    @property
    def keys_to_add(self) -> str:
        """Examples of what its harness can be asked for beside."""
        known = harness_named(self.harness)
        cases, repetitions = (HarnessReading(harness=known.name, **asked) for asked in _ASKED)
        could = {'cases = "a filter"': cases, "repetitions = 10": repetitions}
        return ", ".join(key for key, asked in could.items() if known.takes(asked))


@dataclass(frozen=True)
class NewProject:
    """All of a new layoutrand.toml: what it is for in words, what was learned, systems by name, the benchmark.

    ``benches`` are lines for `init` that take one of the build system's own benchmarks instead, ``presets`` such as
    build by one of its presets.
    """

    name: str
    what: str
    learned: Learned
    systems: Mapping[str, System]
    benchmark: FirstBenchmark | None = None
    benches: tuple[str, ...] = ()
    presets: tuple[str, ...] = ()

    def simulated(self, wanted: bool) -> NewProject:
        """The same with counts by simulation, or without."""
        assert self.benchmark is not None
        return replace(self, benchmark=replace(self.benchmark, simulated=wanted))

    def text(self) -> str:
        """The commented file, which is valid."""
        text = self.rendered()
        parse(text, path="layoutrand.toml")
        return text

    @property
    def inputs(self) -> tuple[str, ...]:
        """What the benchmark reads that is part of the source: nobody knows whether the build reads it, too."""
        named = () if self.benchmark is None else self.benchmark.inputs
        return tuple(each for each in named if is_part_of_source(each, self.learned.exclude))

    def rendered(self) -> str:
        """The commented file, unread."""
        chosen = self.learned.chosen
        return render(
            "layoutrand.toml.j2",
            schema=SCHEMA_PLACE,
            found=self.what,
            name=self.name,
            build=self.learned,
            others=chosen.others,
            inputs=self.inputs,
            exclude_too=[*self.learned.exclude, *map(glob.escape, self.inputs)],
            example=example_of(self.learned, self.systems),
            systems=[
                (name, {key: value for key, value in system.model_dump(exclude_defaults=True).items() if value})
                for name, system in self.systems.items()
            ],
            benchmark=self.benchmark,
        )


def benchmark_of(words: Sequence[str], place: int, folder: Path, project: Path, stdin: str | None) -> FirstBenchmark:
    """The benchmark that a command is, whose word at ``place`` is the program; typed in ``folder`` of the project.

    Executions have fresh working directories, so files of the project are named by their path in it.  Raises
    `UsageError` for a file that is not there.
    """
    command = [
        "{artefact}" if number == place else with_place(word, folder, project) for number, word in enumerate(words)
    ]
    name = safe_name(Path(posixpath.basename(words[place])))
    typed = [_named_file(word, folder) for number, word in enumerate(words) if number != place]
    places = [_inside(each, folder, project) for each in [*typed, stdin] if each is not None]
    inputs = tuple(dict.fromkeys(each for each in places if each))
    return FirstBenchmark(name, tuple(command), stdin_of(stdin, folder, project), inputs=inputs)


def stdin_of(name: str | None, folder: Path, project: Path) -> str | None:
    """The file for standard input by its path in the project; raises `UsageError` where there is none."""
    if name is None:
        return None
    if not (folder / name).is_file():
        raise UsageError(f"--stdin {name}: there is no such file in {folder.absolute()}")
    return os.path.relpath((folder / name).resolve(), project.resolve())


def in_its_harness(benchmark: FirstBenchmark, artefact: str, project: Path, runner: Runner) -> FirstBenchmark:
    """The benchmark by the harness that its source names, where the artefact is a benchmark of Cargo's.

    Raises `FeatureUnsupported` for a harness that executes no benchmarks here, and `ToolNotFound` for what it starts.
    """
    folder, name = posixpath.split(artefact)
    found = cargo_project(project, runner) if posixpath.basename(folder) == "deps" else None
    harness = "" if found is None else bench_harness(found, name)
    if not harness:
        return benchmark
    known = harness_named(harness)
    words = tuple(word for word in benchmark.command if word != "--bench")  # which each of them is told anyway
    if known.in_project:
        words = (*_IN_PROJECT, *words)
    return replace(benchmark, command=words, harness=harness, env=_with_what_it_starts(known))


def of_linked_cases(benchmark: FirstBenchmark, harness: str) -> FirstBenchmark:
    """The benchmark by the harness that its program is linked with ("" for none), unless its command wants no times.

    Nor where the program has to be changed first (`unreported_cases`).
    """
    if not harness or benchmark.harness or not _is_artefact(benchmark) or harness_named(harness).needs:
        return benchmark
    return of_harness(benchmark, harness)


def unreported_cases(benchmark: FirstBenchmark, harness: str) -> str:
    """What has to be done before the program reports the cases of its harness; "" for nothing, or without one."""
    return harness_named(harness).needs if harness and not benchmark.harness and _is_artefact(benchmark) else ""


def _is_artefact(benchmark: FirstBenchmark) -> bool:
    """Whether it executes the artefact itself: another program has words of its own."""
    return benchmark.command[0] == "{artefact}"


def of_harness(benchmark: FirstBenchmark, harness: str) -> FirstBenchmark:
    """The benchmark by its harness, each of whose cases is one then, unless its command wants no times."""
    chosen = harness_named(harness).chosen_by(benchmark.command)
    if chosen is None:
        return benchmark
    words, cases = chosen
    return replace(benchmark, command=tuple(words), harness=harness, cases=literal_in(cases))


def _with_what_it_starts(harness: Harness) -> dict[str, str]:
    """PATH with the directories of the programs that a harness starts, where executions would not find these."""
    folders = []
    for program in harness.starts:
        path = shutil.which(program)
        if path is None:
            raise ToolNotFound(
                f"{harness.name} executes its benchmarks by {' and '.join(harness.starts)}: {program} is not on PATH"
            )
        folder = os.path.dirname(os.path.abspath(path))
        if shutil.which(program, path=SYSTEM_PATH) != path and folder not in folders:
            folders.append(folder)
    return {"PATH": ":".join([*folders, SYSTEM_PATH])} if folders else {}


_NO_TEST: Final = re.compile(r"\^\$|\^?(?:none|x{3})\$?", re.IGNORECASE)
"""Patterns of tests that people write for none."""


def of_go_test(benchmark: FirstBenchmark, commands: Sequence[str]) -> FirstBenchmark:
    """The benchmark by the harness of Go's testing package, where the program is one of ``go test -c``.

    A command that chooses its benchmarks itself has them as its cases; one that does something else stays as it is.
    """
    if not any(_GO_TEST.search(command) for command in commands):
        return benchmark
    own: list[str] = []
    cases = ""
    for option, value, given in _options_of_go(benchmark.command):
        if option == "test.bench" and value:
            cases = value
        elif option != "test.run" or not _NO_TEST.fullmatch(value):
            own += given
    if harness_named(GO_TEST).refusal(own):
        return benchmark
    return replace(benchmark, command=tuple(own), harness=GO_TEST, cases="" if cases == "." else literal_in(cases))


def _options_of_go(command: Sequence[str]) -> Iterator[tuple[str, str, list[str]]]:
    """The words, with name and value of what chooses tests or benchmarks: ``-test.bench=x`` or ``-test.bench x``."""
    words = iter(command)
    for word in words:
        option, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or option not in {"test.bench", "test.run"}:
            yield "", "", [word]
        elif equals:
            yield option, value, [word]
        else:
            value = next(words, "")
            yield option, value, [word, value]


def with_place(word: str, folder: Path, project: Path) -> str:
    """The word, with the file in it as executions find it; braces that would be placeholders are doubled."""
    option, equals, _ = _parts(word)
    if (name := _named_file(word, folder)) is not None:
        return f"{verbatim(option)}{equals}{in_project(name, folder, project)}"
    return verbatim(word)


def _parts(word: str) -> tuple[str, str, str]:
    """Option, ``=``, and what may be a file's name."""
    return word.partition("=") if word.startswith("-") and "=" in word else ("", "", word)


def _named_file(word: str, folder: Path) -> str | None:
    """The file or directory that the word names by a relative name, if it does."""
    _, _, name = _parts(word)
    there = folder / name
    # A directory's name may be a word like any other ("test"), so that it takes a slash to mean the directory.
    is_one = name and not os.path.isabs(name) and (os.path.isfile(there) or ("/" in name and os.path.isdir(there)))
    return name if is_one else None


def in_project(name: str, folder: Path, project: Path) -> str:
    """A relative name, as an execution finds it; where the two are the same place by different names, too."""
    inside = _relative(name, folder, project)
    return "{project}" if inside == "." else f"{{project}}/{verbatim(inside)}"


def _relative(name: str, folder: Path, project: Path) -> str:
    return os.path.relpath(os.path.join(os.path.realpath(folder), name), os.path.realpath(project))


def _inside(name: str, folder: Path, project: Path) -> str:
    """Its path in the project; "" for the project itself, and for what lies outside."""
    inside = _relative(name, folder, project)
    return "" if inside == "." or os.path.isabs(inside) or inside.split("/", 1)[0] == ".." else inside


def is_part_of_source(name: str, exclude: Sequence[str]) -> bool:
    """Whether what has this path in the project is copied for builds, so that a change of it makes another source."""
    return not left_out(name, exclude) and not is_ours(name)


def verbatim(word: str) -> str:
    """The word with braces doubled that would be a placeholder."""
    for name in dict.fromkeys(placeholders_in(word)):
        word = word.replace(f"{{{name}}}", f"{{{{{name}}}}}")
    return word


def write_project(directory: Path, text: str, *, force: bool) -> Path:
    """Write layoutrand.toml, and the schema beside; raises `UsageError` if there is one already, unless forced."""
    path = directory / "layoutrand.toml"
    refuse_existing(directory, force=force)
    write_schema(directory)
    with cache_errors("write", path):
        write_atomically(path, text.encode())
    return path


def refuse_existing(directory: Path, *, force: bool) -> None:
    """Raise `UsageError` where a new project cannot be: there is one, or no such directory; else as the next one."""
    path = directory / "layoutrand.toml"
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory")
    if path.exists() and not force:
        raise UsageError(f"{path} is there already; --force replaces it")
    for each in (path, directory / SCHEMA_PLACE):
        refuse_unwritable(each)


def refuse_unwritable(path: Path) -> None:
    """Raise `CacheError` where a file of a project cannot be written, before minutes go into a build for it."""
    try:
        check_writable(path)
    except OSError as error:
        raise CacheError(
            f"cannot write {path}: {error.strerror}. So nothing is built: mend the permissions or free some space, or "
            "work in a copy of the directory"
        ) from error


def write_schema(directory: Path) -> None:
    """Put the JSON Schema where the first line of layoutrand.toml says that it is."""
    from importlib.resources import files

    path = directory / SCHEMA_PLACE
    data = (files("layoutrand") / "schemas" / "layoutrand.schema.json").read_bytes()
    with cache_errors("write", path):
        write_atomically(path, data)


def described(learned: Learned) -> dict[str, Any]:
    """What was learned, as JSON values."""
    chosen = learned.chosen
    return {
        "toolchain": learned.toolchain,
        "commands": list(learned.way.commands),
        "env": dict(learned.way.env),
        "artefacts": list(chosen.artefacts),
        "others": list(chosen.others),
        "linker": chosen.linker,
        "mode": learned.mode,
    }
