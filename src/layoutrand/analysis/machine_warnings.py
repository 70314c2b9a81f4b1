"""Every warning that what was measured is the machine's, not the layout's: the kinds, and the words of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.model import LayoutName
from layoutrand.text.name_lists import joined_names
from layoutrand.text.quantities import change, number, quantity
from layoutrand.warning import AnyWarning

_FINEST_TOLD: Final = 1e-6
"""Of a ratio: no percentage is told with more than four digits after the point."""


def _listed(levels: Sequence[float], unit: str) -> str:
    return joined_names([quantity(level, unit) for level in levels])


@dataclass(frozen=True)
class MachineSwitched(AnyWarning):
    """Levels that the machine alternated between: of one binary, in ``unit``, with its executions at each.

    ``is_instead_of_layout`` where that is no small part of the differences between layouts.
    """

    levels: tuple[float, ...]
    unit: str
    counts: tuple[int, ...]
    binary: str
    n_changes: int
    is_instead_of_layout: bool

    def __str__(self) -> str:
        listed = _listed(self.levels, self.unit)
        total, slower = sum(self.counts), sum(self.counts[1:])
        how = "changed once between" if self.n_changes == 1 else f"switched {self.n_changes} times between"
        within = (
            f"also within one binary ({slower} of {total} executions of {self.binary} above the lowest)"
            if 0 < slower < total and self.binary != "the layouts"
            else f"{slower} of {total} executions of {self.binary} above the lowest"
        )
        meaning = (
            "so groups of layouts, and whether layout matters, cannot be told from it; more layouts will not help"
            if self.is_instead_of_layout
            else "which is a small part of the differences between layouts"
        )
        return (
            f"the machine {how} {listed}, {within}: {meaning}; measure on a quieter core, with a fixed frequency "
            "(`layoutrand doctor`)"
        )

    def brief(self) -> str:
        """What was found."""
        total, slower = sum(self.counts), sum(self.counts[1:])
        within = f", also within one binary ({slower} of {total} executions of {self.binary})"
        where = within if 0 < slower < total and self.binary != "the layouts" else ""
        return f"the machine switched between {_listed(self.levels, self.unit)}{where}"


@dataclass(frozen=True)
class MachineDrifted(AnyWarning):
    """Executions are like those before them; ``cancels`` where layouts were compared with controls of their rounds."""

    cancels: bool = False

    def __str__(self) -> str:
        what = (
            "executions made one after the other measured alike, whatever binary they were of, which layouts cannot "
            "do: the machine drifted"
        )
        if self.cancels:
            return (
                f"{what}; what layout is said to add is free of that, as each round was compared with its own "
                "executions of stock and identity, but the mean over layouts, the single binaries and the spread "
                "between them are not: measure again on a quieter machine"
            )
        return (
            f"{what}, and what layout is said to add may be partly that; execute stock and identity as controls, or "
            "measure again on a quieter machine, or with more run.executions (each is a pass of its own over all "
            "binaries, so that drift counts as noise)"
        )

    def brief(self) -> str:
        """What was found."""
        return "the machine drifted: executions made one after the other measured alike"


@dataclass(frozen=True)
class MachineChanged(AnyWarning):
    """The machine was at several ``levels`` (none: it drifted) while systems were executed that are compared.

    ``in_turns`` says that they took turns, ``by_round`` that each round has a ratio of its own.
    """

    levels: tuple[float, ...]
    unit: str
    n_changes: int
    by_round: bool
    in_turns: bool = True

    def __str__(self) -> str:
        if self.levels:
            how = "changed once" if self.n_changes == 1 else f"switched {self.n_changes} times"
            what = f"the machine {how} between {_listed(self.levels, self.unit)}"
        else:
            what = "the machine drifted: executions made one after the other measured alike"
        if self.by_round:
            return (
                f"{what}; each round has its own ratio, so that only what changed within rounds makes it less certain"
            )
        if not self.in_turns:
            return f"{what}; the systems did not take turns, so the difference between them may be that alone"
        return f"{what}; all systems took turns, so the ratio is not wrong for it, and less certain"

    def brief(self) -> str:
        """What was found."""
        if self.levels:
            return f"the machine switched between {_listed(self.levels, self.unit)}"
        return "the machine drifted while it measured"


@dataclass(frozen=True)
class GroupsInOneBinary(AnyWarning):
    """The executions of one binary fall into groups by themselves."""

    control: LayoutName
    n_executions: int
    p_value: float

    def __str__(self) -> str:
        return (
            f"the {self.n_executions} executions of {self.control} fall into groups by themselves (dip test, p = "
            f"{self.p_value:.2g}), so groups of layouts may be groups of executions; set run.executions to 5 or more "
            "to tell them apart"
        )

    def brief(self) -> str:
        """What was found."""
        return f"executions of {self.control}, which is one binary, fall into groups by themselves"


@dataclass(frozen=True)
class CountsFollowTime(AnyWarning):
    """Simulated counts are like those before them."""

    def __str__(self) -> str:
        return (
            "simulated counts follow the order of execution, which neither layouts nor a simulator can do: something "
            "that the program reads or is loaded with changed meanwhile"
        )

    def brief(self) -> str:
        """What was found."""
        return "simulated counts follow the order of execution: something that the program reads changed meanwhile"


@dataclass(frozen=True)
class CountsChanged(AnyWarning):
    """A simulator counted one binary unlike, with ``fixed_addresses`` where no address was random."""

    binary: str
    n_executions: int
    n_values: int
    lowest: float
    highest: float
    fixed_addresses: bool = False

    @property
    def is_seen(self) -> bool:
        """Whether any figure that is told shows as little: none has digits below a millionth."""
        return self.lowest <= 0 or self.highest / self.lowest - 1 > _FINEST_TOLD

    def __str__(self) -> str:
        size = f" ({change(self.highest / self.lowest)})" if self.lowest > 0 else ""
        what = "the clock, a seed" if self.fixed_addresses else "the clock, addresses, a seed"
        return (
            f"{self.n_executions} simulated executions of {self.binary}, one and the same binary, counted "
            f"{self.n_values} different numbers, {number(self.lowest, 15)} to {number(self.highest, 15)}{size}: what "
            f"is no larger between layouts is not layout; the program goes by what changes ({what}), or something "
            "that it reads or is loaded with changed"
        )

    def brief(self) -> str:
        """What was found."""
        return f"{self.binary}, one and the same binary, was counted {self.n_values} different numbers"
