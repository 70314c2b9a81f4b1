"""A new project's layoutrand.toml for a command that starts a Java program: systems are JDKs, and nothing is built."""

from __future__ import annotations

import os
import posixpath
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from layoutrand.build.new_project import SCHEMA_PLACE, FirstBenchmark, benchmark_of, literally, of_harness
from layoutrand.capture.recognise import safe_name
from layoutrand.config.config import parse
from layoutrand.config.jdk import CDS_ORDER, HEAP_BASE, words_of_the_jvm
from layoutrand.errors import UsageError
from layoutrand.platform.jar import opened_jar
from layoutrand.platform.regular_file import text_of_regular
from layoutrand.text.jdk_release import jdk_identity, jdk_words
from layoutrand.text.render import render

JMH: Final = "jmh"
_LIST_OF_JMH: Final = "META-INF/BenchmarkList"
"""What JMH's annotation processor leaves in every jar of benchmarks."""

_MAIN_OF_JMH: Final = "org.openjdk.jmh."
_WITH_PATHS: Final = frozenset(["-cp", "-classpath", "--class-path", "-p", "--module-path"])
_JDKS: Final = Path("/usr/lib/jvm")
_VIRTUAL_MACHINE: Final = "lib/server/libjvm.so"
_OLDEST_WITH_FACTORS: Final = 17
_LONGEST_RELEASE: Final = 1 << 16
_OWN_MEMORY: Final = re.compile(r"-Xshare:|-XX:(SharedArchiveFile=|HeapBaseMinAddress=|\+UseZGC$|-UseCompressed)")
"""Options that say themselves what the factors of a JDK place, or with which it cannot be placed."""


@dataclass(frozen=True)
class Jdk:
    """The home of a JDK, its version as a number (0 if it says none) and in words."""

    home: Path
    version: int
    words: str

    @property
    def system(self) -> str:
        """What the system is called that it is."""
        return f"jdk{self.version}" if self.version else "jdk"


@dataclass(frozen=True)
class JavaProject:
    """All of a new layoutrand.toml: what is executed, by which JDK with which options, and what else is installed."""

    name: str
    what: str
    jdk: Jdk
    args: str
    benchmark: FirstBenchmark
    others: tuple[Jdk, ...]
    factors: tuple[str, ...]

    def text(self) -> str:
        """The commented file, which is valid."""
        text = render(
            "layoutrand-java.toml.j2",
            schema=SCHEMA_PLACE,
            found=self.what,
            name=self.name,
            jdk=self.jdk,
            machine=_VIRTUAL_MACHINE,
            args=self.args,
            benchmark=self.benchmark,
            others=self.others,
            factors=self.factors,
            oldest=_OLDEST_WITH_FACTORS,
        )
        parse(text, path="layoutrand.toml")
        return text


def starts_java(words: Sequence[str]) -> bool:
    """Whether a command starts a JVM itself: what a build command never does first."""
    return bool(words) and posixpath.basename(words[0]) == "java"


def java_project(words: Sequence[str], project: Path, folder: Path, stdin: str | None) -> JavaProject:
    """The project of a command typed in ``folder``; raises `UsageError` where no JDK or program is found by it."""
    jdk = _jdk_of(words[0], folder)
    own = words_of_the_jvm(words, words[0])
    program = list(words[1 + len(own) :])
    of_jar = program[0] == "-jar" if program else False
    if not program or (program[0].startswith("-") and not of_jar):
        raise UsageError(
            f"{shlex.join(words)}: which program is that? A jar (-jar target/benchmarks.jar) or a class is needed"
        )
    if of_jar and not (len(program) > 1 and (folder / program[1]).is_file()):
        raise UsageError(f"-jar {' '.join(program[1:2])}: there is no such file; build it first")
    args, paths = _divided(own, folder, project)
    started = program[: 2 if of_jar else 1]
    given = benchmark_of(["java", *started, *program[len(started) :]], 0, folder, project, stdin)
    command = ("{home}/bin/java", "{args}", *paths, *given.command[1:])
    name = safe_name(Path(posixpath.basename(started[-1]).removesuffix(".jar").rpartition(".")[2]))
    benchmark = FirstBenchmark(name, command, given.stdin)
    if _is_jmh(folder, started):
        benchmark = of_harness(benchmark, JMH)
    movable = jdk.version >= _OLDEST_WITH_FACTORS and not any(_OWN_MEMORY.match(word) for word in own)
    others = tuple(each for each in _installed() if each.home != jdk.home)
    factors = (CDS_ORDER, HEAP_BASE) if movable else ()
    return JavaProject(safe_name(project), shlex.join(words), jdk, args, benchmark, others, factors)


def _divided(own: Sequence[str], folder: Path, project: Path) -> tuple[str, list[str]]:
    """The words of the JVM that are a system's, and those that say where the program lies, in the project."""
    args, paths = [], []
    rest = iter(own)
    for word in rest:
        option, equals, value = word.partition("=")
        if word in _WITH_PATHS:
            paths += [word, _in_project(next(rest, ""), folder, project)]
        elif equals and option in _WITH_PATHS:
            paths.append(f"{option}={_in_project(value, folder, project)}")
        else:
            args.append(word)
    return shlex.join(args), paths


def _in_project(listed: str, folder: Path, project: Path) -> str:
    """A list of places, those of the project by their path in it: executions begin in directories of their own."""
    places = []
    for place in listed.split(os.pathsep):
        inside = os.path.relpath(os.path.abspath(folder / place), os.path.abspath(project))
        elsewhere = os.path.isabs(place) or not place
        places.append(literally(place) if elsewhere else posixpath.join("{project}", literally(inside)))
    return os.pathsep.join(places)


def _is_jmh(folder: Path, started: Sequence[str]) -> bool:
    """Whether the program is JMH's: a class of its own, or a jar with a list of benchmarks."""
    if started[0] != "-jar":
        return started[0].startswith(_MAIN_OF_JMH)
    with opened_jar(folder / started[1], UsageError) as jar:
        return _LIST_OF_JMH in jar.namelist()


def _jdk_of(java: str, folder: Path) -> Jdk:
    """The JDK that a word starts, from PATH or by its place."""
    found = shutil.which(java) if "/" not in java else str(folder / java)
    if found is None or not os.path.isfile(found):
        raise UsageError(f"{java}: there is no such program; a JDK is needed (Debian: default-jdk-headless)")
    home = Path(os.path.realpath(found)).parent.parent
    jdk = _jdk_at(home)
    if jdk is None:
        raise UsageError(
            f"{java} is {found}, and {home} is no home of a JDK ({_VIRTUAL_MACHINE} is not in it): name the JDK's own "
            "bin/java"
        )
    return jdk


def _jdk_at(home: Path) -> Jdk | None:
    if not (home / _VIRTUAL_MACHINE).is_file() or not (home / "bin/java").is_file():
        return None
    try:
        said = jdk_identity(text_of_regular(home / "release", largest=_LONGEST_RELEASE, errors="replace"))
    except OSError:  # what has no such file says nothing
        said = {}
    number = re.match(r"(?:1\.)?(\d{1,4})", said.get("JAVA_VERSION", ""))
    return Jdk(home, int(number[1]) if number else 0, jdk_words(said))


def _installed() -> list[Jdk]:
    """The JDKs where Linux distributions put them, each once."""
    try:
        homes = sorted({Path(os.path.realpath(each)) for each in _JDKS.iterdir()})
    except OSError:  # there are none
        return []
    return [jdk for jdk in map(_jdk_at, homes) if jdk is not None]
