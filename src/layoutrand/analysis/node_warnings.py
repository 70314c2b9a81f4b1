"""Warnings about executions on several nodes: the kinds, and the words of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutrand.model import BinaryName, LayoutName
from layoutrand.text.name_lists import first_names
from layoutrand.warning import AnyWarning

Groups = tuple[tuple[str, tuple[str, ...]], ...]
"""(Value, the nodes that have it)."""


@dataclass(frozen=True)
class InseparableNodes(AnyWarning):
    """Nodes and layouts that always changed together."""

    def __str__(self) -> str:
        return (
            "nodes cannot be told from layouts: too few binaries share a node, and no control was executed on all of "
            "them, so what nodes add is part of what layouts are said to add; execute stock as a control, more seeds, "
            "or fewer nodes"
        )

    def brief(self) -> str:
        """What was found."""
        return "nodes cannot be told from layouts"


@dataclass(frozen=True)
class AloneOnNode(AnyWarning):
    """(Binary, its node) of binaries that were the only ones on theirs."""

    binaries: tuple[tuple[BinaryName, str], ...]

    def __str__(self) -> str:
        listed = ", ".join(f"{name} ({node})" for name, node in self.binaries)
        return f"alone on a node, so that nothing tells layout from node there: {listed}; only their mean counts"


@dataclass(frozen=True)
class OneRoundEach(AnyWarning):
    """Nodes that cannot be told from what happened to them once."""

    def __str__(self) -> str:
        return (
            "hardly any node executed more than one round, so what disturbed it in that round cannot be told from the "
            "node; more seeds, or fewer nodes, would"
        )

    def brief(self) -> str:
        """What was found."""
        return "hardly any node executed more than one round"


@dataclass(frozen=True)
class UnlikeProcessors(AnyWarning):
    """Processors that are analysed together because the user wants it."""

    processors: Groups

    def __str__(self) -> str:
        return (
            "unlike processors are analysed together, as cluster.measure.unlike_cpus has it: "
            f"{_listed(self.processors)}; what one layout does on one of them it may not do on another, so the numbers "
            "are those of this mix"
        )


@dataclass(frozen=True)
class UnlikeNodes(AnyWarning):
    """A setting in which nodes with like processors differ."""

    setting: str
    values: Groups

    def __str__(self) -> str:
        return (
            f"nodes differ in {self.setting}: {_listed(self.values)}; what that adds is part of the nodes' effects and "
            "taken out with them, but not what it does to some layouts alone"
        )

    def brief(self) -> str:
        """What was found."""
        return f"nodes differ in {self.setting}"


@dataclass(frozen=True)
class ChangedNodes(AnyWarning):
    """(Node, the settings that changed on it) while the experiment ran."""

    changed: Groups

    def __str__(self) -> str:
        listed = ", ".join(f"{node} ({', '.join(settings)})" for node, settings in self.changed)
        return f"changed while the experiment ran: {listed}; a node is taken for the same throughout"

    def brief(self) -> str:
        """What was found."""
        return f"{len(self.changed)} node{'s' * (len(self.changed) > 1)} changed while the experiment ran"


@dataclass(frozen=True)
class UnlikePaths(AnyWarning):
    """Directories of executions whose paths differ in length, in bytes."""

    lengths: Groups

    def __str__(self) -> str:
        return (
            f"programs ran under paths of different lengths: {_listed(self.lengths)}; their stacks lie at different "
            "addresses on these nodes, which counts as what the nodes add; a directory of one path on all nodes avoids "
            "that"
        )


def _listed(groups: Sequence[tuple[str, Sequence[str]]]) -> str:
    return "; ".join(f"{value} ({first_names(names, 4)})" for value, names in groups)


@dataclass(frozen=True)
class ControlElsewhere(AnyWarning):
    """A control that was executed on other nodes than layouts."""

    control: LayoutName

    def __str__(self) -> str:
        return (
            f"no shift against {self.control}: fewer than two rounds have it on the node of their layout, so a "
            "difference cannot be told from one between nodes"
        )
