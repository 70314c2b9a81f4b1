"""layoutrand.toml: text in, a checked `Config` out, every problem reported at once.

An unknown key is an error with the nearest known key as a suggestion, because a setting that is silently ignored
is an experiment that silently did something else.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from layoutrand.errors import ConfigError, UsageError
from layoutrand.model import RUSAGE_METRICS, WALL_METRIC

Factor = Literal["function-order", "module-order", "function-order-in-module"]
Classes = Literal["keep", "mix"]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
PLACEHOLDERS = frozenset({"artefact", "artefact_dir", "project"})


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Project(_Table):
    """``[project]``."""

    name: Name


class Build(_Table):
    """``[build]``: where the source is and how its artefacts come about."""

    source: str = "."
    repo: str | None = None
    rev: str | None = None
    commands: Annotated[list[str], Field(min_length=1)]
    artefacts: Annotated[list[str], Field(min_length=1)]
    exclude: list[str] = []
    env: dict[str, str] = {}
    in_place: bool = False
    timeout_s: Annotated[float, Field(gt=0, strict=False)] = 86_400.0

    @field_validator("artefacts")
    @classmethod
    def _inside_the_build(cls, artefacts: list[str]) -> list[str]:
        for path in artefacts:
            if not path or path.startswith("/") or ".." in path.split("/") or path.endswith("/"):
                raise ValueError(f"{path!r} must be a file's path relative to the source")
        if len(set(artefacts)) != len(artefacts):
            raise ValueError("the same artefact is listed twice")
        return artefacts

    @model_validator(mode="after")
    def _source_or_repo(self) -> Self:
        if self.repo is not None and self.source != ".":
            raise ValueError("give either source or repo, not both")
        if self.repo is None and self.rev is not None:
            raise ValueError("rev needs repo")
        if self.repo is not None and self.in_place:
            raise ValueError("in_place builds where the source is, so it cannot go with repo")
        return self


class LayoutPolicy(_Table):
    """``[layout]``: what is randomised, and within which bounds."""

    factors: Annotated[list[Factor], Field(min_length=1)] = ["function-order"]
    classes: Classes = "keep"

    @field_validator("factors")
    @classmethod
    def _compatible(cls, factors: list[Factor]) -> list[Factor]:
        if len(set(factors)) != len(factors):
            raise ValueError("a factor is listed twice")
        if "function-order" in factors and len(factors) > 1:
            raise ValueError("function-order already orders all functions, so it cannot go with another order factor")
        return factors


class System(_Table):
    """``[systems.NAME]``: one side of a comparison."""

    toolchain: str = "gcc"
    cflags: str = ""
    cxxflags: str | None = None
    ldflags: str = ""
    rev: str | None = None
    env: dict[str, str] = {}


class Metric(_Table):
    """``metric = {...}`` of a benchmark: which numbers an execution yields."""

    wall: bool = False
    cachegrind: bool = False
    regex: str | None = None
    name: Name = "value"
    unit: str = ""
    warmup: Annotated[int, Field(ge=0)] = 0

    @field_validator("regex")
    @classmethod
    def _one_group(cls, regex: str | None) -> str | None:
        if regex is not None:
            try:
                groups = re.compile(regex).groups
            except re.error as error:
                raise ValueError(f"not a regular expression: {error}") from error
            if groups != 1:
                raise ValueError(f"needs exactly one group, around the number; it has {groups}")
        return regex

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not (self.wall or self.cachegrind or self.regex):
            raise ValueError("choose at least one of wall, cachegrind, regex")
        if self.regex and self.name in {WALL_METRIC, *RUSAGE_METRICS}:
            raise ValueError(f"name = {self.name!r} is what layoutrand calls a measurement of its own; choose another")
        return self


class Benchmark(_Table):
    """``[[benchmarks]]``: a command to execute, and how its answer is checked."""

    name: Name
    command: Annotated[list[str], Field(min_length=1)]
    artefact: str | None = None
    stdin: str | None = None
    expect_stdout: str | None = None
    files: list[str] = []
    env: dict[str, str] = {}
    timeout_s: Annotated[float, Field(gt=0, strict=False)] = 600.0
    metric: Metric = Metric(wall=True)

    @field_validator("command")
    @classmethod
    def _known_placeholders(cls, command: list[str]) -> list[str]:
        for word in command:
            for name in re.findall(r"(?<!\{)\{([A-Za-z_]+)\}(?!\})", word):
                if name not in PLACEHOLDERS:
                    known = ", ".join("{" + p + "}" for p in sorted(PLACEHOLDERS))
                    raise ValueError(f"{{{name}}} in {word!r} is not a placeholder; there are {known}")
        return command


class Run(_Table):
    """``[run]``: how executions are made."""

    executions: Annotated[int, Field(ge=1)] = 1
    schedule_seed: Annotated[int, Field(ge=0, lt=2**64)] = 1
    randomise: list[Literal["env-size"]] = []
    controls: list[Literal["stock", "identity"]] = ["stock", "identity"]


class Config(_Table):
    """A whole, valid layoutrand.toml."""

    project: Project
    build: Build
    layout: LayoutPolicy = LayoutPolicy()
    systems: Annotated[dict[Name, System], Field(min_length=1)]
    benchmarks: list[Benchmark] = []
    run: Run = Run()

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        names = [benchmark.name for benchmark in self.benchmarks]
        for name in sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two benchmarks are called {name!r}")
        for number, benchmark in enumerate(self.benchmarks):
            if benchmark.artefact is not None and benchmark.artefact not in self.build.artefacts:
                raise ValueError(
                    f"benchmarks[{number}].artefact: {benchmark.artefact!r} is not in build.artefacts"
                    + suggest(benchmark.artefact, self.build.artefacts)
                )
        if any(system.rev is not None for system in self.systems.values()) and self.build.repo is None:
            raise ValueError("systems.*.rev needs build.repo")
        return self


def parse(text: str, *, path: str) -> Config:
    """Check the ``text`` of the file called ``path``; raises `ConfigError` listing every problem."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(path, [f"not valid TOML: {error}"]) from error
    try:
        return Config.model_validate(table)
    except ValidationError as error:
        raise ConfigError(path, [_line(detail) for detail in error.errors(include_url=False)]) from error


