"""Randomization test of two systems over a suite (Li, Chen and Peng, section III).

If the systems do not differ, it is chance which scores of a benchmark were measured on which.  So the scores of
each benchmark are assigned anew to the two systems, many times, and the ratio of suite means that was observed is
compared with those of the assignments.

An assignment of N scores is one of C(N, m) ways to pick the m scores of the candidate.  While there are few ways, all
of them are listed once and each assignment draws a number; when the whole suite has few enough, all assignments are
taken and the p-value is exact.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.benchmark_suite import SUITE_MEANS, SuitePair, log_suite_mean, pair_suites
from layoutrand.stats.checks import check_choice, check_count, check_seed
from layoutrand.stats.levels import FloatArray, IntArray, Measurements
from layoutrand.stats.stats_warning import StatsWarning
from layoutrand.stats.streams import IndexSampler, Stream

ALTERNATIVES = ("two-sided", "less", "greater")

_MOST_LISTED = 4000
"""Assignments of one benchmark are listed up to this number: 6 + 6 scores have 924, 7 + 7 have 3432."""

_SHUFFLED_AT_ONCE = 1 << 21


@dataclass(frozen=True, kw_only=True)
class TestResult:
    """Outcome of a hypothesis test.

    Attributes
    ----------
    statistic
        The test's statistic; which one, the function's docstring says.
    p_value
        Chance of a statistic at least as extreme if nothing differs.
    alternative
        ``"two-sided"``, ``"less"`` or ``"greater"``, of candidate against baseline.
    method
        Name of the test, and how the p-value was found.
    n_resamples
        Random assignments drawn; 0 when the p-value is exact or from a formula.
    warnings
        What limits the test, and the count that would cure it.
    """

    __test__ = False  # not a test case, whatever its name

    statistic: float
    p_value: float
    alternative: str
    method: str
    n_resamples: int
    warnings: tuple[StatsWarning, ...]


def randomization_test(
    baselines: Mapping[str, Measurements],
    candidates: Mapping[str, Measurements],
    *,
    mean: str = "geometric",
    alternative: str = "two-sided",
    n_resamples: int = 10_000,
    seed: int = 0,
) -> TestResult:
    """Test whether two systems differ over a suite of benchmarks.

    Parameters
    ----------
    baselines, candidates
        Benchmark name to measurements above 0, axes highest level first.  The scores assigned are the binaries'
        means, because executions of one binary are no independent evidence.
    mean
        Mean over benchmarks: ``"geometric"``, ``"arithmetic"`` or ``"harmonic"``.
    alternative
        ``"greater"``: the candidate's suite mean is larger (the paper's H1a with A the candidate); ``"less"``: it is
        smaller (H1b); ``"two-sided"``: it differs (H1c).
    n_resamples
        Number of random assignments M.
    seed
        The assignments depend on it alone.

    Returns
    -------
    TestResult
        The statistic is the ratio candidate / baseline of the suite means.

    Raises
    ------
    AnalysisError
        No benchmark in common, malformed data, or scores not above 0.

    Notes
    -----
    p is ``(count + 1) / (M + 1)`` for the count of assignments whose ratio is at least (at most) the observed one, and
    two-sided twice the smaller, at most 1.  When the suite has no more than M different assignments all are taken and p
    is their share.  Assignments whose ratio equals the observed one but for rounding count as equal.
    """
    check_choice(mean, SUITE_MEANS, name="mean")
    check_choice(alternative, ALTERNATIVES, name="alternative")
    check_count(n_resamples, name="n_resamples")
    check_seed(seed)
    pair = pair_suites(baselines, candidates)
    tables = [_Assignments(name, pair, index) for index, name in enumerate(pair.names)]
    n_assignments = math.prod(table.n_assignments for table in tables)
    is_exact = n_assignments <= n_resamples
    if is_exact:
        grid = np.indices([table.n_assignments for table in tables]).reshape(len(tables), -1)
        sums = np.array([table.listed_sums()[row] for table, row in zip(tables, grid, strict=True)])
    else:
        sums = np.array([table.drawn_sums(Stream(seed, "deal", table.name), n_resamples) for table in tables])
    ratios = _log_ratios(sums, tables, mean)
    observed = float(_log_ratios(np.array([[table.observed] for table in tables]), tables, mean)[0])
    slack = 1e-12 * max(1.0, abs(observed))
    counts = {"greater": int((ratios >= observed - slack).sum()), "less": int((ratios <= observed + slack).sum())}
    extra = 0 if is_exact else 1
    p_values = {side: (count + extra) / (ratios.size + extra) for side, count in counts.items()}
    p_values["two-sided"] = min(1.0, 2 * min(p_values.values()))
    return TestResult(
        statistic=math.exp(observed),
        p_value=p_values[alternative],
        alternative=alternative,
        method="randomization test, " + ("all assignments" if is_exact else "random assignments"),
        n_resamples=0 if is_exact else n_resamples,
        warnings=pair.warnings + _power_warnings(n_assignments, alternative, tables),
    )


class _Assignments:
    """All ways to assign one benchmark's scores to the two systems."""

    def __init__(self, name: str, pair: SuitePair, index: int) -> None:
        old, new = pair.baselines[index].top_means, pair.candidates[index].top_means
        scores = np.concatenate([old, new])
        if not (scores > 0).all():
            raise AnalysisError(f"{name}: some binaries' means are not above 0, but suite means take logarithms")
        self.name = name
        self.scale = float(scores.max())
        self.scores = scores / self.scale
        self.n_new = new.size
        self.n_assignments = math.comb(scores.size, new.size)
        self.observed = float(self.scores[old.size :].sum())
        self.total = float(self.scores.sum())

    def listed_sums(self) -> FloatArray:
        """Sum of the candidate's scores for every assignment."""
        return np.asarray(self.scores[_choices(self.scores.size, self.n_new)].sum(axis=1))

    def drawn_sums(self, stream: Stream, n_resamples: int) -> FloatArray:
        """Sum of the candidate's scores for random assignments."""
        if self.n_assignments <= _MOST_LISTED:
            drawn = IndexSampler(stream, self.n_assignments, row_length=1).rows(n_resamples)[:, 0]
            return self.listed_sums()[drawn]
        rows = max(1, _SHUFFLED_AT_ONCE // self.scores.size)
        few = min(self.n_new, self.scores.size - self.n_new)
        samplers = [
            IndexSampler(Stream(stream.key, "place", place), self.scores.size - place, row_length=1)
            for place in range(few)
        ]
        chunks = [min(rows, n_resamples - done) for done in range(0, n_resamples, rows)]
        sums = np.concatenate([_partial_shuffle(self.scores, samplers, count) for count in chunks])
        return sums if few == self.n_new else self.total - sums


def _partial_shuffle(scores: FloatArray, samplers: list[IndexSampler], count: int) -> FloatArray:
    """Sum of the first scores after `count` Fisher-Yates shuffles that stop once those are placed."""
    cards = np.repeat(scores[:, None], count, axis=1)
    each = np.arange(count)
    for place, sampler in enumerate(samplers):
        other = sampler.rows(count)[:, 0].astype(np.int64) + place
        picked = cards[other, each]
        cards[other, each] = cards[place]
        cards[place] = picked
    return np.asarray(cards[: len(samplers)].sum(axis=0))


@lru_cache(maxsize=16)
def _choices(n_scores: int, n_new: int) -> IntArray:
    return np.array(list(itertools.combinations(range(n_scores), n_new)), dtype=np.int64).reshape(-1, n_new)


def _log_ratios(sums: FloatArray, tables: list[_Assignments], mean: str) -> FloatArray:
    """Logarithm of the ratio of suite means, from the sums of the candidate's scores, one row per benchmark."""
    totals, sizes, news, scales = (
        np.array(column)[:, None]
        for column in zip(*((t.total, t.scores.size, t.n_new, t.scale) for t in tables), strict=True)
    )
    with np.errstate(divide="ignore"):
        log_new = np.log(sums / news) + np.log(scales)
        log_old = np.log(np.maximum(totals - sums, np.finfo(np.float64).tiny) / (sizes - news)) + np.log(scales)
    return log_suite_mean(log_new, mean) - log_suite_mean(log_old, mean)


def _power_warnings(n_assignments: int, alternative: str, tables: list[_Assignments]) -> tuple[StatsWarning, ...]:
    """A test whose smallest possible p-value exceeds 5 % cannot find anything."""
    sides = 2 if alternative == "two-sided" else 1
    needed = next(m for m in itertools.count(1) if sides / math.comb(2 * m, m) ** len(tables) <= 0.05)
    return advice.coarse_p_value(sides / n_assignments, needed, "binaries per benchmark")
