"""What layoutrand needs of a suite with a harness of its own; each is a module of `layoutrand.suites.known`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from layoutrand.capture.build_order import SuiteTools
from layoutrand.config.config import Benchmark, Build, Config


@dataclass(frozen=True)
class Expansion:
    """What a suite comes to: the build of its artefacts, and its benchmarks."""

    build: Build
    benchmarks: list[Benchmark]


class Suite(ABC):
    """One suite.  ``settings`` are its ``[suite]`` table, whose type is its own."""

    kind: ClassVar[str]
    """``suite.kind`` in layoutrand.toml."""

    reading: ClassVar[str]
    """``kind`` of the readings that its benchmarks have."""

    place: ClassVar[str]
    """The setting that says where it is installed, such as "suite.root"."""

    @abstractmethod
    def expand(self, settings: Any, config: Config, project: Path) -> Expansion:
        """Its build and its benchmarks; raises `ConfigError` where it is not there, or has no such benchmark."""

    @abstractmethod
    def judge(self, reading: Any, ended: HarnessOutput) -> Verdict:
        """What the harness's output says of an execution."""

    @abstractmethod
    def installed(self, settings: Any) -> str:
        """Where it is installed, as the settings say."""

    @abstractmethod
    def identity(self, path: Path, told: str) -> str:
        """Digest of what is installed there; raises `ConfigError` that names it as ``told``."""

    def described(self, settings: Any, project: Path) -> Mapping[str, str]:
        """What is recorded of it beside executions of prebuilt systems: "harness" in words, and what names its files.

        Raises `ConfigError` where it is not there.
        """
        del settings, project
        return {}

    def tools(self, build: Build) -> SuiteTools | None:
        """Its own tools, where these do the build."""
        del build
        return None

    def left_behind(self, ended: HarnessOutput, folder: Path, given: Mapping[str, str]) -> HarnessOutput:
        """``ended`` with what the harness left in the ``folder`` of the artefacts ``given`` (path -> SHA-256)."""
        del folder, given
        return ended

    def worth_keeping(self, folder: Path) -> list[Path]:
        """Files in the folder of the artefacts that explain why an execution failed."""
        del folder
        return []


@dataclass(frozen=True)
class HarnessOutput:
    """How the harness ended and what it left: ``status`` and ``reason`` as in `Execution`, before its output is read.

    ``output`` and ``messages`` are its standard output and standard error, the former holding both where they were
    merged.  ``files`` are text files that it left (see `layoutrand.suites.suite.Suite.left_behind`), by path relative
    to where they were sought.  ``expected`` is the SHA-256 of each artefact that the benchmark was given,
    ``digests`` that of each file of such a name that was there afterwards; ``hash_is_sha256`` says that a hash of the
    executable which the suite records is known to be that, too.
    """

    status: str
    reason: str
    returncode: int | None
    output: str
    messages: str
    files: dict[str, str]
    expected: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    hash_is_sha256: bool = False


@dataclass(frozen=True)
class Verdict:
    """``status`` and ``reason`` as in `Execution`; ``values`` of the iterations in order, only where it is "ok".

    ``further`` has the values of other metrics than the main one, by name, as long as ``values``.
    """

    status: str
    reason: str
    values: tuple[float, ...]
    further: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
