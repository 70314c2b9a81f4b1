"""layoutrand.toml: text in, a checked `Config` out, every problem reported at once.

An unknown key is an error with the nearest known key as a suggestion, because a setting that is silently ignored
is an experiment that silently did something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from layoutrand.config import matrix
from layoutrand.config.cluster import Cluster, Local, tables
from layoutrand.config.command import ARGS, JOBS, PLACEHOLDERS, meant_for_jobs, placeholders_in, starts_java
from layoutrand.config.conditions import Drawn, HugePages, Isolation
from layoutrand.config.cross_checks import across, table_at
from layoutrand.config.dacapo_settings import DacapoSuite
from layoutrand.config.disturbance import Disturbance
from layoutrand.config.flag_values import Feature, FileFlags, Flags, Profile, inside_the_source
from layoutrand.config.harness_keys import with_reading
from layoutrand.config.image import Image
from layoutrand.config.jdk import factors_of_a_jdk
from layoutrand.config.launcher_words import LauncherWords
from layoutrand.config.layout_policy import Factor, LayoutPolicy, Ordered
from layoutrand.config.metric import Metric
from layoutrand.config.problems import explain, key_path, suggest, told_once
from layoutrand.config.schedule import Order
from layoutrand.config.spec_settings import SpecSuite
from layoutrand.config.toml_text import parse_table
from layoutrand.config.topology import WISH_SCHEMA, CpuWish, checked_wish
from layoutrand.config.warmup_choices import ChosenWarmup, wrong_choices
from layoutrand.engines.engine import Remote
from layoutrand.errors import ConfigError, UsageError
from layoutrand.text.sizes import size_in_bytes
from layoutrand.text.strict_table import STRICT, Name


def _no_option(word: str) -> str:
    if word.startswith("-"):
        raise ValueError("must not begin with a dash")
    return word


def _usable_names(variables: dict[str, str]) -> dict[str, str]:
    for name in variables:
        if not name or "=" in name:
            raise ValueError(f"{name!r} cannot be the name of an environment variable")
    return variables


def _usable_name(name: str) -> str:
    if not name or set(name) & set("=<>,\0"):
        raise ValueError(f"{name!r} cannot be the name of an environment variable")
    return name


VariableName = Annotated[str, AfterValidator(_usable_name)]
Revision = Annotated[str, Field(min_length=1), AfterValidator(_no_option)]
Variables = Annotated[dict[str, str], AfterValidator(_usable_names)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Limit = Annotated[
    int | None,
    BeforeValidator(size_in_bytes),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "examples": ["2GiB", "500 MB"]}]}),
]


def _one_line(label: str) -> str:
    if not label.isprintable() or label != label.strip():
        raise ValueError("must be one line of text, without blanks at its ends")
    return label


Label = Annotated[str, Field(min_length=1, max_length=60), AfterValidator(_one_line)] | None
"""What people read instead of a name."""


class _Table(BaseModel):  # here and no import, so that the linter sees that defaults are pydantic's to copy
    model_config = STRICT


class Project(_Table):
    """``[project]``."""

    name: Name


@dataclass(frozen=True)
class GeneratedSource:
    """A source that layoutrand makes: ``files`` (path -> text), and what it builds from.

    ``outside`` are directories and files of a suite's installation whose contents decide what is built: their digests
    are part of the build's key, their places are not.
    """

    files: Mapping[str, str]
    outside: Sequence[str]


class Build(_Table):
    """``[build]``: where the source is and how its artefacts come about."""

    source: str = "."
    repo: Revision | None = None
    rev: Revision | None = None
    commands: Annotated[list[str], Field(min_length=1)] = []
    artefacts: Annotated[list[str], Field(min_length=1)] = []
    exclude: list[str] = []
    env: Variables = {}
    in_place: bool = False
    mode: Literal["relink", "rebuild"] = "relink"
    image: Image | None = None
    timeout_s: Seconds = 86_400.0

    @field_validator("artefacts")
    @classmethod
    def _inside_the_build(cls, artefacts: list[str]) -> list[str]:
        for path in artefacts:
            if not inside_the_source(path):
                raise ValueError(f"{path!r} must be a file's path relative to the source")
        if len(set(artefacts)) != len(artefacts):
            raise ValueError("the same artefact is listed twice")
        return artefacts

    @field_validator("commands")
    @classmethod
    def _jobs_spelt_right(cls, commands: list[str]) -> list[str]:
        for command in commands:
            for name in meant_for_jobs(command):
                raise ValueError(f"{{{name}}} in {command!r} is not a placeholder; {JOBS} is how many jobs")
        return commands

    def generated(self) -> GeneratedSource | None:
        """The source, where layoutrand makes it itself for a suite's tools; None where it is the user's."""
        return None


class FlagSet(_Table):
    """One of ``matrix.flags``: what the compilers and the link are given beside the build's own flags."""

    cflags: Flags = ""
    cxxflags: Flags | None = None
    fflags: Flags = ""
    ldflags: Flags = ""
    file_flags: FileFlags = {}
    rustflags: Flags = ""
    profile: Profile = {}
    features: list[Feature] = []
    env: Variables = {}


