"""What `layoutrand init` and `layoutrand try` have in common: a build command, a program, and a first build of them."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import options
from layoutrand.cli.terminal import Terminal
from layoutrand.errors import BuildFailed, NothingLinked, UsageError
from layoutrand.library.project_directory import possible

if TYPE_CHECKING:
    from layoutrand.build.first_build import Learned
    from layoutrand.build.program_choice import ChosenProgram
    from layoutrand.capture.recognise import Recognised
    from layoutrand.config.config import System

Source = Annotated[
    Path,
    typer.Option(
        "-C",
        "--directory",
        metavar="DIR",
        callback=possible,
        show_default=False,
        help="The directory of the source; default: this one.",
    ),
]
Toolchain = Annotated[
    str | None,
    typer.Option("--toolchain", metavar="NAME", help="Compiler and linker; default: those that the build calls."),
]
Stdin = Annotated[
    str | None, typer.Option("--stdin", metavar="FILE", help="What the program reads from its standard input.")
]
SEPARATOR = "--"
_USUAL_COMPILERS = ("", "cc", "gcc")


@dataclass(frozen=True)
class FirstWords:
    """The words behind the options: a build command, and a program with its arguments; either may be empty."""

    build: tuple[str, ...]
    program: tuple[str, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> FirstWords:
        """Split at ``--``; one that stands before everything is not counted."""
        line = list(words)
        for word in line:
            _refuse_other_than_text(word, repr(word))
        if line[:1] == [SEPARATOR]:
            line = line[1:]
        if SEPARATOR not in line:
            return cls(tuple(line), ())
        place = line.index(SEPARATOR)
        return cls(tuple(line[:place]), tuple(line[place + 1 :]))

    def of_java(self) -> tuple[str, ...]:
        """The whole command where it starts Java in place of a build; else nothing."""
        from layoutrand.config.command import starts_java

        if not starts_java(self.build):
            return ()
        return (*self.build, SEPARATOR, *self.program) if self.program else self.build


@dataclass(frozen=True)
class FirstQuestion:
    """What a first build is to find out: of the source in ``directory``, with these words, as the user chose."""

    directory: Path
    words: FirstWords
    toolchain: str | None
    jobs: int
    terminal: Terminal

    def folder(self) -> str:
        """Where words were typed, relative to the source; "" for the source itself or a place beside it."""
        inside = os.path.relpath(Path.cwd().resolve(), self.directory.resolve())
        return "" if inside == "." or inside.startswith("..") else inside

    def recognised(self) -> Recognised:
        """The build that was given, or that the directory's files are of, with the flags that this shell exports.

        They become part of what is written: without them the file would be of another build than was seen to work.
        """
        from layoutrand.config.build_recipe import exported_flags

        found = self._found()
        compiler = os.environ.get("CC", "")
        if self.toolchain is None and found.toolchain != "go" and compiler not in _USUAL_COMPILERS:
            self.terminal.say(
                f"CC={compiler} of this shell is not what builds: CC leads to a compiler of layoutrand's toolchains, "
                "which --toolchain chooses (such as clang, or a file that names the compiler)"
            )
        exported = exported_flags(os.environ, toolchain=found.toolchain, is_rust=found.is_rust)
        if not exported:
            return found
        for name, value in exported.items():
            _refuse_other_than_text(value, f"{name} of this shell, {value!r},")
        take = "take" if len(exported) > 1 else "takes"
        self.terminal.say(f"{' and '.join(exported)} of this shell {take} part in the build (build.env)")
        ways = tuple(replace(way, env={**exported, **way.env}) for way in found.ways)
        return replace(found, ways=ways)

    def _refuse_directory(self) -> None:
        """Raise `UsageError` where a directory stands for the command that builds; options behind it are then its."""
        word = next(iter(self.words.build), "")
        if os.path.isdir(word) and not shutil.which(word) and not (self.directory / word).is_file():
            folder = shlex.quote(word)
            raise UsageError(
                f"{folder} is a directory, and no command that builds: -C {folder} takes the one that is found there"
            )

    def _found(self) -> Recognised:
        from layoutrand.capture.recognise import given, recognise
        from layoutrand.platform.process import SubprocessRunner

        if not self.directory.is_dir():
            raise UsageError(f"-C {self.directory}: no such directory")
        self._refuse_directory()
        if self.words.build:
            return given(self.words.build, self.directory, SubprocessRunner())
        return recognise(self.directory, SubprocessRunner())

    def _hint(self, found: Recognised) -> str:
        """What else might be typed where the first build fails; "" where nothing comes to mind."""
        from layoutrand.build.java_project import builds_java
        from layoutrand.config.command import starts_java
        from layoutrand.objects.elf import is_elf

        program = self.words.program
        if starts_java(program) or builds_java(self.words.build):
            started = shlex.join(program) or "java -jar target/benchmarks.jar"
            return f"Of Java nothing is linked: once it is built, layoutrand init{at(self.directory)} -- {started}"
        if not self.words.build:
            lines = [shlex.quote(line) for line in found.others] or ["COMMAND"]
            told = [f"layoutrand init{at(self.directory)} -- {line}" for line in lines]
            between = "\n    " if found.others else " "
            return between.join(["Nothing was written. Where it is built in another way, give the command:", *told])
        first = self.directory / self.words.build[0]
        if not os.path.isfile(first) or not is_elf(first.read_bytes()):
            return ""
        return (
            f"{self.words.build[0]} is a program, and was executed as the command that builds; that command comes "
            f"first: layoutrand init -- make -- {' '.join(self.words.build)}"
        )

    def learn(self, found: Recognised, system: str, settings: System) -> Learned:
        """Make the build once; says what it found."""
        from layoutrand.build.first_build import FirstBuild, FirstSystem
        from layoutrand.build.program_choice import Likeliest, NamedByWords
        from layoutrand.cache.store import Cache, default_root
        from layoutrand.capture.recognise import project_names
        from layoutrand.platform.process import SubprocessRunner

        chooser = (
            NamedByWords(self.words.program, self.folder())
            if self.words.program
            else Likeliest((*found.hints, *project_names(self.directory)))
        )
        first = FirstBuild(
            project=self.directory,
            found=found,
            system=FirstSystem(system, settings, self.toolchain),
            choose=chooser,
            cache=Cache(default_root()),
            runner=SubprocessRunner(),
            jobs=options.count_jobs(self.jobs),
            say=self.terminal.say,
        )
        try:
            with self.terminal.progress("first build"):
                learned = first.learn()
        except (BuildFailed, NothingLinked) as error:
            hint = self._hint(found)
            if not hint:
                raise
            raise type(error)(f"{error.message}\n{hint}", log=error.log, cause=error.cause) from error
        if learned.mode == "rebuild":
            self.terminal.warn(
                f"the build changes {learned.chosen.artefacts[0]} after its link (strip, objcopy, ...), so each layout "
                "is a whole build (build.mode)"
            )
        return learned


def _refuse_other_than_text(value: str, what: str) -> None:
    """Raise `UsageError` for a value that no TOML can have."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} is no UTF-8, and cannot stand in layoutrand.toml") from error


