"""Every error that layoutrand raises on purpose.

::

    LayoutrandError *
      UsageError                 exit status 2: what was asked for makes no sense
        ConfigError                layoutrand.toml is wrong; lists every problem with its key path
        UnknownMetric              a metric that no execution measured
        UnreadableResults          a file to import is not what it should be; names file and line
      HostError *                exit status 1: this machine cannot do it
        ToolNotFound               a compiler, linker or measuring tool is absent
        FeatureUnsupported         the toolchain cannot do what was asked; names what can
        ClusterError               the engine that [cluster] names is not there, or lost what it was given
      BuildError *               exit status 1: carries the system, the log and what to do next
        BuildFailed                the user's build commands failed
        CaptureFailed              the build worked, but a link of it cannot be captured
          NothingLinked              no program was linked, or past the wrappers
          NotCompiledHere            a program was linked through the wrappers, but compiled past them
            FlagsUnheard             flags of a system reached no compiler
          WorkedOnAfterLink          an artefact is not the file that its link made
        LinkFailed                 the linker failed on one layout
        LayoutNotApplied           a binary does not have the layout asked for
        CodeChanged                a binary differs from identity in more than layout
      StoreError *               exit status 1
        CacheError                 the cache cannot be written or read
        BundleError                a capture cannot be brought to another machine, or what arrived is damaged
          DamagedRecord              what should be the record of an execution is none
        ResultsError               the results file cannot be used
        UnusableFile               a pipe, a device or a giant stands where a file is to be read
      NoMeasurement              output that holds no usable number; becomes a failed execution, so it is no exit status
      AnalysisError              exit status 1: the numbers asked for cannot be computed from the data

A starred class is only caught, never raised.  ``except LayoutrandError`` stands where a failed layout or
execution becomes a record, and once in the cli; an exception outside this tree is a bug in layoutrand and keeps
its traceback.  A failed execution is not an error of this tree but a row of the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class LayoutrandError(Exception):
    """Base of all errors raised on purpose; ``str()`` is the whole message for the user."""

    exit_status = 1


class UsageError(LayoutrandError):
    """The request itself is wrong."""

    exit_status = 2


class UnknownMetric(UsageError):
    """No execution measured the metric that was asked for."""


class NotPlaced(UsageError):
    """No section that layouts place is called what was asked for."""


class ConfigError(UsageError):
    """The configuration has one or more problems; ``problems`` holds one line for each."""

    def __init__(self, path: str, problems: list[str]) -> None:
        """Keep the file's ``path`` and all its ``problems``."""
        self.path = path
        self.problems = problems
        super().__init__(self.listed(problems))

    def listed(self, problems: Sequence[str]) -> str:
        """The whole message, with its problems in these words."""
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        return f"{self.path}: {count}\n" + "\n".join(f"  - {problem}" for problem in problems)


class UnreadableResults(UsageError):
    """A file of another harness cannot be read as results; the message names file, line and what is expected."""


class HostError(LayoutrandError):
    """The machine cannot do what was asked."""


class ToolNotFound(HostError):
    """A program that is needed was not found."""


class FeatureUnsupported(HostError):
    """The toolchain cannot do what was asked."""


class NotPermuted(FeatureUnsupported):
    """Layouts of a program cannot be written without its linker."""


class ClusterError(HostError):
    """The engine that ``[cluster]`` names cannot be used, or a task that it was given came to nothing."""


class OtherMachine(FeatureUnsupported):
    """A build made a program for another processor."""


class BuildError(LayoutrandError):
    """A build, capture or link failed; ``log`` is where the whole output is.

    ``cause`` is what went wrong without what differs from one build to the next (system, layout, log), so that what
    failed for one reason is told once.
    """

    def __init__(self, message: str, *, log: Path | None = None, cause: str = "") -> None:
        """Join the ``message`` and, where there is one, the place of the ``log``; the message may be the cause."""
        self.message = message
        self.log = log
        self.cause = cause or message
        super().__init__(with_log(message, log))


def with_log(message: str, log: Path | None) -> str:
    """The whole message of a failure that has a log."""
    return message if log is None else f"{message}\nFull log: {log}"


def without_log(text: str, log: Path | None) -> str:
    """What `with_log` was given; for a log that is of no use where the message is read."""
    return text if log is None else text.removesuffix(with_log("", log))


class BuildFailed(BuildError):
    """The user's build commands failed; ``status`` is theirs, None where something else ended them or the machine."""

    status: int | None = None


class CaptureFailed(BuildError):
    """The build worked, but a link of it could not be captured or replayed."""


class NothingLinked(CaptureFailed):
    """The build worked, but no link of it was seen."""


class WrongArtefact(CaptureFailed):
    """The build worked, but what ``build.artefacts`` names is not there, or is no program.

    ``absent`` is what is not there, "" for what is no program.
    """

    absent: str = ""


class NotCompiledHere(CaptureFailed):
    """The link of a program was seen, but no compilation of it: its functions have no sections of their own.

    ``compilers`` is what its compilers call themselves in what they made, "" where that is not known of all of it.
    """

    def __init__(self, message: str, *, log: Path | None = None, cause: str = "", compilers: str = "") -> None:
        """As `BuildError`."""
        self.compilers = compilers
        super().__init__(message, log=log, cause=cause)


class FlagsUnheard(NotCompiledHere):
    """Flags of a system reached no compiler of its build; ``unheard`` says so without what may help.

    ``is_fortran`` where what was compiled is Fortran, which they are not for.
    """

    def __init__(
        self,
        message: str,
        *,
        log: Path | None = None,
        cause: str = "",
        compilers: str = "",
        unheard: str = "",
        is_fortran: bool = False,
    ) -> None:
        """As `NotCompiledHere`."""
        self.unheard = unheard
        self.is_fortran = is_fortran
        super().__init__(message, log=log, cause=cause, compilers=compilers)


class WorkedOnAfterLink(CaptureFailed):
    """The build worked on an artefact after its link, so that a link alone does not give it."""


class LinkFailed(BuildError):
    """The linker failed on one layout."""


class LinkStopped(HostError):
    """Somebody stopped the linker, as Ctrl-C does: that says nothing of what it was linking."""


class LayoutNotApplied(BuildError):
    """A binary was linked, but its sections do not stand in the order asked for."""


class CodeChanged(BuildError):
    """A binary differs from identity in more than the places of its sections."""


class StoreError(LayoutrandError):
    """State on disk cannot be used."""


class CacheError(StoreError):
    """The cache cannot be written or read."""


class BundleError(StoreError):
    """What travels between machines cannot be written or read, or is not what it should be."""


class DamagedRecord(BundleError):
    """What lies in the shared directory as the record of an execution is none, whatever is done about it."""


class ResultsError(StoreError):
    """The results file cannot be used."""


class StillMeasured(ResultsError):
    """Another layoutrand measured for longer than was to be waited."""


class UnusableFile(StoreError, OSError):
    """What is to be read is no ordinary file, larger than any of its kind, or damaged: ``strerror`` says which.

    Also an `OSError`, since whoever reads a file says what cannot be read, and why.
    """

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


class NoMeasurement(LayoutrandError):
    """What a program or an instrument wrote holds no usable number; the execution is recorded as failed."""


class NothingMatched(NoMeasurement):
    """A pattern finds nothing in what the program printed."""


class AnalysisError(LayoutrandError, ValueError):
    """The numbers asked for cannot be computed from the data given.

    Also a `ValueError`, so that users of `layoutrand.stats` as a library need not know this tree.
    """
