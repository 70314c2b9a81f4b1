"""``[suite] kind = "spec-cpu"``: what may be set, and which benchmarks of an installation are meant."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field, field_validator

from layoutrand.config.problems import suggest
from layoutrand.text.strict_table import Name, StrictTable

Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
Tool = Literal["runcpu", "runspec"]
LABEL: Final = "layoutrand"
"""The label of all that layoutrand has built: one for all systems and seeds.

It is part of the path by which SPEC's tools start the benchmark, and so of its argument vector: a label for each seed
or system would move the stack by its length.  It is part of the build directory's name, too, and so of the names of
objects, by which sections of two systems are told to be the same one.  What keeps executions apart is that each has an
output root of its own.
"""


class SpecSuite(StrictTable):
    """An installation of SPEC CPU."""

    kind: Literal["spec-cpu"]
    root: Annotated[str, Field(min_length=1)]
    benchmarks: Annotated[list[str], Field(min_length=1)]
    size: Literal["test", "train", "ref"] = "ref"
    tune: Literal["base", "peak"] = "base"
    config: Annotated[str | None, Field(min_length=1)] = None
    label: Label | None = None
    executables: dict[str, Annotated[list[Name], Field(min_length=1)]] = Field(default_factory=dict)
    copies: Annotated[int, Field(ge=1)] = 1
    threads: Annotated[int, Field(ge=1)] = 1
    env: dict[str, str] = Field(default_factory=dict)
    timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 14_400.0

    @field_validator("benchmarks")
    @classmethod
    def _words(cls, benchmarks: list[str]) -> list[str]:
        for word in benchmarks:
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.]*", word):
                raise ValueError(f"{word!r} is not the name or number of a benchmark or the name of a set")
        return benchmarks

    @field_validator("env")
    @classmethod
    def _names(cls, env: dict[str, str]) -> dict[str, str]:
        for name in env:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise ValueError(f"{name!r} cannot be the name of an environment variable")
        return env


@dataclass(frozen=True)
class SpecBenchmark:
    """One benchmark of the installation: its name with the number, and the executables that its build makes.

    The first executable is the one that is timed; the others take part in setting up or checking.
    """

    name: str
    executables: tuple[str, ...]


@dataclass(frozen=True)
class SpecFacts:
    """An installation: where it is, which tool and year, what is in it.

    ``folder`` is the directory of the benchmarks relative to ``root``, ``sets`` maps names of sets to their members.
    """

    root: str
    tool: Tool
    year: int
    version: str
    folder: str
    benchmarks: Mapping[str, SpecBenchmark]
    sets: Mapping[str, tuple[str, ...]]


def chosen_benchmarks(suite: SpecSuite, facts: SpecFacts) -> tuple[list[SpecBenchmark], list[str]]:
    """The benchmarks that ``suite.benchmarks`` means, in its order, and what is wrong with it (with key paths)."""
    problems: list[str] = []
    names: dict[str, None] = {}
    numbers = {name.partition(".")[0]: name for name in facts.benchmarks}
    stems = {name.partition(".")[2]: name for name in facts.benchmarks}
    for place, word in enumerate(suite.benchmarks):
        found: Sequence[str]
        if word in facts.sets:
            found = [name for name in facts.sets[word] if not _is_check(name)]
        else:
            name = word if word in facts.benchmarks else numbers.get(word, stems.get(word, ""))
            found = [name] if name else []
        known = [*facts.benchmarks, *facts.sets, *stems]
        absent = [name for name in found if name not in facts.benchmarks]
        if not found and word in facts.sets:
            problems.append(
                f"suite.benchmarks[{place}]: the set {word!r} lists no benchmark; name those that are meant"
            )
        elif not found:
            problems.append(
                f"suite.benchmarks[{place}]: {facts.root} has no benchmark or set called {word!r}"
                f"{suggest(word, known)}; sets: {', '.join(sorted(facts.sets)) or 'none'}"
            )
        elif absent:
            problems.append(f"suite.benchmarks[{place}]: of the set {word!r}, {', '.join(absent)} is not installed")
        names |= dict.fromkeys(found)
    problems += [
        f"suite.executables.{_quoted(name)}: no such benchmark is chosen{suggest(name, list(names))}"
        for name in suite.executables
        if name not in names
    ]
    if facts.year == 2006 and (suite.threads > 1 or suite.copies > 1):
        problems.append("suite: copies and threads are those of runcpu; with CPU2006 one copy is executed")
    own = {name: tuple(executables) for name, executables in suite.executables.items()}
    benchmarks = [
        SpecBenchmark(name, own.get(name, facts.benchmarks[name].executables))
        for name in names
        if name in facts.benchmarks
    ]
    return benchmarks, problems


def _is_check(name: str) -> bool:
    """Whether it is 99x.specrand, which checks the suite's random numbers and is never reported."""
    return name.startswith("99")


def _quoted(name: str) -> str:
    return f'"{name}"'


def exe_folder(facts: SpecFacts, benchmark: str) -> str:
    """Where the executables of a benchmark are, relative to the output root."""
    return f"{facts.folder}/{benchmark}/exe"


def artefact(facts: SpecFacts, benchmark: str, executable: str, tune: str, label: str) -> str:
    """Path of an executable relative to the output root."""
    return f"{exe_folder(facts, benchmark)}/{executable}_{tune}.{label}"


_SCALAR: Final = re.compile(
    r"""^\s*(?:our\s+|my\s+)?\$(\w+)\s*=\s*(?:'([^'\n]*)'|"([^"\n]*)"|(\d+))\s*;""", re.MULTILINE
)
_BASE_EXE: Final = re.compile(r"^\s*(?:our\s+|my\s+)?@base_exe\s*=\s*(?:qw\s*)?\(([^)]*)\)\s*;", re.MULTILINE)
_WORD: Final = re.compile(r"""'([^']*)'|"([^"]*)"|([$\w.{}]+)""")


def executables_of(description: str, benchmark: str) -> tuple[str, ...]:
    """Names of the executables by the benchmark's ``Spec/object.pm``, or the stem of its name where that says nothing.

    It is a program, of which only plain assignments are understood; ``suite.executables`` overrules what is found here,
    and the build must make exactly these.
    """
    text = re.sub(r"^\s*#.*$", "", description, flags=re.MULTILINE)
    scalars = {m[1]: m[2] or m[3] or m[4] or "" for m in _SCALAR.finditer(text)}

    def value(word: str) -> str:
        return re.sub(r"\$\{?(\w+)\}?", lambda match: scalars.get(match[1], "$"), word)

    stem = benchmark.partition(".")[2]
    main = value(scalars.get("exename", stem))
    found: tuple[str, ...] = ()
    if listed := _BASE_EXE.search(text):
        words = [next(part for part in match.groups() if part is not None) for match in _WORD.finditer(listed[1])]
        found = tuple(value(word) for word in words)
    names = tuple(dict.fromkeys(found or (main,)))
    readable = all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name) for name in names)
    return names if readable else (stem,)


def members_of(text: str) -> tuple[str, ...]:
    """Benchmarks that a ``.bset`` file lists."""
    lines = re.sub(r"#.*$", "", text, flags=re.MULTILINE)
    return tuple(dict.fromkeys(re.findall(r"\b\d{3}\.\w+", lines)))
