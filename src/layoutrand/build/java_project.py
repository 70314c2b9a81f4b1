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

from layoutrand.build.new_project import (
    SCHEMA_PLACE,
    FirstBenchmark,
    in_project,
    of_harness,
    stdin_of,
    verbatim,
    with_place,
)
from layoutrand.build.prebuilt import LAUNCHER_OF_A_JDK, release_in
from layoutrand.capture.recognise import safe_name
from layoutrand.config.config import parse
from layoutrand.config.jdk import CDS_ORDER, HEAP_BASE, OLDEST, possible_factors, words_of_the_jvm
from layoutrand.errors import UsageError
from layoutrand.harnesses.known import harness_named
from layoutrand.platform.jar import opened_jar
from layoutrand.text.jdk_release import jdk_words
from layoutrand.text.render import render

JMH: Final = "jmh"
_LIST_OF_JMH: Final = "META-INF/BenchmarkList"
"""What JMH's annotation processor leaves in every jar of benchmarks."""

_HARNESSES_OF_DACAPO: Final = ("org/dacapo/harness/", "dacapo/TestHarness.class")
_MAIN_OF_JMH: Final = "org.openjdk.jmh."
_LONGEST_OF_JMH_S: Final = 24 * 3600
_CLASS_PATH: Final = frozenset(["-cp", "-classpath", "--class-path"])
_WITH_PATHS: Final = _CLASS_PATH | {"-p", "--module-path", "--upgrade-module-path"}
_BEFORE_ANOTHER_WORD: Final = frozenset(["-jar", "-m", "--module"])
_NAMING_A_FILE: Final = re.compile(r"(-(?:javaagent|agentpath|Xbootclasspath/[ap]):|-[^=]+=)([^=,]+)(.*)", re.DOTALL)
_BUILDING_JAVA: Final = frozenset(["javac", "mvn", "mvnw", "gradle", "gradlew", "ant", "sbt", "kotlinc", "scalac"])
_PLACED: Final = {CDS_ORDER: "its classes", HEAP_BASE: "its heap"}
_JDKS: Final = Path("/usr/lib/jvm")
_VIRTUAL_MACHINES: Final = tuple(f"{where}/server/libjvm.so" for where in ("lib", "lib/amd64", "jre/lib/amd64"))
"""From version 9 on, and before."""


@dataclass(frozen=True)
class Jdk:
    """The home of a JDK, the file in it that is its virtual machine, its version (0 if it says none) also in words."""

    home: Path
    machine: str
    version: int
    words: str

    @property
    def system(self) -> str:
        """What the system is called that it is."""
        return f"jdk{self.version}" if self.version else "jdk"


@dataclass(frozen=True)
class JavaProject:
    """All of a new layoutrand.toml: what is executed, by which JDK with which options; others by names for systems."""

    name: str
    what: str
    jdk: Jdk
    args: str
    benchmark: FirstBenchmark
    others: tuple[tuple[str, Jdk], ...]
    factors: tuple[str, ...]
    is_dacapo: bool = False

    @property
    def placed(self) -> str:
        """What a layout places, in words."""
        return " and ".join(_PLACED[factor] for factor in self.factors)

    def text(self) -> str:
        """The commented file, which is valid."""
        text = render(
            "layoutrand-java.toml.j2",
            schema=SCHEMA_PLACE,
            found=self.what,
            name=self.name,
            jdk=self.jdk,
            args=self.args,
            benchmark=self.benchmark,
            others=self.others,
            factors=self.factors,
            placed=self.placed,
            oldest=OLDEST,
            longest=_LONGEST_OF_JMH_S,
        )
        parse(text, path="layoutrand.toml")
        return text


def builds_java(words: Sequence[str]) -> bool:
    """Whether a command starts a build tool of Java's, which as a rule links nothing."""
    return bool(words) and posixpath.basename(words[0]) in _BUILDING_JAVA


def java_project(words: Sequence[str], project: Path, folder: Path, stdin: str | None) -> JavaProject:
    """The project of a command typed in ``folder``; raises `UsageError` where no JDK or program is found by it."""
    jdk = _jdk_of(words[0], folder)
    own = list(words_of_the_jvm(words, words[0]))
    started, given = _program(words[1 + len(own) :], folder)
    is_jmh = _is_jmh(folder, started)
    args, placed = _divided(own, folder, project)
    of_class = not started[0].startswith("-") and not os.path.isfile(folder / started[0])
    if of_class and not _CLASS_PATH & {word.partition("=")[0] for word in own}:
        placed = ["-cp", _places(os.environ.get("CLASSPATH") or ".", folder, project), *placed]
    *before, last = started
    names_a_file = before == ["-jar"] or not (before or of_class)
    program = [*before, with_place(last, folder, project) if names_a_file else verbatim(last)]
    # What JMH is told are names of its own, even where files are called so.
    behind = [verbatim(word) if is_jmh else with_place(word, folder, project) for word in given]
    benchmark = FirstBenchmark(
        _called(started),
        ("{home}/bin/java", "{args}", *placed, *program, *behind),
        stdin_of(stdin, folder, project),
    )
    if is_jmh:
        benchmark = of_harness(benchmark, JMH)
        if benchmark.harness and (refusal := harness_named(JMH).refusal(benchmark.command)):
            raise UsageError(refusal)
    factors = possible_factors(jdk.version, own, _memory())
    others = [each for each in _installed() if each.home != jdk.home and (not factors or each.version >= OLDEST)]
    name, what, is_dacapo = safe_name(project), shlex.join(words), _is_dacapo(folder, started)
    return JavaProject(name, what, jdk, args, benchmark, _apart(others), factors, is_dacapo)


