"""Measurements made in blocks: what a machine, or a day, adds to all that was measured on it.

A block is whatever executions share beside their binary, such as the node of a cluster.  Blocks are taken as fixed
and additive on the scale of the analysis, so on logarithms a block makes everything slower by one factor.  Binaries
are drawn at random.  Where the same binary was measured in several blocks, blocks are compared within binaries, and
the noise of executions is the error; where each binary was measured in one block alone, binaries assigned to blocks at
random are compared, and what layouts do is part of the error.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.block_fit import BlockFit, fit_blocks, numbered
from layoutrand.stats.checks import check_choice, check_confidence, check_labels
from layoutrand.stats.interval import Interval
from layoutrand.stats.levels import FloatArray, IntArray, flat_numbers
from layoutrand.stats.quantiles import f_tail, t_quantile, t_tail
from layoutrand.stats.ratio import exponential
from layoutrand.stats.stats_warning import StatsWarning
from layoutrand.warning import plural

SCALES: Final = ("log", "linear")
"""Whether blocks multiply what is measured, or add to it."""


@dataclass(frozen=True, kw_only=True)
class BlockEffects:
    """What each block adds.

    Attributes
    ----------
    blocks
        Labels, in the order of the rest.
    effects
        Of each block a ratio to the geometric mean of all (scale ``"log"``), or a difference from their mean.
    p_values
        Of each block, of the hypothesis that it is like the mean of the others; not adjusted for how many there are.
    counts
        Values of each block.
    statistic, degrees, p_value
        F, its degrees of freedom and p of the hypothesis that blocks do not differ.
    between_sd
        Standard deviation between blocks, relative on the scale ``"log"``; what chance adds to it is taken off.
    share
        Of the variance of one execution of one drawn binary in one of the blocks, the part between blocks; None where
        no binary was drawn, or each in a block of its own.
    method
        ``"within"`` binaries that were measured in several blocks, or ``"between"``: between binaries.
    scale
        ``"log"`` or ``"linear"``.
    warnings
        What limits the answers.
    """

    blocks: tuple[Hashable, ...]
    effects: tuple[Interval, ...]
    p_values: tuple[float, ...]
    counts: tuple[int, ...]
    statistic: float
    degrees: tuple[int, int]
    p_value: float
    between_sd: float
    share: float | None
    method: str
    scale: str
    warnings: tuple[StatsWarning, ...]

    def against_others(self, place: int) -> Interval:
        """The block against the (geometric) mean of the other blocks: its effect times k / (k - 1) for k blocks."""
        stretch = len(self.blocks) / (len(self.blocks) - 1)
        one = self.effects[place]

        def stretched(value: float) -> float:
            return value**stretch if self.scale == "log" else value * stretch

        return Interval(
            centre=stretched(one.centre),
            low=stretched(one.low),
            high=stretched(one.high),
            confidence=one.confidence,
            method=one.method,
            warnings=one.warnings,
        )


def block_effects(
    values: Sequence[float] | FloatArray,
    blocks: Sequence[Hashable],
    *,
    units: Sequence[Hashable],
    groups: Sequence[Hashable | None] | None = None,
    confidence: float = 0.95,
    scale: str = "log",
) -> BlockEffects:
    """Estimate what each block adds, and test whether blocks differ.

    Parameters
    ----------
    values
        One for each execution (mean of its iterations), in any unit, shape ``(n,)``.
    blocks, units
        Of each value the block it was measured in, and its binary.
    groups
        The population that its binary was drawn from, such as the layouts of one system; None for a binary that was
        not drawn, such as the default layout.  Without `groups` all binaries are of one population.
    confidence
        Nominal confidence of each effect.
    scale
        ``"log"`` (default; values above 0), or ``"linear"``.

    Raises
    ------
    AnalysisError
        Fewer than 2 blocks, values that are not finite or not above 0, labels that do not match, or blocks that
        cannot be compared: nothing was measured in several, and no population has several binaries in one.

    Notes
    -----
    Within: least squares of ``y = binary + block``, the analysis of an incomplete block design with the roles of
    treatments and blocks exchanged (Montgomery, Design and Analysis of Experiments, 8th edition, sections 4.1 and 4.4;
    Box, Hunter and Hunter, Statistics for Experimenters, 2nd edition, chapter 4).  With n values, u binaries and k
    blocks the error has ``n - u - k + 1`` degrees of freedom.  Used where binaries connect all blocks, with at least 4
    degrees of freedom or no fewer than the other method has.

    Between: least squares of ``y = population + block`` on the means of each binary in each block, drawn binaries
    alone; ``u - g - k + 1`` degrees of freedom for g populations.  With one population it is the one-way analysis of
    variance.

    Both are exact for normal errors.  The mean of all effects is 0 on the scale of the fit.  ``between_sd`` squared is
    ``(sum a^2 - s^2 tr C) / (k - 1)``, C the covariance of effects per unit of error variance, which has the mean
    ``sum alpha^2 / (k - 1)``; cut at 0.
    """
    check_confidence(confidence)
    y, unit, block, names = read_blocks(values, units, blocks, scale=scale)
    if groups is not None:
        check_labels(groups, name="groups")
    drawn: list[Hashable | None] = ["" for _ in y] if groups is None else list(groups)
    if len(drawn) != y.size:
        raise AnalysisError(f"block effects: {y.size} values, but {len(drawn)} groups; give one for each value")
    within = fit_blocks(y, unit, block, len(names))
    apart = _between(y, unit, block, drawn, len(names))
    fit, method = within, "within"
    few = within.degrees < advice.FEWEST_DEGREES
    if not within.usable or (few and apart is not None and apart.degrees > within.degrees):
        if apart is None or not apart.usable:
            raise AnalysisError(
                f"block effects: {len(names)} blocks cannot be compared: no binary was measured in several, and too "
                "few were assigned to each; execute the default layout in every block, or more binaries"
            )
        fit, method = apart, "between"
    error = fit.error_variance
    f = _f_statistic(fit)
    counts = np.bincount(block, minlength=len(names))
    between = max((float(fit.effects @ fit.effects) - error * float(np.trace(fit.covariance))) / (len(names) - 1), 0.0)
    return BlockEffects(
        blocks=names,
        effects=tuple(_interval(fit, place, confidence, scale) for place in range(len(names))),
        p_values=tuple(_p_value(fit, place) for place in range(len(names))),
        counts=tuple(int(count) for count in counts),
        statistic=f,
        degrees=(len(names) - 1, fit.degrees),
        p_value=0.0 if math.isinf(f) else f_tail(f, len(names) - 1, fit.degrees),
        between_sd=math.sqrt(between),
        share=_share(y, block, drawn, between, len(names)),
        method=method,
        scale=scale,
        warnings=advice.few_degrees(fit.degrees),
    )


def read_blocks(
    values: Sequence[float] | FloatArray, units: Sequence[Hashable], blocks: Sequence[Hashable], *, scale: str
) -> tuple[FloatArray, IntArray, IntArray, tuple[Hashable, ...]]:
    """Values on the scale of the fit, numbers of units and blocks, and the labels of blocks in order of appearance."""
    check_choice(scale, SCALES, name="scale")
    check_labels(units, name="units")
    check_labels(blocks, name="blocks")
    y = flat_numbers(values, name="block effects")
    if y.ndim != 1 or not y.size == len(units) == len(blocks):
        raise AnalysisError(
            f"block effects: {y.size} values, {len(units)} binaries and {len(blocks)} blocks; give one of each for each"
        )
    if not np.isfinite(y).all():
        raise AnalysisError("block effects: some values are not finite; leave failed executions out")
    if scale == "log" and not (y > 0).all():
        raise AnalysisError("block effects: some values are not above 0, but logarithms are taken; use scale 'linear'")
    block, names = numbered(blocks)
    if len(names) < 2:
        raise AnalysisError(f"block effects: {plural(len(names), 'block')}; at least 2 are needed to compare")
    return (np.log(y) if scale == "log" else y), numbered(units)[0], block, names


def _between(y: FloatArray, unit: IntArray, block: IntArray, groups: list[Hashable | None], k: int) -> BlockFit | None:
    """The fit between drawn binaries, one value for each binary in each block; None where none was drawn."""
    kept = np.array([group is not None for group in groups])
    if not kept.any():
        return None
    cell, cells = numbered(list(zip(unit[kept].tolist(), block[kept].tolist(), strict=True)))
    means = np.bincount(cell, weights=y[kept]) / np.bincount(cell)
    first = np.unique(cell, return_index=True)[1]
    group, _ = numbered([group for group in groups if group is not None])
    return fit_blocks(means, group[first], np.array([place for _, place in cells]), k)


def _f_statistic(fit: BlockFit) -> float:
    square = float(fit.effects @ fit.information @ fit.effects) / (fit.effects.size - 1)
    if fit.error_variance > 0:
        return square / fit.error_variance
    return math.inf if square > 0 else 0.0


def _interval(fit: BlockFit, place: int, confidence: float, scale: str) -> Interval:
    centre = float(fit.effects[place])
    half = t_quantile(confidence, fit.degrees) * fit.standard_error(place)
    ends = (centre, centre - half, centre + half)
    middle, low, high = map(exponential, ends) if scale == "log" else ends
    return Interval(centre=middle, low=low, high=high, confidence=confidence, method="t", warnings=())


def _p_value(fit: BlockFit, place: int) -> float:
    error, effect = fit.standard_error(place), float(fit.effects[place])
    if error == 0:
        return 0.0 if effect else 1.0
    return min(1.0, 2 * t_tail(abs(effect) / error, fit.degrees))


def _share(y: FloatArray, block: IntArray, groups: list[Hashable | None], between: float, k: int) -> float | None:
    kept = np.array([group is not None for group in groups])
    if not kept.any():
        return None
    group, _ = numbered([group for group in groups if group is not None])
    fit = fit_blocks(y[kept], group, block[kept], k)
    if fit.degrees < 1:
        return None
    total = between + fit.error_variance
    return between / total if total > 0 else 0.0