def choose(kind: str, wanted: list[str], known: list[str]) -> list[str]:
    """``wanted`` names if all are ``known``, all of them if none is wanted; raises `UsageError` with a suggestion."""
    for name in wanted:
        if name not in known:
            raise UsageError(f"no {kind} called {name!r}; there are {', '.join(known) or 'none'}{suggest(name, known)}")
    return wanted or known


def suggest(name: str, known: list[str]) -> str:
    """``; did you mean 'x'?`` for the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def _line(detail: ErrorDetails) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"]).lstrip(".")
    if detail["type"] == "extra_forbidden":
        known = _known_keys(detail["loc"])
        hint = suggest(str(detail["loc"][-1]), known) or (f"; known here: {', '.join(known)}" if known else "")
        return f"{where}: unknown key{hint}"
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "missing":
        return f"{where}: this key is required"
    if detail["type"] == "string_pattern_mismatch":
        message = "use letters, digits and . _ + - only, beginning with a letter or digit"
    given = detail["input"]
    shown = f" (given: {given!r})" if isinstance(given, str | int | float | bool) else ""
    return f"{where}: {message}{shown}" if where else message


def _known_keys(location: tuple[int | str, ...]) -> list[str]:
    """The keys allowed where an unknown one stands, found by walking the models along its path."""
    models: dict[str, type[BaseModel]] = {
        "project": Project, "build": Build, "layout": LayoutPolicy, "systems": System,
        "benchmarks": Benchmark, "run": Run,
    }  # fmt: skip
    if len(location) == 1:
        return list(Config.model_fields)
    model = Metric if "metric" in location[:-1] else models.get(str(location[0]))
    return list(model.model_fields) if model else []


def as_dict(table: BaseModel) -> dict[str, Any]:
    """The table as plain JSON values, for keys and records."""
    return table.model_dump(mode="json")