def _program(words: Sequence[str], folder: Path) -> tuple[list[str], list[str]]:
    """The words that say which program it is, and its arguments."""
    first = words[0] if words else ""
    if first.startswith(("@", "-XX:")):
        raise UsageError(
            f"{first}: write the words that this file holds; what java reads in it cannot be looked at here"
        )
    count = 1 + (first in _BEFORE_ANOTHER_WORD)
    known = first in _BEFORE_ANOTHER_WORD or first.startswith("--module=") or not first.startswith("-")
    if not first or not known or len(words) < count:
        what = f"java {first}" if first else "java"
        raise UsageError(
            f"{what}: which program is that? A jar (-jar target/benchmarks.jar), a class or a module is needed"
        )
    if first == "-jar" and not os.path.isfile(folder / words[1]):
        raise UsageError(f"-jar {words[1]}: there is no such file; build it first")
    return list(words[:count]), list(words[count:])


def _called(started: Sequence[str]) -> str:
    """What the benchmark is called: the jar, the class, or the main class of a module."""
    name = posixpath.basename(started[-1].partition("=")[2] or started[-1])
    for ending in (".jar", ".java"):
        if name.endswith(ending):
            return safe_name(Path(name.removesuffix(ending)))
    return safe_name(Path(name.rpartition(".")[2] or name))


def _divided(own: Sequence[str], folder: Path, project: Path) -> tuple[str, list[str]]:
    """The words of the JVM that are a system's, and those that name places in the project, which a command can hold."""
    args, placed = [], []
    rest = iter(own)
    for word in rest:
        option, equals, value = word.partition("=")
        if word in _WITH_PATHS:
            placed += [word, _places(next(rest, ""), folder, project)]
        elif equals and option in _WITH_PATHS:
            placed.append(f"{option}={_places(value, folder, project)}")
        elif (found := _NAMING_A_FILE.fullmatch(word)) and _is_there(found[2], folder):
            placed.append(f"{verbatim(found[1])}{in_project(found[2], folder, project)}{verbatim(found[3])}")
        else:
            args.append(word)
    return shlex.join(args), placed


def _is_there(name: str, folder: Path) -> bool:
    return not os.path.isabs(name) and os.path.exists(folder / name)


def _places(listed: str, folder: Path, project: Path) -> str:
    """A list of places, those of the project by their path in it; an empty one is the directory itself, as to Java."""
    places = [
        verbatim(place) if os.path.isabs(place) else in_project(place or ".", folder, project)
        for place in listed.split(os.pathsep)
    ]
    return os.pathsep.join(places)


def _is_jmh(folder: Path, started: Sequence[str]) -> bool:
    """Whether the program is JMH's: a class of its own, or a jar with a list of benchmarks."""
    if started[0] != "-jar":
        return started[0].startswith(_MAIN_OF_JMH)
    with opened_jar(folder / started[1], UsageError) as jar:
        return _LIST_OF_JMH in jar.namelist()


def _is_dacapo(folder: Path, started: Sequence[str]) -> bool:
    """Whether the program is a jar with a harness of DaCapo's, in one of the places that these had."""
    if started[0] != "-jar":
        return False
    with opened_jar(folder / started[1], UsageError) as jar:
        return any(part in name for name in jar.namelist() for part in _HARNESSES_OF_DACAPO)


def _jdk_of(java: str, folder: Path) -> Jdk:
    """The JDK that a word starts, from PATH or by its place."""
    found = shutil.which(java) if "/" not in java else str(folder / java)
    if found is None or not os.path.isfile(found):
        raise UsageError(f"{java}: there is no such program; a JDK is needed (Debian: default-jdk-headless)")
    home = Path(os.path.realpath(found)).parent.parent
    jdk = _jdk_at(home)
    if jdk is None:
        raise UsageError(
            f"{java} is {found}, and in {home} there is no {_VIRTUAL_MACHINES[0]}: name the bin/java of a JDK, not a "
            "program that starts one"
        )
    return jdk


def _jdk_at(home: Path) -> Jdk | None:
    machine = next((each for each in _VIRTUAL_MACHINES if os.path.isfile(home / each)), None)
    if machine is None or not os.path.isfile(home / LAUNCHER_OF_A_JDK):
        return None
    said = release_in(home)
    number = re.match(r"(?:1\.)?(\d{1,4})", said.get("JAVA_VERSION", ""))
    return Jdk(home, machine, int(number[1]) if number else 0, jdk_words(said))


def _installed() -> list[Jdk]:
    """The JDKs where Linux distributions put them, each once."""
    try:
        homes = sorted({Path(os.path.realpath(each)) for each in _JDKS.iterdir()})
    except OSError:  # there are none
        return []
    return [jdk for jdk in map(_jdk_at, homes) if jdk is not None]


def _memory() -> int:
    """Bytes that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _apart(jdks: Sequence[Jdk]) -> tuple[tuple[str, Jdk], ...]:
    """JDKs with names for systems, each its own."""
    return tuple((f"other{number}" if number > 1 else "other", jdk) for number, jdk in enumerate(jdks, start=1))
