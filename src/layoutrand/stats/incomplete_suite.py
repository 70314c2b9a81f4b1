"""A suite of which some measurements are missing: one value for each binary, whatever benchmarks it has.

One binary serves all benchmarks, so the binary is what is random.  Where every benchmark has every binary, a binary's
value is its mean over benchmarks, and everything else is statistics of one sample.  A few lost executions are no reason
to give that up: neither to drop each binary of which anything is missing, which would leave half of them, nor to take
the benchmarks for independent, which they are not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.levels import FloatArray


@dataclass(frozen=True, kw_only=True)
class SuiteValues:
    """One value for each binary of a suite.

    Attributes
    ----------
    values
        Shape ``(binaries,)``, in the unit of the table.  Their mean is the mean over benchmarks of the benchmarks'
        means, and their sample variance over their number is the variance of that.
    lost
        Degrees of freedom that they lack because benchmarks have unlike binaries; 0 for a whole table.
    """

    values: FloatArray
    lost: int


def suite_values(table: FloatArray) -> SuiteValues:
    """Sum up a table with gaps by its columns.

    Parameters
    ----------
    table
        Shape ``(benchmarks, binaries)``, such as logarithms of ratios; not a number where nothing was measured.

    Returns
    -------
    SuiteValues
        Of the binaries of which anything was measured.

    Raises
    ------
    AnalysisError
        A benchmark with fewer than 2 binaries.

    Notes
    -----
    With ``n_b`` binaries of benchmark b and k benchmarks, the mean is ``sum d_br / (k n_b)``.  What binary r has to do
    with its error is ``e_r = sum_b (d_br - d_b.) sqrt(n_b / (n_b - 1)) / (k n_b)``, and ``sum e_r^2`` the variance,
    whatever the benchmarks of a binary have to do with each other (Liang and Zeger, Biometrika 73, 1986; the factor as
    in MacKinnon and White's HC2).  Degrees of freedom are those of weights ``c_r = sum_b 1 / (k n_b)^2`` over the
    benchmarks that r has, ``(sum c)^2 / sum c^2 - 1`` (Satterthwaite), rounded down: at least 1.  A whole table
    gives the means of its columns.
    """
    there = ~np.isnan(table)
    cells, there = table[:, there.any(axis=0)], there[:, there.any(axis=0)]
    counts = there.sum(axis=1)
    if counts.min() < 2:
        raise AnalysisError("a benchmark has fewer than 2 binaries, of which there is no variance; leave it out")
    n_binaries = cells.shape[1]
    if there.all():
        return SuiteValues(values=cells.mean(axis=0), lost=0)
    means = np.where(there, cells, 0.0).sum(axis=1) / counts
    shares = 1 / (cells.shape[0] * counts)
    rest = np.where(there, cells - means[:, None], 0.0)
    errors = (rest * (shares * np.sqrt(counts / (counts - 1)))[:, None]).sum(axis=0)
    weights = (there * (shares**2)[:, None]).sum(axis=0)
    degrees = math.floor(weights.sum() ** 2 / (weights**2).sum() - 1 + 1e-9)
    values = means.mean() + math.sqrt(n_binaries * (n_binaries - 1)) * errors
    return SuiteValues(values=values, lost=n_binaries - 1 - degrees)
