"""What layoutrand needs of an instrument: how an execution is started under it, and what it says afterwards.

Each is a module of `layoutrand.instruments.known`.  An `Instrument` measures: it turns what an execution left behind
into metrics.  A `Profiler` (`layoutrand.instruments.profile`) tells where in the program the cost arises.
"""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from layoutrand.config.metric import Metric
from layoutrand.config.warmup_choices import InForce
from layoutrand.errors import ToolNotFound
from layoutrand.harnesses.harness import Case
from layoutrand.model import Measurement
from layoutrand.platform.packages import install


@dataclass(frozen=True)
class InstrumentFiles:
    """Where an instrument may write, as absolute paths that exist and are empty of its files.

    ``output`` holds the program's output, too, and is kept where the execution fails; ``scratch`` is not.
    """

    output: Path
    scratch: Path


@dataclass(frozen=True)
class EndedExecution:
    """An execution that ended well, as its instrument is shown it.

    ``wall_s`` is in seconds, ``rusage`` as in `Execution`.  ``output`` and ``messages`` read what the program printed
    on standard output and standard error; ``written`` reads a file of the instrument's in `InstrumentFiles.output` by
    its name, None where it is not there.  ``harness`` has the numbers that a suite's harness printed, by metric, None
    without a suite; ``cases`` are those that a harness of benchmarks reported.  ``warmups`` says for each number
    that the program prints how many iterations must be exceeded.
    """

    metric: Metric
    pid: int
    wall_s: float
    rusage: Mapping[str, float]
    output: Callable[[], bytes]
    messages: Callable[[], bytes]
    written: Callable[[str], str | None]
    harness: Mapping[str, tuple[float, ...]] | None
    warmups: Mapping[str, InForce]
    cases: Sequence[Case] = ()


class Starter(ABC):
    """What an execution is started under.  What is not overridden is said of the program started by itself."""

    name: ClassVar[str]
    """What results call it; it is part of the key of every execution, so it never changes."""

    program: ClassVar[str] = ""
    """The program in PATH that starts the benchmark's, whose stack is not ours to move then; "" for none."""

    simulated: ClassVar[bool] = False
    """Whether the processor is simulated: counts repeat to the digit, and nothing on the machine disturbs them."""

    slowdown: ClassVar[int] = 1
    """How many times as long as by itself a program may take; ``timeout_s`` is meant for the program as it is."""

    behind: ClassVar[Literal["anything", "a starter", "nothing"]] = "nothing"
    """What may stand between it and the program: any launcher; one that has this processor execute it; or nothing."""

    def find(self) -> str:
        """The absolute path of its program, "" where it needs none; raises `ToolNotFound` that says what to do."""
        if not self.program:
            return ""
        found = shutil.which(self.program)
        if found is None:
            raise ToolNotFound(self.absent())
        return os.path.abspath(found)

    def absent(self) -> str:
        """The message where its program is not in PATH."""
        return f"there is no {self.program} in PATH: {self.how_to_install()}"

    def how_to_install(self) -> str:
        """The command that installs its program."""
        return install([self.program])

    def why_it_gave_up(self, written: Callable[[str], Sequence[str]]) -> str:
        """Why it ended an execution by itself, which the program may not have failed, and what may help; else "".

        ``written`` reads those of its files in `InstrumentFiles.output` whose names begin so.
        """
        del written
        return ""

    def prepare(self, files: InstrumentFiles, qemu: str = "") -> None:
        """Make what it needs there before an execution, such as a FIFO; ``qemu`` as in `Instrument.check`."""
        del files, qemu


class Instrument(Starter):
    """One that measures."""

    settings: ClassVar[str]
    """What a benchmark's ``metric`` is told by, such as "metric.counters"; for messages."""

    described: ClassVar[str]
    """How it measures, in the words that are recorded with every experiment."""

    reads_output: ClassVar[bool] = False
    """Whether it reads the numbers that the program prints; one does, which starts the program by itself.

    Only there iterations, warm-up and a direction of improvement are the user's to say, and only there standard error
    may go into standard output: other instruments have messages of their own.
    """

    counts: ClassVar[bool] = True
    """Whether its numbers come in steps of one, so that equal ones are no sign of a coarse clock."""

    elapsed: ClassVar[str] = ""
    """The metric that is the time from start to end, where it has one."""

    summing_up: ClassVar[str] = ""
    """The metric that sums up its others, where there is one."""

    missed: ClassVar[str] = ""
    """What a machine without its program cannot do, where that is worth a note of ``layoutrand doctor``."""

    def is_asked(self, metric: Metric) -> bool:
        """Whether a benchmark with such a ``metric`` is to be executed under it."""
        return self.name in metric.instruments

    @abstractmethod
    def metrics(self, metric: Metric) -> tuple[str, ...]:
        """The names of all that it measures for such a benchmark, the one to judge by first; never empty."""

    @abstractmethod
    def definition(self, metric: Metric) -> Any:
        """What decides the numbers, as JSON values: whenever it changes, executions are made anew."""

    @abstractmethod
    def measurements(self, ended: EndedExecution) -> tuple[Measurement, ...]:
        """What was measured; raises `NoMeasurement` where the files or the output do not have it."""

    def absent(self) -> str:
        """See `Starter`."""
        return f"a benchmark asks for {self.settings}, but {super().absent()}"

    def check(self, program: str, metrics: Sequence[Metric], qemu: str = "") -> None:
        """Raise `FeatureUnsupported` where it cannot measure here what these ask for; before anything is executed.

        ``qemu`` is the absolute path of the qemu that executes programs here, "" for none.
        """
        del program, metrics, qemu

    def prefix(self, program: str, metric: Metric, files: InstrumentFiles) -> tuple[str, ...]:
        """The words before a benchmark's command; ``program`` is what `find` found."""
        del program, metric, files
        return ()

    def environment(self, metric: Metric, files: InstrumentFiles) -> dict[str, str]:
        """Variables that the execution has because of it, the same in every execution of a benchmark."""
        del metric, files
        return {}

    def fatal_signal(self, messages: Callable[[], bytes], argv: Sequence[str]) -> int | None:
        """The signal that ended the program, where the instrument ended well all the same and only says so."""
        del messages, argv
        return None
