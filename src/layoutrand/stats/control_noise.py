"""How noisy an execution is, as executions of controls show it: one binary each, executed again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.round_contrasts import RoundValues, contrasts, deviations_by_label
from layoutrand.stats.spread import of_one_execution, pooled_variance, repeated, window_in
from layoutrand.stats.univariate import Values


@dataclass(frozen=True, kw_only=True)
class ControlNoise:
    """How executions of one binary differ, from those of all controls.

    Attributes
    ----------
    variance
        That of one execution, squared unit of the values: the ``noise`` of a `SpreadTest` of the same executions.
    degrees
        Degrees of freedom of that estimate: those of all controls together.
    """

    variance: float
    degrees: float


def control_noise(controls: Sequence[Values]) -> ControlNoise:
    """How executions of one binary differ, from several binaries that were each executed repeatedly.

    Parameters
    ----------
    controls
        Executions of one binary each, such as stock and identity; at least one of them with 2 or more.

    Raises
    ------
    AnalysisError
        No control with 2 executions, or values that are not finite.

    Notes
    -----
    Each control has a mean of its own; what its executions differ from that by is one variance for all, whatever they
    are built from, so squares and degrees of freedom are added.  A drift counts as noise here.
    """
    others = repeated(controls)
    if not others:
        raise AnalysisError("noise of controls: at least one of them must have 2 executions, better 10")
    return ControlNoise(variance=pooled_variance(others, 1.0), degrees=float(sum(part.size - 1 for part in others)))


def rounds_control_noise(cells: RoundValues, *, are_apart: bool = False) -> ControlNoise:
    """The same without what executions of a round have in common.

    Parameters
    ----------
    cells, are_apart
        As in `rounds_spread_test`.

    Raises
    ------
    AnalysisError
        As in `rounds_spread_test`.
    """
    table = deviations_by_label(cells)
    if table is None:
        rounds = int(np.asarray(cells).shape[1])
        return ControlNoise(variance=0.0, degrees=float(rounds - 1))
    found = contrasts(table.values, window_in(table, are_apart=are_apart))
    return ControlNoise(variance=of_one_execution(found, table.size), degrees=float(found.degrees[1]))
