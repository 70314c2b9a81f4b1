"""A DaCapo jar as ordinary benchmarks: one JVM for each execution of each benchmark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from layoutrand.config.command import ARGS, literally
from layoutrand.config.config import Benchmark
from layoutrand.config.dacapo_settings import ALL, DacapoSuite
from layoutrand.config.metric import Metric
from layoutrand.config.problems import suggest
from layoutrand.config.readings import DacapoReading
from layoutrand.suites.dacapo_callback import CALLBACK_CLASS
from layoutrand.suites.dacapo_latency import REQUEST_BENCHMARKS

Generation = Literal["2006", "9.12", "23.11"]
"""Which command line a harness has; ScalaBench's is that of 9.12, maintenance releases belong to their release."""

SCRATCH: Final = "scratch"
JVM_LIBRARIES: Final = (
    "lib/server/libjvm.so",
    "jre/lib/amd64/server/libjvm.so",
    "jre/lib/aarch64/server/libjvm.so",
)
"""Where a JDK has its virtual machine: from 9 on, and before."""


@dataclass(frozen=True)
class JarFacts:
    """What was found in a jar, and beside it.

    ``generation`` is None where nothing in the jar tells it, ``version`` is "" then, else what the jar says of itself;
    ``benchmarks`` maps each to its sizes, none where they cannot be told.  ``digest`` is of the jar's content and of
    the listing of its ``data``, the directory where 23.11 looks for what is not in the jar, or None.
    """

    generation: Generation | None
    version: str
    benchmarks: Mapping[str, tuple[str, ...]]
    digest: str
    data: str | None
    data_exists: bool = True


def generation_of(version: str) -> Generation | None:
    """The generation of a version's name, such as "2006-10-MR2", "9.12-MR1-bach" or "evaluation-git+8b7a2dc"."""
    if version.startswith("2006"):
        return "2006"
    if re.match(r"9\.12\b|0\.1\.", version):  # 0.1.0 is ScalaBench
        return "9.12"
    return "23.11" if re.match(r"2[0-9]\.|evaluation-git", version) or "chopin" in version else None


def wrong(suite: DacapoSuite, facts: JarFacts) -> Iterator[str]:
    """What does not fit between suite and jar, one line with its key path for each."""
    stated = None if suite.version is None else generation_of(suite.version)
    called = facts.version or (f"of {facts.generation}" if facts.generation else "")
    if suite.version is not None and stated is None:
        yield (
            f"suite.version: {suite.version!r} is not known; there are 2006-10-MR2, 9.12-bach, 9.12-MR1, 23.11-chopin, "
            "their maintenance releases, and 0.1.0 (ScalaBench)"
        )
    elif stated is not None and facts.generation not in {None, stated}:
        yield f"suite.version: {suite.version!r} is not the jar's, which is {called}; leave it out, or give another jar"
    elif stated is None and facts.generation is None:
        yield (
            "suite.jar: nothing in it tells which DaCapo it is; say by suite.version whose options it takes "
            '("2006-10-MR2", "9.12-bach", "9.12-MR1" or "23.11-chopin")'
        )
    generation = facts.generation or stated
    if generation == "2006" and suite.threads is not None:
        yield "suite.threads: DaCapo 2006 has no such option; leave it out"
    if generation == "2006" and suite.nanoseconds:
        yield "suite.nanoseconds: DaCapo 2006 has callbacks of another kind, and takes milliseconds; leave it out"
    if suite.latency and generation is not None:
        yield from _no_requests(suite, facts, generation)
    if generation == "23.11" and facts.data is not None and not facts.data_exists:
        yield (
            f"suite.jar: its data, which DaCapo 23.11 looks for in {facts.data}, is not there; unpack the whole "
            "release, of which the jar is a part"
        )
    yield from _unknown(suite, facts)


