"""Warnings of `layoutrand explain`: the kinds, and the words of each."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from layoutrand.text.quantities import at_most
from layoutrand.warning import AnyWarning


@dataclass(frozen=True)
class NothingDiffers(AnyWarning):
    """Why nothing can be found: no ``metric`` that differs, or (None) nothing in the places of hot functions."""

    metric: str | None

    def __str__(self) -> str:
        if self.metric is not None:
            return f"{self.metric} is the same in all layouts"
        return "the hot functions lie alike in all layouts: nothing of what is looked at differs"


@dataclass(frozen=True)
class NothingHot(AnyWarning):
    """No function of the ``artefact`` has as much as ``worth`` of the cost."""

    artefact: str
    worth: float

    def __str__(self) -> str:
        return f"no function of {self.artefact} has as much as {100 * self.worth:g} % of the cost, so none is looked at"


@dataclass(frozen=True)
class FewLayouts(AnyWarning):
    """Too few to find what is weak."""

    count: int
    enough: int

    def __str__(self) -> str:
        return (
            f"{self.count} binaries: only what outweighs everything else can be found; {self.enough} or more are better"
        )


@dataclass(frozen=True)
class ExplainedBefore(AnyWarning):
    """The same program under the name of another system, which is explained, too."""

    system: str
    why: str

    def __str__(self) -> str:
        return (
            f"it is one program with {self.system}, explained above ({self.why}): where the two explanations differ, "
            "that is noise"
        )

    def brief(self) -> str:
        """Without how it is known."""
        return f"one program with {self.system}, explained as well: where the two differ, that is noise"


@dataclass(frozen=True)
class MeasuredWhileChanging(AnyWarning):
    """Where `analyse` cannot tell layouts from the machine."""

    def __str__(self) -> str:
        return (
            "the machine changed its speed while layouts were measured, so that `layoutrand analyse` cannot tell what "
            "layout does: to suspects that is noise, which may hide some; by how much one is worse is less certain "
            "than its interval says"
        )

    def brief(self) -> str:
        """Without what `analyse` makes of it."""
        return "the machine changed its speed meanwhile, which may hide suspects and makes their sizes less certain"


@dataclass(frozen=True)
class NotShownToDiffer(AnyWarning):
    """Where `analyse` finds no effect of layout: it adds ``most`` at most (of the mean; None: not known).

    ``is_little`` where that is practically none, ``is_suspected`` where something was found all the same.
    """

    most: float | None
    is_little: bool
    is_suspected: bool

    def __str__(self) -> str:
        return f"{self.brief()} (`layoutrand analyse` has more)"

    def brief(self) -> str:
        """Without where there is more of it."""
        what = "layout practically does not matter here" if self.is_little else "layouts were not shown to differ"
        size = ""
        if self.most is not None and self.most < 1:
            size = f" ({'it adds' if self.is_little else 'by'} at most {at_most(self.most)} %)"
        if self.is_suspected:
            return f"{what}{size}: what a suspect explains may be noise, which new layouts tell"
        return f"{what}{size}: there may be {'little' if self.is_little else 'nothing'} to find"


@dataclass(frozen=True)
class CauseNotLookedFor(AnyWarning):
    """A sweep's offsets differ, and it cannot be looked why."""

    reason: str

    def __str__(self) -> str:
        return f"no cause is looked for: {self.reason}"


@dataclass(frozen=True)
class VariablesNotTraced(AnyWarning):
    """Variables that are placed and not looked at."""

    reason: str

    def __str__(self) -> str:
        return f"where variables lie is not looked at: {self.reason}"


@dataclass(frozen=True)
class NoCalls(AnyWarning):
    """A profile of samples."""

    def __str__(self) -> str:
        return (
            "samples tell nothing of calls, so distances are looked at between the hottest functions alone; "
            "--profiler callgrind counts calls"
        )


@dataclass(frozen=True)
class RoundsLeftOut(AnyWarning):
    """Rounds of a sweep in which an execution has no value, of ``total`` ones."""

    rounds: tuple[int, ...]
    total: int

    def __str__(self) -> str:
        numbers = ", ".join(map(str, self.rounds[:8])) + (", …" if len(self.rounds) > 8 else "")
        return (
            f"{len(self.rounds)} of {self.total} rounds are left out, because an execution of theirs has no value: "
            f"{numbers}"
        )


@dataclass(frozen=True)
class CostOutside(AnyWarning):
    """A share of the cost in code of others.

    Layouts move that of ``others``, the artefacts beside the one that was looked at, likeliest first, and nothing else
    of it.  ``program`` is the artefact that the command starts, "" where it is none that is known.
    """

    share: float
    artefact: str
    others: tuple[str, ...] = ()
    program: str = ""

    def __str__(self) -> str:
        outside = f"{100 * self.share:.0f} % of the cost lies outside {self.artefact}"
        if not self.others:
            return f"{outside}, in code that no layout moves"
        there, command = self.others[0], ""
        if there == self.program:
            command = ", whose command starts its artefact"
        elif self.program:
            place = posixpath.relpath(self.program, posixpath.dirname(there) or ".")
            command = f", whose command finds the program at {place} from its artefact_dir"
        return (
            f"{outside}, where `explain` does not look: in {' or '.join(self.others)}, whose layout changes too, or in "
            f'code that no layout moves. It looks there for a benchmark with artefact = "{there}"{command}'
        )

    def brief(self) -> str:
        """Without how to look there."""
        where = f"in {' or '.join(self.others)}, or " if self.others else "in "
        return f"{100 * self.share:.0f} % of the cost lies outside {self.artefact}: {where}code that no layout moves"
