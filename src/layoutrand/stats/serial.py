"""Do values follow the order in which they were measured?

Layouts are drawn, and executed in an order that is drawn too; so if nothing but layout made binaries differ, the one
executed before would tell nothing of the next.  Where it does, the machine changed meanwhile, and that counts as layout
in the variance between binaries.
"""

from __future__ import annotations

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.checks import check_count, check_seed
from layoutrand.stats.levels import FloatArray
from layoutrand.stats.randomization import TestResult
from layoutrand.stats.streams import Stream
from layoutrand.stats.univariate import Values, sample_of

_FEWEST = 4
_AT_ONCE = 1 << 20


def serial_test(values: Values, *, n_resamples: int = 10_000, seed: int = 0) -> TestResult:
    """Test whether neighbours in a sequence are alike.

    Parameters
    ----------
    values
        The sequence in the order of measurement, shape ``(n,)``, in any unit; at least 4 values.
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
        Fewer than 4 values, or values that are not finite.

    Notes
    -----
    The statistic is ``sum (x_i - m) (x_{i+1} - m) / sum (x_i - m)^2`` over neighbours, with m the mean, compared with
    those of the same values in random orders: ``p = (count + 1) / (M + 1)`` (Wald and Wolfowitz, An Exact Test for
    Randomness in the Non-Parametric Case Based on Serial Correlation, Annals of Mathematical Statistics 14, 1943; they
    join the ends of the sequence to a circle, which a drift does not).  Nothing is assumed of the distribution.
    """
    check_count(n_resamples, name="n_resamples")
    check_seed(seed)
    sample = sample_of(values, "serial test")
    if sample.size < _FEWEST:
        raise AnalysisError(
            f"serial test: {advice.plural(sample.size, 'value')} in too few orders to tell; at least {_FEWEST} are "
            "needed, better 20"
        )
    if sample.max() == sample.min():
        return _result(0.0, 1.0, 0, ("all values are equal, so no order of them is like another",))
    scaled = sample / np.abs(sample).max()
    centred = scaled - scaled.mean()
    observed = float(_correlations(centred[None, :])[0])
    stream = Stream(seed, "serial", sample.size)
    rows = max(1, _AT_ONCE // sample.size)
    count = 0
    for done in range(0, n_resamples, rows):
        words = stream.words(min(rows, n_resamples - done) * sample.size).reshape(-1, sample.size)
        orders = np.argsort(words, axis=1, kind="stable")
        count += int((_correlations(centred[orders]) >= observed - 1e-12).sum())
    return _result(observed, (count + 1) / (n_resamples + 1), n_resamples, ())


def _correlations(rows: FloatArray) -> FloatArray:
    return np.asarray((rows[:, 1:] * rows[:, :-1]).sum(axis=1) / (rows**2).sum(axis=1))


def _result(statistic: float, p_value: float, n_resamples: int, warnings: tuple[str, ...]) -> TestResult:
    return TestResult(
        statistic=statistic, p_value=p_value, alternative="greater", method="serial correlation, random orders",
        n_resamples=n_resamples, warnings=warnings,
    )  # fmt: skip