def _no_requests(suite: DacapoSuite, facts: JarFacts, generation: Generation) -> Iterator[str]:
    if generation != "23.11":
        yield f"suite.latency: DaCapo {generation} prints no latencies of requests, 23.11 does; leave it out"
    elif not REQUEST_BENCHMARKS.intersection(chosen(suite, facts)):
        there_are = ", ".join(sorted(REQUEST_BENCHMARKS))
        yield f"suite.latency: none of the benchmarks serves requests; in DaCapo 23.11 {there_are} do"


def _unknown(suite: DacapoSuite, facts: JarFacts) -> Iterator[str]:
    known = sorted(facts.benchmarks)
    if not known:
        yield "suite.jar: there are no benchmarks in it (cnf/*.cnf); is it a DaCapo jar?"
        return
    lacking = []
    for place, name in enumerate(chosen(suite, facts)):
        if name not in facts.benchmarks:
            there_are = suggest(name, known) or f"; there are {', '.join(known)}"
            yield f"suite.benchmarks[{place}]: the jar has no benchmark {name!r}{there_are}"
        elif facts.benchmarks[name] and suite.size not in facts.benchmarks[name]:
            lacking.append(f"{name} has {', '.join(facts.benchmarks[name])}")
    if lacking:
        yield f"suite.size: no {suite.size!r} in the jar: {'; '.join(lacking)}"


def chosen(suite: DacapoSuite, facts: JarFacts) -> list[str]:
    """The names of the benchmarks that are wanted."""
    return sorted(facts.benchmarks) if suite.benchmarks == [ALL] else suite.benchmarks


def benchmarks(suite: DacapoSuite, facts: JarFacts, callback: str | None = None) -> list[Benchmark]:
    """The benchmarks of a suite in which nothing is `wrong`; ``callback`` is the class that takes nanoseconds.

    Raises `pydantic.ValidationError` for words that cannot be in a command.
    """
    generation = facts.generation or generation_of(suite.version or "")
    jar = literally(suite.jar) if suite.jar.startswith("/") else "{project}/" + literally(suite.jar)
    start = _start(jar, facts.version or suite.version or "", callback)
    words = ["{home}/bin/java", ARGS, *suite.java_options, *start, *_options(suite, generation), *suite.options]
    iterations = suite.iterations
    warmup = 0 if iterations is None else iterations - 1 if suite.warmup is None else suite.warmup
    return [
        Benchmark(
            name=name,
            command=[*words, name],
            merge_output=True,  # which of the two the results go to depends on the version, and their order matters
            timeout_s=suite.timeout_s,
            files=[] if callback is None else [callback],
            metric=Metric(
                suite=DacapoReading(
                    kind="dacapo",
                    benchmark=name,
                    iterations=iterations,
                    harness=facts.digest,
                    latency=suite.latency if name in REQUEST_BENCHMARKS else [],
                    nanoseconds=callback is not None,
                ),
                warmup=warmup,
            ),
        )
        for name in chosen(suite, facts)
    ]


def _start(jar: str, version: str, callback: str | None) -> list[str]:
    """The words that start the harness, with the callback from the working directory, where its file is copied to.

    From 9.12-MR1 on the harness has a class loader of its own, which is told by a property where callbacks are; before,
    they are found like all its classes.
    """
    if callback is None:
        return ["-jar", jar]
    if re.match(r"9\.12(?!-MR)|0\.1\.", version):
        return ["-cp", f".:{jar}", "Harness", "-c", CALLBACK_CLASS]
    return ["-Ddacapo.callback.classpath=.", "-jar", jar, "-c", CALLBACK_CLASS]


def _options(suite: DacapoSuite, generation: Generation | None) -> list[str]:
    old = generation == "2006"
    words = ["-s", suite.size]
    words += ["-converge" if old else "-C"] if suite.converge else ["-n", str(suite.iterations)]
    words += ["-scratch" if old else "--scratch-directory", SCRATCH]
    return words if suite.threads is None else [*words, "-t", str(suite.threads)]