FLAGS_OF_SYSTEMS: Final = (
    "cflags",
    "cxxflags",
    "fflags",
    "ldflags",
    "file_flags",
    "rustflags",
    "profile",
    "features",
)
"""The settings of a system that tell compilers and linkers what to do, in the order in which they are shown."""


class System(FlagSet):
    """``[systems.NAME]``: one side of a comparison."""

    label: Label = None
    toolchain: str = "gcc"
    rev: Revision | None = None
    ordered: Ordered = "move"
    prebuilt: Annotated[str | None, Field(min_length=1)] = None
    args: Flags = ""

    @model_validator(mode="after")
    def _built_or_not(self) -> Self:
        if self.prebuilt is not None and (idle := sorted(self.model_fields_set - {"prebuilt", "args", "label"})):
            raise ValueError(f"is prebuilt, so nothing is built with {', '.join(idle)}")
        return self


class Benchmark(_Table):
    """``[[benchmarks]]``: a command to execute, and how its answer is checked."""

    name: Name
    label: Label = None
    command: Annotated[list[str], Field(min_length=1)]
    harness: Name | None = None
    cases: Annotated[str, Field(min_length=1)] | None = None
    repetitions: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    artefact: str | None = None
    stdin: str | None = None
    expect_stdout: str | None = None
    expect_status: Annotated[int, Field(ge=0, le=255)] = 0
    files: list[str] = []
    env: Variables = {}
    merge_output: bool = False
    timeout_s: Seconds = 600.0
    memory_limit: Limit = None
    output_limit: Limit = None
    process_limit: Annotated[int, Field(ge=1, lt=2**22)] | None = None
    metric: Metric = Metric(wall=True)

    @model_validator(mode="before")
    @classmethod
    def _read_by_its_harness(cls, table: Any) -> Any:
        return with_reading(table) if isinstance(table, dict) else table

    @field_validator("command")
    @classmethod
    def _known_placeholders(cls, command: list[str]) -> list[str]:
        for word in command:
            for name in placeholders_in(word):
                if name not in PLACEHOLDERS:
                    known = ", ".join("{" + p + "}" for p in sorted(PLACEHOLDERS))
                    raise ValueError(
                        f"{{{name}}} in {word!r} is not a placeholder; there are {known}. "
                        f"Write {{{{{name}}}}} for {{{name}}} itself"
                    )
            if ARGS in word and word != ARGS:
                raise ValueError(
                    f"{ARGS} in {word!r} must be a word of its own: it stands for all words of systems.*.args"
                )
        return command

    @property
    def may_simulate(self) -> bool:
        """Whether counts of a simulated processor may be measured of it, and say more than its times.

        A harness or a suite measures by itself, and other instruments are refused beside it.  Of a JVM counts are no
        more alike than times: its threads decide meanwhile what is compiled.
        """
        return self.metric.suite is None and not starts_java(self.command)

    def needs(self, build: Build) -> list[str]:
        """The artefacts that an execution needs: all, unless it is known to need but some."""
        return build.artefacts

    def written_anew(self) -> dict[str, str]:
        """Files (name -> text) that are written into the working directory of each execution."""
        return {}

    def written_facts(self) -> dict[str, list[str]]:
        """What of these files decides what is executed."""
        return {}


class Run(_Table):
    """``[run]``: how executions are made."""

    executions: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    order: Order = "blocks"
    schedule_seed: Annotated[int, Field(ge=0, lt=2**64)] = 1
    randomise: list[Drawn] = []
    aslr: Literal["on", "off"] = "on"
    hugepages: HugePages = "system"
    cpu: Annotated[CpuWish, BeforeValidator(checked_wish), WithJsonSchema(WISH_SCHEMA)] = "any"
    priority: Annotated[int, Field(ge=-20, le=19)] | None = None
    isolation: Isolation = "auto"
    launcher: LauncherWords = []
    controls: list[Literal["stock", "identity"]] = ["stock", "identity"]
    redact: list[VariableName] = []
    disturbance: Disturbance = Disturbance()


