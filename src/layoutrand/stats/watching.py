"""Simulation study of looking after every round: how often is a verdict wrong, and how many rounds does it take?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import check_choice, check_count, check_positive, check_real, check_seed
from layoutrand.stats.decision import Verdict, decide
from layoutrand.stats.levels import FloatArray
from layoutrand.stats.quantiles import normal_points
from layoutrand.stats.running_ratio import FEWEST_ROUNDS, running_ratio
from layoutrand.stats.streams import Stream
from layoutrand.stats.studies import Rate, rate

_TWO_GROUPS: Final = 0.1
_RARE: Final = 0.15
_DEGREES: Final = 3
_DRIFT: Final = 30.0


@dataclass(frozen=True, kw_only=True)
class WatchingRow:
    """What became of simulated checks of one kind.

    Attributes
    ----------
    noise
        Distribution of the rounds' log ratios, one of `NOISES`.
    sd
        Their standard deviation.
    difference
        The true relative difference.
    wrong
        Share of checks that end with a verdict which is not true.
    decided
        Share of those that end with a verdict.
    median_rounds
        Median of the rounds until then; the limit where most have none.
    """

    noise: str
    sd: float
    difference: float
    wrong: Rate
    decided: Rate
    median_rounds: float


def watching_study(
    *,
    noises: Sequence[str] = (),
    sds: Sequence[float] = (0.005, 0.01, 0.02),
    differences: Sequence[float] = (0.0, 0.0099, 0.0101, 0.02),
    threshold: float = 0.01,
    confidence: float = 0.95,
    limit: int = 60,
    fewest: int = FEWEST_ROUNDS,
    n_datasets: int = 1000,
    seed: int = 0,
) -> tuple[WatchingRow, ...]:
    """Simulate checks that stop as soon as `running_ratio` decides, and count.

    Parameters
    ----------
    noises
        Some of `NOISES`; all by default.
    sds, differences
        Standard deviations of rounds' log ratios, and true relative differences.
    threshold, confidence
        As in `decide` and `running_ratio`.
    limit
        Rounds after which a check ends without a verdict.
    fewest
        Rounds before which none is given.
    n_datasets
        Simulated checks of each kind.
    seed
        The study depends on it alone.

    Returns
    -------
    tuple of WatchingRow
        One for each noise, standard deviation and difference.

    Raises
    ------
    AnalysisError
        An unknown noise, standard deviations not above 0, differences that are no numbers above -1, counts below 1.

    Notes
    -----
    The noises, each of mean 0 and standard deviation 1 before it is scaled: ``normal``; ``heavy`` (t of 3 degrees of
    freedom); ``skewed`` (lognormal); ``two groups`` (half of the layouts each); ``rare group`` (15 % of the layouts lie
    far above the others); ``drift`` (the machine becomes slower by 30 standard deviations over all rounds, and the two
    systems of each take turns at random); ``regimes`` (each round resembles the one before, with correlation 0.3).
    """
    for noise in noises:
        check_choice(noise, tuple(NOISES), name="noise")
    for sd in sds:
        check_positive(sd, name="sds")
    for difference in differences:
        check_real(difference, name="differences")
        if difference <= -1:
            raise AnalysisError(f"a difference of {difference:g} leaves nothing of the baseline; give more than -1")
    check_count(limit, name="limit")
    check_count(fewest, name="fewest")
    check_count(n_datasets, name="n_datasets")
    check_seed(seed)
    rows = []
    for noise in noises or NOISES:
        draws = NOISES[noise](Stream(seed, "watching", noise), n_datasets, limit)
        for sd in sds:
            for difference in differences:
                ends = [_end(sd * row + math.log1p(difference), threshold, confidence, fewest) for row in draws]
                truth = _truth(difference, threshold)
                rows.append(
                    WatchingRow(
                        noise=noise,
                        sd=sd,
                        difference=difference,
                        wrong=rate(sum(verdict not in (truth, "undecided") for verdict, _ in ends), n_datasets),
                        decided=rate(sum(verdict != "undecided" for verdict, _ in ends), n_datasets),
                        median_rounds=float(np.median([n for _, n in ends])),
                    )
                )
    return tuple(rows)


def _truth(difference: float, threshold: float) -> Verdict:
    if abs(difference) <= threshold:
        return "equivalent"
    return "slower" if difference > 0 else "faster"


def _end(logs: FloatArray, threshold: float, confidence: float, fewest: int) -> tuple[Verdict, int]:
    """The verdict that stops one check, and after how many rounds."""
    ratios, ones = np.exp(logs), np.ones(len(logs))
    for n in range(fewest, len(logs) + 1):
        verdict = decide(running_ratio(ones[:n], ratios[:n], confidence=confidence), threshold)
        if verdict != "undecided":
            return verdict, n
    return "undecided", len(logs)


def _normal(stream: Stream, sets: int, rounds: int) -> FloatArray:
    return normal_points(stream.uniforms(sets * rounds).reshape(sets, rounds))


def _heavy(stream: Stream, sets: int, rounds: int) -> FloatArray:
    squares = np.square(_normal(stream, sets, rounds * _DEGREES)).reshape(sets, rounds, _DEGREES).mean(axis=2)
    heavy: FloatArray = _normal(stream, sets, rounds) / np.sqrt(squares) / math.sqrt(_DEGREES / (_DEGREES - 2))
    return heavy


def _skewed(stream: Stream, sets: int, rounds: int) -> FloatArray:
    width = 0.7
    values = np.exp(width * _normal(stream, sets, rounds) - width**2 / 2) - 1
    skewed: FloatArray = values / math.sqrt(math.exp(width**2) - 1)
    return skewed


def _groups(share: float) -> Callable[[Stream, int, int], FloatArray]:
    def draw(stream: Stream, sets: int, rounds: int) -> FloatArray:
        above = stream.uniforms(sets * rounds).reshape(sets, rounds) < share
        apart = (above - share) / math.sqrt(share * (1 - share))
        both: FloatArray = math.sqrt(1 - _TWO_GROUPS**2) * apart + _TWO_GROUPS * _normal(stream, sets, rounds)
        return both

    return draw


def _drift(stream: Stream, sets: int, rounds: int) -> FloatArray:
    """What a round leaves of a drift: what came between the executions of its two systems, which take turns."""
    between = _DRIFT / (2 * rounds)
    first = np.where(stream.uniforms(sets * rounds).reshape(sets, rounds) < 0.5, -between, between)
    drift: FloatArray = (_normal(stream, sets, rounds) + first) / math.sqrt(1 + between**2)
    return drift


def _regimes(stream: Stream, sets: int, rounds: int) -> FloatArray:
    correlation = 0.3
    values = _normal(stream, sets, rounds)
    for place in range(1, rounds):
        values[:, place] = correlation * values[:, place - 1] + math.sqrt(1 - correlation**2) * values[:, place]
    return values


NOISES: Final[dict[str, Callable[[Stream, int, int], FloatArray]]] = {
    "normal": _normal,
    "heavy": _heavy,
    "skewed": _skewed,
    "two groups": _groups(0.5),
    "rare group": _groups(_RARE),
    "drift": _drift,
    "regimes": _regimes,
}
"""Name -> draws (stream, experiments, rounds): mean 0, standard deviation 1, shape (experiments, rounds)."""