def at(directory: Path) -> str:
    """What a command line needs to be of this directory, as a shell reads it."""
    return "" if directory == Path() else f" -C {shlex.quote(str(directory))}"


def beside(chosen: ChosenProgram, names: Sequence[str] = (), where: str = "") -> list[str]:
    """What was linked besides and stays as it is, a line for programs and one for libraries, where there are any.

    ``names`` are those that the project may go by, where nobody has named the program: a library of such a name is more
    likely what is to be measured than a program of another one. ``where`` is what `at` says of the directory.
    """
    from layoutrand.text.name_lists import several_paths

    lines, program = [], chosen.artefacts[0]
    if chosen.others:
        why = f"{program} was chosen {chosen.why}; " if chosen.why else ""
        lines.append(f"{why}linked besides, and not laid out: {several_paths(chosen.others)}")
    own = [path for path in chosen.libraries if os.path.basename(program) not in names and _is_called(path, names)]
    if own:
        lines.append(
            f"{several_paths(own)}, by its name what this project is for, is not laid out: {program} is not linked "
            "with that file. To measure its code, name a program that the build links with it, or with the static "
            f"library: layoutrand init --force{where} -- BUILD -- PROGRAM; or list it in build.artefacts, if {program} "
            "opens it (dlopen) relative to {artefact_dir}"
        )
    if opened := [path for path in chosen.libraries if path not in own]:
        lines.append(
            f"shared libraries that nothing is linked with, not laid out: {several_paths(opened)}; what "
            f"{program} opens by itself (dlopen) moves once build.artefacts lists it, if it is opened relative to "
            "{artefact_dir} and not where it is installed"
        )
    return lines


def _is_called(library: str, names: Sequence[str]) -> bool:
    """Whether the file is ``libNAME.so``, whatever its version, of one of the names, which may begin with lib."""
    stem = os.path.basename(library).partition(".so")[0].removeprefix("lib")
    return any(name.removeprefix("lib") == stem for name in names)
