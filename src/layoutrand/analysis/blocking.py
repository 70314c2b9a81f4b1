"""Samples of executions on several nodes: node is a blocking factor, so what a node adds is taken out of them.

Nodes are taken as they are: an interval covers other layouts and executions on these nodes, not other nodes.  How much
of which node there is in a mean is how many binaries it executed, which the assignment of seeds to nodes makes alike
for every system, benchmark and control; so the mean of what was measured stays what it is, and only variances change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, Final

from layoutrand.analysis.node_warnings import AloneOnNode, InseparableNodes
from layoutrand.analysis.sample import Executions, Sample
from layoutrand.errors import AnalysisError
from layoutrand.model import IDENTITY, STOCK, BinaryName, LayoutName
from layoutrand.stats import BlockEffects, Unblocked, adjust, block_effects, with_lost, without_blocks
from layoutrand.warning import AnyWarning

HOME: Final = "home"
"""What the machine is called that layoutrand was started on, beside nodes that have names."""

_LAYOUTS: Final = "layouts"

_ROUNDING: Final = 1e-12
"""Of a factor that is 1 but for logarithm and exponential."""


@dataclass(frozen=True)
class Freed:
    """A sample with what its nodes add taken out, and what that cost.

    ``sample`` is ``raw`` itself where all executions were made on one machine, and ``method`` then "", else that of
    `layoutrand.stats.without_blocks`.  ``lost`` are the degrees of freedom that the binaries' means lack; of each
    control, ``control_degrees`` are those left and ``control_lost`` those that lack.  ``noise`` is what the variance of
    an execution of stock must be multiplied by before it is taken off that of binaries.
    """

    sample: Sample
    raw: Sample
    method: str = ""
    lost: int = 0
    control_degrees: Mapping[LayoutName, int] = field(default_factory=dict)
    control_lost: Mapping[LayoutName, int] = field(default_factory=dict)
    noise: float = 1.0
    warnings: tuple[AnyWarning, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes by name; nothing where there is one machine."""
        return nodes_of(self.raw) if self.method else ()

    def charged(self, data: Any) -> Any:
        """These data of the sample's binaries, with the degrees of freedom that they lack."""
        return with_lost(data, self.lost) if self.lost else data

    def has_noise(self, control: LayoutName) -> bool:
        """Whether executions of this control show how noisy an execution is."""
        return self.control_degrees.get(control, 1) >= 1

    def node_of(self, binary: BinaryName) -> str:
        """The node of its first execution."""
        return _called(self.raw.nodes[binary][0]) if binary in self.raw.nodes else HOME


@dataclass(frozen=True)
class SampleNodes:
    """What nodes add to one sample; ``effects`` is None where nodes cannot be compared.

    ``holm`` are the p-values of the nodes' effects beside each other; ``method`` and ``lost`` are those of `Freed`.
    """

    nodes: tuple[str, ...]
    method: str
    lost: int
    effects: BlockEffects | None
    holm: tuple[float, ...]


def nodes_of(sample: Sample) -> tuple[str, ...]:
    """The nodes of a sample by name; nothing where all were executed without a cluster."""
    return tuple(sorted({_called(node) for own in sample.nodes.values() for node in own}))


def freed(sample: Sample) -> Freed:
    """One sample by itself."""
    return freed_together([sample])[0][0]


def freed_together(samples: Sequence[Sample]) -> tuple[list[Freed], bool]:
    """Samples of one quantity, with what nodes add to all of them taken out; whether they can then be compared.

    Systems that are compared need effects estimated from both: where seeds of one are missing, its mean is one over
    another mix of nodes.
    """
    if not any(sample.nodes for sample in samples):  # a row for each of a million executions takes a while
        return [Freed(sample, sample) for sample in samples], True
    rows = [row for number, sample in enumerate(samples) for row in _rows(number, sample)]
    values = [row.value for row in rows]
    if len({row.node for row in rows}) < 2 or min(values) == max(values):
        return [Freed(sample, sample) for sample in samples], True
    scale = "log" if min(values) > 0 else "linear"
    found = without_blocks(
        values,
        [row.node for row in rows],
        units=[row.unit for row in rows],
        groups=[row.group for row in rows],
        controls={row.group for row in rows if row.is_control},
        scale=scale,
    )
    moves: dict[tuple[int, BinaryName, bool], list[float]] = {}
    for row, new in zip(rows, found.measurements.tolist(), strict=True):
        moves.setdefault((row.sample, row.name, row.is_control), []).append(_move(row.value, new, scale))
    comparable = found.is_connected or found.method == "none"
    return [_freed(number, sample, moves, found, scale) for number, sample in enumerate(samples)], comparable


