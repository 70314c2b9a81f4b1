"""Do values follow the order in which they were measured?

Layouts are drawn, and executed in an order that is drawn too; so if nothing but layout made binaries differ, the one
executed before would tell nothing of the next.  Where it does, the machine changed meanwhile, and that counts as layout
in the variance between binaries.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import series_advice
from layoutrand.stats.checks import check_count, check_labels, check_seed
from layoutrand.stats.levels import FloatArray, IntArray
from layoutrand.stats.randomization import TestResult
from layoutrand.stats.stats_warning import StatsWarning
from layoutrand.stats.streams import Stream
from layoutrand.stats.univariate import Values, sample_of
from layoutrand.warning import plural

_FEWEST = 4
_AT_ONCE = 1 << 20


def serial_test(
    values: Values, *, blocks: Sequence[Hashable] | None = None, n_resamples: int = 10_000, seed: int = 0
) -> TestResult:
    """Test whether neighbours in a sequence are alike.

    Parameters
    ----------
    values
        The sequence in the order of measurement, shape ``(n,)``, in any unit; at least 4 values.
    blocks
        Of each value what it was measured on, where that is more than one machine: neighbours are then the values next
        to each other on the same one.
    n_resamples
        Random orders drawn.
    seed
        The orders depend on it, and on the number of values, alone.

    Returns
    -------
    TestResult
        The statistic is the correlation of neighbours; the alternative is that it is above 0, as drift makes it.

    Raises
    ------
    AnalysisError
        Fewer than 4 values, values that are not finite, or not one block for each.

    Notes
    -----
    The statistic is ``sum (x_i - m) (x_{i+1} - m) / sum (x_i - m)^2`` over neighbours, with m the mean, compared with
    those of the same values in random orders: ``p = (count + 1) / (M + 1)`` (Wald and Wolfowitz, An Exact Test for
    Randomness in the Non-Parametric Case Based on Serial Correlation, Annals of Mathematical Statistics 14, 1943; they
    join the ends of the sequence to a circle, which a drift does not).  Nothing is assumed of the distribution.

    With blocks m is the mean of the value's block, and values change places within their block alone, so what a block
    adds to all of its values is no drift.
    """
    check_count(n_resamples, name="n_resamples")
    check_seed(seed)
    sample = sample_of(values, "serial test")
    if sample.size < _FEWEST:
        raise AnalysisError(
            f"serial test: {plural(sample.size, 'value')} in too few orders to tell; at least {_FEWEST} are "
            "needed, better 20"
        )
    groups = _groups(sample.size, blocks)
    sample = sample[np.concatenate(groups)]
    sizes = [group.size for group in groups]
    ends = np.cumsum(sizes)
    if all(part.max() == part.min() for part in np.split(sample, ends[:-1])):
        return _result(0.0, 1.0, 0, (series_advice.NoOrder(),))
    scaled = sample / np.abs(sample).max()
    centred = np.concatenate([part - part.mean() for part in np.split(scaled, ends[:-1])])
    joined = np.ones(sample.size - 1)
    joined[ends[:-1] - 1] = 0.0
    observed = float(_correlations(centred[None, :], joined)[0])
    stream = Stream(seed, "serial", sample.size)
    rows = max(1, _AT_ONCE // sample.size)
    count = 0
    for done in range(0, n_resamples, rows):
        words = stream.words(min(rows, n_resamples - done) * sample.size).reshape(-1, sample.size)
        orders = np.concatenate(
            [
                np.argsort(words[:, end - size : end], axis=1, kind="stable") + (end - size)
                for size, end in zip(sizes, ends.tolist(), strict=True)
            ],
            axis=1,
        )
        count += int((_correlations(centred[orders], joined) >= observed - 1e-12).sum())
    return _result(observed, (count + 1) / (n_resamples + 1), n_resamples, ())


def _groups(size: int, blocks: Sequence[Hashable] | None) -> list[IntArray]:
    """The places of each block's values, in order."""
    if blocks is None:
        return [np.arange(size)]
    check_labels(blocks, name="blocks")
    if len(blocks) != size:
        raise AnalysisError(f"serial test: {size} values, but {len(blocks)} blocks; give one for each value")
    places: dict[Hashable, list[int]] = {}
    for place, block in enumerate(blocks):
        places.setdefault(block, []).append(place)
    return [np.array(each, dtype=np.int64) for each in places.values()]


def _correlations(rows: FloatArray, joined: FloatArray) -> FloatArray:
    """Of neighbours, where these are joined (1) and not of two blocks (0)."""
    return np.asarray((rows[:, 1:] * rows[:, :-1] * joined).sum(axis=1) / (rows**2).sum(axis=1))


def _result(statistic: float, p_value: float, n_resamples: int, warnings: tuple[StatsWarning, ...]) -> TestResult:
    return TestResult(
        statistic=statistic,
        p_value=p_value,
        alternative="greater",
        method="serial correlation, random orders",
        n_resamples=n_resamples,
        warnings=warnings,
    )
