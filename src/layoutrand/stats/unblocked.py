"""Measurements with what their blocks add taken out, and what is left of their degrees of freedom.

The way depends on the design alone, never on the values: see `without_blocks`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from layoutrand.errors import AnalysisError
from layoutrand.stats.block_fit import BlockFit, fit_blocks, numbered
from layoutrand.stats.blocks import read_blocks
from layoutrand.stats.checks import check_labels
from layoutrand.stats.levels import FloatArray, IntArray

Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Unblocked:
    """Measurements without what blocks add.

    Attributes
    ----------
    measurements
        In the order and unit of those given; their sample variance over the binaries of a population (over the
        executions of a control) estimates what it would be in one block, where `degrees` is at least 1.
    degrees
        Of each group, the degrees of freedom that the sample variance has; 0 where blocks left nothing of it.
    lost
        Of each group, how many fewer that is than without blocks.
    noise
        What the variance of one execution of a control must be multiplied by before it is compared with that of
        binaries that were executed once; 1 but for the method ``"linked"``.
    is_connected
        Whether the groups can be compared: whether blocks, and groups measured in several of them, connect all.
    method
        ``"within"`` blocks, ``"crossed"``, ``"linked"`` by controls, or ``"none"`` where nothing could be taken out.
    """

    measurements: FloatArray
    degrees: Mapping[Hashable, int]
    lost: Mapping[Hashable, int]
    noise: float
    is_connected: bool
    method: str


def without_blocks(
    values: Sequence[float] | FloatArray,
    blocks: Sequence[Hashable],
    *,
    units: Sequence[Hashable],
    groups: Sequence[Hashable],
    controls: Collection[Hashable] = (),
    scale: str = "log",
) -> Unblocked:
    """Take out of measurements what their blocks add.

    Parameters
    ----------
    values, blocks, units
        As in `block_effects`: one value for each execution, its block, its binary.
    groups
        Of each value the population that its binary was drawn from, or the control that it is.
    controls
        Those groups that are one binary each, with executions as their sample.
    scale
        ``"log"`` (values above 0) or ``"linear"``.

    Raises
    ------
    AnalysisError
        As `block_effects` for malformed values and labels; no group that is not a control.

    Notes
    -----
    Where each drawn binary was measured in one block: ``within``.  What is left of a binary is its distance from the
    mean of its population in its block, times ``sqrt((n - 1) / (n - k))`` for n binaries in k blocks, so that the usual
    sample variance is the mean square of binaries within blocks, with n - k degrees of freedom: exact for normal
    binaries, whatever blocks add and even where blocks treat controls otherwise.  (Adjusting residuals to the right
    variance: Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 6.2.)  Executions and
    iterations of a binary keep their distances from it.

    With fewer than 2 binaries to a block on average too little would be left; where controls were executed in all
    blocks these say what blocks add instead (``linked``), by least squares of ``y = control + block``.  The binaries
    keep their degrees of freedom, and their variance has the error of the effects added (`noise` times that of an
    execution).

    Where binaries were measured in several blocks: ``crossed``, least squares of ``y = binary + block`` over
    everything; the distances of executions from their binary's mean are stretched likewise.

    The mean of a population is moved only by how its blocks are mixed otherwise than those of all populations together:
    ``mean - sum (w_gn - w_n) a_n`` with the shares w of block n, and a from least squares of ``y = group + block``
    (Montgomery, Design and Analysis of Experiments, section 4.1; the adjusted means of an unbalanced two-way layout).
    One population, and two that were assigned in the same way, keep their means, so what blocks add costs these
    nothing; for two that were not, the variance that adjusting adds to the difference of means is charged to both.
    """
    y, unit, block, names = read_blocks(values, units, blocks, scale=scale)
    check_labels(groups, name="groups")
    if len(groups) != y.size:
        raise AnalysisError(f"without blocks: {y.size} values, but {len(groups)} groups; give one for each value")
    table = _Table(y, unit, block, list(groups), set(controls), len(names))
    if not table.drawn:
        raise AnalysisError("without blocks: all groups are controls; at least one must have drawn binaries")
    method = table.method()
    if method == "none":
        return Unblocked(
            measurements=np.asarray(values, dtype=np.float64),
            degrees={g: table.size(g) - 1 for g in table.names},
            lost=dict.fromkeys(table.names, 0),
            noise=1.0,
            is_connected=False,
            method="none",
        )
    z = y.copy()
    degrees: dict[Hashable, int] = {}
    location = table.location
    for group in table.names:
        if group in table.drawn and method != "within":
            fit = table.crossed if method == "crossed" else table.linked
            z[table.of[group]] = table.freed(group, fit, stretch=method == "crossed")
            degrees[group] = table.size(group) - 1
        elif group not in table.drawn and method == "linked":
            z[table.of[group]], degrees[group] = table.linked_control(group, location)
        else:
            z[table.of[group]], degrees[group] = table.within(group, location)
    return Unblocked(
        measurements=np.exp(z) if scale == "log" else z,
        degrees=degrees,
        lost={g: max(table.size(g) - 1 - degrees[g], 0) for g in table.names},
        noise=table.noise() if method == "linked" else 1.0,
        is_connected=location.is_connected,
        method=method,
    )


class _Table:
    """The values by group; an observation is the mean of a drawn binary in a block, or an execution of a control."""

    def __init__(
        self, y: FloatArray, unit: IntArray, block: IntArray, groups: list[Hashable], controls: set[Hashable], k: int
    ) -> None:
        self.y, self.unit, self.block, self.k = y, unit, block, k
        self.number, self.names = numbered(groups)
        self.of = {name: np.flatnonzero(self.number == place) for place, name in enumerate(self.names)}
        self.drawn = [name for name in self.names if name not in controls]
        rows = [
            (int(self.number[i]), int(unit[i]) if name in self.drawn else -1 - int(i), int(block[i]))
            for name in self.names
            for i in self.of[name]
        ]
        order = np.concatenate([self.of[name] for name in self.names])
        cell, cells = numbered(rows)
        self.means = np.bincount(cell, weights=y[order]) / np.bincount(cell)
        self.cell_group = np.array([group for group, _, _ in cells])
        self.cell_block = np.array([place for _, _, place in cells])
        sizes = np.bincount(cell).astype(np.float64)
        whole: dict[tuple[int, int], float] = {}
        for (group, of, _), size in zip(cells, sizes.tolist(), strict=True):
            whole[group, of] = whole.get((group, of), 0.0) + size
        # What a cell is of its binary, so that every binary weighs the same, however often it was executed.
        self.weights = sizes / np.array([whole[group, of] for group, of, _ in cells])
        self.cell_of = np.empty(y.size, dtype=np.int64)
        self.cell_of[order] = cell
        is_control = np.array([groups[i] in controls for i in range(y.size)])
        self._control = np.flatnonzero(is_control)

    def size(self, group: Hashable) -> int:
        """Binaries of a population, executions of a control."""
        at = self.of[group]
        return len(set(self.unit[at].tolist())) if group in self.drawn else at.size

    def method(self) -> str:
        """By the design alone."""
        several = any(self._blocks_of(group) is None for group in self.drawn)
        if several:
            return "crossed" if self.crossed.is_connected else "none"
        left = {group: (self.size(group), self._blocks_of(group) or 1) for group in self.drawn}
        if all(n >= 2 * k for n, k in left.values()):
            return "within"
        if self._control.size and self._covers():
            return "linked"
        return "within" if all(n > k for n, k in left.values()) else "none"

    def _covers(self) -> bool:
        seen = set(self.block[self._control].tolist())
        return len(seen) == self.k and self.linked.is_connected

    def _blocks_of(self, group: Hashable) -> int | None:
        """How many blocks the population is in; None where a binary is in several."""
        at = self.of[group]
        pairs = set(zip(self.unit[at].tolist(), self.block[at].tolist(), strict=True))
        return None if len(pairs) > self.size(group) else len({place for _, place in pairs})

    @cached_property
    def crossed(self) -> BlockFit:
        """Of everything, binaries as rows."""
        return fit_blocks(self.y, self.unit, self.block, self.k)

    @cached_property
    def linked(self) -> BlockFit:
        """Of controls alone."""
        at = self._control
        return fit_blocks(self.y[at], numbered(self.number[at].tolist())[0], self.block[at], self.k)

    @cached_property
    def location(self) -> _Location:
        """Where each group would lie if its blocks were mixed as those of all populations together."""
        fit = fit_blocks(self.means, self.cell_group, self.cell_block, self.k)
        mixed = np.isin(self.cell_group, [self.names.index(name) for name in self.drawn])
        shares = self._shares(mixed)
        means, apart = {}, {}
        for place, name in enumerate(self.names):
            at = self.cell_group == place
            apart[name] = self._shares(at) - shares
            means[name] = float(np.average(self.means[at], weights=self.weights[at]) - apart[name] @ fit.effects)
        charge = 1.0
        if len(self.drawn) == 2:
            old, new = self.drawn
            between = apart[new] - apart[old]
            own = sum(1 / int((self.cell_group == self.names.index(name)).sum()) for name in self.drawn)
            charge = 1 + float(between @ fit.covariance @ between) / own
        return _Location(means=means, charge=charge, shares=shares, is_connected=fit.is_connected)

    def within(self, group: Hashable, location: _Location) -> tuple[FloatArray, int]:
        """Values with distances from the block's mean stretched, and the degrees of freedom left."""
        at = self.cell_group == self.names.index(group)
        blocks = self.cell_block[at]
        own = np.bincount(blocks, weights=self.means[at], minlength=self.k)
        counts = np.bincount(blocks, minlength=self.k)
        away = self.means[at] - own[blocks] / counts[blocks]
        n, degrees = int(at.sum()), int(at.sum() - (counts > 0).sum())
        stretch = math.sqrt((n - 1) / degrees) if degrees else 1.0
        if group in self.drawn:
            stretch *= math.sqrt(location.charge)
        return self._moved(group, at, location.means[group] + away * stretch), degrees

    def linked_control(self, group: Hashable, location: _Location) -> tuple[FloatArray, int]:
        """Residuals of the fit of all controls, stretched by their share of its degrees of freedom."""
        fit, at, control = self.linked, self.of[group], self._control
        row = numbered(self.number[control].tolist())[0]
        mine = np.isin(control, at)
        counts = np.bincount(row)
        cells = np.zeros((counts.size, self.k))
        np.add.at(cells, (row, self.block[control]), 1.0)
        x = np.eye(self.k)[self.block[control]] - (cells / counts[:, None])[row]
        leverage = 1 / counts[row] + np.einsum("ij,jk,ik->i", x, fit.covariance, x)
        y = self.y[control]
        residuals = y - (np.bincount(row, weights=y) / counts)[row] - x @ fit.effects
        share = float((1 - leverage[mine]).sum())
        degrees = int(share + 1e-6)
        stretch = math.sqrt((at.size - 1) / share) if degrees else 0.0
        return location.means[group] + residuals[mine] * stretch, degrees

    def freed(self, group: Hashable, fit: BlockFit, *, stretch: bool) -> FloatArray:
        """Values less the effects of their blocks, which on average are 0 over all populations."""
        at = self.of[group]
        shares = self.location.shares
        z = self.y[at] - (fit.effects[self.block[at]] - float(shares @ fit.effects))
        unit, units = numbered(self.unit[at].tolist())
        if not stretch or fit.degrees < 1 or at.size == len(units):
            return np.asarray(z)
        means = (np.bincount(unit, weights=z) / np.bincount(unit))[unit]
        inside = self.y.size - len(set(self.unit.tolist()))
        return np.asarray(means + (z - means) * math.sqrt(inside / fit.degrees))

    def _shares(self, at: Mask) -> FloatArray:
        """How much of the binaries of these cells each block has."""
        weights = self.weights[at]
        return np.asarray(np.bincount(self.cell_block[at], weights=weights, minlength=self.k) / weights.sum())

    def noise(self) -> float:
        """1 and the variance, over that of an execution, that the effects of blocks add between binaries."""
        covariance = self.linked.covariance
        blocks = np.concatenate([self.block[self.of[name]] for name in self.drawn])
        counts = np.bincount(blocks, minlength=self.k).astype(np.float64)
        n = counts.sum()
        return 1 + float(counts @ np.diag(covariance) - counts @ covariance @ counts / n) / max(float(n) - 1, 1.0)

    def _moved(self, group: Hashable, at: Mask, to: FloatArray) -> FloatArray:
        """The group's values with each observation moved to where it shall be."""
        shift = np.zeros(self.means.size)
        shift[at] = to - self.means[at]
        mine = self.of[group]
        return np.asarray(self.y[mine] + shift[self.cell_of[mine]])


@dataclass(frozen=True)
class _Location:
    """Means of the groups, what imbalance charges to the variance, shares of the blocks, and whether all compare."""

    means: Mapping[Hashable, float]
    charge: float
    shares: FloatArray
    is_connected: bool
