"""A stand-in for the DaCapo jars: our own harness, which speaks the protocol of each release, with benchmarks of our own.

It is not DaCapo and holds nothing of it: what it computes has no meaning, only its options, lines, streams and exit
statuses are those of the release it stands in for.  ``README.md`` says what was seen of the real jars and what was chosen.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from workshop import require

HERE = Path(__file__).parent
HARNESS = HERE.parents[2] / "examples/jvm-suite/harness"
EMPTY = ""


@dataclass(frozen=True)
class Release:
    """What differs between the releases: the word in the lines, the stream of the lines, folders inside the jar."""

    word: str
    results: str = "stderr"
    cnf: str = "cnf/"
    classes: str = ""
    overlay: str = ""
    newer: bool = False


RELEASES = {
    "2006-10-MR2": Release(word="", overlay="2006-10-MR2"),
    "9.12-bach": Release(word="9.12", overlay="9.12-bach"),
    "9.12-MR1": Release(word="9.12-MR1", classes="harness/"),
    "23.11-chopin": Release(word="23.11-chopin", cnf="META-INF/cnf/", newer=True),
    "23.11-MR1-chopin": Release(word="23.11-MR1-chopin", results="stdout", cnf="META-INF/cnf/", newer=True),
    "23.11-MR2-chopin": Release(word="23.11-MR2-chopin", results="stdout", cnf="META-INF/cnf/", newer=True),
}
VERSIONS = tuple(RELEASES)


@dataclass(frozen=True)
class Kind:
    """A benchmark: what it does (see Behaviour.java) and what it is expected to print."""

    behaviour: str
    out: str = "done\n"
    err: str = EMPTY
    milliseconds: tuple[int, int, int] = (2, 5, 10)
    per_cpu: bool = False


BENCHMARKS = {
    "ok": Kind("works"),
    "sized": Kind("works", milliseconds=(10, 40, 120)),
    "chatty": Kind("says", out="Running on grammar one.g\n", err="Parser Generator   Version 0\n"),
    "warmfail": Kind("varies-first"),  # the first warm-up FAILED, the others do not
    "fails": Kind("varies"),  # every iteration FAILED
    "throws": Kind("throws"),
    "throwslate": Kind("throws-later"),  # from the second iteration on
    "errs": Kind("errs"),  # an Error, which the harness does not catch
    "hangs": Kind("hangs"),
    "exits": Kind("exits"),  # exit status 0, and nothing after "starting"
    "exitslate": Kind("exits-later"),
    "halts": Kind("halts"),  # exit status 255, and nothing after "starting"
    "crashes": Kind("crashes"),  # SIGKILL
    "cut": Kind("cut"),  # the last line is cut off in the middle; exit status 0
    "threads": Kind("works", per_cpu=True),  # at most 4 threads
}
NEWER_BENCHMARKS = {
    "requests": Kind("works"),  # lines about requests and latencies after each iteration
    "lusearch": Kind("works"),  # latencies alone, which grow from iteration to iteration
    "missing": Kind("works"),  # a data file is missing: ERROR: ..., exit status 255
}
SIZES = ("small", "default", "large")
_MADE: dict[str, Path] = {}


def benchmarks(version: str) -> dict[str, Kind]:
    """The benchmarks of the stand-in for this release, by name."""
    return BENCHMARKS | (NEWER_BENCHMARKS if RELEASES[version].newer else {})


def standin_jar(factory: pytest.TempPathFactory, version: str) -> Path:
    """The jar that stands in for ``version``, compiled once per process; skips without javac (fails under CI)."""
    if version not in _MADE:
        folder = factory.mktemp(f"dacapo-{version}")
        _MADE[version] = make_jar(version, folder / f"standin-dacapo-{version}.jar")
    return _MADE[version]


def make_jar(version: str, jar: Path) -> Path:
    """Compile the stand-in for ``version`` and pack it into ``jar``."""
    release = RELEASES[version]
    sources = _sources(release)
    classes = jar.parent / f"{jar.name}.classes"
    command = [require("javac", "openjdk-17-jdk-headless"), "--release", "17", "-d", str(classes), *map(str, sources)]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(jar, "w") as packed:
        packed.writestr("META-INF/MANIFEST.MF", _manifest(release))
        packed.writestr("suite.properties", _properties(release))
        for folder in filter(None, (release.cnf, release.classes)):
            packed.writestr(zipfile.ZipInfo(folder), "")
        for name, kind in benchmarks(version).items():
            packed.writestr(f"{release.cnf}{name}.cnf", _cnf(version, name, kind))
        for path in sorted(classes.rglob("*.class")):
            inside = path.relative_to(classes).as_posix()
            packed.write(path, inside if inside == "Harness.class" else release.classes + inside)
    shutil.rmtree(classes)
    return jar


def java() -> str:
    """The program that runs the jar; skips without it (fails under CI)."""
    return require("java", "openjdk-17-jre-headless")


def run_jar(jar: Path, *words: str, cwd: Path, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """``java -jar JAR WORDS`` with a small JVM."""
    options = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    environment = {name: text for name, text in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}
    command = [java(), *options, "-jar", str(jar), *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout, env=environment)


def _sources(release: Release) -> list[Path]:
    """Every class once: what the release's own folder has replaces what later releases share."""
    if release.overlay == "2006-10-MR2":
        shared = [HARNESS / "org/dacapo/parser/Config.java"]
        folders = [HERE / "common", HERE / release.overlay]
    else:
        shared = []
        folders = [HARNESS, HERE / "common", HERE / "later", *([HERE / release.overlay] if release.overlay else [])]
    found = {path.name: path for path in shared}
    for folder in folders:
        found |= {str(path.relative_to(folder)): path for path in folder.rglob("*.java")}
    return sorted(found.values())


def _manifest(release: Release) -> str:
    title = "Specification-Title: a stand-in for tests, not DaCapo\r\nSpecification-Version: stand-in\r\n"
    version = f"Implementation-Version: {release.word}\r\n" if release.word else ""
    return f"Manifest-Version: 1.0\r\nMain-Class: Harness\r\n{title}{version}\r\n"


def _properties(release: Release) -> str:
    return (
        f"title=stand-in for DaCapo {release.word}\nversion={release.word}\nresults={release.results}\n"
        f"cnf={release.cnf}\nnewer-options={str(release.newer).lower()}\n"
    )


def _cnf(version: str, name: str, kind: Kind) -> str:
    package = "dacapo" if version == "2006-10-MR2" else "org.dacapo.harness"
    model = "per_cpu" if kind.per_cpu else "single"
    limit = "\n  thread-limit 4" if kind.per_cpu else ""
    sizes = [
        f'size {size} args "{kind.behaviour}", "{milliseconds}"{limit}\n'
        f"  output stdout digest 0x{_digest(kind.out)},\n         stderr digest 0x{_digest(kind.err)};\n"
        for size, milliseconds in zip(SIZES, kind.milliseconds, strict=True)
    ]
    text = 'description\n  short "a benchmark of a stand-in, not of DaCapo";\n'
    return f"benchmark {name}\n  class {package}.StandIn\n  thread-model {model};\n\n" + "\n".join([*sizes, text])


def _digest(text: str) -> str:
    return hashlib.sha1(text.encode()).hexdigest()
