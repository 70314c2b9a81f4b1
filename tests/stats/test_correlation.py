"""How much of one quantity goes with another, and at least how much."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError


def test_closed_form():
    """Of normal pairs, none of which makes the correlation, the bound is Fisher's."""
    rng = np.random.default_rng(1)
    x = rng.normal(0, 1, 400)
    y = x + rng.normal(0, 1, 400)
    found = stats.shared_variance(x, y, confidence=0.95)
    r = float(np.corrcoef(x, y)[0, 1])
    assert found.share == pytest.approx(r**2)
    fisher = math.tanh(math.atanh(r) - scipy_stats.t.ppf(0.95, 398) / math.sqrt(397)) ** 2
    assert found.low == pytest.approx(fisher)
    assert fisher - 0.05 < stats.shared_variance(x, y, n_left_out=2).low < found.low
    assert found.p_value == pytest.approx(1e-4)


def test_what_goes_against_each_other_has_nothing_in_common():
    x = np.arange(12.0)
    found = stats.shared_variance(x, -x)
    assert (found.share, found.low, found.p_value) == (0.0, 0.0, 1.0)
    assert stats.shared_variance(x, np.ones(12)).share == 0.0


@pytest.mark.parametrize("slow", range(1, 8))
def test_what_few_pairs_make_is_not_known_to_be_more_than_nothing(slow):
    """One or two slow layouts may be all that a sample has of what another cause does as often."""
    rng = np.random.default_rng(slow)
    x = np.r_[np.full(slow, 10.0), np.zeros(30 - slow)]
    one, other = x + rng.normal(0, 0.1, 30), x + rng.normal(0, 0.1, 30)
    found = stats.shared_variance(one, other, n_left_out=2)
    assert found.share > 0.99
    # Of one that is left the jackknife knows nothing.
    assert (found.low > 0.5, stats.shared_variance(one, other).low > 0.5) == (slow > 3, slow > 1)


def test_order_changes_nothing():
    rng = np.random.default_rng(3)
    x = rng.normal(0, 1, 20)
    y = x + rng.normal(0, 0.5, 20)
    one, other = stats.shared_variance(x, y), stats.shared_variance(x[::-1], y[::-1])
    assert one.low == pytest.approx(other.low, rel=1e-12)


def test_what_has_no_bound():
    with pytest.raises(AnalysisError, match="at least 8 pairs"):
        stats.shared_variance(np.arange(7.0), np.arange(7.0))
    with pytest.raises(AnalysisError, match="at least 10 pairs"):
        stats.shared_variance(np.arange(9.0), np.arange(9.0), n_left_out=2)
    with pytest.raises(AnalysisError, match="n_left_out"):
        stats.shared_variance(np.arange(9.0), np.arange(9.0), n_left_out=-1)
    with pytest.raises(AnalysisError, match="9 and 8 values"):
        stats.shared_variance(np.arange(9.0), np.arange(8.0))
    assert 0 <= stats.shared_variance(np.arange(8.0), np.arange(8.0)).low < 1
