"""``[suite] kind = "dacapo"``: what may be set."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from layoutrand.config.metric import Warmup
from layoutrand.config.readings import LatencyKind
from layoutrand.text.strict_table import NAME_PATTERN, Name, StrictTable, no_items

ALL: Final = "all"

_OWN_OPTIONS: Final = {
    "-s": "size",
    "--size": "size",
    "-n": "iterations",
    "--iterations": "iterations",
    "-t": "threads",
    "--thread-count": "threads",
    "-C": "converge",
    "--converge": "converge",
    "-converge": "converge",
}
_NEVER: Final = {
    **dict.fromkeys(
        (
            "--no-validation",
            "--ignore-validation",
            "--no-digest-output",
            "-noValidation",
            "-ignoreValidation",
            "-noDigestOutput",
        ),
        "switches the validation off, without which an execution proves nothing",
    ),
    **dict.fromkeys(
        ("-h", "--help", "-l", "--list-benchmarks", "-i", "--information", "-r", "--release-notes", "--sizes"),
        "has the harness print something and execute nothing",
    ),
    **dict.fromkeys(
        ("--scratch-directory", "-scratch"), "is layoutrand's: every execution has a scratch directory of its own"
    ),
    "--config": "replaces the jar's own benchmarks",
}


def _listed(value: Any) -> Any:
    if isinstance(value, str) and value != ALL:
        raise ValueError(f'must be an array of names, or "{ALL}"')
    return [ALL] if value == ALL else value


_LIST_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [{"const": ALL}, {"type": "array", "items": {"type": "string", "pattern": NAME_PATTERN}, "minItems": 1}]
}


class DacapoSuite(StrictTable):
    """A DaCapo jar, or a harness that takes the same options and prints alike.

    ``iterations`` are made in each JVM, of which the first ``warmup`` are warm-up (by default all but the last, as
    DaCapo has it); or else ``converge`` leaves their number to the harness.  ``java_options`` stand before ``-jar``,
    ``options`` before the benchmark's name.  ``version`` says which harness it is where the jar does not.
    ``nanoseconds`` has a callback of ours take the time of iterations; ``latency`` says which latencies of requests are
    metrics, too.
    """

    kind: Literal["dacapo"]
    jar: Annotated[str, Field(min_length=1)]
    benchmarks: Annotated[list[Name], Field(min_length=1), BeforeValidator(_listed), WithJsonSchema(_LIST_SCHEMA)]
    version: Annotated[str, Field(min_length=1)] | None = None
    size: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")] = "default"
    iterations: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    warmup: Warmup | None = None
    converge: bool = False
    threads: Annotated[int, Field(ge=1)] | None = None
    java_options: list[str] = Field(default_factory=no_items)
    options: list[str] = Field(default_factory=no_items)
    nanoseconds: bool = False
    latency: list[LatencyKind] = Field(default_factory=no_items)
    timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 3600.0

    @field_validator("benchmarks")
    @classmethod
    def _each_once(cls, benchmarks: list[str]) -> list[str]:
        for name in benchmarks:
            if benchmarks.count(name) > 1:
                raise ValueError(f"{name!r} is listed twice")
        if ALL in benchmarks and len(benchmarks) > 1:
            raise ValueError(f"{ALL!r} stands alone")
        return benchmarks

    @field_validator("java_options")
    @classmethod
    def _of_the_jvm(cls, options: list[str]) -> list[str]:
        for word in options:
            if word in {"-jar", "{args}"}:
                raise ValueError(f"{word} is put there by layoutrand")
        return options

    @field_validator("options")
    @classmethod
    def _of_the_harness(cls, options: list[str]) -> list[str]:
        for word in options:
            name = word.split("=", 1)[0]
            if name in _OWN_OPTIONS:
                raise ValueError(f"{word} is set by suite.{_OWN_OPTIONS[name]}")
            if name in _NEVER:
                raise ValueError(f"{word} {_NEVER[name]}")
        return options

    @field_validator("latency")
    @classmethod
    def _each_kind_once(cls, kinds: list[LatencyKind]) -> list[LatencyKind]:
        if len(set(kinds)) < len(kinds):
            raise ValueError("a kind is listed twice")
        return kinds

    @model_validator(mode="after")
    def _one_callback(self) -> Self:
        own = [word for word in self.options if word.split("=", 1)[0] in {"-c", "--callback"}]
        if self.nanoseconds and own:
            raise ValueError(f"the harness takes one callback: nanoseconds needs it, and {own[0]} is in options")
        return self

    @model_validator(mode="after")
    def _how_many(self) -> Self:
        if self.converge:
            for key in ("iterations", "warmup"):
                if getattr(self, key) is not None:
                    raise ValueError(f"converge leaves the iterations to the harness, so {key} cannot go with it")
        elif self.iterations is None:
            raise ValueError("iterations is required: how many each JVM makes (or converge = true)")
        elif self.warmup is not None and self.warmup >= self.iterations:
            raise ValueError(f"warmup = {self.warmup} leaves nothing of {self.iterations} iterations")
        return self
