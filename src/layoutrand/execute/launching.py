"""What executions are launched by: checked before the first one is made, together with what goes with it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from layoutrand.config.command import ARTEFACT, begins_with_program
from layoutrand.config.config import Benchmark, Config
from layoutrand.errors import ConfigError, FeatureUnsupported
from layoutrand.execute.memory_placement import preloaded_for
from layoutrand.host import binfmt
from layoutrand.host.launcher import Launcher, find_launcher, kernels_launcher
from layoutrand.host.processors import HEADER, ForeignProcessor, foreign
from layoutrand.instruments.instrument import Instrument, Starter
from layoutrand.model import Binary
from layoutrand.objects import dynamic
from layoutrand.objects.elf import is_elf
from layoutrand.platform.regular_file import PROGRAM, beginning, content_of_regular

_Artefact = tuple[str, str]
"""System and artefact."""


@dataclass(frozen=True)
class Launching:
    """The launcher, None for none, and the artefacts that are for another processor than this machine's."""

    launcher: Launcher | None = None
    others: Mapping[_Artefact, ForeignProcessor] = field(default_factory=dict)

    @property
    def words(self) -> tuple[str, ...]:
        """Those that stand in commands."""
        return () if self.launcher is None or self.launcher.by_kernel else self.launcher.words

    @property
    def qemu(self) -> str:
        """The absolute path of the qemu that executes the programs, "" for none."""
        return "" if self.launcher is None else self.launcher.qemu or ""

    @property
    def prefix(self) -> str:
        """As `Launcher.prefix`."""
        return "" if self.launcher is None else self.launcher.prefix

    def facts(self, binary: Binary) -> dict[str, object]:
        """What is recorded with an execution of the binary."""
        emulates = (binary.system, binary.artefact) in self.others
        return {} if self.launcher is None else self.launcher.facts(emulates=emulates)

    def check(self, instrument: Starter) -> None:
        """Raise `FeatureUnsupported` where the instrument would measure the launcher in place of the program."""
        if self.launcher is None:
            return
        emulates = bool(self.others) or self.launcher.is_qemu
        if instrument.behind == "nothing" or (instrument.behind == "a starter" and emulates):
            starter = Path(self.launcher.words[0]).name
            raise FeatureUnsupported(
                f"{instrument.name} would measure {starter}, which starts the program, and not the program: "
                f"{self._instead(instrument)}"
            )

    def _instead(self, instrument: Starter) -> str:
        """What does measure the program, where its processor is another one, too."""
        counted = self.qemu and isinstance(instrument, Instrument)
        cures = ['metric.instruments = ["qemu"] counts the instructions of what qemu executes'] if counted else []
        other = next(iter(self.others.values()), None)
        without = "leave run.launcher out" if other is None else f"a machine for {other.words} needs no launcher"
        return "; ".join([*cures, without])


def checked_launching(
    config: Config, benchmarks: Iterable[Benchmark], binaries: Sequence[Binary], project: Path
) -> Launching:
    """How executions are launched here.

    Raises `ToolNotFound` without the launcher, `ConfigError` for a shared library as the program, and
    `FeatureUnsupported` for a program of another machine that nothing is there to execute, or that nothing can be
    preloaded into.
    """
    launcher = find_launcher(config.run.launcher, project)
    others, interpreters = dict[_Artefact, ForeignProcessor](), dict[str, None]()
    for benchmark in benchmarks:
        name = benchmark.artefact or next(iter(config.build.artefacts), "")
        if not begins_with_program(benchmark.command) and launcher is None:
            continue  # whatever the artefact is to that program, it is for that to know
        for binary in {binary.system: binary for binary in binaries if binary.artefact == name}.values():
            # Of a file that is not there is told elsewhere; what a delta is against is of the same program.
            path = binary.base or binary.path
            header = beginning(path, HEADER)
            if (processor := foreign(header)) is None:
                if launcher is None and benchmark.command[0] == ARTEFACT and _is_library(path, header):
                    problem = _no_program(config.build.artefacts, benchmark.name, name)
                    raise ConfigError(str(project / "layoutrand.toml"), [problem])
                continue
            others[binary.system, name] = processor
            if launcher is None:
                if (interpreter := binfmt.handler(header)) is None:
                    raise FeatureUnsupported(_not_executed(benchmark.name, name, processor))
                interpreters[interpreter] = None
    if others and (wanted := preloaded_for(config)):
        raise FeatureUnsupported(
            f"{wanted}, which takes an object that is loaded before the program, and "
            f"{next(iter(others))[1]} is for {next(iter(others.values())).words}, for which none is made here"
        )
    if interpreters:
        return Launching(kernels_launcher(next(iter(interpreters))), others)
    return Launching(launcher, others)


def _is_library(path: Path, header: bytes) -> bool:
    return is_elf(header) and dynamic.is_library(content_of_regular(path, largest=PROGRAM))


def _no_program(artefacts: Sequence[str], benchmark: str, library: str) -> str:
    """One line that says what to write."""
    others = [json.dumps(other) for other in artefacts if other != library]
    written = f"write artefact = {' or '.join(others)}" if others else "list a program that loads it in build.artefacts"
    return (
        f"benchmark {benchmark!r}: {library} is a shared library, which programs load and nobody executes, and "
        f"nothing was executed: {written}, or begin the command with a program that finds the library in "
        "{artefact_dir}"
    )


def _not_executed(benchmark: str, artefact: str, processor: ForeignProcessor) -> str:
    """One line that says what to write."""
    if not processor.launcher:
        advice = "execute it on such a machine, or by an emulator in run.launcher"
    else:
        words = json.dumps(processor.launcher)
        advice = f"write run.launcher = {words} (of Debian's qemu-user), or execute it on such a machine"
    return (
        f"benchmark {benchmark!r}: {artefact} is for {processor.words}, which this machine does not execute, and "
        f"nothing was executed: {advice}"
    )
