"""A factor divided into the values that go with small responses and those that go with large ones.

Which side is which is read off the data, so the difference between the sides is too large on average: it is for
choosing what to look at anew, not for being believed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import check_choice, check_count
from layoutrand.stats.levels import FloatArray, flat_numbers

SCALES = ("classes", "circle", "number")


@dataclass(frozen=True, kw_only=True)
class FactorSplit:
    """Which values of a factor go with large responses.

    Attributes
    ----------
    scale
        ``"classes"``, ``"circle"`` or ``"number"``.
    large, small
        The classes of either side; empty for other scales.
    period, centre
        Of a circle: values less than a quarter of the period from the centre go with large responses; else 0.
    limit, above
        Of numbers: where they are divided, and whether those above go with large responses; else 0 and True.
    """

    scale: str
    large: tuple[float, ...]
    small: tuple[float, ...]
    period: float
    centre: float
    limit: float
    above: bool

    def side(self, value: float) -> bool | None:
        """Whether the value goes with large responses; None for a class that was never seen."""
        if self.scale == "classes":
            return True if value in self.large else False if value in self.small else None
        if self.scale == "circle":
            away = abs(value - self.centre) % self.period
            return min(away, self.period - away) < self.period / 4
        return (value > self.limit) == self.above


def split_factor(
    values: FloatArray, response: FloatArray, *, scale: str, period: float = 0.0, fewest: int = 3
) -> FactorSplit | None:
    """Divide the values in two, so that the responses of the two sides differ most.

    Parameters
    ----------
    values, response
        Shape ``(observations,)``.
    scale
        ``"classes"``: values are equal or not; ``"circle"``: modulo ``period``; ``"number"``.
    period
        Of a circle.
    fewest
        Observations that each side must have, at least.

    Returns
    -------
    FactorSplit or None
        None where no division leaves so many on each side.

    Raises
    ------
    AnalysisError
        Shapes that differ, an unknown scale, a circle without a period.

    Notes
    -----
    Classes are put in the order of their mean responses; the best division of them is then one of that order's cuts
    (Fisher, Journal of the American Statistical Association 53, 1958; Breiman et al., Classification and Regression
    Trees, 1984, theorem 4.5).  Of numbers the cut is taken that leaves the least variance within the sides.  A circle
    is cut in halves around the phase of the first harmonic.
    """
    check_choice(scale, SCALES, name="scale")
    check_count(fewest, name="fewest")
    values, response = flat_numbers(values, name="values"), flat_numbers(response, name="response")
    if values.shape != response.shape or values.ndim != 1:
        raise AnalysisError(f"values and responses must be as many, got shapes {values.shape} and {response.shape}")
    if scale == "circle" and not period > 0:
        raise AnalysisError(f"a circle needs a period above 0, got {period!r}")
    if scale == "circle":
        found = _half_circle(values, response, period)
    elif scale == "classes":
        known = np.unique(values)
        means = [float(response[values == value].mean()) for value in known]
        order = known[np.argsort(means, kind="stable")]
        rank = np.searchsorted(np.sort(order), values)
        place = np.empty(len(order))
        place[np.searchsorted(np.sort(order), order)] = np.arange(len(order))
        cut = _best_cut(place[rank], response, fewest)
        if cut is None:
            return None
        first = math.floor(cut) + 1
        found = _made(scale, large=tuple(order[first:].tolist()), small=tuple(order[:first].tolist()))
    else:
        cut = _best_cut(values, response, fewest)
        if cut is None:
            return None
        beyond = values > cut
        above = bool(response[beyond].mean() >= response[~beyond].mean())
        found = _made(scale, limit=cut, above=above)
    sides = np.array([found.side(value) for value in values.tolist()], bool)
    return found if min(int(sides.sum()), int((~sides).sum())) >= fewest else None


def _made(scale: str, **parts: Any) -> FactorSplit:
    """The split, with what has no meaning for its scale filled in."""
    empty: dict[str, Any] = {"large": (), "small": (), "period": 0.0, "centre": 0.0, "limit": 0.0, "above": True}
    return FactorSplit(scale=scale, **{**empty, **parts})


def _half_circle(values: FloatArray, response: FloatArray, period: float) -> FactorSplit:
    angle = 2 * np.pi * values / period
    table = np.stack([np.ones_like(angle), np.cos(angle), np.sin(angle)], axis=1)
    _, cosine, sine = np.linalg.lstsq(table, response, rcond=None)[0].tolist()
    return _made("circle", period=period, centre=math.atan2(sine, cosine) / (2 * math.pi) * period % period)


def _best_cut(values: FloatArray, response: FloatArray, fewest: int) -> float | None:
    """Midway between two neighbouring values, with at least ``fewest`` observations on each side."""
    order = np.argsort(values, kind="stable")
    x, y = values[order], response[order] - response.mean()
    count = np.arange(1, len(y))
    between = np.cumsum(y)[:-1] ** 2 * (1 / count + 1 / (len(y) - count))
    allowed = (x[1:] > x[:-1]) & (count >= fewest) & (len(y) - count >= fewest)
    if not allowed.any():
        return None
    place = int(np.argmax(np.where(allowed, between, -1.0)))
    return float((x[place] + x[place + 1]) / 2)
