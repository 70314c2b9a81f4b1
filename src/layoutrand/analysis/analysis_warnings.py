"""Every warning that conclusions add to those of statistics: the kinds, and the words of each."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Final

from layoutrand.config.seeds import format_seeds
from layoutrand.model import BinaryName, LayoutName
from layoutrand.text.name_lists import first_names, fitting_names
from layoutrand.warning import AnyWarning, plural

APART: Final = (
    "the two systems were executed on different nodes, so a difference between systems cannot be told from one between "
    "nodes, and there is no ratio; execute both on the same nodes, as `layoutrand run` without --system does"
)

# What a selection leaves out, and what the executions in it are like.


@dataclass(frozen=True)
class LeftOutExecutions(AnyWarning):
    """Executions that were recorded but are not in the samples."""

    count: int

    @property
    @abstractmethod
    def _parts(self) -> tuple[str, str]:
        """What it is about, with a colon, or nothing; and which executions these are."""

    def __str__(self) -> str:
        whose, which = self._parts
        return f"{whose}left out {plural(self.count, 'execution')} of {which}"

    def briefly(self) -> str:
        """For a place that says already what was done with them."""
        whose, which = self._parts
        return f"{whose}{plural(self.count, 'execution')} of {which}"

    def brief(self) -> str:
        """What was left out, for a screen that says so already."""
        return self.briefly()


@dataclass(frozen=True)
class OtherCaptures(LeftOutExecutions):
    """Of captures other than the one that is analysed."""

    system: str
    n_captures: int
    capture: str

    @property
    def _parts(self) -> tuple[str, str]:
        return f"{self.system}: ", (
            f"{plural(self.n_captures, 'other capture')} (the source, the toolchain, the flags or build.mode were "
            f"others); capture {self.capture[:12]} is analysed"
        )

    def brief(self) -> str:
        """What was left out, without what is analysed instead."""
        of = f"{plural(self.count, 'execution')} of {plural(self.n_captures, 'other capture')}"
        return f"{self.system}: {of} (source, toolchain, flags or build.mode)"


@dataclass(frozen=True)
class EarlierDefinition(LeftOutExecutions):
    """Of benchmarks that were defined otherwise then, so many of each: cases of a harness are all defined at once."""

    benchmarks: tuple[str, ...]

    @property
    def _parts(self) -> tuple[str, str]:
        listed = "each of " * (len(self.benchmarks) > 1) + fitting_names(self.benchmarks, 3)
        return f"{listed}: ", "an earlier definition (command, inputs or metric)"


@dataclass(frozen=True)
class ExecutedAgain(LeftOutExecutions):
    """Of a system that `run --twice` executed a second time, as another one."""

    system: str

    @property
    def _parts(self) -> tuple[str, str]:
        return f"{self.system}: ", f"its second time (`run --twice`), which `compare {self.system} {self.system}` is of"


@dataclass(frozen=True)
class RebuiltBinaries(LeftOutExecutions):
    """Of binaries that are not those of now."""

    @property
    def _parts(self) -> tuple[str, str]:
        return "", "binaries that were since built anew and differ"


@dataclass(frozen=True)
class SystemLeftOut(LeftOutExecutions):
    """All of a system, since none are of the present configuration and source; and what there is instead."""

    system: str
    there: str

    @property
    def _parts(self) -> tuple[str, str]:
        return f"{self.system}: ", (
            f"what is not configured, or not the source, any more ({self.there}); `layoutrand run` executes what is "
            "there now, --any-source shows these"
        )

    def brief(self) -> str:
        """What was left out, without what there is instead."""
        return (
            f"{self.system}: {plural(self.count, 'execution')} of what is not configured, or not the source, any more"
        )


@dataclass(frozen=True)
class NewFiles(AnyWarning):
    """Files by which the source is another one, of kinds that no build is thought to read."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{first_names(self.names, 4)}: in the source, and new or changed since these results were built; if the "
            "build reads such files they are old (`layoutrand build` tells); build.exclude leaves files out for good"
        )

    def brief(self) -> str:
        """What was found."""
        more = f" and {len(self.names) - 1} more files" if len(self.names) > 1 else ""
        return f"{self.names[0]}{more} in the source changed since these results were built"


@dataclass(frozen=True)
class NotCompared(AnyWarning):
    """Results that could not be compared with all of the present, and why."""

    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"whether the results are of the present source and tools was not seen whole: {'; '.join(self.reasons)}"

    def brief(self) -> str:
        """What was found."""
        more = f" (and {len(self.reasons) - 1} more)" if len(self.reasons) > 1 else ""
        return f"not seen whole whether these results are of the present source: {self.reasons[0]}{more}"


@dataclass(frozen=True)
class ShownThoughOld(AnyWarning):
    """Results of another source or configuration, which the user asked for."""

    system: str
    source: str
    parts: tuple[str, ...]

    def __str__(self) -> str:
        of = f", of {self.source}," if self.source else ""
        return f"{self.system}: these results{of} are not of what is configured now: {'; '.join(self.parts)}"

    def brief(self) -> str:
        """What was found."""
        return f"{self.system}: these results are not of what is configured now"


