"""Options of the program itself, and `layoutrand init`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import learning, options
from layoutrand.errors import UsageError
from layoutrand.text.toml_words import toml_string
from layoutrand.version import __version__

if TYPE_CHECKING:
    from layoutrand.build.new_project import NewProject
    from layoutrand.cli.terminal import Terminal


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"layoutrand {__version__}")
        raise typer.Exit


def common(
    version: Annotated[
        bool, typer.Option("-V", "--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Build a program in many layouts, run each binary once, and learn how much layout matters."""


def init(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- BUILD COMMAND [-- PROGRAM ARGS]]",
            help="How it is built, where that is not to be found out; and what to execute.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing layoutrand.toml.")] = False,
    toolchain: learning.Toolchain = None,
    stdin: learning.Stdin = None,
    directory: learning.Source = Path(),
    jobs: options.Jobs = 0,
    quiet: options.Quiet = False,
) -> int:
    """Make the build found here once, and write a commented layoutrand.toml that repeats it.

    Example: layoutrand init

    Example: layoutrand init -- make -C src -- ./prog input.txt

    It knows make, configure scripts and autotools, CMake, Meson and Cargo. The build happens in a copy of the source,
    with wrappers that record what is linked; its result is kept for `layoutrand run`. Of a command that starts Java
    (`layoutrand init -- java -jar target/benchmarks.jar`) nothing is built: the JDK is the system.
    """
    from layoutrand.build.new_project import refuse_existing, write_project

    terminal = options.terminal(json=False, quiet=quiet)
    refuse_existing(directory, force=force)
    asked = learning.FirstWords.of(words or [])
    if of_java := asked.of_java():
        if toolchain is not None:
            raise UsageError(f"--toolchain {toolchain}: of Java nothing is built")
        return _init_java(of_java, directory, stdin, terminal, force=force)
    question = learning.FirstQuestion(directory, asked, toolchain, jobs, terminal)
    project = _learned(question, stdin, terminal)
    path = write_project(directory, project.text(), force=force)
    _tell(path, project, question, terminal)
    return 0


def _init_java(words: Sequence[str], directory: Path, stdin: str | None, terminal: Terminal, *, force: bool) -> int:
    """The project of a command that starts a JVM."""
    from layoutrand.build.java_project import java_project
    from layoutrand.build.new_project import write_project

    project = java_project(words, directory, Path.cwd(), stdin)
    path = write_project(directory, project.text(), force=force)
    where = learning.at(directory)
    terminal.line(f"{path} written: {project.jdk.words or project.jdk.home} is the system {project.jdk.system}")
    if project.benchmark.harness:
        terminal.line(f"  each of its cases is a benchmark (harness = {toml_string(project.benchmark.harness)})")
    if project.is_dacapo:
        terminal.line(
            '  each execution is timed as a whole, warm-up included; [suite] with kind = "dacapo" in place of [build] '
            "and [[benchmarks]] records each iteration"
        )
    if project.factors:
        terminal.line(f"  a layout is where it puts {project.placed} ({', '.join(project.factors)})")
    else:
        terminal.line("  it has one layout: add a system to compare it with")
    terminal.line(f"Next: layoutrand run{where} · layoutrand analyse{where}")
    return 0


def _learned(question: learning.FirstQuestion, stdin: str | None, terminal: Terminal) -> NewProject:
    """The project that a first build shows."""
    from layoutrand.build.first_systems import AS_IT_IS, systems_to_compare, with_fortran
    from layoutrand.build.new_project import (
        FirstBenchmark,
        NewProject,
        benchmark_of,
        in_its_harness,
        of_go_test,
        of_linked_cases,
        unreported_cases,
    )
    from layoutrand.capture.recognise import safe_name
    from layoutrand.errors import FlagsUnheard
    from layoutrand.platform.process import SubprocessRunner

    found = question.recognised()
    systems = systems_to_compare(question.toolchain or found.toolchain or "gcc", is_rust=found.is_rust)
    first, is_fortran = next(iter(systems)), False
    try:
        learned = question.learn(found, first, systems[first])
    except FlagsUnheard as error:
        is_fortran = error.is_fortran
        again = "with fflags in its place" if is_fortran else "without, as the one system"
        terminal.say(f"{error.unheard}: the build is made again {again}")
        systems = with_fortran(systems, is_alone=True) if is_fortran else dict(AS_IT_IS)
        learned = question.learn(found, *next(iter(systems.items())))
    if learned.has_fortran and not is_fortran:
        systems = with_fortran(systems, is_alone=False)
    artefact = learned.chosen.artefacts[0]
    words = question.words.program or (artefact,)
    benchmark: FirstBenchmark | None = None
    if learned.chosen.is_program:
        benchmark = benchmark_of(words, learned.chosen.place, Path.cwd(), question.directory, stdin)
        if found.is_rust:
            benchmark = in_its_harness(benchmark, artefact, question.directory, SubprocessRunner())
        benchmark = of_linked_cases(of_go_test(benchmark, learned.way.commands), learned.harness)
        if needed := unreported_cases(benchmark, learned.harness):
            terminal.warn(needed)
    name, others = safe_name(question.directory), (found.benches, found.presets)
    return NewProject(name, found.what, learned, systems, benchmark, *others)


def _tell(path: Path, project: NewProject, question: learning.FirstQuestion, terminal: Terminal) -> None:
    """What was written, and what to do now."""
    from layoutrand.capture.recognise import project_names

    learned = project.learned
    where = learning.at(question.directory)
    what = ", ".join(learned.chosen.artefacts)
    terminal.line(f"{path} written: {project.what} links {what} with toolchain {learned.toolchain}")
    names = () if question.words.program else project_names(question.directory)
    for line in learning.beside(learned.chosen, names, where):
        terminal.line(f"  {line}")
    if project.presets:
        preset = shlex.quote(project.presets[0])
        terminal.line(f"  its presets were not used; to build by one: layoutrand init --force{where} -- {preset}")
    if project.benchmark is None:
        terminal.line("  a library alone: add a benchmark, a program that uses it, to the file")
        return
    if not question.words.program and not project.benchmark.harness:  # which is told what to execute
        given = f"{project.benchmark.stdin} as its" if project.benchmark.stdin else "an empty"
        terminal.line(
            f"  to be executed: {what.split(', ', maxsplit=1)[0]} without arguments and with {given} standard input; "
            "it has to end by itself. Add what it needs in the file: command, stdin"
        )
    if project.benches and not question.words.program:  # nobody has said which program it is to be
        terminal.line(f"  for a benchmark of its own: layoutrand init --force{where} -- {project.benches[0]}")
    if project.benchmark.harness:
        terminal.line(f"  each of its cases is a benchmark (harness = {toml_string(project.benchmark.harness)})")
    if project.inputs:
        are, it = ("are", "them") if len(project.inputs) > 1 else ("is", "it")
        whole = f"{', '.join(project.inputs)} {are} part of the source"
        terminal.line(f"  {whole}: a change builds anew, unless build.exclude names {it}")
    if len(project.systems) > 1:
        terminal.line(f"Next: layoutrand run{where} · layoutrand compare{where}")
    else:
        terminal.line("  one system, built as it is: for a comparison add another, such as one with an env of its own")
        terminal.line(f"Next: layoutrand run{where} · layoutrand analyse{where}")