def sample_nodes(own: Freed, confidence: float) -> SampleNodes | None:
    """What each node adds; None where there is one machine.

    One control alone: stock and identity of a round share what happened to the node then, so the second says little
    that the first did not, and would be counted as if it said as much.
    """
    if not own.method:
        return None
    control = next((name for name in (STOCK, IDENTITY) if name in own.raw.controls), None)
    rows = [row for row in _rows(0, own.raw) if not row.is_control or row.name == control]
    values = [row.value for row in rows]
    try:
        found = block_effects(
            values,
            [row.node for row in rows],
            units=[row.unit for row in rows],
            groups=[None if row.is_control else _LAYOUTS for row in rows],
            confidence=confidence,
            scale="log" if min(values) > 0 else "linear",
        )
    except AnalysisError:  # the warnings say that nodes cannot be told from layouts
        return SampleNodes(own.nodes, own.method, own.lost, None, ())
    return SampleNodes(own.nodes, own.method, own.lost, found, adjust(found.p_values))


def apart(old: Sample, new: Sample) -> list[BinaryName]:
    """Seeds that both samples have, but from executions on different nodes: their ratios are partly those of nodes."""
    both = [name for name, _ in old.binaries if name in dict(new.binaries)]
    return [name for name in both if sorted(old.nodes.get(name, ())) != sorted(new.nodes.get(name, ()))]


def without(sample: Sample, names: Sequence[BinaryName]) -> Sample:
    """The sample without these binaries."""
    return replace(sample, binaries=tuple(each for each in sample.binaries if each[0] not in names))


@dataclass(frozen=True)
class _Row:
    """One execution."""

    sample: int
    name: BinaryName
    is_control: bool
    value: float
    node: str

    @property
    def group(self) -> tuple[int, str]:
        return self.sample, str(self.name) if self.is_control else _LAYOUTS

    @property
    def unit(self) -> tuple[int, bool, BinaryName]:
        return self.sample, self.is_control, self.name


def _called(node: str) -> str:
    return node or HOME


def _rows(number: int, sample: Sample) -> list[_Row]:
    named: list[tuple[BinaryName, Executions, bool]] = [(name, own, False) for name, own in sample.binaries]
    named += [(name, own, True) for name, own in sample.controls.items()]
    return [
        _Row(number, name, is_control, fmean(iterations), _called(node))
        for name, executions, is_control in named
        for iterations, node in zip(executions, sample.nodes.get(name, ("",) * len(executions)), strict=True)
    ]


def _move(old: float, new: float, scale: str) -> float:
    """Factor or difference; exactly none where logarithm and exponential alone made one."""
    if scale == "linear":
        return new - old
    factor = new / old
    return 1.0 if abs(factor - 1) < _ROUNDING else factor


def _freed(
    number: int, sample: Sample, moves: Mapping[tuple[int, BinaryName, bool], list[float]], found: Unblocked, scale: str
) -> Freed:
    def moved(name: BinaryName, executions: Executions, *, is_control: bool) -> Executions:
        own = moves[number, name, is_control]
        if scale == "log":
            return tuple(tuple(x * by for x in run) for run, by in zip(executions, own, strict=True))
        return tuple(tuple(x + by for x in run) for run, by in zip(executions, own, strict=True))

    if found.method == "none":
        return Freed(sample, sample, method="none", warnings=(InseparableNodes(),))
    new = replace(
        sample,
        binaries=tuple((name, moved(name, own, is_control=False)) for name, own in sample.binaries),
        controls={name: moved(name, own, is_control=True) for name, own in sample.controls.items()},
    )
    return Freed(
        new,
        sample,
        method=found.method,
        lost=found.lost.get((number, _LAYOUTS), 0),
        control_degrees={name: found.degrees[number, name] for name in sample.controls},
        control_lost={name: found.lost[number, name] for name in sample.controls},
        noise=found.noise,
        warnings=_alone(sample) if found.method == "within" else (),
    )


def _alone(sample: Sample) -> tuple[AnyWarning, ...]:
    """Binaries that were the only ones on their node, so that nothing tells the one from the other."""
    on: dict[str, list[BinaryName]] = {}
    for name, _ in sample.binaries:
        on.setdefault(_called(sample.nodes[name][0] if name in sample.nodes else ""), []).append(name)
    single = tuple((names[0], node) for node, names in on.items() if len(names) == 1)
    return (AloneOnNode(single),) if single else ()