class Config(_Table):
    """A whole, valid layoutrand.toml."""

    project: Project
    build: Build = Build()
    suite: Annotated[SpecSuite | DacapoSuite, Field(discriminator="kind")] | None = None
    layout: LayoutPolicy = LayoutPolicy()
    systems: Annotated[dict[Name, System], Field(min_length=1)]
    benchmarks: list[Benchmark] = []
    run: Run = Run()
    cluster: Cluster = Local()
    warmup: list[ChosenWarmup] = []

    def order(self) -> Order:
        """The order of executions: ``run.order``, which is "pairs" on a cluster unless it is given."""
        if self.remote is not None and "order" not in self.run.model_fields_set:
            return "pairs"
        return self.run.order

    @property
    def remote(self) -> Remote | None:
        """What the nodes that link and execute are told; None where this machine does so alone."""
        return self.cluster if isinstance(self.cluster, Remote) else None

    def here(self) -> Config:
        """The same, linked and executed on this machine alone."""
        return self.model_copy(update={"cluster": Local()})

    def in_one_layout(self) -> frozenset[str]:
        """Names of the systems that have no layout but their own: prebuilt, and nothing that options could place."""
        if factors_of_a_jdk(self.layout.factors):
            return frozenset()
        return frozenset(name for name, system in self.systems.items() if system.prebuilt is not None)


class ConfigFile(Config):
    """What may stand in the file; in a checked configuration the systems of ``[matrix]`` have taken its place."""

    matrix: dict[str, Any] = {}


def parse(text: str, *, path: str) -> Config:
    """Check the ``text`` of the file called ``path``; raises `ConfigError` listing every problem."""
    table = parse_table(text, path)
    problems = [*_unwritable(table, ()), *across(table)]
    expanded, wrong = _expanded(table)
    problems += wrong
    problems += _wrong_warmups(expanded, None if wrong else list(table_at(expanded, "systems")))
    try:
        config = Config.model_validate(expanded)
    except ValidationError as error:
        told = told_once([*explain(error, ConfigFile, {"cluster": tables()}), *problems])
        raise ConfigError(path, told) from error
    if problems:
        raise ConfigError(path, problems)
    return config


def unconfigured(toolchain: str, factors: list[str]) -> Config:
    """The configuration of a project without a file: one system, named after its toolchain; raises `UsageError`."""
    choose("factor", factors, list(get_args(Factor)))
    try:
        policy = LayoutPolicy.model_validate({"factors": factors})
    except ValidationError as error:
        raise UsageError("--factors: " + "; ".join(explain(error, LayoutPolicy))) from error
    return Config(project=Project(name="exec"), systems={"exec": System(toolchain=toolchain)}, layout=policy)


def _expanded(table: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The table with its matrix expanded into systems, and what is wrong with the matrix."""
    rest = {key: value for key, value in table.items() if key != "matrix"}
    systems = rest.get("systems", {})
    if "matrix" not in table or not isinstance(systems, dict):
        return rest, []
    cells, wrong = matrix.expand(table["matrix"], list(systems), _wrong_settings)
    if wrong and not systems:
        cells = {"matrix": {}}  # so that nobody is told there are no systems
    return {**rest, "systems": {**systems, **cells}}, wrong


def _wrong_warmups(table: Mapping[str, Any], systems: list[str] | None) -> Iterator[str]:
    """What is wrong with the names in ``[[warmup]]``; those of systems are checked only where ``systems`` are known.

    Which benchmarks a suite has is known when it has been looked at (`layoutrand.suites.expand.expanded`).
    """
    entries = None if "suite" in table else table.get("benchmarks", [])
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else [None]
    known = [name for name in names if isinstance(name, str)]
    yield from wrong_choices(table.get("warmup"), known if len(known) == len(names) else None, systems)


def _wrong_settings(axis: str, settings: Mapping[str, Any]) -> list[str]:
    model = FlagSet if axis == "flags" else System
    try:
        model.model_validate(settings)
    except ValidationError as error:
        return explain(error, model)
    return []


def _unwritable(value: Any, location: tuple[int | str, ...]) -> Iterator[str]:
    """Strings that no program can be given: TOML can write a NUL, the operating system cannot pass it on."""
    if isinstance(value, str) and "\0" in value:
        yield f"{key_path(location)}: holds a NUL character"
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in parts:
        yield from _unwritable(inner, (*location, part))


def choose(kind: str, wanted: list[str], known: list[str]) -> list[str]:
    """``wanted`` names if all are ``known``, all of them if none is wanted; raises `UsageError` with a suggestion."""
    for name in wanted:
        if name not in known:
            raise UsageError(f"no {kind} called {name!r}; there are {', '.join(known) or 'none'}{suggest(name, known)}")
    return wanted or known


def as_dict(table: BaseModel) -> dict[str, Any]:
    """The table as plain JSON values, for keys and records."""
    return table.model_dump(mode="json", by_alias=True)