@dataclass(frozen=True)
class PrebuiltSystems(AnyWarning):
    """What the intervals of prebuilt systems do not cover."""

    systems: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{', '.join(self.systems)}: prebuilt, in one layout: intervals cover executions of these files, and say "
            "nothing of what they would measure in another layout"
        )


@dataclass(frozen=True)
class ExecutedInSequence(AnyWarning):
    """Systems that were executed one after the other."""

    def __str__(self) -> str:
        return (
            'executed system after system (run.order = "sequential"): a drift of the machine looks like a difference '
            "between systems here"
        )

    def brief(self) -> str:
        """What was found."""
        return "executed system after system, so that a drift looks like a difference"


@dataclass(frozen=True)
class NothingExecuted(AnyWarning):
    """A benchmark of a system that has no sample."""

    system: str
    benchmark: str

    def __str__(self) -> str:
        return (
            f"{self.system}, {self.benchmark}: no seed was executed successfully, so there is nothing to analyse; "
            "the failures say why"
        )

    def brief(self) -> str:
        """What was found."""
        return f"{self.system}, {self.benchmark}: no seed was executed successfully"


@dataclass(frozen=True)
class FailedExecutions(AnyWarning):
    """Executions that a sample lacks, ``seeds`` of which there are none, and whether they can be executed again."""

    count: int
    seeds: tuple[int, ...]
    is_ours: bool

    def __str__(self) -> str:
        return (
            f"{plural(self.count, 'execution')} failed, and {'is' if self.count == 1 else 'are'} not in the sample"
            + (f"; seeds without any: {', '.join(map(str, self.seeds))}" if self.seeds else "")
            + ("; `layoutrand run --retry-failed` executes them again" if self.is_ours else "")
        )

    def brief(self) -> str:
        """What was found."""
        return f"{self.count:,} execution{'s' * (self.count > 1)} failed"


@dataclass(frozen=True)
class FailedBuilds(AnyWarning):
    """Layouts that a sample lacks."""

    layouts: tuple[LayoutName, ...]

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.layouts))
        return f"no binary of {listed}: their build failed, so the sample lacks them"

    def brief(self) -> str:
        """What was found."""
        return f"{len(self.layouts):,} layout{'s' * (len(self.layouts) > 1)} could not be built"


# What cannot be told of one sample.


@dataclass(frozen=True)
class FewOfControl(AnyWarning):
    """Too few executions of a control, or binaries, for an interval."""

    control: LayoutName
    n_executions: int
    n_binaries: int

    def __str__(self) -> str:
        return (
            f"{self.control} has {plural(self.n_executions, 'execution')} beside {plural(self.n_binaries)}; "
            "2 of each at least are needed for an interval of the shift"
        )


@dataclass(frozen=True)
class ControlSpread(AnyWarning):
    """A control that hardly any node executed twice."""

    control: LayoutName

    def __str__(self) -> str:
        return (
            f"{self.control} was executed once or hardly more on each node, so its own noise cannot be told from the "
            "nodes; more rounds on fewer nodes, or both stock and identity, would show it"
        )


@dataclass(frozen=True)
class NoShift(AnyWarning):
    """No ratio of the layouts to a control, and why."""

    control: LayoutName
    reason: str

    def __str__(self) -> str:
        return f"no shift against {self.control}: {self.reason}"


@dataclass(frozen=True)
class UnboundedShift(AnyWarning):
    """A ratio of the layouts to a control without bounds."""

    control: LayoutName

    def __str__(self) -> str:
        return (
            f"the shift against {self.control} has no bounds; more executions of {self.control} and more seeds would "
            "give it some"
        )


@dataclass(frozen=True)
class CountsExecutions(AnyWarning):
    """The plan of a prebuilt system."""

    def __str__(self) -> str:
        return "it is prebuilt, in one layout: what is counted are its executions, one for each seed of a run"


@dataclass(frozen=True)
class NothingToFind(AnyWarning):
    """A plan for a system that is the same program as the ``baseline``, and how that is known."""

    baseline: str
    known_by: str

    def __str__(self) -> str:
        return f"{self.brief()} ({self.known_by})"

    def brief(self) -> str:
        """What follows from it."""
        return f"the same program as {self.baseline}: no number of layouts finds a difference"


# What cannot be told of two systems.


@dataclass(frozen=True)
class NoRatio(AnyWarning):
    """Why there is none: of one benchmark, or of the suite."""

    reason: str
    is_of_suite: bool = False

    def __str__(self) -> str:
        return f"no ratio{' for the suite' if self.is_of_suite else ''}: {self.reason}"


@dataclass(frozen=True)
class PairedWithout(AnyWarning):
    """Seeds that the two systems have from different nodes."""

    names: tuple[BinaryName, ...]

    def __str__(self) -> str:
        seeds = [name for name in self.names if isinstance(name, int)]
        listed = format_seeds(seeds) if 1 < len(seeds) == len(self.names) else ", ".join(map(str, self.names))
        return (
            f"paired by seed without {listed}: the two systems' executions of these were made on different nodes (one "
            "was lost or repeated elsewhere), so their ratio would be partly that of the nodes"
        )
