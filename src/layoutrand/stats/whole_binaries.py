"""A suite whose benchmarks are all executed from the same binaries: what is random is the binary, once for all of them.

A layout that is slow for one benchmark is likely to be slow for others, so a test that assigns the scores of each
benchmark by itself takes one coincidence for as many as there are benchmarks.  Here a binary keeps its scores
together: its value is the mean over benchmarks of the logarithms of its means.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.benchmark_suite import SuitePair, pair_suites
from layoutrand.stats.checks import check_choice, check_count, check_seed
from layoutrand.stats.levels import FloatArray, IntArray, Measurements, Nested
from layoutrand.stats.randomization import ALTERNATIVES, TestResult
from layoutrand.stats.ratio import log_means
from layoutrand.stats.signs import WORD_BITS, listed_signs, random_signs
from layoutrand.stats.stats_warning import StatsWarning
from layoutrand.stats.streams import Stream

PAIRINGS = ("seed", "none")

_AT_ONCE = 1 << 20
"""Numbers shuffled, or signs flipped, at a time: 8 MB."""


def whole_binary_test(
    baselines: Mapping[str, Measurements],
    candidates: Mapping[str, Measurements],
    *,
    pairing: str = "seed",
    alternative: str = "two-sided",
    n_resamples: int = 10_000,
    seed: int = 0,
) -> TestResult:
    """Test whether two systems differ over a suite, where one binary of a system serves all its benchmarks.

    Parameters
    ----------
    baselines, candidates
        Benchmark name to measurements above 0, axes highest level first.  The first axis is the same binaries, in the
        same order, in all benchmarks of a system; with ``pairing="seed"`` of both systems.
    pairing
        ``"seed"``: binary i of both systems belongs together (same seed, same round); ``"none"``: they do not.
    alternative
        ``"greater"``: the candidate's values are larger; ``"less"``: smaller; ``"two-sided"``: they differ.
    n_resamples
        Number of random sign flips, or assignments.
    seed
        These depend on it alone.

    Returns
    -------
    TestResult
        The statistic is the ratio candidate / baseline of the geometric means over benchmarks and binaries.

    Raises
    ------
    AnalysisError
        No benchmark in common, malformed data, means not above 0, or numbers of binaries that differ where they must
        not.

    Notes
    -----
    By seed: if the systems do not differ, the logarithm of a seed's ratio is as likely to have the other sign, so the
    sum of all is compared with those after flipping signs (Fisher; Good, Permutation Tests, chapter 3).  Not by seed:
    whole binaries are assigned anew to the two systems, and Welch's t of their values is compared, which keeps the
    level for means even where the systems' variances differ (Janssen 1997).

    p is ``(count + 1) / (M + 1)`` for the count of M draws that are at least as far; where there are no more than M
    possibilities all are taken and p is their share.  What equals the observed one but for rounding counts as equal.
    """
    check_choice(pairing, PAIRINGS, name="pairing")
    check_choice(alternative, ALTERNATIVES, name="alternative")
    check_count(n_resamples, name="n_resamples")
    check_seed(seed)
    pair = pair_suites(baselines, candidates)
    old, new = binary_values(pair.baselines, pair, "baseline"), binary_values(pair.candidates, pair, "candidate")
    stream = Stream(seed, "whole binaries", pairing)
    if pairing == "seed":
        if old.size != new.size:
            raise AnalysisError(f"paired by seed: the baseline has {old.size} binaries, the candidate {new.size}")
        found, kind = _flips(new - old, stream, n_resamples), "sign flips of whole seeds"
    else:
        found, kind = _assignments(old, new, stream, n_resamples), "randomization of whole binaries"
    observed, draws, possible = found
    is_exact = possible <= n_resamples
    p_value = _p_value(observed, draws, alternative, extra=0 if is_exact else 1)
    sides = 2 if alternative == "two-sided" else 1
    return TestResult(
        statistic=math.exp(float(new.mean() - old.mean())),
        p_value=p_value,
        alternative=alternative,
        method=f"{kind}, {'all' if is_exact else 'random'}",
        n_resamples=0 if is_exact else n_resamples,
        warnings=pair.warnings + _coarse(possible, sides, pairing),
    )


def _coarse(possible: int, sides: int, pairing: str) -> tuple[StatsWarning, ...]:
    """A test whose smallest possible p-value exceeds 5 % cannot find anything."""
    if pairing == "seed":
        needed = next(count for count in itertools.count(1) if sides / 2**count <= 0.05)
        return advice.coarse_p_value(sides / possible, needed, "common seeds")
    needed = next(count for count in itertools.count(1) if sides / math.comb(2 * count, count) <= 0.05)
    return advice.coarse_p_value(sides / possible, needed, "binaries")


def binary_values(system: tuple[Nested, ...], pair: SuitePair, side: str) -> FloatArray:
    """Each binary's mean, over benchmarks, of the logarithms of its means, centred on nothing; shape ``(binaries,)``.

    Raises `AnalysisError` where benchmarks have different numbers of binaries, or a mean is not above 0.
    """
    counts = {sample.n_top for sample in system}
    if len(counts) > 1:
        raise AnalysisError(
            f"the {side}'s benchmarks have from {min(counts)} to {max(counts)} binaries; keep only the binaries that "
            "all of them have, in the same order"
        )
    logs = [log_means(sample, f"{side}, {name}") for name, sample in zip(pair.names, system, strict=True)]
    return np.asarray(np.mean(logs, axis=0))


Found = tuple[float, FloatArray, int]
"""The observed statistic, those of the draws, and how many draws there could be."""


def _flips(ratios: FloatArray, stream: Stream, n_resamples: int) -> Found:
    """Sums of the log ratios with signs flipped; of the signs (-1)^i where there are few, else of random ones."""
    possible = 2**ratios.size
    observed = float(ratios.sum())
    if possible <= n_resamples:
        return observed, np.asarray(listed_signs(0, possible, ratios.size) @ ratios), possible
    rows = max(1, _AT_ONCE // ratios.size // WORD_BITS) * WORD_BITS  # which use up whole words
    sums = [
        random_signs(stream, count, ratios.size) @ ratios
        for count in (min(rows, n_resamples - done) for done in range(0, n_resamples, rows))
    ]
    return observed, np.concatenate(sums), possible


def _assignments(old: FloatArray, new: FloatArray, stream: Stream, n_resamples: int) -> Found:
    """Welch's t of the candidate's values against the baseline's, for whole binaries assigned anew."""
    values = np.concatenate([old, new])
    values = values - values.mean()
    possible = math.comb(values.size, new.size)
    chosen = np.zeros(values.size, dtype=bool)
    chosen[old.size :] = True
    observed = float(_welch(values, chosen[None, :])[0])
    if possible <= n_resamples:
        listed = itertools.combinations(range(values.size), new.size)
        return observed, _welch(values, _rows(np.array(list(listed), dtype=np.int64), values.size)), possible
    rows = max(1, _AT_ONCE // values.size)
    parts = []
    for done in range(0, n_resamples, rows):
        count = min(rows, n_resamples - done)
        ranks = stream.words(count * values.size).reshape(count, values.size)
        order = np.argsort(ranks, axis=1, kind="stable")
        parts.append(_welch(values, _rows(order[:, : new.size], values.size)))
    return observed, np.concatenate(parts), possible


def _rows(picked: IntArray, size: int) -> npt.NDArray[np.bool_]:
    chosen = np.zeros((picked.shape[0], size), dtype=bool)
    np.put_along_axis(chosen, picked, True, axis=1)
    return chosen


def _welch(values: FloatArray, chosen: npt.NDArray[np.bool_]) -> FloatArray:
    """Welch's t of the chosen against the others, one for each row; a difference without any spread is infinite."""
    n_new = int(chosen[0].sum())
    n_old = values.size - n_new
    weights = chosen.astype(np.float64)
    sums, squares = weights @ values, weights @ values**2
    total, total_squares = float(values.sum()), float((values**2).sum())
    difference = sums / n_new - (total - sums) / n_old
    if n_new < 2 or n_old < 2:
        return np.asarray(difference)  # no spread to divide by: the same for all rows
    spread_new = np.maximum(squares - sums**2 / n_new, 0.0) / (n_new - 1) / n_new
    spread_old = np.maximum(total_squares - squares - (total - sums) ** 2 / n_old, 0.0) / (n_old - 1) / n_old
    error = np.sqrt(spread_new + spread_old)
    tiny = 1e-12 * math.sqrt(total_squares / values.size) if total_squares > 0 else 1.0
    return np.asarray(difference / np.maximum(error, tiny))


def _p_value(observed: float, draws: FloatArray, alternative: str, *, extra: int) -> float:
    slack = 1e-12 * max(1.0, abs(observed), float(np.abs(draws).max()))
    count = {
        "greater": int((draws >= observed - slack).sum()),
        "less": int((draws <= observed + slack).sum()),
        "two-sided": int((np.abs(draws) >= abs(observed) - slack).sum()),
    }[alternative]
    return (count + extra) / (draws.size + extra)
